"""Names come apart at separators that are ones, and at no others."""

from __future__ import annotations

from datetime import UTC, datetime
from functools import cache

import pytest
from cryptography import x509
from cryptography.x509.oid import NameOID
from hypothesis import given
from hypothesis import strategies as st

from scanner.config.certificate_names import load_names
from scanner.kube.objects import Reference
from scanner.model.held_certificate import HeldCertificate, Place, Role
from scanner.model.well_known import Names
from scanner.pki.recognition import (
    Classified,
    classify,
    common_name,
    likely,
    made_by_name,
    organizations,
    suits,
    use_of,
    values,
)
from scanner.tls.certificate import CertificateFacts, parse_certificate
from scanner.values import replace
from tests.certs import HOSTILE_NAMES, Authority, hostile
from tests.pki.making import made, subject
from tests.pki.names_story import ROWS, Row, certificate

pytestmark = pytest.mark.crypto

TEXT = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=16)
"""Up to 64 bytes in UTF-8, which is as long as an attribute may be (RFC 5280 appendix A.1)."""


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("CN=etcd-signer,OU=openshift", "etcd-signer"),
        (r"CN=a\,CN=b", "a,CN=b"),
        ("CN=a,CN=b", ""),
        ("CN=a+O=b", "a"),
        ("O=b", ""),
        ("", ""),
        ("CN=" + "a" * 1997, "a" * 1997),
        ("CN=" + "a" * 1998, ""),
        (None, None),
    ],
)
def test_the_common_name_is_the_only_one(name: str | None, expected: str | None) -> None:
    assert common_name(name) == expected


def test_of_an_unreadable_name_nothing_is_known() -> None:
    assert organizations(None) is None
    assert organizations("CN=a,O=b,O=c") == ("b", "c")


@given(TEXT, TEXT)
def test_what_cryptography_escapes_comes_back(owner: str, name: str) -> None:
    """RFC 4514 section 2.4, as ``rfc4514_string`` writes it."""
    pairs = ((NameOID.ORGANIZATION_NAME, owner), (NameOID.COMMON_NAME, name))
    text = x509.Name([x509.NameAttribute(oid, value) for oid, value in pairs]).rfc4514_string()
    assert (values(text, "O"), values(text, "CN")) == ((owner,), (name,))


@given(st.text(max_size=40))
def test_no_text_is_too_odd(text: str) -> None:
    assert all(isinstance(each, str) for each in values(text, "CN"))


SERVER, CLIENT = ("serverAuth",), ("clientAuth",)
BOTH = (*SERVER, *CLIENT)
OPERATOR, KAS, ETCD = "openshift-kube-apiserver-operator", "openshift-kube-apiserver", "openshift-etcd"
MCO, KCMO = "openshift-machine-config-operator", "openshift-kube-controller-manager-operator"
MASTERS = "system:masters"


def of(category: str) -> list[Row]:
    return [row for row in ROWS if row.category == category]


SIGNERS, SERVING = of("signer"), of("serving")
MANAGER = "kube-control-plane-kube-controller-manager-client"
SCHEDULER = "kube-control-plane-kube-scheduler-client"
KUBE = "system:kube-apiserver"


_SERVICE_CA = "openshift-service-serving-signer@1790000000"


@cache
def names() -> Names:
    """With the service CA's own signer, as the platform's namespaces have it; everything here is signed by one key."""
    signer = made(_SERVICE_CA, ca=True)
    assert signer.key_sha256 is not None
    return replace(load_names(), signers={signer.key_sha256: signer.der})


def held(facts: CertificateFacts, *, secret: str = "", bundle: str = "", role: Role = "leaf") -> HeldCertificate:
    kind, path = ("Secret", secret) if secret else ("ConfigMap", bundle)
    namespace, _, name = path.partition("/")
    reference = Reference(kind=kind, namespace=namespace, name=name) if path else None
    return HeldCertificate(facts=facts, place=Place(role=role, reference=reference))


def served(facts: CertificateFacts, component: str | None, port: int, role: Role = "leaf") -> HeldCertificate:
    return HeldCertificate(facts=facts, place=Place(role=role, endpoint="there", component=component, port=port))


