"""ReferenceGrants that allow more than is needed."""

from __future__ import annotations

import pytest

from scanner.lint.gateway import reference_grants
from tests.lint.gateway.cases import core, listening, of, said, verdicts

FROM = "{group: gateway.networking.k8s.io, kind: Gateway, namespace: shop}"
SECRET = "{group: '', kind: Secret, name: w}"
SHOP = core("Namespace", "shop", "", namespace="")
USING = listening("name: a, port: 443, protocol: HTTPS, tls: {certificateRefs: [{name: w, namespace: certs}]}")


def grant(from_: str = FROM, to: str = SECRET) -> str:
    return of("ReferenceGrant", "g", f"from: [{from_}], to: [{to}]", version="v1beta1", namespace="certs")


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
        ((grant(), USING), ["spec.from[0].namespace"]),
        ((grant(to="{group: '', kind: Secret}"), SHOP, USING), []),
        ((grant(to=SECRET.replace("name: w", "name: x")), SHOP, USING), ["spec.to[0]"]),
        ((grant(to=SECRET.replace("Secret", "ConfigMap")), SHOP, USING), ["spec.to[0]"]),
        ((grant(FROM.replace("Gateway", "ListenerSet")), SHOP, USING), ["spec.to[0]"]),
        ((grant(to="{group: '', kind: Service}"),), []),
    ],
)
def test_unused(texts: tuple[str, ...], expected: list[str]) -> None:
    found = said(reference_grants.UNUSED, *texts, whole=True)
    assert [field for _, field, _ in found] == expected
    assert {verdict for verdict, _, _ in found} <= {"fail"}


def test_who_was_not_seen_may_use_it() -> None:
    assert verdicts(reference_grants.UNUSED, grant()) == ["inconclusive"] * 2


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
