"""The image and the manifests: what they promise is in them, and they ask for nothing that adhere does not have."""

from __future__ import annotations

import json
import re
import shlex
import shutil
import subprocess
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

import click
import pytest
import yaml
from click.testing import CliRunner

from scanner import __version__
from scanner.cli import adhere
from scanner.cli.commands.merge import merge
from scanner.cli.commands.node import node
from scanner.cli.commands.scan import scan
from scanner.cli.commands.serve import serve
from scanner.cli.output import parse_outputs
from scanner.cluster.snapshot_directory import HEAD as SNAPSHOT
from scanner.errors import UsageError
from scanner.model.report import EXIT_FINDINGS, EXIT_INCOMPLETE, EXIT_NOTHING, EXIT_OK
from scanner.object_store import is_url
from scanner.sharding import INDEX, Shard, parse_shard
from tests.cli.calling import PATIENCE, context

ROOT = Path(__file__).parents[1]
DEPLOY = ROOT / "deploy" / "kustomize"
CHART = ROOT / "deploy" / "helm" / "adhere"
MONITORING = ROOT / "deploy" / "monitoring"
DOCKERFILE = (ROOT / "Dockerfile").read_text()
ARGUMENTS = {"reports": ("publish", "openreports"), "port-forward": ("via", "port-forward")}
"""Components with a role: the option that they set, and its value."""
ROLES = {**{name: name for name in ARGUMENTS}, "exporter": "serve"}
"""Components with a role, and its option of ``adhere rbac --with``."""
LABELS = {"app.kubernetes.io/name": "adhere"}
KUBECTL = shutil.which("kubectl")


def manifests(name: str) -> list[Any]:
    return [each for each in yaml.safe_load_all((DEPLOY / name).read_text()) if each]


(KUSTOMIZATION,) = manifests("kustomization.yaml")
(CRONJOB,) = manifests("cronjob.yaml")
JOB = CRONJOB["spec"]["jobTemplate"]["spec"]
POD = JOB["template"]["spec"]
(CONTAINER,) = POD["containers"]


COMPONENTS = sorted(path.name for path in (DEPLOY / "components").iterdir())
needs_kubectl = pytest.mark.skipif(KUBECTL is None, reason="kubectl, which has kustomize in it, is not installed")
Rendered = dict[tuple[str, str], Any]


def kustomized(directory: Path, *components: str, edit: tuple[Path, str, str] | None = None) -> Rendered:
    """The objects by kind and name, as kubectl's kustomize renders them with these components, after an edit.
    ``monitoring`` is a directory of its own."""
    copied = shutil.copytree(DEPLOY, directory / "kustomize")
    if "monitoring" in components:
        shutil.copytree(MONITORING, directory / "monitoring")
        path = copied / "kustomization.yaml"
        path.write_text(path.read_text().replace("resources:\n", "resources:\n- ../monitoring\n"))
        components = tuple(each for each in components if each != "monitoring")
    if edit:
        path = copied / edit[0].relative_to(DEPLOY)
        path.write_text(path.read_text().replace(*edit[1:]))
    with (copied / "kustomization.yaml").open("a") as file:
        file.write(f"components: [{', '.join(f'components/{each}' for each in components)}]\n")
    done = subprocess.run(
        [str(KUBECTL), "kustomize", str(copied)], capture_output=True, text=True, check=False, timeout=PATIENCE
    )
    assert done.returncode == 0, done.stderr
    return {(each["kind"], each["metadata"]["name"]): each for each in yaml.safe_load_all(done.stdout)}


def pod_templates(rendered: Rendered) -> dict[str, Any]:
    """The pod templates of its workloads by name."""
    specs = {name: each["spec"] for (kind, name), each in rendered.items() if kind in {"Job", "CronJob"}}
    return {name: each.get("jobTemplate", {"spec": each})["spec"]["template"] for name, each in specs.items()}


def pods(rendered: Rendered) -> dict[str, Any]:
    return {name: each["spec"] for name, each in pod_templates(rendered).items()}


