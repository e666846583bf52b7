"""Ingresses (networking.k8s.io/v1) and the controller that serves them."""

from __future__ import annotations

from typing import Final

from scanner.kube.kinds import INGRESS_CLASS
from scanner.kube.objects import KubeObject
from scanner.kube.snapshot import Snapshot
from scanner.kube.view import Parts, Present, Text, Texts, View

TLS_CERT_NAMESPACE: Final = "projectcontour.io/tls-cert-namespace"
"""Annotation of an Ingress (since Contour 1.20): the namespace of the Secrets of all its ``tls`` entries."""
CLASS_ANNOTATION: Final = "kubernetes.io/ingress.class"
_CONTOURS_CLASS: Final = "projectcontour.io/ingress.class"
_CONTOURS: Final = ("projectcontour.io/", "contour.heptio.com/")
"""Prefixes of the annotations that only Contour reads."""
_OTHERS: Final = frozenset(
    {"nginx", "haproxy", "traefik", "kong", "istio", "cilium", "alb", "gce", "gce-internal", "openshift-default"}
)
"""Classes of other controllers, as their own documentation names them."""


class IngressTLS(View):
    """One entry of ``spec.tls``."""

    hosts = Texts()
    secret_name = Text()


class Path(View):
    """One path of a rule."""

    path = Text()


class Rule(View):
    """One rule: the paths of a host, or of all hosts."""

    host = Text()
    paths = Parts(Path, "http", "paths")


class Ingress(KubeObject):
    """An Ingress."""

    class_name = Text("spec", "ingressClassName")
    tls = Parts(IngressTLS, "spec", "tls")
    has_tls = Present("spec", "tls")
    rules = Parts(Rule, "spec", "rules")
    has_default_backend = Present("spec", "defaultBackend")


class IngressClass(KubeObject):
    """An IngressClass."""

    controller = Text("spec", "controller")


def ingress_class(item: KubeObject) -> str:
    """The class that an Ingress or HTTPProxy names, or "". Annotations come before the field (Contour
    ``internal/ingressclass``)."""
    annotations = item.annotations
    named = (annotations.get(_CONTOURS_CLASS), annotations.get(CLASS_ANNOTATION), Ingress.of(item).class_name)
    return next(filter(None, named), "")


def is_contours(ingress: KubeObject, snapshot: Snapshot) -> bool | None:
    """Whether Contour serves an Ingress; None where nothing says so. An Ingress belongs to the class that it names,
    whatever other annotations it has."""
    annotations = ingress.annotations
    if annotations.get(_CONTOURS_CLASS):
        return True
    named, field = ingress_class(ingress), Ingress.of(ingress).class_name
    if field and named != field:
        return None  # two classes: the API server refuses that, and the rule ingress-class reports it
    found = snapshot.get(INGRESS_CLASS, named) if named and INGRESS_CLASS in snapshot.objects else None
    if found is not None:
        return IngressClass.of(found).controller.startswith(_CONTOURS[0])
    if not named:
        return True if any(each.startswith(_CONTOURS) for each in annotations) else None
    return False if named in _OTHERS else True if "contour" in named else None
