"""The listening sockets of a node: read from /proc, matched with the cluster's listeners, dialled in their network."""
