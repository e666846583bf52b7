"""Secrets and Routes without their keys: certificates, one check of the key, and content in the wrong field."""

from __future__ import annotations

import base64
import re
import warnings
from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Final

from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat, load_pem_private_key
from cryptography.x509 import load_pem_x509_certificate

from scanner.cluster.retention import LAST_APPLIED, METADATA, Pruner
from scanner.cluster.secret_contents import revocation_lists, scrubbed
from scanner.kube.objects import Fields
from scanner.model.pem import REMOVED, WITHHELD, decoded, form_of, pem_certificates

NOT_BASE64: Final = "not base64"
_PEM: Final = b"-----BEGIN "
_PUBLIC: Final = ("tls.crt", "ca.crt")
APPLIED: Final = "last-applied"
"""Marker for the annotation with the applied copy, which is not kept."""
_NAMES: Final = (*_PUBLIC, "tls.key")
_LONGEST: Final = 100


def misplaced(
    fields: Fields, contents: Mapping[str, bytes | None], public: Mapping[str, bytes | None]
) -> dict[str, object]:
    """``forms``: by name, the content of a Secret that is not PEM. ``exposed``: public names with a private key, and
    ``APPLIED``. Each only if there is any; of a stored Secret, its former results.

    ``contents``: ``data`` by name, empty if it cannot be read. ``public``: the part of it that is kept.
    """
    forms = dict(islice(fields.words("adhere", "forms").items(), len(_NAMES)))
    found = {name[:_LONGEST]: what[:_LONGEST] for name, what in forms.items() if name in _NAMES}
    found |= {name: what for name in _NAMES if (what := _form(fields, name, contents.get(name))) and name not in found}
    known = {*fields.texts("adhere", "exposed"), *_exposed(fields, contents, public)}
    exposed = [name for name in (*_PUBLIC, APPLIED) if name in known]
    return ({"forms": found} if found else {}) | ({"exposed": exposed} if exposed else {})


def _form(fields: Fields, name: str, content: bytes | None) -> str | None:
    if content is None:
        return None
    if not content and fields.text("data", name).strip() and not fields.has("stringData", name):
        return NOT_BASE64
    if name not in _PUBLIC or any(pem_certificates(content.decode("utf-8", "replace"), 1)):
        return None
    return form_of(content)


def _exposed(fields: Fields, contents: Mapping[str, bytes | None], public: Mapping[str, bytes | None]) -> Iterator[str]:
    for name in _PUBLIC:
        content, kept = contents.get(name) or b"", public.get(name) or b""
        # Of content without PEM nothing is kept, and it was not searched.
        text = kept if _PEM in content else scrubbed(content.decode("utf-8", "replace")).encode()
        if "a private key" in (form_of(content) or "") or REMOVED.encode() in text:
            yield name
    applied = fields.text("metadata", "annotations", LAST_APPLIED)
    if REMOVED in scrubbed(applied):
        yield APPLIED


KEPT = ("tls.crt", "ca.crt")
"""Kept unchanged, also with other PEM than certificates; of others only the certificates are kept."""
_KEY = "tls.key"
_LARGE = 4096
"""Bytes, somewhat more than RSA-4096. OpenSSL takes seconds to minutes to test the primes of larger keys, and a
Secret's author chooses them. The comparison of the public half needs no such test."""
_CHECK = "adhere"
"""Key of adhere's own results: ``keyMatches`` is true, false, or why it is unknown; ``keyBlocks`` are other PEM labels
beside the key; ``revocationLists`` are the names in data with a list, ``revocation`` their facts; ``forms`` and
``exposed`` come from ``misplaced``."""

_EMBEDDED = re.compile(
    rb'"?((?:certificate-authority|client-certificate)-data)"?:[ \t]*["\']?([A-Za-z0-9+/=]{64,262144})'
)
"""Certificates in a kubeconfig, in YAML or JSON (kubernetes.io, "kubeconfig (v1)")."""
_BEGINS = b"-----BEGIN CERTIFICATE-----"
_BEGINS_LIST = b"-----BEGIN X509 CRL-----"
_CERTIFICATE = re.compile(r"-----BEGIN CERTIFICATE-----[A-Za-z0-9+/=\s]{1,65536}-----END CERTIFICATE-----")
_LABEL = re.compile(rb"-----BEGIN ([A-Z0-9 ]{1,40})-----")
_MOST_BLOCKS = 5
_MOST_EMBEDDED = 100
"""Fields of kubeconfigs in one Secret."""
_MOST_OTHERS = 100
"""Names of one Secret's data beside ``KEPT``."""


