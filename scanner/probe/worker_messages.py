"""Messages between a scan and its workers: bytes that only a process and its own forks exchange.

Values are encoded within a message, so that those which many messages have in common are decoded once: questions, and
what equal listeners answered. They are then one object, which is compared and hashed faster, too.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from functools import cache, lru_cache
from typing import Any, NamedTuple, TypeAlias, TypeVar

from msgspec import Struct, msgpack

from scanner.kube.maybe import Known
from scanner.model.endpoint import Endpoint
from scanner.model.observation import Attempt, Observation
from scanner.probe.evidence import Chain
from scanner.probe.session import Question
from scanner.values import replace

T = TypeVar("T")

_NO_TIME = datetime.min.replace(tzinfo=UTC)


class _Own(NamedTuple):
    instance: str
    at: datetime
    attempts: tuple[Attempt, ...]


class _Chains(NamedTuple):
    chain: Known[Chain]
    other_chains: tuple[Chain, ...]


class Job(Struct, frozen=True, tag=True, array_like=True):
    """An endpoint to observe."""

    number: int
    _endpoint: bytes
    _question: bytes

    @classmethod
    def of(cls, number: int, endpoint: Endpoint, question: Question) -> Job:
        """Encode the endpoint and the question."""
        return cls(number, _encoded(endpoint), _encoded(question))

    @property
    def endpoint(self) -> Endpoint:
        return _decoded(self._endpoint, Endpoint)

    @property
    def question(self) -> Question:
        return _shared(self._question, Question)


class Stop(Struct, frozen=True, tag=True, array_like=True):
    """The order to stop."""

    _reason: bytes

    @classmethod
    def of(cls, reason: str) -> Stop:
        """Encode the reason."""
        return cls(_encoded(reason))

    @property
    def reason(self) -> str:
        return _decoded(self._reason, str)


class Seen(Struct, frozen=True, tag=True, array_like=True):
    """The answer to a job in parts: replicas have the chains in common, equal listeners all but these and ``_own``."""

    number: int
    _own: bytes
    _chains: bytes
    _others: bytes

    @classmethod
    def of(cls, number: int, seen: Observation) -> Seen:
        """Encode the observation."""
        others = replace(seen, instance="", at=_NO_TIME, attempts=(), chain=(), other_chains=())
        own, chains = _Own(seen.instance, seen.at, seen.attempts), _Chains(seen.chain, seen.other_chains)
        return cls(number, _encoded(own), _encoded(chains), _encoded(others))

    @property
    def observation(self) -> Observation:
        own, chains = _decoded(self._own, _Own), _shared(self._chains, _Chains)
        return replace(_shared(self._others, Observation), **own._asdict(), **chains._asdict())


class Failed(Struct, frozen=True, tag=True, array_like=True):
    """The answer to a job that raised an exception."""

    number: int
    _error: bytes

    @classmethod
    def of(cls, number: int, error: Exception) -> Failed:
        """Encode the exception; one that cannot be sent becomes a ``RuntimeError`` with its text."""
        try:
            data = _encoded(error)
            _decoded(data, Exception)
        except Exception:  # noqa: BLE001 - whatever its own code raises
            data = _encoded(RuntimeError(f"{type(error).__name__}: {error}"))
        return cls(number, data)

    @property
    def error(self) -> Exception:
        return _decoded(self._error, Exception)


Message: TypeAlias = Job | Stop | Seen | Failed


def encode(message: Message) -> bytes:
    """Encode a message."""
    return msgpack.encode(message)


def decode(data: bytes | memoryview) -> Message:
    """Decode a message of ``encode``."""
    found: Message = _decoder(Message).decode(data)
    return found


_MSGPACK, _PICKLE = b"m", b"p"


def _encoded(value: object) -> bytes:
    """Encode a value: by pickle if msgpack cannot: a serial number of over 64 bits, a lone surrogate, an exception."""
    try:
        return _MSGPACK + msgpack.encode(value)
    except (UnicodeEncodeError, OverflowError, TypeError):
        import pickle  # noqa: PLC0415

        return _PICKLE + pickle.dumps(value, pickle.HIGHEST_PROTOCOL)


_decoder: Callable[[Any], msgpack.Decoder[Any]] = cache(msgpack.Decoder)


def _decoded(data: bytes, kind: type[T]) -> T:
    found: T
    if data.startswith(_PICKLE):
        import pickle  # noqa: PLC0415

        found = pickle.loads(memoryview(data)[1:])  # noqa: S301 - from our own fork
    else:
        found = _decoder(kind).decode(memoryview(data)[1:])
    return found


_LONGEST = 16384
"""Bytes of a part that is kept; those of ordinary listeners have 8 KB at most."""
_kept: Callable[[bytes, Any], Any] = lru_cache(maxsize=500)(_decoded)


def _shared(data: bytes, kind: type[T]) -> T:
    """Decode a part that other messages may have too, once for all of them."""
    found: T = _kept(data, kind) if len(data) <= _LONGEST else _decoded(data, kind)
    return found
