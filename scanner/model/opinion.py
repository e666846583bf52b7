"""An opinion: what a second witness, sslyze, saw of one endpoint."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from scanner.kube.maybe import Known, Unknown
from scanner.model.observation import Answers, ClientCertificate

Flaw = Literal[
    "heartbleed",
    "robot",
    "ccs-injection",
    "insecure-renegotiation",
    "client-renegotiation",
    "compression",
    "no-fallback-scsv",
]
"""What can be wrong with an implementation, rather than with its configuration."""

_NOT_ASKED = Unknown("not asked")


@dataclass(frozen=True, slots=True, kw_only=True)
class Inquiry:
    """What the witness is asked. It always sees as well whether a client certificate is asked for."""

    versions: frozenset[int] = frozenset()
    """In which each suite is tried: up to 160 connections a version, so only where there is something to ask."""
    groups: bool = False
    certificate: bool = False
    flaws: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Opinion:
    """What the witness saw. It asks by full handshakes of its own, one for each suite, and knows fewer code points."""

    witness: str
    """Who it was: ``sslyze 6.3.1``."""
    highest: int | None = None
    """The highest version in which it was accepted; None where it never was."""
    suites: Mapping[int, Answers] = field(default_factory=dict)
    """By version. A version without an entry was not told; one with nothing accepted was refused."""
    groups: Answers = Answers(unasked="not asked")
    """In the ``highest`` version, and only there."""
    client_certificate: Known[ClientCertificate] = _NOT_ASKED
    certificates: Known[frozenset[str]] = _NOT_ASKED
    """SHA-256 (lower-case hex) of every leaf certificate that it was served."""
    flaws: Mapping[Flaw, Known[bool]] = field(default_factory=dict)
    """Whether each is there; one without an entry was not asked."""
    failure: str | None = None
    """Why it saw nothing at all. That says nothing of the endpoint: the witness may be blind or broken."""
