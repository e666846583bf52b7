"""``adhere snapshot save`` and ``adhere rbac``, as their users call them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractAsyncContextManager
from pathlib import Path

import pytest

from scanner.cli.inputs import snapshots
from scanner.cli.shared_options import ClusterAsked
from scanner.cluster import load
from scanner.files.yaml_values import documents
from scanner.kube.kinds import BACKEND_TLS_POLICY, CONFIG_MAP, POD, ROLE_BINDING, ROUTE, SECRET, SERVICE
from tests.cli.calling import Call, assert_refused
from tests.cluster.api import Answer, Api, Asked, authority, named, refused, running
from tests.serving import serving


def forbidding(asked: Asked) -> Answer | None:
    if asked.headers.get("authorization") != "Bearer sesame":
        return refused(401, "Unauthorized", "Unauthorized")
    if asked.path == "/api/v1/services":
        return refused(403, "Forbidden", "services is \x1b[31mforbidden")
    return None


@pytest.fixture(scope="module")
def api() -> Iterator[Api]:
    made = Api(script=forbidding)
    made.add(POD, named("checkout-1", "shop"))
    made.add(SERVICE)
    made.add(SECRET)

    def start() -> AbstractAsyncContextManager[Api]:
        return running(made)

    with serving(start) as listening:
        yield listening


def kubeconfig(directory: Path, api: Api, token: str = "sesame") -> Path:
    (directory / "ca.crt").write_bytes(authority().pem)
    path = directory / "config"
    path.write_text(
        "current-context: main\n"
        "contexts:\n- {name: main, context: {cluster: c, user: u}}\n"
        f"clusters:\n- {{name: c, cluster: {{server: '{api.access.server}', certificate-authority: ca.crt}}}}\n"
        f"users:\n- {{name: u, user: {{token: {token}}}}}\n"
    )
    return path


def test_config_maps_that_objects_name_as_cas_are_saved_and_read_again(call: Call, tmp_path: Path) -> None:
    made = Api()
    reference = {"group": "", "kind": "ConfigMap", "name": "backend-ca"}
    made.add(BACKEND_TLS_POLICY, named("web", "shop", spec={"validation": {"caCertificateRefs": [reference]}}))
    made.add(CONFIG_MAP, named("backend-ca", "shop"), named("other", "shop"))
    with serving(lambda: running(made)) as listening:
        config = kubeconfig(tmp_path, listening)
        assert call("snapshot", "save", tmp_path / "saved", "--kubeconfig", config).code == 0
    asked = [each for each in made.paths() if "configmaps" in each and "/shop/" in each]
    assert asked == ["/api/v1/namespaces/shop/configmaps/backend-ca"]
    (found,) = snapshots(ClusterAsked(snapshot=str(tmp_path / "saved")), (BACKEND_TLS_POLICY, CONFIG_MAP))
    assert found.get(CONFIG_MAP, "backend-ca", "shop") is not None
    assert found.missing(CONFIG_MAP, "cluster-config-v1", "kube-system") is None


@pytest.mark.parametrize(("more", "count"), [([], 0), (["--all"], 1)], ids=["for a scan", "for lint"])
def test_what_only_lint_looks_at_is_saved_where_all_is_asked_for(
    more: list[str], count: int, call: Call, tmp_path: Path
) -> None:
    made = Api()
    made.add(ROLE_BINDING, named("router-may-read", "shop"))
    with serving(lambda: running(made)) as listening:
        config = kubeconfig(tmp_path, listening)
        assert call("snapshot", "save", tmp_path / "saved", "--kubeconfig", config, *more).code == 0
    found = load(str(tmp_path / "saved"), [ROLE_BINDING])
    assert len(found.objects.get(ROLE_BINDING, ())) == count
    assert (ROLE_BINDING in found.unreadable) == (not more)


def test_of_manifests_a_scan_takes_the_config_maps_that_objects_name(tmp_path: Path) -> None:
    policy = (
        "apiVersion: gateway.networking.k8s.io/v1\nkind: BackendTLSPolicy\nmetadata: {name: web, namespace: shop}\n"
        'spec: {validation: {caCertificateRefs: [{group: "", kind: ConfigMap, name: backend-ca}]}}\n'
    )
    maps = [
        f"apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: {name}, namespace: shop}}\n"
        for name in ("backend-ca", "other")
    ]
    (tmp_path / "all.yaml").write_text("---\n".join([policy, *maps]))
    (found,) = snapshots(ClusterAsked(snapshot=str(tmp_path)), (BACKEND_TLS_POLICY, CONFIG_MAP))
    assert [each.name for each in found.every(CONFIG_MAP)] == ["backend-ca"]


def test_a_cluster_is_saved_and_what_could_not_be_read_is_said(api: Api, call: Call, tmp_path: Path) -> None:
    config = kubeconfig(tmp_path, api)
    called = call("snapshot", "save", tmp_path / "saved", "--kubeconfig", config, "--no-secrets")
    assert called.code == 0
    assert called.out == ""
    assert "adhere: services: forbidden: " in called.err
    assert "adhere: secrets: not-asked: " in called.err
    assert f"adhere: saved 1 objects of main in {tmp_path}/saved" in called.err
    assert "\x1b" not in called.err
    found = load(tmp_path / "saved", [POD, SERVICE, ROUTE])
    assert [each.name for each in found.every(POD)] == ["checkout-1"]
    assert found.absent == {ROUTE}
    assert set(found.unreadable) == {SERVICE}


@pytest.mark.parametrize(
    ("token", "context", "complaint"),
    [("wrong", "main", "401 Unauthorized"), ("sesame", "other", "there is no context 'other'")],
)
def test_what_goes_wrong_is_one_message_and_exit_2(
    api: Api, call: Call, tmp_path: Path, token: str, context: str, complaint: str
) -> None:
    config = kubeconfig(tmp_path, api, token)
    called = call("snapshot", "save", tmp_path / "saved", "--kubeconfig", config, "--context", context)
    assert_refused(called, complaint)
    assert "Traceback" not in called.err
    assert not (tmp_path / "saved").exists()


def test_the_roles_are_yaml(call: Call) -> None:
    called = call("rbac", "--with", "sar, secrets", "--service-account", "tools/adhere")
    assert called.code == 0
    kinds = [each["kind"] for each in documents(called.out.encode(), "rbac") if isinstance(each, dict)]
    assert kinds == ["ServiceAccount", *["ClusterRole"] * 3, *["ClusterRoleBinding"] * 3]


def test_permissions_add_up(call: Call) -> None:
    together = call("rbac", "--with", "sar,serve").out
    assert call("rbac", "--with", "sar", "--with", "serve").out == together
    assert together.count("kind: ClusterRole") == 3


def test_a_permission_that_is_none(call: Call) -> None:
    assert_refused(call("rbac", "--with", "everything"), "use one of: sar, port-forward")
