"""ReferenceGrants that allow more than is needed."""

from __future__ import annotations

from pathlib import Path

import pytest

from scanner.kube.kinds import GATEWAY, REFERENCE_GRANT
from scanner.kube.objects import KubeObject
from scanner.lint import RULES, Linted, lint
from scanner.lint.gateway import reference_grants
from scanner.model.declared import Declared, LintSubject
from scanner.values import replace
from tests.growth import assert_linear, calls
from tests.lint.examples import WHOLE, empty, linted
from tests.lint.gateway.cases import core, listening, of, said, secret, verdicts

FROM = "{group: gateway.networking.k8s.io, kind: Gateway, namespace: shop}"
SECRET = "{group: '', kind: Secret, name: w}"
SHOP = core("Namespace", "shop", "", namespace="")
USING = listening("name: a, port: 443, protocol: HTTPS, tls: {certificateRefs: [{name: w, namespace: certs}]}")


def grant(from_: str = FROM, to: str = SECRET, *, namespace: str = "certs", name: str = "g") -> str:
    return of("ReferenceGrant", name, f"from: [{from_}], to: [{to}]", version="v1beta1", namespace=namespace)


def certs(to: str, from_: str = FROM, **more: str) -> str:
    return grant(from_, to, **more)


def test_the_cost_of_many_grants_is_linear() -> None:
    assert_linear(cost_of_refused_references, 60)


def cost_of_refused_references(number: int) -> int:
    """Calls for this number of Gateways, none of which has one of as many grants."""
    grants = [
        KubeObject(
            {
                "metadata": {"name": f"g{n}", "namespace": "certs"},
                "spec": {
                    "from": [{"group": GATEWAY.group, "kind": "Gateway", "namespace": f"s{n}"}],
                    "to": [{"group": "", "kind": "Secret"}],
                },
            },
            REFERENCE_GRANT,
        )
        for n in range(number)
    ]
    reference = {"tls": {"certificateRefs": [{"name": "w", "namespace": "certs"}]}}
    listener = {"name": "a", "port": 443, "protocol": "HTTPS", **reference}
    using = tuple(
        KubeObject({"metadata": {"name": "g", "namespace": f"o{n}"}, "spec": {"listeners": [listener]}}, GATEWAY)
        for n in range(number)
    )
    known = replace(empty(), objects={**empty().objects, REFERENCE_GRANT: tuple(grants), GATEWAY: using})
    given = Declared(subjects=tuple(LintSubject(object=each) for each in using), known=known)
    linted: list[Linted] = []
    cost = calls(lambda: linted.extend(lint(given, [reference_grants.NOT_GRANTED])))
    assert sum(len(each.findings) for each in linted) == number
    return cost


@pytest.mark.parametrize(
    ("to", "count"),
    [
        (SECRET, 0),
        ("{group: '', kind: Secret}", 1),
        ("{kind: Secret}", 1),
        ("{group: '', kind: Service}", 0),
        ("{group: example.com, kind: Secret}", 0),
        (f"{SECRET}, {{group: '', kind: Secret}}", 1),
    ],
)
def test_broad(to: str, count: int) -> None:
    assert verdicts(reference_grants.BROAD, grant(to=to)) == ["fail"] * count


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        ((grant(), SHOP, USING), []),
        ((grant(), SHOP), ["spec.to[0]"]),
        ((grant(), SHOP.replace("shop", "till")), ["spec.from[0].namespace", "spec.to[0]"]),
        ((grant(to="{group: '', kind: Secret}"), SHOP, USING), []),
        ((grant(to=SECRET.replace("name: w", "name: x")), SHOP), ["spec.to[0]"]),
        ((grant(to=SECRET.replace("Secret", "ConfigMap")), SHOP), ["spec.to[0]"]),
        ((grant(FROM.replace("Gateway", "ListenerSet")), SHOP, USING), []),  # the finding is on the Gateway
        ((grant(to="{group: '', kind: Service}"),), []),
    ],
)
def test_unused(texts: tuple[str, ...], expected: list[str]) -> None:
    found = said(reference_grants.UNUSED, *texts, whole=True)
    assert [field for _, field, _ in found] == expected
    assert {verdict for verdict, _, _ in found} <= {"fail"}


def test_who_was_not_seen_may_use_it() -> None:
    assert verdicts(reference_grants.UNUSED, grant()) == ["inconclusive"] * 2


