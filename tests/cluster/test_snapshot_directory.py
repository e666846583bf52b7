"""Saved and read back: equal, and without a single key."""

from __future__ import annotations

import json
from base64 import b64decode, b64encode
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.serialization import BestAvailableEncryption, Encoding, NoEncryption, PrivateFormat

from scanner.cluster import load, read, save, snapshot_directory
from scanner.cluster.decoding import decoded
from scanner.cluster.listing import page_decoder
from scanner.cluster.retention import Pruner
from scanner.cluster.secret_contents import scrubbed
from scanner.cluster.snapshot_objects import kept
from scanner.errors import InputError, ResourceError, UsageError
from scanner.files.begun import BEGUN
from scanner.kube import kinds
from scanner.kube.cluster_facts import in_fips_mode
from scanner.kube.kinds import CONFIG_MAP, GATEWAY, NODE, POD, ROUTE, SECRET, SERVICE, Kind
from scanner.kube.kubelet import in_manifests
from scanner.kube.maybe import Unknown
from scanner.kube.objects import KubeObject
from scanner.kube.snapshot import Origin, Snapshot, Unreadable
from scanner.model.pem import REMOVED
from scanner.values import replace
from tests.certs import private_key
from tests.cluster.api import LIMITS, Answer, Api, Asked, authority, named, refused, running

pytestmark = pytest.mark.crypto

LAST = "kubectl.kubernetes.io/last-applied-configuration"
WANTED = (POD, SERVICE, ROUTE, SECRET, CONFIG_MAP, NODE, GATEWAY)


def coded(data: bytes) -> str:
    return b64encode(data).decode()


def secret(**data: bytes) -> dict[str, object]:
    """A kubernetes.io/tls Secret; fields of ``data`` have an underscore for the dot."""
    fields = {key.replace("_", "."): coded(value) for key, value in data.items()}
    applied = json.dumps({"data": fields})
    item = named("edge-tls", "shop", type="kubernetes.io/tls", data=fields)
    item["metadata"] = {"name": "edge-tls", "namespace": "shop", "annotations": {LAST: applied, "note": "kept"}}
    return item


def pair() -> tuple[bytes, bytes]:
    leaf = authority().leaf(names=("edge.example",))
    return leaf.pem, leaf.key_pem


def kept_secret(item: dict[str, object]) -> KubeObject:
    found = kept(SECRET, item, Pruner())
    assert found is not None
    return found


def test_of_a_secret_the_certificates_stay_and_whether_the_key_is_theirs() -> None:
    certificate, key = pair()
    found = kept_secret(secret(tls_crt=certificate, tls_key=key, ca_crt=b"ca", password=b"hunter2"))
    data = found.words("data")
    assert set(data) == {"tls.crt", "ca.crt"}
    assert b64decode(data["tls.crt"]) == certificate
    assert found.at("adhere", "keyMatches") is True
    assert found.annotations == {"note": "kept"}


@pytest.mark.parametrize(
    ("certificate", "key", "matches"),
    [
        (0, 1, False),
        (0, None, "there is no tls.key"),
        (None, 0, "there is no tls.crt"),
        (0, b"garbage", "tls.key is no private key in PEM"),
        (b"garbage", 0, "tls.crt does not begin with a PEM certificate"),
    ],
)
def test_keys_that_do_not_match(certificate: int | bytes | None, key: int | bytes | None, matches: bool | str) -> None:
    pairs = [pair(), pair()]
    data: dict[str, bytes] = {}
    if certificate is not None:
        data["tls_crt"] = pairs[certificate][0] if isinstance(certificate, int) else certificate
    if key is not None:
        data["tls_key"] = pairs[key][1] if isinstance(key, int) else key
    assert kept_secret(secret(**data)).at("adhere", "keyMatches") == matches