# --- image ----------------------------------------------------------------------------------------------------------


def stages() -> dict[str, str]:
    """The stages of the Dockerfile by name, in order."""
    parts = re.split(r"^FROM (\S+) AS (\w[\w-]*)$", DOCKERFILE, flags=re.MULTILINE)
    return dict(zip(parts[2::3], parts[3::3], strict=True))


def test_the_default_image_has_sslyze_and_slim_has_not() -> None:
    assert list(stages())[-1] == "full"
    assert "--extra sslyze" in stages()["build-sslyze"]
    assert "--extra s3" in stages()["build-sslyze"], "the Jobs can share a scan in an object store"
    assert "--from=build-sslyze" in stages()["full"]
    assert "sslyze" not in stages()["slim"]
    assert "sslyze" not in stages()["build"]


def test_nothing_runs_as_root_and_nothing_is_built_in_what_runs() -> None:
    runtime = stages()["runtime"]
    user = re.search(r"^USER (\d+):0$", runtime, re.MULTILINE)
    assert user is not None
    assert int(user[1]) >= 10000
    assert 'ENTRYPOINT ["adhere"]' in runtime
    assert not any("RUN" in stages()[name] for name in ("runtime", "slim", "full"))


def test_dependencies_and_the_build_backend_come_from_the_lock() -> None:
    assert DOCKERFILE.count("uv sync") == DOCKERFILE.count("uv sync --quiet --locked")
    assert "uv export --quiet --locked" in DOCKERFILE
    assert "--require-hashes" in DOCKERFILE
    (made,) = re.findall(r"^UV_VERSION := (\S+)$", (ROOT / "Makefile").read_text(), re.MULTILINE)
    assert f"ARG UV_VERSION={made}\n" in DOCKERFILE


def test_the_base_is_pinned_by_digest() -> None:
    assert re.search(r"^ARG PYTHON=3\.\d+-slim@sha256:[0-9a-f]{64}$", DOCKERFILE, re.MULTILINE)
    outside = [base for base in re.findall(r"^FROM (\S+)", DOCKERFILE, re.MULTILINE) if base not in stages()]
    assert set(outside) == {"python:${PYTHON}"}


def test_what_is_copied_is_there_and_not_ignored() -> None:
    allowed = [line[1:] for line in (ROOT / ".dockerignore").read_text().splitlines() if line.startswith("!")]
    lines = re.findall(r"^COPY (?!--from)(.*)$", DOCKERFILE, re.MULTILINE)
    copied = [word for line in lines for word in line.split()[:-1]]
    assert {"pyproject.toml", "uv.lock", "scanner", "profiles", "reports"} <= set(copied)
    assert [name for name in copied if not (ROOT / name).exists()] == []
    assert [name for name in copied if not any(fnmatch(name, one) for one in allowed)] == []
    assert sorted(copied) == sorted(allowed), "nothing else is sent to the builder"


# --- manifests ------------------------------------------------------------------------------------------------------


def test_the_kustomization_names_what_is_there() -> None:
    there = {path.name for path in DEPLOY.iterdir()} - {"kustomization.yaml", "components"}
    assert set(KUSTOMIZATION["resources"]) == there
    assert KUSTOMIZATION["images"] == [{"name": CONTAINER["image"], "newTag": __version__}]


def test_the_role_is_what_the_program_prints() -> None:
    done = CliRunner().invoke(adhere, ["rbac", "--service-account", "adhere/adhere"])
    assert (DEPLOY / "rbac.yaml").read_text() == done.output, (
        "renew it: adhere rbac --service-account adhere/adhere >deploy/kustomize/rbac.yaml"
    )


