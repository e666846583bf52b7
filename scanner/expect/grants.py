"""Whether the Secret of another namespace may be referred to, as far as its owner's objects say.

Gateways and ListenerSets need a ReferenceGrant, objects of Contour a TLSCertificateDelegation.
"""

from __future__ import annotations

from collections.abc import Iterable

from scanner.kube.contour import SecretName, by_secret
from scanner.kube.gateway import GrantTarget, ReferenceGrant
from scanner.kube.kinds import HEPTIO_DELEGATION, REFERENCE_GRANT, TLS_CERTIFICATE_DELEGATION, Kind
from scanner.kube.maybe import Known, Unknown
from scanner.kube.objects import KubeObject
from scanner.kube.snapshot import Snapshot

_SECRET: GrantTarget = ("", "Secret")
_FORMER = "only a TLSCertificateDelegation of contour.heptio.com allows it, which no Contour since 1.6 reads"


class Grants:
    """The grants and delegations of one snapshot."""

    def __init__(self, snapshot: Snapshot) -> None:
        self._snapshot = snapshot
        self._grants: dict[str, list[ReferenceGrant]] = {}
        for each in map(ReferenceGrant.of, snapshot.every(REFERENCE_GRANT)):
            self._grants.setdefault(each.namespace or "", []).append(each)
        self._delegated = by_secret(snapshot.every(TLS_CERTIFICATE_DELEGATION))
        self._formerly = by_secret(snapshot.every(HEPTIO_DELEGATION))

    def to_gateway(self, holder: KubeObject, namespace: str, name: str) -> Known[bool]:
        """Whether a listener of ``holder``, a Gateway or ListenerSet, may serve that Secret. A ListenerSet has none of
        its Gateway's grants (GEP-1713)."""
        if namespace == holder.namespace:
            return True
        if any(each.allows(holder, _SECRET, name) for each in self._grants.get(namespace, ())):
            return True
        return self._no(f"a ReferenceGrant in {namespace} may allow it", (REFERENCE_GRANT,))

    def to_contour(self, user: KubeObject, namespace: str, name: str) -> Known[bool]:
        """Whether an HTTPProxy or Ingress may have Contour serve that Secret."""
        if namespace == user.namespace:
            return True
        found, former = (every.get(SecretName(namespace, name)) for every in (self._delegated, self._formerly))
        if found is not None and found.permits(user.namespace):
            return True
        if former is not None and former.permits(user.namespace):
            return Unknown(_FORMER)
        kinds = (TLS_CERTIFICATE_DELEGATION, HEPTIO_DELEGATION)
        return self._no(f"a TLSCertificateDelegation in {namespace} may allow it", kinds)

    def _no(self, maybe: str, kinds: Iterable[Kind]) -> Known[bool]:
        gap = next(filter(None, map(self._snapshot.gap, kinds)), None)
        return Unknown(f"{maybe}: {gap}") if gap else False
