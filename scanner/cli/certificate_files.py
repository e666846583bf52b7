"""Find certificates in files and directories, and what could not be read."""

from __future__ import annotations

import stat
from collections.abc import Iterator, Sequence
from pathlib import Path

from msgspec import Struct, field

from scanner.errors import InputError
from scanner.files.regular_file import NOT_REGULAR, content
from scanner.kube.maybe import Known, Unknown
from scanner.model.held_certificate import HeldCertificate, Place
from scanner.pki.containers import MAX_BYTES, Contained, Named, apart, contents, with_role

MAX_FILES = 100_000
"""Most files below one directory."""
MAX_DEPTH = 16
_SUFFIXES = (
    ".pem", ".crt", ".cer", ".cert", ".der", ".p12", ".pfx", ".jks", ".keystore", ".truststore", ".kubeconfig",
)  # fmt: skip
"""Suffixes of files that should contain a certificate: one without any is reported."""
_MAX_PASSWORD = 4096

Found = Iterator[Known[HeldCertificate]]


class Files(Struct):
    """Reader of certificates below paths."""

    passwords: Sequence[bytes] = ()
    """Passwords for PKCS #12."""
    links: list[str] = field(default_factory=list)
    """Symbolic links out of a directory, which are not followed."""
    _left: int = MAX_FILES

    def under(self, path: str) -> Found:
        """Yield the certificates of a file, or of every file below a directory; Unknown for each that cannot be read.

        Files of a directory without such a suffix are read too, but not reported if they are too large or have no
        certificate.
        """
        start = Path(path)
        if not stat.S_ISDIR(_mode(start, follow=True)):
            yield from self._file(start, expected=True)
            return
        found, self._left = False, MAX_FILES
        for each in self._walk(start, start, 0):
            for one in (each,) if isinstance(each, Unknown) else self._file(each, expected=_expected(each), root=start):
                found = True
                yield one
        if not found:
            yield Unknown(f"{path}: no file in this directory has a certificate")

    def _walk(self, directory: Path, root: Path, depth: int) -> Iterator[Path | Unknown]:
        try:
            paths = sorted(directory.iterdir())
        except OSError as error:
            yield Unknown(f"{directory}: cannot be listed: {error.strerror}")
            return
        for path in paths:
            mode = _mode(path)
            if stat.S_ISLNK(mode):
                self._link(path, root)
            elif stat.S_ISDIR(mode):
                yield from self._below(path, root, depth + 1)
            elif stat.S_ISREG(mode) or not mode:
                self._left -= 1
                if self._left < 0:
                    if self._left == -1:
                        yield Unknown(f"{root}: more than {MAX_FILES} files: the others were not read")
                    return
                yield path
            elif _expected(path):
                yield Unknown(f"{path}: {NOT_REGULAR}")

    def _below(self, directory: Path, root: Path, depth: int) -> Iterator[Path | Unknown]:
        if depth > MAX_DEPTH:
            yield Unknown(f"{directory}: not read, because it is more than {MAX_DEPTH} levels deep")
        else:
            yield from self._walk(directory, root, depth)

    def _link(self, path: Path, root: Path) -> None:
        """Record a link out of the directory. A link inside is not followed, because its target is found anyway."""
        try:
            inside = path.resolve().is_relative_to(root.resolve())
        except (OSError, RuntimeError):
            inside = False
        if not inside:
            self.links.append(str(path))

    def _file(self, path: Path, *, expected: bool, root: Path | None = None) -> Found:
        data = _bytes(path)
        if isinstance(data, Unknown):
            yield Unknown(f"{path}: {data.reason}")
            return
        if len(data) > MAX_BYTES and not expected:
            return
        found = contents(data, self.passwords)
        yield from (_placed(each, path) for each in found.certificates)
        if expected or found.format not in ("", "DER"):  # anything may begin as DER does
            yield from (Unknown(f"{path}: {problem}") for problem in found.problems)
        for named in found.files:
            yield from self._named(named, path, root)
        if expected and not (found.certificates or found.problems or found.files):
            if found.format != "key":
                yield Unknown(f"{path}: contains no certificate (PEM, DER, PKCS #12, JKS or kubeconfig)")
            elif root is None:
                yield Unknown(f"{path}: contains a private key and no certificate")

    def _named(self, named: Named, kubeconfig: Path, root: Path | None) -> Found:
        """Yield the certificates of a file that a kubeconfig names, unless it is outside of ``root``."""
        path = kubeconfig.parent / named.path
        where = f"{kubeconfig}: {named.label} refers to {path}"
        try:
            outside = root is not None and not path.resolve().is_relative_to(root.resolve())
        except (OSError, RuntimeError, ValueError):
            outside = True
        data = Unknown("it is outside of the directory") if outside else _bytes(path)
        if isinstance(data, Unknown):
            yield Unknown(f"{where}: {data.reason}")
            return
        found = contents(data)
        yield from (_placed(each, kubeconfig) for each in with_role(found.certificates, named.label, named.role))
        yield from (Unknown(f"{where}: {problem}") for problem in found.problems)
        if not (found.certificates or found.problems):
            yield Unknown(f"{where}: it contains no certificate")


def _placed(each: Contained, path: Path) -> HeldCertificate:
    place = Place(role=each.role, file=f"{path} {each.label}".rstrip())
    return apart(HeldCertificate(facts=each.facts, place=place, chain=each.chain))


def _expected(path: Path) -> bool:
    return path.name.lower().endswith(_SUFFIXES)


def _mode(path: Path, *, follow: bool = False) -> int:
    """Return the file mode, or 0 if it cannot be determined."""
    try:
        return path.stat(follow_symlinks=follow).st_mode
    except (OSError, ValueError):
        return 0


def _bytes(path: Path) -> Known[bytes]:
    """Read at most one byte more than a file may have."""
    try:
        return content(path, MAX_BYTES)
    except InputError as error:
        return Unknown(error.message.removeprefix(f"{path}: "))


def password(path: str) -> bytes:
    """Return the first line of a file. Raises ``InputError``."""
    data = _bytes(Path(path))
    if isinstance(data, Unknown):
        raise InputError(f"{path}: the password {data.reason}")
    line = data.split(b"\n", 1)[0].rstrip(b"\r")
    if len(line) > _MAX_PASSWORD:
        raise InputError(f"{path}: the password in the first line has more than {_MAX_PASSWORD} bytes")
    return line
