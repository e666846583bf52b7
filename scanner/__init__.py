"""adhere: does every TLS listener do what its configuration says it must?

The whole program is plain functions between values, except for dialling::

    targets ─► Endpoint ─► probe ─► Observation ─┐
                  │       (I/O)                  ▼
                  └─────► Expectation ───────► judge ─► Finding ─► Report ─► text, JSON, JUnit, HTML

* ``cli``     argv -> ``Settings``; one file per command. Parses and stops.
* ``scan``    the story, one function a step.
* ``tls``     bytes <-> values: the codec, and every code point with its names. No I/O, imports nothing of ours.
* ``model``   the nouns: endpoint, profile, expectation, observation, finding, report. Frozen values.
* ``probe``   asks a listener by real hellos; its plans are pure generators, ``dial`` is where sockets are.
* ``judge``   expectation + observation -> findings. Pure; one short function a rule.
* ``report``  report -> text. Pure; one file a format.
* ``doctor``  where a configuration stopped on its way to a component's listeners. Pure; one function a step.
* ``demo``    listeners on loopback that commit the usual sins.
* ``data``    where ``profiles/`` and ``reports/templates/`` are. ``errors``: what we cannot do, and what to do next.

Imports go downwards only: ``cli`` > ``scan``, ``demo`` > ``probe``, ``judge``, ``report`` > ``model``, ``data`` >
``tls``, ``errors`` (``tests/test_layers.py``).
"""

__version__ = "0.1.0"
