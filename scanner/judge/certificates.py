"""What the served certificates say of themselves beside their time: names, key, signature and kind."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from scanner.judge import served
from scanner.judge.verdicts import LISTED, Tally, Words, listed, promised, remark
from scanner.model.certificate_faults import MIN_CURVE_BITS, weak_key, weak_signature
from scanner.model.finding import Finding
from scanner.model.hostnames import is_address
from scanner.model.known import Unknown
from scanner.model.rule import Case, Rule
from scanner.model.san import covers
from scanner.tls.certificate import CertificateFacts


def check_name(rule: Rule, case: Case) -> Iterator[Finding]:
    """The leaf is valid for every name under which the listener is reached.

    ## What it requires

    Each expected name is among the subject alternative names. A DNS name matches without regard to case; a wildcard
    stands for exactly one whole label at the left. An IP address matches an IP entry, never a DNS entry. The common
    name is not looked at. A name is expected where clients use it: of a Route, a Gateway's listener or a webhook, or of
    the Service that leads there, unless the component is known to have a certificate for others. Of a target that is
    given by its IP address alone no name is known: a certificate for that address passes, any other is not judged, and
    the report counts it.

    ## Why

    A client that checks names, as it must, refuses a certificate for somebody else.

    ## What fails

    An expected name that no entry covers: medium. The finding lists the entries that there are. Where an object
    declares the name (a Route, a Gateway, a webhook), it counts for workloads of users too.

    ## What is inconclusive

    A chain that could not be seen, or subject alternative names that cannot be read and do not cover the name as far
    as they can.

    ## Example that fails

    A listener that is in order but for this:

    ```yaml
    hosts: [web.shop.example]
    certificate: {names: [shop.example, "*.web.shop.example"]}
    ```

    ## Example that passes

    ```yaml
    hosts: [web.shop.example]
    certificate: {names: ["*.shop.example"]}
    ```

    ## How to fix

    Issue the certificate for the missing names, or scan the listener under a name that it is meant for
    (`tls://address:port#name`).
    """
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
    """Every served certificate has a key that is strong enough.

    ## What it requires

    RSA keys of at least `minRsaBits` of the policy (2048 by default), elliptic curves of at least 224 bits, and no
    DSA, in every certificate that is sent. Ed25519, Ed448 and ML-DSA keys are always strong enough.

    ## Why

    Who finds the private key is the server. RSA with 1024 bits and curves of 192 bits offer about 80 bits of strength,
    and 224-bit curves about what RSA 2048 does. No TLS 1.3 client accepts DSA.

    ## What fails

    A smaller key, a smaller curve, or DSA: medium.

    ## What is inconclusive

    A chain that could not be seen, a key that cannot be read, or an algorithm that adhere does not know.

    ## Example that fails

    A listener that is in order but for this:

    ```yaml
    certificate: {key: {algorithm: RSA, keySize: 1024}}
    ```

    ```yaml
    certificate: {key: {algorithm: RSA, keySize: 2048}}
    # The policy
    thresholds: {minRsaBits: 3072}
    ```

    ## Example that passes

    ```yaml
    certificate: {key: {algorithm: RSA, keySize: 2048}}
    ```

    ```yaml
    certificate: {key: {algorithm: ECDSA, curve: P-256}}
    ```

    ## How to fix

    Issue the certificate again with a new key: RSA with 2048 bits or more, or ECDSA on P-256.
    """
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
    """No served certificate is signed with MD5 or SHA-1.

    ## What it requires

    The leaf and every intermediate that is sent are signed with SHA-2 or newer, or with an algorithm that has no
    separate hash, such as Ed25519. The signature of a root on itself proves nothing to anybody and is not looked at.

    ## Why

    Collisions for MD5 and SHA-1 are practical: with one, a harmless certificate's signature fits a forged one.

    ## What fails

    MD2, MD4, MD5 or SHA-1: medium.

    ## What is inconclusive

    A chain that could not be seen, a signature algorithm that cannot be read, or one that adhere does not know.

    ## Example that fails

    A listener that is in order but for this:

    ```yaml
    certificate: {signature: sha1WithRSAEncryption}
    ```

    ```yaml
    certificate: {signature: sha256WithRSAEncryption}
    intermediate: {signature: sha1WithRSAEncryption}
    ```

    ## Example that passes

    ```yaml
    certificate: {signature: ecdsa-with-SHA384}
    intermediate: {signature: Ed25519}
    ```

    ## How to fix

    Issue the certificate again with SHA-256 or better. That is the issuer's setting, not the listener's.
    """
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
    """The leaf is not the certificate of a certificate authority.

    ## What it requires

    The certificate with which the listener identifies itself has no basicConstraints with `cA` true.

    ## Why

    The listener's key could then sign certificates for any name, and whoever takes it over gets an authority, not one
    server. Verifiers that follow RFC 5280 closely refuse it, too.

    ## What fails

    `CA:TRUE` in the leaf: medium. It is mostly the self-signed certificate that `openssl req -x509` makes.

    ## What is inconclusive

    A chain that could not be seen, or basicConstraints that cannot be read.

    ## Example that fails

    A listener that is in order but for this:

    ```yaml
    certificate: {isCA: true}
    ```

    ## Example that passes

    ```yaml
    certificate: {isCA: false}
    intermediate: {isCA: true}
    ```

    ## How to fix

    Issue a certificate of its own for the listener, signed by that authority or self-signed with `CA:FALSE`.
    """
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
    title="The certificate is valid for the listener's names",
    severity="medium",
    check=check_name,
    references=("RFC 9525, section 6 (service identity)", "RFC 5280, section 4.2.1.6"),
)
KEY_SIZE = Rule(
    id="cert-key-size",
    title="Served certificates have strong keys",
    severity="medium",
    check=check_key_size,
    references=("NIST SP 800-57 part 1, table 2", "RFC 9325, section 4.5"),
)
SIGNATURE = Rule(
    id="cert-signature",
    title="Served certificates are not signed with MD5 or SHA-1",
    severity="medium",
    check=check_signature,
    references=("RFC 9155 (MD5 and SHA-1 signatures)", "RFC 9325, section 4.5"),
)
CA_AS_LEAF = Rule(
    id="cert-ca-as-leaf",
    title="The leaf is not a certificate authority's",
    severity="medium",
    check=check_ca_as_leaf,
    references=("RFC 5280, section 4.2.1.9",),
)