def test_large_and_encrypted_keys() -> None:
    certificate, _ = pair()
    large = private_key("rsa4096")
    coded_key = large.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, BestAvailableEncryption(b"secret"))
    found = kept_secret(secret(tls_crt=certificate, tls_key=coded_key))
    assert found.at("adhere", "keyMatches") == "tls.key is encrypted"
    padded = large.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()) + b"\n" * 2000
    leaf = authority().leaf(names=("large.example",), key=large)
    assert kept_secret(secret(tls_crt=leaf.pem, tls_key=padded)).at("adhere", "keyMatches") is True


def test_text_data_of_a_manifest_reads_as_data() -> None:
    certificate, key = pair()
    item = named("a", "shop", stringData={"tls.crt": certificate.decode(), "tls.key": key.decode()})
    found = kept_secret(item)
    assert b64decode(found.text("data", "tls.crt")) == certificate
    assert "stringData" not in found.raw
    assert found.at("adhere", "keyMatches") is True


def test_a_key_in_the_wrong_place_does_not_stay() -> None:
    certificate, key = pair()
    found = kept_secret(secret(tls_crt=certificate + key, ca_crt=key, tls_key=key))
    assert b64decode(found.text("data", "tls.crt")) == certificate + REMOVED.encode() + b"\n"
    assert b64decode(found.text("data", "ca.crt")) == REMOVED.encode() + b"\n"
    assert found.at("adhere", "keyMatches") is True


def test_scrubbing_twice_is_scrubbing_once_and_certificates_stay() -> None:
    certificate, key = pair()
    text = (certificate + key + certificate).decode()
    once = scrubbed(text)
    assert "PRIVATE" not in once
    assert once.count("BEGIN CERTIFICATE") == 2
    assert scrubbed(once) == once
    assert scrubbed(coded(certificate)) == coded(certificate)
    assert scrubbed(f'{{"a": "{coded(key)}"}}') == f'{{"a": "{REMOVED}"}}'
    assert "PRIVATE" not in scrubbed(key.decode()[:80])  # its end cut off


def cluster() -> Api:
    """Keys everywhere that people put them."""
    certificate, key = pair()
    api = Api()
    route = named("checkout", "shop", spec={"tls": {"certificate": certificate.decode(), "key": key.decode()}})
    route["metadata"] = {
        "name": "checkout", "namespace": "shop", "managedFields": [{"f": 1}], "annotations": {LAST: json.dumps(route)},
    }  # fmt: skip
    api.add(ROUTE, route, named("plain", "shop", spec={"tls": {"key": "not even PEM"}}))
    command = ["server", "--token", "hunter2", "--password=hunter2", "--tls-min-version=VersionTLS12", key.decode()]
    container = {"name": "a", "args": command, "env": [
        {"name": "TLS_KEY", "value": key.decode()}, {"name": "PASSWORD", "value": "hunter2"},
        {"name": "ROUTER_CIPHERS", "value": "intermediate"},
    ]}  # fmt: skip
    api.add(POD, named("checkout-1", "shop", spec={"containers": [container]}))
    api.add(SERVICE, named("front", "shop", spec={"ports": [{"port": 443}]}))
    api.add(SECRET, secret(tls_crt=certificate, tls_key=key))
    api.add(CONFIG_MAP, named("kubeadm-config", "kube-system", data={"a": key.decode(), "b": coded(key)}))
    api.add(NODE, named("worker-1"))

    def forbid(asked: Asked) -> Answer | None:
        return refused(403, "Forbidden", "nodes is forbidden") if asked.path == "/api/v1/nodes" else None

    api.script = forbid
    return api


async def snapshot() -> Snapshot:
    async with running(cluster()) as api:
        return await read(api.access, WANTED, limits=LIMITS, secrets=[("shop", "edge-tls")])


