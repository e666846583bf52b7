"""Directories that others made: must-gathers and manifests."""

from __future__ import annotations

import json
import os
import socket
from pathlib import Path

import pytest

from scanner.cluster import load, save
from scanner.errors import InputError
from scanner.kube.kinds import (
    API_SERVER,
    CONFIG_MAP,
    INGRESS_CONFIG,
    INGRESS_CONTROLLER,
    NAMESPACE,
    POD,
    ROUTE,
    SECRET,
    SERVICE,
)
from scanner.kube.snapshot import Snapshot

WANTED = (POD, SERVICE, ROUTE, API_SERVER, INGRESS_CONTROLLER, NAMESPACE, CONFIG_MAP)


def write(root: Path, path: str, content: str) -> None:
    file = root / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(content)


def yaml(api_version: str, kind: str, name: str, namespace: str = "") -> str:
    where = f", namespace: {namespace}" if namespace else ""
    return f"apiVersion: {api_version}\nkind: {kind}\nmetadata: {{name: {name}{where}}}\n"


def names(found: Snapshot) -> dict[str, list[str]]:
    return {
        kind.name: [f"{each.namespace or ''}/{each.name}" for each in objects]
        for kind, objects in found.objects.items()
        if objects
    }


@pytest.mark.parametrize("image", ["", "quay-io-openshift-release-dev-sha256-0123/"])
def test_a_must_gather(tmp_path: Path, image: str) -> None:
    def gathered(path: str, content: str) -> None:
        write(tmp_path, image + path, content)

    gathered(
        "cluster-scoped-resources/config.openshift.io/apiservers.yaml",
        "apiVersion: config.openshift.io/v1\nkind: APIServerList\nitems:\n- metadata: {name: cluster}\n",
    )
    gathered("cluster-scoped-resources/core/nodes/worker.yaml", yaml("v1", "Node", "worker"))
    gathered("namespaces/shop/shop.yaml", yaml("v1", "Namespace", "shop"))
    gathered(
        "namespaces/shop/core/services.yaml",
        "apiVersion: v1\nkind: ServiceList\nitems:\n- metadata: {name: front, namespace: shop}\n",
    )
    gathered(
        "namespaces/shop/core/pods.yaml",
        "apiVersion: v1\nkind: PodList\nitems:\n- metadata: {name: a, namespace: shop}\n",
    )
    gathered("namespaces/shop/pods/a/a.yaml", yaml("v1", "Pod", "a", "shop"))
    gathered("namespaces/shop/pods/b/b.yaml", yaml("v1", "Pod", "b", "shop"))
    gathered("namespaces/shop/pods/b/web/web/logs/current.log", "not YAML: [")
    gathered("namespaces/shop/core/events.yaml", "not YAML: [")
    gathered(
        "namespaces/shop/route.openshift.io/routes/checkout.yaml",
        yaml("route.openshift.io/v1", "Route", "checkout", "shop"),
    )
    gathered(
        "namespaces/openshift-ingress-operator/operator.openshift.io/ingresscontrollers/default.yaml",
        yaml("operator.openshift.io/v1", "IngressController", "default", "openshift-ingress-operator"),
    )
    gathered("etcd_info/endpoint.json", "not JSON")
    found = load(tmp_path, WANTED)
    assert names(found) == {
        "Pod": ["shop/a", "shop/b"],
        "Service": ["shop/front"],
        "Route": ["shop/checkout"],
        "APIServer": ["/cluster"],
        "IngressController": ["openshift-ingress-operator/default"],
        "Namespace": ["/shop"],
    }
    # What has no namespace is whole; of the rest there may be more in namespaces that nobody gathered.
    assert {each.gap for each in found.unreadable.values()} == {"not-saved"}
    assert set(found.unreadable) == set(WANTED) - {API_SERVER}
    assert found.gap(POD) == "a must-gather has only namespace shop"
    assert found.gap(NAMESPACE) == "a must-gather has only: shop"
    assert "has none" in (found.gap(CONFIG_MAP) or "")
    assert not found.absent
    assert found.origin.replayed
    assert found.origin.name == tmp_path.name


def special(at: Path, what: str, elsewhere: Path) -> None:
    """Something other than a regular file of this directory."""
    at.parent.mkdir(parents=True, exist_ok=True)
    if what == "pipe":
        os.mkfifo(at)
    elif what == "socket":
        with socket.socket(socket.AF_UNIX) as bound:
            bound.bind(str(at))
    elif what == "device":
        at.symlink_to("/dev/zero")
    else:
        write(elsewhere, "pods.yaml", yaml("v1", "Pod", "elsewhere", "shop"))
        at.symlink_to(elsewhere / "pods.yaml")


