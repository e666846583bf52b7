"""What the API server itself answers where it is asked who may do what: with all its authorizers, of which Roles and
their bindings are one."""

from __future__ import annotations

from scanner.lint.authorization import Access, Grant, Identity, Wish
from scanner.model.declared import Declared, identity
from scanner.model.declared import Identity as ObjectIdentity
from scanner.model.unlisted_kinds import Review


def question(who: Identity, wish: Wish) -> Review:
    """What the API server is asked for a wish."""
    resource, _, subresource = wish.resource.partition("/")
    return Review(
        user=who.name,
        groups=who.groups,
        verb=wish.verb,
        group=wish.group,
        resource=resource,
        subresource=subresource,
        namespace=wish.namespace or "",
        name=wish.name,
    )


def answer(declared: Declared, who: Identity, wish: Wish, found: Access) -> bool | None:
    """The API server's own where it was asked, unless the manifests that are to be applied are what allows it: these it
    does not know yet. Else ``found``: what Roles and their bindings say."""
    reviewed = declared.reviews.get(question(who, wish))
    if reviewed is None or (not reviewed and any(_is_new(declared, each) for each in found.grants)):
        return found.allowed
    return reviewed


def _is_new(declared: Declared, grant: Grant) -> bool:
    manifests = declared.once(_manifests)
    return identity(grant.binding) in manifests or identity(grant.role) in manifests


def _manifests(declared: Declared) -> frozenset[ObjectIdentity]:
    return frozenset(identity(each.object) for each in declared.given if each.located is not None)
