"""Errors of adhere, with a hint.

The behaviour of a *peer* is an observation, never an exception (``docs/design.md``). These errors are about the user's
input or this machine; the CLI prints ``message`` and ``hint`` on one line each and exits 2.
"""

from __future__ import annotations


class ScannerError(Exception):
    """Base of all errors that adhere raises on purpose.

    ``message``: what happened and where (file:line:column, object and field, or address). ``hint``: what to do next, or
    empty.
    """

    def __init__(self, message: str, *, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint


class UsageError(ScannerError):
    """The command line is contradictory or has an unknown value. Exit 2."""


class InputError(ScannerError):
    """A file or value of the user cannot be read or is invalid. Exit 2.

    ``message`` begins with ``file:line:column:`` if there is a file.
    """


class ResourceError(ScannerError):
    """This machine cannot do it: no such program, no descriptors, disk full. Exit 2."""


class ClusterError(ScannerError):
    """A cluster's API is unreachable, refuses access, or is no Kubernetes API. Exit 2."""
