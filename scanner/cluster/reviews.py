"""Who may do what, asked of the API server (opt-in: ``adhere rbac --with sar``). The only POST that adhere ever sends:
it creates nothing, and nothing is left of it."""

from __future__ import annotations

import json
from collections.abc import Iterable
from itertools import islice

from scanner.cluster.client import ApiError, Client
from scanner.errors import ClusterError
from scanner.kube.objects import Fields, KubeObject
from scanner.model.access_review import ACCESS_REVIEW, Review

_PATH = "/apis/authorization.k8s.io/v1/subjectaccessreviews"
_MOST = 3000
"""Questions of one reading: as many Routes as 1,000, each with three verbs. The rest is decided by Roles."""
_REFUSED = (401, 403, 404, 405)
"""Answers that all further questions would get."""


async def asked(client: Client, questions: Iterable[Review]) -> tuple[KubeObject, ...]:
    """The answers, as objects; none where reviews are forbidden. A question without an answer is left out: what
    depends on it looks at Roles and their bindings."""
    found: list[KubeObject] = []
    for each in islice(dict.fromkeys(questions), _MOST):
        body = {"apiVersion": "authorization.k8s.io/v1", "kind": ACCESS_REVIEW.name, "spec": each.spec()}
        try:
            answer = await client.post(_PATH, json.dumps(body).encode())
        except ApiError as error:
            if error.status in _REFUSED:
                break
            continue
        except ClusterError:
            break
        allowed = Fields(answer if isinstance(answer, dict) else {}).at("status", "allowed")
        if isinstance(allowed, bool):
            found.append(each.answered(allowed=allowed))
    return tuple(found)
