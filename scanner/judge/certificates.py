"""What the served certificates say of themselves beside their time: names, key, signature and kind."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from scanner.judge import served
from scanner.judge.verdicts import LISTED, Tally, Words, listed, promised, remark
from scanner.kube.hostnames import is_address
from scanner.kube.maybe import Unknown
from scanner.model.certificate_faults import MIN_CURVE_BITS, weak_key, weak_signature
from scanner.model.finding import Finding
from scanner.model.rule import Case, Rule
from scanner.model.san import covers
from scanner.tls.certificate import CertificateFacts


def check_name(rule: Rule, case: Case) -> Iterator[Finding]:
    """The leaf is valid for every name under which the listener is reached."""
    wanted = case.expectation.certificate.names
    if not wanted:
        yield from _of_address(rule, case)
        return
    leaves = served.leaf(case)
    if isinstance(leaves, Unknown):
        tally: Tally[str] = Tally(unknown=(leaves.reason,))
    else:
        tally = _names(leaves[0], wanted)
    finding = served.finding(
        rule,
        case,
        tally,
        Words(
            passed="the certificate is valid for every expected name",
            failed=f"the certificate is not valid for {', '.join(map(served.short, tally.seen[:LISTED]))}",
            unclear="whether the certificate is valid for the expected names could not be told",
        ),
        expected="",
        fix="issue the certificate for the expected names",
    )
    finding = replace(finding, expected=listed(map(served.short, wanted)))
    finding = promised(finding) if case.endpoint.subject else finding
    yield finding if isinstance(leaves, Unknown) else replace(finding, observed=_present(leaves[0]))


def _of_address(rule: Rule, case: Case) -> Iterator[Finding]:
    """Of a target that is given by an IP address. Few certificates are for one, so that another is no failure."""
    host, leaves = case.endpoint.host, served.leaf(case)
    if not is_address(host) or isinstance(leaves, Unknown):
        return
    if covers(leaves[0], host) is True:
        yield remark(rule, f"the certificate is valid for the address {host}", observed=_present(leaves[0]))
        return
    message = "the certificate's names are not checked: the target is an IP address without a name (address:port#name)"
    yield remark(rule, message, verdict="not_applicable", observed=_present(leaves[0]))


def check_key_size(rule: Rule, case: Case) -> Iterator[Finding]:
    """Every served certificate has a key that is strong enough."""
    yield served.finding(
        rule,
        case,
        served.tally(served.everything(case), lambda certificate: weak_key(certificate, case.policy.min_rsa_bits)),
        Words(
            passed="every served certificate has a key that is strong enough",
            failed="a served certificate has a weak key",
            unclear="how strong the keys of the served certificates are could not be told",
        ),
        expected=f"RSA of {case.policy.min_rsa_bits} bits or more, or a curve of {MIN_CURVE_BITS} bits or more",
        fix="issue the certificate again with a stronger key",
    )


def check_signature(rule: Rule, case: Case) -> Iterator[Finding]:
    """No served certificate is signed with MD5 or SHA-1."""
    yield served.finding(
        rule,
        case,
        served.tally(served.signed(case), weak_signature),
        Words(
            passed="no served certificate is signed with MD5 or SHA-1",
            failed="a served certificate is signed with a broken hash",
            unclear="how the served certificates are signed could not be told",
        ),
        expected="SHA-256 or better",
        fix="have the certificate issued again with SHA-256 or better",
    )


def check_ca_as_leaf(rule: Rule, case: Case) -> Iterator[Finding]:
    """The leaf is not the certificate of a certificate authority."""
    reading = served.field("is_ca", lambda is_ca: "CA:TRUE" if is_ca else None)
    yield served.finding(
        rule,
        case,
        served.tally(served.leaf(case), reading),
        Words(
            passed="the leaf is no certificate authority's",
            failed="the leaf is a certificate authority's certificate",
            unclear="whether the leaf is a certificate authority's could not be told",
        ),
        expected="a leaf with CA:FALSE",
        fix="issue a certificate of its own for the listener",
    )


def _names(leaf: CertificateFacts, wanted: tuple[str, ...]) -> Tally[str]:
    states = {name: covers(leaf, name) for name in wanted}
    return Tally(
        seen=tuple(name for name, state in states.items() if state is False),
        unknown=tuple(f"{served.short(n)}: {s.reason}" for n, s in states.items() if isinstance(s, Unknown)),
    )


def _present(leaf: CertificateFacts) -> tuple[str, ...]:
    """The names that the leaf has, as far as they can be read."""
    sans = leaf.sans
    if sans is None:
        return ()
    return listed(map(served.short, sans)) or ("no subject alternative name",)


NAME = Rule(
    id="cert-name",
    check=check_name,
)
KEY_SIZE = Rule(
    id="cert-key-size",
    check=check_key_size,
)
SIGNATURE = Rule(
    id="cert-signature",
    check=check_signature,
)
CA_AS_LEAF = Rule(
    id="cert-ca-as-leaf",
    check=check_ca_as_leaf,
)
