"""What we cannot do, said so that the reader knows what to do next.

What a *peer* does is an observation, never an exception (``docs/design.md``). These are raised for what the user
gave us or for what this machine cannot do; the CLI prints ``message`` and ``hint`` on one line each and exits 2.
"""

from __future__ import annotations


class ScannerError(Exception):
    """Base of everything that adhere raises on purpose.

    ``message`` says what happened and where (file:line:column, object and field, or address);
    ``hint`` says what to do next, or is empty when the message already does.
    """

    def __init__(self, message: str, *, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint


class UsageError(ScannerError):
    """The command line asks for something that does not exist or contradicts itself. Exit 2."""


class InputError(ScannerError):
    """A file or value that the user gave cannot be read or is not valid. Exit 2.

    ``message`` starts with ``file:line:column:`` where there is a file.
    """


class ResourceError(ScannerError):
    """This machine cannot do what was asked (no such program, no descriptors left, disk full). Exit 2."""


class ClusterError(ScannerError):
    """A cluster's API cannot be reached, does not let us in, or does not speak as one. Exit 2."""