def said(each: Classified) -> set[str]:
    return {name.name for name in each.names}


def test_the_table_has_every_name_of_the_enhancement() -> None:
    assert [row.name for row in ROWS] == list(names().overridable)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_by_the_certificate_alone(row: Row) -> None:
    found = classify(held(certificate(row)), names())
    assert said(found) == {row.name, *row.others}
    assert (found.category, found.governed) == (row.category, True)


IN_AN_ORGANIZATION = {each.name for each in load_names().all if each.recognition.organizations}


@pytest.mark.parametrize("row", [row for row in ROWS if row.name in IN_AN_ORGANIZATION], ids=lambda row: row.name)
def test_an_organization_is_part_of_a_name(row: Row) -> None:
    for organization in ("shop", ""):
        found = classify(held(certificate(row._replace(organization=organization))), names())
        assert row.name not in said(found)


WITH_SECRETS = [row for row in ROWS if row.secret]


@pytest.mark.parametrize("row", WITH_SECRETS, ids=lambda row: row.name)
def test_by_the_secret_whatever_the_subject_is(row: Row) -> None:
    facts = made("somebody", "an intermediate", ca=row.category == "signer", eku=row.usages)
    found = classify(held(facts, secret=row.secret), names())
    assert said(found) == {row.name}
    assert (found.category, found.governed, found.because) == (row.category, True, f"its Secret is {row.secret}")


@pytest.mark.parametrize("row", WITH_SECRETS, ids=lambda row: row.name)
def test_a_look_alike_in_a_users_namespace_is_nobody(row: Row) -> None:
    path = f"shop/{row.secret.partition('/')[2]}"
    found = classify(held(certificate(row), secret=path), names())
    assert (found.names, found.governed) == ((), False)
    assert found.why == "namespace shop belongs to users, not to the platform"


# --- Listeners --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("component", "port", "row"),
    [
        *(("kube-apiserver", 6443, row) for row in SERVING[:4]),
        ("machine-config-server", 22623, SERVING[4]),
        ("etcd", 2380, SERVING[6]),
        ("etcd", 2379, SERVING[7]),
        ("etcd", 9979, SERVING[8]),
    ],
)
def test_by_the_listener(component: str, port: int, row: Row) -> None:
    found = classify(served(certificate(row), component, port), names())
    assert said(found) == {row.name}
    assert f"{component} serves it on port {port}" in found.because


def test_a_signer_behind_what_it_signed() -> None:
    signer = certificate(SIGNERS[4])
    found = classify(served(signer, "kube-apiserver", 6443, "issuer"), names())
    assert said(found) == {"kube-apiserver-lb-signer"}
    behind = classify(held(signer, secret=f"{KAS}/external-loadbalancer-serving-certkey", role="issuer"), names())
    assert said(behind) == {"kube-apiserver-lb-signer"}


def test_a_named_certificate_of_the_users_is_not_the_load_balancers() -> None:
    facts = made("api.shop.example.com", "Example Public CA", eku=SERVER, sans=("api.shop.example.com",))
    found = classify(served(facts, "kube-apiserver", 6443), names())
    assert (found.names, found.category, found.governed) == ((), "serving", None)


def test_a_listener_of_users_is_believed_nothing() -> None:
    found = classify(served(certificate(SIGNERS[11]), None, 8443), names())
    assert (found.names, found.governed) == ((), False)


# --- Ambiguous and deprecated -----------------------------------------------------------------------------------------


def test_system_admin_without_a_readable_issuer_may_be_any_of_four() -> None:
    facts = replace(made(subject("system:admin", MASTERS), "x", eku=CLIENT), issuer=None)
    found = classify(held(facts), names())
    assert said(found) == {
        "admin-kubeconfig-client",
        MANAGER,
        SCHEDULER,
        "kube-apiserver.node-system-admin-client",
    }
    assert found.category == "client"


def test_system_kube_apiserver_without_readable_names_may_be_either_balancers() -> None:
    facts = made(subject(KUBE, "kube-master"), "kube-apiserver-lb-signer", eku=SERVER)
    found = classify(held(replace(facts, dns_names=None)), names())
    assert said(found) == {"kube-apiserver-lb-server", "kube-apiserver-internal-lb-server"}


