"""What the API server takes of a PKI object and what it does not, case by case, is what adhere says of it.

The shipped shape by its real CustomResourceDefinition. The document's shape has none: its definition here is written
from the Go types and markers that the document has.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from scanner.cluster import access, read
from scanner.files.source_positions import dotted
from scanner.kube.kinds import PKI, PKI_CERTIFICATE_DEFINITION
from scanner.model.pki_config import Key, PkiConfig
from scanner.pki.config import READS, of_spec, pki_config
from scanner.pki.config_schemas import WELL_KNOWN
from scanner.pki.resolution import required
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
    created = datetime.fromisoformat(found.text("metadata", "creationTimestamp"))
    assert abs(config.since - created) < timedelta(minutes=1)


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


# --- Nothing of either definition is left out -------------------------------------------------------------------------

_SAYS: dict[str, str] = {
    "enum": "Unsupported value",
    "minimum": "should be greater than or equal to",
    "maximum": "should be less than or equal to",
    "multipleOf": "should be a multiple of",
    "minProperties": "should have at least",
    "minLength": "should be at least",
}
"""Words of the API server by the keyword of a schema that they are about."""
_NOT_OURS = {"spec.certificateManagement"}
"""Required in the shipped shape, whose empty spec nobody can tell from the document's, where it is allowed."""


def constraints(schema: Object, path: str) -> Iterator[tuple[str, str]]:
    """Every (path, words) that an object can be refused with."""
    yield path, "must be of type"
    yield from ((path, said) for keyword, said in _SAYS.items() if keyword in schema)
    yield from ((path, each["message"]) for each in schema.get("x-kubernetes-validations", ()))
    yield from ((f"{path}.{name}", "Required value") for name in schema.get("required", ()))
    for name, inner in schema.get("properties", {}).items():
        yield from constraints(inner, f"{path}.{name}")
    if "items" in schema:
        yield f"{path}[*]", "Duplicate value"
        yield from constraints(schema["items"], f"{path}[*]")


@pytest.mark.parametrize("shape", ["shipped", "document"])
def test_every_constraint_of_the_definition_refuses_a_case(both: Writer, definitions: list[Object], shape: str) -> None:
    """So a rule that a later definition adds, or a place that nobody thought of, shows here."""
    shipped = next(each for each in definitions if each["metadata"]["name"] == "pkis.config.openshift.io")
    (version,) = (document_definition() if shape == "document" else shipped)["spec"]["versions"]
    schema = version["schema"]["openAPIV3Schema"]["properties"]["spec"]
    told = [
        (re.sub(r"\[\d+\]", "[*]", field), message)
        for case in CASES
        if case.shape == shape
        for field, message in refusal(both, case) or ()
    ]
    untested = {
        (path, words)
        for path, words in constraints(schema, "spec")
        if path not in _NOT_OURS and not any(field == path and words in message for field, message in told)
    }
    assert untested == set()


KEYS = st.fixed_dictionaries(
    {},
    optional={
        "algorithm": st.sampled_from(["RSA", "ECDSA", "DSA", "", None, 1]),
        "rsa": st.none()
        | st.fixed_dictionaries({}, optional={"keySize": st.sampled_from([2048, 4096, 5120, 2049, "2048", None])}),
        "ecdsa": st.none()
        | st.fixed_dictionaries({}, optional={"curve": st.sampled_from(["P256", "P521", "P224", None])}),
    },
)
HELD = st.none() | st.fixed_dictionaries({}, optional={"key": st.none() | KEYS})
DOCUMENTS = st.fixed_dictionaries(
    {},
    optional={
        "defaults": HELD,
        "categories": st.none() | st.lists(
            st.fixed_dictionaries({}, optional={
                "category": st.sampled_from(["SignerCertificate", "ServingCertificate", "PeerCertificate", None]),
                "certificate": HELD,
            }), max_size=3,
        ),
        "overrides": st.none() | st.lists(
            st.fixed_dictionaries({}, optional={
                "certificateName": st.sampled_from(["root-ca", "etcd-signer", "mine", "", None]),
                "certificate": HELD,
            }), max_size=3,
        ),
    },
)  # fmt: skip
CATEGORIES = ("defaults", "signerCertificates", "servingCertificates", "clientCertificates")
MANAGED = st.fixed_dictionaries(
    {
        "certificateManagement": st.fixed_dictionaries(
            {},
            optional={
                "mode": st.sampled_from(["Custom", "Default", "Unmanaged", "Magic", None]),
                "custom": st.none() | st.fixed_dictionaries({}, optional=dict.fromkeys(CATEGORIES, HELD)),
            },
        )
    }
)


@given(spec=DOCUMENTS.map(lambda spec: ("document", spec)) | MANAGED.map(lambda spec: ("shipped", spec)))
@settings(
    max_examples=400, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
def test_the_api_server_agrees_on_whatever_is_made_up(both: Writer, spec: tuple[Any, Any]) -> None:
    """Whether it is taken, and the fields that are complained of as far as the server goes on to look."""
    case = Case(shape=spec[0], name="made up", spec=spec[1])
    causes = refusal(both, case)
    found = {dotted(each.steps) for each in ours(case).problems}
    assert bool(found) == (causes is not None), (found, causes)
    assert {field for field, _ in causes or () if field != "<nil>"} <= found


def test_fields_that_no_shape_has_are_those_that_the_server_prunes(both: Writer) -> None:
    """In its own words: it warns of each."""
    strange = {"key": {"algorithm": "RSA", "rsa": {"keySize": 4096, "bits": 1}, "lifetime": "1y"}, "rotation": {}}
    cases = (
        Case("document", "unknown", {"defaults": strange, "colour": "red"}),
        Case(
            "shipped",
            "unknown",
            {"certificateManagement": {"mode": "Custom", "custom": {"defaults": strange, "peerCertificates": {}}}},
        ),
    )
    for case in cases:
        item = {"apiVersion": VERSION[case.shape], "kind": "PKI", "metadata": {"name": "dry-run"}, "spec": case.spec}
        answer = both.client.post(both.path(item), json=item, params={"dryRun": "All", "fieldValidation": "Warn"})
        assert answer.is_success, answer.text
        warned = set(re.findall(r'unknown field \\?"([^"\\]+)', answer.headers["warning"]))
        assert set(ours(case).unknown_fields) == warned
