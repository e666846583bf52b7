"""Declarations of Routes and an IngressController, against HAProxy as configured by OpenShift's router."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from scanner.values import replace
from tests.certs import Authority
from tests.zoo import declared, router
from tests.zoo.declared import Told
from tests.zoo.processes import free_address, program, serving
from tests.zoo.router import Router

pytestmark = [pytest.mark.zoo, pytest.mark.slow]

APPS = "apps.example"
STORED, CLIENT, UNTRUSTED, CALLERS = "cert-stored", "tls-client-certificate", "tls-untrusted-client", "cert-clients"
OTHERS = "tls-other-names"


@dataclass(frozen=True)
class Pki:
    """Issuers and certificates, with the names in the test cluster."""

    directory: Path
    ingress: Authority = field(default_factory=lambda: Authority("Ingress"))
    """Made in each test: its certificates are new, however long the run has taken."""
    service_ca: Authority = field(default_factory=lambda: Authority("Service CA"))
    destination: Authority = field(default_factory=lambda: Authority("Destination"))
    clients: Authority = field(default_factory=lambda: Authority("Clients"))

    def file(self, authority: Authority) -> Path:
        """Its certificate, for HAProxy to read."""
        path = self.directory / f"{authority.certificate.serial_number:x}.crt"
        path.write_bytes(authority.pem)
        return path


class Case:
    """A router as it should be, with what the cluster says of it."""

    def __init__(self, directory: Path) -> None:
        if not program("haproxy"):
            pytest.skip("not installed: haproxy")
        pki = Pki(directory)
        self.directory, self.pki = directory, pki
        self.places = {name: "{}:{}".format(*free_address()) for name in ("router", "secure", "private")}
        self.default = pki.ingress.leaf(names=(f"*.{APPS}",))
        self.own = pki.ingress.leaf(names=(f"own.{APPS}",))
        self.inline = pki.ingress.leaf(names=(f"inline.{APPS}",))
        self.secure = pki.service_ca.leaf(names=("secure.shop.svc", f"through.{APPS}"))
        self.private = pki.destination.leaf(names=("whatever.example",))
        self.router = Router(
            default=self.default,
            certificates={f"own.{APPS}": self.own, f"inline.{APPS}": self.inline},
            passed={f"through.{APPS}": self.places["secure"]},
            reencrypted={
                f"again.{APPS}": (self.places["private"], f"verify required ca-file {pki.file(pki.destination)}"),
                f"verified.{APPS}": (
                    self.places["secure"],
                    f"verify required ca-file {pki.file(pki.service_ca)} verifyhost secure.shop.svc",
                ),
            },
            pods={self.places["secure"]: self.secure, self.places["private"]: self.private},
            verify=f"ca-file {pki.file(pki.clients)} verify required",
        )

    active_http = False

    async def told(self) -> Told:
        """Start it, scan the cluster, stop it."""
        settings = replace(declared.SETTINGS, active_http=self.active_http)
        address, _, port = self.places["router"].partition(":")
        log = self.directory / "log"
        launch = router.launch(self.router, self.places["router"], self.directory)
        async with serving(launch, address, int(port), log):
            places, secrets = self._replaced(), self._secrets()
            return await declared.told("declared-router", self.directory, places, *secrets, settings=settings)

    def nameless(self, name: str) -> str:
        """Endpoint of a pod without a server name; others stay."""
        return f"behind port {self.places[name].rpartition(':')[2]}" if name in self.places else name

    def _replaced(self) -> dict[str, str]:
        found = {
            "INLINE-CERTIFICATE": declared.inline(self.inline.pem),
            "DESTINATION-CA": declared.inline(self.pki.destination.pem),
            "SERVICE-CA": declared.inline(self.pki.service_ca.pem),
        }
        old = (("10.128.0.10", "10443"), ("10.128.0.11", "10444"), ("10.128.0.12", "10445"))
        for (address, port), place in zip(old, self.places.values(), strict=True):
            new_address, _, new_port = place.partition(":")
            found |= {address: new_address, port: new_port}
        return found

    def _secrets(self) -> list[dict[str, object]]:
        return [
            declared.secret("openshift-ingress/router-certs-default", self.default.pem),
            declared.secret("shop/own-tls", self.own.pem),
        ]


@pytest.fixture
def case(tmp_path: Path) -> Case:
    return Case(tmp_path)


def rejected(case: Case) -> None:
    """The Route's certificate is not in the list."""
    case.router = replace(case.router, certificates={f"inline.{APPS}": case.inline})


def unloaded(case: Case) -> None:
    """The Secret was rotated; the router has what was in it before."""
    former = case.pki.ingress.leaf(names=(f"own.{APPS}",))
    case.router = replace(case.router, certificates={**case.router.certificates, f"own.{APPS}": former})


def unasked(case: Case) -> None:
    case.router = replace(case.router, verify="")


def trusting(case: Case) -> None:
    """Requests a certificate, verifies it, and accepts every client."""
    clients = case.pki.file(case.pki.clients)
    verify = f"ca-file {clients} verify optional crt-ignore-err all ca-ignore-err all"
    case.router = replace(case.router, verify=verify)


def strangers_pod(case: Case) -> None:
    """Signed by a CA that the router does not trust for that Route."""
    other = Authority("Other").leaf(names=("whatever.example",))
    case.router = replace(case.router, pods={**case.router.pods, case.places["private"]: other})


def misnamed_pod(case: Case) -> None:
    """By the right signer, for another Service."""
    other = case.pki.service_ca.leaf(names=("other.shop.svc", f"through.{APPS}"))
    case.router = replace(case.router, pods={**case.router.pods, case.places["secure"]: other})


