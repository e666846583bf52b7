"""Kinds in references that are written nearly as they are: in another case, or in the plural.

An API server takes any kind there, so that nothing but the reference's idleness tells.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from scanner.kube import kinds
from scanner.kube.kinds import Kind
from scanner.kube.objects import Fields
from scanner.lint.fields.shape import Clash

_GRANTED: Final = (kinds.SECRET, kinds.CONFIG_MAP, kinds.SERVICE)
_REFERRING: Final = (
    *(kinds.GATEWAY, kinds.LISTENER_SET, kinds.X_LISTENER_SET, kinds.BACKEND_TLS_POLICY),
    *(kinds.HTTP_ROUTE, kinds.GRPC_ROUTE, kinds.TLS_ROUTE, kinds.TCP_ROUTE),
)


def _nearly(kind: Kind) -> Callable[[Fields], bool]:
    spellings = {kind.name.lower(), kind.plural}

    def found(reference: Fields) -> bool:
        written = reference.text("kind")
        near = written != kind.name and written.lower() in spellings
        return near and reference.text("group") == kind.group

    return found


def _spelt(*known: Kind) -> tuple[Clash, ...]:
    return tuple(
        Clash(
            _nearly(kind),
            f"no kind is called so, and nothing is granted: did you mean {kind.name}?",
            ("kind",),
            fix=f"write {kind.name}",
            admitted=True,
        )
        for kind in known
    )


GRANTED: Final = _spelt(*_GRANTED)
"""Gateway API ``ReferenceGrantTo``."""
REFERRING: Final = _spelt(*_REFERRING)
"""``ReferenceGrantFrom``."""
