"""The CAs by which the API server verifies webhooks and aggregated APIs."""

from __future__ import annotations

from base64 import b64decode
from binascii import Error as NotBase64
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from scanner.lint.certificates import called, of_text
from scanner.model.certificate_faults import date
from scanner.model.kinds import API_SERVICE, CUSTOM_RESOURCE_DEFINITION, MUTATING_WEBHOOK, VALIDATING_WEBHOOK, Kind
from scanner.model.located import Steps
from scanner.model.object_rule import Flaw, ObjectRule, Subject
from scanner.model.objects import Fields, KubeObject

_INJECTED: Final[Mapping[str, str]] = {
    "service.beta.openshift.io/inject-cabundle": "the service CA operator",
    "service.alpha.openshift.io/inject-cabundle": "the service CA operator",
    "cert-manager.io/inject-ca-from": "cert-manager",
    "cert-manager.io/inject-ca-from-secret": "cert-manager",
    "cert-manager.io/inject-apiserver-ca": "cert-manager",
}
"""By annotation, who fills the caBundle."""
_MOST: Final = 1000
"""Webhooks of one object."""


@dataclass(frozen=True, slots=True)
class _Client:
    """One call of the API server."""

    steps: Steps
    bundle: object
    in_cluster: bool
    """Whether it is called by a Service's name, which no public CA signs."""


def _webhooks(subject: Subject) -> Iterator[_Client]:
    for (*_, index), each in subject.items("webhooks"):
        if isinstance(index, int) and index < _MOST:
            yield _of((("webhooks", index, "clientConfig")), each.fields("clientConfig"))


def _conversion(subject: Subject) -> Iterator[_Client]:
    steps = ("spec", "conversion", "webhook", "clientConfig")
    if subject.object.text("spec", "conversion", "strategy") == "Webhook":
        yield _of(steps, subject.object.fields(*steps))


def _aggregated(subject: Subject) -> Iterator[_Client]:
    spec = subject.object.fields("spec")
    if spec.fields("service").raw and not spec.flag("insecureSkipTLSVerify"):
        yield _of(("spec",), spec)


def _of(steps: Steps, client: Fields) -> _Client:
    return _Client((*steps, "caBundle"), client.at("caBundle"), bool(client.fields("service").raw))


_CLIENTS: Final[Mapping[Kind, Callable[[Subject], Iterator[_Client]]]] = {
    VALIDATING_WEBHOOK: _webhooks,
    MUTATING_WEBHOOK: _webhooks,
    CUSTOM_RESOURCE_DEFINITION: _conversion,
    API_SERVICE: _aggregated,
}


def check_bundle(subject: Subject) -> Iterator[Flaw]:
    """The API server can verify webhooks and aggregated APIs.

    ## What it requires

    That the `caBundle` of each webhook, of each conversion webhook of a CustomResourceDefinition and of each APIService
    with a Service is base64 of certificates in PEM, at least one of which is valid now. A webhook that is called by its
    `url` may leave it out. Where an annotation has the bundle filled (`service.beta.openshift.io/inject-cabundle`,
    `cert-manager.io/inject-ca-from` and its like), a manifest leaves it empty.

    ## Why

    The API server always calls them by TLS. Without a bundle it trusts the CAs of its own image, none of which signs
    `<service>.<namespace>.svc`: each call fails, and with `failurePolicy: Fail` every request that the webhook is asked
    about.

    ## What fails

    An empty bundle for a Service, what is not base64 or has no certificate, and a bundle of which every certificate has
    expired: high. In a cluster also a bundle that an annotation should have filled.

    ## What is inconclusive

    A bundle that is filled when the object is applied: informational; it says by whom. Whether it signs what is served,
    a scan tells.

    ## Example that fails

    ```yaml
    apiVersion: admissionregistration.k8s.io/v1
    kind: ValidatingWebhookConfiguration
    metadata: {name: shop}
    webhooks:
    - name: orders.shop.example.com
      clientConfig: {service: {name: shop, namespace: shop}, caBundle: Cg==}
    ```

    ## Example that passes

    ```yaml
    apiVersion: admissionregistration.k8s.io/v1
    kind: ValidatingWebhookConfiguration
    metadata: {name: shop}
    webhooks:
    - name: orders.shop.example.com
      clientConfig: {service: {name: shop, namespace: shop}, caBundle: "CERTIFICATE(shop.shop.svc)"}
    - name: outside.shop.example.com
      clientConfig: {url: "https://hooks.example.com/orders"}
    ```

    ## How to fix

    Put the CA of whoever serves it into `caBundle`, or have it filled by an annotation.
    """
    for client in _CLIENTS[subject.object.kind](subject):
        text = _decoded(client.bundle)
        if text is None:
            yield _bad(subject, client, "is not base64, and the API server refuses it")
        elif not text.strip():
            yield from _empty(subject, client)
        elif not of_text(text):
            yield _bad(subject, client, "has no certificate in PEM: nothing verifies by it")
        else:
            yield from _expired(subject, client, text)


def _decoded(value: object) -> str | None:
    if not isinstance(value, str):
        return "" if value is None else None
    try:
        return b64decode("".join(value.split()), validate=True).decode("utf-8", "replace")
    except (NotBase64, ValueError):
        return None


def _bad(subject: Subject, client: _Client, what: str) -> Flaw:
    return Flaw(
        message=f"the caBundle {what}",
        at=client.steps,
        fix=f"{subject.object.reference}: {_source(subject.object)}",
        correction="caBundle: <base64 of the CA's certificate in PEM>",
    )


def _source(holder: KubeObject) -> str:
    filler = _filler(holder)
    return f"see why {filler} does not fill it" if filler else "put the CA of whoever serves it into caBundle"


def _filler(holder: KubeObject) -> str:
    return next((who for name, who in _INJECTED.items() if holder.annotations.get(name, "false") != "false"), "")


def _empty(subject: Subject, client: _Client) -> Iterator[Flaw]:
    filler = _filler(subject.object)
    if filler and not subject.object.text("metadata", "uid"):
        yield Flaw(
            message=f"{filler} fills the caBundle when the object is applied",
            at=client.steps,
            verdict="inconclusive",
            severity="info",
        )
    elif filler:
        yield _bad(subject, client, f"is empty, and {filler}, which an annotation asks to fill it, has not")
    elif client.in_cluster:
        yield _bad(subject, client, "is empty: the API server trusts public CAs alone, and none signs a Service's name")


def _expired(subject: Subject, client: _Client, text: str) -> Iterator[Flaw]:
    now, found = subject.declared.known.taken_at, of_text(text)
    ends = [each.not_after for each in found]
    if all(end is not None and end < now for end in ends):
        last = max(found, key=lambda each: each.not_after or now)
        yield _bad(subject, client, f"has expired: {called(last)} ended {date(last.not_after or now)}")
    elif None in ends and not any(end is not None and end >= now for end in ends):
        yield Flaw(
            message="whether the caBundle has expired cannot be told: a certificate in it cannot be read",
            at=client.steps,
            verdict="inconclusive",
        )


BUNDLE = ObjectRule(
    id="ca-bundle",
    title="The API server can verify webhooks and aggregated APIs",
    severity="high",
    subjects=tuple(_CLIENTS),
    check=check_bundle,
    references=(
        "admissionregistration.k8s.io/v1 WebhookClientConfig caBundle",
        "apiregistration.k8s.io/v1 APIServiceSpec caBundle",
        "apiextensions.k8s.io/v1 CustomResourceConversion webhook.clientConfig.caBundle",
    ),
)
