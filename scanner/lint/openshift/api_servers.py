"""Where an API server's configuration is, in its own object or in a HostedCluster."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple

from scanner.kube.kinds import API_SERVER, HOSTED_CLUSTER, Kind
from scanner.lint.openshift.controllers import CONFIG


class Holder(NamedTuple):
    """Where a kind has it."""

    steps: tuple[str, ...]
    namespace: str | None
    """Of what is named; None: the object's own."""


HOLDERS: Final[Mapping[Kind, Holder]] = {
    API_SERVER: Holder(("spec",), CONFIG),
    HOSTED_CLUSTER: Holder(("spec", "configuration", "apiServer"), None),
}
