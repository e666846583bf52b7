"""What lint says of HTTPProxies, against the status that Contour itself gives them."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from scanner.lint import Linted, lint
from scanner.lint.contour import CONTOUR_RULES
from scanner.linting import declared
from scanner.model.object_rule import ObjectRule
from tests.e2e import assets
from tests.e2e.completing import completed
from tests.e2e.contour import API, NAMESPACE, Contour, contour, controller, made, namespaces, reasons_of
from tests.e2e.contour_stories import STORIES, SURROUNDINGS, Story
from tests.e2e.control_plane import ControlPlane, control_plane
from tests.e2e.judging import objects_in, snapshot_of
from tests.e2e.left_out import with_what_is_left_out
from tests.e2e.writing import Object, Writer
from tests.lint.examples import examples

PINS = tuple(Path(__file__).parent / name for name in ("crds", "controllers"))
STATUS = "contour-status"
_SAID = re.compile(r"^Contour reports (\w+): ")
_CLAIMED = re.compile(r"\(([A-Z][a-z]+[A-Z]\w+)\)")
"""Where a rule names the reason that Contour gives."""
SUBJECT = {"apiVersion": API, "kind": "HTTPProxy", "metadata": {"name": "shop", "namespace": "shop"}}


@pytest.fixture(scope="module")
def surrounded(
    plane: ControlPlane, definitions: list[Object], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[ControlPlane]:
    """A control plane of its own, with what all stories have."""
    directory = tmp_path_factory.mktemp("contour")
    with control_plane(assets.programs(), directory) as running:
        writer = Writer(running.admin)
        writer.define([each for each in definitions if each["spec"]["group"] == "projectcontour.io"])
        namespaces(writer, NAMESPACE, "shop", "blog", "certs")
        for each in objects_in(directory, SURROUNDINGS):
            writer.create(each)
        yield running


EXAMPLES = [
    pytest.param(rule, which, number, id=f"{rule.id}-{which}-{number}")
    for rule in CONTOUR_RULES
    for which in ("fails", "passes")
    for number, text in enumerate(examples(rule, which))
    if "kind: HTTPProxy" in text
]
INVALID = {
    "contour-delegation-fails-0": {"HTTPProxy/blog/blog": {"DelegationNotPermitted"}},
    "contour-root-fails-0": {"HTTPProxy/shop/shop": {"RootIncludesRoot"}},
    "contour-tls-settings-fails-0": {"HTTPProxy/shop/shop": {"TLSConfigNotValid"}},
    "contour-fallback-certificate-fails-0": {"HTTPProxy/shop/shop": {"FallbackNotPresent"}},
    "contour-fqdn-fails-0": {
        "HTTPProxy/shop/shop": {"DuplicateVhost"},
        "HTTPProxy/blog/mine": {"DuplicateVhost"},
    },
    "contour-status-fails-0": {"HTTPProxy/shop/shop": {"DelegationNotPermitted"}},
}
"""Examples with HTTPProxies that Contour calls invalid, and why; all others it calls valid: what fails is then what is
served, or not looked at."""
ROOTLESS = {"contour-upstream-validation", "contour-upstream-unverified"}
"""Rules with examples of HTTPProxies that no root includes."""


class Running:
    """One Contour at a time: two would write the same statuses."""

    def __init__(self, plane: ControlPlane, directory: Path) -> None:
        self.plane, self.directory = plane, directory
        self.stack = ExitStack()
        self._now: tuple[tuple[str, ...], Contour] | None = None
        self._numbers = itertools.count()

    def on(self, told: str, *arguments: str) -> Contour:
        """One that is told that, and has said of everything that is there what it has to say."""
        if self._now is None or self._now[0] != (told, *arguments):
            self.stack.close()
            directory = self.directory / str(next(self._numbers))
            directory.mkdir()
            started = self.stack.enter_context(contour(controller(), self.plane, directory, told, arguments))
            self._now = (told, *arguments), started
        self._now[1].settle()
        return self._now[1]


@pytest.fixture(scope="module")
def running(surrounded: ControlPlane, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    found = Running(surrounded, tmp_path_factory.mktemp("contours"))
    with found.stack:
        yield found


@pytest.mark.parametrize("story", STORIES.values(), ids=STORIES)
async def test_contour_calls_invalid_what_lint_says_it_does(
    running: Running, surrounded: ControlPlane, tmp_path: Path, story: Story
) -> None:
    """The rules that fail, the reasons that they give, and those that the rule on statuses takes from Contour's."""
    writer = Writer(surrounded.admin)
    with made(writer, *objects_in(tmp_path, story.objects)):
        reasons = reasons_of(running.on(story.told, *story.arguments).read(SUBJECT))
        found = list(lint(declared(None, await snapshot_of(surrounded, tmp_path, *CONTOUR_RULES)), CONTOUR_RULES))
    failed = failing(found, "HTTPProxy/shop/shop")
    said = {reason for each in failed.pop(STATUS, []) for reason in _SAID.findall(each)}
    assert (reasons, set(failed)) == (set(story.reasons.split()), set(story.rules.split())), failed
    assert said == reasons
    claimed = {reason for each in failed.values() for message in each for reason in _CLAIMED.findall(message)}
    assert claimed <= reasons, failed


def failing(found: Iterable[Linted], reference: str) -> dict[str, list[str]]:
    """By rule, what it says against an object."""
    rules: dict[str, list[str]] = {}
    for one in found:
        if str(one.subject.object.reference) == reference:
            for each in one.findings:
                assert each.finding.verdict == "fail", each.finding.message
                rules.setdefault(each.finding.rule, []).append(each.finding.message)
    return rules


@pytest.mark.parametrize(("rule", "which", "number"), EXAMPLES)
async def test_contour_calls_the_examples_what_lint_does(
    running: Running,
    surrounded: ControlPlane,
    tmp_path: Path,
    request: pytest.FixtureRequest,
    rule: ObjectRule,
    which: str,
    number: int,
) -> None:
    """With all that they leave out, each of the HTTPProxies in a rule's examples."""
    written = objects_in(tmp_path, examples(rule, which)[number])
    writer = Writer(surrounded.admin)
    proxies = [each for each in written if each["kind"] == "HTTPProxy"]
    whole = with_what_is_left_out(completed(each) for each in written if each["kind"] != "Namespace")
    namespaces(writer, *(each["metadata"]["namespace"] for each in whole))
    with made(writer, *whole):
        now = running.on("")
        found = list(lint(declared(None, await snapshot_of(surrounded, tmp_path, *CONTOUR_RULES)), CONTOUR_RULES))
        reasons = {reference(each): reasons_of(now.read(each)) for each in proxies}
    expected = INVALID.get(request.node.callspec.id, {})
    orphaned = {"Orphaned"} if rule.id in ROOTLESS else set()
    assert reasons == {name: expected.get(name, orphaned) for name in reasons}
    for name in expected:
        assert failing(found, name).keys() - {STATUS}, name
    if which == "passes":
        assert [failing(found, name).keys() - {STATUS} for name in reasons] == [set()] * len(reasons)


def reference(item: Object) -> str:
    return f"{item['kind']}/{item['metadata']['namespace']}/{item['metadata']['name']}"


def test_the_definitions_are_of_the_contour_that_runs() -> None:
    """Two modules pin it: one for its definitions, one to build it."""
    pinned = re.compile(r"^\s*(?:require )?github.com/projectcontour/contour (v\S+)", re.MULTILINE)
    versions = {pinned.findall((each / "go.mod").read_text())[0] for each in PINS}
    assert len(versions) == 1, versions
