"""Manifests of all kinds: no hostile or odd one ends the run, and each is read or reported."""

from __future__ import annotations

import io
import json
import os
import re
import sys
import tracemalloc
from pathlib import Path
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scanner.cluster import lint_input, manifest_documents
from scanner.cluster.lint_input import MAX_FILE, read_manifests
from scanner.cluster.manifest_documents import Manifests
from scanner.errors import InputError
from scanner.files import yaml_values
from scanner.kube.kinds import GATEWAY, ROUTE, SECRET
from tests.cluster.manifest_files import route, told, tree
from tests.cluster.odd_values import JSON

pytestmark = pytest.mark.crypto

KINDS = (GATEWAY, ROUTE, SECRET)


def found_in(path: Path, content: str | bytes) -> Manifests:
    file = path / "file.yaml"
    file.write_bytes(content if isinstance(content, bytes) else content.encode())
    return read_manifests([str(file)], KINDS)


TEMPLATE = "apiVersion: template.openshift.io/v1\nkind: Template\nmetadata: {name: a}\n"


HOSTILE: list[tuple[str, str | bytes, list[str], list[str]]] = [
    ("nothing", "", [], []),
    ("comments", "# nothing\n---\n# here\n", [], []),
    ("one", route("a"), ["a"], []),
    ("byte order mark", b"\xef\xbb\xbf" + route("a").encode(), ["a"], []),
    ("broken between", f"{route('a')}---\nx: [\n---\n{route('b')}", ["a", "b"], ["file.yaml:6:1: did not find"]),
    ("duplicate key", f"{route('a')}kind: Route\n---\n{route('b')}", ["b"], ["file.yaml:4:1: duplicate key 'kind'"]),
    ("alias", f"x: *a\n---\n{route('b')}", ["b"], ["file.yaml:1:4: aliases (*) are not supported"]),
    ("alias bomb", f"a: &a [x]\nb: &b [*a,*a]\n---\n{route('b')}", ["b"], ["file.yaml:1:4: anchors (&) are"]),
    ("tag", f"x: !!python/object/apply:os.system [id]\n---\n{route('b')}", ["b"], ["file.yaml:1:4: tags (!)"]),
    ("NUL", f"{route('a')}---\nx: \0\n---\n{route('b')}", ["a", "b"], ["file.yaml:5:4: control character U+0000"]),
    ("UTF-16", route("a").encode("utf-16"), [], ["file.yaml:1:1: not UTF-8"]),
    ("Latin-1", route("a").encode() + b"---\nx: \xe9\n", ["a"], ["file.yaml:5:4: not UTF-8"]),
    ("deep", "[" * 900 + f"\n---\n{route('b')}", ["b"], ["file.yaml:1:65: nested more than 64 deep"]),
    ("large", b"#" * (MAX_FILE + 1), [], ["file.yaml:1:1: larger than 16384 KiB"]),
    ("binary", b"\x7fELF\0\0", [], ["file.yaml:1:1: control character U+007F"]),
    ("text", "hello\n", [], []),
    ("number", "1\n", [], []),
    ("list", "- 1\n- 2\n", [], []),
    ("metadata is a list", route("a").replace("{name: a}", "[]"), [], ["file.yaml:3:11: Route without a name"]),
    ("the name is a number", route("1"), [], ["file.yaml:3:11: Route without a name"]),
    (
        "the namespace is a number",
        route("a").replace("{name: a}", "{name: a, namespace: 7}"),
        [],
        ["file.yaml:3:32: Route/'a' has a namespace that is not text"],
    ),
    ("no metadata", "apiVersion: route.openshift.io/v1\nkind: Route\n", [], ["file.yaml:1:1: Route without a name"]),
    ("kind is a list", route("a").replace("Route\n", "[]\n"), [], []),
    ("items is text", "apiVersion: v1\nkind: List\nitems: all\n", [], ["file.yaml:3:8: items is not a list"]),
    ("no items", "apiVersion: v1\nkind: List\nitem: []\n", [], ["file.yaml:1:1: a List without items"]),
    ("a list in small letters", "apiVersion: v1\nkind: list\nitems: []\n", [], ["file.yaml:1:1: unknown kind 'list'"]),
    ("items is null", "apiVersion: v1\nkind: List\nitems: null\n", [], []),
    ("no objects", f"{TEMPLATE}object: []\n", [], ["file.yaml:1:1: a Template without objects"]),
    ("objects is a mapping", f"{TEMPLATE}objects: {{}}\n", [], ["file.yaml:1:1: objects is not a list"]),
    ("items is empty", "apiVersion: v1\nkind: List\nitems: []\n", [], []),
    ("another comment", '// why\n{"apiVersion":"v1","kind":"Secret"}', [], ["file.yaml:1:1: YAML reads this object"]),
    ("odd items", "apiVersion: v1\nkind: List\nitems: [1, null, [], {}]\n", [], []),
    (
        "typed list",
        "apiVersion: route.openshift.io/v1\nkind: RouteList\nitems:\n- metadata: {name: a}\n- {metadata: {}}\n",
        ["a"],
        ["file.yaml:5:14: Route without a name"],
    ),
    (
        "lists without end",
        "{apiVersion: v1, kind: List, items: [" * 5 + "]}" * 5,
        [],
        ["file.yaml:1:112: lists are nested more than 3 deep"],
    ),
]


