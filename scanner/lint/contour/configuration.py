"""What one Contour is told for all of its virtual hosts: ContourConfiguration, ContourDeployment, or the ConfigMap.

The file's keys are the object's fields in another spelling (``pkg/config/parameters.go``); a ContourDeployment has the
fields below ``spec.runtimeSettings``.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from scanner.errors import InputError
from scanner.files import yaml_values
from scanner.files.source_positions import Steps, Value, shown
from scanner.kube.kinds import CONFIG_MAP, CONTOUR_CONFIGURATION, CONTOUR_DEPLOYMENT, Kind
from scanner.kube.objects import Fields, KubeObject
from scanner.model.contour_file import KEY as FILE
from scanner.model.contour_file import tls_of_file
from scanner.model.declared import Declared, Missing
from scanner.model.delegations import SecretName

READS: Final[tuple[Kind, ...]] = (CONTOUR_CONFIGURATION, CONTOUR_DEPLOYMENT, CONFIG_MAP)
"""What a rule that asks this must read."""
_ABOVE: Final[dict[Kind, tuple[str, ...]]] = {
    CONTOUR_CONFIGURATION: ("spec",),
    CONTOUR_DEPLOYMENT: ("spec", "runtimeSettings"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Configuration:
    """What one object says."""

    holder: KubeObject
    tls: Fields
    """``minimumProtocolVersion``, ``maximumProtocolVersion``, ``cipherSuites``, ``ecdhCurves``."""
    tls_steps: Steps
    """Of ``tls``; of a file, its key."""
    in_file: bool
    fallback: SecretName | None
    """The certificate for names that no virtual host has."""
    client: SecretName | None
    """The certificate that Envoy shows to services."""
    secret_steps: tuple[Steps, Steps]
    """Of these two; of a file, its key."""
    root_namespaces: tuple[str, ...]
    """Where roots may be; empty: everywhere."""
    no_plaintext: bool
    """``disablePermitInsecure``."""

    def steps(self, field: str) -> Steps:
        """The way to a field of ``tls``."""
        return self.tls_steps if self.in_file else (*self.tls_steps, field)


def of_object(holder: KubeObject) -> Configuration | None:
    """What the object says of all virtual hosts; None where it is no configuration, or none that can be read."""
    if holder.kind == CONFIG_MAP:
        return _of_file(holder)
    above = _ABOVE.get(holder.kind)
    if above is None:
        return None
    steps = (*above, "envoy", "listener", "tls")
    proxy = holder.fields(*above, "httpproxy")
    fallback, client = (*above, "httpproxy", "fallbackCertificate"), (*above, "envoy", "clientCertificate")
    return Configuration(
        holder=holder,
        tls=holder.fields(*steps),
        tls_steps=steps,
        in_file=False,
        fallback=_secret(holder.fields(*fallback)),
        client=_secret(holder.fields(*client)),
        secret_steps=(fallback, client),
        root_namespaces=proxy.texts("rootNamespaces"),
        no_plaintext=proxy.flag("disablePermitInsecure"),
    )


def _of_file(holder: KubeObject) -> Configuration | None:
    value = _loaded(holder)
    if value is None or isinstance(value, InputError):
        return None
    said = Fields(value if isinstance(value, dict) else {})
    tls = said.fields("tls")
    return Configuration(
        holder=holder,
        tls=tls_of_file(tls),
        tls_steps=("data", FILE),
        in_file=True,
        fallback=_secret(tls.fields("fallback-certificate")),
        client=_secret(tls.fields("envoy-client-certificate")),
        secret_steps=(("data", FILE), ("data", FILE)),
        root_namespaces=(),  # an argument of ``contour serve``, not a key of its file
        no_plaintext=said.flag("disablePermitInsecure"),
    )


def _loaded(holder: KubeObject) -> Value | InputError:
    """What the file says; null where there is none."""
    text = holder.text("data", FILE)
    try:
        return yaml_values.load(text.encode("utf-8", "replace"), FILE).value if text else None
    except InputError as error:
        return error


def unread(holder: KubeObject) -> str:
    """Why nobody knows what the file of a ConfigMap says, or ""."""
    error = _loaded(holder) if holder.kind == CONFIG_MAP else None
    return error.message if isinstance(error, InputError) else ""


def _secret(named: Fields) -> SecretName | None:
    return SecretName(named.text("namespace") or None, named.text("name")) if named.text("name") else None


def configurations(declared: Declared) -> tuple[Configuration, ...]:
    """Every configuration that is known. Which of several a Contour reads stands in its arguments: of what limits
    virtual hosts a rule takes only what all of them say."""
    return declared.once(_all)


def _all(declared: Declared) -> tuple[Configuration, ...]:
    return tuple(_each(declared))


def _each(declared: Declared) -> Iterator[Configuration]:
    for kind in READS:
        for holder in declared.every(kind):
            found = of_object(holder)
            if found is not None:
                yield found


def unseen(declared: Declared) -> Missing | None:
    """Why there may be more than ``configurations`` says, or None."""
    gaps = ((kind, declared.gap(kind)) for kind in READS)
    unknown = next((Missing(name=f"a {kind.name} of Contour", gap=gap) for kind, gap in gaps if gap), None)
    return unknown or unread_file(declared)


def unread_file(declared: Declared) -> Missing | None:
    """The first ConfigMap of which nobody knows what its file says, or None."""
    return declared.once(_unread)


def _unread(declared: Declared) -> Missing | None:
    found = ((each, unread(each)) for each in declared.every(CONFIG_MAP))
    return next((Missing(name=str(each.reference), gap=shown(why, 200)) for each, why in found if why), None)


def watched(declared: Declared) -> frozenset[str]:
    """The namespaces whose Secrets Contour looks at; none: all of them. With ``rootNamespaces`` it watches Secrets
    there, and where the fallback and its own client certificate are (``cmd/contour/serve.go``)."""
    found = configurations(declared)
    if not found or not all(each.root_namespaces for each in found):
        return frozenset()
    own = {each.namespace for one in found for each in (one.fallback, one.client) if each and each.namespace}
    return frozenset(own.union(*(each.root_namespaces for each in found)))
