"""``adhere tls-scanner``: a call of openshift/tls-scanner as one of ``adhere scan``.

Flags are those of its ``cmd/tls-scanner/main.go`` (releases of 2026). One that adhere cannot follow is refused, unless
it only changes what is logged or makes the scan smaller.
"""

from __future__ import annotations

import shlex
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import click

from scanner.cli.shared_options import QUIET, refuse_empty
from scanner.cli.streams import note
from scanner.errors import UsageError
from scanner.report.escape import plain

_SWITCHES = {
    "all-pods": "--cluster",
    "pqc-check": "--require postQuantum, in addition to the profile",
    "dry-run": "--dry-run",
}
_VALUES = {
    "namespace-filter": ("NS[,NS]...", "--namespace"),
    "component-filter": ("NAME[,NAME]...", "--include component=NAME"),
    "exclude-labels": ("KEY=VALUE[,...]", "--exclude label=KEY=VALUE"),
    "targets": ("HOST:PORT[,...]", "the targets; it overrides -all-pods, and both override -host"),
    "host": ("HOST", "the target  [default: 127.0.0.1]"),
    "port": ("PORT", "the port of -host  [default: 443]"),
    "starttls-ports": ("PROTOCOL=PORT[:PORT]...", "PROTOCOL://HOST:PORT"),
    "sni-hostname": ("NAME", "--sni"),
    "tls-profile-type": ("NAME", "--profile NAME; with -all-pods an override in a policy"),
    "artifact-dir": ("DIR", "--compat tls-scanner=DIR"),
    "json-file": ("results.json", "the name in DIR, no other"),
    "csv-file": ("results.csv", "the name in DIR, no other"),
    "junit-file": ("junit_tls_scan.xml", "the name in DIR, no other"),
    "j": ("N", "--concurrency"),
    "connect-timeout": ("S", "--timeout"),
    "scan-timeout-per-target": ("S", "--deadline"),
    "limit-ips": ("N", "not used: all listeners are scanned"),
    "log-file": ("FILE", "not used: progress is on stderr"),
    "log-level": ("LEVEL", "not used: progress is on stderr"),
    "timing-file": ("FILE", "not used: the JSON report has the durations"),
    "template": ("FILE", "refused: write each HOST:PORT on a line of a file for adhere scan --targets"),
    "generate-template": ("FILE", "refused: adhere scan --targets reads a HOST:PORT from each line"),
    "expected-groups": ("NAME[,NAME]...", "refused: use -pqc-check or a custom rule"),
    "expected-groups-mode": ("MODE", "refused: use -pqc-check or a custom rule"),
    "attestation-file": ("FILE", "refused: sign the report of adhere scan --format json"),
}
_HELP = {**_SWITCHES, **{name: becomes for name, (_, becomes) in _VALUES.items()}}
_FILTERS = ("namespace-filter", "component-filter", "exclude-labels")
_POLICY = """apiVersion: adhere/v1
kind: ScanPolicy
overrides:
  - select: {{endpoints: ["*"]}}
    profile: {}
    justification: -tls-profile-type
"""
_TRUE, _FALSE = ("1", "t", "T", "TRUE", "true", "True"), ("0", "f", "F", "FALSE", "false", "False")


class _Call(click.Command):
    """Takes Go's spelling of flags: ``-targets``, ``-all-pods=true``."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse the arguments."""
        found = []
        for each in args:
            name, _, value = each.lstrip("-").partition("=")
            if name in _SWITCHES and value in _TRUE:
                found.append(f"--{name}")
            elif name not in _SWITCHES or value not in _FALSE:
                long = each.startswith("-") and name in (*_HELP, "help")
                found.append(f"--{each.lstrip('-')}" if long else each)
        return super().parse_args(ctx, found)


@click.command(
    "tls-scanner",
    cls=_Call,
    params=[
        *(click.Option([f"--{name}"], is_flag=True, help=becomes) for name, becomes in _SWITCHES.items()),
        *(click.Option([f"--{name}"], metavar=value, help=becomes) for name, (value, becomes) in _VALUES.items()),
    ],
)
@QUIET
@click.pass_context
def tls_scanner(context: click.Context, /, quiet: bool, **values: Any) -> int:  # noqa: ANN401, FBT001 - as click does
    """Scan with the flags of openshift/tls-scanner, and print the same call of adhere scan first.

    Each flag has beside it what it becomes in adhere scan. Verdicts and exit codes are those of adhere scan, and its
    variables in the environment apply: docs/migrate-tls-scanner.md.
    """
    flags = {name.replace("_", "-"): value for name, value in values.items() if value not in (None, False)}
    refuse_empty({f"-{name}": value for name, value in flags.items() if name not in _FILTERS})
    for name in flags:
        if _HELP[name].startswith("refused: "):
            raise UsageError(f"-{name} has no equivalent in adhere", hint=_HELP[name].removeprefix("refused: "))
        if _HELP[name].startswith("not used: "):
            note(f"adhere: -{name} is {_HELP[name]}")
    profile = flags.get("tls-profile-type", "").lower()
    if profile not in ("", "old", "intermediate", "modern"):
        raise UsageError("-tls-profile-type: unknown profile", hint="write Old, Intermediate or Modern")
    cluster = "all-pods" in flags and "targets" not in flags
    scan = ["scan", *_options(flags), *(["--quiet"] if quiet else []), *(_pods(flags) if cluster else [])]
    main = context.find_root().command.main
    if not (profile and cluster):
        scan += [] if cluster else [*([f"--profile={profile}"] if profile else []), *_targets(flags)]
        note(plain(f"adhere: the same scan: adhere {shlex.join(scan)}"))
        return int(main(scan, prog_name="adhere", standalone_mode=False))
    policy = _POLICY.format(profile)
    note(f"adhere: the same scan:\ncat >adhere.yaml <<'END'\n{policy}END")
    note(plain(f"adhere {shlex.join(scan)} --policy adhere.yaml"))
    with TemporaryDirectory() as directory:
        path = Path(directory) / "adhere.yaml"
        path.write_text(policy, encoding="utf-8")
        return int(main([*scan, "--policy", str(path)], prog_name="adhere", standalone_mode=False))