@pytest.mark.parametrize(("content", "names", "bad"), [each[1:] for each in HOSTILE], ids=[each[0] for each in HOSTILE])
def test_one_clear_finding_each_and_the_rest_is_read(
    tmp_path: Path, content: str | bytes, names: list[str], bad: list[str]
) -> None:
    there, wrong = told(found_in(tmp_path, content))
    assert there == names
    assert len(wrong) == len(bad)
    assert [each for each, begin in zip(wrong, bad, strict=True) if not each.startswith(begin)] == []


def test_what_is_too_deep_for_the_parser_too_has_the_same_message(tmp_path: Path) -> None:
    """libyaml reads ahead, and newer versions have a limit of their own: the column is theirs."""
    there, (wrong,) = told(found_in(tmp_path, "[" * 100_000 + f"\n---\n{route('b')}"))
    assert there == ["b"]
    assert re.match(r"file\.yaml:1:\d+: nested more than 64 deep", wrong)


FOREIGN: list[tuple[str, str, bool]] = [
    ("a.yml", "job:\n  script:\n  - !reference [.a, script]\n", True),
    ("a.yaml", "x: &x {a: 1}\ny: {<<: *x}\n", True),
    ("a.yaml", "en:\n  a: 1\n  a: 2\n", True),
    ("tsconfig.json", '{\n  // why\n  "include": [],\n}\n', True),
    ("tsconfig.yaml", '{\n  // why\n  "include": [],\n}\n', False),
    ("a.json", '{\n  // why\n  "apiVersion": "v1",\n}\n', False),
    ("a.json", '{\n  // why\n  "api\\u0056ersion": "v1",\n}\n', False),
    ("a.yaml", "x: &x {a: 1}\nKind: Route\n", False),
    ("a.yaml", 'x: &x {a: 1}\n"api\\x56ersion": v1\n', False),
    ("a.yaml", "x: &x {apiVersion: v1}\n<<: *x\n", False),
    ("a.yaml", "!!binary YXBpVmVyc2lvbg==: v1\n", False),
    ("a.yaml", "%TAG !y! tag:yaml.org,2002:\n---\n!y!%62inary YXBpVmVyc2lvbg==: v1\n", False),
    ("a.yaml", "- when: {{ a }}\n", False),
    ("a.yaml", "a: &x 1\n...\n---\napiVersion: v1\nkind: &x Secret\n", False),
    ("a.json", "\0".join('{"apiVersion": "v1", "kind": "Secret"}\0'), False),
]


