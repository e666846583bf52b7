"""Whether the private key in a Secret is that of its certificate. Pure: reading the Secret compared them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from scanner.kube.kinds import SECRET
from scanner.model.finding import Finding
from scanner.model.rule import ScanRule
from scanner.pki.configuration import Configuration

MOST: Final = 100
"""Secrets that are told of one by one: every tenant may write as many as he likes."""


def check_pairs(rule: ScanRule, about: Configuration) -> Iterator[Finding]:
    """The private key in a Secret belongs to the certificate beside it.

    ## What it requires

    Of each Secret that was read, `tls.key` has the public key of the first certificate in `tls.crt`. The key is looked
    at when the Secret is read, and dropped; what stays is the answer.

    ## Why

    No server can serve with such a pair. One that has loaded an earlier one goes on until it is started again, and then
    fails, or falls back to a certificate of its own.

    ## What fails

    Another key: high.

    ## What is inconclusive

    Nothing: of a Secret without a key, with one that is encrypted, or without a certificate in PEM there is nothing to
    compare.

    ## Example that fails

    ```yaml
    apiVersion: v1
    kind: Secret
    metadata: {name: web-tls, namespace: shop}
    data:
      tls.crt: CERTIFICATE(web.shop.example)
      tls.key: KEY(another.example)
    ```

    ## Example that passes

    ```yaml
    apiVersion: v1
    kind: Secret
    metadata: {name: web-tls, namespace: shop}
    data:
      tls.crt: CERTIFICATE(web.shop.example)
      tls.key: KEY(web.shop.example)
    ```

    ## How to fix

    Let whoever made the Secret make it again: of the platform's own, delete it; of others, write both parts at once.
    """
    secrets = about.snapshot.objects.get(SECRET, ())
    wrong = [each for each in secrets if each.at("adhere", "keyMatches") is False]
    for number, each in enumerate(wrong[:MOST], start=1):
        more = f" (and {len(wrong) - MOST} more Secrets like it)" if number == MOST < len(wrong) else ""
        yield rule.finding(
            str(each.reference),
            f"{each.reference}: tls.key is not the key of the certificate in tls.crt{more}",
            f"let whoever made {each.reference} make it again, both parts at once",
        )


PAIRS = ScanRule(
    id="pki-key-pair",
    title="Private keys in Secrets belong to their certificates",
    severity="high",
    check=check_pairs,
    references=("kubernetes.io, Secrets, TLS Secrets",),
)
