"""Manifests that cannot be read, or are of no API that there is."""

from __future__ import annotations

from collections.abc import Iterator

from scanner.model.finding import Finding
from scanner.model.rule import ScanRule


def check_unreadable(rule: ScanRule, place: str, message: str, hint: str) -> Iterator[Finding]:
    """Every manifest can be read.

    ## What it requires

    That each file can be opened and is UTF-8, and YAML or JSON as an API server takes it: no key twice in one mapping,
    no anchors, aliases or tags, nested no deeper than 64 levels, no larger than 16 MiB. Every object has a name, and
    a namespace that is text; a List has items, and a Template objects.

    ## Why

    What cannot be read is not applied, or applied as something else than it looks like: of a key that is there twice
    kubectl takes the last one. That document was not looked at, whatever else is in it; those before and behind it in
    the file were.

    ## What fails

    A document or file that breaks one of these: high. Whatever `--fail-on` says, the result is incomplete. Of a file
    with more than 20 of them, what is behind the last is not looked at, and the finding says so.

    A document in which neither `apiVersion` nor `kind` stands is no manifest, such as a pipeline with tags or a compose
    file with anchors: info, and it does not count. YAML that is broken, and templates, may hold anything, and fail;
    of a `.json` file that is no JSON (`tsconfig.json` has comments) the text decides.

    ## What is inconclusive

    Nothing.

    ## Example that fails

    ```yaml
    apiVersion: route.openshift.io/v1
    kind: Route
    metadata: {name: shop, namespace: shop}
    spec: {host: shop.example.com, to: {kind: Service, name: shop}, tls: {termination: passthrough, termination: edge}}
    ```

    ## Example that passes

    ```yaml
    apiVersion: route.openshift.io/v1
    kind: Route
    metadata: {name: shop, namespace: shop}
    spec: {host: shop.example.com, to: {kind: Service, name: shop}, tls: {termination: edge}}
    ```

    ## How to fix

    The finding names line and column. Templates (Helm, Kustomize with variables) are no manifests: lint what they
    render, `helm template . | adhere lint -` or `kustomize build . | adhere lint -`.
    """
    yield rule.finding(place, f"cannot be read: {message}", hint or None)


UNREADABLE = ScanRule(
    id="manifest-unreadable",
    title="Every manifest can be read",
    severity="high",
    check=check_unreadable,
    references=("YAML 1.2.2", "kubernetes.io, Server-side field validation"),
)


def check_kind(rule: ScanRule, place: str, message: str, hint: str) -> Iterator[Finding]:
    """Every object is of an API that there is.

    ## What it requires

    That `apiVersion` and `kind` name what an API server can know: `route.openshift.io/v1` and `Route`, not `route`,
    not `Route` of `v1`, not `route.openshift.io/v2`.

    ## Why

    An API server refuses such an object, and a tool that looks for Routes passes it by: what is wrong with it is never
    seen, and a pipeline is green because of a letter.

    ## What fails

    An object whose kind, group or version is nearly that of one that lint looks at, or whose kind is in another group:
    high, with what was probably meant. So does an object of such a kind without `apiVersion`, or of such a group
    without `kind`, one that has both keys in other letters (`ApiVersion`, `Kind`) or, beside `metadata`, misspelt, and
    an Ingress or a Deployment of `extensions/v1beta1`, which no API server has had since Kubernetes 1.22. It is not
    looked at, so that the result is incomplete whatever `--fail-on` says.

    Kinds of the same name in groups that adhere does not know, such as `Gateway` of `networking.istio.io` and `Service`
    of `serving.knative.dev`, are other things; they are counted, and that is all.

    ## What is inconclusive

    Nothing. A version that is newer than this release of adhere fails, too: nobody here knows what is in it.

    ## Example that fails

    ```yaml
    apiVersion: gateway.networking.k8s.io/v1
    kind: HttpRoute
    metadata: {name: shop, namespace: shop}
    spec: {parentRefs: [{name: edge}], rules: [{backendRefs: [{name: shop, port: 8080}]}]}
    ---
    apiVersion: networking.k8s.io/v1
    kind: Gateway
    metadata: {name: edge, namespace: shop}
    spec: {gatewayClassName: example, listeners: [{name: https, port: 443, protocol: HTTPS}]}
    ```

    ## Example that passes

    ```yaml
    apiVersion: gateway.networking.k8s.io/v1
    kind: HTTPRoute
    metadata: {name: shop, namespace: shop}
    spec: {parentRefs: [{name: edge}], rules: [{backendRefs: [{name: shop, port: 8080}]}]}
    ---
    apiVersion: gateway.networking.k8s.io/v1
    kind: Gateway
    metadata: {name: edge, namespace: shop}
    spec: {gatewayClassName: example, listeners: [{name: https, port: 443, protocol: HTTPS}]}
    ```

    ## How to fix

    Write what was meant; `kubectl api-resources` lists what a cluster knows.
    """
    yield rule.finding(place, f"was not looked at: {message}", hint or None)


KIND_UNKNOWN = ScanRule(
    id="kind-unknown",
    title="Every object is of an API that there is",
    severity="high",
    check=check_kind,
    references=("kubernetes.io, Kubernetes API Concepts, Resource URIs",),
)