@pytest.mark.parametrize(("name", "text", "foreign"), FOREIGN)
def test_what_is_refused_and_no_manifest_is_told_apart(tmp_path: Path, name: str, text: str, foreign: bool) -> None:
    file = tmp_path / name
    file.write_text(text)
    *_, bad = read_manifests([str(file)], KINDS).bad
    assert bad.is_object != foreign
    assert ("so it is not a manifest" in bad.message) == foreign


BEYOND: list[tuple[str, str]] = [
    ("the documents behind those that are looked at", "---\na: !x y\n" * 30 + "---\n" + route("a")),
    ("the rest of a file that is too large", f"# why\n---\n{route('a')}---\n#" + " " * MAX_FILE),
]
"""They begin with documents that are no manifests, which says nothing of the others."""


@pytest.mark.parametrize("text", [each[1] for each in BEYOND], ids=[each[0] for each in BEYOND])
def test_what_was_not_looked_at_is_taken_for_nothing(tmp_path: Path, text: str) -> None:
    found = found_in(tmp_path, text)
    assert (found.objects, [each.is_object for each in found.bad].count(True)) == ([], 1)


MISNAMED: list[tuple[str, str]] = [
    ("kind: Route\nmetadata: {name: a}\n", "1:7: 'Route' without apiVersion"),
    ("apiVersion: route.openshift.io/v1\nmetadata: {name: a}\n", "1:13: an object of 'route.openshift.io/v1' without"),
    (route("a").replace("io/v1", "io"), "1:13: no known API has 'Route' in 'route.openshift.io'"),
    (route("a").replace("Route", "route"), "2:7: no known API has 'route' in 'route.openshift.io/v1'"),
    (
        "kind: List\napiVersion: v1\nitems:\n- {kind: Rout, apiVersion: route.openshift.io/v1, metadata: {}}\n",
        "4:10: no known API",
    ),
    ("kind: Rout\napiVersion: route.openshift.io/v1\nspec: {}\n", "1:7: no known API"),
    ("kind: RouteList\napiVersion: route.openshift.io/v2\nitems:\n- metadata: {name: a}\n", "4:3: Route has no"),
]


@pytest.mark.parametrize(("text", "begin"), MISNAMED)
def test_what_is_of_no_api_is_not_looked_at_and_said(tmp_path: Path, text: str, begin: str) -> None:
    found = found_in(tmp_path, f"{text}---\n{route('b')}")
    (wrong,) = found.misnamed
    assert f"{wrong.place.line}:{wrong.place.column}: {wrong.message}".startswith(begin)
    assert "route.openshift.io" in wrong.hint
    assert told(found) == (["b"], [])


MISCASED = [
    ("ApiVersion: route.openshift.io/v1\nKind: Route\nmetadata: {name: a}\n", "1:13: unknown key 'ApiVersion'"),
    ("apiversion: route.openshift.io/v1\nkind: Route\n", "1:13: unknown key 'apiversion'"),
    ("apiVersion: a/v1\nKIND: Own\n", "2:7: unknown key 'KIND'"),
    ("apiVerson: v1\nknd: Secret\nmetadata: {name: a}\n", "1:12: unknown key 'apiVerson'"),
    ("apiVersion: v1\n'kind ': Secret\nmetadata: {name: a}\n", "2:10: unknown key 'kind '"),
    ("apiVersion: v1\n\u200bkind: Secret\nmetadata: {name: a}\n", "2:8: unknown key '\\u200bkind'"),
]


@pytest.mark.parametrize(("text", "begin"), MISCASED)
def test_keys_that_are_misspelt_are_not_passed_by(tmp_path: Path, text: str, begin: str) -> None:
    (wrong,) = found_in(tmp_path, text).misnamed
    assert f"{wrong.place.line}:{wrong.place.column}: {wrong.message}".startswith(begin)


