"""Settings of one Contour for all of its virtual hosts, in a ContourConfiguration, a ContourDeployment or a file.

``contour serve`` reads the object that ``--contour-config-name`` names and, without it, the file of ``--config-path``
(Contour ``cmd/contour/serve.go``). A ContourDeployment's ``runtimeSettings`` become a ContourConfiguration of its own
(``internal/provisioner``). The file's keys are the object's fields in another spelling (``pkg/config/parameters.go``).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from scanner.errors import InputError
from scanner.files import yaml_values
from scanner.kube.contour import NamespacedName
from scanner.kube.kinds import CONFIG_MAP, CONTOUR_CONFIGURATION, CONTOUR_DEPLOYMENT
from scanner.kube.objects import Fields, KubeObject
from scanner.kube.view import Flag, Part, Present, Text, Texts, Value, View
from scanner.tls.codepoints import TLS12, TLS13

VERSIONS: Final[Mapping[str, int]] = {"1.2": TLS12, "1.3": TLS13}
"""The values of a minimum or maximum version; a virtual host's other value means Contour's default."""
FILE: Final = "contour.yaml"
"""The key of a ConfigMap with Contour's file."""


class FileHolder(KubeObject):
    """A ConfigMap that may have Contour's file."""

    file = Text("data", FILE)
    has_file = Present("data", FILE)


class ListenerTLS(View):
    """TLS of every listener."""

    minimum_protocol_version = Value()
    maximum_protocol_version = Value()
    cipher_suites = Texts()
    ecdh_curves = Texts()


class Settings(View):
    """``spec`` of a ContourConfiguration."""

    tls = Part(ListenerTLS, "envoy", "listener", "tls")
    envoy_service = Part(NamespacedName, "envoy", "service")
    client_certificate = Part(NamespacedName, "envoy", "clientCertificate")
    """The certificate that Envoy shows to services."""
    fallback_certificate = Part(NamespacedName, "httpproxy", "fallbackCertificate")
    """The certificate for names that no virtual host has."""
    root_namespaces = Texts("httpproxy", "rootNamespaces")
    """Namespaces in which roots may be; empty: all."""
    disable_permit_insecure = Flag("httpproxy", "disablePermitInsecure")


class ContourConfiguration(KubeObject):
    """A ContourConfiguration."""

    settings = Part(Settings, "spec")


_ABOVE: Final = {CONTOUR_CONFIGURATION: ("spec",), CONTOUR_DEPLOYMENT: ("spec", "runtimeSettings")}
_SPELLINGS: Final = {
    "minimum-protocol-version": "minimumProtocolVersion",
    "maximum-protocol-version": "maximumProtocolVersion",
    "cipher-suites": "cipherSuites",
    "ecdh-curves": "ecdhCurves",
}


def settings(holder: KubeObject) -> Settings | None:
    """The settings in an object; None where it has none, or a file that is no mapping. Raises ``InputError`` for a file
    that cannot be read."""
    if holder.kind == CONFIG_MAP:
        spec = _of_file(holder)
        return None if spec is None else Settings(spec)
    steps = _ABOVE.get(holder.kind)
    return Settings(holder.fields(*steps).raw, steps) if steps else None


def configured(item: KubeObject) -> KubeObject:
    """A ConfigMap with Contour's file as the ContourConfiguration that says the same; any other object as it is."""
    try:
        spec = _of_file(item) if item.kind == CONFIG_MAP else None
    except InputError:
        return item
    return KubeObject({"metadata": item.at("metadata"), "spec": spec}, CONTOUR_CONFIGURATION) if spec else item


def _of_file(holder: KubeObject) -> Mapping[str, object] | None:
    """The file as ``spec`` of a ContourConfiguration. Root namespaces are an argument of ``contour serve``, no key."""
    found = FileHolder.of(holder)
    if not found.has_file:
        return None
    value = yaml_values.load(found.file.encode("utf-8", "replace"), FILE).value
    if not (value is None or isinstance(value, dict)):
        return None
    file = Fields(value or {})
    tls = file.fields("tls")
    return {
        "envoy": {
            "listener": {"tls": {name: _text(tls.at(key)) for key, name in _SPELLINGS.items()}},
            "clientCertificate": tls.at("envoy-client-certificate"),
        },
        "httpproxy": {
            "fallbackCertificate": tls.at("fallback-certificate"),
            "disablePermitInsecure": file.at("disablePermitInsecure"),
        },
    }


def _text(value: object) -> object:
    """The value as Contour's decoder reads it: a number without quotes is text."""
    return str(value) if isinstance(value, int | float) and not isinstance(value, bool) else value
