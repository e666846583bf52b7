"""The certificates that a platform makes for itself: what each is called, how to recognise it, how it is renewed."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase, translate
from functools import lru_cache
from typing import Literal

Category = Literal["signer", "serving", "client", "peer"]
"""``peer``: used at both ends of a connection. The enhancement has no such category, the shipped API has."""
Rotation = Literal["operator", "day-1", "never"]
"""``operator``: by itself, time after time. ``day-1``: an operator's certificate takes its place within 24 hours of
installation. ``never``: only if somebody makes it happen."""
Origin = Literal["enhancement", "shipped", "unnamed", "registered"]
"""Who names it: the enhancement, whose names an override may have; only its later text, as ``component.name``; no text,
and the name is ours; a PKICertificateDefinition of the cluster, whose names an override may have too."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Owner:
    """Who makes certificates."""

    name: str
    operator: str = ""
    """Its ClusterOperator."""
    component: str = ""
    """Its operator's Deployment, as the enhancement's metrics call it: ``kube-apiserver-operator``."""
    implements: bool
    """Whether what it makes follows the PKI object, in the release at hand."""
    since: str = ""
    """The first release that follows it, or ``never``."""
    source: str = ""
    """Where that was read."""
    note: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Recognition:
    """How to tell that a certificate has a name. Patterns have ``*`` and ``?``; () asks for nothing in particular."""

    secrets: tuple[str, ...] = ()
    """Patterns of ``namespace/name``."""
    config_maps: tuple[str, ...] = ()
    """Bundles that hold it beside others."""
    listeners: tuple[tuple[str, tuple[int, ...]], ...] = ()
    """Component of the catalogue, and ports of it."""
    subjects: tuple[str, ...] = ()
    """Patterns of the subject's common name; (): no subject tells it."""
    organizations: tuple[str, ...] = ()
    """Of the subject, all of them."""
    issuers: tuple[str, ...] = ()
    """Patterns of the issuer's common name."""
    sans: tuple[str, ...] = ()
    """Patterns of names and addresses; it has one of them."""
    injected: bool = False
    """It stands in the caBundles of webhooks, APIServices and CRDs."""
    anywhere: bool = False
    """Subject and issuer are believed in the namespaces of users too."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WellKnown:
    """One name, and what is known of what it names."""

    name: str
    origin: Origin
    category: Category
    shipped_category: Category
    """Of the later text, for the shipped API."""
    aliases: tuple[str, ...] = ()
    """Its names in the later text."""
    owner: Owner
    rotates: Rotation
    days: int | None = None
    """Of its life, as it is usually issued."""
    refresh_days: int | None = None
    """Its age when its operator issues the next."""
    successor: str | None = None
    """The name of what took its place: this one is deprecated."""
    delete: tuple[str, ...] = ()
    """The Secrets whose deletion makes the owner issue it anew, patterns of ``namespace/name``."""
    kept_elsewhere: bool = False
    """Whether no object of a running cluster has it, and no listener: nodes and people keep it in files."""
    only_on: str = ""
    """The platform (``Infrastructure`` ``status.platformStatus.type``) that alone has it; "": every one."""
    breaks: str = ""
    """Who feels that, a clause for people."""
    recognition: Recognition
    place: str = ""
    """The entry itself: ``profiles/pki/openshift.yaml:80:3``."""

    @property
    def overridable(self) -> bool:
        """Whether an override of the enhancement's PKI object may name it."""
        return self.origin in ("enhancement", "registered")

    @property
    def namespace(self) -> str | None:
        """Where its operator keeps it; None where its Secrets may be in several namespaces, or it has none."""
        found = {path.partition("/")[0] for path in self.delete or self.recognition.secrets}
        return found.pop() if len(found) == 1 and not any("*" in each or "?" in each for each in found) else None


class Index:
    """Names by the patterns that mean them. Most patterns are plain words or the head of one, which cost little."""

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
        """Each name that ``value`` may mean, with the pattern that says so."""
        yield from self._plain.get(value, ())
        if value.startswith(self._heads):  # most values mean nothing, which one question for all patterns tells
            yield from ((pattern, each) for head, pattern, each in self._headed if value.startswith(head))
        else:
            yield from self._always
        if self._any_loose.match(value):
            yield from ((pattern, each) for pattern, each in self._loose if fnmatchcase(value, pattern))


@dataclass(frozen=True, slots=True, kw_only=True)
class Outside:
    """What the platform did not make, though it lies where the platform writes."""

    secrets: tuple[str, ...] = ()
    config_maps: tuple[str, ...] = ()
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Inside:
    """Where one owner makes whatever has no name of its own."""

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
    """Components whose listeners serve what users gave."""
    signers: Mapping[str, bytes] = field(default_factory=dict)
    """DER of the signers that are known beyond the platform's namespaces, as these namespaces hold them, by the SHA-256
    of the key."""
    release: str = ""
    """The one in which ``Owner.implements`` holds; "": the newest that is known."""
    lifetimes: Mapping[Category, tuple[int, int]] = field(default_factory=dict)
    """Least and most days that are typical."""
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
        """The certificate of that name, in either text's spelling."""
        return self._by_name.get(name)

    @property
    def aliases(self) -> dict[str, str]:
        """Every name of the later text with the name that it has here."""
        return {alias: each.name for each in self.all for alias in each.aliases}

    @property
    def overridable(self) -> tuple[str, ...]:
        """The names that an override may have, in the file's order."""
        return tuple(each.name for each in self.all if each.overridable)

    def is_platform(self, namespace: str) -> bool:
        """Whether only the platform writes there."""
        return fits(namespace, self.platform_namespaces) and not fits(namespace, self.except_namespaces)

    def without(self, layered: Iterable[str]) -> Names:
        """The same, where a layered product was installed into these namespaces: what nobody knows there is not the
        platform's. Where the platform keeps a certificate of a known name, it still writes alone."""
        known = {path.partition("/")[0] for each in self.all for path in each.recognition.secrets}
        return replace(self, except_namespaces=(*self.except_namespaces, *sorted(set(layered) - known)))


@lru_cache(maxsize=16384)
def fits(value: str, patterns: tuple[str, ...]) -> bool:
    """Whether one of the patterns means ``value``."""
    return value in patterns or any(fnmatchcase(value, each) for each in patterns if "*" in each or "?" in each)
