"""The certificates that a platform issues for itself: names, recognition, renewal."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase, translate
from functools import lru_cache
from typing import Literal

from msgspec import Struct

from scanner.values import replace

Category = Literal["signer", "serving", "client", "peer"]
"""``peer``: used at both ends of a connection. The enhancement has no such category, the shipped API has."""
Rotation = Literal["operator", "day-1", "never"]
"""``operator``: automatic, repeated. ``day-1``: replaced by an operator's certificate within 24 hours of
installation. ``never``: manual only."""
Origin = Literal["enhancement", "shipped", "unnamed", "registered"]
"""Source of a name: the enhancement, whose names an override may use; its later text only, as ``component.name``;
none, so that the name is ours; a PKICertificateDefinition of the cluster, whose names an override may use too."""


class Owner(Struct, frozen=True, kw_only=True):
    """An issuer of certificates."""

    name: str
    operator: str = ""
    """Its ClusterOperator."""
    component: str = ""
    """Deployment of its operator, as in the enhancement's metrics: ``kube-apiserver-operator``."""
    implements: bool
    """True if its certificates follow the PKI object, in this release."""
    since: str = ""
    """First release that follows it, or ``never``."""
    source: str = ""
    """Source of that fact."""
    note: str = ""


class Recognition(Struct, frozen=True, kw_only=True):
    """Criteria that identify a certificate of a name. Patterns have ``*`` and ``?``; () is no requirement."""

    secrets: tuple[str, ...] = ()
    """Patterns of ``namespace/name``."""
    config_maps: tuple[str, ...] = ()
    """Bundles with it and others."""
    listeners: tuple[tuple[str, tuple[int, ...]], ...] = ()
    """Component of the catalogue, and its ports."""
    subjects: tuple[str, ...] = ()
    """Patterns of the subject's common name; (): not recognised by subject."""
    organizations: tuple[str, ...] = ()
    """Organizations of the subject, all required."""
    issuers: tuple[str, ...] = ()
    """Patterns of the issuer's common name."""
    sans: tuple[str, ...] = ()
    """Patterns of names and addresses; one must match."""
    injected: bool = False
    """True if it is in the caBundles of webhooks, APIServices and CRDs."""
    anywhere: bool = False
    """True if subject and issuer also identify it in users' namespaces."""


class WellKnown(Struct, frozen=True, kw_only=True):
    """One name, and the facts about it."""

    name: str
    origin: Origin
    category: Category
    shipped_category: Category
    """Category in the later text, for the shipped API."""
    aliases: tuple[str, ...] = ()
    """Names in the later text."""
    owner: Owner
    rotates: Rotation
    days: int | None = None
    """Usual lifetime."""
    refresh_days: int | None = None
    """Age at which its operator issues the next one."""
    successor: str | None = None
    """Name of its replacement: this one is deprecated."""
    delete: tuple[str, ...] = ()
    """Secrets whose deletion makes the owner issue it again, patterns of ``namespace/name``."""
    kept_elsewhere: bool = False
    """True if no object or listener of a running cluster has it: nodes and people keep it in files."""
    only_on: str = ""
    """The only platform with it (``Infrastructure`` ``status.platformStatus.type``); "": every one."""
    breaks: str = ""
    """The effect of its deletion, a clause for people."""
    recognition: Recognition
    place: str = ""
    """Place of the entry: ``profiles/pki/openshift.yaml:80:3``."""

    @property
    def overridable(self) -> bool:
        """True if an override of the enhancement's PKI object may name it."""
        return self.origin in ("enhancement", "registered")

    @property
    def namespace(self) -> str | None:
        """Namespace of its operator's Secrets; None if there are several, or none."""
        found = {path.partition("/")[0] for path in self.delete or self.recognition.secrets}
        return found.pop() if len(found) == 1 and not any("*" in each or "?" in each for each in found) else None