async def test_a_saved_snapshot_is_read_back_equal_and_holds_no_key(tmp_path: Path) -> None:
    found = await snapshot()
    save(found, tmp_path / "new" / "saved")
    back = load(tmp_path / "new" / "saved", WANTED)
    assert back.origin.replayed
    assert replace(back, origin=found.origin) == found
    assert back.absent == {GATEWAY}
    assert back.unreadable[NODE].gap == "forbidden"

    text = "".join(path.read_text() for path in (tmp_path / "new").rglob("*.json"))
    assert "PRIVATE KEY" not in text
    assert "hunter2" not in text
    assert LAST not in text
    assert "managedFields" not in text
    key = cluster().objects["/api/v1/secrets"][0]["data"]
    assert isinstance(key, dict)
    assert "LS0tLS1CRUdJTiBQUklWQVRF" not in text  # "-----BEGIN PRIVATE" in base64
    assert text.count(REMOVED) == 6  # two Routes, an argument, a variable, and two texts of the ConfigMap
    assert (tmp_path / "new" / "saved").stat().st_mode & 0o077 == 0


async def test_what_tls_is_judged_by_stays() -> None:
    found = await snapshot()
    pod = found.every(POD)[0]
    (container,) = pod.each("spec", "containers")
    assert container.texts("args")[:5] == (
        "server", "--token", "[removed]", "--password=[removed]", "--tls-min-version=VersionTLS12"
    )  # fmt: skip
    assert [each.text("name") for each in container.each("env")] == ["TLS_KEY", "ROUTER_CIPHERS"]
    assert [each.has("spec", "tls", "key") for each in found.every(ROUTE)] == [True, True]


async def test_the_demo_of_a_snapshot_is_a_kubernetes_list(tmp_path: Path) -> None:
    save(await snapshot(), tmp_path)
    listed = json.loads((tmp_path / "objects" / "routes.route.openshift.io.json").read_text())
    assert listed["kind"] == "List"
    assert [(item["apiVersion"], item["kind"]) for item in listed["items"]] == [("route.openshift.io/v1", "Route")] * 2


async def test_saving_again_replaces_and_nothing_else_is_touched(tmp_path: Path) -> None:
    found = await snapshot()
    save(found, tmp_path / "a")
    without = replace(found, objects={POD: found.objects[POD]}, unreadable={}, absent=frozenset())
    save(without, tmp_path / "a")
    assert [path.name for path in (tmp_path / "a" / "objects").iterdir()] == ["pods.json"]

    (tmp_path / "b").mkdir()
    (tmp_path / "b" / "precious").write_text("x")
    with pytest.raises(UsageError, match="other content"):
        save(found, tmp_path / "b")
    with pytest.raises(ResourceError, match="cannot be written: Not a directory"):
        save(found, tmp_path / "b" / "precious" / "c")


async def test_a_save_that_was_killed_is_made_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = await snapshot()
    monkeypatch.setattr(snapshot_directory, "head", _killed)
    with pytest.raises(KeyboardInterrupt):
        save(found, tmp_path)
    assert not (tmp_path / "adhere-snapshot.json").exists()
    monkeypatch.undo()
    save(found, tmp_path)
    assert not (tmp_path / BEGUN).exists()


def _killed(_: Snapshot) -> dict[str, object]:
    raise KeyboardInterrupt


async def test_a_kind_that_was_not_saved_is_unreadable(tmp_path: Path) -> None:
    found = await snapshot()
    save(replace(found, objects={POD: found.objects[POD]}), tmp_path)
    back = load(tmp_path, [POD, ROUTE])
    assert back.gap(POD) is None
    assert back.unreadable[ROUTE].gap == "not-saved"
    assert back.every(ROUTE) == ()


def own(kind: Kind = POD) -> Snapshot:
    objects = {kind: (KubeObject({"metadata": {"name": "a"}, "kind": kind.name}, kind),)}
    return Snapshot(taken_at=datetime(2026, 1, 1, tzinfo=UTC), origin=Origin(name="x"), objects=objects)


