"""What of a Secret stands where it should not: no PEM where certificates belong, and keys where they do not."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Final

from scanner.cluster.scrub import scrubbed
from scanner.cluster.shapes import LAST_APPLIED
from scanner.kube.objects import Fields
from scanner.model.forms import form_of
from scanner.model.pem import pem_certificates
from scanner.model.removed import REMOVED

NOT_BASE64: Final = "not base64"
_PUBLIC: Final = ("tls.crt", "ca.crt")
_PEM: Final = b"-----BEGIN "
APPLIED: Final = "last-applied"
"""In place of the annotation's name, the copy of what was applied: of that nothing is kept."""
_NAMES: Final = (*_PUBLIC, "tls.key")
_LONGEST: Final = 100


def misplaced(
    fields: Fields, contents: Mapping[str, bytes | None], public: Mapping[str, bytes | None]
) -> dict[str, object]:
    """Of a Secret: ``forms``, by name what stands there instead of PEM, and ``exposed``, the public names that have a
    private key, and ``APPLIED``. Both only where there is something to say; of a Secret that was kept before, what it
    said then.

    ``contents``: what is in ``data`` under each name, empty where it cannot be read. ``public``: what is kept of it.
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
        # Of what is no PEM nothing is kept, and it was not looked through.
        text = kept if _PEM in content else scrubbed(content.decode("utf-8", "replace")).encode()
        if "a private key" in (form_of(content) or "") or REMOVED.encode() in text:
            yield name
    applied = fields.text("metadata", "annotations", LAST_APPLIED)
    if REMOVED in scrubbed(applied):
        yield APPLIED
