"""The settings that one Contour has for all of its virtual hosts: by its arguments, those of an object or a file."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from scanner.errors import InputError
from scanner.expect.facts import Facts
from scanner.kube.contour import SecretName
from scanner.kube.contour_settings import FILE, ContourConfiguration, ListenerTLS, Settings, settings
from scanner.kube.kinds import CONFIG_MAP, CONTOUR_CONFIGURATION, POD

USUAL = ("projectcontour", "contour")
"""The ConfigMap of Contour's own manifests: the only one that is read."""
_NAMED = re.compile(r"--contour-config-name[= ]([a-z0-9.-]{1,253})(?:\s|\Z)")
_FILE = re.compile(r"--config-path[= ]")

_NOTHING = Settings({})


@dataclass(frozen=True, slots=True, kw_only=True)
class Everywhere:
    """What holds for all virtual hosts."""

    source: str = ""
    """The object; empty where none says anything."""
    field: str = ""
    settings: Settings = _NOTHING
    unknown: str | None = None
    """Why there may be more than is said here."""

    @property
    def tls(self) -> ListenerTLS:
        """TLS of every listener."""
        return self.settings.tls

    @property
    def fallback(self) -> SecretName | None:
        """The Secret that is served without a known server name."""
        return self.settings.fallback_certificate.secret


def everywhere(facts: Facts, namespace: str | None) -> Everywhere:
    """What the Contour beside the Envoys of ``namespace`` is told; None: nobody knows where they are."""
    near = [
        each
        for each in map(ContourConfiguration.of, facts.snapshot.every(CONTOUR_CONFIGURATION))
        if namespace in (None, each.namespace, each.settings.envoy_service.namespace)
    ]
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


def _named(facts: Facts, near: list[ContourConfiguration], named: set[str], namespace: str | None) -> Everywhere:
    # Contour reads its own namespace; whoever writes another object may say there that it is for these Envoys.
    found = [each for each in near if each.name in named and each.namespace == namespace]
    if len(found) == 1 and len(named) == 1:
        return _of_object(found[0])
    where = f"ContourConfiguration/{namespace}/{' or '.join(sorted(named))}"
    why = facts.snapshot.gap(CONTOUR_CONFIGURATION) or "it is not there, or not one"
    return Everywhere(unknown=f"{where}, which Contour is told to read, may say more: {why}")


def _of_object(found: ContourConfiguration) -> Everywhere:
    field = ".".join(map(str, found.settings.tls.steps))
    return Everywhere(source=str(found.reference), field=field, settings=found.settings)


def _of_file(facts: Facts, namespace: str | None) -> Everywhere:
    if namespace not in (None, USUAL[0]):
        return Everywhere(unknown=f"a ConfigMap in {namespace}, which adhere does not read, may say more")
    source = f"ConfigMap/{'/'.join(USUAL)}"
    found = facts.snapshot.get(CONFIG_MAP, USUAL[1], USUAL[0])
    if found is None:
        gap = facts.snapshot.gap(CONFIG_MAP)
        return Everywhere(unknown=f"{source} may say more: {gap or 'there is no such ConfigMap'}")
    try:
        read = settings(found)
    except InputError as error:
        return Everywhere(unknown=f"what {source} says cannot be read: {error.message}")
    if read is None:
        return Everywhere(unknown=f"{source} may say more: it has no {FILE} that is a mapping")
    return Everywhere(source=source, field=f"{FILE} tls", settings=read)
