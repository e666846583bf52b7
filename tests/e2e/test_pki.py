"""What the API server takes of a PKI object and what it does not, case by case, is what adhere says of it.

The shipped shape by its real CustomResourceDefinition. The document's shape has none: its definition here is written
from the Go types and markers that the document has.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from scanner.cluster import access, read
from scanner.model.key import Key
from scanner.model.kinds import PKI, PKI_CERTIFICATE_DEFINITION
from scanner.model.located import dotted
from scanner.model.pki_config import PkiConfig
from scanner.pki.config import READS, pki_config
from scanner.pki.reading import of_spec
from scanner.pki.resolution import required
from scanner.pki.shapes import WELL_KNOWN
from tests.e2e.control_plane import ControlPlane
from tests.e2e.writing import CRD, Object, RefusedError, Writer
from tests.pki.pki_cases import CASES, UNION, Case

GROUP = "document.adhere.test"
"""Of the document's definition: the real one has the group already."""
VERSION = {"shipped": "config.openshift.io/v1alpha1", "document": f"{GROUP}/v1"}
_UNCHECKED = "some validation rules were not checked"


def _object(fields: dict[str, Any], *required: str, rules: tuple[tuple[str, str], ...] = ()) -> Object:
    said: Object = {"type": "object", "properties": fields}
    if required:
        said["required"] = list(required)
    if rules:
        said["x-kubernetes-validations"] = [{"rule": rule, "message": message} for rule, message in rules]
    return said


def _entries(key: str, item: Object) -> Object:
    said = {"type": "array", "items": item, "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": [key]}
    return said | {"maxItems": 256}  # CEL's cost needs a bound; 32 names and 3 categories are below any


def document_definition() -> Object:
    """The definition that the document's types generate ("PKI Resource")."""
    rule = (
        "(self.algorithm == 'RSA' && has(self.rsa) && !has(self.ecdsa)) || "
        "(self.algorithm == 'ECDSA' && has(self.ecdsa) && !has(self.rsa))"
    )
    sizes = {"type": "integer", "format": "int32", "enum": [2048, 3072, 4096]}
    members = {
        "algorithm": {"type": "string", "enum": ["RSA", "ECDSA"]},
        "rsa": _object({"keySize": sizes}, "keySize"),
        "ecdsa": _object({"curve": {"type": "string", "enum": ["P256", "P384", "P521"]}}, "curve"),
    }
    certificate = _object({"key": _object(members, "algorithm", rules=((rule, UNION),))}, "key")
    words = {"type": "string", "enum": ["SignerCertificate", "ServingCertificate", "ClientCertificate"]}
    names = f"self.certificateName in {list(WELL_KNOWN)}"
    override = _object(
        {"certificateName": {"type": "string", "minLength": 1}, "certificate": certificate},
        "certificateName",
        "certificate",
        rules=((names, "certificateName must be a well-known certificate name"),),
    )
    category = _object({"category": words, "certificate": certificate}, "category", "certificate")
    lists = {"categories": _entries("category", category), "overrides": _entries("certificateName", override)}
    schema = _object({"spec": _object({"defaults": certificate, **lists})}, "spec")
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    names_ = {"plural": "pkis", "singular": "pki", "kind": "PKI", "listKind": "PKIList"}
    return {
        "apiVersion": CRD[0],
        "kind": CRD[1],
        "metadata": {"name": f"pkis.{GROUP}"},
        "spec": {"group": GROUP, "scope": "Cluster", "names": names_, "versions": [version]},
    }


@pytest.fixture(scope="module")
def both(cluster: ControlPlane, writer: Writer) -> Writer:
    """The API server with both definitions."""
    writer.define([document_definition()])
    return writer


def refusal(writer: Writer, case: Case) -> list[tuple[str, str]] | None:
    """Field and message of each cause that the API server has to refuse it, or None where it takes it."""
    item = {"apiVersion": VERSION[case.shape], "kind": "PKI", "metadata": {"name": "dry-run"}, "spec": case.spec}
    try:
        writer.create(item, dry_run=True)
    except RefusedError as refused:
        answer = refused.response.json()
        assert answer["reason"] == "Invalid", answer
        causes = answer["details"]["causes"]
        return [(each["field"], each["message"]) for each in causes if _UNCHECKED not in each["message"]]
    return None


def ours(case: Case) -> PkiConfig:
    return of_spec({"spec": case.spec}, ("spec",), source="PKI/cluster")


async def test_the_object_is_read_with_the_time_of_its_change(cluster: ControlPlane, tmp_path: Path) -> None:
    """The one of ``cluster.yaml``: what is kept of it tells since when."""
    access_ = access(str(cluster.kubeconfig(tmp_path / "admin.kubeconfig", {"token": cluster.tokens["admin"]})))
    snapshot = await read(access_, READS)
    config = pki_config(snapshot)
    assert (config.shape, config.mode, config.problems, config.unknown_fields) == ("shipped", "Custom", (), ())
    assert required(config, "serving").key == Key(algorithm="ECDSA", curve="P384")
    assert required(config, "signer").key == Key(algorithm="RSA", size=4096)
    assert PKI_CERTIFICATE_DEFINITION in snapshot.absent
    (found,) = snapshot.every(PKI)
    assert found.has("metadata", "managedFields")
    assert config.since is not None
    assert config.since.isoformat().startswith(found.text("metadata", "creationTimestamp")[:16])


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_the_api_server_agrees(both: Writer, case: Case) -> None:
    causes = refusal(both, case)
    found = [(dotted(each.steps), each.message) for each in ours(case).problems]
    assert bool(found) == (causes is not None), (found, causes)
    for field, message in causes or ():
        if field == "<nil>":  # numbers of another format: the API server names the field in the message alone
            assert message.split(" in ")[-1] in dict(found)
            continue
        said = [what for path, what in found if path == field]
        assert any(what in message for what in said), (field, message, found)
