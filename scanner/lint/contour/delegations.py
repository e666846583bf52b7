"""TLSCertificateDelegations themselves: what they mean, to whom, and whether anybody needs them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from scanner.kube.kinds import NAMESPACE, TLS_CERTIFICATE_DELEGATION
from scanner.model.declared import Missing
from scanner.model.delegations import EVERYWHERE, Delegation, delegations
from scanner.model.object_rule import Flaw, ObjectRule, Subject, undecided

REFERENCES: Final = (
    "Contour internal/dag/cache.go (delegationPermitted)",
    "projectcontour.io/v1 TLSCertificateDelegation spec.delegations",
)
_MOST: Final = 100
"""Namespaces of one delegation that are looked at."""


def check_star(subject: Subject) -> Iterator[Flaw]:
    """A delegation to all namespaces says nothing else.

    ## What it requires

    That `*` is the only item of `targetNamespaces`, or is not there.

    ## Why

    Contour compares the whole list with `*`. Beside another namespace the star is taken for the name of a namespace,
    which nobody can have: the delegation holds for the others alone, although the API's description says otherwise.

    ## What fails

    `*` beside other namespaces: medium.

    ## What is inconclusive

    Nothing: the list stands in the object.

    ## Example that fails

    ```yaml
    apiVersion: projectcontour.io/v1
    kind: TLSCertificateDelegation
    metadata: {name: wildcards, namespace: certificates}
    spec:
      delegations:
      - {secretName: wildcard, targetNamespaces: ["*", shop]}
    ```

    ## Example that passes

    ```yaml
    apiVersion: projectcontour.io/v1
    kind: TLSCertificateDelegation
    metadata: {name: wildcards, namespace: certificates}
    spec:
      delegations:
      - {secretName: wildcard, targetNamespaces: ["*"]}
      - {secretName: shops, targetNamespaces: [shop]}
    ```

    ## How to fix

    Leave out the star, or everything else, whichever was meant.
    """
    for each in delegations(subject.object):
        if "*" in each.targets and each.targets != EVERYWHERE:
            others = [name for name in each.targets if name != "*"]
            yield Flaw(
                message=f"* beside other namespaces means none: {each.secret} is delegated to "
                f"{', '.join(others[:20]) or 'nobody'} alone",
                at=(*each.steps, "targetNamespaces", each.targets.index("*")),
                expected=("* alone, or only names",),
                observed=each.targets[:20],
                fix=f"{subject.object.reference}: leave out the star, or everything else",
                correction=f"targetNamespaces: [{', '.join(others[:20]) or chr(34) + '*' + chr(34)}]",
            )


STAR = ObjectRule(
    id="contour-delegation-star",
    title="A delegation to all namespaces says nothing else",
    severity="medium",
    subjects=(TLS_CERTIFICATE_DELEGATION,),
    check=check_star,
    references=REFERENCES,
)


def check_impossible(subject: Subject) -> Iterator[Flaw]:
    """A delegation can allow something.

    ## What it requires

    That each item of a TLSCertificateDelegation names a Secret, by its name alone, and at least one namespace that a
    namespace can be called, other than the object's own.

    ## Why

    Contour looks for the Secret in the object's own namespace, and compares names as they are: `namespace/secret`,
    `*` or nothing in `secretName` match no reference ever, an empty list permits nobody, and so does a namespace with
    a slash or a star in its name. Within a namespace nobody needs a delegation.

    ## What fails

    A delegation that can match no reference: medium. To the own namespace: low.

    ## What is inconclusive

    Nothing: all of it stands in the object.

    ## Example that fails

    ```yaml
    apiVersion: projectcontour.io/v1
    kind: TLSCertificateDelegation
    metadata: {name: wildcards, namespace: certificates}
    spec:
      delegations:
      - {secretName: certificates/wildcard, targetNamespaces: [shop]}
      - {secretName: blog, targetNamespaces: []}
      - {secretName: shops, targetNamespaces: ["shop-*"]}
    ```

    ## Example that passes

    ```yaml
    apiVersion: projectcontour.io/v1
    kind: TLSCertificateDelegation
    metadata: {name: wildcards, namespace: certificates}
    spec:
      delegations:
      - {secretName: wildcard, targetNamespaces: [shop]}
    ```

    ## How to fix

    Name the Secret without its namespace, and every namespace in full.
    """
    for each in delegations(subject.object):
        yield from _of_secret(each)
        if not each.targets:
            yield Flaw(
                message="a delegation to no namespace permits nobody",
                at=(*each.steps, "targetNamespaces"),
                fix=f"{subject.object.reference}: name the namespaces",
                correction='targetNamespaces: ["<namespace>"]',
            )
        for index, name in enumerate(each.targets[:_MOST]):
            yield from _of_target(subject, each, index, name)


def _of_secret(each: Delegation) -> Iterator[Flaw]:
    if not each.secret or "/" in each.secret or "*" in each.secret:
        plain = each.secret.rpartition("/")[2].replace("*", "") or "<name>"
        yield Flaw(
            message=f"secretName {each.secret!r} is no Secret's name, and no reference matches it",
            at=(*each.steps, "secretName"),
            expected=("the name of a Secret in this namespace",),
            observed=(each.secret,),
            fix=f"{each.holder.reference}: name the Secret alone",
            correction=f"secretName: {plain}",
        )


def _of_target(subject: Subject, each: Delegation, index: int, name: str) -> Iterator[Flaw]:
    at = (*each.steps, "targetNamespaces", index)
    if name == subject.object.namespace:
        yield Flaw(
            message=f"a delegation to {name}, where the Secret is, permits nothing that is not permitted anyway",
            at=at,
            severity="low",
            fix=f"{each.holder.reference}: leave it out",
        )
    elif not name or "/" in name or ("*" in name and name != "*"):
        yield Flaw(
            message=f"{name!r} is no namespace: only a name as it is, or * alone, means something",
            at=at,
            observed=(name,),
            fix=f"{each.holder.reference}: name each namespace in full",
        )


IMPOSSIBLE = ObjectRule(
    id="contour-delegation-impossible",
    title="A delegation can allow something",
    severity="medium",
    subjects=(TLS_CERTIFICATE_DELEGATION,),
    check=check_impossible,
    references=REFERENCES,
)


def check_target(subject: Subject) -> Iterator[Flaw]:
    """A delegation names namespaces that exist.

    ## What it requires

    That each of `targetNamespaces` exists.

    ## Why

    A permission for nobody waits for whoever creates a namespace of that name next.

    ## What fails

    A namespace that does not exist: low.

    ## What is inconclusive

    Whether it exists, where namespaces were not given: informational, once for the object, because manifests seldom
    have them.

    ## Example that fails

    ```yaml
    # All that there is in a cluster:
    apiVersion: projectcontour.io/v1
    kind: TLSCertificateDelegation
    metadata: {name: wildcards, namespace: certificates}
    spec:
      delegations:
      - {secretName: wildcard, targetNamespaces: [shpo]}
    ---
    apiVersion: v1
    kind: Namespace
    metadata: {name: shop}
    ```

    ## Example that passes

    ```yaml
    apiVersion: projectcontour.io/v1
    kind: TLSCertificateDelegation
    metadata: {name: wildcards, namespace: certificates}
    spec:
      delegations:
      - {secretName: wildcard, targetNamespaces: [shop]}
    ---
    apiVersion: v1
    kind: Namespace
    metadata: {name: shop}
    ```

    ## How to fix

    Correct the name, or leave it out.
    """
    unseen: Missing | None = None
    for each in delegations(subject.object):
        for index, name in enumerate(each.targets[:_MOST]):
            found = subject.declared.find(NAMESPACE, name) if _is_name(name) else None
            if isinstance(found, Missing) and found.gap:
                unseen = unseen or found
            elif isinstance(found, Missing):
                yield Flaw(
                    message=f"there is no namespace {name}",
                    at=(*each.steps, "targetNamespaces", index),
                    observed=(name,),
                    fix=f"{subject.object.reference}: correct the name, or leave it out",
                )
    if unseen:
        said = undecided(unseen, ("spec", "delegations"), "whether all of these namespaces exist")
        yield replace(said, severity="info")


def _is_name(name: str) -> bool:
    return bool(name) and "*" not in name and "/" not in name


TARGET = ObjectRule(
    id="contour-delegation-target",
    title="A delegation names namespaces that exist",
    severity="low",
    subjects=(TLS_CERTIFICATE_DELEGATION,),
    reads=(NAMESPACE,),
    check=check_target,
    references=REFERENCES,
)