SPECIAL = [
    ("pipe", "not a regular file"),
    ("socket", "not a regular file"),
    ("device", "a link that leads out of the directory"),
    ("link", "a link that leads out of the directory"),
]


@pytest.mark.parametrize(("what", "complaint"), SPECIAL, ids=[each[0] for each in SPECIAL])
def test_only_regular_files_of_the_directory_are_read(tmp_path: Path, what: str, complaint: str) -> None:
    gathered, manifests, saved = tmp_path / "gathered", tmp_path / "manifests", tmp_path / "saved"
    for place in gathered, manifests:
        write(place, "cluster-scoped-resources/config.openshift.io/apiservers.yaml", "items: []\n")
        special(place / "namespaces/shop/core/pods.yaml", what, tmp_path / "elsewhere")
    (manifests / "cluster-scoped-resources").rename(manifests / "cluster")
    found = load(gathered, WANTED)
    assert names(found) == {}
    assert found.unreadable[POD].gap == "failed"
    assert found.gap(POD) == f"{gathered}/namespaces/shop/core/pods.yaml: {complaint}"
    with pytest.raises(InputError, match=f"pods.yaml: {complaint}"):
        load(manifests, WANTED)
    save(found, saved)
    (saved / "objects" / "services.json").unlink()
    special(saved / "objects" / "services.json", what, tmp_path / "elsewhere")
    with pytest.raises(InputError, match=f"services.json: {complaint}"):
        load(saved, WANTED)


@pytest.mark.parametrize("mark", ["event-filter.html", "timestamp", "../must-gather.logs"])
def test_a_namespace_s_part_of_a_must_gather_is_known_by_what_the_tool_leaves(tmp_path: Path, mark: str) -> None:
    write(tmp_path, f"image/{mark}", "")
    write(tmp_path, "image/namespaces/shop/pods/a/a.yaml", yaml("v1", "Pod", "a", "shop"))
    write(tmp_path, "image/namespaces/shop/core/events.yaml", "not YAML: [")
    found = load(tmp_path, [POD])
    assert names(found) == {"Pod": ["shop/a"]}
    assert found.gap(POD) == "a must-gather has only namespace shop"


def test_a_directory_called_namespaces_makes_no_must_gather(tmp_path: Path) -> None:
    """As people keep manifests who let a program apply them: nothing of it is passed over."""
    write(tmp_path, "clusters/prod/apiserver.yaml", yaml("config.openshift.io/v1", "APIServer", "cluster"))
    write(tmp_path, "clusters/prod/namespaces/shop/web/service.yaml", yaml("v1", "Service", "front", "shop"))
    write(tmp_path, "clusters/prod/namespaces/shop.yaml", yaml("v1", "Pod", "a", "shop"))
    write(tmp_path, "clusters/prod/namespaces/other/pods.yaml", yaml("v1", "Pod", "b", "other"))
    found = load(tmp_path, [POD, SERVICE, API_SERVER])
    assert names(found) == {"Pod": ["shop/a", "other/b"], "Service": ["shop/front"], "APIServer": ["/cluster"]}
    assert found.gap(POD) == "these manifests have only namespaces other, shop"
    assert found.gap(API_SERVER) is None


def test_many_namespaces_are_counted(tmp_path: Path) -> None:
    for number in range(9):
        write(tmp_path, f"{number}.yaml", yaml("v1", "Pod", "a", f"n{number}"))
    assert (load(tmp_path, [POD]).gap(POD) or "").endswith("namespaces n0, n1, n2, n3, n4 and 4 more")


def test_objects_that_are_looked_at_by_name_are_whole_when_all_are_there(tmp_path: Path) -> None:
    for number, (namespace, name) in enumerate(CONFIG_MAP.named[1:]):
        write(tmp_path, f"{number}.yaml", yaml("v1", "ConfigMap", name, namespace))
    first = "/".join(CONFIG_MAP.named[0])
    assert (load(tmp_path, [CONFIG_MAP]).gap(CONFIG_MAP) or "").endswith(f"all objects that adhere reads: {first}")
    write(tmp_path, "all.yaml", yaml("v1", "ConfigMap", CONFIG_MAP.named[0][1], CONFIG_MAP.named[0][0]))
    assert load(tmp_path, [CONFIG_MAP]).gap(CONFIG_MAP) is None


