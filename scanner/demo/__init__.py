"""Real listeners on loopback that play every part adhere has to tell apart; nothing leaves this machine.

``roles`` is the table of parts and ``listeners.demo_listeners`` opens them. Below: ``listening`` (a socket that counts
and outlives its peers), ``tls_server`` (TLS in this process), ``behaviours`` (what is not, or not yet, TLS),
``unanswering`` (closed and filtered ports) and ``certificates`` (made in memory).
"""
