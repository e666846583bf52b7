"""IngressControllers and the Ingress configuration: domains, default certificates, shards, client certificates, and
hosts of the platform's own Routes."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Iterator, Mapping
from typing import Final

from scanner.files.source_positions import Steps, shown
from scanner.kube.ingress import (
    CONFIG_NAMESPACE,
    OPERATOR_NAMESPACE,
    ROUTER_NAMESPACE,
    ComponentRoute,
    Console,
    IngressConfig,
    IngressController,
)
from scanner.kube.kinds import CONFIG_MAP, CONSOLE, INGRESS_CONFIG, INGRESS_CONTROLLER, NAMESPACE, ROUTE, SECRET
from scanner.kube.meta import are_disjoint, is_empty, selects
from scanner.kube.objects import KubeObject
from scanner.lint import references
from scanner.lint.openshift.configured_certificates import OPAQUE, bundle_flaws, named_secret, serving_flaws
from scanner.lint.referenced_certificates import chain_of
from scanner.lint.references import look_up, name_flaws
from scanner.model.declared import Declared, Missing
from scanner.model.object_rule import Flaw, ObjectRule, Subject, undecided

_SPEC: Final = ("spec",)
_DOMAIN: Final = ("spec", "domain")
_CERTIFICATE: Final = ("spec", "defaultCertificate")
_NAMESPACES: Final = ("spec", "namespaceSelector")
_ROUTES: Final = ("spec", "routeSelector")
_CLIENT_TLS: Final = ("spec", "clientTLS")
_POLICY: Final = (*_CLIENT_TLS, "clientCertificatePolicy")
_AUTHORITY: Final = (*_CLIENT_TLS, "clientCA")
_PATTERNS: Final = (*_CLIENT_TLS, "allowedSubjectPatterns")
_TLS_SETTINGS: Final[Mapping[str, Callable[[IngressController], object]]] = {
    "spec.tlsSecurityProfile": lambda controller: controller.raw_profile,
    "spec.clientTLS": lambda controller: controller.client_tls.raw,
    "spec.defaultCertificate": lambda controller: controller.default_certificate,
}
_DOMAINS: Final = 50
"""Known domains of one namespace that are kept."""
_MOST: Final = 50
"""IngressControllers that are compared with one another."""
_POLICIES: Final = ("Required", "Optional")
_KEY: Final = "ca-bundle.pem"
_MOST_PATTERNS: Final = 1000


# --- Domains ----------------------------------------------------------------------------------------------------------


def domain_of(declared: Declared, controller: IngressController) -> str | Missing:
    """The controller's domain in lower case: from its status, its spec or the cluster (cluster-ingress-operator
    ``setDefaultDomain``); "" if none is set, or the missing object that would set it."""
    if controller.domain:
        return controller.domain.lower()
    config = declared.find(INGRESS_CONFIG, "cluster")
    if isinstance(config, Missing):
        return config if config.gap else ""
    return IngressConfig.of(config).domain.lower()


def uncovered(declared: Declared, controller: IngressController, names: tuple[str, ...]) -> tuple[str, ...] | Missing:
    """The names that the default certificate of a controller does not cover, or the missing object that decides."""
    if controller.default_secret:
        secret = look_up(declared, SECRET, controller.default_secret, ROUTER_NAMESPACE)
        if isinstance(secret, Missing):
            return secret if secret.gap else names
        flaws = list(name_flaws(secret, names, _CERTIFICATE))
        if unclear := next((flaw.message for flaw in flaws if flaw.verdict == "inconclusive"), None):
            return Missing(name=str(secret.reference), gap=unclear)
        return tuple(name for flaw in flaws for name in flaw.expected) if chain_of(secret) else names
    domain = domain_of(declared, controller)
    if isinstance(domain, Missing):
        return domain
    return tuple(name for name in names if name.partition(".")[2] != domain or not domain)


def check_domain(subject: Subject) -> Iterator[Flaw]:
    """An IngressController is in the operator's namespace, with its own domain."""
    controller = IngressController.of(subject.object)
    if controller.namespace not in (None, OPERATOR_NAMESPACE):
        message = f"the operator ignores it: IngressControllers must be in the namespace {OPERATOR_NAMESPACE}"
        yield Flaw(
            message=message, at=("metadata", "namespace"), severity="medium", fix=f"create it in {OPERATOR_NAMESPACE}"
        )
    at = _DOMAIN if controller.has_own_domain else _SPEC
    known = subject.declared.once(_by_domain)
    own = domain_of(subject.declared, controller)
    others = [each for each in known.get((controller.namespace, own), ()) if each is not subject.object]
    if others and own:
        where = own if isinstance(own, str) else "the cluster's"
        message = f"{others[0].reference} has the same domain ({where}): the operator admits only one"
        observed = tuple(str(each.reference) for each in others[:5])
        yield Flaw(message=message, at=at, observed=observed, fix="set spec.domain to another domain")
    elif unseen := _unseen(subject.declared, controller, own):
        yield undecided(unseen, at, "whether another IngressController has the same domain")


