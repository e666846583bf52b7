"""What rules on IngressControllers share: where they are, and which domain each has."""

from __future__ import annotations

from typing import Final

from scanner.kube.kinds import INGRESS_CONFIG, SECRET
from scanner.kube.objects import KubeObject
from scanner.lint.certificates import chain_of
from scanner.lint.references import look_up, name_flaws
from scanner.model.declared import Declared, Missing

NAMESPACE: Final = "openshift-ingress-operator"
"""The only one in which the operator looks for them."""
ROUTERS: Final = "openshift-ingress"
"""Where routers run, with the Secrets of their certificates."""
CONFIG: Final = "openshift-config"
"""Where the Secrets and ConfigMaps are that the cluster's configuration names."""
CERTIFICATE: Final = ("spec", "defaultCertificate")


def domain_of(declared: Declared, controller: KubeObject) -> str | Missing:
    """Its domain, in lower case: that of its status, its own or the cluster's (cluster-ingress-operator
    ``setDefaultDomain``); "" where nobody says one, or the object that would that nobody saw."""
    own = controller.text("status", "domain") or controller.text("spec", "domain")
    if own:
        return own.lower()
    config = declared.find(INGRESS_CONFIG, "cluster")
    if isinstance(config, Missing):
        return config if config.gap else ""
    return config.text("spec", "domain").lower()


def uncovered(declared: Declared, controller: KubeObject, names: tuple[str, ...]) -> tuple[str, ...] | Missing:
    """The names that the default certificate of a controller does not cover, or what nobody saw of it."""
    if given := controller.text(*CERTIFICATE, "name"):
        secret = look_up(declared, SECRET, given, ROUTERS)
        if isinstance(secret, Missing):
            return secret if secret.gap else names
        flaws = list(name_flaws(secret, names, CERTIFICATE))
        if unclear := next((flaw.message for flaw in flaws if flaw.verdict == "inconclusive"), None):
            return Missing(name=str(secret.reference), gap=unclear)
        return tuple(name for flaw in flaws for name in flaw.expected) if chain_of(secret) else names
    domain = domain_of(declared, controller)
    if isinstance(domain, Missing):
        return domain
    return tuple(name for name in names if name.partition(".")[2] != domain or not domain)
