"""Declarations of HTTPProxies and Gateways, against Envoy as configured by Contour and Gateway API controllers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from scanner.values import replace
from tests.certs import Authority
from tests.servers import say, scripted
from tests.zoo import declared, envoy
from tests.zoo.declared import Told
from tests.zoo.envoy import Chain
from tests.zoo.processes import free_address, serving

pytestmark = [pytest.mark.zoo, pytest.mark.slow]

STORED, CLIENT, UNTRUSTED = "cert-stored", "tls-client-certificate", "tls-untrusted-client"
IDENTITY, OPEN = "backend-identity", "backend-fail-open"
UNGRANTED, WITHHELD, REACH = "cert-not-granted", "tls-withheld", "tls-reach"
CALLERS, OTHERS, VERSION, NAME = "cert-clients", "tls-other-names", "tls-version", "cert-name"

PORTS = {"front": "18443", "through": "18446", "secure": "18444", "backend": "18445"}
ADDRESSES = {"front": "10.128.0.20", "secure": "10.128.0.21", "backend": "10.128.0.22"}


class Case:
    """One Envoy, by the parts of the cluster that it plays; ``through`` is a second port of the front."""

    def __init__(self, story: str, directory: Path) -> None:
        if missing := envoy.missing():
            pytest.skip(missing)
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
        self.texts: dict[str, str] = {}
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
            places = {**replaced, **ports, **self.texts, **(texts or {})}
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

    async def all(self, texts: Mapping[str, str] | None = None, *more: dict[str, object]) -> Told:
        return await self.told(
            *more,
            declared.secret("shop/strict-tls", self.leaves["strict"].pem),
            declared.secret("certs/plain-tls", self.leaves["plain"].pem),
            declared.secret("shop/clients", self.clients.pem, "ca.crt"),
            declared.secret("shop/backend-ca", self.ca.pem, "ca.crt"),
            texts=texts,
        )


def loose(case: Contour) -> None:
    """Below the virtual host's minimum."""
    case.front(0, least="TLSv1_2")


def unasked(case: Contour) -> None:
    case.front(0, clients=None)


def trusting(case: Contour) -> None:
    case.front(0, trusting=True)


def another(case: Contour) -> None:
    """The Secret of another user."""
    case.front(1, credential=case.leaves["strict"])


def open_to_all(case: Contour) -> None:
    """A chain that matches every name."""
    case.chains["front"].append(Chain(credential=case.leaves["plain"]))


def strangers_backend(case: Contour) -> None:
    case.chains["backend"] = [Chain(credential=case.public.leaf(names=("backend.example",)))]


def refused_too(case: Contour) -> None:
    """HTTPProxies that Contour reports as not served."""
    case.chains["front"].append(Chain(names=("bad.example",), credential=case.leaves["plain"]))


