"""OpenSSL as an independent client, to verify the zoo's own claims."""

from __future__ import annotations

import os
import re
import subprocess
from dataclasses import dataclass

from tests.zoo import openssl
from tests.zoo.processes import program
from tests.zoo.truth import GROUPS, TLS13

_ALL13 = {
    0x1301: "TLS_AES_128_GCM_SHA256",
    0x1302: "TLS_AES_256_GCM_SHA384",
    0x1303: "TLS_CHACHA20_POLY1305_SHA256",
    0x1304: "TLS_AES_128_CCM_SHA256",
    0x1305: "TLS_AES_128_CCM_8_SHA256",
}
_LEVEL0 = "ALL:COMPLEMENTOFALL:!SRP:!PSK:@SECLEVEL=0"
_NO_AUTHORITIES = ("-no-CAfile", "-no-CApath", "-no-CAstore")
"""The certificate is not verified: reading the system's authorities is three quarters of the time of one run."""
_CHOSEN = re.compile(r"^New, \S+, Cipher is (?!\(NONE\))(\S+)", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Witness:
    """Asks one server by running ``openssl s_client`` once for each question."""

    address: str
    port: int
    server_name: str | None

    def suites(self, version: int) -> frozenset[int]:
        """Every suite that a client of this build gets at ``version``, found by leaving out what was chosen."""
        left = self.visible(version)
        found: set[int] = set()
        while left and (chosen := self._ask(version, left)) is not None:
            found |= {code for code, name in left.items() if name == chosen}
            left = {code: name for code, name in left.items() if name != chosen}
        return frozenset(found)

    def groups(self, version: int) -> frozenset[int]:
        """Every group of this build with which a handshake at ``version`` works, asked one by one."""
        known = (name for name in GROUPS if "MLKEM" not in name)
        return frozenset(GROUPS[name] for name in known if self._ask(version, self.visible(version), name) is not None)

    @staticmethod
    def visible(version: int) -> dict[int, str]:
        """Code and name of all suites that this client can offer."""
        return _ALL13 if version == TLS13 else openssl.names(version, _LEVEL0)

    def _ask(self, version: int, suites: dict[int, str], group: str = "") -> str | None:
        argv = [program("openssl") or "openssl", "s_client", "-connect", f"{self.address}:{self.port}"]
        argv += [f"-{openssl.FLAG[version]}", "-legacy_server_connect", *_NO_AUTHORITIES]
        argv += ["-servername", self.server_name] if self.server_name else ["-noservername"]
        spelled = ":".join(suites.values())
        argv += ["-ciphersuites", spelled] if version == TLS13 else ["-cipher", f"{spelled}:@SECLEVEL=0"]
        argv += ["-groups", group] if group else []
        run = subprocess.run(
            argv, input=b"", capture_output=True, timeout=20, check=False, env={**os.environ, **openssl.PLAIN}
        )
        chosen = _CHOSEN.search(run.stdout.decode(errors="replace"))
        return chosen[1] if chosen else None
