"""A ``tlsSecurityProfile`` of type Custom, as its readers take it or do not."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Final

from scanner.lint.openshift.profiles import SUBJECTS, Declaration, declarations
from scanner.model.custom_profile import GO_SUITES, GROUPS, HTTP2, VERSIONS, suite_named
from scanner.model.located import shown
from scanner.model.object_rule import Flaw, ObjectRule, Subject
from scanner.model.problems import did_you_mean
from scanner.tls.names import is_tls13, openssl_name

_MOST: Final = 500
"""Names of a list; there are 372 suites."""
_TLS13: Final = "VersionTLS13"
_NOT_WITH_TLS13: Final = (
    "Cipher suites cannot be configured when minTLSVersion is VersionTLS13. "
    "TLS 1.3 cipher suites are hardcoded by the Go runtime."
)
"""The enhancement's words; the admission that shipped says it shorter."""
_HTTP2_NAMES: Final = tuple(str(openssl_name(code)) for code in HTTP2)
_GROUPS_AT_MOST: Final = 7


def check_custom(subject: Subject) -> Iterator[Flaw]:
    """A Custom profile is one that its readers take.

    ## What it requires

    * `minTLSVersion` is VersionTLS10, VersionTLS11, VersionTLS12 or VersionTLS13.
    * For Go's servers (APIServer, KubeletConfig, HostedCluster and whatever else holds such a profile): with
      VersionTLS13 there are no `ciphers`; below it, one of them is a suite that Go has, by OpenSSL's name, and one is
      ECDHE-RSA-AES128-GCM-SHA256 or ECDHE-ECDSA-AES128-GCM-SHA256, without which no HTTP/2 server starts.
    * For an IngressController, whose HAProxy speaks the TLS 1.3 suites that are listed: the list is not empty; with
      VersionTLS13 it has a TLS 1.3 suite, below it another one.
    * `groups` are those of the API, each once, seven at most.

    ## Why

    The API server refuses some of this in an APIServer, and nothing refuses it elsewhere. The enhancement asks for it
    in every API that holds the profile: who lists suites for TLS 1.3 should not believe that they are in force.

    ## What fails

    Any of it: high. Whose admission refuses it is said, with its own words as evidence. Names that are merely lost on
    the way are another rule's, `tls-profile-ciphers`.

    ## What is inconclusive

    Nothing: all of it stands in the object.

    ## Example that fails

    ```yaml
    apiVersion: config.openshift.io/v1
    kind: APIServer
    metadata: {name: cluster}
    spec:
      tlsSecurityProfile:
        type: Custom
        custom: {ciphers: [TLS_AES_128_GCM_SHA256], minTLSVersion: VersionTLS13}
    ```

    ```yaml
    apiVersion: operator.openshift.io/v1
    kind: IngressController
    metadata: {name: default, namespace: openshift-ingress-operator}
    spec:
      tlsSecurityProfile:
        type: Custom
        custom: {ciphers: [ECDHE-RSA-AES128-GCM-SHA256], minTLSVersion: VersionTLS13}
    ```

    ## Example that passes

    ```yaml
    apiVersion: config.openshift.io/v1
    kind: APIServer
    metadata: {name: cluster}
    spec:
      tlsSecurityProfile:
        type: Custom
        custom: {ciphers: [ECDHE-RSA-AES128-GCM-SHA256, ECDHE-ECDSA-AES128-GCM-SHA256], minTLSVersion: VersionTLS12}
    ```

    ```yaml
    apiVersion: operator.openshift.io/v1
    kind: IngressController
    metadata: {name: default, namespace: openshift-ingress-operator}
    spec:
      tlsSecurityProfile:
        type: Custom
        custom: {ciphers: [TLS_AES_128_GCM_SHA256], minTLSVersion: VersionTLS13}
    ```

    ## How to fix

    Prefer a named profile. With VersionTLS13 remove `ciphers`, but for an IngressController; below it, list one of the
    two suites that HTTP/2 needs.
    """
    for each in declarations(subject.object):
        if each.custom.raw:
            yield from _version(each)
            yield from (_listed(each) if each.consumer.tls13_suites == "listed" else _fixed(each))
            yield from _groups(each)


def _version(each: Declaration) -> Iterator[Flaw]:
    said = each.custom.at("minTLSVersion")
    if said not in (None, "", *VERSIONS):
        listed = ", ".join(f'"{name}"' for name in VERSIONS)
        yield Flaw(
            message=f"no API takes it: Unsupported value: {shown(said)}: supported values: {listed}",
            at=(*each.steps, "custom", "minTLSVersion"),
            expected=VERSIONS,
            fix=did_you_mean(said, VERSIONS) if isinstance(said, str) else f"one of {', '.join(VERSIONS)}",
        )


