"""The CAs by which an API server recognises its clients."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from scanner.kube.kinds import CONFIG_MAP
from scanner.lint.openshift.api_servers import HOLDERS
from scanner.lint.openshift.serving import bundle_flaws
from scanner.model.object_rule import Flaw, ObjectRule, Subject

_BUNDLE: Final = "ca-bundle.crt"


def check_client_ca(subject: Subject) -> Iterator[Flaw]:
    """The CAs by which an API server recognises clients are there.

    ## What it requires

    That the ConfigMap which `spec.clientCA` of an APIServer names is in openshift-config (of a HostedCluster, below
    `spec.configuration.apiServer` and in its own namespace), and has CAs in PEM in `ca-bundle.crt`: no leaf, and none
    that has ended.

    ## Why

    Certificates that these CAs sign are as good as the cluster's own, with every user and group that stands in them.
    With another key in the ConfigMap none is, and those who rely on it are locked out.

    ## What fails

    No ConfigMap, none in `ca-bundle.crt`, one that is no CA or has ended: high.

    ## What is inconclusive

    A ConfigMap that was not given.

    ## Example that fails

    ```yaml
    apiVersion: config.openshift.io/v1
    kind: APIServer
    metadata: {name: cluster}
    spec: {clientCA: {name: people}}
    ---
    apiVersion: v1
    kind: ConfigMap
    metadata: {name: people, namespace: openshift-config}
    data: {ca.crt: CA(people)}
    ```

    ## Example that passes

    ```yaml
    apiVersion: config.openshift.io/v1
    kind: APIServer
    metadata: {name: cluster}
    spec: {clientCA: {name: people}}
    ---
    apiVersion: v1
    kind: ConfigMap
    metadata: {name: people, namespace: openshift-config}
    data: {ca-bundle.crt: CA(people)}
    ```

    ## How to fix

    `oc create configmap NAME --from-file=ca-bundle.crt=FILE -n openshift-config`.
    """
    holder = HOLDERS[subject.object.kind]
    at = (*holder.steps, "clientCA")
    if name := subject.object.text(*at, "name"):
        yield from bundle_flaws(subject, at, name, holder.namespace or subject.object.namespace, _BUNDLE)


CLIENT_CA = ObjectRule(
    id="apiserver-client-ca",
    title="The CAs by which an API server recognises clients are there",
    severity="high",
    subjects=tuple(HOLDERS),
    check=check_client_ca,
    reads=(CONFIG_MAP,),
    references=("openshift/api config/v1/types_apiserver.go (clientCA)",),
)
