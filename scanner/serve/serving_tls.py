"""The exporter's own TLS: the certificate of a mounted Secret, and the cluster's profile.

Both change while it runs: new connections get the new ones. OpenShift renews the Secret of a Service
(``service.beta.openshift.io/serving-cert-secret-name``), and the kubelet replaces the mounted files.
"""

from __future__ import annotations

import ssl
from collections.abc import Callable
from pathlib import Path

from msgspec import Struct, field

from scanner.errors import InputError
from scanner.expect import Expectations
from scanner.kube.profile_catalogue import load_profile
from scanner.kube.tls_profile import Profile
from scanner.tls.codepoints import TLS12, TLS13
from scanner.tls.names import is_tls13, openssl_name

_VERSIONS = {TLS12: ssl.TLSVersion.TLSv1_2, TLS13: ssl.TLSVersion.TLSv1_3}


def required_profile(expectations: Expectations) -> Profile:
    """Return the profile of a layered product's listener.

    The cluster's profile if ``tlsAdherence`` requires it of all components, or if the user chose one for a cluster that
    sets none; else, and if it is unknown, Mozilla's or OpenShift's Intermediate.
    """
    authority = expectations.facts.cluster
    strict = authority.adherence is not None and authority.adherence.strict
    if strict or not authority.platform:
        found = authority.declared().profile
        if isinstance(found, Profile):
            return found
    return load_profile("intermediate")


class ServingTls(Struct):
    """Settings for new connections, renewed when the files or the profile change."""

    certificate: Path
    key: Path
    notice: Callable[[str], None] = lambda _: None
    """Gets a line if new files cannot be used: the former certificate is served."""
    profile: Profile = field(default_factory=lambda: load_profile("modern"))
    """Before the cluster is read the strictest, so that no profile is violated."""
    _context: ssl.SSLContext | None = None
    _made_of: object = None

    def context(self) -> ssl.SSLContext:
        """Return the settings. Raises ``InputError`` if there never was a usable certificate."""
        current = _stamp(self.certificate), _stamp(self.key), self.profile
        if self._context is not None and current == self._made_of:
            return self._context
        try:
            self._context = _made(self.certificate, self.key, self.profile)
        except (OSError, ValueError) as error:  # ssl.SSLError is an OSError
            said = getattr(error, "reason", None) or getattr(error, "strerror", None) or str(error)
            if self._context is None:
                what = f"{self.certificate} and {self.key}: cannot serve with this certificate and key: {said}"
                raise InputError(what, hint="both are PEM files, and belong together") from None
            _follow(self._context, self.profile)
            if current != self._made_of:
                self.notice(f"{self.certificate}: kept the former certificate: {said}")
        self._made_of = current
        return self._context


def _stamp(path: Path) -> tuple[int, ...]:
    try:
        found = path.stat()
    except OSError:
        return ()
    return found.st_ino, found.st_mtime_ns, found.st_size


def _made(certificate: Path, key: Path, profile: Profile) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.keylog_filename = None  # type: ignore[assignment] # SSLKEYLOGFILE of the environment
    _follow(context, profile)
    context.options |= ssl.OP_NO_RENEGOTIATION | ssl.OP_NO_COMPRESSION | ssl.OP_CIPHER_SERVER_PREFERENCE
    context.load_cert_chain(certificate, key, password=b"")  # an encrypted key must not ask the terminal
    return context


def _follow(context: ssl.SSLContext, profile: Profile) -> None:
    """Set the versions and suites for new connections."""
    suites = [name for code in profile.suites if not is_tls13(code) and (name := openssl_name(code))]
    known = [name for name in suites if _is_known(name)]
    # Without a suite for TLS 1.2, OpenSSL would use its own list. TLS 1.1 is never needed by a client of metrics.
    lowest = max(profile.min_version, TLS12) if known else TLS13
    context.minimum_version = _VERSIONS[lowest]
    if known:
        context.set_ciphers(":".join(known))


def _is_known(name: str) -> bool:
    """True if this OpenSSL has the suite."""
    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).set_ciphers(name)
    except ssl.SSLError:
        return False
    return True