@pytest.mark.parametrize("name", ROLES)
def test_the_role_of_a_component_is_what_the_program_adds(name: str) -> None:
    base, both = (
        CliRunner().invoke(adhere, ["rbac", *more, "--service-account", "adhere/adhere"]).output.split("---\n")
        for more in ((), ("--with", ROLES[name]))
    )
    added = [each for each in both if each not in base]
    assert (DEPLOY / f"components/{name}/rbac.yaml").read_text() == "".join(f"---\n{each}" for each in added), (
        f"deploy/kustomize/components/{name}/rbac.yaml: the documents that --with {ROLES[name]} adds"
    )
    role, binding = manifests(f"components/{name}/rbac.yaml")
    assert binding["roleRef"]["name"] == role["metadata"]["name"]


@pytest.mark.parametrize("name", COMPONENTS)
def test_a_component_names_what_is_there(name: str) -> None:
    (component,) = manifests(f"components/{name}/kustomization.yaml")
    assert component["kind"] == "Component"
    files = {path.name for path in (DEPLOY / "components" / name).iterdir()}
    patches = {each["path"] for each in component.get("patches", ()) if "path" in each}
    assert {*component.get("resources", ()), *patches, "kustomization.yaml"} == files


@needs_kubectl
@pytest.mark.parametrize(("name", "option"), ARGUMENTS.items())
def test_a_component_adds_an_option_and_its_role(tmp_path: Path, name: str, option: tuple[str, str]) -> None:
    rendered = kustomized(tmp_path, name)
    pod = pods(rendered)["adhere-scan"]
    (container,) = pod["containers"]
    assert container["args"][:-1] == CONTAINER["args"]
    with scan.make_context("scan", container["args"][1:], parent=context()) as found:
        assert found.params[option[0]] == option[1]
    (subject,) = rendered["ClusterRoleBinding", f"adhere-scan-{name}-adhere-adhere"]["subjects"]
    assert subject == {"kind": "ServiceAccount", "name": pod["serviceAccountName"], "namespace": "adhere"}


def test_the_role_only_reads() -> None:
    kinds = [each["kind"] for each in manifests("rbac.yaml")]
    assert kinds == ["ServiceAccount", "ClusterRole", "ClusterRoleBinding"]
    rules = manifests("rbac.yaml")[1]["rules"]
    assert {verb for rule in rules for verb in rule["verbs"]} <= {"get", "list"}
    assert not [rule for rule in rules if "*" in rule["resources"] + rule["apiGroups"]]
    assert not [rule for rule in rules if "secrets" in rule["resources"]]


def test_the_account_of_the_job_is_the_one_that_is_bound() -> None:
    account, _, binding = manifests("rbac.yaml")
    assert POD["serviceAccountName"] == account["metadata"]["name"]
    assert binding["subjects"] == [{"kind": "ServiceAccount", **account["metadata"]}]
    assert account["metadata"]["namespace"] == KUSTOMIZATION["namespace"]


def test_the_job_ends_with_the_verdict() -> None:
    assert JOB["backoffLimit"] == 0
    assert POD["restartPolicy"] == "Never"
    assert CRONJOB["spec"]["concurrencyPolicy"] == "Forbid"


def test_the_command_line_is_one_that_the_program_takes(tmp_path: Path) -> None:
    command, *arguments = CONTAINER["args"]
    assert command == "scan"
    known = {option for each in scan.params for option in (*each.opts, *each.secondary_opts)}
    used = [word.partition("=")[0] for word in arguments]
    assert [option for option in used if option not in known] == []
    assert {"--cluster", "--no-secrets"} <= set(used)
    with scan.make_context("scan", list(arguments), parent=context()) as given:
        formats: tuple[str, ...] = next(
            value for value in given.params.values() if isinstance(value, tuple) and "text" in value
        )
    mounted = [value.replace("=/report/", f"={tmp_path}/") for value in formats]
    assert [output.format for output in parse_outputs(mounted)] == ["text", "json", "html", "metrics"]


def test_what_the_command_line_must_not_say_is_refused() -> None:
    with pytest.raises(click.UsageError):
        scan.make_context("scan", ["--no-such-option"], parent=context())
    with pytest.raises(UsageError):
        parse_outputs(["metrics=/nonexistent/adhere.prom"])