def test_system_admin_of_a_strange_signer_is_nobodys() -> None:
    found = classify(held(made(subject("system:admin", MASTERS), "my own CA", eku=CLIENT)), names())
    assert (found.names, found.category, found.governed) == ((), "client", None)


def test_deprecated_names_have_successors() -> None:
    deprecated = {each.name: each.successor for each in names().all if each.successor}
    assert deprecated == {"aggregator-ca": "aggregator-signer", "apiserver-proxy-client": "aggregator-client"}


def test_the_secret_kubelet_client_is_not_the_name_kubelet_client() -> None:
    facts = made("system:kube-apiserver", "x", eku=CLIENT)
    assert said(classify(held(facts, secret=f"{KAS}/kubelet-client"), names())) == {"kube-apiserver-to-kubelet-client"}


def test_a_secret_that_holds_something_else_says_so() -> None:
    found = classify(held(made("x", "y", eku=SERVER), secret=f"{ETCD}/etcd-signer"), names())
    assert said(found) == {"etcd-signer"}
    assert (found.category, found.use) == ("signer", "serving")
    assert found.because.endswith(", but the certificate has another purpose")


# --- What no override can name ----------------------------------------------------------------------------------------

SERVICE = made("web.shop.svc", "openshift-service-serving-signer@1790000000", eku=SERVER, sans=("web.shop.svc",))


@pytest.mark.parametrize("where", [held(SERVICE, secret="shop/web-tls"), served(SERVICE, None, 8443), held(SERVICE)])
def test_service_serving_certificates_are_governed_and_cannot_be_named(where: HeldCertificate) -> None:
    found = classify(where, names())
    assert said(found) == {"service-ca.service-serving"}
    assert (found.category, found.governed, found.names[0].overridable) == ("serving", True, False)


def test_kubelets_are_told_apart_by_usage() -> None:
    name = subject("system:node:worker-0", "system:nodes")
    for eku, expected in ((SERVER, "kubelet-serving"), (CLIENT, "kubelet-node-client")):
        facts = made(name, "kube-csr-signer_@1790000000", eku=eku, sans=("worker-0",))
        request = Place(role="request", reference=Reference(kind="CertificateSigningRequest", name="csr-abcde"))
        found = classify(HeldCertificate(facts=facts, place=request), names())
        assert said(found) == {expected}
        assert not found.names[0].owner.implements


# --- Outside ----------------------------------------------------------------------------------------------------------


def test_what_was_asked_for_by_a_request_is_not_the_platforms_key() -> None:
    request = Place(role="request", reference=Reference(kind="CertificateSigningRequest", name="csr-abcde"))
    found = classify(HeldCertificate(facts=made("web.example"), place=request), names())
    assert (found.names, found.governed) == ((), False)


def test_what_users_provided_is_outside_even_in_the_platforms_secret() -> None:
    place = held(certificate(SIGNERS[4]), secret=f"{OPERATOR}/loadbalancer-serving-signer").place
    given = replace(place, user_provided="APIServer/cluster spec.servingCerts.namedCertificates[0]")
    found = classify(HeldCertificate(facts=certificate(SIGNERS[4]), place=given), names())
    assert (found.names, found.category, found.governed) == ((), "signer", False)
    assert "namedCertificates[0]" in found.why


@pytest.mark.parametrize(
    "bundle",
    ["openshift-config/user-ca-bundle", "openshift-image-registry/trusted-ca", "openshift-console/trusted-ca-bundle"],
)
def test_bundles_of_users_and_the_system_are_outside(bundle: str) -> None:
    found = classify(held(certificate(SIGNERS[11]), bundle=bundle, role="trusted"), names())
    assert (found.names, found.governed) == ((), False)


def test_what_administrators_gave_is_outside_also_where_the_platform_writes() -> None:
    stranger = made("web.example")
    found = classify(held(stranger, secret="openshift-config/mine"), names())
    assert (found.names, found.governed) == ((), False)
    assert found.why.startswith("what an administrator gave")
    assert classify(held(stranger, secret="openshift-etcd/mine"), names()).governed is None


