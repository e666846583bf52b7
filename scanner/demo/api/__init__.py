"""What the demo's API server says, without its sockets: a store, discovery, lists, errors. Pure but for the store.

It is a fake that is held against the real kube-apiserver (tests/e2e): it takes nothing upon itself that the real one
does not do, and where it does less (no writes, no tables, no compression) it refuses as the real one does.
"""