SEALED = "sops: {mac: 'ENC[AES256_GCM,data:eA==,iv:eA==,tag:eA==,type:str]', version: 3.9.0}\n"
ENCRYPTED = "'ENC[AES256_GCM,data:eA==,iv:eA==,tag:eA==,type:str]'"
SECRET_TEXT = "apiVersion: v1\nkind: Secret\nmetadata: {name: a, namespace: b}\n"
SOPS: list[tuple[str, int, int, int]] = [
    (f"{SECRET_TEXT}type: kubernetes.io/tls\ndata: {{tls.crt: {ENCRYPTED}}}\n{SEALED}", 1, 0, 0),
    (f"{SECRET_TEXT}type: {ENCRYPTED}\nstringData: {{tls.crt: {ENCRYPTED}}}\n{SEALED}", 1, 0, 0),
    (f"{SECRET_TEXT}data: {{password: {ENCRYPTED}}}\n{SEALED}", 0, 1, 0),
    (f"apiVersion: {ENCRYPTED}\nkind: {ENCRYPTED}\nspec: [{ENCRYPTED}]\n{SEALED}", 1, 0, 0),
    (f"apiVersion: v1\nkind: ServiceAccount\nx: {ENCRYPTED}\n{SEALED}", 0, 1, 0),
    (f"{SECRET_TEXT}type: kubernetes.io/tls\ndata: {{}}\n{SEALED}", 0, 0, 1),
    (f"{SECRET_TEXT}type: kubernetes.io/tls\ndata: {{tls.crt: {ENCRYPTED}}}\n", 0, 0, 1),
]


def test_what_sops_has_encrypted_is_of_a_kind_that_there_is(tmp_path: Path) -> None:
    text = f"apiVersion: route.openshift.io/v1\nkind: Routes\nmetadata: {{name: a}}\nspec: {{x: {ENCRYPTED}}}\n"
    (wrong,) = found_in(tmp_path, text + SEALED).misnamed
    assert wrong.hint == "did you mean route.openshift.io/v1 Route?"


@pytest.mark.parametrize(("text", "skipped", "others", "given"), SOPS)
def test_what_sops_has_encrypted_is_not_judged(
    tmp_path: Path, text: str, skipped: int, others: int, given: int
) -> None:
    found = found_in(tmp_path, text)
    assert (len(found.skipped), found.others, len(found.objects)) == (skipped, others, given)
    assert all("is encrypted with SOPS" in each.reason for each in found.skipped)
    assert (found.bad, found.misnamed) == ([], [])


OTHERS = [
    "apiVersion: networking.istio.io/v1\nkind: Gateway\n",
    "kind: Route\nvalues: 1\n",
    "kind: Pot\napiVersion: a/b\n",
    "kinds: [a]\nversion: 1\nmetadata: {name: a}\n",
    "kinds: [a]\napi_version: 1\n",
]


@pytest.mark.parametrize("text", OTHERS)
def test_what_is_something_else_is_counted(tmp_path: Path, text: str) -> None:
    found = found_in(tmp_path, text)
    assert (found.others + found.not_objects, found.misnamed, found.bad) == (1, [], [])


ARRAYS = [
    (json.dumps([{"apiVersion": "route.openshift.io/v1", "kind": "Route", "metadata": {"name": "a"}}, 1]), ["a"], 0),
    ("- apiVersion: route.openshift.io/v1\n  kind: Route\n  metadata: {name: a}\n", ["a"], 0),
    ("- {op: replace, path: /a}\n- 2\n", [], 1),
]


@pytest.mark.parametrize(("text", "names", "others"), ARRAYS)
def test_an_array_of_objects_is_looked_into(tmp_path: Path, text: str, names: list[str], others: int) -> None:
    found = found_in(tmp_path, text)
    assert (told(found)[0], found.not_objects) == (names, others)


def test_an_array_of_objects_is_looked_into_in_whatever_letters(tmp_path: Path) -> None:
    (wrong,) = found_in(tmp_path, "- apiVersion: v1\n  Kind: Secret\n- {op: add}\n").misnamed
    assert (wrong.place.line, wrong.hint) == (2, "write apiVersion and kind")


def test_a_list_in_a_list_says_where_its_items_stand(tmp_path: Path) -> None:
    line = (
        "- {apiVersion: v1, kind: List, items: [{apiVersion: route.openshift.io/v1, kind: Route, metadata: {name: a}}]}"
    )
    (each,) = found_in(tmp_path, f"apiVersion: v1\nkind: List\nitems:\n{line}\n").objects
    assert str(each.place(("metadata", "name"))).endswith(f":4:{line.index('a}') + 1}")


