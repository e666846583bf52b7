"""Rules on certificates that are seen together: a certificate and its signer, and keys that several have. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from scanner.model.finding import Finding, Severity
from scanner.model.key import Key, key_of
from scanner.model.known import Unknown
from scanner.model.rule import ScanRule
from scanner.pki.across import Across, Signed, Use
from scanner.pki.signature import SIGNATURE, cannot_have_signed
from scanner.tls.certificate import CertificateFacts

_SHOWN: Final = 5
_ENOUGH: Final = 128
"""Bits of security beyond which nobody forges a signature: RSA 3072 and P-256 have them."""


def check_signers(rule: ScanRule, across: Across) -> Iterator[Finding]:
    """The platform's certificates have no stronger keys than their signers.

    ## What it requires

    The key of a serving or client certificate that the platform made has no more bits of security (NIST SP 800-57)
    than the key of its signer. Where several signers of that name were found, than the strongest of them.

    ## Why

    A certificate is worth what its signer's key is worth. A stronger key below costs time in every handshake, and
    whoever can forge the signer's signature does not need it.

    ## What fails

    Such a certificate, where its signer has less than 128 bits of security (RSA 2048 has 112): low. Below a stronger
    signer, as ECDSA P-384 below RSA 4096, it is informational, and so it is where its maker takes a key of its own,
    whatever is configured (kubelets: ECDSA P-256). Those that are signed alike are reported once, with their number.

    ## What is inconclusive

    Nothing: a signer that was not found, or whose key cannot be read, is compared with nothing.

    ## Example that fails

    ```yaml
    apiVersion: v1
    kind: Secret
    metadata: {name: localhost-serving-signer, namespace: openshift-kube-apiserver-operator}
    data:
      tls.crt: CERTIFICATE(kube-apiserver-localhost-signer, CA, RSA 2048, ends in 3650 days)
    ---
    apiVersion: v1
    kind: Secret
    metadata: {name: localhost-serving-cert-certkey, namespace: openshift-kube-apiserver}
    data:
      tls.crt: CERTIFICATE(localhost, ECDSA P256, signed by kube-apiserver-localhost-signer)
    ```

    ## Example that passes

    ```yaml
    apiVersion: v1
    kind: Secret
    metadata: {name: localhost-serving-signer, namespace: openshift-kube-apiserver-operator}
    data:
      tls.crt: CERTIFICATE(kube-apiserver-localhost-signer, CA, RSA 2048, ends in 3650 days)
    ---
    apiVersion: v1
    kind: Secret
    metadata: {name: localhost-serving-cert-certkey, namespace: openshift-kube-apiserver}
    data:
      tls.crt: CERTIFICATE(localhost, RSA 2048, signed by kube-apiserver-localhost-signer)
    ```

    ## How to fix

    Configure a key for signers that is at least as strong, and have the signer made again, with the care that its own
    finding asks for; or take a smaller key below.
    """
    for signed, signers in across.signed():
        own, theirs = _key(signed.facts), [_key(each) for each in signers]
        if not signed.classified.names or signed.facts.is_ca or own is None or own.strength is None:
            continue
        strengths = [each.strength for each in theirs if each is not None and each.strength is not None]
        if len(strengths) == len(theirs) and max(strengths) < own.strength:
            signer = max((each for each in theirs if each is not None), key=lambda each: each.strength or 0)
            said = f"its key is {own}, stronger than its signer's ({signer})"
            chosen = any(each.owner.implements for each in signed.classified.names)
            fix = f"configure a key for signers that is as strong{', or a smaller one here' if chosen else ''}"
            weak = (signer.strength or 0) < _ENOUGH
            yield _of_signed(rule, signed, said, rule.severity if chosen and weak else "info", fix)


def impossible_signatures(across: Across) -> Iterator[Finding]:
    """What ``pki-signature`` says of certificates whose signers are kept elsewhere."""
    for signed, signers in across.signed():
        if said := cannot_have_signed(signed.facts, signers):
            fix = "have it issued again, by the key that its signer has now"
            yield _of_signed(SIGNATURE, signed, said, SIGNATURE.severity, fix)


def check_reuse(rule: ScanRule, across: Across) -> Iterator[Finding]:
    """No private key is used in two namespaces, or by certificates for different names.

    ## What it requires

    Certificates in use (in Secrets and Routes, and what listeners serve) have a key of their own: no two namespaces
    hold the same one, and it is not certified for different names. Told by the digest of subjectPublicKeyInfo.

    A signer that was signed across keeps its key, bundles repeat CAs, a renewed certificate may keep its key, and the
    platform's operators copy Secrets between the platform's own namespaces: none of these is reuse.

    ## Why

    Whoever may read the Secret in one namespace can be the server of the other. And a key that is lost in one place has
    to be replaced in all of them, by people who do not know of each other.

    ## What fails

    * One key in Secrets or Routes of several namespaces: medium.
    * One key that listeners of several namespaces serve, while no object was seen to hold it (without Secrets, one may
      merely pass connections through to the other): low.
    * One key in certificates for different names: low.

    ## What is inconclusive

    Nothing. A key that cannot be read is like no other one; without Secrets only what is served and what Routes have
    is compared.

    ## Example that fails

    ```yaml
    apiVersion: v1
    kind: Secret
    metadata: {name: web-tls, namespace: shop}
    data:
      tls.crt: CERTIFICATE(web.shop.example)
    ---
    apiVersion: v1
    kind: Secret
    metadata: {name: web-tls, namespace: blog}
    data:
      tls.crt: CERTIFICATE(web.blog.example, the key of web.shop.example)
    ```

    ## Example that passes

    ```yaml
    apiVersion: v1
    kind: Secret
    metadata: {name: web-tls, namespace: shop}
    data:
      tls.crt: CERTIFICATE(web.shop.example)
    ---
    apiVersion: v1
    kind: Secret
    metadata: {name: web-tls, namespace: blog}
    data:
      tls.crt: CERTIFICATE(web.blog.example)
    ```

    ## How to fix

    Issue a certificate with a new key for each of the places that the finding lists. Do not copy Secrets with keys.
    """
    for key, use in across.shared():
        yield _of_use(rule, key, use)


def _of_use(rule: ScanRule, key: str, use: Use) -> Finding:
    held, names = use.holders, sorted(use.made_out)
    holders = {**use.serving, **held}
    said = f"certificates for {len(names)} different names have it"
    if len(holders) > 1:
        passed = "" if len(held) > 1 else ", unless one of them passes connections through to another"
        said = f"{len(holders)} namespaces have it{passed}"
    return Finding(
        rule=rule.id,
        severity=rule.severity if len(held) > 1 else "low",
        verdict="fail",
        status="violation",
        message=f"one private key is used more than once: {said}",
        expected=("a key of its own for each",),
        observed=_some([f"{holder}: {where}" for holder, where in holders.items()]),
        fix="issue a certificate with a new key for each of these places",
        evidence=_some(f"made out to {each[:200]}" for each in names),
        about=f"key with SHA-256 {key}",
    )


def _some(items: Iterator[str] | list[str]) -> tuple[str, ...]:
    every = list(items)
    more = (f"and {len(every) - _SHOWN} more",) if len(every) > _SHOWN else ()
    return (*every[:_SHOWN], *more)


def _key(facts: CertificateFacts) -> Key | None:
    key = key_of(facts)
    return None if isinstance(key, Unknown) else key


def _of_signed(rule: ScanRule, signed: Signed, said: str, severity: Severity, fix: str) -> Finding:
    facts, names = signed.facts, signed.classified.names
    called = " or ".join(each.name for each in names[:_SHOWN]) or facts.subject or facts.sha256
    more = f" (and {signed.count - 1} more that are signed alike)" if signed.count > 1 else ""
    return Finding(
        rule=rule.id,
        severity=severity,
        verdict="fail",
        status="informational" if severity == "info" else "violation",
        message=f"{called[:200]} ({signed.classified.category}): {said}{more}",
        observed=(f"{facts.subject or 'no readable subject'}, SHA-256 {facts.sha256}"[:400],),
        fix=fix,
        about=signed.about,
    )


SIGNERS = ScanRule(
    id="pki-signer-strength",
    title="Certificates have no stronger keys than their signers",
    severity="low",
    check=check_signers,
    references=(
        "Enhancement 'Configurable PKI for OpenShift Internal Certificates', Risks and Mitigations",
        "NIST SP 800-57 part 1 revision 5, table 2",
    ),
)
REUSE = ScanRule(
    id="pki-key-reuse",
    title="Every certificate has a key of its own",
    severity="medium",
    check=check_reuse,
    references=("RFC 5280, section 4.1.2.7", "NIST SP 800-57 part 1 revision 5, section 5.2"),
)
