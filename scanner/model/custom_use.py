"""A profile of type Custom in an object, and what each of its readers makes of it."""

from __future__ import annotations

from dataclasses import dataclass

from scanner.kube.objects import Reference
from scanner.model.declared_profile import Declared


@dataclass(frozen=True, slots=True, kw_only=True)
class CustomUse:
    """One such object."""

    reference: Reference
    field: str
    """``spec.tlsSecurityProfile.custom``."""
    readings: tuple[tuple[str, Declared], ...]
    """Who reads it (``library-go``, ``the ingress operator``), and what that makes of it."""
