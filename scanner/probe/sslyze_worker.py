"""The child process that runs sslyze: one JSON line in, one JSON line out, until standard input ends.

Started by file name, never imported by adhere: sslyze is heavy, blocks, leaks threads of an abandoned scan, and is
AGPL. So this module imports nothing of ours, and the parent turns names into code points. Output of sslyze is
discarded. If the parent ends (standard input ends), the process ends at once.
"""

from __future__ import annotations

import hashlib
import json
import os
import queue
import resource
import sys
import threading
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, TextIO

if TYPE_CHECKING:
    import sslyze

MEMORY = 2 << 30
"""Limit of address space in bytes: sslyze needs 120 MB; for a server that makes it need more there is no result."""
RETRIES = 1
"""Retries of a connection."""
TEXT = 300
"""Length limit of an error message."""


def main() -> None:
    """Serve requests until standard input ends."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    answers = _take_stdout()
    for request in _requests():
        try:
            answer = scan(request)
        except Exception as error:  # noqa: BLE001 - every failure becomes the answer
            answer = {"failure": _short(f"{type(error).__name__}: {error}")}
        answers.write(json.dumps(answer) + "\n")
        answers.flush()


def _take_stdout() -> TextIO:
    """Reserve standard output for the answers, and discard all other output."""
    ours = os.fdopen(os.dup(1), "w", encoding="ascii")
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    os.close(nowhere)
    return ours


def _requests() -> Iterator[dict[str, Any]]:
    """Iterate over requests. A thread reads them, so that the end of the input is noticed also during a scan."""
    waiting: queue.SimpleQueue[str] = queue.SimpleQueue()

    def read() -> None:
        for line in sys.stdin:
            waiting.put(line)
        os._exit(0)

    threading.Thread(target=read, daemon=True).start()
    while True:
        yield json.loads(waiting.get())


def scan(request: dict[str, Any]) -> dict[str, Any]:
    """Scan one server with sslyze. The answer has only JSON types, and names as sslyze writes them."""
    import sslyze  # noqa: PLC0415 - half a second, and after the limits are set

    to = sslyze.ServerScanRequest(
        server_location=sslyze.ServerNetworkLocation(
            hostname=request["name"], port=request["port"], ip_address=request["address"]
        ),
        network_configuration=sslyze.ServerNetworkConfiguration(
            tls_server_name_indication=request["name"],
            tls_opportunistic_encryption=(
                sslyze.ProtocolWithOpportunisticTlsEnum[request["starttls"]] if request["starttls"] else None
            ),
            network_timeout=request["timeout"],
            network_max_retries=RETRIES,
        ),
        scan_commands={sslyze.ScanCommand(command) for command in request["commands"]},
    )
    scanner = sslyze.Scanner(
        per_server_concurrent_connections_limit=request["connections"], concurrent_server_scans_limit=1
    )
    scanner.queue_scans([to])
    # list() waits for all results: otherwise sslyze leaks its threads.
    (result,) = list(scanner.get_results())
    return _answer(result, request["commands"])


def _answer(result: sslyze.ServerScanResult, commands: list[str]) -> dict[str, Any]:
    reached = result.connectivity_result
    if result.scan_result is None or reached is None:
        trace = result.connectivity_error_trace
        reason = list(trace.format_exception_only())[-1] if trace is not None else "no connection"
        return {"failure": _short(reason)}
    seen: dict[str, Any] = {}
    failed: dict[str, str] = {}
    for command in commands:
        attempt = getattr(result.scan_result, command)
        if attempt.result is None:
            failed[command] = _short(str(getattr(attempt.error_reason, "name", attempt.status)))
        else:
            seen[command] = _READ.get(command, _read_suites)(attempt.result)
    return {
        "highest": reached.highest_tls_version_supported.name,
        "client_auth": reached.client_auth_requirement.name,
        "seen": seen,
        "failed": failed,
    }


def _read_suites(result: sslyze.CipherSuitesScanResult) -> dict[str, list[str]]:
    """Read suites without timeouts: sslyze counts a timeout as rejected, but silence proves nothing."""
    return {
        "accepted": [each.cipher_suite.name for each in result.accepted_cipher_suites],
        "refused": [
            each.cipher_suite.name for each in result.rejected_cipher_suites if "timed out" not in each.error_message
        ],
    }


def _read_groups(result: sslyze.SupportedEllipticCurvesScanResult) -> dict[str, list[str]]:
    return {
        "accepted": [curve.name for curve in result.supported_curves or ()],
        "refused": [curve.name for curve in result.rejected_curves or ()],
    }


def _read_certificates(result: sslyze.CertificateInfoScanResult) -> list[str]:
    from cryptography.hazmat.primitives.serialization import Encoding  # noqa: PLC0415 - after the limits are set

    leaves = [deployment.received_certificate_chain[0] for deployment in result.certificate_deployments]
    return [hashlib.sha256(leaf.public_bytes(Encoding.DER)).hexdigest() for leaf in leaves]


_READ: dict[str, Callable[[Any], object]] = {
    "elliptic_curves": _read_groups,
    "certificate_info": _read_certificates,
    "heartbleed": lambda result: {"heartbleed": result.is_vulnerable_to_heartbleed},
    "robot": lambda result: {"robot": result.robot_result.name},
    "openssl_ccs_injection": lambda result: {"ccs-injection": result.is_vulnerable_to_ccs_injection},
    "session_renegotiation": lambda result: {
        "insecure-renegotiation": not result.supports_secure_renegotiation,
        "client-renegotiation": result.is_vulnerable_to_client_renegotiation_dos,
    },
    "tls_compression": lambda result: {"compression": result.supports_compression},
    "tls_fallback_scsv": lambda result: {"no-fallback-scsv": not result.supports_fallback_scsv},
}
"""Readers of the result of each command; all others are lists of suites."""


def _short(text: str) -> str:
    return " ".join(text.split())[:TEXT]


if __name__ == "__main__":
    main()