class Index:
    """Names by pattern. Most patterns are plain words or prefixes, which match fast."""

    def __init__(self, pairs: Iterable[tuple[WellKnown, tuple[str, ...]]]) -> None:
        self._plain: dict[str, list[tuple[str, WellKnown]]] = {}
        self._headed: list[tuple[str, str, WellKnown]] = []
        self._loose: list[tuple[str, WellKnown]] = []
        for each, patterns in pairs:
            for pattern in patterns:
                if "*" not in pattern and "?" not in pattern:
                    self._plain.setdefault(pattern, []).append((pattern, each))
                elif pattern.endswith("*") and "*" not in pattern[:-1] and "?" not in pattern:
                    self._headed.append((pattern[:-1], pattern, each))
                else:
                    self._loose.append((pattern, each))
        self._heads = tuple(head for head, _, _ in self._headed if head)
        self._always = tuple((pattern, each) for head, pattern, each in self._headed if not head)
        self._any_loose = re.compile("|".join(translate(pattern) for pattern, _ in self._loose) or r"(?!)")

    def find(self, value: str) -> Iterator[tuple[str, WellKnown]]:
        """Names whose pattern matches ``value``, with the pattern."""
        yield from self._plain.get(value, ())
        if value.startswith(self._heads):  # most values match no pattern
            yield from ((pattern, each) for head, pattern, each in self._headed if value.startswith(head))
        else:
            yield from self._always
        if self._any_loose.match(value):
            yield from ((pattern, each) for pattern, each in self._loose if fnmatchcase(value, pattern))


class Outside(Struct, frozen=True, kw_only=True):
    """Certificates in places of the platform that it did not issue."""

    secrets: tuple[str, ...] = ()
    config_maps: tuple[str, ...] = ()
    why: str


class Inside(Struct, frozen=True, kw_only=True):
    """Places whose unnamed certificates one owner issues."""

    secrets: tuple[str, ...] = ()
    owner: Owner
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Names:
    """All names."""

    all: tuple[WellKnown, ...] = ()
    outside: tuple[Outside, ...] = ()
    inside: tuple[Inside, ...] = ()
    serves_for_users: tuple[str, ...] = ()
    """Components whose listeners serve certificates of users."""
    signers: Mapping[str, bytes] = field(default_factory=dict)
    """DER of the signers that are trusted beyond the platform's namespaces, by the SHA-256 of their key."""
    release: str = ""
    """Release for ``Owner.implements``; "": the newest known one."""
    lifetimes: Mapping[Category, tuple[int, int]] = field(default_factory=dict)
    """Typical least and most days."""
    platform_namespaces: tuple[str, ...] = ()
    except_namespaces: tuple[str, ...] = ()
    _by_name: dict[str, WellKnown] = field(init=False, default_factory=dict, repr=False, compare=False)
    secrets: Index = field(init=False, repr=False, compare=False)
    """By ``namespace/name``."""
    bundles: Index = field(init=False, repr=False, compare=False)
    subjects: Index = field(init=False, repr=False, compare=False)
    """By common name."""

    def __post_init__(self) -> None:
        self._by_name.update({alias: each for each in self.all for alias in (*each.aliases, each.name)})
        hows = [(each, each.recognition) for each in self.all]
        for name, pairs in (
            ("secrets", [(each, how.secrets) for each, how in hows]),
            ("bundles", [(each, how.config_maps) for each, how in hows]),
            ("subjects", [(each, how.subjects) for each, how in hows]),
        ):
            object.__setattr__(self, name, Index(pairs))

    def by_name(self, name: str) -> WellKnown | None:
        """The certificate with that name, in either text."""
        return self._by_name.get(name)

    @property
    def aliases(self) -> dict[str, str]:
        """Names of the later text, with the name here."""
        return {alias: each.name for each in self.all for alias in each.aliases}

    @property
    def overridable(self) -> tuple[str, ...]:
        """Names that an override may use, in the file's order."""
        return tuple(each.name for each in self.all if each.overridable)

    def is_platform(self, namespace: str) -> bool:
        """True if only the platform writes into the namespace."""
        return fits(namespace, self.platform_namespaces) and not fits(namespace, self.except_namespaces)

    def without(self, layered: Iterable[str]) -> Names:
        """The same, without the namespaces of layered products: unknown certificates there are not the platform's.
        Namespaces with a known name's certificate stay."""
        known = {path.partition("/")[0] for each in self.all for path in each.recognition.secrets}
        return replace(self, except_namespaces=(*self.except_namespaces, *sorted(set(layered) - known)))


@lru_cache(maxsize=16384)
def fits(value: str, patterns: tuple[str, ...]) -> bool:
    """True if one of the patterns matches ``value``."""
    return value in patterns or any(fnmatchcase(value, each) for each in patterns if "*" in each or "?" in each)
