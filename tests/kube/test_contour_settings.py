"""The file's spelling of what holds for all virtual hosts."""

from __future__ import annotations

import pytest

from scanner.errors import InputError
from scanner.kube.contour_settings import FILE, Settings, configured, settings
from scanner.kube.kinds import CONFIG_MAP, CONTOUR_CONFIGURATION, CONTOUR_DEPLOYMENT
from scanner.kube.objects import KubeObject

SAID: list[tuple[str, object]] = [
    ("'1.2'", "1.2"),
    ("1.2", "1.2"),
    ("1", "1"),
    ("true", True),
    ("null", None),
    ("[]", []),
]


def file(text: str) -> KubeObject:
    return KubeObject({"metadata": {"name": "contour"}, "data": {FILE: text}}, CONFIG_MAP)


def read(holder: KubeObject) -> Settings:
    found = settings(holder)
    assert found is not None
    return found


@pytest.mark.parametrize(("written", "value"), SAID)
def test_numbers_are_text(written: str, value: object) -> None:
    tls = read(file(f"tls: {{minimum-protocol-version: {written}, cipher-suites: [a], minimumProtocolVersion: x}}")).tls
    assert tls.minimum_protocol_version == value
    assert tls.maximum_protocol_version is None
    assert tls.cipher_suites == ("a",)


def test_secrets_and_switches_of_the_file() -> None:
    holder = file(
        "disablePermitInsecure: true\n"
        "tls: {fallback-certificate: {name: a, namespace: b}, envoy-client-certificate: {name: c, namespace: d}}"
    )
    found = read(holder)
    assert (str(found.fallback_certificate.secret), str(found.client_certificate.secret)) == (
        "Secret/b/a",
        "Secret/d/c",
    )
    assert found.disable_permit_insecure
    assert found.root_namespaces == ()
    same = configured(holder)
    assert same.kind == CONTOUR_CONFIGURATION
    assert read(same).raw == found.raw


def test_a_file_that_is_no_mapping_has_no_settings() -> None:
    for holder in (file("- a"), KubeObject({"data": {}}, CONFIG_MAP)):
        assert settings(holder) is None
        assert configured(holder) is holder
    assert read(file("")).fallback_certificate.secret is None


def test_a_file_that_cannot_be_read() -> None:
    holder = file("a: [")
    with pytest.raises(InputError):
        settings(holder)
    assert configured(holder) is holder


def test_the_steps_name_the_field_of_each_kind() -> None:
    spec = {"envoy": {"listener": {"tls": {"minimumProtocolVersion": "1.3"}}}}
    for kind, above in ((CONTOUR_CONFIGURATION, ()), (CONTOUR_DEPLOYMENT, ("runtimeSettings",))):
        inner = {above[0]: spec} if above else spec
        found = read(KubeObject({"spec": inner}, kind)).tls
        assert found.minimum_protocol_version == "1.3"
        assert found.steps == ("spec", *above, "envoy", "listener", "tls")
