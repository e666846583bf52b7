"""Private keys that several namespaces have."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Final

from scanner.kube.kinds import SECRET
from scanner.kube.objects import KubeObject
from scanner.lint.certificates import chain_of
from scanner.model.declared import Declared
from scanner.model.object_rule import Flaw, ObjectRule, Subject

_SHOWN: Final = 3


def check_reuse(subject: Subject) -> Iterator[Flaw]:
    """A private key is in one namespace."""
    digest = _digest(subject.object)
    holders = subject.declared.once(_holders).get(digest, {}) if digest else {}
    more = len(holders) - 1
    if more > 0 and subject.object.namespace in holders:
        others = islice((each for name, each in holders.items() if name != subject.object.namespace), _SHOWN)
        named = ", ".join(str(each.reference) for each in others)
        yield Flaw(
            message=f"{named}{f' and {more - _SHOWN} more' if more > _SHOWN else ''} has the same private key",
            at=("data", "tls.key"),
            observed=(f"public key SHA-256 {digest}",),
            fix=f"{subject.object.reference}: a key of its own, or one Secret for all",
        )


def _digest(secret: KubeObject) -> str | None:
    """The public key's, of a Secret that has the private one."""
    if secret.at("adhere", "keyMatches") is not True:
        return None
    leaf = next(iter(chain_of(secret)), None)
    return leaf.key_sha256 if leaf else None


def _holders(declared: Declared) -> Mapping[str, Mapping[str, KubeObject]]:
    """By digest, of each namespace the first Secret: more of them say no more."""
    found: dict[str, dict[str, KubeObject]] = {}
    for each in declared.every(SECRET):
        digest = _digest(each)
        if digest and each.namespace:
            found.setdefault(digest, {}).setdefault(each.namespace, each)
    return found


REUSE = ObjectRule(
    id="secret-key-reuse",
    subjects=(SECRET,),
    check=check_reuse,
)
