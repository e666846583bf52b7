"""OpenShift's own tests of its definitions, which its Go module brings: what they expect to be refused lint refuses,
and what they expect to be taken it does not call refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import pytest
import yaml

from scanner.kube.objects import KubeObject
from scanner.kube.schema import ANY, Record
from scanner.lint.fields.schemas import KINDS as LINTED
from scanner.lint.fields.schemas import shape_of
from tests.e2e import assets
from tests.e2e.definitions import CRDS
from tests.e2e.test_cel import linted
from tests.e2e.writing import Object

MODULE: Final = "github.com/openshift/api"
SAYING: Final = {"field-type", "field-value"}
KINDS: Final = {
    "APIServer": "config/v1/tests/apiservers.config.openshift.io",
    "PKI": "config/v1alpha1/tests/pkis.config.openshift.io",
    "Route": "route/v1/tests/routes.route.openshift.io",
    "IngressController": "operator/v1/tests/ingresscontrollers.operator.openshift.io",
    "KubeletConfig": "machineconfiguration/v1/tests/kubeletconfigs.machineconfiguration.openshift.io",
}
"""Where in the module the tests of a kind are."""


@pytest.fixture(scope="module")
def module() -> Path:
    """Its directory; skips, with the reason, where it cannot be had."""
    try:
        return Path(assets.downloaded(CRDS, MODULE)["Dir"])
    except assets.Missing as missing:
        pytest.skip(str(missing))


def about_tls(item: Object) -> bool:
    """Whether lint looks into every field of its specification."""
    shape = {kind.name: shape_of(KubeObject(item, kind)).fields.get("spec") for kind in LINTED}.get(item["kind"])
    spec = item.get("spec") or {}
    return not isinstance(shape, Record) or all(shape.fields.get(name) not in (None, ANY) for name in spec)


@pytest.mark.parametrize("kind", KINDS)
def test_lint_agrees_with_them(module: Path, tmp_path: Path, kind: str) -> None:
    refused, taken, wrong = 0, 0, []
    for file in sorted((module / KINDS[kind]).glob("*.yaml")):
        tests: Any = yaml.load(file.read_text(), yaml.CSafeLoader)["tests"]
        for case in tests.get("onCreate") or ():
            item = yaml.load(case["initial"], yaml.CSafeLoader)
            item.setdefault("metadata", {}).setdefault("name", "cluster")
            found = linted(tmp_path, item)
            if not case.get("expectedError"):
                taken += 1
                wrong += [(case["name"], said) for rule, said in found if rule in SAYING and "refuses the" in said]
            elif about_tls(item):
                refused += 1
                wrong += [] if found else [(case["name"], case["expectedError"])]
    assert wrong == []
    assert (taken > 0, refused > 0) == (True, True), (taken, refused)