TEMPLATES = ["a: {{ .Values.a }}\n", "{{- if .Values.a }}\na: 1\n{{- end }}\n", 'a: 1\n{{ include "b" . }}\n']


@pytest.mark.parametrize("text", TEMPLATES)
def test_templates_are_told_apart(tmp_path: Path, text: str) -> None:
    (bad,) = found_in(tmp_path, text).bad
    assert "helm template" in bad.hint


def test_a_file_of_templates_is_one_finding(tmp_path: Path) -> None:
    found = found_in(tmp_path, "---\n".join([*TEMPLATES, "x: [\n", route("b")]))
    assert [bool(each.hint) for each in found.bad] == [True, True]
    assert told(found)[0] == ["b"]


def test_templates_of_a_chart_that_are_named_one_by_one_are_said_once(tmp_path: Path) -> None:
    tree(
        tmp_path,
        {
            "c/Chart.yaml": "",
            "c/templates/a.yaml": "{{",
            "c/templates/x/b.yaml": "{{",
            "c/templates/r.yaml": route("r"),
        },
    )
    found = read_manifests([str(each) for each in sorted((tmp_path / "c/templates").rglob("*.yaml"))], KINDS)
    assert told(found) == (["r"], [])
    assert [Path(each.path) for each in found.skipped] == [tmp_path / "c/templates"]


def test_a_list_says_where_each_item_stands(tmp_path: Path) -> None:
    item = "- {apiVersion: route.openshift.io/v1, kind: Route, metadata: {name: %s}}\n"
    found = found_in(tmp_path, "apiVersion: v1\nkind: List\nitems:\n" + item % "a" + item % "b")
    places = [each.place(("metadata", "name")) for each in found.objects]
    assert [place and place[1:] for place in places] == [(4, 69), (5, 69)]


def test_objects_that_nobody_looks_at_are_counted(tmp_path: Path) -> None:
    found = found_in(tmp_path, "apiVersion: v1\nkind: Pod\n---\nvalues: 1\n---\n" + route("a"))
    assert (found.others, found.not_objects, len(found.objects)) == (1, 1, 1)


def test_no_key_is_kept(tmp_path: Path) -> None:
    secret = "apiVersion: v1\nkind: Secret\nmetadata: {name: a}\nstringData: {tls.key: secret-words}\n"
    (each,) = found_in(tmp_path, secret).objects
    assert "secret-words" not in repr(each.object.raw)


@pytest.mark.parametrize("field", ["spec: {tls: {externalCertificate: %s}}", "spec: {host: %s}", "metadata: {x: %s}"])
def test_no_key_is_kept_wherever_somebody_put_it(tmp_path: Path, field: str) -> None:
    block = "-----BEGIN EC PRIVATE KEY-----\nMHcCAQEEIKEYMATERIAL\n-----END EC PRIVATE KEY-----\n"
    text = "apiVersion: route.openshift.io/v1\nkind: Route\n" + field % json.dumps(block)
    text += "" if "metadata" in field else "\nmetadata: {name: a}\n"
    (each,) = found_in(tmp_path, text.replace("metadata: {x:", "metadata: {name: a, x:")).objects
    assert "KEYMATERIAL" not in repr(each.object.raw)


# --- Files and directories --------------------------------------------------------------------------------------------


def test_a_directory_is_read_in_order_and_each_file_once(tmp_path: Path) -> None:
    tree(tmp_path, {"b/x.yml": route("c"), "a.yaml": route("a"), "b.json": "{}", "c.txt": "[", ".git/x.yaml": "["})
    tree(tmp_path, {"d.YAML": route("d"), "e.Yml": route("e"), "f.JSON": "{}"})
    (tmp_path / "link.yaml").symlink_to("a.yaml")
    found = read_manifests([str(tmp_path), f"{tmp_path}/b/../a.yaml"], KINDS)
    assert told(found) == (["a", "d", "e", "c"], [])
    assert found.files == 6