def test_the_pod_is_restricted() -> None:
    """Pod Security Standards, "Restricted"; and what else a scanner can do without."""
    pod, container = POD["securityContext"], CONTAINER["securityContext"]
    assert pod == {"runAsNonRoot": True, "seccompProfile": {"type": "RuntimeDefault"}}
    assert container == {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }
    assert "runAsUser" not in str(POD), "OpenShift chooses one for each namespace"
    assert not {"hostNetwork", "hostPID", "hostIPC"} & POD.keys()
    for each in CONTAINER["resources"].values():
        assert each.keys() == {"cpu", "memory"}, "a node that reports no ephemeral-storage gets no pod that requests it"


def test_it_writes_where_something_is_mounted() -> None:
    paths = {mount["name"]: mount["mountPath"] for mount in CONTAINER["volumeMounts"]}
    assert all("emptyDir" in volume for volume in POD["volumes"])
    assert {volume["name"] for volume in POD["volumes"]} == set(paths)
    assert {"name": "TMPDIR", "value": paths["tmp"]} in CONTAINER["env"]
    written = [word.split("=")[-1] for word in CONTAINER["args"] if word.count("=") == 2]
    assert len(written) == 3
    assert all(path.startswith(f"{paths['report']}/") for path in written)


@needs_kubectl
def test_kustomize_renders_it(tmp_path: Path) -> None:
    rendered = kustomized(tmp_path)
    kinds = {"Namespace", "ServiceAccount", "ClusterRole", "ClusterRoleBinding", "CronJob", "NetworkPolicy"}
    assert {kind for kind, _ in rendered} == kinds
    (container,) = pods(rendered)["adhere-scan"]["containers"]
    assert container["image"] == f"adhere:{__version__}"
    assert rendered["ClusterRole", "adhere-scan"]["rules"] == manifests("rbac.yaml")[1]["rules"]


@needs_kubectl
@pytest.mark.parametrize("job", [(), ("indexed-job",)])
def test_openshift_pins_the_constraints_of_every_pod(tmp_path: Path, job: tuple[str, ...]) -> None:
    rendered = kustomized(tmp_path, *job, "port-forward", "openshift")
    templates = list(pod_templates(rendered).values())
    assert templates
    for each in templates:
        assert each["metadata"]["annotations"]["openshift.io/required-scc"] == "restricted-v2"
        assert each["metadata"]["labels"] == LABELS
        assert not {"runAsUser", "fsGroup"} & each["spec"]["securityContext"].keys(), "the SCC sets them"