@pytest.mark.parametrize(
    ("file", "content", "complaint"),
    [
        ("adhere-snapshot.json", "{", r"adhere-snapshot.json:1:2: not JSON"),
        ("adhere-snapshot.json", '{"format": "adhere.snapshot/v9"}', "the format is 'adhere.snapshot/v9'"),
        ("adhere-snapshot.json", '{"format": "adhere.snapshot/v1", "taken_at": "x"}', "taken_at is not a time: 'x'"),
        ("adhere-snapshot.json", '{"format": "adhere.snapshot/v1", "taken_at": "9999-12-31"}', "taken_at is not"),
        ("objects/pods.json", '{"items": [\n{},]}', r"pods.json:2:4: not JSON"),
        ("objects/pods.json", "[" * 100_000, r"pods.json:1:1: not JSON"),
        ("objects/pods.json", '{"items": []}', "0 objects, but adhere-snapshot.json says 1"),
    ],
)
def test_a_snapshot_that_was_damaged_is_refused(tmp_path: Path, file: str, content: str, complaint: str) -> None:
    save(own(), tmp_path)
    (tmp_path / file).write_text(content)
    with pytest.raises(InputError, match=complaint):
        load(tmp_path, [POD])


def test_a_missing_file_of_a_snapshot_is_refused(tmp_path: Path) -> None:
    save(own(), tmp_path)
    (tmp_path / "objects" / "pods.json").unlink()
    with pytest.raises(InputError, match=r"pods.json: cannot be read: No such file"):
        load(tmp_path, [POD])


def test_a_gap_of_a_later_version_is_a_failure(tmp_path: Path) -> None:
    gap = Unreadable(kind=POD, gap="failed", reason="r")
    save(replace(own(), unreadable={POD: gap}), tmp_path)
    head = tmp_path / "adhere-snapshot.json"
    head.write_text(head.read_text().replace('"failed"', '"eclipsed"'))
    assert load(tmp_path, [POD]).unreadable == {POD: gap}


def test_large_kinds_keep_what_is_looked_at() -> None:
    item = named(
        "pod", "shop",
        spec={
            "nodeName": "worker-1", "hostNetwork": True, "tolerations": [{}], "affinity": {"a": 1},
            "containers": [{
                "name": "web", "ports": [{"containerPort": 8443, "name": "https"}], "resources": {"limits": {}},
                "readinessProbe": {"httpGet": {"scheme": "HTTPS", "port": 8443, "httpHeaders": []}, "periodSeconds": 1},
                "volumeMounts": [{"name": "tls", "mountPath": "/tls", "readOnly": True}],
            }],
            "volumes": [{"name": "tls", "secret": {"secretName": "web-tls", "defaultMode": 420}}, {"emptyDir": {}}],
        },
        status={
            "phase": "Running", "podIPs": [{"ip": "10.0.0.1"}], "conditions": [
                {"type": "Ready", "status": "True", "lastProbeTime": None}, {"type": "Initialized", "status": "True"},
            ],
        },
    )  # fmt: skip
    found = kept(POD, item, Pruner(), "v1")
    assert found is not None
    assert found.raw["spec"] == {
        "nodeName": "worker-1", "hostNetwork": True,
        "containers": [{
            "name": "web", "ports": [{"name": "https", "containerPort": 8443}],
            "volumeMounts": [{"name": "tls", "mountPath": "/tls"}],
            "readinessProbe": {"httpGet": {"port": 8443, "scheme": "HTTPS"}},
        }],
        "volumes": [{"name": "tls", "secret": {"secretName": "web-tls"}}, {}],
    }  # fmt: skip
    assert found.raw["status"] == {
        "phase": "Running", "podIPs": [{"ip": "10.0.0.1"}], "conditions": [{"type": "Ready", "status": "True"}],
    }  # fmt: skip


def test_a_schema_says_only_whether_the_fields_are_there() -> None:
    field = {"type": "string", "enum": ["StrictAllComponents"]}
    schema = {
        "properties": {"spec": {"properties": {"tlsAdherence": field, "audit": {"type": "object"}}}, "status": {}}
    }
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    item = named("apiservers.config.openshift.io", spec={"group": "config.openshift.io", "versions": [version]})
    found = kept(kinds.CUSTOM_RESOURCE_DEFINITION, item, Pruner())
    assert found is not None
    (saved,) = found.each("spec", "versions")
    assert saved.raw["schema"] == {"openAPIV3Schema": {"properties": {"spec": {"properties": {"tlsAdherence": field}}}}}


