"""``adhere lint`` as its users call it: exit codes, places, formats, and one clear line for what is wrong."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from scanner.assessment import READS
from scanner.kube.kinds import CONFIG_MAP, GATEWAY, KINDS, SECRET
from scanner.linting import LINT_READS
from scanner.report import LINT_FORMATS
from tests.certs import Authority
from tests.cli.calling import COMMAND, PATIENCE, Call, Called, assert_refused, called, environment, valid
from tests.cluster.api import Answer, Api, Asked, authority, named, refused, running
from tests.serving import serving
from tests.shared import LiveDemo

HEAD = "apiVersion: projectcontour.io/v1\nkind: TLSCertificateDelegation\nmetadata: {name: a, namespace: shop}\n"
FINE = f"{HEAD}spec: {{delegations: []}}\n"
LOW = f"{HEAD}spec: {{delegations: [], flavour: sweet}}\n"
MEDIUM = f"{HEAD}spec: {{delegation: []}}\n"
BROKEN = "a: [\n"
UNDECIDED = """\
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: edge, namespace: shop}
spec:
  gatewayClassName: example
  listeners:
  - {name: a, port: 443, protocol: HTTPS, hostname: a.example, tls: {certificateRefs: [{name: edge-tls}]}}
"""
PIPELINE = "job: &job {script: [make]}\nother: *job\n"
OTHER = "apiVersion: v1\nkind: ServiceAccount\nmetadata: {name: a}\n"


def document(answer: Called) -> dict[str, Any]:
    return valid(answer.out, "lint-v1")


EXIT_CODES: list[tuple[int, tuple[str, ...], str]] = [
    (0, (FINE,), ""),
    (0, (LOW,), ""),
    (1, (LOW,), "--fail-on low"),
    (1, (MEDIUM,), ""),
    (0, (MEDIUM,), "--fail-on high"),
    (0, (MEDIUM,), "--fail-on never"),
    (1, (BROKEN,), ""),
    (3, (BROKEN,), "--fail-on never"),
    (3, (FINE, BROKEN), "--fail-on critical"),
    (3, (UNDECIDED,), ""),
    (0, (UNDECIDED,), "--accept-undecided"),
    (3, (FINE, UNDECIDED), "--fail-on never"),
    (1, (MEDIUM, UNDECIDED), ""),
    (4, (OTHER,), ""),
    (4, ("",), ""),
    (4, ("",), "--accept-undecided"),
    (0, ("",), "--accept-empty"),
    (3, (UNDECIDED,), "--accept-empty"),
    (1, (BROKEN,), "--accept-empty"),
    (0, (FINE, OTHER), ""),
    (0, (FINE, PIPELINE), "--fail-on low"),
    (4, (PIPELINE,), ""),
]


@pytest.mark.parametrize(("code", "texts", "options"), EXIT_CODES)
def test_exit_codes(call: Call, tmp_path: Path, code: int, texts: tuple[str, ...], options: str) -> None:
    for number, text in enumerate(texts):
        (tmp_path / f"{number}.yaml").write_text(text)
    answer = call("lint", tmp_path, *options.split())
    assert answer.code == code, answer.out
    assert answer.err == ""


def test_undecided_findings_have_a_fix_and_are_accepted_by_name(call: Call, tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text(UNDECIDED)
    answer = call("lint", tmp_path)
    assert "fix       add " in answer.out
    assert " undecided) on " in answer.out.splitlines()[-1]
    assert " undecided accepted) on " in call("lint", tmp_path, "--accept-undecided").out.splitlines()[-1]


def test_what_was_skipped_is_no_pass_unless_that_is_accepted(call: Call, tmp_path: Path) -> None:
    (tmp_path / "templates").mkdir()
    (tmp_path / "Chart.yaml").write_text("name: chart\n")
    (tmp_path / "a.yaml").write_text(FINE)
    answer = call("lint", tmp_path)
    assert answer.code == 3
    assert "not looked at: " in answer.out
    assert call("lint", tmp_path, "--accept-undecided").code == 0


BAD_INPUT: list[tuple[str, str, str]] = [
    ("lint", "nothing to lint", "--cluster"),
    ("lint {tmp}/none.yaml", "none.yaml: there is no such file or directory", "check the path"),
    ("lint {tmp} --format xml", "unknown format 'xml'", "text, json, junit, sarif"),
    ("lint {tmp} --format json=", "the path is missing", "json=FILE"),
    ("lint {tmp} --format json --format text", "two formats write to standard output", "its own path"),
    ("lint {tmp} --format json={tmp}/x --format sarif={tmp}/./x", "two formats write to ", "its own path"),
    ("lint {tmp} --format json={tmp}/none/x", "does not exist", "create it first"),
    ("lint {tmp} --fail-on always", "'--fail-on'", "lint --help"),
    ("lint {tmp} --snapshot {tmp}/none", "there is no such directory", "check the path"),
    ("lint {tmp} --kubeconfig {tmp}/none", "none", ""),
    (
        "lint {tmp} --snapshot {tmp} --cluster",
        "--snapshot cannot be combined with --cluster or --context",
        "remove one",
    ),
    ("lint {tmp} --secrets", "--secrets needs a cluster, and none is selected", "--cluster"),
    ("lint {tmp} --bogus", "--bogus", "lint --help"),
]


@pytest.mark.parametrize(("line", "says", "hints"), BAD_INPUT)
def test_bad_input_gets_one_clear_line(call: Call, tmp_path: Path, line: str, says: str, hints: str) -> None:
    (tmp_path / "a.yaml").write_text(FINE)
    answer = call(*line.format(tmp=tmp_path).split())
    first, *more = answer.err.splitlines()
    assert (answer.code, answer.out) == (2, "")
    assert first.startswith("adhere: ")
    assert says in first
    assert len(more) <= 1
    assert hints in "".join(more)


def test_a_finding_says_where(call: Call, tmp_path: Path) -> None:
    file = tmp_path / "a.yaml"
    file.write_text(f"{OTHER}---\n{MEDIUM}")
    answer = call("lint", file, "--fix-hints")
    assert answer.out.splitlines()[0].startswith(f"{file}:8:20: medium: field-unknown: unknown field 'delegation'")
    assert "    | delegations: ..." in answer.out.splitlines()
    (found,) = document(call("lint", file, "--format", "json"))["objects"][0]["findings"]
    assert found["place"] == {"file": str(file), "line": 8, "column": 20}


INSTALL_CONFIG = """\
apiVersion: v1
baseDomain: example.com
metadata: {name: prod}
featureSet: TechPreviewNoUpgrade
platform: {none: {}}
pullSecret: canary
pki: {signerCertificates: {key: {algorithm: RSA, rsa: {keySize: 4096}}}}
"""


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (INSTALL_CONFIG, []),
        (INSTALL_CONFIG.replace("4096", "4097"), ["7:65: high: pki-install-config: the installer refuses pki.signer"]),
        (INSTALL_CONFIG.replace("RSA", "DSA"), ["7:45: high: pki-install-config: the installer refuses pki.signer"]),
        (
            INSTALL_CONFIG.replace("featureSet", "sshKey"),
            ["7:6: medium: pki-install-config: while a release has the feature gate ConfigurablePKI off"],
        ),
        (INSTALL_CONFIG.replace("}}}}", "}}}, a: 1}"), ["7:6: low: pki-install-config: unknown field pki.a"]),
    ],
    ids=["good", "size", "algorithm", "gate", "field"],
)
def test_an_install_config_alone_is_validated(call: Call, tmp_path: Path, text: str, said: list[str]) -> None:
    file = tmp_path / "install-config.yaml"
    file.write_text(text)
    answer = call("lint", file)
    lines = [each for each in answer.out.splitlines() if each.startswith(str(file))]
    assert [each.startswith(f"{file}:{one}") for each, one in zip(lines, said, strict=True)] == [True] * len(said), (
        lines
    )
    assert answer.code == (1 if any("high" in each or "medium" in each for each in said) else 0)
    assert "canary" not in answer.out + answer.err
    (found,) = document(call("lint", file, "--format", "json"))["objects"]
    assert found["object"] == {"kind": "InstallConfig", "namespace": None, "name": "prod"}


def test_what_names_no_namespace_is_in_the_default_one(call: Call, tmp_path: Path) -> None:
    file = tmp_path / "gateway.yaml"
    file.write_text(
        UNDECIDED.replace(", namespace: shop", "")
        + "---\napiVersion: v1\nkind: Secret\nmetadata: {name: edge-tls, namespace: shop}\n"
    )
    assert "Secret/default/edge-tls was not read" in call("lint", file).out
    there = call("lint", file, "--default-namespace", "shop").out
    assert "Secret/shop/edge-tls is of type 'Opaque', not kubernetes.io/tls, and has no tls.crt" in there
    assert_refused(call("lint", file, "--default-namespace", "Shop/x"), "invalid name 'Shop/x'")


def test_standard_input() -> None:
    answer = called("lint", "-", stdin=f"{FINE}---\n{MEDIUM.replace('name: a', 'name: b')}".encode())
    assert answer.code == 1
    assert answer.out.startswith("<stdin>:9:20: medium: ")
    assert answer.out.splitlines()[-1] == "exit 1: 1 finding (1 medium) on 1 of 2 objects in 1 file"


def test_every_format_at_once(call: Call, tmp_path: Path) -> None:
    out = tmp_path / "out"
    out.mkdir()
    (tmp_path / "a.yaml").write_text(MEDIUM)
    formats = [word for name in LINT_FORMATS for word in ("--format", f"{name}={out}")]
    answer = call("lint", tmp_path / "a.yaml", *formats)
    assert (answer.code, answer.out) == (1, "")
    *wrote, last = answer.err.splitlines()
    assert wrote == [f"adhere: wrote {out / one.file_name}" for one in LINT_FORMATS.values()]
    assert last.startswith("exit 1: 1 finding")
    assert json.loads((out / "lint.json").read_text())["summary"] == {
        "objects": 1, "pass": 0, "fail": 1, "inconclusive": 0,
    }  # fmt: skip
    assert ElementTree.parse(out / "lint.xml").getroot().get("failures") == "1"
    assert len(json.loads((out / "lint.sarif").read_text())["runs"][0]["results"]) == 1
    assert "field-unknown" in (out / "lint.txt").read_text()


def test_names_of_files_reach_no_terminal_as_they_are(call: Call, tmp_path: Path) -> None:
    path = os.fsencode(tmp_path) + b"/\x1b[31m\xff\n.yaml"
    Path(os.fsdecode(path)).write_text(MEDIUM)
    for answer in (called("lint", tmp_path), *(call("lint", tmp_path, "--format", name) for name in LINT_FORMATS)):
        assert answer.code == 1, answer.err
        assert "\x1b" not in answer.out


@pytest.mark.slow
def test_a_reader_that_has_seen_enough_changes_no_exit_code(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text("---\n".join([MEDIUM.replace("name: a", f"name: a{n}") for n in range(3000)]))
    with subprocess.Popen(
        [*COMMAND, "lint", tmp_path], stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment()
    ) as running:
        assert running.stdout is not None
        assert running.stderr is not None
        assert b"field-unknown" in running.stdout.readline()
        running.stdout.close()
        assert running.stderr.read() == b""
        assert running.wait(timeout=PATIENCE) == 1


@pytest.mark.crypto
def test_no_key_is_printed(call: Call, tmp_path: Path) -> None:
    made = Authority("Shop").leaf(names=("a.example",))
    text = made.key_pem.decode()
    secret = {
        "apiVersion": "v1", "kind": "Secret", "metadata": {"name": "edge-tls", "namespace": "shop"},
        "type": "kubernetes.io/tls", "stringData": {"tls.crt": text, "tls.key": text},
    }  # fmt: skip
    route = {
        "apiVersion": "route.openshift.io/v1", "kind": "Route", "metadata": {"name": "a", "namespace": "shop"},
        "spec": {"tls": {"termination": "edge", "key": [text], "certificate": text, "kay": text}},
    }  # fmt: skip
    objects = [secret, route, {**route, "spec": {"tls": {"key": text}}}]
    (tmp_path / "a.json").write_text("\n".join(map(json.dumps, objects)) + "\n---\n" + UNDECIDED)
    for name in LINT_FORMATS:
        answer = call("lint", tmp_path, "--format", name, "--fix-hints")
        assert answer.code == 1
        assert [line for line in text.splitlines() if "-----" not in line and line in answer.out] == []


# --- with a cluster ---------------------------------------------------------------------------------------------------


def refusing(asked: Asked) -> Answer | None:
    if asked.headers.get("authorization") != "Bearer sesame":
        return refused(401, "Unauthorized", "Unauthorized")
    return refused(403, "Forbidden", "no") if "/namespaces/locked/" in asked.path else None


@pytest.fixture(scope="module")
def api() -> Iterator[Api]:
    made = Api(script=refusing)
    for kind in KINDS:
        made.add(kind)
    made.add(CONFIG_MAP, named("clients", "shop", data={"ca.crt": Authority("Clients").pem.decode()}))
    made.add(SECRET, named("edge-tls", "shop", type="Opaque"))
    made.add(GATEWAY, named("edge", "shop", spec=gateway_spec("clients")))

    def start() -> AbstractAsyncContextManager[Api]:
        return running(made)

    with serving(start) as listening:
        yield listening


def gateway_spec(config_map: str, namespace: str = "shop") -> dict[str, Any]:
    reference = {"group": "", "kind": "ConfigMap", "name": config_map, "namespace": namespace}
    listener = {"name": "a", "port": 443, "protocol": "HTTPS", "tls": {"certificateRefs": [{"name": "edge-tls"}]}}
    frontend = {"default": {"validation": {"caCertificateRefs": [reference]}}}
    return {"gatewayClassName": "example", "listeners": [listener], "tls": {"frontend": frontend}}


def gateway(directory: Path, wanted: str, namespace: str = "shop") -> Path:
    file = directory / "gateway.json"
    file.write_text(json.dumps({
        "apiVersion": "gateway.networking.k8s.io/v1", "kind": "Gateway",
        "metadata": {"name": "edge", "namespace": "shop"}, "spec": gateway_spec(wanted, namespace),
    }))  # fmt: skip
    return file


@pytest.fixture
def kubeconfig(api: Api, tmp_path: Path) -> Path:
    file = tmp_path / "kubeconfig"
    (tmp_path / "ca.pem").write_bytes(authority().pem)
    cluster = {"server": api.access.server, "certificate-authority": str(tmp_path / "ca.pem")}
    document = {
        "clusters": [{"name": "c", "cluster": cluster}],
        "users": [{"name": "u", "user": {"token": "sesame"}}],
        "contexts": [{"name": "it", "context": {"cluster": "c", "user": "u"}}],
        "current-context": "it",
    }
    file.write_text(json.dumps(document))
    return file


def about(answer: Called, name: str) -> list[tuple[str, str]]:
    """Rule and verdict of every finding that names this."""
    findings = [each for one in document(answer)["objects"] for each in one["findings"]]
    return [(each["rule"], each["verdict"]) for each in findings if name in each["message"]]


def test_whatever_lint_reads_a_role_allows() -> None:
    """The role of every scan, that of ``--with lint``, or that of ``--with secrets``."""
    assert [kind.name for kind in LINT_READS if kind not in READS and kind.opt_in not in ("lint", "secrets")] == []


def test_a_cluster_s_own_objects_are_judged(call: Call, kubeconfig: Path) -> None:
    answer = call("lint", "--kubeconfig", kubeconfig, "--format", "json")
    judged = [(each["object"]["kind"], each["object"]["name"], each["place"]) for each in document(answer)["objects"]]
    assert ("Gateway", "edge", None) in judged
    assert about(answer, "clients") == []
    assert document(answer)["sources"] == ["it"]


def test_what_manifests_name_is_looked_up_in_the_cluster(call: Call, kubeconfig: Path, tmp_path: Path) -> None:
    options = ("--kubeconfig", kubeconfig, "--format", "json")
    assert about(call("lint", gateway(tmp_path, "clients"), *options), "clients") == []
    assert ("gateway-client-ca", "fail") in about(call("lint", gateway(tmp_path, "gone"), *options), "shop/gone")
    locked = call("lint", gateway(tmp_path, "clients", namespace="locked"), *options)
    assert ("gateway-client-ca", "inconclusive") in about(locked, "locked/clients")


def test_secrets_are_looked_at_when_they_are_asked_for(call: Call, kubeconfig: Path) -> None:
    options = ("lint", "--kubeconfig", kubeconfig, "--format", "json")
    assert {verdict for _, verdict in about(call(*options), "Secret/shop/edge-tls")} == {"inconclusive"}
    assert "fail" in {verdict for _, verdict in about(call(*options, "--secrets"), "Secret/shop/edge-tls")}


def test_the_demo_s_cluster(call: Call, demo: LiveDemo) -> None:
    """From its API, with the role that its service account has: Secrets are not read."""
    answer = call("lint", "--kubeconfig", demo.kubeconfig, "--format", "json")
    assert (answer.code, answer.err) == (1, "")
    objects = document(answer)["objects"]
    failed = {
        (each["rule"], one["object"]["name"])
        for one in objects
        for each in one["findings"]
        if each["verdict"] == "fail"
    }
    assert ("tls-profile-version", "legacy") in failed
    assert "route-router-access" not in {rule for rule, _ in failed}
    assert ("Route", "web", "inconclusive") in {
        (one["object"]["kind"], one["object"]["name"], one["verdict"]) for one in objects
    }
    assert [each["resource"] for each in document(answer)["unreadable"]] == ["secrets"]


@pytest.mark.crypto
def test_a_directory_of_manifests_as_the_cluster(call: Call, tmp_path: Path) -> None:
    kept = tmp_path / "kept"
    kept.mkdir()
    (kept / "ca.json").write_text(json.dumps({
        "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "clients", "namespace": "shop"},
        "data": {"ca.crt": Authority("Clients").pem.decode()},
    }))  # fmt: skip
    options = ("--snapshot", kept, "--format", "json")
    assert about(call("lint", gateway(tmp_path, "clients"), *options), "clients") == []
    gone = about(call("lint", gateway(tmp_path, "gone"), *options), "shop/gone")
    assert {verdict for _, verdict in gone} == {"inconclusive"}


@pytest.mark.parametrize("option", ["--policy", "--baseline"])
def test_an_empty_option_is_refused(call: Call, option: str) -> None:
    assert_refused(call("lint", option, "", "."), f"{option} is empty")
