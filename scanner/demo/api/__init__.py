"""The demo's API server: ``request_handler`` decides the answers, ``store`` has the objects, ``server`` the sockets.

It is a fake of kube-apiserver's read side, compared with the real one in tests/e2e. Where it does less (no writes, no
watches, no label selectors), it refuses as the real one refuses.
"""
