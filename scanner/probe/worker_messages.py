"""Messages between a scan and its workers: bytes that only a process and its own forks exchange.

Values are encoded within a message, so that those which many messages have in common are decoded once: questions, and
what equal listeners answered. They are then one object, which is compared and hashed faster, too.
"""

from __future__ import annotations

from datetime import UTC, datetime
from functools import cache, lru_cache
from typing import Any, TypeAlias

from msgspec import Struct, msgpack

from scanner.kube.maybe import Known
from scanner.model.endpoint import Endpoint
from scanner.model.observation import Attempt, Observation
from scanner.probe.session import Question
from scanner.tls.certificate import CertificateFacts
from scanner.values import replace

_Chain: TypeAlias = tuple[CertificateFacts, ...]
_Own: TypeAlias = tuple[str, datetime, tuple[Attempt, ...]]
_Chains: TypeAlias = tuple[Known[_Chain], tuple[_Chain, ...]]
_NO_TIME = datetime.min.replace(tzinfo=UTC)


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
        found: Endpoint = _decoded(self._endpoint, Endpoint)
        return found

    @property
    def question(self) -> Question:
        found: Question = _shared(self._question, Question)
        return found


class Stop(Struct, frozen=True, tag=True, array_like=True):
    """The order to stop."""

    _reason: bytes

    @classmethod
    def of(cls, reason: str) -> Stop:
        """Encode the reason."""
        return cls(_encoded(reason))

    @property
    def reason(self) -> str:
        found: str = _decoded(self._reason, str)
        return found


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
        own, chains = (seen.instance, seen.at, seen.attempts), (seen.chain, seen.other_chains)
        return cls(number, _encoded(own), _encoded(chains), _encoded(others))

    @property
    def observation(self) -> Observation:
        others: Observation = _shared(self._others, Observation)
        instance, at, attempts = _decoded(self._own, _Own)
        chain, other_chains = _shared(self._chains, _Chains)
        return replace(others, instance=instance, at=at, attempts=attempts, chain=chain, other_chains=other_chains)


class Failed(Struct, frozen=True, tag=True, array_like=True):
    """The answer to a job that raised an exception."""

    number: int
    _error: bytes

    @classmethod
    def of(cls, number: int, error: Exception) -> Failed:
        """Encode the exception; one that cannot be sent becomes a ``RuntimeError`` with its text."""
        import pickle  # noqa: PLC0415 - few scans need it

        try:
            data = pickle.dumps(error)
            pickle.loads(data)  # noqa: S301 - our own
        except Exception:  # noqa: BLE001 - whatever its own code raises
            data = pickle.dumps(RuntimeError(f"{type(error).__name__}: {error}"))
        return cls(number, data)

    @property
    def error(self) -> Exception:
        import pickle  # noqa: PLC0415

        found: Exception = pickle.loads(self._error)  # noqa: S301 - from our own fork
        return found


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
    """Encode a value: by pickle if msgpack cannot, as serial numbers of over 64 bits and texts with lone surrogates."""
    try:
        return _MSGPACK + msgpack.encode(value)
    except (UnicodeEncodeError, OverflowError, TypeError):
        import pickle  # noqa: PLC0415

        return _PICKLE + pickle.dumps(value, pickle.HIGHEST_PROTOCOL)


def _decoded(data: bytes, kind: Any) -> Any:  # noqa: ANN401 - a type, as ``typing`` has them
    if data.startswith(_PICKLE):
        import pickle  # noqa: PLC0415

        return pickle.loads(memoryview(data)[1:])  # noqa: S301 - from our own fork
    return _decoder(kind).decode(memoryview(data)[1:])


_LONGEST = 16384
"""Bytes of a part that is kept; those of ordinary listeners have 8 KB at most."""
_kept = lru_cache(maxsize=500)(_decoded)


def _shared(data: bytes, kind: Any) -> Any:  # noqa: ANN401 - as above
    """Decode a part that other messages may have too, once for all of them."""
    return _kept(data, kind) if len(data) <= _LONGEST else _decoded(data, kind)


@cache
def _decoder(kind: Any) -> msgpack.Decoder[Any]:  # noqa: ANN401 - as above
    return msgpack.Decoder(kind)