def test_replicas_share_what_they_have_alike() -> None:
    def replica(name: str) -> KubeObject:
        token = f"kube-api-access-{name}"
        path = "/var/run/secrets/kubernetes.io/serviceaccount"
        mounts = [{"name": "tls", "mountPath": "/tls"}, {"name": token, "mountPath": path}]
        volumes = [{"name": "tls", "secret": {"secretName": "web-tls"}}, {"name": token, "projected": {}}]
        containers = [{"name": "web", "args": ["--tls"], "volumeMounts": mounts}]
        conditions = [{"type": "Ready", "status": "True", "lastTransitionTime": name}]
        spec = {"containers": containers, "volumes": volumes}
        found = kept(POD, named(name, "shop", spec=spec, status={"conditions": conditions}), pruner)
        assert found is not None
        return found

    pruner = Pruner()
    one, two = replica("aaaaa"), replica("bbbbb")
    assert one.at("spec", "containers") is two.at("spec", "containers")
    assert one.at("spec", "volumes") is two.at("spec", "volumes")
    assert one.at("status", "conditions") is two.at("status", "conditions")
    assert one.at("spec", "containers") == [
        {"name": "web", "args": ["--tls"], "volumeMounts": [{"name": "tls", "mountPath": "/tls"}]}
    ]
    assert one.at("spec", "volumes") == [{"name": "tls", "secret": {"secretName": "web-tls"}}]
    other = kept(POD, named("c", "shop", spec={"containers": [{"name": "web", "args": ["--tlS"]}]}), pruner)
    assert other is not None
    assert other.at("spec", "containers") == [{"name": "web", "args": ["--tlS"]}]


NAMED_AS_TOKENS: dict[str, Callable[[str], dict[str, object]]] = {
    "a container": lambda name: {"containers": [{"name": name, "ports": [{"containerPort": 8443}]}]},
    "arguments": lambda name: {"containers": [{"name": "a", "args": ["name", name, f"--x=nameuAAAA{name}"]}]},
    "a Secret": lambda name: {"volumes": [{"name": "a", "projected": {"sources": [{"secret": {"name": name}}]}}]},
    "a ConfigMap": lambda name: {"volumes": [{"name": "a", "configMap": {"name": name}}]},
    "a volume with a Secret": lambda name: {
        "containers": [{"name": "a", "volumeMounts": [{"name": name, "mountPath": "/tls"}]}],
        "volumes": [{"name": name, "secret": {"secretName": "web-tls"}}],
    },
}


@pytest.mark.parametrize("decode", [decoded, page_decoder(POD)], ids=["whole", "page"])
@pytest.mark.parametrize("what", NAMED_AS_TOKENS)
def test_what_is_named_as_tokens_are_is_kept_as_it_is_named(what: str, decode: Callable[[bytes], object]) -> None:
    specs = [NAMED_AS_TOKENS[what](f"kube-api-access-{name}") for name in ("aaaaa", "bbbbb", "aaaaa")]
    page = decode(json.dumps({"items": [named(f"p{n}", "shop", spec=spec) for n, spec in enumerate(specs)]}).encode())
    assert isinstance(page, dict)
    pruner = Pruner()
    found = [kept(POD, item, pruner, "v1") for item in page["items"]]
    assert [each and each.raw["spec"] for each in found] == specs


def test_equal_texts_are_kept_once() -> None:
    pruner = Pruner()
    one, two = (
        kept(POD, json.loads(json.dumps(named(name, "a-namespace", spec={"nodeName": "worker-1"}))), pruner)
        for name in ("a", "b")
    )
    assert one is not None
    assert two is not None
    assert one.namespace is two.namespace


