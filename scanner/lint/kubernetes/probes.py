"""Probes whose scheme contradicts what else is said of their port."""

from __future__ import annotations

from collections.abc import Iterator

from scanner.kube.kinds import SERVICE
from scanner.lint.kubernetes.ports import READS, SCHEMES, WORKLOADS, Claim, Probe, http_probes, of_pod, of_port, replica
from scanner.model.located import shown
from scanner.model.object_rule import Flaw, ObjectRule, Subject


def _spoken(tls: bool) -> str:  # noqa: FBT001 - one word for each
    return "HTTPS" if tls else "HTTP"


def check_probes(subject: Subject) -> Iterator[Flaw]:
    """Probes speak what is spoken on their port.

    ## What it requires

    That the `scheme` of each `httpGet` in a probe or lifecycle hook (HTTP where it says none) is that of the other
    probes of the same port, of the `appProtocol` of the Services that lead there, and of the port's names; that it is
    written in capitals; and that a port that is called by a name is a port of the same container. Of pods,
    Deployments, StatefulSets and DaemonSets.

    ## Why

    A port speaks TLS or does not. If the probe is right, clients are told something wrong, or are not protected where
    they think so; if it is wrong, the pod never becomes ready. The kubelet verifies no certificate, so a probe by HTTPS
    says nothing of who answers.

    ## What fails

    A probe that another probe or an `appProtocol` contradicts: medium. One that only a name contradicts: low. `https`
    in small letters and the like, which the API server refuses: high. The name of a port that the container has not,
    with which the probe fails for ever: medium.

    ## What is inconclusive

    Nothing. It is told among the objects that are known. That a port which is probed by HTTPS speaks plain HTTP,
    `tls-reach` says of a scan; the other way round the probe itself fails, and the kubelet says so. A probe by `grpc`
    says nothing of TLS, and one by `tcpSocket` or `exec` neither.

    ## Example that fails

    ```yaml
    apiVersion: apps/v1
    kind: Deployment
    metadata: {name: shop, namespace: shop}
    spec:
      template:
        metadata: {labels: {app: shop}}
        spec:
          containers:
          - name: shop
            ports: [{name: api, containerPort: 8443}]
            readinessProbe: {httpGet: {port: api, scheme: HTTPS}}
            livenessProbe: {httpGet: {port: 8443}}
    ```

    ```yaml
    apiVersion: apps/v1
    kind: Deployment
    metadata: {name: shop, namespace: shop}
    spec:
      template:
        metadata: {labels: {app: shop}}
        spec:
          containers:
          - name: shop
            ports: [{name: https, containerPort: 8443}]
            readinessProbe: {httpGet: {port: https, scheme: https}}
    ```

    ## Example that passes

    ```yaml
    apiVersion: apps/v1
    kind: Deployment
    metadata: {name: shop, namespace: shop}
    spec:
      template:
        metadata: {labels: {app: shop}}
        spec:
          containers:
          - name: shop
            ports: [{name: https, containerPort: 8443}, {name: health, containerPort: 8080}]
            readinessProbe: {httpGet: {port: https, scheme: HTTPS}}
            livenessProbe: {httpGet: {port: health}}
    ---
    apiVersion: v1
    kind: Service
    metadata: {name: shop, namespace: shop}
    spec:
      selector: {app: shop}
      ports: [{name: https, port: 443, targetPort: https, appProtocol: https}]
    ```

    ## How to fix

    Correct whichever is wrong.
    """
    if replica(subject.declared, subject.object):
        return
    for probe in http_probes(subject.object):
        yield from _written(subject, probe)
    for number, claims in of_pod(subject.declared, subject.object).items():
        for place, claim in enumerate(claims):
            if claim.steps:
                others = [each for each in claims[:place] + _said(claims[place + 1 :]) if each.tls != claim.tls]
                yield from _contradicted(subject, number, claim, others)


