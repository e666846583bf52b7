"""Published controls (``profiles/controls``), and what an endpoint shows of each.

A control is judged by observations, not by the profile that an endpoint must follow: a profile may allow what a control
forbids. What is unknown is never a pass.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import cache
from typing import Any, Final, Literal

from msgspec import Struct

from scanner.data import data
from scanner.errors import InputError, ResourceError
from scanner.files.yaml_values import Builder
from scanner.model.row import EndpointRow
from scanner.tls.codepoints import VERSIONS
from scanner.tls.names import version_name

Answer = Literal["pass", "fail", "unknown"]

_SCOPE: Final = {"components", "ports"}
_OTHERS: Final = {"title", "related", "not_tested"}


class Control(Struct, frozen=True, kw_only=True):
    """One clause of a publication."""

    id: str
    title: str
    components: tuple[str, ...]
    """Components that it is about; empty for all."""
    ports: tuple[int, ...]
    """Ports of these; empty for all."""
    checks: Mapping[str, Any]
    """Requirements by their key in the file."""
    related: tuple[str, ...]
    """Rules whose findings refer to it, beside those that it requires."""
    not_tested: str
    """The part that no scan shows; empty if there is none. With such a part it never holds."""

    @property
    def rules(self) -> tuple[str, ...]:
        """Rules whose findings refer to it."""
        return (*self.checks.get("rules", ()), *self.related)

    def answer(self, row: EndpointRow) -> Answer | None:
        """Judge an endpoint; None if the control is not about it, or the endpoint need not use TLS."""
        if row["verdict"] == "not_applicable" or (self.ports and row["port"] not in self.ports):
            return None
        if self.components and row["component"] not in self.components:
            return None
        answers = {each for name, value in self.checks.items() for each in _ANSWERS[name](row, value)}
        return "fail" if "fail" in answers else "unknown" if "unknown" in answers or not answers else "pass"


class Catalogue(Struct, frozen=True, kw_only=True):
    """The controls of one publication."""

    title: str
    version: str
    read: str
    """Day on which the clauses were read."""
    source: str
    controls: tuple[Control, ...]

    def name(self, control: Control) -> str:
        """``CIS Kubernetes Benchmark v1.11 2.2 (etcd)``."""
        about = f" ({', '.join(control.components)})" if control.components else ""
        return f"{self.title} {self.version} {control.id}{about}"


def _refused(row: EndpointRow, versions: list[str]) -> Iterator[Answer]:
    for name in versions:
        version = (row["observed"]["versions"] or {}).get(name)
        yield "unknown" if version is None else "pass" if version["suites"] == [] else "fail"


def _accepted(row: EndpointRow, versions: list[str]) -> Iterator[Answer]:
    for name in versions:
        version = (row["observed"]["versions"] or {}).get(name)
        yield "unknown" if version is None else "fail" if version["suites"] == [] else "pass"


def _suites(row: EndpointRow, allowed: dict[str, list[str]]) -> Iterator[Answer]:
    """Only an enumerated version shows that it accepts no other suite. A version without a list must be refused."""
    yield from _refused(row, [name for name in map(version_name, VERSIONS) if name not in allowed])
    for name, listed in allowed.items():
        version = (row["observed"]["versions"] or {}).get(name)
        if version is None:
            yield "unknown"
        elif set(version["suites"] or ()) - set(listed):
            yield "fail"
        else:
            yield "pass" if version["enumerated"] and version["suites"] is not None else "unknown"


def _groups(row: EndpointRow, any_of: list[str]) -> Iterator[Answer]:
    groups = row["observed"]["groups"]
    if set(groups or ()) & set(any_of):
        yield "pass"
    else:
        yield "unknown" if groups is None or "groups" in row["reasons"] else "fail"


def _client_certificate(row: EndpointRow, required: str) -> Iterator[Answer]:
    found = row["observed"]["client_certificate"]
    yield "unknown" if found is None else "pass" if found == required else "fail"


def _certificate(row: EndpointRow, _: str) -> Iterator[Answer]:
    if row["reach"] == "plaintext":
        yield "fail"
    else:
        yield "pass" if row["observed"]["chain"] else "unknown"


def _rules(row: EndpointRow, rules: list[str]) -> Iterator[Answer]:
    """A rule without a finding was not tested. A waived failure is a failure."""
    for rule in rules:
        found = {each["verdict"] for each in row["findings"] if each["rule"] == rule}
        yield "fail" if "fail" in found else "pass" if found == {"pass"} else "unknown"


_ANSWERS: Final[Mapping[str, Callable[[EndpointRow, Any], Iterator[Answer]]]] = {
    "refused": _refused,
    "accepted": _accepted,
    "suites": _suites,
    "groups": _groups,
    "client_certificate": _client_certificate,
    "certificate": _certificate,
    "rules": _rules,
}


@cache
def catalogues() -> tuple[Catalogue, ...]:
    """Read all catalogues, by name of file. Raises ``ResourceError``."""
    found = []
    for path in sorted((data("profiles") / "controls").glob("*.yaml")):
        try:
            document: Any = Builder(path.name, path.read_text(encoding="utf-8")).document()
            head = {key: str(document[key]) for key in ("title", "version", "read", "source")}
            listed = tuple(_control(name, fields) for name, fields in document["controls"].items())
        except (OSError, ValueError, KeyError, TypeError, AttributeError, InputError) as error:
            raise ResourceError(f"{path}: invalid controls: {error}", hint="install adhere again") from error
        found.append(Catalogue(**head, controls=listed))
    return tuple(found)


def _control(name: str, fields: dict[str, Any]) -> Control:
    if unknown := fields.keys() - _SCOPE - _OTHERS - _ANSWERS.keys():
        raise ValueError(f"{name}: unknown fields {sorted(unknown)}")
    checks = {key: value for key, value in fields.items() if key in _ANSWERS}
    if suites := checks.get("suites"):  # by several versions
        checks["suites"] = {version: listed for names, listed in suites.items() for version in names.split()}
    return Control(
        id=name,
        title=fields["title"],
        components=tuple(fields.get("components", ())),
        ports=tuple(fields.get("ports", ())),
        checks=checks,
        related=tuple(fields.get("related", ())),
        not_tested=fields.get("not_tested", ""),
    )


@cache
def controls_of_rules() -> Mapping[str, tuple[str, ...]]:
    """Return the names of the controls that each rule helps to answer."""
    names: dict[str, list[str]] = {}
    for catalogue in catalogues():
        for control in catalogue.controls:
            for rule in control.rules:
                names.setdefault(rule, []).append(catalogue.name(control))
    return {rule: tuple(listed) for rule, listed in names.items()}
