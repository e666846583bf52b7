"""The cluster's API, or a directory that was saved from one, to a ``Snapshot``. The only I/O beside the probe."""
