"""Contour's own configuration: a ContourConfiguration, a ContourDeployment, or the ConfigMap with its file."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from msgspec import Struct

from scanner.errors import InputError
from scanner.files.source_positions import Steps, shown
from scanner.kube.contour import CONTOUR_TLS_VERSIONS, FILE, SecretName, Settings, settings
from scanner.kube.kinds import CONFIG_MAP, CONTOUR_CONFIGURATION, CONTOUR_DEPLOYMENT, Kind
from scanner.kube.objects import KubeObject
from scanner.model.declared import Declared, Missing
from scanner.model.object_rule import Flaw, ObjectRule, Subject

READS: Final[tuple[Kind, ...]] = (CONTOUR_CONFIGURATION, CONTOUR_DEPLOYMENT, CONFIG_MAP)
"""The kinds that ``configurations`` reads."""


class Configuration(Struct, frozen=True, kw_only=True):
    """The settings in one object."""

    holder: KubeObject
    settings: Settings

    def at(self, steps: Steps) -> Steps:
        """The steps to a field of the settings; in a ConfigMap, to the file's key."""
        return ("data", FILE) if self.holder.kind == CONFIG_MAP else steps

    @property
    def fallback(self) -> SecretName | None:
        """The Secret with the certificate for unknown server names."""
        return self.settings.fallback_certificate.secret

    @property
    def client(self) -> SecretName | None:
        """The Secret with the certificate that Envoy shows to services."""
        return self.settings.client_certificate.secret


def of_object(holder: KubeObject) -> Configuration | None:
    """The object's settings; None if it is no configuration, or cannot be read."""
    try:
        found = settings(holder)
    except InputError:
        return None
    return None if found is None else Configuration(holder=holder, settings=found)


def read_error(holder: KubeObject) -> str:
    """The error in the file of a ConfigMap, or ""."""
    try:
        settings(holder)
    except InputError as error:
        return error.message
    return ""


def configurations(declared: Declared) -> tuple[Configuration, ...]:
    """Every known configuration. Contour's arguments select one, so a rule relies only on limits that all of them
    have."""
    return declared.once(_all)


def _all(declared: Declared) -> tuple[Configuration, ...]:
    found = (of_object(holder) for kind in READS for holder in declared.every(kind))
    return tuple(each for each in found if each is not None)


def unseen(declared: Declared) -> Missing | None:
    """A configuration that may exist beside ``configurations``, or None."""
    gaps = ((kind, declared.gap(kind)) for kind in READS)
    unknown = next((Missing(name=f"a {kind.name} of Contour", gap=gap) for kind, gap in gaps if gap), None)
    return unknown or unread_file(declared)


def unread_file(declared: Declared) -> Missing | None:
    """The first ConfigMap with a file that cannot be read, or None."""
    return declared.once(_unread)


def _unread(declared: Declared) -> Missing | None:
    found = ((each, read_error(each)) for each in declared.every(CONFIG_MAP))
    return next((Missing(name=str(each.reference), gap=shown(why, 200)) for each, why in found if why), None)


def watched(declared: Declared) -> frozenset[str]:
    """The namespaces in which Contour watches Secrets; empty: all. With ``rootNamespaces``, these and the namespaces of
    the fallback and client certificates (``cmd/contour/serve.go``)."""
    found = configurations(declared)
    if not found or not all(each.settings.root_namespaces for each in found):
        return frozenset()
    own = {each.namespace for one in found for each in (one.fallback, one.client) if each and each.namespace}
    return frozenset(own.union(*(each.settings.root_namespaces for each in found)))


# --- Versions, suites and groups --------------------------------------------------------------------------------------

_STRONG: Final = (
    "[ECDHE-ECDSA-AES128-GCM-SHA256|ECDHE-ECDSA-CHACHA20-POLY1305]",
    "[ECDHE-RSA-AES128-GCM-SHA256|ECDHE-RSA-CHACHA20-POLY1305]",
    "ECDHE-ECDSA-AES128-GCM-SHA256",
    "ECDHE-RSA-AES128-GCM-SHA256",
    "ECDHE-ECDSA-AES256-GCM-SHA384",
    "ECDHE-RSA-AES256-GCM-SHA384",
)
_CBC: Final = ("ECDHE-ECDSA-AES128-SHA", "ECDHE-RSA-AES128-SHA", "ECDHE-ECDSA-AES256-SHA", "ECDHE-RSA-AES256-SHA")
_RSA: Final = ("AES128-GCM-SHA256", "AES128-SHA", "AES256-GCM-SHA384", "AES256-SHA")
"""The suites that Contour accepts (``apis/projectcontour/v1alpha1/ciphersuites.go``)."""
_GROUPS: Final = ("X25519", "P-256", "P-384", "P-521", "X25519MLKEM768", "MLKEM1024")
_WEAK: Final = dict.fromkeys(_CBC, "encrypts with CBC") | dict.fromkeys(
    _RSA, "has no forward secrecy (RSA key exchange)"
)
_KNOWN: Final = {"cipherSuites": frozenset((*_STRONG, *_CBC, *_RSA)), "ecdhCurves": frozenset(_GROUPS)}
_MOST: Final = 100
"""Suites or groups of one list."""


def check_limits(subject: Subject) -> Iterator[Flaw]:
    """Contour's own TLS settings are valid and strong."""
    found = of_object(subject.object)
    if found is None:
        if why := read_error(subject.object):
            message = f"unknown: how Contour is configured; its file cannot be read: {shown(why, 200)}"
            yield Flaw(message=message, at=("data", FILE), verdict="inconclusive")
        return
    tls = found.settings.tls
    versions = (tls.minimum_protocol_version, tls.maximum_protocol_version)
    for field, value in zip(("minimumProtocolVersion", "maximumProtocolVersion"), versions, strict=True):
        if value not in (None, "", *CONTOUR_TLS_VERSIONS):
            yield _refused(found, field, value)
    for (field, known), names in zip(_KNOWN.items(), (tls.cipher_suites, tls.ecdh_curves), strict=True):
        for name in names[:_MOST]:
            if name not in known:
                yield _refused(found, field, name)
            elif name in _WEAK:
                yield Flaw(
                    message=f"{name} {_WEAK[name]}",
                    at=found.at((*tls.steps, field)),
                    severity="medium",
                    observed=(name,),
                    fix=f"{subject.object.reference}: remove it from {field}",
                )


def _refused(found: Configuration, field: str, value: object) -> Flaw:
    return Flaw(
        message=f"Contour does not start: invalid {field} {shown(value)}",
        at=found.at((*found.settings.tls.steps, field)),
        expected=tuple(sorted(_KNOWN.get(field, CONTOUR_TLS_VERSIONS))),
        observed=(shown(value),),
        fix=f"{found.holder.reference}: correct {field}",
    )


LIMITS = ObjectRule(id="contour-limits", subjects=READS, check=check_limits)
