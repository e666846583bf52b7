"""The cluster's API, or a directory that was saved from one, to a ``Snapshot``. The only I/O beside the probe."""

from scanner.cluster.api_server import Access
from scanner.cluster.kubeconfig_context import access, contexts
from scanner.cluster.reading import read
from scanner.cluster.snapshot_directory import load, save

__all__ = ["Access", "access", "contexts", "load", "read", "save"]
