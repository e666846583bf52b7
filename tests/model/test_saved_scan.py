"""Of which cluster an endpoint of a saved scan is."""

import pytest

from scanner.model.saved_scan import cluster_of


@pytest.mark.parametrize(
    ("endpoint", "clusters", "cluster"),
    [
        ("default/kubernetes:6443", ("prod",), "prod"),
        ("a/default/kubernetes:6443", ("a", "a/b"), "a"),
        ("a/b/default/kubernetes:6443", ("a", "a/b"), "a/b"),
        ("a/b/default/kubernetes:6443", ("a/b", "a"), "a/b"),
        ("ab/default/kubernetes:6443", ("a", "b"), None),
        ("default/kubernetes:6443", (), None),
    ],
)
def test_the_longest_name_that_fits_is_meant(endpoint: str, clusters: tuple[str, ...], cluster: str | None) -> None:
    assert cluster_of(endpoint, clusters) == cluster
