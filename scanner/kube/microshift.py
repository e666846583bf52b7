"""MicroShift's configuration, ``/etc/microshift/config.yaml``, and what it writes into the cluster of itself."""

from __future__ import annotations

from scanner.kube.kinds import CONFIG_MAP
from scanner.kube.objects import KubeObject
from scanner.kube.snapshot import Snapshot
from scanner.kube.view import Part, Present, Text, Texts, Value, View


class ServerTLS(View):
    """``apiServer.tls``."""

    min_version = Value()
    cipher_suites = Texts()


class MicroShiftConfig(KubeObject):
    """The file."""

    tls = Part(ServerTLS, "apiServer", "tls")
    has_pki = Present("pki")


class _Version(KubeObject):
    version = Text("data", "version")


def release(snapshot: Snapshot) -> str:
    """What MicroShift writes into ConfigMap kube-public/microshift-version, or ""."""
    said = snapshot.get(CONFIG_MAP, "microshift-version", "kube-public")
    return _Version.of(said).version if said else ""
