"""Cost of the certificate inventory: ``python -m benchmarks.certificates [NUMBER]`` (50,000).

As many different certificates as asked for, leaves with RSA and ECDSA keys, in Secrets of a made-up cluster: half of
them users', half of them etcd's, which its PKI object says should have other keys. Prints CPU and peak memory of
finding and parsing them, of judging them as well, and of writing each format; making them is not counted.
"""

from __future__ import annotations

import base64
import resource
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from functools import partial
from io import StringIO

from benchmarks.timing import timed
from scanner import metrics
from scanner.certificates import READS, Certificates
from scanner.demo.certificates import Authority
from scanner.kube.kinds import FEATURE_GATE, PKI, SECRET, Kind
from scanner.kube.objects import KubeObject
from scanner.kube.snapshot import Origin, Snapshot
from scanner.model.inventory import certificate_report
from scanner.model.report import Coverage, Report, ScannerRow, Summary
from scanner.pki import certificate_sources
from scanner.report import FORMATS
from scanner.report.rows import finding_row, timestamp

_SERIAL = 0x1122334455667788
_ASKED = {
    "metadata": {"name": "cluster", "creationTimestamp": "2026-01-01T00:00:00Z"},
    "spec": {"defaults": {"key": {"algorithm": "RSA", "rsa": {"keySize": 4096}}}},
}
_GATE = {
    "metadata": {"name": "cluster"},
    "status": {"featureGates": [{"version": "4.22.0", "enabled": [{"name": "ConfigurablePKI"}]}]},
}


def main() -> int:
    """Exit code 0: a benchmark informs, it does not judge."""
    number = int(sys.argv[1]) if sys.argv[1:] else 50_000
    snapshot = _snapshot(number)
    before = _peak()
    spent, count = timed(lambda: sum(1 for _ in certificate_sources.in_snapshot(snapshot)))
    print(f"{count} certificates: found and parsed in {spent:.1f} s of CPU, {spent / count * 1e6:.0f} us each")
    parsed = _peak()
    spent, report = timed(lambda: _judged(snapshot))
    assert report.certificates is not None
    print(f"judged as well: {spent:.1f} s of CPU, {spent / count * 1e6:.0f} us each: ", end="")
    print(", ".join(f"{status} {count}" for status, count in report.certificates.summary["statuses"].items()))
    kept = _peak() - parsed
    print(
        f"peak memory {_peak():.0f} MiB: {parsed - before:.0f} to parse them, {kept:.0f} to keep what is said of them"
    )
    for name, write in {**{each.name: each.write for each in FORMATS.values()}, "metrics": metrics.write}.items():
        out, held = _Counting(), _peak()
        spent, _ = timed(partial(write, report, out))
        print(f"{name}: {spent:.1f} s of CPU, {out.written / 1e6:.1f} MB, {_peak() - held:.0f} MiB more")
    return 0


class _Counting(StringIO):
    """Keeps nothing but how much was written."""

    written = 0

    def write(self, text: str, /) -> int:
        """Count it."""
        self.written += len(text)
        return len(text)


def _judged(snapshot: Snapshot) -> Report:
    """The report of a scan that has found no listener."""
    found, now = Certificates(snapshot), datetime.now(UTC)
    findings = [finding_row(each) for each in found.findings()]
    summary = Summary()
    summary.add_findings(findings)
    return Report(
        scanner=ScannerRow(name="adhere", version="0", mode="inventory", profile="", arguments=[]),
        started=timestamp(now),
        finished=timestamp(now),
        cluster={"name": "made up"},
        coverage=Coverage(endpoints=0, judged=0, not_judged=0, interrupted=None, complete=True),
        rules=[],
        summary=summary,
        findings=findings,
        rows=lambda: iter(()),
        certificates=certificate_report(found.rows, [found.configuration()], now),
    )


def _snapshot(number: int) -> Snapshot:
    objects: dict[Kind, tuple[KubeObject, ...]] = dict.fromkeys((*READS, SECRET), ())
    objects |= {PKI: (KubeObject(_ASKED, PKI),), FEATURE_GATE: (KubeObject(_GATE, FEATURE_GATE),)}
    objects[SECRET] = tuple(_secrets(number))
    return Snapshot(taken_at=datetime.now(UTC), origin=Origin(name="made up"), objects=objects)


def _secrets(number: int) -> Iterator[KubeObject]:
    """One Secret per certificate. They differ in the serial number, which is in the signed part: the signatures are
    invalid, but nothing verifies them."""
    authority = Authority("Bench")
    templates = [
        authority.leaf(names=("web.example", "10.0.0.1"), key=key, serial=_SERIAL).der for key in ("rsa2048", "p256")
    ]
    mark = _SERIAL.to_bytes(8, "big")
    for each in range(number):
        der = templates[each // 2 % 2].replace(mark, (_SERIAL + each).to_bytes(8, "big"))
        body = base64.encodebytes(der).decode()
        pem = f"-----BEGIN CERTIFICATE-----\n{body}-----END CERTIFICATE-----\n".encode()
        users = {"name": f"tls-{each}", "namespace": f"team-{each % 200}"}
        etcds = {"name": f"etcd-serving-{each}", "namespace": "openshift-etcd"}
        raw = {"metadata": etcds if each % 2 else users, "data": {"tls.crt": base64.b64encode(pem).decode()}}
        yield KubeObject(raw, SECRET)


def _peak() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


if __name__ == "__main__":
    sys.exit(main())
