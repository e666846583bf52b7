"""Every problem of a profile, and what each reader makes of it.

``tests/golden/profile-problems.txt`` has for each profile the problems with their field, fix and who refuses it, and
then the profile that applies: if a reader were thought to refuse what it takes, the former profile would be expected.
After a change that is meant: ``ADHERE_GOLDEN=write .venv/bin/pytest tests/kube/test_profile_problems.py``; then read
the difference.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from scanner.kube.maybe import Unknown
from scanner.kube.objects import Fields
from scanner.kube.profile_catalogue import load_profile
from scanner.kube.tls_profile import (
    HYPERSHIFT,
    INGRESS_OPERATOR,
    INHERITED_BY_INGRESS,
    LIBRARY_GO,
    MACHINE_CONFIG,
    MICROSHIFT_INGRESS,
    OTHER,
    Problem,
    Reader,
    TLSSecurityProfile,
    declared,
    problems,
)
from scanner.tls.names import suite_name
from tests.report.golden import assert_golden

STEPS: Final = ("spec", "tlsSecurityProfile")
READERS: Final = {
    "library-go": LIBRARY_GO,
    "ingress operator": INGRESS_OPERATOR,
    "inherited by the ingress operator": INHERITED_BY_INGRESS,
    "machine config operator": MACHINE_CONFIG,
    "HyperShift": HYPERSHIFT,
    "MicroShift's ingress": MICROSHIFT_INGRESS,
    "other": OTHER,
}
GCM: Final = "ECDHE-RSA-AES128-GCM-SHA256"
IANA: Final = "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256"


def custom(*ciphers: object, minimum: object = "VersionTLS12", **more: object) -> dict[str, Any]:
    return {"type": "Custom", "custom": {"minTLSVersion": minimum, "ciphers": list(ciphers), **more}}


PROFILES: Final[tuple[object, ...]] = (
    None,
    {},
    [],
    "Modern",
    {"type": ""},
    {"type": 7},
    {"type": "Fancy"},
    {"type": "modern"},
    {"type": "Old", "old": {}},
    {"type": "Old", "modern": {}},
    {"type": "Modern", "modern": None},
    {"type": "Modern", "Modern": {}, "minTLSVersion": "VersionTLS12"},
    {"modern": {}},
    {"custom": {"ciphers": [GCM]}},
    {"type": "Custom"},
    {"type": "Custom", "custom": {}},
    {"type": "Custom", "custom": []},
    {"type": "Intermediate", "custom": {"ciphers": [GCM]}},
    {"type": "Custom", "custom": {"minTLSVersion": "VersionTLS13"}},
    {"type": "Custom", "custom": {"ciphers": [GCM]}},
    {"type": "Custom", "custom": {"ciphers": GCM, "minTLSVersion": "VersionTLS12"}},
    *(
        custom(GCM, minimum=each)
        for each in ("", None, "TLS1.2", "1.3", "VersionTLS14", "VersionTLS10", 12, "versiontls12")
    ),
    custom(GCM, minimum="VersionTLS13"),
    custom(),
    custom("AES128-SHA"),
    custom("TLS_AES_128_GCM_SHA256"),
    custom("TLS_AES_128_GCM_SHA256", minimum="VersionTLS13"),
    custom("AES128-SHA", minimum="VersionTLS13"),
    custom(GCM, "TLS_AES_128_GCM_SHA256", "TLS_AES_256_GCM_SHA384"),
    custom(GCM, GCM, IANA),
    custom(IANA),
    custom(IANA, "TLS_RSA_WITH_AES_128_CBC_SHA"),
    custom(GCM, "RC5", "RC4-SHA", 7, "", None, ["a"], GCM.lower(), f" {GCM}"),
    custom(
        GCM, "ECDHE-RSA-AES128-GCM-SHA265", "DHE-RSA-AES128-GCM-SHA256", "CAMELLIA128-SHA", "TLS_AES_128_CCM_SHA256"
    ),
    custom("AES128-SHA", "@STRENGTH", "HIGH", "ALL:!aNULL", "!AES128-SHA", "-AES256-SHA", "+SHA1", "!SHA1"),
    custom("AES128-SHA", "AES256-SHA", "!AES128-SHA"),
    custom(f"{GCM}:AES128-SHA"),
    custom(*(f"no{number}" for number in range(30))),
    custom(GCM, groups=["X25519", "secp256r1"]),
    custom(GCM, groups=["P-256", "x25519", "nope", 3, "X25519", "X25519"]),
    custom(GCM, groups=[]),
    custom(GCM, groups="X25519"),
    custom(
        GCM, groups=["X25519", "secp256r1", "secp384r1", "secp521r1", "X25519MLKEM768", "SecP256r1MLKEM768", "x", "y"]
    ),
    custom(GCM, curves=["X25519"]),
    custom(GCM, colour="red"),
)


def concluded(profile: object) -> Iterator[str]:
    """Problems, then what applies; readers that agree share a line."""
    yield f"{profile}"
    for lines in (_problems, _applied):
        found: dict[str, list[str]] = {}
        for name, reader in READERS.items():
            for line in lines(profile, reader):
                found.setdefault(line, []).append(name)
        for line, names in found.items():
            yield f"  {line} [{'all' if len(names) == len(READERS) else ', '.join(names)}]"


def _problems(profile: object, reader: Reader) -> Iterator[str]:
    if isinstance(profile, dict):
        view = TLSSecurityProfile(profile, STEPS)
        plain, lenient = list(problems(view, reader)), list(problems(view, reader, iana=True))
        yield from map(_problem, plain[:12])
        yield from (f"if names of IANA count: {_problem(each)}" for each in lenient if each not in plain)
        lost = [each for each in plain if each not in lenient]
        yield from (f"not if names of IANA count: {each.id} {'.'.join(map(str, each.at))}" for each in lost)


def _applied(profile: object, reader: Reader) -> Iterator[str]:
    found = declared(
        Fields({"spec": {"tlsSecurityProfile": profile}}), STEPS, reader, "APIServer/cluster", load_profile
    )
    text, applied = found.said, found.profile
    if isinstance(applied, Unknown):
        text = f"unknown, {applied.reason}"
    elif applied is not None and applied.name.startswith("custom"):
        suites = " ".join(f"{each:04X}" for each in applied.suites)
        text = f"{applied.name} from {applied.min_version:04X}, {suites}, groups {applied.groups}"
    elif applied is not None:
        text = f"{text}: {applied.name}"
    flags = [name for name in ("spelt", "dropped", "refused", "custom") if getattr(found, name)]
    yield f"-> {text}; {len(found.remarks)} remarks; {' '.join(flags) or 'as written'}"
    if found.spelt:
        yield f"   by other names: {', '.join(map(suite_name, sorted(found.spelt)))}"
    for each in found.dropped[:12]:
        yield f"   {'drops' if each.certain else 'may drop'} {each.name}: {each.reason} | fix: {each.fix}"
    yield from (f"   note: {note}" for note in getattr(applied, "notes", ()))


def _problem(each: Problem) -> str:
    flags = [name for name in ("schema", "key") if getattr(each, name)]
    parts = [each.id, ".".join(map(str, each.at)), each.message, f"fix: {each.fix}", *flags]
    parts += [f"one of {', '.join(each.expected)}"] if each.expected else []
    return " | ".join(parts + ([f"admission: {each.admission}"] if each.admission else []))


def test_these_are_the_problems_and_what_applies() -> None:
    found = "\n".join(line for each in PROFILES for line in concluded(each)) + "\n"
    assert_golden("profile-problems.txt", found)


def test_so_many_names_are_compared_with_the_known_ones_and_no_more() -> None:
    """Each comparison takes time, and an object decides how many there are."""
    profile = custom(*(f"AES128-SHX{number}" for number in range(30)))
    found = list(problems(TLSSecurityProfile(profile, STEPS), LIBRARY_GO))
    fixes = [each.fix for each in found if each.id == "name-unknown"]
    assert [each.startswith("did you mean") for each in fixes] == [True] * 20 + [False] * 10