def _fixed(each: Declaration) -> Iterator[Flaw]:
    """For Go, which speaks all of TLS 1.3 whatever is listed."""
    names = each.custom.texts("ciphers")[:_MOST]
    if each.custom.text("minTLSVersion") == _TLS13:
        if names:
            fix = "remove ciphers, or write 'minTLSVersion: VersionTLS12'"
            yield _refused(each, _NOT_WITH_TLS13, "TLS 1.3 cipher suites are not configurable", fix)
        return
    if not any(code in GO_SUITES and openssl_name(code) == name for name, code in _codes(names)):
        says = "no supported cipher suite found"
        yield _refused(each, says, says, f"list OpenSSL's names, for example {_HTTP2_NAMES[0]}")
    if not set(_HTTP2_NAMES).intersection(names):
        said = (
            "http2: TLSConfig.CipherSuites is missing an HTTP/2-required AES_128_GCM_SHA256 cipher "
            f"(need at least one of {' or '.join(_HTTP2_NAMES)})"
        )
        yield _refused(each, "no cipher suite that HTTP/2 requires", said, f"add {' or '.join(_HTTP2_NAMES)}")


def _codes(names: tuple[str, ...]) -> Iterator[tuple[str, int]]:
    for name in names:
        code = suite_named(name)
        if code is not None:
            yield name, code


def _listed(each: Declaration) -> Iterator[Flaw]:
    """For HAProxy (cluster-ingress-operator ``validateTLSSecurityProfile``)."""
    names = each.custom.texts("ciphers")[:_MOST]
    thirteen = [name for name, code in _codes(names) if is_tls13(code)]
    only = each.custom.text("minTLSVersion") == _TLS13
    if not names:
        yield _refused(each, "the list of ciphers is empty", "", "list suites, those of TLS 1.3 among them")
    elif only and not thirteen:
        yield _refused(each, "no TLS 1.3 cipher suite is listed with VersionTLS13", "", "add TLS_AES_128_GCM_SHA256")
    elif not only and len(thirteen) == len(names):
        fix = "add one of TLS 1.2, or write 'minTLSVersion: VersionTLS13'"
        yield _refused(each, "only TLS 1.3 cipher suites are listed, below VersionTLS13", "", fix)


def _refused(each: Declaration, message: str, words: str, fix: str) -> Flaw:
    return Flaw(
        message=f"{each.refused_by}: {message}",
        at=(*each.steps, "custom", "ciphers"),
        fix=fix,
        evidence=(f"admission of an APIServer says: {words}",) if words and words != message else (),
    )


def _groups(each: Declaration) -> Iterator[Flaw]:
    value = each.custom.at("groups")
    names = value if isinstance(value, list) else []
    at = (*each.steps, "custom", "groups")
    if isinstance(value, list) and not 1 <= len(value) <= _GROUPS_AT_MOST:
        yield Flaw(
            message=f"no API takes it: it has {len(value)} groups, and must have 1 to {_GROUPS_AT_MOST}",
            at=at,
            fix="leave groups out, so that every component has its own" if not value else "remove some",
        )
    seen: set[str] = set()
    for index, name in enumerate(islice(names, _MOST)):
        if not isinstance(name, str) or name not in GROUPS:
            fix = did_you_mean(name, GROUPS) if isinstance(name, str) else f"one of {', '.join(GROUPS)}"
            yield Flaw(message=f"no API takes it: unknown group {shown(name)}", at=(*at, index), fix=fix)
        elif name in seen:
            yield Flaw(message=f"no API takes it: Duplicate value: {shown(name)}", at=(*at, index), fix="remove it")
        else:
            seen.add(name)


CUSTOM = ObjectRule(
    id="tls-profile-custom",
    title="A Custom profile is one that its readers take",
    severity="high",
    subjects=SUBJECTS,
    check=check_custom,
    references=(
        "Enhancement 'Cluster-wide TLS Security Profile Configuration', TLS 1.3 Cipher Behavior",
        "openshift/kubernetes openshift-kube-apiserver/admission/customresourcevalidation/apiserver",
        "openshift/cluster-ingress-operator pkg/operator/controller/ingress/controller.go",
        "openshift/api config/v1/types_tlssecurityprofile.go (TLSGroup)",
    ),
)
