"""May the holder of a bearer token read the report? The API server knows: TokenReview, then SubjectAccessReview.

Source: kubernetes.io, "Authentication", "Webhook Token Authentication", and "Authorization", "Checking API access";
k8s.io/api authentication/v1 and authorization/v1.
"""

from __future__ import annotations

import json
import re
from collections import OrderedDict
from hashlib import sha256
from typing import Literal

import trio
from msgspec import Struct, field

from scanner.cluster.api_connection import Access
from scanner.cluster.client import Client, Limits
from scanner.errors import ClusterError
from scanner.kube.objects import Fields

Answer = Literal["allowed", "forbidden", "unauthenticated"]

_TOKENS = "/apis/authentication.k8s.io/v1/tokenreviews"
_ACCESS = "/apis/authorization.k8s.io/v1/subjectaccessreviews"
_LIMITS = Limits(timeout=10, connect=5, tries=2, largest=1 << 20)
_MOST = 256
"""Cached answers."""
_AT_ONCE = 4
_PATIENCE = 10.0
"""Seconds that a request waits for its turn, and for the API server."""
_TOKEN = re.compile(r"[A-Za-z0-9._~+/-]{1,8192}=*")
"""RFC 6750, section 2.1."""


class TokenReviews(Struct):
    """Asks the API server, and keeps its answers for a short time."""

    access: Access
    path: str
    """Non-resource URL that the user must be allowed to get."""
    lasts: float = 60.0
    """Seconds that an answer is used: a token that is revoked works so much longer."""
    _known: OrderedDict[bytes, tuple[float, Answer]] = field(default_factory=OrderedDict)
    _turns: trio.CapacityLimiter = field(default_factory=lambda: trio.CapacityLimiter(_AT_ONCE))

    async def answer(self, authorization: str) -> Answer:
        """Decide about the value of a header ``Authorization``. Raises ``ClusterError`` if the API server cannot be
        asked."""
        scheme, _, token = authorization.partition(" ")
        token = token.strip()
        if scheme.lower() != "bearer" or not _TOKEN.fullmatch(token):
            return "unauthenticated"
        key = sha256(token.encode()).digest()  # no token is kept
        if (answer := self._recent(key)) is None:
            try:
                with trio.fail_after(_PATIENCE):
                    async with self._turns:
                        answer = self._recent(key) or await self._ask(token)
            except trio.TooSlowError:
                raise ClusterError(f"{self.access.name}: no answer to a TokenReview in {_PATIENCE:g} s") from None
            self._known[key] = trio.current_time() + self.lasts, answer
            self._known.move_to_end(key)
            while len(self._known) > _MOST:
                self._known.popitem(last=False)
        return answer

    def _recent(self, key: bytes) -> Answer | None:
        until, answer = self._known.get(key, (0.0, None))
        return answer if trio.current_time() < until else None

    async def _ask(self, token: str) -> Answer:
        async with Client(self.access, _LIMITS) as client:
            status = await _status(client, _TOKENS, "authentication.k8s.io/v1", "TokenReview", {"token": token})
            user = status.fields("user")
            if status.at("authenticated") is not True or not user.text("username"):
                return "unauthenticated"
            spec = {
                "user": user.text("username"),
                "uid": user.text("uid"),
                "groups": list(user.texts("groups")),
                "extra": user.at("extra") or {},
                "nonResourceAttributes": {"path": self.path, "verb": "get"},
            }
            status = await _status(client, _ACCESS, "authorization.k8s.io/v1", "SubjectAccessReview", spec)
            return "allowed" if status.at("allowed") is True else "forbidden"


async def _status(client: Client, path: str, version: str, kind: str, spec: dict[str, object]) -> Fields:
    body = {"apiVersion": version, "kind": kind, "spec": spec}
    answer = await client.send("POST", path, json.dumps(body).encode())
    return Fields(answer if isinstance(answer, dict) else {}).fields("status")
