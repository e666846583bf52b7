"""Contour's configuration file: its keys are the fields of a ContourConfiguration in another spelling (Contour
``pkg/config/parameters.go``)."""

from __future__ import annotations

from typing import Final

from scanner.kube.objects import Fields

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


def _text(value: object) -> object:
    """As Contour's decoder takes it: a number that is not in quotes is text to it."""
    return str(value) if isinstance(value, int | float) and not isinstance(value, bool) else value
