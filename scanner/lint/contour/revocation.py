"""Revocation lists by which Envoy looks at client certificates."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from scanner.lint.certificates import called, entry, of_text
from scanner.lint.contour.certificate import READS_OF_USES
from scanner.lint.contour.delegation import permission
from scanner.lint.contour.secrets import CRL
from scanner.lint.contour.uses import TLS
from scanner.lint.references import secret_of
from scanner.model.certificate_faults import date, short
from scanner.model.declared import Missing
from scanner.model.delegations import secret_name
from scanner.model.kinds import HTTP_PROXY, SECRET
from scanner.model.located import Steps
from scanner.model.object_rule import Flaw, ObjectRule, Subject, undecided
from scanner.model.objects import Fields, KubeObject, moment

_VALIDATION: Final = (*TLS, "clientValidation")
_LISTS: Final = (*_VALIDATION, "crlSecret")
_AUTHORITY: Final = (*_VALIDATION, "caSecret")
_SHOWN: Final = 3


def check_revocation(subject: Subject) -> Iterator[Flaw]:
    """A revocation list does not shut out every client.

    ## What it requires

    Of the Secret of `clientValidation.crlSecret`: each list in `crl.pem` can be read, has begun and has not ended
    (`nextUpdate`), and there is one of every CA in `ca.crt` of the `caSecret`.

    ## Why

    With a list Envoy asks of every certificate in the client's chain whether its issuer has revoked it. A list that has
    ended, and a CA of which there is none, are no answer: the client is refused. Lists end after days, and Contour
    looks only whether there is some PEM.

    ## What fails

    Each of these: high. A CA without a list beside others that have one: medium, its clients alone are refused.

    ## What is inconclusive

    A Secret that was not given; that it must be there is `contour-ca`'s, and so this is information. Whether the CA has
    signed the list is not looked at, only whether it is in its name.

    ## Example that fails

    ```yaml
    apiVersion: projectcontour.io/v1
    kind: HTTPProxy
    metadata: {name: shop, namespace: shop}
    spec:
      virtualhost:
        fqdn: shop.example.com
        tls: {secretName: shop, clientValidation: {caSecret: clients, crlSecret: clients}}
    ---
    apiVersion: v1
    kind: Secret
    metadata: {name: clients, namespace: shop}
    type: Opaque
    stringData: {ca.crt: CA(clients), crl.pem: CRL_EXPIRED(clients)}
    ```

    ## Example that passes

    ```yaml
    apiVersion: projectcontour.io/v1
    kind: HTTPProxy
    metadata: {name: shop, namespace: shop}
    spec:
      virtualhost:
        fqdn: shop.example.com
        tls: {secretName: shop, clientValidation: {caSecret: clients, crlSecret: clients}}
    ---
    apiVersion: v1
    kind: Secret
    metadata: {name: clients, namespace: shop}
    type: Opaque
    stringData: {ca.crt: CA(clients), crl.pem: CRL(clients)}
    ```

    ## How to fix

    Have the CA issue a new list, and whatever renews it write the Secret.
    """
    secret = _named(subject, _LISTS)
    if isinstance(secret, Missing):
        if secret.gap:
            unseen = undecided(secret, _LISTS, "whether its revocation list has ended")
            yield Flaw(message=unseen.message, at=unseen.at, verdict=unseen.verdict, severity="info")
    elif secret is not None:
        lists = list(secret.fields("adhere", "revocation").each(CRL))
        yield from _aged(subject, secret, lists)
        yield from _signers(subject, secret, {each.text("issuer") for each in lists} - {""})


def _named(subject: Subject, steps: tuple[str, ...]) -> KubeObject | Missing | None:
    """None also for one that is not delegated, of which nothing is shown: that is ``contour-delegation``'s."""
    text = subject.object.text(*steps)
    name = secret_name(text, subject.object.namespace)
    if not text or permission(subject.declared, subject.object, name).allowed is False:
        return None
    return secret_of(subject, name.name, name.namespace)


def _flaw(secret: KubeObject, at: Steps, what: str) -> Flaw:
    fix = f"{secret.reference}: put a new list of the CA into {CRL}"
    return Flaw(message=f"{secret.reference}: {what}: Envoy refuses every client", at=at, fix=fix)


def _aged(subject: Subject, secret: KubeObject, lists: list[Fields]) -> Iterator[Flaw]:
    now = subject.declared.known.taken_at
    for each in lists:
        whose = f"the revocation list of {short(each.text('issuer'))}"
        begins, ends = moment(each.text("thisUpdate")), moment(each.text("nextUpdate"))
        if each.text("unreadable"):
            yield _flaw(secret, _LISTS, f"a revocation list cannot be read, {each.text('unreadable')}")
        elif ends is not None and ends < now:
            yield _flaw(secret, _LISTS, f"{whose} ended {date(ends)}")
        elif begins is not None and begins > now:
            yield _flaw(secret, _LISTS, f"{whose} begins only {date(begins)}")


def _signers(subject: Subject, secret: KubeObject, issuers: set[str]) -> Iterator[Flaw]:
    holder = _named(subject, _AUTHORITY)
    if holder is None or isinstance(holder, Missing) or not issuers:
        return
    authorities = [each for each in of_text(entry(holder, "ca.crt") or "") if each.subject is not None]
    bare = [each for each in authorities if each.subject not in issuers]
    if bare and len(bare) == len(authorities):
        yield _flaw(secret, _LISTS, f"no revocation list is of a CA in {holder.reference}")
    elif bare:
        named = ", ".join(called(each) for each in bare[:_SHOWN])
        yield Flaw(
            message=f"{secret.reference}: no revocation list is of {named}: Envoy refuses its clients",
            at=_LISTS,
            severity="medium",
            fix=f"{secret.reference}: put a list of each CA into {CRL}",
        )


REVOCATION = ObjectRule(
    id="contour-revocation-list",
    title="A revocation list does not shut out every client",
    severity="high",
    subjects=(HTTP_PROXY,),
    reads=(*READS_OF_USES, SECRET),
    check=check_revocation,
    references=(
        "RFC 5280, sections 5.1.2.4 and 5.1.2.5",
        "Envoy api/envoy/extensions/transport_sockets/tls/v3/common.proto (CertificateValidationContext crl)",
    ),
)