def test_a_namespace_of_other_manifests_exists() -> None:
    for whole in (False, True):
        assert verdicts(reference_grants.UNUSED, grant(), USING, whole=whole) == []
    other = grant(f"{FROM}, {FROM.replace('shop', 'till')}")
    ((verdict, field, _),) = said(reference_grants.UNUSED, other, USING)
    assert (verdict, field) == ("inconclusive", "spec.from[1].namespace")


def test_kinds_that_are_not_read_may_use_it() -> None:
    strange = FROM.replace("gateway.networking.k8s.io, kind: Gateway", "example.com, kind: Thing")
    assert verdicts(reference_grants.UNUSED, grant(strange), SHOP, whole=True) == ["inconclusive"]


@pytest.mark.parametrize(
    "tls",
    [
        "{backend: {clientCertificateRef: {name: w, namespace: certs}}}",
        f"{{frontend: {{default: {{validation: {{caCertificateRefs: [{SECRET[:-1]}, namespace: certs}}]}}}}}}}}",
    ],
)
def test_other_references_use_it_too(tls: str) -> None:
    using = listening("name: a, port: 80, protocol: HTTP", more=f"  tls: {tls}\n")
    assert said(reference_grants.UNUSED, grant(), SHOP, using, whole=True) == []


OTHER = FROM.replace("shop", "other")
BY_CA = "{validation: {caCertificateRefs: [{group: '', kind: ConfigMap, name: w, namespace: certs}]}}"
USES_CA = listening("name: a, port: 80, protocol: HTTP", more=f"  tls: {{frontend: {{default: {BY_CA}}}}}\n")
USES_CLIENT = listening(
    "name: a, port: 80, protocol: HTTP",
    more="  tls: {backend: {clientCertificateRef: {name: w, namespace: certs}}}\n",
)
LISTENS = "listeners: [{name: a, port: 443, protocol: HTTPS, tls: {certificateRefs: [{name: w, namespace: certs}]}}]"
SET, X_SET = (of(kind, "team", f"parentRef: {{name: edge}}, {LISTENS}") for kind in ("ListenerSet", "XListenerSet"))
CONFIG_MAP = SECRET.replace("Secret", "ConfigMap")
OF_SET = FROM.replace("kind: Gateway", "kind: ListenerSet")
OF_X_SET = OF_SET.replace("gateway.networking.k8s.io", "gateway.networking.x-k8s.io").replace("Lis", "XLis")


@pytest.mark.parametrize(
    ("using", "grants", "granted"),
    [
        (USING, [], False),
        (USING, [certs(SECRET)], True),
        (USING, [certs("{group: '', kind: Secret}")], True),
        (USING, [certs("{kind: Secret}")], True),
        (USING, [certs(SECRET.replace("name: w", "name: x"))], False),
        (USING, [certs(CONFIG_MAP)], False),
        (USING, [certs("{group: core, kind: Secret, name: w}")], False),
        (USING, [certs("{group: '', kind: '*', name: w}")], False),
        (USING, [certs("{group: '', kind: Secret, name: '*'}")], False),
        (USING, [certs(SECRET, OTHER)], False),
        (USING, [certs(SECRET, FROM.replace("shop", "'*'"))], False),
        (USING, [certs(SECRET, FROM.replace("gateway.networking.k8s.io", "''"))], False),
        (USING, [certs(SECRET, OF_SET)], False),
        (USING, [certs(SECRET, namespace="shop")], False),
        (USING, [certs(SECRET, OTHER), certs("{group: '', kind: Secret}", OTHER, name="h")], False),
        (USING, [certs(f"{CONFIG_MAP}, {SECRET}", f"{OTHER}, {OF_SET}, {FROM}")], True),
        (USING, [certs(CONFIG_MAP), certs(SECRET, OTHER, name="h")], False),
        (SET, [certs(SECRET)], False),
        (SET, [certs(SECRET, OF_SET)], True),
        (X_SET, [certs(SECRET, OF_SET)], False),
        (X_SET, [certs(SECRET, OF_X_SET)], True),
        (USES_CA, [certs(SECRET)], False),
        (USES_CA, [certs(CONFIG_MAP)], True),
        (USES_CLIENT, [certs(CONFIG_MAP)], False),
        (USES_CLIENT, [certs(SECRET)], True),
    ],
)
def test_what_grants_a_reference(using: str, grants: list[str], granted: bool) -> None:
    """One ``from`` equal in group, kind and namespace and one ``to`` equal in group and kind, of the same grant, in the
    namespace of what is referred to."""
    expected = [] if granted else ["fail"]
    assert verdicts(reference_grants.NOT_GRANTED, using, *grants, whole=True) == expected
    slip = any("group: core" in each or "group: ''," in each.partition("to:")[0] for each in grants)
    open_ = ["fail" if slip else "inconclusive"]
    assert verdicts(reference_grants.NOT_GRANTED, using, *grants) == ([] if granted else open_)