def without_key(raw: dict[str, object], pruner: Pruner) -> dict[str, object]:
    """A Secret to keep: name, type, certificates, and whether its key matches.

    ``stringData`` of a manifest counts as ``data``, as in the API server.
    """
    fields = Fields(raw)
    data = {name: _bytes(fields, name) for name in (*KEPT, _KEY)}
    kept: dict[str, object] = {name: pruner.copy(raw[name]) for name in ("apiVersion", "kind", "type") if name in raw}
    kept["metadata"] = pruner.keep(raw.get("metadata"), METADATA)
    public = {name: _public(data[name]) for name in KEPT}
    certificates = {**public, **_others(fields, pruner)}
    kept["data"] = {name: base64.b64encode(each).decode() for name, each in certificates.items() if each}
    known = fields.at(_CHECK, "keyMatches")
    matches = (
        known if isinstance(known, bool | str) and data[_KEY] is None else key_matches(data["tls.crt"], data[_KEY])
    )
    checked: dict[str, object] = {"keyMatches": matches, **misplaced(fields, data, public)}
    if data[_KEY] == b"" and NOT_BASE64 in Fields(checked).text("forms", _KEY):
        checked["keyMatches"] = f"{_KEY} is {NOT_BASE64}"
    if blocks := key_blocks(data[_KEY]) or fields.texts(_CHECK, "keyBlocks"):
        checked["keyBlocks"] = [pruner.text(each) for each in blocks[:_MOST_BLOCKS]]
    if kubeconfigs := _kubeconfigs(fields, pruner):
        checked["kubeconfigs"] = kubeconfigs
    if lists := _revocation_lists(fields, pruner):
        checked["revocationLists"] = lists
        checked["revocation"] = _revocation(fields, lists, pruner)
    kept[_CHECK] = checked
    return kept


def _others(fields: Fields, pruner: Pruner) -> dict[str, bytes]:
    """Certificates in PEM in the Secret's other data: ``service-ca.crt``, ``client.pem``."""
    names = (
        name for name in (*fields.fields("data").raw, *fields.fields("stringData").raw) if name not in (*KEPT, _KEY)
    )
    found: dict[str, bytes] = {}
    for name in islice(dict.fromkeys(names), _MOST_OTHERS):
        content = _bytes(fields, name) or b""
        text = _only_certificates(content.decode("utf-8", "replace")) if _BEGINS in content else ""
        if text:
            found[pruner.text(name)] = text.encode()
    return found


def _revocation_lists(fields: Fields, pruner: Pruner) -> list[str]:
    """Names in ``data`` with a revocation list in PEM (RFC 7468 section 6)."""
    names = (*fields.texts(_CHECK, "revocationLists"), *fields.fields("data").raw, *fields.fields("stringData").raw)
    known = frozenset(fields.texts(_CHECK, "revocationLists"))
    every = islice(dict.fromkeys(name for name in names if name not in (*KEPT, _KEY)), _MOST_OTHERS)
    return [pruner.text(name) for name in every if name in known or _BEGINS_LIST in (_bytes(fields, name) or b"")]


def _revocation(fields: Fields, names: list[str], pruner: Pruner) -> dict[str, object]:
    """Facts of the revocation lists, by name; of a stored Secret, its former facts."""
    before = fields.fields(_CHECK, "revocation")
    return {name: pruner.copy(revocation_lists(_bytes(fields, name) or b"") or before.at(name)) for name in names}


def _kubeconfigs(fields: Fields, pruner: Pruner) -> dict[str, dict[str, str]]:
    """PEM certificates of kubeconfigs, by name in ``data`` and field, without tokens and keys."""
    found: dict[str, dict[str, str]] = {}
    for name in fields.fields(_CHECK, "kubeconfigs").raw:  # of a stored Secret
        found[pruner.text(name)] = {
            field: _only_certificates(text) for field, text in fields.words(_CHECK, "kubeconfigs", name).items()
        }
    count = 0
    for name in (*fields.fields("data").raw, *fields.fields("stringData").raw):
        for field, text in _embedded(_bytes(fields, name)) if name not in (*KEPT, _KEY) else ():
            count += 1
            if count > _MOST_EMBEDDED:
                return found
            of_name = found.setdefault(pruner.text(name), {})
            of_name[field] = of_name.get(field, "") + text
    return found


def _embedded(content: bytes | None) -> Iterator[tuple[str, str]]:
    """Field and certificates."""
    for match in _EMBEDDED.finditer(content or b""):
        try:
            text = _only_certificates(base64.b64decode(match[2], validate=True).decode("utf-8", "replace"))
        except ValueError:
            continue
        if text:
            yield match[1].decode(), text


