"""Made-up trees of /proc."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from scanner.values import replace

HEAD = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n"


def row(local: str, inode: int, state: str = "0A") -> str:
    """A line of /proc/net/tcp."""
    return (
        f"   0: {local} 00000000:0000 {state} 00000000:00000000 00:00000000 00000000     0        0 {inode} 1 0 100\n"
    )


@dataclass(frozen=True, kw_only=True)
class Made:
    """A process."""

    pid: int
    net: int = 1000
    comm: str = "server"
    cgroup: str = "0::/init.scope\n"
    sockets: tuple[int, ...] = ()
    tcp: tuple[str, ...] = field(default=())
    tcp6: tuple[str, ...] | None = ()


def in_networks(*processes: Made) -> tuple[Made, ...]:
    """The processes, each with the table of its whole network."""
    tables: dict[int, tuple[str, ...]] = {}
    for each in processes:
        tables[each.net] = (*tables.get(each.net, ()), *each.tcp)
    return tuple(replace(each, tcp=tables[each.net]) for each in processes)


def tree(place: Path, *processes: Made) -> str:
    """Write the processes below ``place``."""
    for each in processes:
        own = place / str(each.pid)
        for name in ("ns", "net", "fd"):
            (own / name).mkdir(parents=True)
        (own / "ns" / "net").symlink_to(f"net:[{each.net}]")
        (own / "comm").write_text(f"{each.comm}\n")
        (own / "cgroup").write_text(each.cgroup)
        (own / "net" / "tcp").write_text(HEAD + "".join(each.tcp))
        if each.tcp6 is not None:
            (own / "net" / "tcp6").write_text(HEAD + "".join(each.tcp6))
        (own / "fd" / "0").symlink_to("/dev/null")
        for number, inode in enumerate(each.sockets, start=3):
            (own / "fd" / str(number)).symlink_to(f"socket:[{inode}]")
    return str(place)
