"""What one Contour is told for all of its virtual hosts: by a ContourConfiguration, or by the file in its ConfigMap.

``contour serve`` reads the object that ``--contour-config-name`` names and, without it, the file of ``--config-path``
(Contour ``cmd/contour/serve.go``). A ContourDeployment's ``runtimeSettings`` become a ContourConfiguration of its own
(``internal/provisioner``). The file's keys are the object's fields in another spelling (``pkg/config/parameters.go``).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from scanner.errors import InputError
from scanner.expect.facts import Facts
from scanner.files import yaml_values
from scanner.kube.kinds import CONFIG_MAP, CONTOUR_CONFIGURATION, POD
from scanner.kube.objects import Fields, KubeObject
from scanner.model.contour_file import KEY, tls_of_file

USUAL = ("projectcontour", "contour")
"""The ConfigMap of Contour's own manifests: the only one that is read."""
_TLS = ("spec", "envoy", "listener", "tls")
_ENVOY = ("spec", "envoy", "service")
_FALLBACK = ("spec", "httpproxy", "fallbackCertificate")
_NAMED = re.compile(r"--contour-config-name[= ]([a-z0-9.-]{1,253})(?:\s|\Z)")
_FILE = re.compile(r"--config-path[= ]")

_NOTHING = Fields({})


@dataclass(frozen=True, slots=True, kw_only=True)
class Everywhere:
    """What holds for all virtual hosts."""

    source: str = ""
    """The object; empty where none says anything."""
    field: str = ""
    tls: Fields = _NOTHING
    """``minimumProtocolVersion``, ``maximumProtocolVersion``, ``cipherSuites``, ``ecdhCurves``."""
    fallback: str = ""
    """The Secret that is served without a known server name."""
    unknown: str | None = None
    """Why there may be more than is said here."""


def everywhere(facts: Facts, namespace: str | None) -> Everywhere:
    """What the Contour beside the Envoys of ``namespace`` is told; None: nobody knows where they are."""
    objects = facts.snapshot.every(CONTOUR_CONFIGURATION)
    near = [each for each in objects if namespace in (None, each.namespace, each.text(*_ENVOY, "namespace"))]
    said = list(_arguments(facts, namespace))
    named = {found[1] for each in said if (found := _NAMED.search(each))}
    if named:
        return _named(facts, near, named, namespace)
    if any(map(_FILE.search, said)):
        return _of_file(facts, namespace)
    if said:
        return Everywhere()
    if len(near) == 1:
        return _of_object(near[0])
    gap = facts.snapshot.gap(CONTOUR_CONFIGURATION)
    if near or gap:
        which = f"which of {len(near)} ContourConfigurations counts is not known"
        return Everywhere(unknown=f"Contour's configuration may say more: {gap or which}")
    return _of_file(facts, namespace)


def _arguments(facts: Facts, namespace: str | None) -> Iterator[str]:
    """The command lines of ``contour serve``."""
    for pod in facts.snapshot.every(POD):
        if pod.namespace == namespace:
            for container in pod.each("spec", "containers"):
                words = (*container.texts("command"), *container.texts("args"))
                if "serve" in words and any(each.rpartition("/")[2] == "contour" for each in words):
                    yield " ".join(words)


def _named(facts: Facts, near: list[KubeObject], named: set[str], namespace: str | None) -> Everywhere:
    # Contour reads its own namespace; whoever writes another object may say there that it is for these Envoys.
    found = [each for each in near if each.name in named and each.namespace == namespace]
    if len(found) == 1 and len(named) == 1:
        return _of_object(found[0])
    where = f"ContourConfiguration/{namespace}/{' or '.join(sorted(named))}"
    why = facts.snapshot.gap(CONTOUR_CONFIGURATION) or "it is not there, or not one"
    return Everywhere(unknown=f"{where}, which Contour is told to read, may say more: {why}")


def _of_object(found: KubeObject) -> Everywhere:
    fallback = found.fields(*_FALLBACK)
    return Everywhere(
        source=str(found.reference),
        field=".".join(_TLS),
        tls=found.fields(*_TLS),
        fallback=_secret(fallback),
    )


def _of_file(facts: Facts, namespace: str | None) -> Everywhere:
    if namespace not in (None, USUAL[0]):
        return Everywhere(unknown=f"a ConfigMap in {namespace}, which adhere does not read, may say more")
    source = f"ConfigMap/{'/'.join(USUAL)}"
    found = facts.snapshot.get(CONFIG_MAP, USUAL[1], USUAL[0])
    if found is None:
        gap = facts.snapshot.gap(CONFIG_MAP)
        return Everywhere(unknown=f"{source} may say more: {gap or 'there is no such ConfigMap'}")
    try:
        value = yaml_values.load(found.text("data", KEY).encode("utf-8", "replace"), f"{source} {KEY}").value
    except InputError as error:
        return Everywhere(unknown=f"what {source} says cannot be read: {error.message}")
    if not (found.has("data", KEY) and (value is None or isinstance(value, dict))):
        return Everywhere(unknown=f"{source} may say more: it has no {KEY} that is a mapping")
    tls = Fields(value or {}).fields("tls")
    return Everywhere(
        source=source,
        field=f"{KEY} tls",
        tls=tls_of_file(tls),
        fallback=_secret(tls.fields("fallback-certificate")),
    )


def _secret(named: Fields) -> str:
    return f"{named.text('namespace')}/{named.text('name')}" if named.text("name") else ""
