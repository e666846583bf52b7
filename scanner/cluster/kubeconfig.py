"""Kubeconfig files: found and merged as kubectl does it, every value remembered with the place where it stands.

The order (kubernetes.io, "Organizing Cluster Access Using kubeconfig Files"): ``--kubeconfig`` alone; else the files of
KUBECONFIG, of which missing ones are passed over; else ~/.kube/config. Of entries with the same name the first file's
is used, whole. Paths in a file are relative to it.
"""

from __future__ import annotations

import base64
import binascii
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, NoReturn

from scanner.errors import InputError
from scanner.files.problems import did_you_mean
from scanner.files.source_positions import Located, Steps, dotted, shown
from scanner.files.yaml_values import read
from scanner.kube.objects import Fields

MAX_BYTES = 16 << 20
"""Of one file: those with the certificates of some hundred clusters have a few megabytes."""
MAX_FILE = 1 << 20
"""Of a certificate or key that a kubeconfig names."""

Section = Literal["contexts", "clusters", "users"]
_BODY: dict[Section, str] = {"contexts": "context", "clusters": "cluster", "users": "user"}


@dataclass(frozen=True, slots=True)
class Entry:
    """One named context, cluster or user."""

    document: Located
    steps: Steps
    """To what is in it."""
    what: str
    """``user 'admin'``."""

    @property
    def fields(self) -> Fields:
        """Its values."""
        value = self.document.get(self.steps)
        return Fields(value if isinstance(value, dict) else {})

    def at(self, *steps: str | int) -> str:
        """``file:line:column: user 'admin'``, for error messages."""
        return f"{self.document.position((*self.steps, *steps))}: {self.what}"

    def refuse(self, name: str, what: str, hint: str = "") -> NoReturn:
        """Raises ``InputError`` about the field ``name``."""
        raise InputError(f"{self.at(name)}: {name} {what}", hint=hint)

    def path(self, name: str) -> Path | None:
        """The file that the field names."""
        value = self.fields.text(name)
        return Path(self.document.file).parent / value if value else None

    def data(self, name: str) -> bytes | None:
        """What ``name-data`` says in base64, else the content of the file ``name``. Raises ``InputError``."""
        text = self.fields.text(f"{name}-data")
        if text:
            try:
                return base64.b64decode("".join(text.split()), validate=True)
            except (binascii.Error, ValueError):
                self.refuse(f"{name}-data", "is not base64", f"a file's name belongs into {name}")
        path = self.path(name)
        return self._content(name, path) if path else None

    def _content(self, name: str, path: Path) -> bytes:
        try:
            with path.open("rb") as file:
                data = file.read(MAX_FILE + 1)
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or error
            self.refuse(name, f"names {path}, which cannot be read: {reason}")
        if len(data) > MAX_FILE:
            self.refuse(name, f"names {path}, which is larger than {MAX_FILE >> 10} KiB")
        return data


@dataclass(frozen=True, slots=True)
class Kubeconfig:
    """The files that count, in their order."""

    files: tuple[Located, ...]

    @property
    def name(self) -> str:
        """The files' names, for error messages."""
        return os.pathsep.join(each.file for each in self.files)

    @property
    def current(self) -> str:
        """The first ``current-context``, or "" where no file has one."""
        return next(filter(None, (_text(file, "current-context") for file in self.files)), "")

    def names(self, section: Section) -> tuple[str, ...]:
        """The names of a section's entries, each once."""
        return tuple(dict.fromkeys(name for _, _, name in self._entries(section)))

    def entry(self, section: Section, name: str, origin: str) -> Entry:
        """The entry of that name. Raises ``InputError``; ``origin`` says who asks for it."""
        body = _BODY[section]
        for document, index, found in self._entries(section):
            if found == name:
                return Entry(document, (section, index, body), f"{body} {shown(name)}")
        hint = did_you_mean(name, self.names(section))
        raise InputError(f"{origin}: there is no {body} {shown(name)} in {self.name}", hint=hint)

    def _entries(self, section: Section) -> Iterator[tuple[Located, int, str]]:
        for document in self.files:
            entries = document.get((section,))
            for index, entry in enumerate(entries if isinstance(entries, list) else ()):
                name = entry.get("name") if isinstance(entry, dict) else None
                if isinstance(name, str | int):
                    yield document, index, str(name)


def load(given: str | None, environment: Mapping[str, str]) -> Kubeconfig | None:
    """The kubeconfig that counts, or None where there is none. Raises ``InputError``."""
    if given is not None:
        return Kubeconfig((_file(given),))
    named = [part for part in environment.get("KUBECONFIG", "").split(os.pathsep) if part]
    home = environment.get("HOME")
    paths = named or ([str(Path(home, ".kube", "config"))] if home else [])
    files = tuple(_file(path) for path in dict.fromkeys(paths) if Path(path).exists())
    if not files and named:
        raise InputError(
            f"KUBECONFIG names {os.pathsep.join(named)}, which does not exist", hint="unset it, or correct it"
        )
    return Kubeconfig(files) if files else None


def _file(path: str) -> Located:
    document = read(path, MAX_BYTES)
    if not isinstance(document.value, dict | None):
        raise InputError(f"{document.position()}: a kubeconfig is a mapping, not {shown(document.value)}")
    kind = document.get(("kind",))
    if kind not in (None, "", "Config"):
        raise InputError(f"{document.position(('kind',))}: this is a {shown(kind)}, not a kubeconfig (kind: Config)")
    for section in _BODY:
        if not isinstance(document.get((section,)), list | None):
            raise InputError(f"{document.position((section,))}: {dotted((section,))} must be a list")
    return document


def _text(document: Located, name: str) -> str:
    value = document.get((name,))
    return value if isinstance(value, str) else ""
