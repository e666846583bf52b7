"""Names of a Custom profile that nobody serves, and minimum versions that nobody should."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from scanner.lint.openshift.profiles import SUBJECTS, Declaration, declarations
from scanner.model.custom_profile import GO_SUITES, HYPERSHIFT_SUITES, VERSIONS, suite_named
from scanner.model.kinds import HOSTED_CLUSTER, HOSTED_CONTROL_PLANE, INGRESS_CONTROLLER
from scanner.model.located import shown
from scanner.model.object_rule import Flaw, ObjectRule, Subject
from scanner.model.problems import did_you_mean
from scanner.tls.codepoints import SUITES
from scanner.tls.names import is_tls13, openssl_name

_MOST: Final = 500
_KNOWN: Final = tuple(suite.openssl for suite in SUITES if suite.openssl)
_GUESSED: Final = 20
"""Unknown names of one list for which a near one is looked for; the others get none."""


def check_ciphers(subject: Subject) -> Iterator[Flaw]:
    """Every name in a Custom profile's `ciphers` selects a suite.

    ## What it requires

    Each name is OpenSSL's of a suite that the reader has: for Go's servers (APIServer, KubeletConfig), one that
    library-go maps; for a HostedCluster, one of the ten that HyperShift maps; for an IngressController, any that
    OpenSSL knows.

    ## Why

    What is not mapped is dropped without a word. IANA's names of TLS 1.2 suites, as the enhancement's own examples have
    them, are lost in this way, and so are all DHE suites: the list that is in force is shorter than the one that was
    written and reviewed.

    ## What fails

    Each name that is lost: medium.

    ## What is inconclusive

    Nothing. In a profile with VersionTLS13 a list means nothing at all to Go's servers; that is `tls-profile-custom`'s.

    ## Example that fails

    ```yaml
    apiVersion: config.openshift.io/v1
    kind: APIServer
    metadata: {name: cluster}
    spec:
      tlsSecurityProfile:
        type: Custom
        custom:
          ciphers: [ECDHE-RSA-AES128-GCM-SHA256, TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384, DHE-RSA-AES128-GCM-SHA256]
          minTLSVersion: VersionTLS12
    ```

    ## Example that passes

    ```yaml
    apiVersion: config.openshift.io/v1
    kind: APIServer
    metadata: {name: cluster}
    spec:
      tlsSecurityProfile:
        type: Custom
        custom: {ciphers: [ECDHE-RSA-AES128-GCM-SHA256, ECDHE-RSA-AES256-GCM-SHA384], minTLSVersion: VersionTLS12}
    ```

    ## How to fix

    Write OpenSSL's name, or leave the suite out.
    """
    for each in declarations(subject.object):
        value = each.custom.at("ciphers")
        guesses = _GUESSED
        for index, name in enumerate(value[:_MOST] if isinstance(value, list) else ()):
            lost = _lost(each, name, guess=guesses > 0)
            if lost:
                guesses -= 1
                yield Flaw(message=lost[0], at=(*each.steps, "custom", "ciphers", index), fix=lost[1])


def _lost(each: Declaration, name: object, *, guess: bool) -> tuple[str, str] | None:
    """Why a name selects nothing, and what to do; None where it selects a suite."""
    haproxy = each.object.kind == INGRESS_CONTROLLER
    if not isinstance(name, str):
        return f"{shown(name)} is no name of a cipher suite", "write OpenSSL's name"
    if haproxy and name.startswith("!"):
        return None  # OpenSSL's exclusion, which the operator lets pass
    code = suite_named(name)
    if code is None:
        near = did_you_mean(name, _KNOWN, otherwise="remove it") if guess else "remove it"
        return f"{shown(name)} is no cipher suite, and is dropped without a word", near
    known = openssl_name(code)
    if known != name and not is_tls13(code):
        return f"{name} is IANA's name, and only OpenSSL's are mapped: it is dropped without a word", f"write {known}"
    if not haproxy and not is_tls13(code) and code not in _suites(each):
        return f"{name} is none that {_reader(each)} has: it is dropped without a word", "remove it"
    return None


def _suites(each: Declaration) -> frozenset[int]:
    return HYPERSHIFT_SUITES if each.object.kind in (HOSTED_CLUSTER, HOSTED_CONTROL_PLANE) else GO_SUITES


def _reader(each: Declaration) -> str:
    return "HyperShift" if each.object.kind in (HOSTED_CLUSTER, HOSTED_CONTROL_PLANE) else "Go"


def check_version(subject: Subject) -> Iterator[Flaw]:
    """A `tlsSecurityProfile` asks for TLS 1.2 or later.

    ## What it requires

    That the profile is not Old, and that a Custom profile's `minTLSVersion` is VersionTLS12 or VersionTLS13.

    ## Why

    TLS 1.0 and 1.1 are deprecated (RFC 8996): what signs their handshakes is SHA-1. Old is there for clients that
    nobody can update, and opens its listeners to all others as well. A router turns 1.0 into 1.1.

    ## What fails

    Old, and VersionTLS10 or VersionTLS11: medium.

    ## What is inconclusive

    Nothing.

    ## Example that fails

    ```yaml
    apiVersion: operator.openshift.io/v1
    kind: IngressController
    metadata: {name: default, namespace: openshift-ingress-operator}
    spec:
      tlsSecurityProfile: {type: Old, old: {}}
    ```

    ## Example that passes

    ```yaml
    apiVersion: operator.openshift.io/v1
    kind: IngressController
    metadata: {name: default, namespace: openshift-ingress-operator}
    spec:
      tlsSecurityProfile: {type: Intermediate, intermediate: {}}
    ```

    ## How to fix

    Choose Intermediate. For old clients, give an IngressController of their own the profile Old, and keep it off all
    others.
    """
    for each in declarations(subject.object):
        if each.type == "Old":
            yield Flaw(
                message="the profile Old has TLS 1.0 and 1.1",
                at=(*each.steps, "type"),
                expected=("Intermediate", "Modern"),
                observed=("Old",),
                fix="choose Intermediate or Modern",
                correction="tlsSecurityProfile:\n  type: Intermediate\n  intermediate: {}",
            )
        said = each.custom.text("minTLSVersion")
        if said in VERSIONS[:2]:
            yield Flaw(
                message=f"{said} lets in deprecated versions of TLS",
                at=(*each.steps, "custom", "minTLSVersion"),
                expected=VERSIONS[2:],
                observed=(said,),
                fix="write VersionTLS12",
                correction="minTLSVersion: VersionTLS12",
            )


CIPHERS = ObjectRule(
    id="tls-profile-ciphers",
    title="Every name in a Custom profile's ciphers selects a suite",
    severity="medium",
    subjects=SUBJECTS,
    check=check_ciphers,
    references=(
        "openshift/library-go pkg/crypto/crypto.go (OpenSSLToIANACipherSuites)",
        "openshift/hypershift support/config/cipher.go",
    ),
)
VERSION = ObjectRule(
    id="tls-profile-version",
    title="A tlsSecurityProfile asks for TLS 1.2 or later",
    severity="medium",
    subjects=SUBJECTS,
    check=check_version,
    references=("RFC 8996", "openshift/api config/v1/types_tlssecurityprofile.go"),
)
