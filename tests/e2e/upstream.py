"""Other projects' files, as lint is compared with them: valid examples, and inputs of tests with expected conditions.

Envoy Gateway and Istio keep inputs and expected statuses as YAML. What their test programs add to each input (Services,
Secrets, Namespaces) is read from the programs' text or repeated here.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, Final

import yaml

from scanner.cluster.lint_input import read_manifests
from scanner.kube.snapshot import Snapshot
from scanner.lint import READS, RULES, Linted, Placed, lint
from scanner.linting import declared
from tests.e2e.writing import Object
from tests.lint.examples import authority, empty, leaf

GOOD: Final = {
    "Accepted": "True",
    "Programmed": "True",
    "ResolvedRefs": "True",
    "Conflicted": "False",
    "OverlappingTLSConfig": "False",
    "InsecureFrontendValidationMode": "False",
}
"""Conditions that are compared, and their status where nothing is wrong."""
_PARTS: Final = ("listeners", "parents", "ancestors")
_OBJECT: Final = r'corev1\.%s\{\s*ObjectMeta[^}]*?Name: +"(.*?)",\s*Namespace: +"(.*?)"'
_SERVICE: Final = r'Hostname: +"([-a-z0-9]+)\.([-a-z0-9]+)\.svc\.domain\.suffix"'


@dataclass(frozen=True, slots=True, kw_only=True)
class Condition:
    """A condition with which a test expects something to be refused or reported."""

    case: str
    kind: str
    namespace: str
    name: str
    listener: str
    """The listener in whose status it is; empty: any other part."""
    type: str
    reason: str

    def __str__(self) -> str:
        thing = "/".join(filter(None, (self.kind, self.namespace, self.name, self.listener)))
        return f"{self.case}: {thing} {self.type} {self.reason}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """An input of a test."""

    name: str
    objects: list[Object]
    expected: list[Object]
    """Objects with their status."""


# --- Reading ---------------------------------------------------------------------------------------------------------


def envoy_gateway(directory: Path) -> Iterator[Case]:
    """The inputs of Envoy Gateway's translator (``internal/gatewayapi/translator_test.go``)."""
    (base,) = _documents(directory / "base/base.yaml")
    services = [
        _service(f"service-{number}", space) for number in range(1, 5) for space in ("envoy-gateway", "default")
    ]
    namespaces = [_core("Namespace", "envoy-gateway"), _core("Namespace", "default")]
    for path in sorted(directory.glob("*.in.yaml")):
        (given,), (out,) = _documents(path), _documents(path.with_name(path.name.replace(".in.", ".out.")))
        names = set(re.findall(r"\bname: (\S+)$", path.read_text(), re.MULTILINE))
        secrets = [each for each in _listed(base) if each["metadata"]["name"] in names]
        own = [_of_today(each) for each in _listed(given)] + _class_of(given)
        yield Case(
            name=path.name.removesuffix(".in.yaml"),
            objects=_together(own, [*secrets, *services, *namespaces]),
            expected=_listed(out),
        )


def istio(directory: Path) -> Iterator[Case]:
    """The inputs of Istio's Gateway controller (``conversion_test.go``)."""
    program = (directory / "conversion_test.go").read_text()
    services = re.findall(_SERVICE, program)
    added = [_service(name, space) for name, space in services]
    made = leaf("*.domain.example,example.com")
    bundle = authority().pem.decode()
    for name, space in re.findall(_OBJECT % "Secret", program):
        pair = {"tls.crt": made.pem.decode(), "tls.key": made.key_pem.decode(), "ca.crt": bundle}
        data = dict.fromkeys(("tls.crt", "tls.key"), "hello") if name == "malformed" else pair
        added.append(_core("Secret", name, space, type="kubernetes.io/tls", stringData=data))
    for name, space in re.findall(_OBJECT % "ConfigMap", program):
        odd = {"malformed": {"not-ca.crt": "hello"}, "malformed-trustbundle": {"ca.crt": "hello"}}
        added.append(_core("ConfigMap", name, space, data=odd.get(name, {"ca.crt": bundle})))
    for path in sorted((directory / "testdata").glob("*.yaml")):
        golden = path.with_name(path.name.replace(".yaml", ".status.yaml.golden"))
        if golden.exists():
            own = list(_documents(path))
            spaces = {each["metadata"].get("namespace", "default") for each in own} | {space for _, space in services}
            namespaces = [_core("Namespace", each, labels=_part(each)) for each in sorted(spaces)]
            objects = _together(own, [*added, *namespaces])
            yield Case(name=path.stem, objects=objects, expected=list(_documents(golden)))


def _documents(path: Path) -> Iterator[Object]:
    for each in yaml.load_all(path.read_text(), yaml.CSafeLoader):
        if isinstance(each, dict):
            yield each


def _listed(mapping: Mapping[str, Any]) -> list[Object]:
    """The objects of a file that has a list for each kind."""
    lists = [each for each in mapping.values() if isinstance(each, list)]
    return [each for several in lists for each in several if isinstance(each, dict) and "metadata" in each]