@pytest.mark.parametrize(
    ("spoil", "name", "rule", "words"),
    [
        (rejected, f"own.{APPS}", STORED, "the router's default certificate instead of the Route's certificate"),
        (unloaded, f"own.{APPS}", STORED, "for the same names"),
        (unasked, f"own.{APPS}", CLIENT, "no client certificate is requested, but it must be required"),
        (trusting, f"own.{APPS}", UNTRUSTED, "is accepted"),
        (strangers_pod, "private", CALLERS, "1 client that an object configures cannot verify"),
        (misnamed_pod, "behind secure.shop.svc", CALLERS, "1 client that an object configures cannot verify"),
    ],
)
async def test_one_that_does_not(case: Case, spoil: Callable[[Case], None], name: str, rule: str, words: str) -> None:
    spoil(case)
    told = await case.told()
    found = told.rows[case.nameless(name)][rule]
    # Certificates of tests were made just now, so that what was renewed is still converging.
    status = "converging" if spoil is unloaded else "violation"
    assert (found["verdict"], found["status"]) == ("fail", status), found
    assert told.fails or spoil is unloaded
    assert words in found["message"]


async def test_a_passed_through_name_that_the_router_answers_itself(case: Case) -> None:
    case.router = replace(case.router, passed={})
    told = await case.told()
    assert told.passages() == [(f"through.{APPS}", "fail")]


async def test_without_secrets_nothing_is_compared_and_nothing_passes(
    case: Case, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(case, "_secrets", list)
    told = await case.told()
    assert told.verdict(f"own.{APPS}", STORED) in {"inconclusive", "not_applicable"}
    assert told.verdict(f"plain.{APPS}", STORED) in {"inconclusive", "not_applicable"}
    assert told.verdict(f"inline.{APPS}", STORED) == "pass"


async def test_a_route_that_was_not_admitted_has_the_routers_default(case: Case) -> None:
    """The default certificate is its signature; behind it there is a 503."""
    bare = f"port {case.places['router'].rpartition(':')[2]}"
    told = await case.told()
    assert told.verdict(bare, OTHERS) == "pass", told.rows[bare]


async def test_a_route_that_was_not_admitted_and_is_served_all_the_same(case: Case) -> None:
    bare = f"port {case.places['router'].rpartition(':')[2]}"
    case.router = replace(case.router, certificates={**case.router.certificates, f"refused.{APPS}": case.own})
    told = await case.told()
    found = told.rows[bare][OTHERS]
    assert (found["verdict"], found["severity"]) == ("fail", "medium"), found
    assert "Route/shop/refused status.ingress[default]: Admitted is False" in found["expected"][0]


OTHERS, SUBDOMAIN = "tls-other-names", "tls-subdomain"


def unnamed(case: Case) -> str:
    """Endpoint of the router without a server name."""
    return f"port {case.places['router'].rpartition(':')[2]}"


@pytest.mark.parametrize("strict", [False, True])
async def test_names_that_no_route_has_show_the_default_certificate_or_none(case: Case, *, strict: bool) -> None:
    case.router = replace(case.router, strict=strict)
    assert (await case.told()).verdict(unnamed(case), OTHERS) == "pass"


async def test_names_that_no_route_has_show_another_certificate(case: Case) -> None:
    """The first certificate of the list is not the default one."""
    case.router = replace(case.router, first=case.pki.ingress.leaf(names=("somebody.example",)))
    found = (await case.told()).rows[unnamed(case)][OTHERS]
    assert (found["verdict"], found["severity"]) == ("fail", "medium")
    nobodys = "server name no-such-name.adhere.invalid: served with the certificate CN=somebody.example"
    assert nobodys in found["observed"]


@pytest.mark.parametrize(
    ("pattern", "strict", "verdict"),
    [
        (f"*.own.{APPS}", False, "pass"),
        (f"www.own.{APPS}", False, "fail"),
        (f"www.own.{APPS}", True, "fail"),
    ],
)
async def test_a_route_for_its_subdomain_answers_all_of_it(
    case: Case, monkeypatch: pytest.MonkeyPatch, pattern: str, verdict: str, *, strict: bool
) -> None:
    host, replaced = f"www.own.{APPS}", case._replaced()
    admitted = f"host: {host}\n    routerName"
    wildcard = {f"host: own.{APPS}": f"host: {host}", admitted: f"wildcardPolicy: Subdomain\n    {admitted}"}
    monkeypatch.setattr(case, "_replaced", lambda: {**wildcard, **replaced})
    case.own = case.pki.ingress.leaf(names=(f"*.own.{APPS}",))
    case.router = replace(case.router, certificates={pattern: case.own}, strict=strict)
    told = await case.told()
    assert (told.verdict(host, STORED), told.verdict(host, SUBDOMAIN)) == ("pass", verdict)


async def test_http2_is_for_certificates_that_one_route_has(case: Case) -> None:
    case.router = replace(case.router, h2=frozenset({f"own.{APPS}"}))
    assert not [each for each in (await case.told()).across if each["rule"] == "tls-shared-connections"]


async def test_http2_with_the_default_certificate_is_told(case: Case) -> None:
    case.router = replace(case.router, h2=frozenset({""}))
    found = [each for each in (await case.told()).across if each["rule"] == "tls-shared-connections"]
    assert [(each["verdict"], each["severity"]) for each in found] == [("fail", "low"), ("pass", "info")]
    assert f"plain.{APPS}" in found[0]["observed"]
    assert f"own.{APPS}" in found[1]["observed"]
