"""Keys in Secrets beside certificates that are not theirs."""

from __future__ import annotations

import pytest

from scanner.cluster.retention import Pruner
from scanner.cluster.snapshot_objects import kept
from scanner.config.certificate_names import load_names
from scanner.kube.kinds import SECRET
from scanner.kube.objects import KubeObject
from scanner.model.finding import Finding
from scanner.model.pki_config import PkiConfig
from scanner.pki.object_rules import MOST, PAIRS, Configuration
from tests.certs import Authority
from tests.pki.objects import coded, secret, snapshot

pytestmark = pytest.mark.crypto

NAMES = load_names()
ROOT = Authority("Root")
LEAF, OTHER = ROOT.leaf(names=("a.example",)), ROOT.leaf(names=("a.example",))


def judged(*objects: KubeObject) -> list[Finding]:
    empty = snapshot("")
    found = type(empty)(taken_at=empty.taken_at, origin=empty.origin, objects={**empty.objects, SECRET: objects})
    about = Configuration(config=PkiConfig(source="x", reason="absent"), snapshot=found, names=NAMES)
    return list(PAIRS.check(PAIRS, about))


def read(*, key: bytes | None) -> KubeObject:
    data = {"tls.crt": coded(LEAF.pem)} | ({"tls.key": coded(key)} if key is not None else {})
    found = kept(SECRET, {"metadata": {"name": "web", "namespace": "shop"}, "data": data}, Pruner())
    assert found is not None
    return found


def test_another_key_is_a_finding() -> None:
    (finding,) = judged(read(key=OTHER.key_pem))
    assert (finding.verdict, finding.severity, finding.about) == ("fail", "high", "Secret/shop/web")
    assert "tls.key is not the key of the certificate in tls.crt" in finding.message


@pytest.mark.parametrize("key", [LEAF.key_pem, None, b"", b"no key"])
def test_its_own_and_what_cannot_be_compared_are_none(key: bytes | None) -> None:
    assert judged(read(key=key)) == []


def test_their_number_is_bounded_and_told() -> None:
    raw = [secret("shop", f"s{number}", [], key_matches=False) for number in range(MOST + 7)]
    found = judged(*(KubeObject(each, SECRET) for each in raw))
    assert len(found) == MOST
    assert found[-1].message.endswith("(and 7 more Secrets like it)")
    assert "more" not in found[-2].message