def test_bundles_of_the_platform_hold_its_signers() -> None:
    bundle = "openshift-config-managed/kube-apiserver-server-ca"
    found = classify(held(certificate(SIGNERS[2]), bundle=bundle, role="trusted"), names())
    assert said(found) == {"kube-apiserver-localhost-signer"}
    stranger = classify(held(made("Public Root R1", ca=True), bundle=bundle, role="trusted"), names())
    assert (stranger.names, stranger.governed) == ((), False)
    every = classify(held(certificate(SIGNERS[4]), bundle="shop/kube-root-ca.crt", role="trusted"), names())
    assert said(every) == {"kube-apiserver-lb-signer"}


def test_of_ca_bundles_only_the_injected_service_ca_is_the_platforms() -> None:
    webhook = Reference(kind="ValidatingWebhookConfiguration", name="policy")
    place = Place(role="trusted", reference=webhook, field="webhooks[0].clientConfig.caBundle")
    service = classify(HeldCertificate(facts=certificate(SIGNERS[13]), place=place), names())
    assert said(service) == {"service-ca"}
    for row in (SIGNERS[11], SIGNERS[0]):
        found = classify(HeldCertificate(facts=certificate(row), place=place), names())
        assert (found.names, found.governed) == ((), False)


def test_operators_that_users_install_live_in_users_namespaces() -> None:
    found = classify(held(certificate(SIGNERS[11]), secret="openshift-operators/etcd-signer"), names())
    assert (found.names, found.governed) == ((), False)


def test_hosted_control_planes_are_hypershifts() -> None:
    facts = certificate(SIGNERS[11])
    found = classify(held(facts, secret="clusters-shop/etcd-signer"), names())
    assert (found.names, found.governed, found.judged) == ((), True, True)
    assert found.why.startswith("HyperShift made it")
    assert [each.name for each in found.makers] == ["hypershift"]
    elsewhere = load_names(hosted=("hosts-shop",))
    assert classify(held(facts, secret="clusters-shop/etcd-signer"), elsewhere).why.startswith(
        "namespace clusters-shop"
    )
    named = classify(held(facts, secret="hosts-shop/customer-system-admin-signer"), elsewhere)
    assert said(named) == {"control-plane-pki.customer-admin-signer"}


def test_what_nobody_knows_in_the_platforms_namespace_is_not_known() -> None:
    found = classify(held(made("x", "y", eku=SERVER), secret="openshift-monitoring/new"), names())
    assert (found.names, found.category, found.governed) == ((), "serving", None)
    assert (found.judged, found.likely) == (True, "")


@pytest.mark.parametrize(
    ("name", "issuer", "likely"),
    [
        ("openshift-new_new-signer@1790000000", None, "its name has the spelling of operators"),
        ("x", "openshift-new_new-signer@1790000000", "its signer's name has the spelling of operators"),
        ("x", None, "it is self-signed"),
        ("x@1", "y", ""),
    ],
)
def test_what_says_that_the_platform_made_it(name: str, issuer: str | None, likely: str) -> None:
    found = classify(held(made(name, issuer, eku=SERVER), secret="openshift-monitoring/new"), names())
    assert found.likely.startswith(likely)
    assert bool(found.likely) == bool(likely)


@pytest.mark.parametrize(
    ("where", "judged"),
    [
        (served(made("x", eku=SERVER), "kube-apiserver", 6443), True),
        (served(made("x", eku=SERVER), "kube-apiserver", 6443, role="issuer"), False),
        (served(made("x", eku=SERVER), "router", 443), False),  # what users gave to Routes
        (served(made("x", eku=SERVER), None, 8443), False),
        (held(made("x", eku=SERVER)), False),  # a file
        (held(made("x", eku=SERVER), secret="shop/x"), False),
        (held(made("x", ca=True), bundle="openshift-monitoring/x", role="trusted"), False),
    ],
)
def test_only_what_the_platform_uses_is_judged_without_a_name(where: HeldCertificate, judged: bool) -> None:
    assert classify(where, names()).judged is judged


