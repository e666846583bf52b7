"""The demo cluster's certification authorities, and what each signs: those of a real cluster that a scan meets."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Literal

from scanner.demo.certificates import Authority, Credential, Deviations, KeyKind

Signer = Literal["kube-apiserver", "etcd", "service-ca", "kubelet", "router", "machine-config", "olm", "shop"]

_SUBJECTS: dict[Signer, str] = {
    "kube-apiserver": "openshift-kube-apiserver-operator_loadbalancer-serving-signer",
    "etcd": "openshift-etcd_etcd-signer",
    "service-ca": "openshift-service-serving-signer",
    "kubelet": "kube-csr-signer_",
    "router": "ingress-operator",
    "machine-config": "machine-config-server-ca",
    "olm": "backup-operator webhook CA",
    "shop": "shop internal CA",
}
_DAYS: dict[Signer, int] = {"etcd": 1824, "service-ca": 789, "kubelet": 29, "router": 729}
"""To the end of those that are not made for ten years; one of a life has gone."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Paper:
    """What certificate a listener has. Names and subject may hold ``{node}`` and ``{address}``."""

    signer: Signer
    names: tuple[str, ...]
    subject: str = ""
    """Common name, where it is not the first of the names."""
    days: tuple[int, int] = (-20, 300)
    """First and last day, counted from now."""
    key: KeyKind = "p256"


class Signers:
    """New keys each time; they stay in memory."""

    def __init__(self, now: datetime) -> None:
        self.now = now
        self._issued: dict[tuple[Paper, tuple[str, ...]], Credential] = {}
        self.authorities: dict[Signer, Authority] = {
            signer: Authority(f"{subject}@{int(now.timestamp())}", now=now, days=_DAYS.get(signer, 3649))
            for signer, subject in _SUBJECTS.items()
        }

    def pem(self, *signers: Signer) -> str:
        """A bundle of their certificates."""
        return "".join(self.authorities[each].pem.decode() for each in signers)

    def issue(self, paper: Paper, *, node: str, address: str) -> Credential:
        """The certificate of a listener on ``node`` at ``address``; replicas with the same names share it."""
        names = tuple(name.format(node=node, address=address) for name in paper.names)
        if (paper, names) not in self._issued:
            subject = paper.subject.format(node=node, address=address)
            self._issued[paper, names] = self._new(paper, names, subject)
        return self._issued[paper, names]

    def _new(self, paper: Paper, names: tuple[str, ...], subject: str) -> Credential:
        first, last = paper.days
        deviations: Deviations = {
            "not_before": self.now + timedelta(days=first, minutes=-5),
            "not_after": self.now + timedelta(days=last),
            "key": paper.key,
            "common_name": subject or names[0],
        }
        return self.authorities[paper.signer].leaf(names=names, **deviations)
