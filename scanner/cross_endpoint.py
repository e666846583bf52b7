"""Rules that need all endpoints of a scan, for new and for saved scans."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from datetime import date
from itertools import chain

from msgspec import Struct, field

from scanner.jobs import Surroundings
from scanner.judge import CROSS_ENDPOINT_RULES, WAIVABLE, judgement
from scanner.judge.connection_coalescing import ConnectionCoalescing
from scanner.judge.passthrough import PassthroughBackends
from scanner.judge.replicas import Replicas
from scanner.judge.require import Outcome, required
from scanner.judge.waivers import WaiverLedger, names_one
from scanner.model.finding import Finding, outcome
from scanner.model.report import EndpointRow, FindingRow
from scanner.model.rule import AnyRule
from scanner.model.scan_policy import CustomRule, ScanPolicy
from scanner.report.rows import finding_of, finding_row
from scanner.values import replace


class CrossEndpoint(Struct):
    """State over the endpoints of a scan: used waivers, a digest of each replica, and served certificates."""

    policy: ScanPolicy
    ledger: WaiverLedger
    replicas: Replicas = field(default_factory=Replicas)
    passages: PassthroughBackends = field(default_factory=PassthroughBackends)
    sharing: ConnectionCoalescing = field(default_factory=ConnectionCoalescing)

    def on_endpoints(self) -> dict[str, Finding]:
        """Return findings that depend on other endpoints, by instance."""
        every = self.passages.findings()
        found = tuple((instance, each) for instance, one in every for each in self.policy.adjusted((one,)))
        waived = self.ledger.waive_across(finding for _, finding in found)
        return {instance: replace(each, about=None) for (instance, _), each in zip(found, waived, strict=True)}

    def findings(
        self,
        around: Surroundings,
        verdicts: Mapping[str, int],
        *,
        applied: Iterable[AnyRule | CustomRule],
        interrupted: str | None = None,
    ) -> tuple[tuple[Finding, ...], int]:
        """Return the cluster-wide findings, and the number of requirements that are inconclusive: those make a scan
        incomplete. Call it after ``on_endpoints``.

        ``verdicts``: counts of endpoints; ``applied``: the rules that judged them.
        """
        must = _required(self.policy, around, verdicts, interrupted)
        across = tuple(self._across([*applied, *CROSS_ENDPOINT_RULES], complete=interrupted is None))
        late = tuple(finding for each in around.late for finding in each())
        return (*around.findings, *late, *across, *must), sum(each.verdict == "inconclusive" for each in must)

    def _across(self, applied: Iterable[AnyRule | CustomRule], *, complete: bool) -> Iterator[Finding]:
        """Yield findings across endpoints, and on waivers."""
        found = (self.replicas.findings(), self.sharing.findings())
        yield from self.ledger.waive_across(self.policy.adjusted(chain.from_iterable(found)))
        yield from self.ledger.findings(
            rules=[each.id for each in applied if self.policy.level(each.id) != "off"], complete=complete
        )


def with_finding(row: EndpointRow, late: Finding | None) -> EndpointRow:
    """Judge ``row`` with one more finding."""
    return row if late is None else with_findings(row, [*row["findings"], finding_row(late)])


def with_findings(row: EndpointRow, findings: list[FindingRow]) -> EndpointRow:
    """Judge ``row`` with these findings."""
    judged = judgement(map(finding_of, findings))
    return {
        **row,
        "verdict": judged.verdict,
        "status": judged.status,
        "outcome": outcome(judged.verdict, judged.status),
        "findings": findings,
    }


def cross_endpoint(policy: ScanPolicy, today: date) -> CrossEndpoint:
    """Return the state before the first endpoint. Waivers are valid by ``today`` (UTC); those for lint are left out."""
    rules = (*WAIVABLE, *(each.id for each in policy.endpoint_rules))
    waivers = [each for each in policy.waivers if not each.selector.files and names_one(each, rules)]
    return CrossEndpoint(policy, WaiverLedger(waivers, today, across=[rule.id for rule in CROSS_ENDPOINT_RULES]))


def _required(
    policy: ScanPolicy, around: Surroundings, verdicts: Mapping[str, int], interrupted: str | None
) -> tuple[Finding, ...]:
    """Check the requirements of the policy on the scan."""
    outcome = Outcome(
        endpoints=sum(verdicts.values()) - verdicts.get("not_applicable", 0),
        inconclusive=verdicts.get("inconclusive", 0),
        strict=around.strict,
        adherence=around.adherence,
        interrupted=None if interrupted is None else f"the scan was stopped ({interrupted})",
        names_seen=tuple(around.names_seen()) if policy.require.pki_coverage else (),
    )
    return required(policy.require, outcome)
