"""Real listeners on loopback with every outcome that adhere distinguishes; nothing leaves this machine.

There are two demos. ``outcomes`` has one listener for each outcome, each at a free port. ``cluster`` starts an API
server (``api``) with the objects of an OpenShift cluster (``objects``), and a listener at each address that they name.
Its tables are ``cluster_workloads`` and ``frontends`` (what is published). ``layout`` assigns ``addresses`` and
certificates, ``listeners`` says which listener is where and its outcome, ``self_test`` compares a scan with that.

Below both: ``listening`` (sockets), ``tls_server`` and ``tls_settings``, ``behaviours`` (parts without TLS) and
``certificates`` (made in memory).
"""
