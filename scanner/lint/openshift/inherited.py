"""Profiles that an object hands on or never arrive: the APIServer's to its IngressControllers, a KubeletConfig's to the
pools that it selects."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Final

from scanner.model.declared import Missing
from scanner.model.kinds import API_SERVER, INGRESS_CONTROLLER, KUBELET_CONFIG, MACHINE_CONFIG_POOL
from scanner.model.label_selector import is_empty, selects
from scanner.model.object_rule import Flaw, ObjectRule, Subject, undecided
from scanner.model.objects import KubeObject

_PROFILE: Final = ("spec", "tlsSecurityProfile")
_SELECTOR: Final = ("spec", "machineConfigPoolSelector")
_SPEC: Final = ("spec",)
_MOST: Final = 50
_CONFLICT: Final = (
    "is Custom with VersionTLS13, where ciphers are refused, and an IngressController that inherits it must list some"
)


def check_inherited(subject: Subject) -> Iterator[Flaw]:
    """An IngressController can take the profile that it inherits.

    ## What it requires

    Not both of these: the APIServer's profile is Custom with VersionTLS13, and an IngressController has no profile of
    its own.

    ## Why

    An APIServer with VersionTLS13 must not list ciphers, because Go's servers do not choose among those of TLS 1.3.
    HAProxy does choose, so the ingress operator refuses an empty list. An IngressController that inherits is then not
    admitted; its router keeps the configuration that it had, and only a condition says so.

    ## What fails

    The two together: high, at the object that was given.

    ## What is inconclusive

    The other object, where it was not given.

    ## Example that fails

    ```yaml
    apiVersion: config.openshift.io/v1
    kind: APIServer
    metadata: {name: cluster}
    spec:
      tlsSecurityProfile: {type: Custom, custom: {minTLSVersion: VersionTLS13}}
    ---
    apiVersion: operator.openshift.io/v1
    kind: IngressController
    metadata: {name: default, namespace: openshift-ingress-operator}
    spec: {replicas: 2}
    ```

    ## Example that passes

    ```yaml
    apiVersion: config.openshift.io/v1
    kind: APIServer
    metadata: {name: cluster}
    spec:
      tlsSecurityProfile: {type: Custom, custom: {minTLSVersion: VersionTLS13}}
    ---
    apiVersion: operator.openshift.io/v1
    kind: IngressController
    metadata: {name: default, namespace: openshift-ingress-operator}
    spec:
      tlsSecurityProfile: {type: Modern, modern: {}}
    ```

    ## How to fix

    Give the IngressController a profile of its own, Modern, or choose Modern for the APIServer.
    """
    if subject.object.kind == API_SERVER:
        yield from _handed_on(subject)
    elif _inherits(subject.object):
        yield from _taken(subject)


def _inherits(controller: KubeObject) -> bool:
    """Without a type it is as if it had none (cluster-ingress-operator ``hasTLSSecurityProfile``)."""
    return not controller.text(*_PROFILE, "type")


def _conflicts(server: KubeObject) -> bool:
    custom = server.fields(*_PROFILE, "custom")
    if server.text(*_PROFILE, "type") != "Custom" or custom.text("minTLSVersion") != "VersionTLS13":
        return False
    return not custom.texts("ciphers")  # with some, it is refused for these


def _handed_on(subject: Subject) -> Iterator[Flaw]:
    if not _conflicts(subject.object):
        return
    controllers = subject.declared.every(INGRESS_CONTROLLER)
    heirs = [each for each in islice(controllers, _MOST) if _inherits(each)]
    if heirs:
        yield Flaw(
            message=f"it {_CONFLICT}: {heirs[0].reference} does",
            at=(*_PROFILE, "custom"),
            observed=tuple(str(each.reference) for each in heirs[:5]),
            fix=f"give {heirs[0].reference} a profile of its own, or write 'type: Modern'",
            correction="tlsSecurityProfile:\n  type: Modern\n  modern: {}",
        )
    elif not controllers and (gap := subject.declared.gap(INGRESS_CONTROLLER)):
        missing = Missing(name=INGRESS_CONTROLLER.name, gap=gap)
        yield undecided(missing, (*_PROFILE, "custom"), "whether an IngressController inherits what it cannot take")


def _taken(subject: Subject) -> Iterator[Flaw]:
    at = _PROFILE if subject.object.has(*_PROFILE) else _SPEC
    server = subject.find(API_SERVER, "cluster")
    if isinstance(server, Missing):
        if server.gap:
            yield undecided(server, at, "whether the ingress operator takes the profile that it inherits")
    elif _conflicts(server):
        yield Flaw(
            message=f"{server.reference} {_CONFLICT}: it is not admitted, and the router keeps what it had",
            at=at,
            fix=f"{subject.object.reference}: add a tlsSecurityProfile of its own",
            correction="tlsSecurityProfile:\n  type: Modern\n  modern: {}",
        )


def check_pool(subject: Subject) -> Iterator[Flaw]:
    """A KubeletConfig with a TLS profile selects a pool.

    ## What it requires

    Of a KubeletConfig with a `tlsSecurityProfile`: `spec.machineConfigPoolSelector` is not empty, and matches the
    labels of a MachineConfigPool's metadata.

    ## Why

    A selector that is missing, empty, or matches nothing selects no pool, unlike elsewhere: the profile then holds for
    no kubelet, and they all go on with the cluster's.

    ## What fails

    A selector that selects nothing: medium.

    ## What is inconclusive

    MachineConfigPools that were not given.

    ## Example that fails

    ```yaml
    apiVersion: machineconfiguration.openshift.io/v1
    kind: KubeletConfig
    metadata: {name: modern}
    spec:
      tlsSecurityProfile: {type: Modern, modern: {}}
    ```

    ## Example that passes

    ```yaml
    apiVersion: machineconfiguration.openshift.io/v1
    kind: KubeletConfig
    metadata: {name: modern}
    spec:
      machineConfigPoolSelector: {matchLabels: {pools.operator.machineconfiguration.openshift.io/worker: ""}}
      tlsSecurityProfile: {type: Modern, modern: {}}
    ---
    apiVersion: machineconfiguration.openshift.io/v1
    kind: MachineConfigPool
    metadata: {name: worker, labels: {pools.operator.machineconfiguration.openshift.io/worker: ""}}
    spec: {}
    ```

    ## How to fix

    Select by the label that each pool has: `pools.operator.machineconfiguration.openshift.io/NAME: ""`.
    """
    if not subject.object.has(*_PROFILE):
        return
    selector = subject.object.fields(*_SELECTOR)
    at = _SELECTOR if subject.object.has(*_SELECTOR) else _SPEC
    label = "pools.operator.machineconfiguration.openshift.io/worker"
    correction = f'machineConfigPoolSelector:\n  matchLabels:\n    {label}: ""'
    fix = "select a pool by a label of its metadata"
    if is_empty(selector):
        message = "it selects no pool, so its profile holds for no kubelet"
        yield Flaw(message=message, at=at, fix=fix, correction=correction)
        return
    pools = subject.declared.every(MACHINE_CONFIG_POOL)
    if any(selects(selector, each.labels) for each in pools):
        return
    if gap := subject.declared.gap(MACHINE_CONFIG_POOL):
        yield undecided(Missing(name=MACHINE_CONFIG_POOL.name, gap=gap), at, "whether it selects a pool")
        return
    message = "its selector matches no MachineConfigPool, so its profile holds for no kubelet"
    observed = tuple(str(each.reference) for each in pools[:5])
    yield Flaw(message=message, at=at, observed=observed, fix=fix, correction=correction)


INHERITED = ObjectRule(
    id="ingress-profile-inherited",
    title="An IngressController can take the profile that it inherits",
    severity="high",
    subjects=(API_SERVER, INGRESS_CONTROLLER),
    check=check_inherited,
    references=(
        "openshift/cluster-ingress-operator pkg/operator/controller/ingress/controller.go",
        "openshift/kubernetes openshift-kube-apiserver/admission/customresourcevalidation/apiserver",
    ),
)
POOL = ObjectRule(
    id="kubelet-config-pool",
    title="A KubeletConfig with a TLS profile selects a pool",
    severity="medium",
    subjects=(KUBELET_CONFIG,),
    check=check_pool,
    reads=(MACHINE_CONFIG_POOL,),
    references=("openshift/machine-config-operator pkg/controller/kubelet-config",),
)
