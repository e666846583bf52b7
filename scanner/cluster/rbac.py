"""Roles that a scan needs, from the same list of kinds that it reads.

They only read, without wildcards. Secrets, and everything that needs ``create``, are more valuable to an attacker: they
have optional roles of their own that state the risk.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import TypeAlias

from msgspec import Struct

from scanner.errors import UsageError
from scanner.files.problems import did_you_mean
from scanner.kube.kinds import LINTED, OPEN_REPORTS, OPERATORS, POLICY_REPORTS, WATCHED, Kind
from scanner.model.diagnosis import EVENT

NAME = "adhere-scan"
READING = ("get", "list")
RISK = "adhere/risk"
"""Annotation with the risk of an optional role."""
_RBAC = "rbac.authorization.k8s.io"

Manifest: TypeAlias = dict[str, object]
Rule: TypeAlias = dict[str, object]


class Option(Struct, frozen=True):
    """An optional permission."""

    risk: str
    rules: tuple[Rule, ...]


def _rule(group: str, resources: Iterable[str], verbs: Iterable[str]) -> Rule:
    return {"apiGroups": [group], "resources": list(resources), "verbs": list(verbs)}


def _reading(kinds: tuple[Kind, ...], verbs: Iterable[str] = READING) -> tuple[Rule, ...]:
    groups = dict.fromkeys(kind.group for kind in kinds)
    return tuple(_rule(group, [kind.plural for kind in kinds if kind.group == group], verbs) for group in groups)


_WRITING = ("get", "list", "create", "patch", "delete")
"""``create``: the API server also requires it for a patch that creates the object."""
OPTIONS: Mapping[str, Option] = {
    "sar": Option(
        "Creates SubjectAccessReviews, which change nothing: its holder can list the permissions of every user.",
        (_rule("authorization.k8s.io", ["subjectaccessreviews"], ["create"]),),
    ),
    "port-forward": Option(
        "Connects to any port of any pod, bypassing every NetworkPolicy, also to ports on localhost.",
        (_rule("", ["pods/portforward"], ["create", "get"]),),
    ),
    "configz": Option(
        "Gives access to the kubelet's API on every node, which on many clusters runs commands in any container.",
        (_rule("", ["nodes/proxy"], ["get"]),),
    ),
    "reports": Option(
        "Writes and deletes the reports of all tools that use these kinds; it reads and changes nothing else.",
        (
            *(
                _rule(kinds[0].group, [each.plural for each in kinds], _WRITING)
                for kinds in (POLICY_REPORTS, OPEN_REPORTS)
            ),
        ),
    ),
    "doctor": Option(
        "Reads the configurations of the platform's operators, and events of all namespaces, which may "
        "quote other objects. Only adhere doctor needs it.",
        _reading((*OPERATORS, EVENT)),
    ),
    "lint": Option(
        "Reads roles and their bindings, and the gateways' TCPRoutes; gets any ConfigMap by name, and some contain "
        "passwords. adhere reads those that objects name as CAs. Only adhere lint --cluster needs it.",
        (*_reading(LINTED), _rule("", ["configmaps"], ["get"])),
    ),
    "configmaps": Option(
        "Gets any ConfigMap by name, and some contain passwords. adhere reads those that Gateways, "
        "BackendTLSPolicies and the platform's own objects name as CAs, and those of HyperShift's NodePools. "
        "Without it, adhere cannot determine if these CAs verify the backends, and what the kubelets of "
        "NodePools must follow.",
        (_rule("", ["configmaps"], ["get"]),),
    ),
    "secrets": Option(
        "Gets any Secret by name, with private keys and tokens. adhere keeps the certificates of those that "
        "other objects name; an attacker in its pod can read more. Only --secrets needs it.",
        (_rule("", ["secrets"], ["get"]),),
    ),
    "secrets-list": Option(
        "Lists every Secret with its content, such as private keys and tokens. adhere reads those of type "
        "kubernetes.io/tls; the API server cannot limit the permission to those. --secrets works without it.",
        (_rule("", ["secrets"], ["list"]),),
    ),
    "serve": Option(
        "Watches kinds that a scan also reads. Checks bearer tokens and the permissions of their users, because only "
        "some users may read the report: its holder can list the permissions of every user. Only adhere serve "
        "needs it.",
        (
            *_reading(WATCHED, ("watch",)),
            _rule("authentication.k8s.io", ["tokenreviews"], ["create"]),
            _rule("authorization.k8s.io", ["subjectaccessreviews"], ["create"]),
        ),
    ),
    "secrets-watch": Option(
        "Lists and watches every Secret with its content, such as private keys and tokens. adhere asks for the "
        "metadata only, to scan again when a certificate changes. Only adhere serve --secrets uses it, and works "
        "without it.",
        (_rule("", ["secrets"], ["list", "watch"]),),
    ),
}
"""Values of ``--with``."""


def cluster_role(
    kinds: Iterable[Kind], with_: Iterable[str] = (), service_account: str | None = None
) -> list[Manifest]:
    """The ClusterRoles: the one that every scan needs, then one for each option in ``with_``.

    With ``service_account`` (``namespace/name``) also that account and the bindings to it. Raises ``UsageError``.
    """
    roles = [_role(NAME, _reading_rules(kind for kind in kinds if kind.opt_in is None))]
    roles += [_optional_role(option) for option in dict.fromkeys(with_)]
    if service_account is None:
        return roles
    namespace, name = _account(service_account)
    account: Manifest = {
        "apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": name, "namespace": namespace}
    }  # fmt: skip
    return [account, *roles, *(_binding(role, namespace, name) for role in roles)]


def _role(name: str, rules: list[Rule], risk: str = "") -> Manifest:
    metadata: Manifest = {"name": name, "labels": {"app.kubernetes.io/name": "adhere"}}
    if risk:
        metadata["annotations"] = {RISK: risk}
    return {"apiVersion": f"{_RBAC}/v1", "kind": "ClusterRole", "metadata": metadata, "rules": rules}


def _reading_rules(kinds: Iterable[Kind]) -> list[Rule]:
    """One rule a group; objects that are read by name are allowed by name."""
    listed: dict[str, list[str]] = {}
    named: list[Rule] = []
    for kind in kinds:
        if kind.named:
            names = list(dict.fromkeys(name for _, name in kind.named))
            named.append({**_rule(kind.group, [kind.plural], ["get"]), "resourceNames": names})
        else:
            listed.setdefault(kind.group, []).append(kind.plural)
    return [*(_rule(group, dict.fromkeys(plurals), READING) for group, plurals in listed.items()), *named]


def _optional_role(name: str) -> Manifest:
    option = OPTIONS.get(name)
    if option is None:
        raise UsageError(f"--with {name[:40]!r} is no permission", hint=did_you_mean(name, OPTIONS))
    return _role(f"{NAME}-{name}", list(option.rules), option.risk)


_LABEL = re.compile(r"[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?")


def _account(text: str) -> tuple[str, str]:
    namespace, _, name = text.partition("/")
    if not (_LABEL.fullmatch(namespace) and _LABEL.fullmatch(name)):
        raise UsageError(f"{text[:80]!r} is no service account", hint="write NAMESPACE/NAME")
    return namespace, name


def _binding(role: Manifest, namespace: str, name: str) -> Manifest:
    metadata = role["metadata"]
    role_name = metadata["name"] if isinstance(metadata, dict) else ""
    return {
        "apiVersion": f"{_RBAC}/v1",
        "kind": "ClusterRoleBinding",
        "metadata": {"name": f"{role_name}-{namespace}-{name}"},
        "roleRef": {"apiGroup": _RBAC, "kind": "ClusterRole", "name": role_name},
        "subjects": [{"kind": "ServiceAccount", "name": name, "namespace": namespace}],
    }


# --- YAML ------------------------------------------------------------------------------------------------------------

_PLAIN = re.compile(r"[A-Za-z][A-Za-z0-9./_-]*")
_AMBIGUOUS = frozenset({"y", "n", "yes", "no", "on", "off", "true", "false", "null"})


def as_yaml(manifests: Iterable[Manifest]) -> str:
    """The manifests as one stream, for ``oc apply -f -``."""
    return "".join("---\n" + "\n".join(_block(manifest, 0)) + "\n" for manifest in manifests)


def _block(value: Mapping[str, object], indent: int) -> Iterator[str]:
    pad = " " * indent
    for key, item in value.items():
        if isinstance(item, dict):
            yield f"{pad}{_scalar(key)}:"
            yield from _block(item, indent + 2)
        elif isinstance(item, list) and item and isinstance(item[0], dict):
            yield f"{pad}{_scalar(key)}:"
            for each in item:
                first, *rest = _block(each, indent + 2)
                yield f"{pad}- {first.lstrip()}"
                yield from rest
        elif isinstance(item, list):
            yield f"{pad}{_scalar(key)}: [{', '.join(map(_scalar, item))}]"
        else:
            yield f"{pad}{_scalar(key)}: {_scalar(item)}"


def _scalar(value: object) -> str:
    """Text that every version of YAML reads as text; JSON's quotes are YAML's too."""
    text = str(value)
    return text if _PLAIN.fullmatch(text) and text.lower() not in _AMBIGUOUS else json.dumps(text)