def _only_certificates(text: str) -> str:
    """The certificates, without private keys that are labelled as certificates."""
    return scrubbed("".join(f"{each}\n" for each in _CERTIFICATE.findall(text)))


def _public(content: bytes | None) -> bytes | None:
    """``content`` without keys. Some tls.crt contain the key, also in DER or UTF-16, which decoding would not find; so
    of content without PEM only a marker is kept."""
    if not content or content.strip() == REMOVED.encode():
        return content
    return scrubbed(content.decode("utf-8", "replace")).encode() if _PEM in content else WITHHELD.encode()


def _bytes(fields: Fields, name: str) -> bytes | None:
    text = fields.at("stringData", name)
    if isinstance(text, str):
        return text.encode("utf-8", "replace")
    coded = fields.at("data", name)
    if not isinstance(coded, str):
        return None
    try:
        return decoded(coded)
    except ValueError:
        return b""


def key_blocks(key: bytes | None) -> tuple[str, ...]:
    """PEM labels beside those of private keys. A router accepts no others there."""
    labels = (match[1].decode() for match in islice(_LABEL.finditer(key or b""), _MOST_EMBEDDED))
    others = (each for each in labels if not each.endswith("PRIVATE KEY") and each != "EC PARAMETERS")
    return tuple(islice(dict.fromkeys(others), _MOST_BLOCKS))


def key_matches(certificate: bytes | None, key: bytes | None, *, checked: bool = True) -> bool | str:
    """True if the key matches the first certificate, or why that is unknown. ``checked``: also verify the numbers of a
    small RSA key."""
    if not key:
        return "there is no tls.key" if key is None else "tls.key is empty"
    if not certificate:
        return "there is no tls.crt"
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # cryptography warns about serial numbers, which do not matter here
            public_key = load_pem_x509_certificate(certificate).public_key()
    except (ValueError, UnsupportedAlgorithm):
        return "tls.crt does not begin with a PEM certificate"
    try:
        unchecked = not checked or len(key) > _LARGE
        private_key = load_pem_private_key(key, password=None, unsafe_skip_rsa_key_validation=unchecked)
    except TypeError:
        return "tls.key is encrypted"
    except (ValueError, UnsupportedAlgorithm):
        return "tls.key is no private key in PEM"
    form = (Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
    return private_key.public_key().public_bytes(*form) == public_key.public_bytes(*form)


_TLS: Final = ("spec", "tls")
_LONGEST_ROUTE: Final = 1 << 20
_PRIVATE: Final = "PRIVATE KEY-----"
_ROUTE_TEXTS: Final = ("certificate", "caCertificate", "destinationCACertificate")


def route_without_key(raw: Mapping[str, object]) -> dict[str, object]:
    """A Route without its key; ``adhere.keyMatches`` as of a Secret."""
    fields = Fields(raw)
    spec, tls = fields.fields("spec").raw, dict(fields.fields(*_TLS).raw)
    if not any(isinstance(tls.get(name), str) and tls[name] for name in (*_ROUTE_TEXTS, "key")):
        return dict(raw)
    matches, key = _route_key_matches(fields), fields.text(*_TLS, "key")
    blocks = key_blocks(key.encode("utf-8", "replace")) if len(key) <= _LONGEST_ROUTE else ()
    blocks = blocks or fields.texts("adhere", "keyBlocks")[:_MOST_BLOCKS]
    checked: dict[str, object] = {"keyMatches": matches, **({"keyBlocks": list(blocks)} if blocks else {})}
    tls.update({name: scrubbed(text) for name in _ROUTE_TEXTS if isinstance(text := tls.get(name), str)})
    if tls.get("key"):
        tls["key"] = REMOVED
    return {**raw, "spec": {**spec, "tls": tls}, "adhere": checked}


def _route_key_matches(fields: Fields) -> bool | str:
    certificate, key = fields.text(*_TLS, "certificate"), fields.text(*_TLS, "key")
    if key == REMOVED or (not key and REMOVED in certificate):  # of a snapshot, with its former result
        known = fields.at("adhere", "keyMatches")
        return known if isinstance(known, bool | str) else "the key was removed before"
    if len(certificate) + len(key) > _LONGEST_ROUTE:
        return "certificate or key is longer than 1 MiB"
    if not key and _PRIVATE in certificate:  # which the router accepts, too
        key = certificate[certificate.rfind("-----BEGIN", 0, certificate.find(_PRIVATE)) :]
    begin = certificate.find("-----BEGIN CERTIFICATE-----")
    leaf = certificate[begin:] if begin >= 0 else certificate
    private = key.encode("utf-8", "replace") or None  # an empty field counts as absent, as in Go
    return key_matches(leaf.encode("utf-8", "replace"), private, checked=False)
