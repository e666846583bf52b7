"""Any JSON, and any objects, as properties need them."""

from __future__ import annotations

from base64 import b64encode

from hypothesis import strategies as st

BLOCK = "-----BEGIN EC PRIVATE KEY-----\nMHcCAQEEIKEYMATERIAL\n-----END EC PRIVATE KEY-----\n"
WORDS = (
    "metadata", "name", "namespace", "annotations", "labels", "spec", "status", "containers", "env", "value", "args",
    "data", "stringData", "tls.key", "tls.crt", "tls", "key", "volumes", "secret", "conditions", "type", "Ready",
    "endpoints", "versions", "schema", "openAPIV3Schema", "volumeMounts", "TLS_CERT", "--token", "adhere", "kind",
)  # fmt: skip
TEXT = (
    st.sampled_from(WORDS)
    | st.text(max_size=8)
    | st.sampled_from((BLOCK, b64encode(BLOCK.encode()).decode(), "\ud800"))
)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | TEXT,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from(WORDS) | TEXT, inner, max_size=5),
    max_leaves=30,
)
OBJECTS = st.fixed_dictionaries(
    {"metadata": st.fixed_dictionaries({"name": st.just("odd")}, optional={"annotations": JSON, "labels": JSON})},
    optional={"spec": JSON, "status": JSON, "data": JSON, "endpoints": JSON, "stringData": JSON, "adhere": JSON},
)