@needs_kubectl
def test_the_jobs_share_one_scan(tmp_path: Path) -> None:
    jobs = DEPLOY / "components/indexed-job/jobs.yaml"
    rendered = kustomized(tmp_path, "indexed-job", "port-forward", edit=(jobs, "completions: 4", "completions: 7"))
    assert {name for kind, name in rendered if kind in {"Job", "CronJob"}} == {
        "adhere-save",
        "adhere-shards",
        "adhere-merge",
    }
    shards = rendered["Job", "adhere-shards"]["spec"]
    assert (shards["completionMode"], shards["completions"], shards["parallelism"]) == ("Indexed", 7, 7)
    arguments, environment = {}, {}
    for name, pod in pods(rendered).items():
        (container,) = pod["containers"]
        command, *rest = container["args"]
        options = adhere.get_command(context(), command)
        assert options is not None
        with options.make_context(command, rest, parent=context()) as found:
            arguments[name] = found.params
        environment[name] = {each["name"]: each["value"] for each in container["env"]}
        assert environment[name]["ADHERE_STORE"] == "/results/saved"
        assert {each["mountPath"] for each in container["volumeMounts"]} == {"/tmp", "/results"}
        assert {**pod, "containers": 0, "volumes": 0} == {
            **POD,
            "containers": 0,
            "volumes": 0,
            "securityContext": {**POD["securityContext"], "fsGroup": 10001},
        }
        same = ("image", "resources", "securityContext", "name")
        assert [container[each] for each in same if each != "image"] == [CONTAINER[each] for each in same[1:]]
        assert container["image"] == f"adhere:{__version__}"
    assert parse_shard(arguments["adhere-shards"]["shard"], environment["adhere-shards"] | {INDEX: "6"}) == Shard(6, 7)
    saved = arguments["adhere-save"]["save"]
    assert saved == "$(ADHERE_STORE)", "Kubernetes puts the value there"
    assert arguments["adhere-save"]["dry_run"]
    assert arguments["adhere-save"]["via"] == "port-forward"
    assert arguments["adhere-shards"]["resume"] == saved
    assert arguments["adhere-merge"]["results"] == (saved,)
    limits = {name: rendered["Job", name]["spec"]["activeDeadlineSeconds"] for name in arguments}
    assert arguments["adhere-shards"]["wait"] >= limits["adhere-save"]
    assert limits["adhere-shards"] + limits["adhere-save"] <= arguments["adhere-merge"]["wait"] < limits["adhere-merge"]
    assert rendered["Job", "adhere-save"]["spec"]["backoffLimit"] == 0, "a second attempt would remove observations"
    assert rendered["PersistentVolumeClaim", "adhere-results"]["spec"]["accessModes"] == ["ReadWriteMany"]


@needs_kubectl
def test_the_jobs_share_a_scan_in_an_object_store(tmp_path: Path) -> None:
    rendered = kustomized(tmp_path, "indexed-job", "object-store")
    assert not [name for kind, name in rendered if kind == "PersistentVolumeClaim"]
    assert len(pods(rendered)) == 3
    for pod in pods(rendered).values():
        (container,) = pod["containers"]
        url = {each["name"]: each["value"] for each in container["env"]}["ADHERE_STORE"]
        assert is_url(url)
        assert sum("$(ADHERE_STORE)" in each for each in container["args"]) == 1
        assert container["envFrom"] == [{"secretRef": {"name": "adhere-store", "optional": True}}]
        assert all("emptyDir" in each for each in pod["volumes"])


def test_the_pods_of_the_nodes_have_what_they_need_and_no_access_to_the_api() -> None:
    (workload,) = manifests("components/node-discovery/daemonset.yaml")
    pod = workload["spec"]["template"]["spec"]
    (scanning,), (waiting,) = pod["initContainers"], pod["containers"]
    assert (pod["hostPID"], pod["automountServiceAccountToken"], "hostNetwork" in pod) == (True, False, False)
    assert pod["tolerations"] == [{"operator": "Exists"}], "every node"
    rights = scanning["securityContext"]
    assert set(rights["capabilities"]["add"]) == {"SYS_PTRACE", "DAC_READ_SEARCH", "SYS_ADMIN"}
    assert waiting["securityContext"]["capabilities"] == {"drop": ["ALL"]}, "the privileges end with the scan"
    for each in (rights, waiting["securityContext"]):
        assert (each["readOnlyRootFilesystem"], each["allowPrivilegeEscalation"]) == (True, False)
    (script,) = scanning["args"]
    assert f"/results/objects/{SNAPSHOT}" in script
    (line,) = [each for each in script.splitlines() if each.startswith("adhere node")]
    with node.make_context("node", shlex.split(line)[2:], parent=context()) as found:
        assert (found.params["snapshot"], found.params["save"]) == ("/results/objects", "/results/nodes/$NODE_NAME")
        assert found.params["node"] == "$NODE_NAME"
    codes = re.search(r"case \$code in ([0-9|]+)\)", script)
    assert codes
    assert set(map(int, codes[1].split("|"))) == {EXIT_OK, EXIT_FINDINGS, EXIT_INCOMPLETE, EXIT_NOTHING}