def test_a_snapshot_holds_no_password_of_an_install_config(tmp_path: Path) -> None:
    """Older installers left the pull secret and the platform's passwords in the cluster's copy of it."""
    install = (
        'apiVersion: v1\nfips: true\npullSecret: \'{"auths": {"r": {"auth": "canary"}}}\'\n'
        "platform: {vsphere: {password: canary}}\nnetworking: {networkType: OVNKubernetes}\n"
    )
    stored = {
        "cluster-config-v1": {"install-config": install, "other": "canary"},
        "kubelet-config": {"kubelet": "tlsMinVersion: VersionTLS12\nstaticPodURLHeader: {X: [canary]}\n"},
        "extension-apiserver-authentication": {"client-ca-file": pair()[0].decode(), "note": "canary"},
    }
    objects = tuple(
        KubeObject({**named(name, "kube-system"), "kind": "ConfigMap", "data": data}, CONFIG_MAP)
        for name, data in stored.items()
    )
    taken = datetime(2026, 11, 22, tzinfo=UTC)
    save(Snapshot(taken_at=taken, origin=Origin(name="c", server="https://c"), objects={CONFIG_MAP: objects}), tmp_path)
    text = "".join(path.read_text() for path in tmp_path.rglob("*.json"))
    assert "canary" not in text
    found = load(tmp_path, [CONFIG_MAP])
    assert in_fips_mode(found) is True
    kubelet = found.get(CONFIG_MAP, "kubelet-config", "kube-system")
    assert kubelet is not None
    assert "VersionTLS12" in kubelet.text("data", "kubelet")
    clients = found.get(CONFIG_MAP, "extension-apiserver-authentication", "kube-system")
    assert clients is not None
    assert "BEGIN CERTIFICATE" in clients.text("data", "client-ca-file")


def test_an_install_config_that_is_no_yaml_stays_unreadable(tmp_path: Path) -> None:
    found = KubeObject(
        {**named("cluster-config-v1", "kube-system"), "kind": "ConfigMap", "data": {"install-config": "a: [canary"}},
        CONFIG_MAP,
    )
    taken = datetime(2026, 11, 22, tzinfo=UTC)
    save(
        Snapshot(taken_at=taken, origin=Origin(name="c", server="https://c"), objects={CONFIG_MAP: (found,)}), tmp_path
    )
    replayed = load(tmp_path, [CONFIG_MAP])
    assert isinstance(in_fips_mode(replayed), Unknown)
    assert "canary" not in "".join(path.read_text() for path in tmp_path.rglob("*.json"))


def test_of_what_a_node_pool_gives_its_nodes_only_the_tls_settings_of_kubelets_are_kept(tmp_path: Path) -> None:
    config = (
        "apiVersion: machineconfiguration.openshift.io/v1\nkind: MachineConfig\nspec: {config: {passwd: canary}}\n---\n"
        "apiVersion: machineconfiguration.openshift.io/v1\nkind: KubeletConfig\nspec:\n"
        "  tlsSecurityProfile: {type: Modern}\n  kubeletConfig: {tlsMinVersion: VersionTLS13, staticPodURL: canary}\n"
    )
    stored = {"a": {"config": config, "other": "canary"}, "b": {"config": "a: [canary"}, "c": {"config": "x: canary"}}
    objects = tuple(
        KubeObject({**named(name, "clusters"), "kind": "ConfigMap", "data": data}, CONFIG_MAP)
        for name, data in stored.items()
    )
    taken = Snapshot(
        taken_at=datetime(2026, 11, 22, tzinfo=UTC), origin=Origin(name="c"), objects={CONFIG_MAP: objects}
    )
    save(taken, tmp_path)
    assert "canary" not in "".join(path.read_text() for path in tmp_path.rglob("*.json"))
    kept_ones = {each.name: each.text("data", "config") for each in load(tmp_path, [CONFIG_MAP]).every(CONFIG_MAP)}
    (found,) = in_manifests(kept_ones["a"])
    assert found.raw["spec"] == {
        "tlsSecurityProfile": {"type": "Modern"},
        "kubeletConfig": {"tlsMinVersion": "VersionTLS13"},
    }
    with pytest.raises(InputError):
        list(in_manifests(kept_ones["b"]))
    assert list(in_manifests(kept_ones["c"])) == []
