"""The role of ``adhere rbac``, applied to a real API server: enough for a scan, and for nothing else."""

from __future__ import annotations

from itertools import product
from pathlib import Path

import pytest
import yaml

from scanner.assessment import READS
from scanner.cluster import access, read
from scanner.cluster.events import warnings
from scanner.kube import kinds
from scanner.kube.kinds import KINDS
from scanner.kube.snapshot import Snapshot
from tests.cli.calling import called
from tests.e2e.accounts import NAMESPACE, Account, account, settle
from tests.e2e.control_plane import ControlPlane
from tests.e2e.writing import Object, Writer

READING = {"get", "list"}
CHANGING = ("create", "update", "patch", "delete", "deletecollection")
TEMPTING = (
    ("", "secrets"),
    ("", "pods/exec"),
    ("", "pods/portforward"),
    ("", "nodes/proxy"),
    ("", "serviceaccounts/token"),
    ("authorization.k8s.io", "subjectaccessreviews"),
    ("rbac.authorization.k8s.io", "clusterrolebindings"),
)
"""What somebody who has taken over a scanner would try."""


def role_of(plane: ControlPlane, writer: Writer, *options: str) -> Account:
    """A service account with what ``adhere rbac`` prints, applied as it is."""
    found = account(plane, writer)
    printed = called("rbac", *options, "--service-account", f"{NAMESPACE}/{found.name}")
    assert printed.code == 0, printed.err
    for each in yaml.safe_load_all(printed.out):
        if each["kind"] == "ServiceAccount":
            continue  # there already
        if not plane.admin.get(f"{writer.path(each)}/{each['metadata']['name']}").is_success:
            writer.create(each)
    settle(writer)
    return found


@pytest.fixture(scope="module")
def scanner_account(cluster: ControlPlane, writer: Writer) -> Account:
    return role_of(cluster, writer)


async def snapshot_of(plane: ControlPlane, token: str, directory: Path, **options: object) -> Snapshot:
    kubeconfig = plane.kubeconfig(directory / "scanner.kubeconfig", {"token": token})
    return await read(access(str(kubeconfig)), (*READS, kinds.SECRET), **options)  # type: ignore[arg-type]


async def test_a_scan_with_exactly_this_role_reads_everything_that_an_administrator_reads(
    cluster: ControlPlane, scanner_account: Account, tmp_path: Path
) -> None:
    seen = await snapshot_of(cluster, scanner_account.token().value, tmp_path, secrets=[("shop", "web-tls")])
    everything = await snapshot_of(cluster, cluster.tokens["admin"], tmp_path)
    assert set(seen.unreadable) == {kinds.SECRET}
    assert "--with secrets" in seen.unreadable[kinds.SECRET].reason
    assert seen.absent == everything.absent
    assert {kind: each.gap for kind, each in everything.unreadable.items()} == {kinds.SECRET: "not-asked"}
    references = {kind: [each.reference for each in objects] for kind, objects in everything.objects.items()}
    assert {kind: [each.reference for each in objects] for kind, objects in seen.objects.items()} == references


def test_the_role_reads_what_is_listed_and_nothing_else(cluster: ControlPlane, scanner_account: Account) -> None:
    """In the API server's own words: all rules that hold for the account, of this role and of everybody's."""
    review = {
        "apiVersion": "authorization.k8s.io/v1",
        "kind": "SelfSubjectRulesReview",
        "spec": {"namespace": "kube-system"},
    }
    as_account = cluster.client(scanner_account.token().value)
    path = "/apis/authorization.k8s.io/v1/selfsubjectrulesreviews"
    rules = as_account.post(path, json=review).json()["status"]["resourceRules"]
    reviewing = {"selfsubjectaccessreviews", "selfsubjectrulesreviews", "selfsubjectreviews"}  # everybody may
    ours = [rule for rule in rules if not set(rule["resources"]) <= reviewing]
    assert {verb for rule in ours for verb in rule["verbs"]} == READING
    allowed = {pair for rule in ours for pair in product(rule["apiGroups"], rule["resources"])}
    assert allowed == {(kind.group, kind.plural) for kind in READS if kind.opt_in is None}


def test_nothing_can_be_changed_and_no_secret_read(cluster: ControlPlane, scanner_account: Account) -> None:
    as_account = cluster.client(scanner_account.token().value)
    changes = [(kind.group, kind.plural, verb) for kind in KINDS for verb in CHANGING]
    tempting = [(group, resource, verb) for group, resource in TEMPTING for verb in (*READING, *CHANGING)]
    for group, resource, verb in (*changes, *tempting):
        assert not may(as_account.post, group, resource, verb), f"{verb} {resource}.{group}"
    assert may(as_account.post, "", "pods", "list")


