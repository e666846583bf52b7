"""The cluster's API, or a directory that was saved from one, to a ``Snapshot``. The only I/O beside the probe."""

from scanner.cluster.api_connection import Access
from scanner.cluster.kubeconfig import access, contexts
from scanner.cluster.snapshot_directory import load, save
from scanner.cluster.snapshot_reader import read

__all__ = ["Access", "access", "contexts", "load", "read", "save"]
