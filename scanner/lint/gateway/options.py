"""TLS options of implementations (Gateway API apis/v1 ``ListenerTLSConfig.options``, ``BackendTLSPolicySpec.options``).

Each implementation has its own keys. What they say of versions is understood by the values: whatever a key is called,
``1.0`` or ``TLSv1_1`` in it is a version that nobody should offer.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from scanner.kube.kinds import BACKEND_TLS_POLICY
from scanner.kube.objects import Fields
from scanner.lint.gateway.listeners import HOLDERS, listeners
from scanner.model.located import Steps, shown
from scanner.model.object_rule import Flaw, ObjectRule, Subject
from scanner.tls.codepoints import TLS12
from scanner.tls.names import version_code, version_label

_MOST: Final = 16
_WORD: Final = re.compile(r"[A-Za-z0-9._]+")
_ABOUT_VERSIONS: Final = re.compile(r"version|protocol|\bmin|\bmax|tls[-_.]?(min|max)", re.IGNORECASE)
_LONGEST: Final = 4096
"""Characters of a value (MaxLength of AnnotationValue)."""


def check_options(subject: Subject) -> Iterator[Flaw]:
    """TLS options have a prefix and allow no version before TLS 1.2.

    ## What it requires

    Each key of `options` of a listener's `tls` and of a BackendTLSPolicy has a domain as prefix, and no option that is
    about versions names one before TLS 1.2.

    ## Why

    Keys without prefix are reserved for the API and do nothing today; what was meant to set a minimum sets none. The
    options are the only place in the Gateway API where versions are chosen, and TLS 1.0 and 1.1 are deprecated
    (RFC 8996).

    ## What fails

    A key without prefix, and a value of an option about versions or protocols that names SSL, TLS 1.0 or TLS 1.1:
    medium.

    ## What is inconclusive

    Nothing is undecided, but what else an option means only its implementation knows: values that name no version pass,
    and a scan judges the listener by the profile that it owes, not by its options.

    ## Example that fails

    ```yaml
    apiVersion: gateway.networking.k8s.io/v1
    kind: Gateway
    metadata: {name: edge, namespace: shop}
    spec:
      gatewayClassName: example
      listeners:
      - name: https
        port: 443
        protocol: HTTPS
        tls:
          certificateRefs: [{name: edge-tls}]
          options: {example.com/min-tls-version: "1.1"}
    ```

    ## Example that passes

    ```yaml
    apiVersion: gateway.networking.k8s.io/v1
    kind: Gateway
    metadata: {name: edge, namespace: shop}
    spec:
      gatewayClassName: example
      listeners:
      - name: https
        port: 443
        protocol: HTTPS
        tls:
          certificateRefs: [{name: edge-tls}]
          options: {example.com/min-tls-version: "1.2"}
    ```

    ## How to fix

    Write the key as the implementation documents it, and set TLS 1.2 or 1.3.
    """
    for steps, each in _options(subject):
        for key, value in list(each.words().items())[:_MOST]:
            if "/" not in key:
                yield Flaw(
                    message=f"{shown(key)} has no prefix: such keys are reserved",
                    at=(*steps, key),
                    fix=_fix(subject, key),
                )
            old = _old_version(value[:_LONGEST]) if _ABOUT_VERSIONS.search(key) else None
            if old is not None:
                yield Flaw(
                    message=f"{shown(key)} names {old}",
                    at=(*steps, key),
                    expected=("TLS 1.2 or TLS 1.3",),
                    observed=(shown(value),),
                    fix=_fix(subject, key),
                )


def _fix(subject: Subject, key: str) -> str:
    return f"{subject.object.reference}: option {shown(key)}, as the implementation documents it"


def _options(subject: Subject) -> Iterator[tuple[Steps, Fields]]:
    if subject.object.kind == BACKEND_TLS_POLICY:
        yield ("spec", "options"), subject.object.fields("spec", "options")
        return
    for listener in listeners(subject.declared, subject.object):
        yield (*listener.steps, "tls", "options"), listener.fields.fields("tls", "options")


def _old_version(value: str) -> str | None:
    for word in _WORD.findall(value):
        try:
            code = version_code(word)
        except KeyError:
            continue
        if code < TLS12:
            return version_label(code)
    return None


OPTIONS = ObjectRule(
    id="gateway-options",
    title="TLS options have a prefix and allow no old version",
    severity="medium",
    subjects=(*HOLDERS, BACKEND_TLS_POLICY),
    check=check_options,
    references=(
        "Gateway API apis/v1/gateway_types.go (ListenerTLSConfig.options)",
        "RFC 8996, Deprecating TLS 1.0 and TLS 1.1",
    ),
)