def test_loops_end_and_a_link_out_of_the_directory_is_named(tmp_path: Path) -> None:
    here = tree(tmp_path / "here", {"a.yaml": route("a")})
    tree(tmp_path / "there", {"b.yaml": route("b")})
    (here / "loop").symlink_to(here)
    (here / "out").symlink_to(tmp_path / "there")
    (here / "itself.yaml").symlink_to(here / "itself.yaml")
    (here / "gone.yaml").symlink_to(here / "nothing.yaml")
    (here / "secret.yaml").symlink_to(tmp_path / "there" / "b.yaml")
    found = read_manifests([str(here)], KINDS)
    names, bad = told(found)
    assert names == ["a"]
    assert bad == ["gone.yaml:1:1: No such file or directory", "itself.yaml:1:1: Too many levels of symbolic links"]
    assert [(Path(each.path).name, each.reason) for each in found.skipped] == [
        ("out", "a link that leads out of the directory"),
        ("secret.yaml", "a link that leads out of the directory"),
    ]


def test_a_pipe_in_a_directory_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.yaml")
    found = read_manifests([str(tmp_path)], KINDS)
    assert [(Path(each.path).name, each.reason) for each in found.skipped] == [("pipe.yaml", "not a regular file")]


def test_a_pipe_that_is_named_like_a_kustomization_is_not_waited_for(tmp_path: Path) -> None:
    tree(tmp_path, {"a.yaml": route("a")})
    os.mkfifo(tmp_path / "Kustomization")
    assert told(read_manifests([str(tmp_path)], KINDS)) == (["a"], [])


SLOW: list[tuple[str, str, str]] = [
    ("brackets behind a key", "a.yaml", "a: " + "[" * 400_000),
    ("brackets", "a.json", "[" * 500_000),
    ("braces", "a.json", '{"a":' * 500_000),
    ("directives", "a.yaml", "".join(f"%TAG !a{number}! x\n" for number in range(200_000)) + "---\n" + route("a")),
]
"""Time of the parser that grows with the square of the length: minutes, where each is refused in milliseconds."""


@pytest.mark.parametrize(("name", "text"), [each[1:] for each in SLOW], ids=[each[0] for each in SLOW])
def test_a_document_that_was_refused_is_not_read_again_without_its_bounds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, text: str
) -> None:
    loader = yaml_values._LOADER

    class Bounded(loader):  # type: ignore[misc, valid-type]
        """The parser, with what it may be asked."""

        events = 0

        def __init__(self, text: str) -> None:
            assert text.count("%TAG") <= 20
            super().__init__(text)

        def get_event(self) -> object:
            self.events += 1
            assert self.events < 1000
            return super().get_event()

    monkeypatch.setattr(yaml_values, "_LOADER", Bounded)
    tree(tmp_path, {name: text, "b.yaml": route("b")})
    names, bad = told(read_manifests([str(tmp_path)], KINDS))
    assert (names, len(bad)) == (["b"], 1)


def test_a_pipe_that_is_named_is_read(tmp_path: Path) -> None:
    """As shells give it: ``adhere lint <(kustomize build)``."""
    reading, writing = os.pipe()
    os.write(writing, route("a").encode())
    os.close(writing)
    try:
        assert told(read_manifests([f"/dev/fd/{reading}"], KINDS)) == (["a"], [])
    finally:
        os.close(reading)


def test_templates_of_a_chart_are_named_once(tmp_path: Path) -> None:
    tree(tmp_path, {"c/Chart.yaml": "name: c\n", "c/templates/a.yaml": "{{", "c/crds/b.yaml": route("b")})
    found = read_manifests([str(tmp_path)], KINDS)
    assert told(found) == (["b"], [])
    (skipped,) = found.skipped
    assert skipped.hint == f"lint its output: helm template {tmp_path}/c | adhere lint -"