def _by_domain(declared: Declared) -> Mapping[tuple[str | None, str | Missing], list[KubeObject]]:
    """The IngressControllers of each namespace and domain. The cluster's domain is one key, also if it is unknown."""
    found: dict[tuple[str | None, str | Missing], list[KubeObject]] = {}
    for each in declared.every(INGRESS_CONTROLLER):
        controller = IngressController.of(each)
        found.setdefault((controller.namespace, domain_of(declared, controller)), []).append(each)
    return found


def _domains(declared: Declared) -> Mapping[str | None, set[str | Missing]]:
    """Some domains of each namespace with IngressControllers, and its unknown domain if it has one."""
    found: dict[str | None, set[str | Missing]] = {}
    for namespace, domain in declared.once(_by_domain):
        several = found.setdefault(namespace, set())
        if len(several) < _DOMAINS or isinstance(domain, Missing):
            several.add(domain)
    return found


def _unseen(declared: Declared, controller: IngressController, own: str | Missing) -> Missing | None:
    """The missing object that may give another controller the same domain."""
    domains = declared.once(_domains).get(controller.namespace, set())
    if isinstance(own, Missing):
        return own if len(domains) > 1 else None
    return next((each for each in domains if isinstance(each, Missing)), None)


# --- Default certificates ---------------------------------------------------------------------------------------------


def check_certificate(subject: Subject) -> Iterator[Flaw]:
    """An IngressController's default certificate can be served, and covers its domain."""
    controller = IngressController.of(subject.object)
    name = controller.default_secret
    if not name:
        # An empty field replaces the operator's own certificate (``RouterEffectiveDefaultCertificateSecretName``).
        if isinstance(controller.default_certificate, dict):
            yield Flaw(
                message="names no Secret: the API server refuses the router's Deployment, which mounts it",
                at=_CERTIFICATE,
                fix=f"{controller.reference}: name a Secret in {ROUTER_NAMESPACE}, or remove defaultCertificate",
            )
        return
    domain = domain_of(subject.declared, controller)
    names = (f"*.{domain}",) if isinstance(domain, str) and domain else ()
    yield from serving_flaws(subject, _CERTIFICATE, named_secret(subject, name, ROUTER_NAMESPACE), names, types=OPAQUE)
    if isinstance(domain, Missing):
        yield undecided(domain, _CERTIFICATE, "whether the certificate covers the domain")
    elif not domain:
        message = "unknown: whether the certificate covers the domain; no object sets the domain"
        yield Flaw(message=message, at=_CERTIFICATE, verdict="inconclusive")


# --- Shards -----------------------------------------------------------------------------------------------------------


