"""The file's spelling of what holds for all virtual hosts."""

from __future__ import annotations

import pytest

from scanner.kube.objects import Fields
from scanner.model.contour_file import tls_of_file

SAID: list[tuple[object, object]] = [("1.2", "1.2"), (1.2, "1.2"), (1, "1"), (True, True), (None, None), ([], [])]


@pytest.mark.parametrize(("written", "read"), SAID)
def test_numbers_are_text(written: object, read: object) -> None:
    found = tls_of_file(
        Fields({"minimum-protocol-version": written, "cipher-suites": ["a"], "minimumProtocolVersion": "x"})
    )
    assert found.at("minimumProtocolVersion") == read
    assert found.at("maximumProtocolVersion") is None
    assert found.texts("cipherSuites") == ("a",)