def may(post: object, group: str, resource: str, verb: str) -> bool:
    """What the API server says (SelfSubjectAccessReview)."""
    plural, _, subresource = resource.partition("/")
    attributes = {"group": group, "resource": plural, "subresource": subresource, "verb": verb, "namespace": "shop"}
    body = {
        "apiVersion": "authorization.k8s.io/v1",
        "kind": "SelfSubjectAccessReview",
        "spec": {"resourceAttributes": attributes},
    }
    answer = post("/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", json=body).json()  # type: ignore[operator]
    allowed: bool = answer["status"]["allowed"]
    return allowed


def test_what_is_tried_all_the_same_is_refused(cluster: ControlPlane, scanner_account: Account) -> None:
    as_account = cluster.client(scanner_account.token().value)
    pod: Object = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "x"}, "spec": {"containers": []}}
    tries = (
        as_account.get("/api/v1/secrets"),
        as_account.get("/api/v1/namespaces/shop/secrets/web-tls"),
        as_account.get("/api/v1/namespaces/shop/configmaps"),
        as_account.get("/api/v1/namespaces/shop/configmaps/other"),
        as_account.post("/api/v1/namespaces/shop/pods", json=pod),
        as_account.delete("/api/v1/namespaces/shop/services/web"),
        as_account.get("/api/v1/namespaces/openshift-etcd/pods/etcd-master-1/portforward", params={"ports": "1"}),
        as_account.get("/api/v1/nodes/master-0/proxy/configz"),
    )
    assert [answer.status_code for answer in tries] == [403] * len(tries)


async def test_with_secrets_one_is_read_by_name_without_its_key(
    cluster: ControlPlane, writer: Writer, tmp_path: Path
) -> None:
    trusted = role_of(cluster, writer, "--with", "secrets")
    token = trusted.token().value
    seen = await snapshot_of(cluster, token, tmp_path, permitted={"secrets"}, secrets=[("shop", "web-tls")])
    (secret,) = seen.every(kinds.SECRET)
    assert set(secret.fields("data").raw) == {"tls.crt"}
    assert secret.at("adhere", "keyMatches") is True
    assert cluster.client(token).get("/api/v1/secrets").status_code == 403  # none by list


async def test_without_secrets_none_is_asked_for(cluster: ControlPlane, tmp_path: Path) -> None:
    """The API server keeps the record: whoever could read them all, too, asks for none under ``--no-secrets``."""
    before = len(cluster.audited())
    seen = await snapshot_of(
        cluster, cluster.tokens["admin"], tmp_path,
        permitted={"secrets"}, secrets=[("shop", "web-tls")], no_secrets=True,
    )  # fmt: skip
    assert seen.unreadable[kinds.SECRET].gap == "not-asked"
    events = cluster.audited()[before:]
    asked = [str(each["requestURI"]) for each in events]
    assert [uri for uri in asked if "/pods" in uri]
    assert [uri for uri in asked if "/secrets" in uri] == []
    assert {str(each["verb"]) for each in events} <= READING


async def test_with_doctor_the_operators_configurations_are_read_and_without_they_are_not(
    cluster: ControlPlane, writer: Writer, scanner_account: Account, tmp_path: Path
) -> None:
    """What ``adhere doctor`` follows a profile through, and a scan does without."""
    doctor = role_of(cluster, writer, "--with", "doctor")
    gaps = []
    for each in (doctor, scanner_account):
        kubeconfig = cluster.kubeconfig(tmp_path / each.name, {"token": each.token().value})
        wanted = [kinds.AUTHENTICATION_OPERATOR, kinds.OPENSHIFT_API_SERVER_OPERATOR]
        snapshot = await read(access(str(kubeconfig)), wanted)
        gaps.append({kind.name: gap.gap for kind, gap in snapshot.unreadable.items()})
    assert gaps == [{}, {"Authentication": "forbidden", "OpenShiftAPIServer": "forbidden"}]


async def test_with_doctor_warnings_are_read_and_without_they_are_not(
    cluster: ControlPlane, writer: Writer, scanner_account: Account, tmp_path: Path
) -> None:
    """The control plane itself warns too: of its ServiceCIDR, and of the cluster IP of a Service that it repairs."""
    doctor = role_of(cluster, writer, "--with", "doctor")
    about = {"kind": "Service", "namespace": "shop", "name": "web"}
    event = {"apiVersion": "v1", "kind": "Event", "reason": "Odd", "involvedObject": about, "count": 2}
    for kind in ("Warning", "Normal"):
        metadata = {"name": f"adhere-{kind.lower()}", "namespace": "shop"}
        writer.create({**event, "metadata": metadata, "type": kind, "message": f"tls: {kind}"})
    told = []
    for each in (doctor, scanner_account):
        kubeconfig = cluster.kubeconfig(tmp_path / each.name, {"token": each.token().value})
        told.append(await warnings(access(str(kubeconfig)), ["shop"]))
    found = [each.text("message") for each in told[0].found if each.text("reason") == event["reason"]]
    assert found == ["tls: Warning"]
    assert (told[0].missed, told[1].found) == ({}, ())
    assert "adhere rbac --with doctor" in told[1].missed["shop"]
