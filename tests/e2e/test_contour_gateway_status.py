"""What lint says of listeners, routes and BackendTLSPolicies, against the conditions that Contour, as the controller
of their Gateway, gives them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest
import trio

from scanner.kube.objects import Fields, KubeObject
from scanner.lint import lint
from scanner.lint.gateway import GATEWAY_RULES
from scanner.linting import declared
from tests.e2e import assets
from tests.e2e.conftest import definitions_of
from tests.e2e.contour import NAMESPACE, Contour, contour, controller, namespaces
from tests.e2e.contour_gateway_stories import LISTENERS, NOBODY, POLICIES, ROUTES, TWICE, everything, route
from tests.e2e.control_plane import ControlPlane, control_plane
from tests.e2e.judging import objects_in, snapshot_of
from tests.e2e.writing import Object, Writer

TOLD = f"gateway: {{gatewayRef: {{namespace: {NAMESPACE}, name: edge}}}}"
STATUS = "gateway-status"
_WANTED = {"Accepted": "True", "ResolvedRefs": "True", "Programmed": "True", "Conflicted": "False"}
_LISTENER = re.compile(r"^(?:spec|status)\.listeners\[(\d+)\]")
_SAID = re.compile(r"\w+ is '?(?:True|False)'?: '?(\w+)")
_CLAIMED = re.compile(
    r"\b(InvalidCertificateRef|RefNotPermitted|InvalidRouteKinds|ProtocolConflict)\b|^reason: (\w+)", re.MULTILINE
)
"""Where a rule names the reason that a status gives."""


@dataclass(frozen=True, kw_only=True)
class Seen:
    """What both say of an object, or of a listener."""

    wrong: Mapping[str, str] | None
    """Reasons of the conditions that are not as they should be, by type; None: there is no status."""
    messages: Mapping[str, Sequence[str]]
    """Of what fails, by rule."""

    @property
    def reasons(self) -> str:
        """That it is not programmed follows from the others."""
        if self.wrong is None:
            return NOBODY
        others = {reason for kind, reason in self.wrong.items() if kind != "Programmed"}
        return " ".join(sorted(others or self.wrong.values()))


@pytest.fixture(scope="module")
def plane_of_gateways(
    plane: ControlPlane, definitions: list[Object], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[ControlPlane]:
    """A control plane with Contour's definitions and the Gateway API of the release that this Contour is made for, and
    with the objects of all stories."""
    directory = tmp_path_factory.mktemp("gateway")
    with control_plane(assets.programs(), directory) as running:
        writer = Writer(running.admin)
        mine = [each for each in definitions if each["spec"]["group"] == "projectcontour.io"]
        writer.define([*mine, *definitions_of("gateway-1.3")])
        namespaces(writer, NAMESPACE, "certs", "open", "shop", "blog")
        for each in objects_in(directory, everything()):
            writer.create(each)
        yield running


@pytest.fixture(scope="module")
def seen(plane_of_gateways: ControlPlane, tmp_path_factory: pytest.TempPathFactory) -> Mapping[tuple[str, str], Seen]:
    """By kind, or ``listener``, and name."""
    directory = tmp_path_factory.mktemp("contour")
    with contour(controller(), plane_of_gateways, directory, TOLD) as running:
        for number in range(2):  # all statuses of a moment are written when what was made after it has its own twice
            _await_status(running, route(f"mark-{number}", ROUTES["to-one"]), directory)
        snapshot = trio.run(snapshot_of, plane_of_gateways, directory, *GATEWAY_RULES)
    messages: dict[tuple[str, str], dict[str, list[str]]] = {}
    found = list(lint(declared(None, snapshot), GATEWAY_RULES))
    for one in found:
        for each in one.findings:
            if each.finding.verdict == "fail":
                key = _key(one.subject.object, each.field)
                texts = messages.setdefault(key, {}).setdefault(each.finding.rule, [])
                texts.append("\n".join((each.finding.message, *each.finding.evidence)))
    return {
        key: Seen(wrong=wrong, messages=messages.get(key, {}))
        for one in found
        for key, wrong in _statuses(one.subject.object)
    }


def _await_status(running: Contour, text: str, directory: Path) -> None:
    (item,) = objects_in(directory, text)
    running.writer.create(item)
    running.until(lambda: bool(running.read(item).get("status", {}).get("parents")))


def _key(item: KubeObject, field: str) -> tuple[str, str]:
    listener = _LISTENER.match(field)
    if item.kind.name != "Gateway" or listener is None:
        return item.kind.name, item.name
    where = ("status" if field.startswith("status") else "spec"), "listeners"
    return "listener", list(item.each(*where))[int(listener[1])].text("name")


def _statuses(item: KubeObject) -> Iterator[tuple[tuple[str, str], Mapping[str, str] | None]]:
    if item.kind.name == "Gateway":
        for each in item.each("status", "listeners"):
            yield ("listener", each.text("name")), _wrong(each)
    else:
        (*_, found) = (None, *item.each("status", "parents"), *item.each("status", "ancestors"))
        yield (item.kind.name, item.name), None if found is None else _wrong(found)


def _wrong(holder: Fields) -> Mapping[str, str]:
    return {
        each.text("type"): each.text("reason")
        for each in holder.each("conditions")
        if each.text("status") != _WANTED.get(each.text("type"), "True")
    }


EVERY = {
    **{("listener", name): each.told for name, each in LISTENERS.items()},
    **{(each.kind, name): each.told for name, each in ROUTES.items()},
    **{("BackendTLSPolicy", name): each.told for name, each in POLICIES.items()},
}


@pytest.mark.parametrize("story", EVERY, ids=" ".join)
def test_contour_says_what_lint_says_it_does(seen: Mapping[tuple[str, str], Seen], story: tuple[str, str]) -> None:
    """The rules that fail, the reasons that they give, and those that the rule on statuses takes from Contour's."""
    told, found = EVERY[story], seen[story]
    rules = found.messages.keys() - {STATUS}
    assert (found.reasons, rules) == (told.reasons, set(told.rules.split())), found
    claimed = {"".join(each) for rule in rules for text in found.messages[rule] for each in _CLAIMED.findall(text)}
    agreed = bool(found.reasons) == bool(rules) and claimed <= {found.reasons}
    assert agreed != bool(told.why), claimed


@pytest.mark.parametrize("story", EVERY, ids=" ".join)
def test_the_rule_on_statuses_says_what_contour_says(
    seen: Mapping[tuple[str, str], Seen], story: tuple[str, str]
) -> None:
    """Of policies another rule does."""
    found = seen[story]
    rule = "backend-tls-target" if story[0] == "BackendTLSPolicy" else STATUS
    said = {reason for text in found.messages.get(rule, ()) for reason in _SAID.findall(text)}
    assert said == set((found.wrong or {}).values())


def test_of_two_policies_for_one_service_contour_takes_either(seen: Mapping[tuple[str, str], Seen]) -> None:
    """The API has the older one applied, and the other one called Conflicted; Contour may take either. Lint follows the
    status, and names the one that counts at the other."""
    first, again = (seen["BackendTLSPolicy", name] for name in TWICE)
    assert {first.reasons, again.reasons} <= {"", NOBODY}
    assert "" in {first.reasons, again.reasons}
    taken, lost = (first, again) if first.wrong == {} else (again, first)
    assert taken.wrong == {}
    assert (list(taken.messages), list(lost.messages)) == ([], ["backend-tls-target"])
