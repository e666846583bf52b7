"""What an error carries to its reader."""

from __future__ import annotations

import pytest

from scanner.errors import InputError, ResourceError, ScannerError, UsageError


@pytest.mark.parametrize("kind", [InputError, ResourceError, ScannerError, UsageError])
def test_an_error_says_what_happened_and_what_to_do_next(kind: type[ScannerError]) -> None:
    error = kind("hosts.txt:3:1: no host", hint="host:port")
    assert isinstance(error, ScannerError)
    assert str(error) == error.message == "hosts.txt:3:1: no host"
    assert error.hint == "host:port"
    assert kind("clear").hint == ""
