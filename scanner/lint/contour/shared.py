"""Secrets that are delegated: whether they can be served, and whether all namespaces should have them."""

from __future__ import annotations

from collections.abc import Iterator

from scanner.files.source_positions import shown
from scanner.kube.kinds import TLS_CERTIFICATE_DELEGATION
from scanner.lint.certificates import chain_of
from scanner.lint.contour.delegations import is_name
from scanner.lint.contour.secrets import READS, unusable
from scanner.lint.references import secret_of
from scanner.model.declared import Missing
from scanner.model.delegations import EVERYWHERE, Delegation, delegations
from scanner.model.object_rule import Flaw, ObjectRule, Subject, undecided


def check_secret(subject: Subject) -> Iterator[Flaw]:
    """A delegated Secret is there, and holds something that Contour takes."""
    for each in delegations(subject.object):
        if is_name(each.secret):
            yield from unusable(subject, secret_of(subject, each.secret), (*each.steps, "secretName"))
        else:
            yield _misnamed(each)


def _misnamed(each: Delegation) -> Flaw:
    plain = each.secret.rpartition("/")[2].replace("*", "") or "<name>"
    return Flaw(
        message=f"secretName {shown(each.secret)} is no Secret's name, and no reference matches it",
        at=(*each.steps, "secretName"),
        expected=("the name of a Secret in this namespace",),
        observed=(each.secret,),
        fix=f"{each.holder.reference}: name the Secret without a namespace",
        correction=f"secretName: {plain}",
    )


SECRET_OF_DELEGATION = ObjectRule(
    id="contour-delegation-secret",
    subjects=(TLS_CERTIFICATE_DELEGATION,),
    reads=READS,
    check=check_secret,
)


def check_broad(subject: Subject) -> Iterator[Flaw]:
    """Only what is meant for all is delegated to all."""
    for each in delegations(subject.object):
        if each.targets == EVERYWHERE and is_name(each.secret):
            yield from _for_all(subject, each)


def _for_all(subject: Subject, each: Delegation) -> Iterator[Flaw]:
    at = (*each.steps, "targetNamespaces")
    found = secret_of(subject, each.secret)
    if isinstance(found, Missing):
        if found.gap:
            yield undecided(found, at, "whether the certificate is one that all namespaces may serve")
        return
    leaf = next(iter(chain_of(found)), None)
    if leaf is None:
        return  # a CA or a revocation list, which is public; another rule says what cannot be used
    if leaf.dns_names is None:
        yield Flaw(message=f"the names of {found.reference} cannot be read", at=at, verdict="inconclusive")
    elif not any(name.startswith("*.") for name in leaf.dns_names):
        yield Flaw(
            message=f"{found.reference} is delegated to all namespaces, and its certificate is for no wildcard",
            at=at,
            expected=("the namespaces that serve its hosts",),
            observed=leaf.dns_names[:5],
            fix=f"{subject.object.reference}: name the namespaces that serve these hosts",
            correction='targetNamespaces: ["<namespace>"]',
        )


BROAD = ObjectRule(
    id="contour-delegation-broad",
    subjects=(TLS_CERTIFICATE_DELEGATION,),
    reads=READS,
    check=check_broad,
)
