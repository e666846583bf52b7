"""Each name is recognised where a cluster has it: its certificate in its Secret."""

from __future__ import annotations

import ssl
from datetime import UTC, datetime
from typing import Any

import pytest

from scanner.certificates import READS, Certificates
from scanner.kube.kinds import SECRET
from scanner.kube.objects import KubeObject
from scanner.kube.snapshot import Origin, Snapshot
from scanner.pki.inventory import Entry
from tests.pki.names_story import ROWS, Row, certificate
from tests.pki.objects import secret

pytestmark = pytest.mark.crypto

ELSEWHERE = "openshift-kube-apiserver/kept-apart"
"""A Secret of the platform that nobody knows by name."""


def held(*secrets: dict[str, Any]) -> list[Entry]:
    """What the inventory of a cluster with these Secrets has."""
    objects = {**dict.fromkeys(READS, ()), SECRET: tuple(KubeObject(each, SECRET) for each in secrets)}
    snapshot = Snapshot(taken_at=datetime(2026, 11, 21, tzinfo=UTC), origin=Origin(name="names"), objects=objects)
    return list(Certificates(snapshot).inventory.entries())


def pem(row: Row) -> bytes:
    return ssl.DER_cert_to_PEM_cert(certificate(row).der).encode()


def entry(path: str, row: Row) -> Entry:
    """What the inventory of a cluster with this one Secret says of what is in it."""
    namespace, _, name = path.partition("/")
    (found,) = held(secret(namespace, name, [pem(row)]))
    return found


def said(found: Entry) -> set[str]:
    return {each.name for each in found.classified.names}


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_each_certificate_has_its_name_in_its_secret(row: Row) -> None:
    found = entry(row.secret or ELSEWHERE, row)
    assert said(found) == ({row.name} if row.secret else {row.name, *row.others})
    assert (found.classified.category, found.classified.governed) == (row.category, True)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_each_certificate_is_known_by_itself_in_another_secret(row: Row) -> None:
    assert said(entry(ELSEWHERE, row)) == {row.name, *row.others}


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_in_the_secret_of_a_user_it_has_none(row: Row) -> None:
    assert not entry("shop/web-tls", row).classified.governed


def test_all_together_they_are_as_many_as_there_are() -> None:
    places = [(row.secret or f"openshift-kube-apiserver/kept-{row.name}").partition("/") for row in ROWS]
    found = held(*(secret(place[0], place[2], [pem(row)]) for place, row in zip(places, ROWS, strict=True)))
    assert set().union(*map(said, found)) == {row.name for row in ROWS}
    assert len(ROWS) == 32
