"""Whether the private key in a Secret is that of its certificate. Pure: reading the Secret compared them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from scanner.kube.kinds import SECRET
from scanner.kube.secrets import Secret
from scanner.model.finding import Finding
from scanner.model.rule import ScanRule
from scanner.pki.configuration import Configuration

MOST: Final = 100
"""Secrets that are told of one by one: every tenant may write as many as he likes."""


def check_pairs(rule: ScanRule, about: Configuration) -> Iterator[Finding]:
    """The private key in a Secret belongs to the certificate beside it."""
    secrets = about.snapshot.objects.get(SECRET, ())
    wrong = [each for each in secrets if Secret.of(each).key_matches is False]
    for number, each in enumerate(wrong[:MOST], start=1):
        more = f" (and {len(wrong) - MOST} more Secrets like it)" if number == MOST < len(wrong) else ""
        yield rule.finding(
            str(each.reference),
            f"{each.reference}: tls.key is not the key of the certificate in tls.crt{more}",
            f"let the owner of {each.reference} create it again, key and certificate together",
        )


PAIRS = ScanRule(
    id="pki-key-pair",
    check=check_pairs,
)