def test_who_calls_its_signer_as_the_service_ca_proves_nothing() -> None:
    imitation = Authority(_SERVICE_CA).leaf(names=("web.shop.svc",), eku=("serverAuth",))
    for where in (held(parse_certificate(imitation.der), secret="shop/mine"), served(SERVICE, None, 8443)):
        found = classify(where, names())
        assert bool(found.names) == bool(where.place.endpoint)
    unknown = classify(held(SERVICE, secret="shop/mine"), load_names())
    assert (unknown.names, unknown.governed, unknown.judged) == ((), None, False)
    assert "was not read" in unknown.why
    other = classify(held(replace(SERVICE, der=b""), secret="shop/mine"), names())
    assert (other.names, other.governed) == ((), False)


# --- The category without a name --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("ca", "eku", "category"),
    [
        (True, SERVER, "signer"),
        (False, SERVER, "serving"),
        (False, CLIENT, "client"),
        (False, BOTH, "peer"),
        (False, ("any",), "peer"),
        (False, (), "unknown"),
    ],
)
def test_the_certificate_says_what_it_is_for(ca: bool, eku: tuple[str, ...], category: str) -> None:
    assert classify(held(made("x", "y", ca=ca, eku=eku)), names()).category == category


# --- Hostile ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("text", HOSTILE_NAMES)
def test_hostile_subjects_are_nobody(text: str) -> None:
    facts = replace(made("x", "y", ca=True), subject=f"CN={text}", issuer=text)
    assert classify(held(facts), names()).names == ()


@pytest.mark.parametrize(
    "text",
    [
        "CN=evil,CN=etcd-signer",
        r"CN=evil\,CN=etcd-signer",
        r"O=CN\=etcd-signer",
        "CN=etcd-signer\\00",
        "CN=ETCD-SIGNER",
        "CN=etcd-signer ",
        "CN=" + "a" * 3000 + ",CN=etcd-signer",
    ],
)
def test_subjects_that_only_look_like_a_signers(text: str) -> None:
    assert classify(held(replace(made("x", ca=True), subject=text)), names()).names == ()


def test_a_hostile_leaf_breaks_nothing() -> None:
    der = hostile(Authority("etcd-signer")).der
    found = classify(served(parse_certificate(der), "etcd", 2379), names())
    assert said(found) == {"etcd-server"}


TEXTS = st.none() | st.text(max_size=60) | st.sampled_from([f"CN={row.common_name}" for row in ROWS])
FACTS = st.builds(
    CertificateFacts,
    der=st.just(b""),
    sha256=st.just(""),
    subject=TEXTS,
    issuer=TEXTS,
    dns_names=st.none() | st.tuples(st.text(max_size=300)),
    ip_addresses=st.none() | st.tuples(st.text(max_size=20)),
    not_before=st.just(datetime(2026, 1, 1, tzinfo=UTC)),
    is_ca=st.none() | st.booleans(),
    extended_key_usage=st.none() | st.lists(st.sampled_from([*BOTH, "1.2.3"])).map(tuple),
)
WORDS = st.sampled_from(["openshift-etcd", "shop", "etcd-signer", "etcd-peer-a", "kube-root-ca.crt"]) | st.text(
    max_size=9
)
PLACES = st.builds(
    Place,
    role=st.sampled_from(["leaf", "issuer", "trusted", "client", "request"]),
    reference=st.none()
    | st.builds(
        Reference,
        kind=st.sampled_from(["Secret", "ConfigMap", "APIService", "CertificateSigningRequest"]) | st.text(max_size=5),
        name=WORDS,
        namespace=st.none() | WORDS,
    ),
    endpoint=st.sampled_from(["", "there"]),
    port=st.none() | st.sampled_from([2379, 2380, 6443]),
    component=st.none() | st.sampled_from(["etcd", "kube-apiserver", "x"]),
    user_provided=st.none() | st.just("said so"),
)