def test_a_file_that_cannot_be_read_is_a_finding(tmp_path: Path) -> None:
    """A file in /proc that is there and says no, also to root."""
    tree(tmp_path, {"a.yaml": route("a")})
    found = read_manifests([str(tmp_path), "/proc/self/mem"], KINDS)
    assert told(found) == (["a"], ["mem:1:1: Input/output error"])


def test_a_directory_that_cannot_be_listed_is_a_finding(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An error of ``os.walk``; root may list every directory."""
    tree(tmp_path, {"a.yaml": route("a")})
    walk = os.walk

    def refused(top: str, *, onerror: object) -> object:
        onerror(PermissionError(13, "Permission denied", f"{top}/b"))  # type: ignore[operator]
        return walk(top)

    monkeypatch.setattr(os, "walk", refused)
    assert told(read_manifests([str(tmp_path)], KINDS)) == (["a"], ["b:1:1: the directory: Permission denied"])


@pytest.mark.parametrize("name", ["", "nothing.yaml", "a\0b", "file/below", "x" * 300])
def test_what_does_not_exist_is_an_error_or_a_finding(tmp_path: Path, name: str) -> None:
    (tmp_path / "file").write_text("")
    try:
        found = read_manifests([str(tmp_path / name) if name else ""], KINDS)
    except InputError as error:
        assert "there is no such file or directory" in error.message  # noqa: PT017 - either is right
    else:
        assert [each.message for each in found.bad] == ["File name too long"]


@pytest.mark.parametrize(("name", "most"), [("MAX_FILES", lint_input), ("MAX_OBJECTS", manifest_documents)])
def test_too_much_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, most: object) -> None:
    tree(tmp_path, {f"{index}.yaml": route(f"a{index}") for index in range(3)})
    monkeypatch.setattr(most, name, 2)
    with pytest.raises(InputError, match="more than 2 "):
        read_manifests([str(tmp_path)], KINDS)


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("---\na\n---\nb\n---\n", "---\nc\n---\nd\n"),
        ("---\n" * 4, "---\n"),  # empty ones
        ("{}" * 4, "{}"),
        ("---\n[\n" * 4, "a"),
    ],
)
def test_too_many_documents(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, first: str, second: str) -> None:
    tree(tmp_path, {"1.yaml": first})
    monkeypatch.setattr(lint_input, "MAX_DOCUMENTS", 4)
    read_manifests([str(tmp_path)], KINDS)
    tree(tmp_path, {"2.yaml": second})
    with pytest.raises(InputError, match=r"2\.yaml: more than 4 documents in all files up to this one"):
        read_manifests([str(tmp_path)], KINDS)
    tree(tmp_path, {"1.yaml": "{}" * 1000})
    with pytest.raises(InputError, match=r"1\.yaml: more than 4 documents"):
        read_manifests([str(tmp_path)], KINDS)


def test_standard_input(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(route("a").encode() + b"---\n[")))
    found = read_manifests(["-", "-"], KINDS)
    assert told(found) == (["a"], ["<stdin>:6:1: did not find expected node content"])


def test_standard_input_that_is_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", None)
    assert told(read_manifests(["-"], KINDS)) == ([], ["<stdin>:1:1: it is closed"])


@pytest.mark.slow
def test_a_file_of_nothing_but_brackets_fits_into_memory(tmp_path: Path) -> None:
    file = tmp_path / "a.yaml"
    file.write_text("- []\n" * 300_000)
    tracemalloc.start()
    try:
        read_manifests([str(file)], KINDS)
        assert tracemalloc.get_traced_memory()[1] < 150e6
    finally:
        tracemalloc.stop()


@given(st.lists(JSON, max_size=3), st.sampled_from([kind.name for kind in KINDS]))
def test_no_object_is_too_odd(tmp_path_factory: pytest.TempPathFactory, values: list[object], name: str) -> None:
    text = "---\n".join(
        f"apiVersion: {value!r}\nkind: {name}\nmetadata: {value!r}\nitems: {value!r}\n" for value in values
    )
    found = found_in(tmp_path_factory.mktemp("odd"), text.encode("utf-8", "replace"))
    assert all(each.object.name for each in found.objects)
