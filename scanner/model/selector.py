"""A selector: which endpoints a line of a policy, a catalogue or the command line is about."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fnmatch import fnmatchcase

from scanner.model.endpoint import Endpoint


@dataclass(frozen=True, slots=True, kw_only=True)
class Selector:
    """All that is given must hold; within one field, one of the alternatives. Patterns have ``*`` and ``?``."""

    namespaces: tuple[str, ...] = ()
    """Patterns of the owner's or the subject's namespace."""
    kinds: tuple[str, ...] = ()
    """Kinds of the owner or of the subject: ``Deployment``, ``Route``."""
    names: tuple[str, ...] = ()
    """Patterns of the owner's or the subject's name."""
    components: tuple[str, ...] = ()
    """Patterns of the component's name in the catalogue."""
    labels: tuple[tuple[str, str], ...] = ()
    """Labels that the endpoint must have."""
    ports: tuple[int, ...] = ()
    endpoints: tuple[str, ...] = ()
    """Patterns of the endpoint's id."""

    def matches(self, endpoint: Endpoint) -> bool:
        """Whether ``endpoint`` is meant. An empty selector means every endpoint."""
        owner, subject = endpoint.owner, endpoint.subject
        kinds = {owner.kind} | ({subject.kind} if subject else set())
        namespaces = {owner.namespace or ""} | ({subject.namespace or ""} if subject else set())
        names = {owner.name} | ({subject.name} if subject else set())
        return (
            _any(self.namespaces, namespaces)
            and (not self.kinds or not kinds.isdisjoint(self.kinds))
            and _any(self.names, names)
            and _any(self.components, {endpoint.component or ""})
            and set(self.labels) <= set(endpoint.labels)
            and (not self.ports or endpoint.port in self.ports)
            and _any(self.endpoints, {endpoint.id})
        )


def any_matches(selectors: Iterable[Selector], endpoint: Endpoint) -> bool:
    """Whether one of ``selectors`` means ``endpoint``; none of none does."""
    return any(each.matches(endpoint) for each in selectors)


def _any(patterns: tuple[str, ...], values: set[str]) -> bool:
    return not patterns or any(fnmatchcase(value, pattern) for value in values for pattern in patterns)
