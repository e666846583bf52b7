"""Shards: for any number of them, each job is in one, and all jobs of a node or host are in the same."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from scanner.jobs import Job, endpoint_of
from scanner.model.endpoint import Endpoint, Target
from scanner.model.expectation import Expectation
from scanner.probe.limits import host_of
from scanner.sharding import MOST, Shard, parse_shard, shard_of_directory
from scanner.values import replace


def unused(endpoint: Endpoint) -> Expectation:
    raise NotImplementedError(endpoint.id)


def job(host: int, port: int, node: str, place: int | None) -> Job:
    endpoint = endpoint_of(Target(host=f"10.0.0.{host}", port=port))
    return Job(endpoint=replace(endpoint, node=node), owes=unused, place=place)


NODES = st.sampled_from(["", "", "node-1", "node-2"])
PLACED = st.tuples(st.integers(0, 20), st.integers(1, 65535), NODES, st.none() | st.integers(0, 99))


@given(st.lists(PLACED, max_size=60), st.integers(1, 70))
def test_every_job_is_in_one_shard_with_the_others_of_its_host(
    values: list[tuple[int, int, str, int | None]], count: int
) -> None:
    jobs = [job(*each) for each in values]
    shards = [list(Shard(index, count).of(jobs)) for index in range(count)]
    shared = sorted((each.place, each.endpoint.instance) for shard in shards for each in shard)
    assert shared == sorted(
        (place if each.place is None else each.place, each.endpoint.instance) for place, each in enumerate(jobs)
    )
    hosts = [{host_of(each.endpoint) for each in shard} for shard in shards]
    assert sum(map(len, hosts)) == len(set().union(*hosts))


@given(st.integers(1, MOST).flatmap(lambda count: st.tuples(st.integers(0, count - 1), st.just(count))))
def test_a_directory_has_the_name_of_its_shard(numbers: tuple[int, int]) -> None:
    index, count = numbers
    shard = parse_shard(f"{index}/{count}", {})
    assert shard_of_directory(shard.name) == shard == Shard(index, count)