def check_shards(subject: Subject) -> Iterator[Flaw]:
    """A Route is served by one IngressController."""
    one = IngressController.of(subject.object)
    at = _NAMESPACES if one.has_namespace_selector else _ROUTES if one.has_route_selector else _SPEC
    unclear: KubeObject | None = None
    controllers = subject.declared.every(INGRESS_CONTROLLER)
    if len(controllers) > _MOST:
        message = f"unknown: which Routes others serve; there are more than {_MOST} of them"
        yield Flaw(message=message, at=at, verdict="inconclusive")
        return
    others = (each for each in controllers if each is not subject.object and each.namespace == one.namespace)
    for other in map(IngressController.of, others):
        shared = _shared(subject.declared, one, other)
        if isinstance(shared, Missing):
            unclear = other
        elif shared:
            yield _both(one, other, shared, at)
    if unclear is not None:
        missing = _labels(subject.declared)
        yield undecided(missing, at, f"whether {unclear.reference} selects the same Routes")


def _both(one: IngressController, other: IngressController, shared: str, at: Steps) -> Flaw:
    differs = [field for field, setting in _TLS_SETTINGS.items() if setting(one) != setting(other)]
    return Flaw(
        message=f"{other.reference} serves {shared} too"
        + (f", with a different {', '.join(differs)}" if differs else ""),
        at=at,
        severity="medium" if differs else "low",
        observed=(str(other.reference),),
        fix=f"change the selectors of {one.reference} or {other.reference}, so that only one selects each Route",
    )


def _shared(declared: Declared, one: IngressController, other: IngressController) -> str | Missing:
    """The Routes that both serve, as text; "" if there are none."""
    pairs = (
        (one.namespace_selector, other.namespace_selector),
        (one.route_selector, other.route_selector),
    )
    if any(are_disjoint(*pair) for pair in pairs):
        return ""
    if all(is_empty(first) or is_empty(second) or first.raw == second.raw for first, second in pairs):
        return "every Route" if all(is_empty(each) for pair in pairs for each in pair) else "some of its Routes"
    routes = (each for each in declared.every(ROUTE) if _serves(declared, one, each) and _serves(declared, other, each))
    found = next(routes, None)
    if found is not None:
        return str(found.reference)
    missing = _labels(declared)
    return missing if missing.gap else ""


def _serves(declared: Declared, controller: IngressController, route: KubeObject) -> bool:
    """True if it is known to select a Route."""
    if not selects(controller.route_selector, route.labels):
        return False
    if is_empty(controller.namespace_selector):
        return True
    found = declared.find(NAMESPACE, route.namespace or "")
    return not isinstance(found, Missing) and selects(controller.namespace_selector, found.labels)


def _labels(declared: Declared) -> Missing:
    """The kind whose labels decide, and the reason why not all are known."""
    kind = ROUTE if declared.gap(ROUTE) else NAMESPACE
    return Missing(name=kind.name, gap=declared.gap(kind))


# --- Client certificates ----------------------------------------------------------------------------------------------


def check_clients(subject: Subject) -> Iterator[Flaw]:
    """An IngressController that verifies clients has a policy, a CA and valid patterns."""
    settings = IngressController.of(subject.object).client_tls
    if not settings:
        return
    policy, name = settings.policy, settings.authority
    if policy in _POLICIES and not name:
        message = "clientTLS verifies clients, but clientCA is not set"
        yield Flaw(message=message, at=_CLIENT_TLS, fix="set clientCA to a ConfigMap in openshift-config")
    elif not policy:  # field-value reports an invalid one
        yield Flaw(
            message=f"clients need no certificate: clientCertificatePolicy is {shown(policy) if policy else 'not set'}",
            at=_POLICY,
            severity="medium",
            expected=_POLICIES,
            fix="set 'clientCertificatePolicy: Required'",
            correction="clientTLS:\n  clientCertificatePolicy: Required",
        )
    if policy == "Optional":
        message = "Optional accepts clients without a certificate: the application must check"
        yield Flaw(message=message, at=_POLICY, severity="info", status="informational", observed=(policy,))
    if name:
        yield from bundle_flaws(subject, _AUTHORITY, name, CONFIG_NAMESPACE, _KEY)
    yield from _patterns(settings.patterns)