def _class_of(given: Mapping[str, Any]) -> list[Object]:
    """The EnvoyProxy that the program gives to the class, and the class that refers to it."""
    proxy = given.get("envoyProxyForGatewayClass")
    if not isinstance(proxy, dict):
        return []
    where = {"name": proxy["metadata"]["name"], "namespace": proxy["metadata"]["namespace"]}
    spec = {"parametersRef": {"group": "gateway.envoyproxy.io", "kind": "EnvoyProxy", **where}}
    meta = {"name": "envoy-gateway-class"}
    return [
        proxy,
        {"apiVersion": "gateway.networking.k8s.io/v1", "kind": "GatewayClass", "metadata": meta, "spec": spec},
    ]


def _of_today(item: Object) -> Object:
    """As the program reads it: every version of a policy into the type of the newest."""
    newest = {"apiVersion": "gateway.networking.k8s.io/v1"} if item.get("kind") == "BackendTLSPolicy" else {}
    return {**item, **newest}


def _core(kind: str, name: str, namespace: str = "", *, labels: Object | None = None, **fields: object) -> Object:
    where = {"namespace": namespace} if namespace else {}
    return {"apiVersion": "v1", "kind": kind, "metadata": {"name": name, "labels": labels or {}, **where}, **fields}


def _part(namespace: str) -> Object:
    return {"istio.io/test-name-part": namespace.partition("-")[0]}


def _service(name: str, namespace: str) -> Object:
    ports = [{"name": name, "port": port} for name, port in (("http", 8080), ("tcp", 8163))]
    return _core("Service", name, namespace, spec={"ports": ports})


def _together(own: list[Object], added: Iterable[Object]) -> list[Object]:
    there = {key(each) for each in own}
    return own + [each for each in added if key(each) not in there]


def key(item: Object) -> tuple[str, str, str]:
    """Kind, namespace and name."""
    return str(item.get("kind")), item["metadata"].get("namespace", ""), item["metadata"].get("name", "")


def conditions(case: Case) -> Iterator[Condition]:
    """The conditions of its statuses that say that something is wrong."""
    found: dict[Condition, None] = {}
    for each in case.expected:
        kind, namespace, name = key(each)
        status = each.get("status") or {}
        parts = [status, *(part for field in _PARTS for part in status.get(field) or ())]
        for part in parts:
            for one in part.get("conditions") or ():
                if one.get("status") != GOOD.get(one.get("type"), one.get("status")):
                    condition = Condition(
                        case=case.name,
                        kind=kind,
                        namespace=namespace,
                        name=name,
                        listener=part.get("name", ""),
                        type=one["type"],
                        reason=one["reason"],
                    )
                    found.setdefault(condition)
    return iter(found)


# --- Linting ---------------------------------------------------------------------------------------------------------


def judged(case: Case, directory: Path) -> list[Linted]:
    """What lint says of its objects in a cluster that has nothing else."""
    file = directory / "case.yaml"
    file.write_text("\n---\n".join(json.dumps(each, default=_time) for each in case.objects), encoding="utf-8")
    return linted(file, empty())


def linted(file: Path, cluster: Snapshot | None = None) -> list[Linted]:
    """What lint says of a file."""
    return list(lint(declared(read_manifests([str(file)], READS), cluster), RULES))


def _time(value: datetime) -> str:
    return value.strftime("%Y-%m-%dT%H:%M:%SZ")


def failures(found: Iterable[Linted]) -> Iterator[tuple[tuple[str, str, str], Placed]]:
    """Kind, namespace and name of each object, and each finding of it that fails."""
    for each in found:
        thing = each.subject.object
        for placed in each.findings:
            if placed.finding.verdict == "fail":
                yield (thing.kind.name, thing.namespace or "", thing.name), placed


def tells(condition: Condition, found: Iterable[Linted], rules: frozenset[str]) -> bool:
    """Whether a finding of one of the rules is about the condition's object, and its listener if it has one: at the
    listener, at none, or at another one and naming this."""
    of_object = [each for each in found if _is_about(each, condition)]
    for each in found:
        names = [one.text("name") for one in each.subject.object.each("spec", "listeners")]
        for placed in each.findings:
            if placed.finding.rule not in rules or not (placed.finding.verdict == "fail" or placed.unseen):
                continue
            index = re.match(r"spec\.listeners\[(\d+)\]", placed.field)
            at = names[int(index[1])] if index else ""
            called = f"listener '{condition.listener}' of {condition.kind}/{condition.namespace}/{condition.name}"
            if each in of_object and condition.listener in ("", at or condition.listener):
                return True
            if condition.listener and called in placed.finding.message:
                return True
    return False


def _is_about(each: Linted, condition: Condition) -> bool:
    thing = each.subject.object
    said = (thing.kind.name, thing.namespace or "", thing.name)
    return said == (condition.kind, condition.namespace, condition.name)
