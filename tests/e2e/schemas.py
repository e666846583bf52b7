"""Generate ``profiles/schemas``: ``python -m tests.e2e.schemas`` (``make schemas``).

Each file holds one kind: the module and version that it was generated from, and the schema of every served version.
The CustomResourceDefinitions are those of ``definitions.SETS``; Kubernetes' own kinds are in the OpenAPI documents of
k8s.io/kubernetes. A schema keeps what lint reads (``FOLLOWED``); beside that it keeps only the names of fields.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping
from itertools import product
from pathlib import Path
from typing import Any, Final

import yaml

from scanner.data import data
from scanner.kube import kinds
from scanner.kube.kinds import Kind
from tests.e2e.assets import SERVERS, Missing, downloaded
from tests.e2e.definitions import CURRENT, SETS, Source

_Schema = dict[str, Any]

_KEPT: Final = (
    "type", "required", "enum", "pattern", "minLength", "maxLength", "minimum", "maximum", "exclusiveMaximum",
    "multipleOf", "minItems", "maxItems", "minProperties", "maxProperties", "x-kubernetes-int-or-string",
    "x-kubernetes-preserve-unknown-fields", "x-kubernetes-validations",
)  # fmt: skip
"""Keywords of a schema that are kept."""
_NOT_READ: Final = {"not", "anyOf", "oneOf", "exclusiveMinimum", "uniqueItems"}
"""Keywords that the walker does not understand: a schema with one of them stops the generation. ``allOf`` occurs only
in Routes, for what the rule route-fields says."""

_PROFILE: Final = "tlsSecurityProfile.{type,custom}"
_API_SERVER: Final = f"{{clientCA,servingCerts,tlsAdherence,{_PROFILE}}}"
_SAFE: Final = "ca.,cert.,insecureSkipVerify,maxVersion,minVersion,serverName"
_ROUTE: Final = ("spec.{hostnames,parentRefs}", "spec.rules.{name,backendRefs.{group,kind,name,namespace,port,weight}}")
_CONTOUR: Final = "{httpproxy,envoy.{clientCertificate,cluster.upstreamTLS,listener.tls}}"
_SERVICES: Final = "services.{name,port,protocol,validation}"
_GET: Final = "httpGet.{host,path,port,scheme}"
_CONTAINER: Final = (
    f"{{name,ports.{{containerPort,hostPort,name,protocol}},lifecycle.{{postStart,preStop}}.{_GET},"
    f"{{livenessProbe,readinessProbe,startupProbe}}.{_GET}}}"
)
_POD: Final = f"{{{{containers,initContainers}}.{_CONTAINER},volumes.{{name,configMap.name,secret.secretName}}}}"
_WEBHOOKS: Final = "webhooks.{name,failurePolicy,clientConfig}"
_TEMPLATE: Final = f"spec.template.spec.{_POD}"

FOLLOWED: Final[Mapping[Kind, tuple[str, ...]]] = {
    kinds.GATEWAY: ("spec.{gatewayClassName,listeners,tls}",),
    kinds.LISTENER_SET: ("spec",),
    kinds.X_LISTENER_SET: ("spec",),
    kinds.BACKEND_TLS_POLICY: ("spec.{targetRefs,validation,options}",),
    kinds.TLS_ROUTE: ("spec.{hostnames,parentRefs,rules}",),
    kinds.REFERENCE_GRANT: ("spec",),
    kinds.HTTP_ROUTE: _ROUTE,
    kinds.GRPC_ROUTE: _ROUTE,
    kinds.TCP_ROUTE: ("spec.{parentRefs,rules}",),
    kinds.X_BACKEND: ("spec.{externalHostname,port.port,protocol,tls,type}",),
    kinds.API_SERVER: (f"spec.{_API_SERVER}",),
    kinds.INGRESS_CONTROLLER: (f"spec.{{clientTLS,defaultCertificate,domain,{_PROFILE}}}",),
    kinds.KUBELET_CONFIG: (f"spec.{{kubeletConfig,machineConfigPoolSelector.matchLabels,{_PROFILE}}}",),
    kinds.ROUTE: ("spec.{host,path,subdomain,tls,to.{kind,name},wildcardPolicy}",),
    kinds.PKI: ("spec",),
    kinds.OAUTH: (
        "spec.identityProviders.{name,type,mappingMethod}",
        "spec.identityProviders.{basicAuth,github,gitlab,keystone,ldap,openID,requestHeader}.ca",
        "spec.identityProviders.{basicAuth,keystone}.{tlsClientCert,tlsClientKey}",
        "spec.identityProviders.{basicAuth,gitlab,keystone,ldap}.url",
        "spec.identityProviders.{github.hostname,ldap.insecure,openID.issuer,requestHeader.{challengeURL,loginURL}}",
    ),
    kinds.INGRESS_CONFIG: ("spec.{appsDomain,domain,componentRoutes.{name,namespace,servingCertKeyPairSecret}}",),
    kinds.CONSOLE: ("spec.route",),
    kinds.HOSTED_CLUSTER: (f"spec.configuration.apiServer.{_API_SERVER}",),
    kinds.HTTP_PROXY: (
        "spec.{ingressClassName,includes.{name,namespace}}",
        f"spec.{{routes.{{permitInsecure,{_SERVICES}}},tcpproxy.{_SERVICES}}}",
        "spec.virtualhost.{fqdn,tls,jwtProviders.remoteJWKS.validation}",
    ),
    kinds.TLS_CERTIFICATE_DELEGATION: ("spec",),
    kinds.HEPTIO_DELEGATION: ("spec",),
    kinds.VMWARE_DELEGATION: ("spec",),
    kinds.EXTENSION_SERVICE: ("spec.{protocol,protocolVersion,services.{name,port},validation}",),
    kinds.CONTOUR_CONFIGURATION: (f"spec.{_CONTOUR}",),
    kinds.CONTOUR_DEPLOYMENT: (f"spec.runtimeSettings.{_CONTOUR}",),
    kinds.SERVICE_MONITOR: (
        f"spec.{{namespaceSelector,selector,endpoints.{{port,scheme,tlsConfig.{{{_SAFE},caFile,certFile,keyFile}}}}}}",
    ),
    kinds.POD_MONITOR: (
        f"spec.{{namespaceSelector,selector,podMetricsEndpoints.{{port,scheme,tlsConfig.{{{_SAFE}}}}}}}",
    ),
    kinds.PROBE: (f"spec.{{prober.{{scheme,url}},tlsConfig.{{{_SAFE}}}}}",),
    kinds.SCRAPE_CONFIG: (f"spec.{{scheme,tlsConfig.{{{_SAFE}}}}}",),
    kinds.INGRESS: ("spec.{ingressClassName,rules.host,tls}",),
    kinds.VALIDATING_WEBHOOK: (_WEBHOOKS,),
    kinds.MUTATING_WEBHOOK: (_WEBHOOKS,),
    kinds.API_SERVICE: ("spec.{caBundle,insecureSkipTLSVerify,service}",),
    kinds.CONFIG_MAP: ("data", "immutable"),
    kinds.ROLE: ("rules",),
    kinds.CLUSTER_ROLE: ("rules",),
    kinds.ROLE_BINDING: ("roleRef", "subjects"),
    kinds.CLUSTER_ROLE_BINDING: ("roleRef", "subjects"),
    kinds.SERVICE: ("spec.{externalName,ports,selector,type}",),
    kinds.POD: (f"spec.{_POD}",),
    **dict.fromkeys((kinds.DEPLOYMENT, kinds.STATEFUL_SET, kinds.DAEMON_SET), (_TEMPLATE,)),
    kinds.CUSTOM_RESOURCE_DEFINITION: ("spec.conversion",),
}
"""By kind, the fields whose whole schema is kept. A step leads through lists by itself; braces are alternatives; of a
field with a dot behind it only the names in it are kept."""
_FORMER: Final = {kinds.BACKEND_TLS_POLICY: ("gateway-1.0", ("spec.",))}
"""By kind, a set of an earlier release that has more versions, and what is followed in them."""


def generated() -> Iterator[tuple[str, str]]:
    """The name and the content of each file. Raises ``Missing``."""
    sources = {which: _definitions(which) for which in (CURRENT, *(name for name, _ in _FORMER.values()))}
    for kind, followed in FOLLOWED.items():
        module, version, versions = sources[CURRENT].get((kind.group, kind.name)) or _built_in(kind)
        found = {name: _pruned(schema, followed) for name, schema in versions.items()}
        if kind in _FORMER:
            which, former = _FORMER[kind]
            _, _, more = sources[which][kind.group, kind.name]
            found |= {name: _pruned(schema, former) for name, schema in more.items() if name not in found}
        content = {"module": module, "version": version, "versions": _shared(found)}
        yield f"{kind.resource}.json", json.dumps(content, indent=1, sort_keys=True) + "\n"


def _definitions(which: str) -> dict[tuple[str, str], tuple[str, str, dict[str, _Schema]]]:
    """The module, its version and the served schemas, by group and kind."""
    found: dict[tuple[str, str], tuple[str, str, dict[str, _Schema]]] = {}
    for source in SETS[which]:
        module = downloaded(source.pinned, source.module)
        for spec in _specifications(source, Path(module["Dir"])):
            served = {each["name"]: each["schema"]["openAPIV3Schema"] for each in spec["versions"] if each["served"]}
            found[spec["group"], spec["names"]["kind"]] = (source.module, module["Version"], served)
    return found


def _specifications(source: Source, below: Path) -> Iterator[Any]:
    for pattern in source.globs:
        (path,) = below.glob(pattern)
        for each in source.adapt(yaml.load_all(path.read_text(), yaml.CSafeLoader)):
            yield each["spec"]


def _built_in(kind: Kind) -> tuple[str, str, dict[str, _Schema]]:
    """The same of a kind of Kubernetes itself."""
    module = downloaded(SERVERS, "k8s.io/kubernetes")
    name = f"apis__{kind.group}__v1" if kind.group else "api__v1"
    text = Path(module["Dir"], "api/openapi-spec/v3", f"{name}_openapi.json").read_text()
    schemas = json.loads(text)["components"]["schemas"]
    wanted = {"group": kind.group, "kind": kind.name, "version": "v1"}
    (root,) = (each for each in schemas.values() if wanted in each.get("x-kubernetes-group-version-kind", ()))
    return "k8s.io/kubernetes", module["Version"], {"v1": _Resolved(schemas).of(root)}


class _Resolved:
    """Schemas of an OpenAPI document without references, resolved where they are read: some contain themselves."""

    def __init__(self, schemas: Mapping[str, _Schema]) -> None:
        self.schemas = schemas

    def of(self, schema: _Schema) -> _Schema:
        while "$ref" in schema or "allOf" in schema:
            (inner,) = schema.get("allOf", [schema])
            schema = self.schemas[inner["$ref"].rpartition("/")[2]]
        if schema.get("format") == "int-or-string":
            return {"x-kubernetes-int-or-string": True}
        return _Lazy(schema, self)


class _Lazy(dict[str, Any]):
    """A schema whose parts are resolved when they are read."""

    def __init__(self, schema: _Schema, resolved: _Resolved) -> None:
        super().__init__(schema)
        self.resolved = resolved

    def inner(self, schema: _Schema) -> _Schema:
        return self.resolved.of(schema)


def _pruned(schema: _Schema, followed: tuple[str, ...]) -> _Schema:
    """The schema of an object without ``metadata`` and ``status``, which are the same everywhere or read by no rule."""
    paths = [tuple(path.split(".")) for each in followed for path in _expanded(each)]
    found = _followed(schema, paths)
    for name in ("apiVersion", "kind", "metadata", "status"):
        found["properties"].pop(name, None)
    found["required"] = sorted({*found.get("required", ())} & found["properties"].keys())
    return found


def _expanded(text: str) -> Iterator[str]:
    """The alternatives of braces, which may contain others."""
    start = text.find("{")
    if start < 0:
        yield text
        return
    depth, parts, last = 0, [], start + 1
    for index in range(start, len(text)):
        depth += {"{": 1, "}": -1}.get(text[index], 0)
        if (text[index] == "," and depth == 1) or depth == 0:
            parts.append(text[last:index])
            last = index + 1
        if depth == 0:
            break
    for part, rest in product(parts, _expanded(text[last:])):
        yield from (f"{text[:start]}{each}{rest}" for each in _expanded(part))


def _followed(schema: _Schema, paths: list[tuple[str, ...]]) -> _Schema:
    """The schema with the parts at ``paths``; of all other parts only the names are kept."""
    whole = () in paths
    if not paths:
        return {}
    assert not _NOT_READ & schema.keys(), _NOT_READ & schema.keys()
    found: _Schema = {name: schema[name] for name in _KEPT if name in schema}
    if "x-kubernetes-validations" in found:
        found["x-kubernetes-validations"] = [
            {name: each[name] for name in ("rule", "message") if name in each}
            for each in found["x-kubernetes-validations"]
        ]
    inner = schema.inner if isinstance(schema, _Lazy) else lambda each: each
    for name in ("items", "additionalProperties"):
        if isinstance(schema.get(name), dict):
            found[name] = _followed(inner(schema[name]), paths)
    if "properties" in schema:
        found["properties"] = {
            name: _followed(inner(each), [()] if whole else [path[1:] for path in paths if path[:1] == (name,)])
            for name, each in sorted(schema["properties"].items())
        }
    return found


def _shared(versions: Mapping[str, _Schema]) -> dict[str, _Schema | str]:
    """Versions that are the same as an earlier one have its name."""
    found: dict[str, _Schema | str] = {}
    for name, schema in versions.items():
        found[name] = next((other for other, each in found.items() if each == schema), schema)
    return found


def main() -> int:
    """Write the files; exit code 1 where the modules are not at hand."""
    try:
        files = dict(generated())
    except Missing as missing:
        print(f"schemas: {missing}")  # noqa: T201
        return 1
    directory = data("schemas")
    for path in directory.glob("*.json"):
        if path.name not in files:
            path.unlink()
    for name, content in files.items():
        (directory / name).write_text(content)
    print(f"schemas: {len(files)} files in {directory}")  # noqa: T201
    return 0


if __name__ == "__main__":
    sys.exit(main())