def test_the_jobs_beside_the_pods_of_the_nodes() -> None:
    objects, merging = (each["spec"]["template"]["spec"] for each in manifests("components/node-discovery/jobs.yaml"))
    assert objects["containers"][0]["args"] == ["snapshot", "save", "/results/objects"]
    (container,) = merging["containers"]
    assert merging["automountServiceAccountToken"] is False
    with merge.make_context("merge", container["args"][1:], parent=context()) as found:
        assert found.params["results"] == ("/results/nodes",)
        assert found.params["wait"]
    assert container["securityContext"] == CONTAINER["securityContext"]


@needs_kubectl
def test_the_nodes_replace_the_nightly_scan(tmp_path: Path) -> None:
    rendered = kustomized(tmp_path, "node-discovery")
    assert {name for kind, name in rendered if kind in {"Job", "CronJob", "DaemonSet"}} == {
        "adhere-objects",
        "adhere-node",
        "adhere-merge",
    }
    assert rendered["Namespace", "adhere"]["metadata"]["labels"]["pod-security.kubernetes.io/enforce"] == "privileged"
    pod = rendered["DaemonSet", "adhere-node"]["spec"]["template"]["spec"]
    assert {each["image"] for each in (*pod["initContainers"], *pod["containers"])} == {f"adhere:{__version__}"}


def test_the_exporter_serves_its_port_with_the_certificate_of_its_service() -> None:
    (deployment,) = manifests("components/exporter/deployment.yaml")
    (service,) = manifests("components/exporter/service.yaml")
    (policy,) = manifests("components/exporter/networkpolicy.yaml")
    (container,) = deployment["spec"]["template"]["spec"]["containers"]
    command, *arguments = container["args"]
    with serve.make_context("serve", list(arguments), parent=context()) as found:
        options = found.params
    (port,) = container["ports"]
    assert (command, options["listen"]) == ("serve", f":{port['containerPort']}")
    volumes = {each["name"]: each for each in deployment["spec"]["template"]["spec"]["volumes"]}
    annotation = "service.beta.openshift.io/serving-cert-secret-name"
    assert service["metadata"]["annotations"][annotation] == volumes["tls"]["secret"]["secretName"]
    paths = {mount["name"]: mount["mountPath"] for mount in container["volumeMounts"]}
    assert (options["tls_cert"], options["tls_key"]) == (f"{paths['tls']}/tls.crt", f"{paths['tls']}/tls.key")
    assert {paths["tmp"]} == {each["value"] for each in container["env"] if each["name"] == "TMPDIR"}
    labels = deployment["spec"]["template"]["metadata"]["labels"]
    assert labels == deployment["spec"]["selector"]["matchLabels"] == service["spec"]["selector"]
    assert labels == policy["spec"]["podSelector"]["matchLabels"]
    (rule,) = policy["spec"]["ingress"]
    (of_service,) = service["spec"]["ports"]
    assert {of_service["targetPort"], rule["ports"][0]["port"]} == {port["name"]} == {of_service["name"]}
    for probe in ("livenessProbe", "readinessProbe"):
        assert (container[probe]["httpGet"]["scheme"], container[probe]["httpGet"]["port"]) == ("HTTPS", "metrics")
    assert container["securityContext"] == CONTAINER["securityContext"]
    assert deployment["spec"]["template"]["spec"]["securityContext"] == POD["securityContext"]
    assert deployment["spec"]["replicas"] == 1


def test_nothing_connects_to_the_scan_and_it_connects_to_any_tcp_port() -> None:
    (policy,) = manifests("networkpolicy.yaml")
    assert policy["spec"]["podSelector"] == {"matchLabels": LABELS}
    assert JOB["template"]["metadata"]["labels"] == LABELS
    assert policy["spec"]["policyTypes"] == ["Ingress", "Egress"]
    assert "ingress" not in policy["spec"]
    tcp, names = policy["spec"]["egress"]
    assert tcp == {"ports": [{"protocol": "TCP", "port": 1, "endPort": 65535}]}
    assert {each["protocol"] for each in names["ports"]} == {"UDP"}


