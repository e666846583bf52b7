"""Verify the served certificate as each configured client does, with the trust that its own object gives it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from scanner.judge import remediation, served
from scanner.judge.chain import objection
from scanner.judge.verdicts import Tally, Words, conclude, promised
from scanner.kube.maybe import Unknown
from scanner.model.certificate_faults import covers
from scanner.model.expectation import Client
from scanner.model.finding import Finding
from scanner.model.rule import Case, Rule


def check_callers(rule: Rule, case: Case) -> Iterator[Finding]:
    """Every client that an object configures can verify the certificate."""
    clients = case.expectation.certificate.clients
    if not clients:
        return
    seen: list[str] = []
    unknown: list[str] = []
    known: dict[tuple[object, ...], str | Unknown | None] = {}  # a thousand CRDs may have one conversion webhook
    for client in clients:
        key = (client.anchors, client.name, client.others, client.missing or (not client.anchors and client.source))
        if key not in known:
            known[key] = _wrong(client, case)
        wrong = known[key]
        if isinstance(wrong, Unknown):
            unknown.append(f"{client.who}: {wrong.reason}")
        elif wrong:
            seen.append(f"{client.who}, which trusts {client.source}: {wrong}")
    finding = conclude(
        rule,
        case,
        Tally(seen=tuple(seen), unknown=tuple(unknown)),
        Words(
            passed="every client that an object configures can verify the certificate",
            failed=f"the certificate cannot be verified by {_number(len(seen))} that an object configures",
            unclear="whether every client can verify the certificate could not be determined",
        ),
        expected=[f"a certificate that {client.who} can verify by {client.source}" for client in clients[:5]],
        fix="put the CA that signs the certificate into the field that holds this client's trust",
        reproduce=remediation.scan(case.endpoint),
    )
    # That nobody read somebody's CA is no doubt about the listener.
    nowhere = finding.verdict == "inconclusive" and all(f": {_NOT_HERE}" in each for each in unknown)
    yield replace(finding, severity="info") if nowhere else promised(finding)


_NOT_HERE = "its trust is not at hand: "


def _wrong(client: Client, case: Case) -> str | Unknown | None:
    """Why the client refuses what is served; None: it does not."""
    if client.missing:
        return Unknown(f"{_NOT_HERE}{client.missing}")
    if not client.anchors:
        return Unknown(f"{client.source} holds no certificate that can be read")
    objected = objection(case.observation.chain, client.anchors, case.now)
    leaves = served.leaf(case)
    if objected is not None or client.name is None or isinstance(leaves, Unknown):
        return objected
    covered = [covers(leaves[0], each) for each in (client.name, *client.others)]
    if True in covered:
        return None
    called = " or ".join(served.short(each) for each in (client.name, *client.others))
    return next((each for each in covered if isinstance(each, Unknown)), f"it is not valid for {called}")


def _number(count: int) -> str:
    return "a client" if count == 1 else f"{count} clients"


CALLERS = Rule(id="cert-clients", check=check_callers)