def _patterns(value: object) -> Iterator[Flaw]:
    if value == []:
        message = "an empty list of allowedSubjectPatterns filters nothing"
        yield Flaw(message=message, at=_PATTERNS, severity="medium", fix="remove it, or list patterns")
    for index, pattern in enumerate(value[:_MOST_PATTERNS] if isinstance(value, list) else ()):
        if not isinstance(pattern, str):
            continue  # the schema refuses it
        at, why = (*_PATTERNS, index), refused(pattern)
        if why is True:
            message = f"unknown: whether the ingress operator accepts {shown(pattern)}"
            yield Flaw(message=message, at=at, verdict="inconclusive")
        elif why:
            message = (
                "the ingress operator does not admit this IngressController, and the router keeps its previous "
                f"configuration: {shown(pattern)}: {why}"
            )
            yield Flaw(message=message, at=at, fix="use a regular expression that RE2 and PCRE accept")
        elif matches_everything(pattern):
            message = f"{shown(pattern)} matches every subject, so nothing is filtered"
            yield Flaw(message=message, at=at, severity="medium", fix="remove it, or list the allowed subjects")


# --- Regular expressions that two engines must accept: Go's RE2 in the operator, PCRE in HAProxy ----------------------


_LONGEST_PATTERN: Final = 4096
_ESCAPED: Final = re.compile(r"\\.", re.DOTALL)
_CLASS: Final = re.compile(r"\[\^?\]?[^\]]*\]")
_PCRE_ONLY: Final = re.compile(r"\(\?(?:<?[=!]|[>|(#R&+0-9])|\(\*|[*+?}]\+")
"""Lookaround, atomic groups, branch resets, conditions, comments, recursion; possessive quantifiers."""
_PCRE_ESCAPES: Final = re.compile(r"(?<!\\)(?:\\\\)*\\[1-9gkGKRXhHVZ]")
"""Back references, and classes that RE2 does not have."""
_RE2_ONLY: Final = re.compile(r"\\[pPQEzC]|\(\?(?:[imsU-]+[:)]|<[A-Za-z])|\[\[")
"""Syntax of Go that Python does not have, or not everywhere."""
_COUNT: Final = re.compile(r"\{(\d{1,9})(?:,(\d{0,9}))?\}")
_MOST_REPETITIONS: Final = 1000
"""Repetitions that RE2 accepts."""
_EVERYTHING: Final = frozenset(
    {"", "^", "$", "^$|.", ".", ".*", ".+", ".?", "^.*", ".*$", "^.*$", "^.+$", "(.*)", "^(.*)$"}
)


def refused(pattern: str) -> str | bool | None:
    """The reason why the operator refuses a pattern; None if it accepts it, True if that is unknown."""
    if len(pattern) > _LONGEST_PATTERN:
        return True
    bare = _CLASS.sub("", _ESCAPED.sub("", pattern))
    if _PCRE_ONLY.search(bare) or _PCRE_ESCAPES.search(pattern):
        return "it has PCRE syntax that RE2 does not have"
    if any(int(number) > _MOST_REPETITIONS for pair in _COUNT.findall(bare) for number in pair if number):
        return f"it has more than {_MOST_REPETITIONS} repetitions"
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about nested sets, which neither engine has
            re.compile(pattern)
    except (re.error, RecursionError, OverflowError) as error:
        return True if _RE2_ONLY.search(pattern) else f"it is not a regular expression: {str(error)[:100]}"
    return None


def matches_everything(pattern: str) -> bool:
    """True for the usual patterns that match any text."""
    return pattern in _EVERYTHING


# --- The Ingress configuration, and the console's own -----------------------------------------------------------------

_CONSOLE: Final = ("spec", "route")
_APPS: Final = ("spec", "appsDomain")
_CONTROLLERS: Final = 50


def check_routes(subject: Subject) -> Iterator[Flaw]:
    """A certificate covers every host of the Ingress configuration."""
    if subject.object.kind == CONSOLE:
        yield from _console(subject)
        return
    config = IngressConfig.of(subject.object)
    domain = config.domain.lower()
    for each in config.component_routes:
        yield from _route(subject, each, domain)
    apps = config.apps_domain.lower()
    if apps and apps != domain:
        yield from _apps(subject, f"*.{apps}")


