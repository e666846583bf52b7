"""What the inventory of certificates costs: ``python -m benchmarks.certificates [NUMBER]`` (50,000).

As many different certificates as asked for, leaves with RSA and ECDSA keys, in Secrets of a made-up
cluster. Prints CPU and peak memory of finding and parsing them, then of classifying them; making them is not counted.
"""

from __future__ import annotations

import base64
import resource
import sys
import time
from collections.abc import Iterator
from datetime import UTC, datetime

from scanner.demo.certificates import Authority
from scanner.model.kinds import SECRET
from scanner.model.objects import KubeObject
from scanner.model.pki_names import load_names
from scanner.model.snapshot import Origin, Snapshot
from scanner.pki import stored
from scanner.pki.classify import classify

_SERIAL = 0x1122334455667788


def main() -> int:
    """Exit code 0: a benchmark informs, it does not judge."""
    number = int(sys.argv[1]) if sys.argv[1:] else 50_000
    snapshot = Snapshot(
        taken_at=datetime.now(UTC),
        origin=Origin(name="made up"),
        objects=dict.fromkeys(stored.READS, ()) | {SECRET: tuple(_secrets(number))},
    )
    before = _peak()
    start = time.process_time()
    count = sum(1 for _ in stored.held(snapshot))
    parsed = time.process_time() - start
    names, kinds = load_names(), dict[str, int]()
    start = time.process_time()
    for each in stored.held(snapshot):
        category = classify(each, names).category
        kinds[category] = kinds.get(category, 0) + 1
    both = time.process_time() - start
    print(f"{count} certificates: found and parsed in {parsed:.1f} s of CPU, {parsed / count * 1e6:.0f} us each")
    print(f"classified as well: {both:.1f} s of CPU, {both / count * 1e6:.0f} us each: {kinds}")
    print(f"peak memory {_peak():.0f} MiB, {_peak() - before:.0f} MiB more than the objects took")
    return 0


def _secrets(number: int) -> Iterator[KubeObject]:
    """One for each certificate. They differ in the serial number, which is in the signed part: the signature is not
    theirs, and nobody verifies it here."""
    authority = Authority("Bench")
    templates = [
        authority.leaf(names=("web.example", "10.0.0.1"), key=key, serial=_SERIAL).der for key in ("rsa2048", "p256")
    ]
    mark = _SERIAL.to_bytes(8, "big")
    for each in range(number):
        der = templates[each % 2].replace(mark, (_SERIAL + each).to_bytes(8, "big"))
        body = base64.encodebytes(der).decode()
        pem = f"-----BEGIN CERTIFICATE-----\n{body}-----END CERTIFICATE-----\n".encode()
        metadata = {"name": f"tls-{each}", "namespace": f"team-{each % 200}"}
        raw = {"metadata": metadata, "data": {"tls.crt": base64.b64encode(pem).decode()}}
        yield KubeObject(raw, SECRET)


def _peak() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


if __name__ == "__main__":
    sys.exit(main())
