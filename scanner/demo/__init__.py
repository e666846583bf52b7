"""Real listeners on loopback that play every part adhere has to tell apart; nothing leaves this machine.

Two plays. The **roles**: ``roles`` is the table of parts and ``listeners.demo_listeners`` opens them, each at a free
port. The **cluster**: ``cluster.demo_cluster`` brings up an API server (``api_server``, and ``api`` for what it says)
with the objects of an OpenShift cluster (``objects``), and a listener wherever they say there is one. Its tables:
``control_plane``, ``platform_workloads`` and ``user_workloads`` (what runs), ``frontends`` (what is published);
``world`` lays them out, ``speakers`` says who is to be heard where, ``surprises`` whether a scan heard them.

Below both: ``listening`` (a socket that counts and outlives its peers), ``tls_server`` and ``tls_stream`` (TLS in this
process), ``routing`` (by server name), ``behaviours`` (what is not, or not yet, TLS), ``unanswering`` (closed and
filtered ports) and ``certificates`` (made in memory).
"""
