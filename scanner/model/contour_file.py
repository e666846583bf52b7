"""Contour's configuration file: its keys are the fields of a ContourConfiguration in another spelling (Contour
``pkg/config/parameters.go``)."""

from __future__ import annotations

from typing import Final

from scanner.errors import InputError
from scanner.files import yaml_values
from scanner.kube.kinds import CONFIG_MAP, CONTOUR_CONFIGURATION
from scanner.kube.objects import Fields, KubeObject

KEY: Final = "contour.yaml"
"""Under which the file stands in its ConfigMap."""
_SPELLINGS: Final = {
    "minimum-protocol-version": "minimumProtocolVersion",
    "maximum-protocol-version": "maximumProtocolVersion",
    "cipher-suites": "cipherSuites",
    "ecdh-curves": "ecdhCurves",
}


def tls_of_file(tls: Fields) -> Fields:
    """The file's ``tls``, as ``spec.envoy.listener.tls`` of a ContourConfiguration would say it."""
    return Fields({name: _text(tls.at(key)) for key, name in _SPELLINGS.items()})


def configured(item: KubeObject) -> KubeObject:
    """A ConfigMap with Contour's file as the ContourConfiguration that names the same Secrets; any other object as it
    is. What cannot be read names none."""
    text = item.text("data", KEY) if item.kind == CONFIG_MAP else ""
    try:
        value = yaml_values.load(text.encode("utf-8", "replace"), KEY).value if text else None
    except InputError:
        return item
    if not isinstance(value, dict):
        return item
    tls = Fields(value).fields("tls")
    spec = {
        "httpproxy": {"fallbackCertificate": tls.at("fallback-certificate")},
        "envoy": {"clientCertificate": tls.at("envoy-client-certificate")},
    }
    return KubeObject({"metadata": item.at("metadata"), "spec": spec}, CONTOUR_CONFIGURATION)


def _text(value: object) -> object:
    """As Contour's decoder takes it: a number that is not in quotes is text to it."""
    return str(value) if isinstance(value, int | float) and not isinstance(value, bool) else value
