"""A target: what the user asked to be scanned, before its name is resolved."""

from __future__ import annotations

from dataclasses import dataclass

from scanner.model.endpoint import Transport, host_port


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """One ``TARGET`` of the command line or of a target file."""

    host: str
    """A DNS name (A-labels, lower case) or an IP address without brackets."""
    port: int
    transport: Transport = "tls"
    server_name: str | None = None
    """What to send as SNI: the fragment if there was one, else the host if it is a name, else None."""
    origin: str = "argument"
    """Where it was given: ``argument 2`` or ``targets.txt:3``."""

    @property
    def canonical(self) -> str:
        """The target in one spelling, its endpoint's id: ``tls://example.test:443``, SNI only where it differs."""
        fragment = f"#{self.server_name}" if self.server_name not in (None, self.host) else ""
        return f"{self.transport}://{host_port(self.host, self.port)}{fragment}"
