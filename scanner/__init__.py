"""adhere: check that every TLS listener complies with its configuration, and name the object that has to change.

The whole program is plain functions between values; I/O is in two places, ``cluster`` and ``probe``::

    cluster.read ─► Snapshot ─► discover ─► Endpoint ─────┐
       (I/O)           │                      │           ▼
                       ├──────► expect ◄──────┤         probe ─► Observation
                       │          │           │         (I/O)        │
    targets ───────────┼──────────┼───────────┘                      │
                       │     Expectation ───────► judge ◄────────────┘
                       └──── (NetworkPolicies) ─►   │
                                                 Finding ─► Report ─► text, JSON, JUnit, HTML, metrics

* ``cli``      argv -> ``Settings``; one file per command. Parses and stops.
* ``scan``     A scan, one function a step: jobs -> observations -> judgements -> rows -> report. Around it:
  ``jobs`` (endpoints to probe), ``assessment`` (a snapshot -> jobs), ``certificates`` (the inventory of a cluster),
  ``port_forward_route`` (dialling pods through port-forwards), ``saved_scan`` (a scan in a directory, judged again
  with other settings), ``object_store`` (the same directory, mirrored in S3), ``cross_endpoint`` (rules over all
  endpoints), ``doctor`` (the step at which the configuration of a component stopped).
* ``tls``      bytes <-> values: the codec, and every code point with its names. No I/O, imports nothing of ours.
* ``kube``     the objects of a cluster, typed, read once and shared: kinds, objects, the snapshot that holds them.
* ``model``    the nouns of a scan: endpoint, profile, expectation, observation, finding, policy.
* ``cluster``  the cluster's API, or a directory that was saved from one, to a ``Snapshot``. Private keys are dropped.
* ``discover`` a snapshot's listeners. Pure; one file a source; merged by where they listen.
* ``expect``   what is required of each, and which object says so. Pure; one file a resolver.
* ``probe``    probes a listener with real handshakes; its plans are pure generators, ``dial`` is where sockets are.
* ``judge``    expectation + observation -> findings. Pure; one short function a rule.
* ``lint``     what objects declare -> findings with file and line, without a handshake. Pure; one file a topic.
  ``linting`` runs it: manifests or a snapshot -> rules -> report.
* ``report``   report -> text. Pure; one file a format. ``metrics``: the same for Prometheus.
* ``demo``     a cluster on loopback: its API server, and listeners with common mistakes.
* ``files``    YAML and JSON with the position of every value, and errors for invalid documents.
* ``data``     where ``profiles/`` and ``reports/templates/`` are. ``errors``: errors with a hint.

Imports go downwards only: ``cli`` > ``scan`` and its companions, ``demo`` > ``cluster``, ``discover``, ``expect``,
``probe``, ``judge``, ``lint``, ``report``, ``metrics`` (which never import each other) > ``model`` > ``kube`` >
``data``, ``files`` > ``tls``, ``errors`` (``tests/test_layers.py``).
"""

__version__ = "0.1.0"
