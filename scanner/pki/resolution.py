"""The required key of one certificate: by an override, else its category, else the defaults, else the platform's own
(the enhancement, "Configuration Resolution Order"; openshift/library-go ``pkg/pki`` for the shipped shape). No I/O."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Final, Literal

from msgspec import Struct

from scanner.files.source_positions import shown
from scanner.kube.maybe import Unknown
from scanner.model.expectation import Because
from scanner.model.pki_config import USAGES, Key, PkiConfig, Required, Rule, Usage
from scanner.pki.config_schemas import WELL_KNOWN
from scanner.values import replace

Category = Literal["signer", "serving", "client", "peer", "unknown"]
"""``peer``: for servers and clients. ``unknown``: may be any."""

_NAMES_MOST: Final = 100
"""Candidates for the name of one certificate."""


def required(config: PkiConfig, category: Category, names: tuple[str, ...] = ()) -> Required:
    """The required key of a certificate of ``category`` with one of ``names`` (none for a certificate without a
    well-known name, such as a Service's)."""
    found = config.asked.get((category, names))
    if found is None:
        found = config.asked[category, names] = _required(config, category, names)
    return found


def _required(config: PkiConfig, category: Category, names: tuple[str, ...]) -> Required:
    if config.reason == "unreadable":
        return Required(unknown=f"{config.source}: {config.platform_said}", because=(_silence(config),))
    if not config.in_force and not config.platform:
        return Required(because=(_silence(config),))
    called = tuple(dict.fromkeys(names))[:_NAMES_MOST]
    return _either([_named(config, category, name) for name in called or ("",)], "which of its names it has")


def _named(config: PkiConfig, category: Category, name: str) -> Required:
    if name in config.overrides:
        # The steps below it are those of the category that the name has, or seems to have.
        usage = _usage(config, name) or (category if category in USAGES else "serving")
        return _resolved(config, usage, name)
    return _CATEGORIES[category](config, name)


def _usage(config: PkiConfig, name: str) -> Usage | None:
    return WELL_KNOWN.get(name) or config.registered.get(name)


def _single(usage: Usage) -> Callable[[PkiConfig, str], Required]:
    return lambda config, name: _resolved(config, usage, name)


def _peer(config: PkiConfig, name: str) -> Required:
    """The shipped shape takes the stronger of serving and client; the document's has no such category, so the name's
    category decides, else both hold."""
    both = [_resolved(config, usage, name) for usage in ("serving", "client")]
    if config.shape in ("shipped", "none"):
        return _stronger(config, *both)
    if usage := _usage(config, name):
        return _resolved(config, usage, name)
    return both[0] if _same(both) else Required(all_of=tuple(both), because=_steps(both))


def _any(config: PkiConfig, name: str) -> Required:
    usage = _usage(config, name)
    usages = (usage,) if usage else USAGES
    return _either([_resolved(config, usage, name) for usage in usages], "which category it is of")


_CATEGORIES: Final[Mapping[Category, Callable[[PkiConfig, str], Required]]] = {
    **{usage: _single(usage) for usage in USAGES},
    "peer": _peer,
    "unknown": _any,
}


def _either(candidates: list[Required], what: str) -> Required:
    """One that holds for all candidates, or all of them where they differ."""
    if _same(candidates):
        return candidates[0]
    step = Because(source="the certificate", field="", said=f"unknown: {what}")
    return Required(one_of=tuple(candidates), because=(*_steps(candidates), step))


def _same(every: Iterable[Required]) -> bool:
    """True if all require the same, from any source."""
    return len({_bare(each) for each in every}) == 1


def _bare(each: Required) -> Required:
    all_of, one_of = tuple(map(_bare, each.all_of)), tuple(map(_bare, each.one_of))
    return replace(each, because=(), all_of=all_of, one_of=one_of)


def _steps(every: Iterable[Required]) -> tuple[Because, ...]:
    return tuple(dict.fromkeys(replace(step, decides=False) for each in every for step in each.because))


def _stronger(config: PkiConfig, serving: Required, client: Required) -> Required:
    """By bits of security; of equals the ECDSA one."""
    vague = next((each for each in (serving, client) if each.key is None), None)
    if vague is not None:
        return vague
    better, other = sorted((client, serving), key=_rank, reverse=True)
    if better.key == other.key:
        return serving
    step = Because(
        source=config.source,
        field="",
        said=f"{better.key}, the stronger of serving and client",
        beat=str(other.key),
        decides=True,
    )
    return replace(better, because=(*_steps((serving, client)), step))


def _rank(each: Required) -> tuple[int, bool]:
    return (each.key.strength or 0, each.key.algorithm == "ECDSA") if each.key else (0, False)


# --- One certificate, one category ------------------------------------------------------------------------------------


class _Level(Struct, frozen=True, kw_only=True):
    """One level of the configuration."""

    field: str
    text: str
    key: Key | None
    exact: bool
    unknown: str | None = None


def _resolved(config: PkiConfig, usage: Usage, name: str) -> Required:
    """The last configured level wins; each step names the level that it overrides."""
    levels = list(_levels(config, usage, name))
    if not levels:
        return Required(because=(_silence(config),))  # an install-config speaks of signers only
    winner, beaten = levels[-1], [None, *(level.text for level in levels)]
    because = tuple(
        Because(source=config.source, field=level.field, said=level.text, beat=overridden, decides=level is winner)
        for level, overridden in zip(levels, beaten, strict=False)
    )
    return Required(key=winner.key, exact=winner.exact, unknown=winner.unknown, because=because)


def _levels(config: PkiConfig, usage: Usage, name: str) -> Iterator[_Level]:
    """From the weakest to the strongest."""
    if usage in config.platform:
        key = config.platform[usage]
        yield _Level(field="", text=f"{key} or stronger ({config.platform_said})", key=key, exact=False)
    for rule in (config.defaults, config.categories.get(usage), config.overrides.get(name)):
        if rule is not None:
            yield _configured(rule)


def _configured(rule: Rule) -> _Level:
    if isinstance(rule.key, Unknown):
        reason = f"the configuration is unknown: {rule.key.reason}"
        return _Level(field=rule.field, text=shown(rule.key.reason), key=None, exact=True, unknown=reason)
    return _Level(field=rule.field, text=str(rule.key), key=rule.key, exact=True)


def _silence(config: PkiConfig) -> Because:
    return Because(source=config.source, field="", said=config.platform_said, decides=True)