def _route(subject: Subject, each: ComponentRoute, domain: str) -> Iterator[Flaw]:
    host = each.hostname.lower()
    if each.secret:
        secret = named_secret(subject, each.secret, CONFIG_NAMESPACE)
        yield from serving_flaws(subject, (*each.steps, "servingCertKeyPairSecret"), secret, (host,) if host else ())
    elif host:
        yield from _uncovered_host(host, domain, (*each.steps, "hostname"), "servingCertKeyPairSecret")


def _uncovered_host(host: str, domain: str, at: Steps, field: str) -> Iterator[Flaw]:
    if not domain or host.partition(".")[2] != domain:
        yield Flaw(
            message=f"no certificate is set for {host}; the default certificate is for *.{domain or 'another domain'}",
            at=at,
            expected=(f"*.{domain}",) if domain else (),
            observed=(host,),
            fix=f"name a Secret of openshift-config in {field}",
        )


def _console(subject: Subject) -> Iterator[Flaw]:
    """Check the console's host in its own configuration, which is older than ``componentRoutes`` (operator/v1)."""
    found = subject.declared.find(INGRESS_CONFIG, "cluster")
    console = Console.of(subject.object)
    host = console.hostname
    if console.secret:
        secret = named_secret(subject, console.secret, CONFIG_NAMESPACE)
        yield from serving_flaws(subject, (*_CONSOLE, "secret"), secret, (host,) if host else (), types=OPAQUE)
    elif host and isinstance(found, Missing) and found.gap:
        yield undecided(found, (*_CONSOLE, "hostname"), f"whether the default certificate covers {host}")
    elif host:
        domain = "" if isinstance(found, Missing) else IngressConfig.of(found).domain.lower()
        yield from _uncovered_host(host.lower(), domain, (*_CONSOLE, "hostname"), "secret")


def _apps(subject: Subject, name: str) -> Iterator[Flaw]:
    declared = subject.declared
    controllers = declared.every(INGRESS_CONTROLLER)
    answers = [uncovered(declared, IngressController.of(each), (name,)) for each in controllers[:_CONTROLLERS]]
    if any(answer == () for answer in answers):
        return
    unseen = next((answer for answer in answers if isinstance(answer, Missing)), None)
    gap = declared.gap(INGRESS_CONTROLLER) or ("only the first were checked" if controllers[_CONTROLLERS:] else None)
    if unseen is None and gap:
        unseen = Missing(name=INGRESS_CONTROLLER.name, gap=gap)
    if unseen is not None:
        yield undecided(unseen, _APPS, f"whether a default certificate covers {name}")
    else:
        message = f"no IngressController has a default certificate for {name}, the hosts of new Routes"
        fix = f"set defaultCertificate of an IngressController to a certificate for {name}"
        yield Flaw(message=message, at=_APPS, severity="medium", fix=fix)


DEFAULT_CERTIFICATE = ObjectRule(
    id="ingress-default-certificate",
    subjects=(INGRESS_CONTROLLER,),
    check=check_certificate,
    reads=(INGRESS_CONFIG, *references.READS),
)
CLIENT_TLS = ObjectRule(
    id="ingress-client-tls",
    subjects=(INGRESS_CONTROLLER,),
    check=check_clients,
    reads=(CONFIG_MAP,),
)
DOMAIN = ObjectRule(
    id="ingress-controller-domain",
    subjects=(INGRESS_CONTROLLER,),
    check=check_domain,
    reads=(INGRESS_CONFIG,),
)
SHARDS = ObjectRule(
    id="ingress-controller-shards",
    subjects=(INGRESS_CONTROLLER,),
    check=check_shards,
    reads=(ROUTE, NAMESPACE),
)
COMPONENT_ROUTES = ObjectRule(
    id="ingress-config-certificate",
    subjects=(INGRESS_CONFIG, CONSOLE),
    check=check_routes,
    reads=(INGRESS_CONTROLLER, *references.READS),
)
