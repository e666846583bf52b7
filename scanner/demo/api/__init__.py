"""The demo's API server: ``request_handler`` decides the answers, ``store`` has the objects, ``server`` the sockets.

It is a fake of kube-apiserver's read side, compared with the real one in tests/e2e. It does less: no writes, no label
selectors, and watches without bookmarks. What it does not do, it refuses as the real one refuses.
"""