def _options(flags: dict[str, str]) -> list[str]:
    """Return the options that do not depend on what is scanned. Raises ``UsageError``."""
    found = [_HELP[name].split(",")[0].replace(" ", "=") for name in ("pqc-check", "dry-run") if name in flags]
    for name in ("j", "connect-timeout", "scan-timeout-per-target"):
        if flags.get(name, "0") != "0":  # -j 0 is the default
            found.append(f"{_HELP[name]}={flags[name]}")
    files = [name for name in ("json-file", "csv-file", "junit-file") if name in flags]
    for name in files:
        if flags[name] != (written := _VALUES[name][0]):
            raise UsageError(f"-{name}: adhere writes {written}", hint=f"-{name} {written}, and rename it afterwards")
    if files or "artifact-dir" in flags:
        found.append(f"--compat=tls-scanner={flags.get('artifact-dir', '/tmp')}")  # noqa: S108 - tls-scanner's default
    return found


def _pods(flags: dict[str, str]) -> list[str]:
    """Return the options that select listeners of the cluster. Raises ``UsageError``."""
    from scanner.discover.hints import transport  # noqa: PLC0415 - a help text does not need it

    if "sni-hostname" in flags:
        hint = "remove it: adhere sends the names that the cluster's objects give to a listener"
        raise UsageError("-sni-hostname is for targets", hint=hint)
    for port, protocol in _starttls(flags).items():
        if transport(int(port), "") != protocol:
            hint = f"set appProtocol: {protocol} at that port of the Service, and remove it here"
            raise UsageError(
                f"-starttls-ports: in a cluster, adhere does not take {protocol} at port {port}", hint=hint
            )
    found = ["--cluster"]
    for name, option, key in zip(
        _FILTERS, ("namespace", "include", "exclude"), ("", "component=", "label="), strict=True
    ):
        if each := _split(flags.get(name, "")):
            found.append(f"--{option}={','.join(f'{key}{one}' for one in each)}")
    return found


def _targets(flags: dict[str, str]) -> list[str]:
    """Return the targets, and their options. Raises ``UsageError``."""
    if unused := [f"-{name}" for name in _FILTERS if name in flags]:
        raise UsageError(f"{', '.join(unused)}: only for pods", hint="add -all-pods without -targets, or remove it")
    starttls, found = _starttls(flags), ["--"]
    for each in _split(flags.get("targets", f"{flags.get('host', '127.0.0.1')}:{flags.get('port', '443')}")):
        host, _, port = each.rpartition(":")
        bare = ":" in host and not {"[", "/"} & set(host)
        protocol = starttls.get(port)
        found.append((f"{protocol}://" if protocol else "") + (f"[{host}]:{port}" if bare else each))
    return [f"--sni={flags['sni-hostname']}", *found] if "sni-hostname" in flags else found


def _starttls(flags: dict[str, str]) -> dict[str, str]:
    """Return the protocol of each port in ``-starttls-ports``. Raises ``UsageError``."""
    from scanner.probe.starttls import DEFAULT_PORTS  # noqa: PLC0415 - a help text does not need it

    found: dict[str, str] = {}
    for each in _split(flags.get("starttls-ports", "")):
        protocol, _, ports = each.partition("=")
        valid = all(port.isdecimal() and len(port) < 6 for port in ports.split(":"))
        if protocol not in DEFAULT_PORTS or protocol == "tls" or not valid:
            known = ", ".join(name for name in DEFAULT_PORTS if name != "tls")
            raise UsageError(f"-starttls-ports: unknown '{plain(each, 60)}'", hint=f"PROTOCOL=PORT; protocols: {known}")
        found.update(dict.fromkeys(ports.split(":"), protocol))
    return found


def _split(value: str) -> list[str]:
    return [each for part in value.split(",") if (each := part.strip())]
