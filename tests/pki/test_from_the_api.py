"""From an API server to held certificates: by name, with permission, without keys."""

from __future__ import annotations

from functools import partial

import pytest

from scanner.cluster import read
from scanner.config.certificate_names import load_names
from scanner.kube.kinds import SECRET, SERVICE
from scanner.kube.snapshot import union
from scanner.pki import certificate_sources
from scanner.pki.secret_references import TO_SECRETS, secret_references
from tests.certs import Authority
from tests.cluster.api import LIMITS, Api, running
from tests.pki.objects import coded

pytestmark = pytest.mark.crypto

LEAF = Authority("Root").leaf(names=("web.shop.svc",))
READS = union((certificate_sources.READS, TO_SECRETS))


@pytest.mark.parametrize("no_secrets", [False, True])
async def test_the_secret_that_a_service_names(*, no_secrets: bool) -> None:
    api = Api()
    annotations = {"service.beta.openshift.io/serving-cert-secret-name": "web-tls"}
    api.add(SERVICE, {"metadata": {"name": "web", "namespace": "shop", "annotations": annotations}})
    data = {"tls.crt": coded(LEAF.pem), "tls.key": coded(LEAF.key_pem)}
    api.add(
        SECRET,
        {"metadata": {"name": "web-tls", "namespace": "shop"}, "data": data},
        {"metadata": {"name": "another", "namespace": "shop"}, "data": data},
    )
    async with running(api):
        found = await read(
            api.access,
            READS,
            limits=LIMITS,
            no_secrets=no_secrets,
            secrets=partial(secret_references, names=load_names()),
        )
    held = list(certificate_sources.in_snapshot(found))
    asked = [path for path in api.paths() if "/secrets" in path]
    if no_secrets:
        assert (held, asked) == ([], [])
        return
    (only,) = held
    assert str(only.place) == "Secret/shop/web-tls data[tls.crt]"
    assert (only.facts.der, only.place.key_matches) == (LEAF.der, True)
    assert asked == ["/api/v1/secrets", "/api/v1/namespaces/shop/secrets/web-tls"]
    assert coded(LEAF.key_pem) not in repr(found)