@given(FACTS, PLACES)
def test_nothing_crashes_and_everything_has_reasons(facts: CertificateFacts, place: Place) -> None:
    found = classify(HeldCertificate(facts=facts, place=place), names())
    assert found.because
    assert found.why
    assert bool(found.names) <= (found.governed is True)
    assert len(set(found.__struct_fields__)) == 9
    users = place.reference is not None and place.reference.namespace == "shop"
    if users and place.reference is not None and place.reference.kind == "Secret":
        assert said(found) <= {"service-ca.service-serving"}


# --- What a certificate is for ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("is_ca", "purposes", "use", "fits"),
    [
        (True, (), "signer", {"signer"}),
        (True, BOTH, "signer", {"signer"}),
        (None, SERVER, "unknown", {"signer", "serving", "client", "peer"}),
        (False, SERVER, "serving", {"serving", "peer"}),
        (False, CLIENT, "client", {"client", "peer"}),
        (False, BOTH, "peer", {"serving", "client", "peer"}),
        (False, ("anyExtendedKeyUsage",), "peer", {"serving", "client", "peer"}),
        (False, ("1.2.3",), "unknown", {"serving", "client", "peer"}),
        (False, (), "unknown", {"serving", "client", "peer"}),
        (False, None, "unknown", {"serving", "client", "peer"}),
    ],
)
def test_the_use_of_a_certificate_limits_the_names_that_it_may_have(
    is_ca: bool | None, purposes: tuple[str, ...] | None, use: str, fits: set[str]
) -> None:
    """Unreadable basicConstraints exclude no name: a signer must not escape its rule by a damaged extension."""
    facts = replace(made("x"), is_ca=is_ca, extended_key_usage=purposes)
    assert use_of(facts) == use
    assert {row.category for row in names().all if suits(row, facts)} == fits


@pytest.mark.parametrize(
    ("name", "issuer", "text"),
    [
        ("etcd-signer@1700000000", "ca", "its name has the spelling of operators ('etcd-signer@1700000000')"),
        ("x", "ca@170000000", "its signer's name has the spelling of operators ('ca@170000000')"),
        ("x", "x", "it is self-signed, not signed by a CA"),
        ("x", "ca", ""),
        ("x", "ca@17000000", ""),  # eight digits are no time of today
        ("x", "ca@17000000000", ""),
        ("x", "ca@1700000000-2", ""),
    ],
)
def test_the_spelling_of_operators_shows_who_probably_made_a_certificate(name: str, issuer: str, text: str) -> None:
    assert likely(made(name, issuer)) == text


@pytest.mark.parametrize(
    ("name", "issuer", "ca", "made_at"),
    [
        ("signer@1700000000", "other", True, datetime(2023, 11, 14, 22, 13, 20, tzinfo=UTC)),
        ("signer@1700000000", "other", False, None),  # a leaf has no key of a signer
        ("signer@1700000000", "signer@1700000000", True, None),  # its own notBefore is the time
        ("signer", "other", True, None),
    ],
)
def test_a_cross_signed_signer_has_the_time_of_its_key_in_its_name(
    name: str, issuer: str, ca: bool, made_at: datetime | None
) -> None:
    assert made_by_name(made(name, issuer, ca=ca)) == made_at


@pytest.mark.parametrize(
    ("role", "port", "component", "found"),
    [
        ("leaf", 2379, "etcd", {"etcd-server"}),
        ("leaf", 2380, "etcd", {"etcd-peer-server"}),
        ("leaf", None, "etcd", {"etcd-server", "etcd-peer-server"}),
        ("leaf", 2379, None, set()),
        ("leaf", 2379, "kube-apiserver", {"etcd-server", "etcd-peer-server"}),  # by its signer alone
        ("issuer", 2379, "etcd", {"etcd-server", "etcd-peer-server"}),
    ],
)
def test_a_listener_names_its_leaf_by_component_and_port(
    role: Role, port: int | None, component: str | None, found: set[str]
) -> None:
    place = Place(role=role, endpoint="there", port=port, component=component)
    facts = made("x", "etcd-signer", eku=BOTH)
    classified = classify(HeldCertificate(facts=facts, place=place), names())
    assert said(classified) == found
    assert ("serves it" in classified.because) == (role == "leaf" and component == "etcd")