def test_a_manifest_without_a_namespace_is_in_default() -> None:
    using = USING.replace("name: edge, namespace: shop", "name: edge")
    assert verdicts(reference_grants.NOT_GRANTED, using, grant(), whole=True) == ["fail"]
    granted = grant().replace("shop", "default")
    for whole in (True, False):
        assert verdicts(reference_grants.NOT_GRANTED, using, granted, whole=whole) == []
        assert verdicts(reference_grants.UNUSED, using, granted, whole=whole) == []


UNUSED, NOT_GRANTED = reference_grants.UNUSED, reference_grants.NOT_GRANTED


IN_SHOP = FROM.replace("group: gateway.networking.k8s.io, kind: Gateway", "%s")
NOT_THE_GROUP = "belongs to the group gateway.networking"


@pytest.mark.parametrize(
    ("from_", "to", "field", "words"),
    [
        (FROM, SECRET.replace("''", "core"), "spec.to[0].group", "belongs to the core group"),
        (FROM, SECRET.replace("''", "v1"), "spec.to[0].group", "belongs to the core group"),
        (IN_SHOP % "group: '', kind: Gateway", SECRET, "spec.from[0].group", f"{NOT_THE_GROUP}.k8s.io"),
        (IN_SHOP % "group: core, kind: ListenerSet", SECRET, "spec.from[0].group", f"{NOT_THE_GROUP}.k8s.io"),
        (IN_SHOP % "group: networking.istio.io, kind: Gateway", SECRET, "spec.from[0].group", NOT_THE_GROUP),
        (FROM.replace("Gateway", "HTTPRoute"), SECRET, "spec.from[0].kind", "cannot refer to a Secret"),
        (FROM, SECRET.replace("Secret", "secret"), "spec.to[0].kind", "did you mean Secret?"),
        (FROM, CONFIG_MAP.replace("ConfigMap", "Configmaps"), "spec.to[0].kind", "did you mean ConfigMap?"),
        (FROM.replace("Gateway", "gateway"), SECRET, "spec.from[0].kind", "did you mean Gateway?"),
        (
            FROM.replace("Gateway", "HttpRoute"),
            SECRET.replace("Secret", "Service"),
            "spec.from[0].kind",
            "did you mean HTTPRoute?",
        ),
    ],
)
def test_what_no_grant_can_mean_fails_with_its_place(from_: str, to: str, field: str, words: str) -> None:
    ((verdict, at, message),) = said(UNUSED, grant(from_, to), SHOP, whole=True)
    assert (verdict, at) == ("fail", field)
    assert words in message


def test_a_grant_to_a_kind_of_an_unknown_group_stays_undecided() -> None:
    text = grant("{group: gateway.envoyproxy.io, kind: SecurityPolicy, namespace: shop}")
    assert verdicts(UNUSED, text, SHOP, USING, whole=True) == ["inconclusive"]


@pytest.mark.parametrize(
    ("from_", "to", "near"),
    [
        (
            FROM.replace("gateway.networking.k8s.io", "''"),
            SECRET,
            "from[0].group is '', not 'gateway.networking.k8s.io'",
        ),
        (FROM.replace("shop", "shpo"), SECRET, "from[0].namespace is 'shpo', not 'shop'"),
        (FROM, SECRET.replace("name: w", "name: x"), "to[0].name is 'x', not 'w'"),
        (FROM, SECRET.replace("Secret", "ConfigMap"), "to[0].kind is 'ConfigMap', not 'Secret'"),
        (FROM.replace("Gateway", "HTTPRoute").replace("shop", "a"), SECRET, None),
    ],
)
def test_a_reference_without_a_grant_shows_what_is_wrong_with_the_nearest(
    tmp_path: Path, from_: str, to: str, near: str | None
) -> None:
    found = linted(tmp_path, f"{WHOLE}\n{USING}{grant(from_, to)}", [NOT_GRANTED])[0]
    ((finding,),) = (one.findings for one in found)
    assert finding.finding.evidence == ((f"ReferenceGrant/certs/g: spec.{near}",) if near else ())