@pytest.mark.parametrize(
    ("spoil", "name", "rule"),
    [
        (refused_too, "plain.example", OTHERS),
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


NOT_DELEGATED = {"targetNamespaces: [shop]": 'targetNamespaces: [other, "*"]'}


async def test_without_a_delegation_the_certificate_is_not_to_be_served(tmp_path: Path) -> None:
    told = await Contour(tmp_path).all(NOT_DELEGATED)
    found = told.rows["plain.example"]
    assert (found[UNGRANTED]["verdict"], found[UNGRANTED]["severity"]) == ("fail", "critical"), found
    assert (found[WITHHELD]["verdict"], found[WITHHELD]["severity"]) == ("fail", "high")
    assert STORED not in found


async def test_without_a_delegation_nothing_is_as_it_must_be(tmp_path: Path) -> None:
    case = Contour(tmp_path)
    del case.chains["front"][1]
    told = await case.all(NOT_DELEGATED)
    assert {rule: told.verdict("plain.example", rule) for rule in (REACH, UNGRANTED, WITHHELD)} == {
        REACH: "not_applicable",
        UNGRANTED: None,
        WITHHELD: None,
    }


WINDOW = {"tls: {secretName: certs/plain-tls}": 'tls: {secretName: certs/plain-tls, maximumProtocolVersion: "1.2"}'}
SUITE = "tls-cipher-suite"


def contour_configuration(**spec: object) -> dict[str, object]:
    metadata = {"name": "contour", "namespace": "projectcontour"}
    api = "projectcontour.io/v1alpha1"
    return {"apiVersion": api, "kind": "ContourConfiguration", "metadata": metadata, "spec": spec}


@pytest.mark.parametrize(("most", "verdict"), [("TLSv1_2", "pass"), ("TLSv1_3", "fail")])
async def test_a_virtual_host_has_a_highest_version_too(tmp_path: Path, most: str, verdict: str) -> None:
    case = Contour(tmp_path)
    case.front(1, most=most)
    told = await case.all(WINDOW, contour_configuration())
    assert told.verdict("plain.example", SUITE) == verdict, told.rows["plain.example"]


@pytest.mark.parametrize(("least", "verdict"), [("TLSv1_3", "pass"), ("TLSv1_2", "fail")])
async def test_what_holds_for_all_virtual_hosts_beats_one_that_says_less(
    tmp_path: Path, least: str, verdict: str
) -> None:
    case = Contour(tmp_path)
    case.front(1, least=least)
    said = contour_configuration(envoy={"listener": {"tls": {"minimumProtocolVersion": "1.3"}}})
    less = {"tls: {secretName: certs/plain-tls}": 'tls: {secretName: certs/plain-tls, minimumProtocolVersion: "1.2"}'}
    told = await case.all(less, said)
    assert told.verdict("plain.example", VERSION) == verdict, told.rows["plain.example"]


@pytest.mark.parametrize(
    ("optional", "chain", "verdict"),
    [(True, True, "pass"), (True, False, "fail"), (False, True, "fail")],
)
async def test_a_client_certificate_may_be_optional(tmp_path: Path, optional: bool, chain: bool, verdict: str) -> None:
    """As in the HTTPProxy, and as in Envoy; an untrusted one is refused in any case."""
    case = Contour(tmp_path)
    case.front(0, optional=chain)
    said = {"{caSecret: clients}": f"{{caSecret: clients, optionalClientCertificate: {str(optional).lower()}}}"}
    told = await case.all(said)
    assert told.verdict("strict.example", CLIENT) == verdict, told.rows["strict.example"]
    assert told.verdict("strict.example", UNTRUSTED) == "pass"


async def test_validation_that_is_skipped_promises_nothing_of_whom_it_trusts(tmp_path: Path) -> None:
    case = Contour(tmp_path)
    case.front(0, trusting=True)
    told = await case.all({"{caSecret: clients}": "{caSecret: clients, skipClientCertValidation: true}"})
    assert (told.verdict("strict.example", CLIENT), told.verdict("strict.example", UNTRUSTED)) == ("pass", None)


async def test_a_name_without_validation_that_asks_all_the_same_is_noted(tmp_path: Path) -> None:
    case = Contour(tmp_path)
    case.front(1, clients=case.clients)
    found = (await case.all()).rows["plain.example"][CLIENT]
    assert (found["verdict"], found["severity"], found["status"]) == ("pass", "info", "informational")
    assert "HTTPProxy/shop/plain spec.virtualhost.tls does not configure it" in found["message"]


FALLS_BACK = {"{secretName: certs/plain-tls}": "{secretName: certs/plain-tls, enableFallbackCertificate: true}"}
PLAIN = "{secretName: plain-tls, targetNamespaces: [shop]}"
DELEGATED = {PLAIN: f"{PLAIN}, {PLAIN.replace('plain-tls', 'any')}"}


@pytest.mark.parametrize(
    ("shown", "texts", "verdicts"),
    [
        ("one", DELEGATED, ("pass", None)),
        ("two", DELEGATED, ("fail", None)),
        ("one", {}, (None, "fail")),
        ("two", {}, (None, "pass")),
    ],
)
async def test_the_fallback_certificate_is_shown_to_whoever_gives_no_name(
    tmp_path: Path, shown: str, texts: Mapping[str, str], verdicts: tuple[str | None, str | None]
) -> None:
    """If it is delegated."""
    case = Contour(tmp_path)
    case.chains["front"].append(Chain(credential=case.leaves[shown]))
    fallback = contour_configuration(httpproxy={"fallbackCertificate": {"name": "any", "namespace": "certs"}})
    held = declared.secret("certs/any", case.leaves["one"].pem)
    told = await case.all({**FALLS_BACK, **texts}, fallback, held)
    bare = f"port {case.where['front'][1]}"
    assert (told.verdict(bare, STORED), told.verdict(bare, UNGRANTED)) == verdicts, told.rows[bare]
    assert told.verdict("plain.example", OTHERS) is None


async def test_a_passed_through_name_that_contour_terminates(tmp_path: Path) -> None:
    case = Contour(tmp_path)
    case.front(2, credential=case.leaves["plain"])
    assert (await case.all()).passages() == [("through.example", "fail")]


MISDIRECTED = "tls-misdirected"
STATUSES = {"strict.example": 200, "plain.example": 202}


@pytest.mark.parametrize("alpn", [(), ("h2", "http/1.1")], ids=["HTTP/1.1", "HTTP/2"])
@pytest.mark.parametrize(
    ("answers", "verdict", "severity"),
    [
        ({"plain.example": 202}, "pass", "medium"),
        (STATUSES, "fail", "critical"),
    ],
)
async def test_whose_content_a_connection_gives(
    tmp_path: Path, answers: Mapping[str, int], verdict: str, severity: str, alpn: tuple[str, ...]
) -> None:
    """``strict.example`` asks for client certificates, and ``plain.example`` does not."""
    case = Contour(tmp_path)
    case.active_http = True
    case.front(0, answers={"strict.example": 200}, alpn=alpn)
    case.front(1, answers=answers, alpn=alpn)
    told = await case.all()
    found = told.rows["plain.example"][MISDIRECTED]
    assert (found["verdict"], found["severity"]) == (verdict, severity), found
    assert any("HTTP/2" in each for each in found["observed"]) == (verdict == "fail" and "h2" in alpn), found
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

    async def all(self, texts: Mapping[str, str] | None = None) -> Told:
        secrets = [
            declared.secret("edge/one-tls", self.leaves["one"].pem),
            declared.secret("certs/two-tls", self.leaves["two"].pem),
        ]
        return await self.told(*secrets, texts={"BACKEND-CA": declared.inline(self.ca.pem), **(texts or {})})


@pytest.mark.parametrize(("optional", "verdict"), [(True, "pass"), (False, "fail")])
async def test_a_gateway_that_lets_everybody_in_asks_all_the_same(tmp_path: Path, optional: bool, verdict: str) -> None:
    """``AllowInsecureFallback``: a client certificate is optional, and any is accepted."""
    case = Gateway(tmp_path)
    case.chains["front"] = [replace(each, optional=optional, trusting=True) for each in case.chains["front"]]
    lax = {"name: clients}]}}": "name: clients}], mode: AllowInsecureFallback}}"}
    told = await case.all(lax)
    found = told.rows["one.example"][CLIENT]
    assert (found["verdict"], found["status"]) == (verdict, "informational" if optional else "violation"), found
    assert told.verdict("one.example", UNTRUSTED) is None


async def test_a_gateway_that_asks_although_nothing_says_so(tmp_path: Path) -> None:
    nothing = {
        'default: {validation: {caCertificateRefs: [{group: "", kind: ConfigMap, name: clients}]}}': "default: {}"
    }
    found = (await Gateway(tmp_path).all(nothing)).rows["one.example"][CLIENT]
    assert (found["verdict"], found["severity"]) == ("pass", "info")
    assert "Gateway/edge/front spec.tls.frontend does not configure it" in found["message"]


def one_unasked(case: Gateway) -> None:
    case.chains["front"][1] = replace(case.chains["front"][1], clients=None)


def letting_in(case: Gateway) -> None:
    """Asks, and does without."""
    case.chains["front"][1] = replace(case.chains["front"][1], optional=True)


def letting_anybody_in(case: Gateway) -> None:
    """Takes any certificate."""
    case.chains["front"][1] = replace(case.chains["front"][1], trusting=True)


def around(case: Gateway) -> None:
    """No name, no validation."""
    case.chains["front"].append(Chain(credential=case.leaves["one"]))


def terminating(case: Gateway) -> None:
    """Beside what it passes through, the second port answers whatever comes."""
    case.chains["through"].append(Chain(credential=case.leaves["one"]))


def misnamed_backend(case: Gateway) -> None:
    """The name that is sent, and none of those that are verified."""
    case.chains["backend"] = [Chain(credential=case.ca.leaf(names=("sent.example",)))]


def foreign_backend(case: Gateway) -> None:
    """The right name, signed by a CA that the policy does not name."""
    case.chains["backend"] = [Chain(credential=Authority("Other").leaf(names=("backend.example",)))]


def unaccepted(case: Gateway) -> None:
    """A listener that was not accepted, and is served."""
    case.chains["front"].append(Chain(names=("bad.example",), credential=case.leaves["one"], clients=case.clients))


@pytest.mark.parametrize(
    ("spoil", "name", "rule", "severity"),
    [
        (unaccepted, "one.example", OTHERS, "medium"),
        (one_unasked, "two.example", CLIENT, "high"),
        (around, "one.example", OTHERS, "high"),
        (terminating, "through.example", OTHERS, "medium"),
        (misnamed_backend, "behind sent.example", CALLERS, "medium"),
        (foreign_backend, "behind sent.example", CALLERS, "medium"),
    ],
)
async def test_a_gateway_that_does_not(
    tmp_path: Path, spoil: Callable[[Gateway], None], name: str, rule: str, severity: str
) -> None:
    case = Gateway(tmp_path)
    spoil(case)
    told = await case.all()
    found = told.rows[name][rule]
    assert (found["verdict"], found["severity"], found["status"]) == ("fail", severity, "violation"), found
    assert told.fails


async def test_a_backend_that_answers_without_tls_fails(tmp_path: Path) -> None:
    """Its BackendTLSPolicy requires TLS of a user's workload."""
    case = Gateway(tmp_path)
    del case.chains["backend"]
    async with scripted(say(b"HTTP/1.1 400 Bad Request\r\n\r\n")) as backend:
        address, port = backend.sockaddr[:2]
        told = await case.all({"10.128.0.22": address, "18445": str(port)})
    found = told.rows["behind sent.example"][REACH]
    assert (found["verdict"], found["severity"], found["status"]) == ("fail", "high", "not-tls"), found
    assert told.fails


@pytest.mark.parametrize(("spoil", "rule"), [(letting_in, CLIENT), (letting_anybody_in, UNTRUSTED)])
async def test_a_client_that_tls_lets_in_may_be_refused_in_http(
    tmp_path: Path, spoil: Callable[[Gateway], None], rule: str
) -> None:
    """Envoy answers the request; another controller's proxy may not, and without one it is unknown."""
    case = Gateway(tmp_path)
    spoil(case)
    assert (await case.all()).verdict("two.example", rule) == "inconclusive"
    (tmp_path / "again").mkdir()
    case = Gateway(tmp_path / "again")
    case.active_http = True
    spoil(case)
    found = (await case.all()).rows["two.example"][rule]
    assert (found["verdict"], found["severity"], found["status"]) == ("fail", "high", "violation"), found


async def test_a_passed_through_name_that_a_gateway_terminates(tmp_path: Path) -> None:
    case = Gateway(tmp_path)
    case.chains["through"] = [Chain(names=("through.example",), credential=case.leaves["one"])]
    assert (await case.all()).passages() == [("through.example", "fail")]


NOT_GRANTED = {"kind: Gateway, namespace: edge}]": "kind: Gateway, namespace: other}]"}


def served(_: Gateway) -> None:
    """The very certificate."""


def by_default(case: Gateway) -> None:
    """Some other one."""
    case.chains["front"][1] = replace(case.chains["front"][1], credential=case.leaves["strict"])


@pytest.mark.parametrize(("spoil", "granted"), [(served, ("fail", "critical")), (by_default, ("pass", "critical"))])
async def test_without_a_grant_nothing_may_be_served(
    tmp_path: Path, spoil: Callable[[Gateway], None], granted: tuple[str, str]
) -> None:
    case = Gateway(tmp_path)
    spoil(case)
    told = await case.all(NOT_GRANTED)
    found = told.rows["two.example"]
    assert (found[UNGRANTED]["verdict"], found[UNGRANTED]["severity"]) == granted, found
    assert found[WITHHELD]["verdict"] == "fail"
    assert told.verdict("one.example", STORED) == "pass"


async def test_without_a_grant_nothing_is_as_it_must_be(tmp_path: Path) -> None:
    case = Gateway(tmp_path)
    del case.chains["front"][1]
    told = await case.all(NOT_GRANTED)
    assert told.verdict("two.example", REACH) == "not_applicable", told.rows["two.example"]
    assert told.verdict("one.example", OTHERS) == "pass"


async def test_a_status_of_an_older_generation_leaves_it_open(tmp_path: Path) -> None:
    """And what is kept is kept."""
    case = Gateway(tmp_path)
    one_unasked(case)
    stale = {"metadata: {name: front, namespace: edge}": "metadata: {name: front, namespace: edge, generation: 3}"}
    stale["status:\n  listeners:"] = "status:\n  conditions: [{type: Programmed, observedGeneration: 2}]\n  listeners:"
    told = await case.all(stale)
    assert told.verdict("two.example", CLIENT) == "inconclusive", told.rows["two.example"]
    assert told.verdict("one.example", CLIENT) == "pass"


HAS_ONE = {"  tls:\n    frontend:": "  tls:\n    backend: {clientCertificateRef: {name: me}}\n    frontend:"}


@pytest.mark.parametrize(
    ("asks", "texts", "verdict", "severity"),
    [
        (False, {}, "pass", "medium"),
        (True, {}, "fail", "medium"),
        (False, HAS_ONE, "fail", "low"),
        (True, HAS_ONE, "pass", "medium"),
    ],
)
async def test_a_backend_asks_for_what_its_gateway_has(
    tmp_path: Path, asks: bool, texts: Mapping[str, str], verdict: str, severity: str
) -> None:
    case = Gateway(tmp_path)
    clients = case.clients if asks else None
    case.chains["backend"] = [replace(each, clients=clients) for each in case.chains["backend"]]
    found = (await case.all(texts)).rows["behind sent.example"]
    assert (found[IDENTITY]["verdict"], found[IDENTITY]["severity"]) == (verdict, severity), found
    assert found[CALLERS]["verdict"] == "pass"
    assert OPEN not in found


async def test_contour_is_not_taken_to_verify_its_backends(tmp_path: Path) -> None:
    """For any backend certificate."""
    contour = {"gateway.envoyproxy.io/gatewayclass-controller": "projectcontour.io/gateway-controller"}
    found = (await Gateway(tmp_path).all(contour)).rows["behind sent.example"]
    assert (found[CALLERS]["verdict"], found[OPEN]["verdict"], found[OPEN]["severity"]) == ("pass", "fail", "low")


async def test_a_backend_for_which_no_ca_is_to_be_had_is_open(tmp_path: Path) -> None:
    """It was requested, and is missing or unreadable: that is no pass."""
    case = Gateway(tmp_path)
    found = (await case.all({"name: backend-ca, namespace: shop": "name: another-ca, namespace: shop"})).rows
    assert found["behind sent.example"][CALLERS]["verdict"] == "inconclusive"


async def test_a_port_whose_only_listener_was_not_accepted_is_looked_at(tmp_path: Path) -> None:
    case = Gateway(tmp_path)
    moved = {"hostname: bad.example, port: 443,": "hostname: bad.example, port: 8443,"}
    apart = {"{name: through, port: 8443, protocol: TLS,": "{name: through, port: 443, protocol: TLS,"}
    case.chains["through"] = [Chain(names=("bad.example",), credential=case.leaves["one"])]
    told = await case.all({**apart, **moved})
    assert told.verdict("bad.example", WITHHELD) == "fail", told.rows["bad.example"]