def _written(subject: Subject, probe: Probe) -> Iterator[Flaw]:
    scheme, port = probe.get.text("scheme"), probe.get.at("port")
    if scheme and scheme not in SCHEMES:
        meant = scheme.upper() if scheme.upper() in SCHEMES else "<HTTP or HTTPS>"
        yield Flaw(
            message=f"the API server refuses the {probe.what}: Unsupported value: {shown(scheme)}; there are HTTP and "
            "HTTPS, in capitals",
            at=probe.scheme_steps,
            severity="high",
            expected=SCHEMES,
            observed=(scheme,),
            fix=f"{subject.object.reference}: write {meant}",
            correction=f"scheme: {meant}",
        )
    if isinstance(port, str) and probe.number is None:
        yield Flaw(
            message=f"the {probe.what} asks port {shown(port)}, and its container has none of that name",
            at=(*probe.steps, "port"),
            expected=tuple(probe.named)[:10],
            observed=(port,),
            fix=f"{subject.object.reference}: name a port of the container, or give its number",
        )


def _said(claims: list[Claim]) -> list[Claim]:
    """Without probes: of two that contradict each other, one finding says it."""
    return [each for each in claims if not each.steps]


def _contradicted(subject: Subject, number: int, claim: Claim, others: list[Claim]) -> Iterator[Flaw]:
    if others:
        yield Flaw(
            message=f"{claim.what} speaks {_spoken(claim.tls)} to port {number}, and others say "
            f"{_spoken(not claim.tls)}",
            at=claim.steps,
            severity=None if any(each.certain for each in others) else "low",
            expected=(_spoken(not claim.tls),),
            observed=(_spoken(claim.tls),),
            evidence=tuple(each.what for each in others[:10]),
            fix=f"{subject.object.reference}: correct whichever is wrong",
            correction=f"scheme: {_spoken(not claim.tls)}",
        )


PROBES = ObjectRule(
    id="probe-scheme",
    title="Probes speak what is spoken on their port",
    severity="medium",
    subjects=WORKLOADS,
    reads=READS,
    check=check_probes,
    references=("core/v1 HTTPGetAction scheme", "core/v1 ServicePort appProtocol"),
)


def check_protocol(subject: Subject) -> Iterator[Flaw]:
    """A Service says the same of a port by its protocol and its name.

    ## What it requires

    That a port whose `appProtocol` means TLS (`https`, `tls`, `kubernetes.io/wss` and their like) has no name that
    means plain HTTP (`http`, `http-web`), and the other way round.

    ## Why

    Gateways, meshes and monitors go by the protocol, or by the name where there is none; people go by the name. A proxy
    that takes the wrong one speaks plain HTTP to a port with TLS, or waits for TLS on a plain one.

    ## What fails

    A name that contradicts the `appProtocol`: info.

    ## What is inconclusive

    Nothing: both stand in the object. Whether the port speaks TLS as `appProtocol` says, `tls-reach` tells of a scan.
    That it speaks TLS where the Service says plain HTTP is no finding there: whoever goes by that is not answered.

    ## Example that fails

    ```yaml
    apiVersion: v1
    kind: Service
    metadata: {name: shop, namespace: shop}
    spec: {ports: [{name: https, port: 443, appProtocol: http}]}
    ```

    ## Example that passes

    ```yaml
    apiVersion: v1
    kind: Service
    metadata: {name: shop, namespace: shop}
    spec: {ports: [{name: https, port: 443, appProtocol: https}, {name: metrics, port: 8080, appProtocol: http}]}
    ```

    ## How to fix

    Correct whichever is wrong.
    """
    for steps, port in subject.items("spec", "ports"):
        claims = list(of_port(subject.object, port))
        if len({each.tls for each in claims}) > 1:
            yield Flaw(
                message=f"appProtocol {port.text('appProtocol')} contradicts the port's name {port.text('name')}",
                at=(*steps, "appProtocol"),
                observed=(port.text("appProtocol"), port.text("name")),
                fix=f"{subject.object.reference}: correct whichever is wrong",
            )


PROTOCOL = ObjectRule(
    id="service-app-protocol",
    title="A Service says the same of a port by its protocol and its name",
    severity="info",
    subjects=(SERVICE,),
    check=check_protocol,
    references=("core/v1 ServicePort appProtocol", "IANA Service Name and Transport Protocol Port Number Registry"),
)
