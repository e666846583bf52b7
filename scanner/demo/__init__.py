"""Real listeners on loopback with every outcome that adhere distinguishes; nothing leaves this machine.

There are two demos. ``outcomes`` has one listener for each outcome, each at a free port. ``cluster`` starts an API
server (``api``) with the objects of an OpenShift cluster (``objects``), and a listener at each address that they name.
Its table is ``cluster_workloads``, its addresses are in ``layout``.

Both use ``listening`` (sockets), ``tls_server``, ``behaviours`` (answers without TLS) and ``certificates`` (made in
memory).
"""