@needs_kubectl
def test_monitoring_stands_alone_and_beside_the_scan(tmp_path: Path) -> None:
    """With the name and namespace of the exporter in the name of its certificate."""
    done = subprocess.run(
        [str(KUBECTL), "kustomize", str(MONITORING)], capture_output=True, text=True, check=True, timeout=PATIENCE
    )
    alone = {(each["kind"], each["metadata"]["name"]): each for each in yaml.safe_load_all(done.stdout)}
    beside = kustomized(tmp_path, "monitoring")
    assert alone == {name: beside[name] for name in alone}
    assert set(alone) == {("PrometheusRule", "adhere"), ("ServiceMonitor", "adhere"), ("ConfigMap", "adhere-dashboard")}
    assert {each["metadata"]["namespace"] for each in alone.values()} == {KUSTOMIZATION["namespace"]}
    dashboard = alone["ConfigMap", "adhere-dashboard"]
    assert dashboard["metadata"]["labels"]["grafana_dashboard"] == "1"
    assert dashboard["data"] == {"adhere.json": (MONITORING / "dashboard.json").read_text()}
    monitor = alone["ServiceMonitor", "adhere"]["spec"]
    assert monitor["selector"]["matchLabels"] == {**LABELS, "app.kubernetes.io/component": "exporter"}
    (endpoint,) = monitor["endpoints"]
    assert endpoint["tlsConfig"]["serverName"] == f"adhere-exporter.{KUSTOMIZATION['namespace']}.svc"
    stable, dropped = endpoint["relabelings"]  # a new pod would leave AdhereScanStale for the series of the former one
    assert stable == {
        "sourceLabels": ["__meta_kubernetes_namespace", "__meta_kubernetes_service_name"],
        "separator": "/",
        "targetLabel": "instance",
    }
    assert (dropped["action"], dropped["regex"]) == ("labeldrop", "pod|container")


# --- chart: tests/e2e/test_deploy.py renders it -----------------------------------------------------------------------


def test_the_chart_has_the_version_and_the_roles_of_the_program() -> None:
    chart = yaml.safe_load((CHART / "Chart.yaml").read_text())
    assert (chart["version"], chart["appVersion"]) == (__version__, __version__)
    options = ["--with", ",".join(ROLES.values()), "--service-account", "adhere/adhere"]
    done = CliRunner().invoke(adhere, ["rbac", *options])
    assert (CHART / "files/rbac.yaml").read_text() == done.output, (
        f"renew it: adhere rbac {' '.join(options)} >deploy/helm/adhere/files/rbac.yaml"
    )


@pytest.mark.parametrize("name", ["dashboard.json", "prometheusrule.yaml", "servicemonitor.yaml"])
def test_the_chart_has_the_monitoring_of_the_manifests(name: str) -> None:
    assert (CHART / "files" / name).read_text() == (MONITORING / name).read_text()


def test_the_schema_of_the_values_names_every_value() -> None:
    schema = json.loads((CHART / "values.schema.json").read_text())
    values = yaml.safe_load((CHART / "values.yaml").read_text())
    from jsonschema import Draft7Validator  # its format checkers take seconds to import

    Draft7Validator.check_schema(schema)
    validator = Draft7Validator(schema)
    assert not list(validator.iter_errors(values))
    assert set(schema["properties"]) - {"global"} == set(values)
    wrong: tuple[dict[str, Any], ...] = (
        {"publish": "yes"},
        {"portForward": "true"},
        {"args": "--fail-on=never"},
        {"image": {}},
        {"shards": 2, "publish": "openreports"},
        {"nodes": True, "shards": 2},
        {"nodes": True, "openshift": True},
        {"nodes": True, "results": {"store": "s3://bucket/prefix"}},
        {"shards": 2, "results": {"store": "s3://user:secret@bucket/prefix"}},
        {"schedul": ""},
    )
    for each in wrong:
        assert list(validator.iter_errors({**values, **each})), each
