"""Whether the install-config asks for the signers that the PKI object asks for. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from scanner.model.finding import Finding
from scanner.model.key import Key
from scanner.model.known import Unknown
from scanner.model.located import Located, Steps, dotted
from scanner.model.pki_config import PkiConfig, Required
from scanner.model.rule import ScanRule
from scanner.pki.configuration import Configuration
from scanner.pki.day_one import asked_of_installer, install_config_of_cluster
from scanner.pki.resolution import required


def check_installation(rule: ScanRule, about: Configuration) -> Iterator[Finding]:
    """The install-config asks for the same signers as the PKI object.

    ## What it requires

    Where `pki.signerCertificates` of the install-config names a key, PKI/cluster asks for the same key of signers; and
    the installer would take what stands there. The cluster keeps the install-config in ConfigMap
    `kube-system/cluster-config-v1`; `adhere certs --install-config` reads one from a file.

    ## Why

    The installer writes PKI/cluster from it. Where both differ somebody has changed the object since: signers of the
    installation that nothing renews still have the first key, and a cluster that is installed anew from the same file
    would not have the policy of this one.

    ## What fails

    * Another key, or none at all in PKI/cluster: low.
    * What the installer would refuse, with its own words: low. The ConfigMap is only a memory of the file. In a file
      that `adhere lint` is given: high.
    * In such a file, `pki` without a `featureSet`: medium. An unknown field of `pki`: low.

    ## What is inconclusive

    A PKI object that could not be read, or whose word for signers nobody can tell.

    ## Example that fails

    ```yaml
    apiVersion: v1
    kind: ConfigMap
    metadata: {name: cluster-config-v1, namespace: kube-system}
    data:
      install-config: |
        featureSet: TechPreviewNoUpgrade
        pki: {signerCertificates: {key: {algorithm: RSA, rsa: {keySize: 4096}}}}
    ---
    apiVersion: config.openshift.io/v1alpha1
    kind: PKI
    metadata: {name: cluster}
    spec:
      certificateManagement:
        mode: Custom
        custom:
          defaults: {key: {algorithm: RSA, rsa: {keySize: 3072}}}
    ```

    ## Example that passes

    ```yaml
    apiVersion: v1
    kind: ConfigMap
    metadata: {name: cluster-config-v1, namespace: kube-system}
    data:
      install-config: |
        featureSet: TechPreviewNoUpgrade
        pki: {signerCertificates: {key: {algorithm: RSA, rsa: {keySize: 4096}}}}
    ---
    apiVersion: config.openshift.io/v1alpha1
    kind: PKI
    metadata: {name: cluster}
    spec:
      certificateManagement:
        mode: Custom
        custom:
          defaults: {key: {algorithm: RSA, rsa: {keySize: 3072}}}
          signerCertificates: {key: {algorithm: RSA, rsa: {keySize: 4096}}}
    ```

    ## How to fix

    Write into the install-config what PKI/cluster says, or the other way round.
    """
    day_one = about.day_one or install_config_of_cluster(about.snapshot)
    if day_one is None or day_one.reason == "empty" or day_one == about.config:
        return
    for each in day_one.problems:
        yield _finding(rule, day_one.source, f"the installer refuses {each}", "correct the file")
    asked = day_one.categories.get("signer")
    if asked is not None and not isinstance(asked.key, Unknown):
        yield from _compared(rule, day_one, asked.field, asked.key, about.config)


def before_installation(rule: ScanRule, document: Located) -> Iterator[tuple[Steps, Finding]]:
    """What the installer does not take in a file that nothing was installed from yet, with the field of each."""
    day_one = asked_of_installer(document)
    for each in day_one.problems:
        fix = f"correct {dotted(each.steps)}"
        yield each.steps, rule.finding(day_one.source, f"the installer refuses {each}", fix, severity="high")
    for remark in day_one.remarks:
        yield ("pki",), rule.finding(day_one.source, remark, "set featureSet, or remove pki", severity="medium")
    for field in day_one.unknown_fields:
        yield ("pki",), rule.finding(day_one.source, f"unknown field {field}: the installer ignores it", "remove it")


def _compared(rule: ScanRule, day_one: PkiConfig, field: str, key: Key, config: PkiConfig) -> Iterator[Finding]:
    wanted = required(config, "signer")
    said = f"{field} asks for {key} keys of signers"
    if wanted.unknown is not None:
        told = f"{said}, and what {config.source} asks for nobody can tell: {wanted.unknown}"
        yield replace(_finding(rule, day_one.source, told), verdict="inconclusive", status="not-tested")
    elif wanted.key != key:
        told = f"{said}, and {config.source} for {_asked(wanted)}"
        yield _finding(rule, day_one.source, told, f"say the same in {config.source} and in the install-config")


def _asked(wanted: Required) -> str:
    if wanted.key is None:
        return "nothing"
    return str(wanted.key) if wanted.exact else f"nothing, which leaves {wanted.key}"


def _finding(rule: ScanRule, about: str, said: str, fix: str | None = None) -> Finding:
    return rule.finding(about, f"{about}: {said}", fix)


INSTALLATION = ScanRule(
    id="pki-install-config",
    title="The install-config and the PKI object ask for the same signers",
    severity="low",
    check=check_installation,
    references=(
        "Enhancement 'Configurable PKI for OpenShift Internal Certificates', Initial Cluster Installation (Day-1)",
        "openshift/installer pkg/types/pki/validation.go",
    ),
)
