"""Words of examples for what the second witness, sslyze, finds of a TLS implementation."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import get_args

from scanner.model.observation import Flaw, Opinion
from scanner.tls.codepoints import TLS13
from scanner.values import replace
from tests.judge.drafts import Draft, Word

SOUND = Opinion(witness="sslyze", highest=TLS13, flaws=dict.fromkeys(get_args(Flaw), False))

_FOUND: Mapping[str, tuple[Flaw, Mapping[str, bool]]] = {
    "heartbleed": ("heartbleed", {"vulnerable": True, "not vulnerable": False}),
    "robot": ("robot", {"vulnerable": True, "not vulnerable": False}),
    "earlyChangeCipherSpec": ("ccs-injection", {"accepted": True, "refused": False}),
    "secureRenegotiation": ("insecure-renegotiation", {"unsupported": True, "supported": False}),
    "clientRenegotiation": ("client-renegotiation", {"accepted": True, "refused": False}),
    "compression": ("compression", {"DEFLATE": True, "none": False}),
    "fallback": ("no-fallback-scsv", {"accepted": True, "refused": False}),
}
"""The word, what it is about, and which of its values is a flaw."""


def _found(flaw: Flaw, values: Mapping[str, bool], draft: Draft, value: str) -> None:
    opinion = draft.opinion or SOUND
    draft.opinion = replace(opinion, flaws={**opinion.flaws, flaw: values[value]})


WITNESSED: Mapping[str, Word] = {word: partial(_found, flaw, values) for word, (flaw, values) in _FOUND.items()}