SLIPS = [
    grant(FROM.replace("k8s.io", "k8.io")),
    grant(FROM.replace("Gateway", "gateway")),
    grant(to=SECRET.replace("''", "core")),
    grant(to=SECRET.replace("Secret", "secret")),
]
CLASSED = f"{USING}  gatewayClassName: example\n"
NAMESPACES = SHOP + core("Namespace", "certs", "", namespace="")


@pytest.mark.parametrize(
    ("text", "sure"),
    [
        *((each, True) for each in SLIPS),
        (grant(FROM.replace("shop", "shpo")), False),
        (grant(to=SECRET.replace("name: w", "name: v")), False),
    ],
)
def test_one_slip_in_a_grant_is_one_finding(tmp_path: Path, text: str, *, sure: bool) -> None:
    """It stands at the Gateway, and names the field to edit. Among manifests alone another grant may be the one."""
    for whole, verdict in ((True, "fail"), (False, "fail" if sure else "inconclusive")):
        given = f"{WHOLE if whole else ''}\n{NAMESPACES}{secret('w', 'w.example', namespace='certs')}{CLASSED}{text}"
        found = [
            (each.finding.verdict, each.finding.rule, each.finding.fix)
            for one in linted(tmp_path, given, RULES)[0]
            for each in one.findings
            if "grant" in each.finding.rule or each.finding.rule == "field-value"
        ]
        if verdict == "fail":
            ((_, rule, fix),) = found
            assert rule == "gateway-certificate-grant"
            assert (fix or "").startswith("ReferenceGrant/certs/g: set spec."), fix
        assert {each for each, _, _ in found} == {verdict}


OTHER = SECRET.replace("name: w", "name: other")
CORE = SECRET.replace("''", "core")


@pytest.mark.parametrize("to", [f"{CORE}, {OTHER}", f"{OTHER}, {CORE}"])
def test_a_slip_is_nearer_than_an_entry_for_something_else(tmp_path: Path, to: str) -> None:
    found = linted(tmp_path, f"{NAMESPACES}{CLASSED}{grant(to=to)}", [NOT_GRANTED, UNUSED])[0]
    ((finding,),) = (one.findings for one in found if one.findings)
    assert (finding.finding.rule, finding.finding.verdict) == ("gateway-certificate-grant", "fail")
    assert (finding.finding.fix or "").endswith(".group to ''")


def test_an_entry_that_something_else_may_need_is_not_simply_changed(tmp_path: Path) -> None:
    """Nor is it named first where another grant has a slip."""
    found = linted(tmp_path, f"{WHOLE}\n{USING}{grant(to=OTHER)}", [NOT_GRANTED])[0]
    ((finding,),) = (one.findings for one in found if one.findings)
    fix = "ReferenceGrant/certs/g: set spec.to[0].name to 'w', or add an entry where 'other' is needed too"
    assert finding.finding.fix == fix
    slip = grant(to=SECRET.replace("Secret", "secret")).replace("name: g", "name: h")
    found = linted(tmp_path, f"{WHOLE}\n{USING}{grant(to=OTHER)}{slip}", [NOT_GRANTED])[0]
    ((finding,),) = (one.findings for one in found if one.findings)
    assert finding.finding.fix == "ReferenceGrant/certs/h: set spec.to[0].kind to 'Secret'"


@pytest.mark.parametrize(
    ("text", "field"),
    [
        (grant(FROM.replace("shop", "shpo")), "spec.from[0].namespace is 'shpo', not 'shop'"),
        (grant(FROM.replace("kind: Gateway", "kind: HTTPRoute")), "spec.from[0].kind is 'HTTPRoute', not 'Gateway'"),
    ],
)
def test_among_manifests_the_nearest_grant_is_named(tmp_path: Path, text: str, field: str) -> None:
    found = linted(tmp_path, f"{CLASSED}{text}", [NOT_GRANTED])[0]
    ((finding,),) = (one.findings for one in found if one.findings)
    assert finding.finding.verdict == "inconclusive"
    assert f"ReferenceGrant/certs/g does not allow it: {field}" in finding.finding.message
    assert (finding.finding.fix or "").startswith("ReferenceGrant/certs/g: set spec.from[0].")
