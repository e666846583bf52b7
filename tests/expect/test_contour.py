"""Which settings Contour applies to all virtual hosts."""

from __future__ import annotations

from typing import Any

import pytest

from scanner.expect.authority import Wishes
from scanner.expect.contour import Everywhere, everywhere
from scanner.expect.facts import Facts
from scanner.model.components import Catalogue
from scanner.model.scan_policy import ScanPolicy
from tests.expect.declared_objects import made
from tests.expect.stories import snapshot_of

GAP = {"contourconfigurations.projectcontour.io": "HTTP 403"}


def configuration(name: str, namespace: str, *, envoys: str = "") -> dict[str, Any]:
    spec = {"envoy": {"service": {"namespace": envoys}}} if envoys else {}
    return made("ContourConfiguration", namespace, name, "projectcontour.io/v1alpha1", spec=spec)


def pod(*arguments: str, command: str = "contour", namespace: str = "edge", name: str = "contour-1") -> dict[str, Any]:
    container = {"name": "contour", "command": [command], "args": list(arguments)}
    return made("Pod", namespace, name, spec={"containers": [container]})


def config_map(**data: str) -> dict[str, Any]:
    return made("ConfigMap", "projectcontour", "contour", data=data)


def found(namespace: str | None, *objects: dict[str, Any], **more: Any) -> Everywhere:  # noqa: ANN401 - as snapshot_of
    facts = Facts(snapshot_of(list(objects), **more), Catalogue(), ScanPolicy(), (), Wishes())
    return everywhere(facts, namespace)


ONE, OTHER = configuration("one", "edge"), configuration("two", "apart")
NAMED = pod("serve", "--contour-config-name=one")
FILED = pod("serve", "--config-path=/config/contour.yaml", namespace="projectcontour")
FILE = config_map(**{"contour.yaml": "tls: {minimum-protocol-version: '1.3'}"})


@pytest.mark.parametrize(
    ("namespace", "objects", "source"),
    [
        (None, [OTHER], "ContourConfiguration/apart/two"),
        ("edge", [ONE, OTHER], "ContourConfiguration/edge/one"),
        ("edge", [OTHER, configuration("far", "far", envoys="edge")], "ContourConfiguration/far/far"),
        ("edge", [ONE, configuration("two", "edge"), NAMED], "ContourConfiguration/edge/one"),
        ("edge", [ONE, pod("serve", "--contour-config-name", "one")], "ContourConfiguration/edge/one"),
        ("edge", [ONE, pod("serve", command="/bin/contour")], ""),  # its own defaults
        ("edge", [ONE, pod("serve", "--contour-config-name=two", namespace="apart")], "ContourConfiguration/edge/one"),
        ("edge", [ONE, pod("serve", "--contour-config-name=two", command="other")], "ContourConfiguration/edge/one"),
        ("edge", [ONE, pod("bootstrap", "--contour-config-name=two")], "ContourConfiguration/edge/one"),
        ("projectcontour", [configuration("one", "projectcontour"), FILED, FILE], "ConfigMap/projectcontour/contour"),
        ("projectcontour", [FILE], "ConfigMap/projectcontour/contour"),
        (None, [FILE], "ConfigMap/projectcontour/contour"),
    ],
)
def test_the_object_that_contour_reads(namespace: str | None, objects: list[dict[str, Any]], source: str) -> None:
    settings = found(namespace, *objects)
    assert (settings.source, settings.unknown) == (source, None)
    fields = {"": "", "Cont": "spec.envoy.listener.tls", "Conf": "contour.yaml tls"}
    assert settings.field == fields[source[:4]]


@pytest.mark.parametrize(
    ("namespace", "objects", "unreadable", "why"),
    [
        (None, [ONE, OTHER], {}, "it is unknown which of 2 ContourConfigurations applies"),
        ("edge", [OTHER], GAP, "Contour's configuration is not fully known: HTTP 403"),
        ("edge", [NAMED], {}, "ContourConfiguration/edge/one, which Contour reads, are unknown: it does not exist, or"),
        ("edge", [NAMED], GAP, "ContourConfiguration/edge/one, which Contour reads, are unknown: HTTP 403"),
        (
            "edge",
            [NAMED, configuration("one", "apart", envoys="edge")],
            {},
            "edge/one, which Contour reads, are unknown",
        ),
        ("edge", [ONE, NAMED, pod("serve", "--contour-config-name=b", name="contour-2")], {}, "edge/b or one, which"),
        ("edge", [OTHER], {}, "Contour's ConfigMap in edge is not read by adhere, so its settings are unknown"),
        (None, [], {}, "ConfigMap/projectcontour/contour are unknown: there is no such ConfigMap"),
        (None, [], {"configmaps": "HTTP 403"}, "ConfigMap/projectcontour/contour are unknown: HTTP 403"),
        (None, [config_map(**{"contour.yaml": "{"})], {}, "ConfigMap/projectcontour/contour cannot be read: "),
        (None, [config_map(other="")], {}, "are unknown: it has no contour.yaml that is a mapping"),
    ],
)
def test_settings_that_are_not_known_are_said(
    namespace: str | None, objects: list[dict[str, Any]], unreadable: dict[str, str], why: str
) -> None:
    settings = found(namespace, *objects, unreadable=unreadable)
    assert settings.source == ""
    assert why in (settings.unknown or "")
