"""References to CAs, which a Gateway validates its clients by and a BackendTLSPolicy the backend (Gateway API apis/v1
``caCertificateRefs``)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from scanner.files.source_positions import Steps, shown
from scanner.kube.kinds import CONFIG_MAP, SECRET
from scanner.kube.objects import Fields
from scanner.lint.certificates import authority_flaws
from scanner.lint.references import look_up
from scanner.model.declared import Missing
from scanner.model.object_rule import Flaw, Subject, undecided

_KINDS: Final = {"ConfigMap": CONFIG_MAP, "Secret": SECRET}
_BUNDLE: Final = "ClusterTrustBundle"
_BUNDLES: Final = ("", "certificates.k8s.io")
"""Groups by which it is named: Envoy Gateway takes one in the core's."""


def reference_flaws(
    subject: Subject, at: Steps, reference: Fields, namespace: str | None, *, other_kind: str, question: str
) -> Iterator[Flaw]:
    """What is wrong with what is referred to in ``namespace``.

    ``other_kind``: the reason in a status for what is no ConfigMap. ``question``: what nobody knows of one that was not
    seen.
    """
    if _is_bundle(reference):
        yield _of_bundle(reference, at)
        return
    kind = _KINDS.get(reference.text("kind"))
    if kind is None or reference.text("group"):
        named = "/".join(filter(None, (reference.text("group"), reference.text("kind"))))
        yield Flaw(
            message=f"refers to {shown(named)}, not to a ConfigMap: {other_kind}",
            at=at,
            fix=f"{subject.object.reference}: name a ConfigMap",
        )
        return
    if kind == SECRET:
        yield Flaw(message="a Secret with CAs works with some implementations only", at=at, severity="low")
    found = look_up(subject.declared, kind, reference.text("name"), namespace)
    if not isinstance(found, Missing):
        yield from authority_flaws(found, at, subject.declared.known.taken_at)
    elif found.gap:
        yield undecided(found, at, question)
    else:
        yield Flaw(
            message=f"{found.name} does not exist: InvalidCACertificateRef",
            at=at,
            fix=f"create {found.name} with the CA in ca.crt",
        )


def _is_bundle(reference: Fields) -> bool:
    """Whether CAs are referred to in a ClusterTrustBundle, which only some implementations take (Gateway API,
    caCertificateRefs, "Implementation-specific: other kinds of resources")."""
    return reference.text("kind") == _BUNDLE and reference.text("group") in _BUNDLES


def _of_bundle(reference: Fields, at: Steps) -> Flaw:
    what = f"whether this implementation takes the {_BUNDLE} {shown(reference.text('name'))}, and what is in it"
    return Flaw(message=f"cannot be decided here: {what}", at=at, verdict="inconclusive")