def test_a_bad_file_of_a_must_gather_makes_its_kind_unreadable(tmp_path: Path) -> None:
    write(tmp_path, "timestamp", "")
    write(tmp_path, "namespaces/shop/pods/a/a.yaml", yaml("v1", "Pod", "a", "shop"))
    write(tmp_path, "namespaces/shop/pods/b/b.yaml", "metadata: [\n")
    found = load(tmp_path, [POD])
    assert names(found) == {"Pod": ["shop/a"]}
    assert found.unreadable[POD].gap == "failed"
    assert f"{tmp_path}/namespaces/shop/pods/b/b.yaml:2:1: " in found.unreadable[POD].reason
    assert found.warnings == (found.unreadable[POD].reason,)


def test_manifests_as_people_keep_them(tmp_path: Path) -> None:
    write(
        tmp_path,
        "app/all.yaml",
        "# comment\n---\n"
        + yaml("v1", "Service", "front", "shop")
        + "---\n---\n"
        + yaml("route.openshift.io/v1", "Route", "checkout", "shop")
        + "---\n"
        + yaml("apps/v1", "Deployment", "front", "shop"),
    )
    items = [
        {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a", "namespace": "shop"}},
        {"apiVersion": "v1", "kind": "List", "items": [{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "b"}}]},
        {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "other", "namespace": "shop"}},
    ]
    write(tmp_path, "list.json", json.dumps({"apiVersion": "v1", "kind": "List", "items": items}))
    write(tmp_path, "ingress.yml", yaml("config.openshift.io/v1", "Ingress", "cluster"))
    write(tmp_path, "ingress2.yml", yaml("networking.k8s.io/v1", "Ingress", "web", "shop"))
    write(tmp_path, "notes.txt", "not YAML: [")
    write(tmp_path, "values.yaml", "replicas: 3\n")
    found = load(tmp_path, (*WANTED, INGRESS_CONFIG))
    assert names(found) == {
        "Pod": ["shop/a", "/b"],
        "Service": ["shop/front"],
        "Route": ["shop/checkout"],
        "Ingress": ["/cluster"],
    }
    assert found.every(SERVICE)[0].raw["apiVersion"] == "v1"
    assert set(found.unreadable) == set(WANTED)
    assert found.gap(POD) == "these manifests have only namespaces (none), shop"


def test_one_file_is_enough(tmp_path: Path) -> None:
    write(tmp_path, "x.yaml", yaml("v1", "Service", "front", "shop"))
    assert names(load(tmp_path / "x.yaml", [SERVICE])) == {"Service": ["shop/front"]}


def test_bad_manifests_are_all_named_with_their_places(tmp_path: Path) -> None:
    write(tmp_path, "a.yaml", "apiVersion: v1\nkind: [\n")
    write(tmp_path, "b.json", '{"a": 1,\n}')
    write(tmp_path, "c.yaml", "a: &x 1\n")
    write(tmp_path, "d.json", "[" * 100_000)
    (tmp_path / "e.yaml").write_bytes(b"a: \xff\n")
    write(tmp_path, "good.yaml", yaml("v1", "Service", "front", "shop"))
    with pytest.raises(InputError) as caught:
        load(tmp_path, [SERVICE])
    lines = caught.value.message.split("\n")
    places = ("a.yaml:3:1: ", "b.json:2:1: ", "c.yaml:1:4: anchors", "d.json:1:1: ", "e.yaml:1:4: not UTF-8")
    assert len(lines) == len(places)
    for line, place in zip(lines, places, strict=True):
        assert line.startswith(f"{tmp_path}/{place}")


def test_a_file_that_is_too_large_is_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("scanner.cluster.manifests.MAX_YAML", 1 << 20)
    write(tmp_path, "a.yaml", "a: 1\n" * (1 << 18))
    with pytest.raises(InputError, match=r"a.yaml: larger than 1 MiB"):
        load(tmp_path, [SERVICE])


def test_a_secret_in_a_manifest_cannot_vouch_for_itself(tmp_path: Path) -> None:
    write(tmp_path, "a.yaml", yaml("v1", "Secret", "a", "shop") + "adhere: {keyMatches: true}\n")
    (found,) = load(tmp_path, [SECRET]).every(SECRET)
    assert found.raw["adhere"] == {"keyMatches": "there is no tls.key"}


@pytest.mark.parametrize(
    ("name", "complaint", "hint"),
    [
        ("gone", "there is no such directory", "path"),
        ("empty", "not a snapshot, a must-gather or manifests", "directory"),
        ("must-gather.tar.gz", "not a snapshot, a must-gather or manifests", "extract"),
    ],
)
def test_what_holds_nothing(tmp_path: Path, name: str, complaint: str, hint: str) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "must-gather.tar.gz").write_bytes(b"\x1f\x8b\x08")
    with pytest.raises(InputError, match=complaint) as caught:
        load(tmp_path / name, [POD])
    assert hint in caught.value.hint
