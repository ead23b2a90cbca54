"""A worker process keeps to its limits, and is replaced when it ended."""

import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from clerkship.formats.fax_pages.worker import WorkerCrashed, WorkerLimitExceeded, WorkerLimits, WorkerProcess

LIMITS = WorkerLimits(memory=500_000_000, cpu_seconds=1, wall_seconds=60)


@pytest.fixture
def workers() -> Iterator[list[WorkerProcess]]:
    started: list[WorkerProcess] = []
    yield started
    for worker in started:
        worker.close()


def start(workers: list[WorkerProcess], name: str, limits: WorkerLimits = LIMITS) -> WorkerProcess:
    workers.append(WorkerProcess(f"tests.formats.fax_pages.worker_targets:{name}", limits))
    return workers[-1]


def test_a_call_returns_the_result_of_the_function(workers: list[WorkerProcess]) -> None:
    data = bytes(range(256)) * 10_000
    assert start(workers, "reverse").call(data) == data[::-1]


def test_the_process_is_another_one_and_is_kept(workers: list[WorkerProcess]) -> None:
    worker = start(workers, "process_id")
    assert worker.call(b"") == worker.call(b"") != str(os.getpid()).encode()


def test_a_closed_worker_starts_another_process(workers: list[WorkerProcess]) -> None:
    worker = start(workers, "process_id")
    first = worker.call(b"")
    worker.close()
    assert worker.call(b"") != first


def test_the_environment_of_the_parent_is_not_passed_on(
    workers: list[WorkerProcess], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CLERKSHIP_SEAL_KEY", "0123456789abcdef")
    names = start(workers, "environment").call(b"").decode().split()
    assert {"OMP_THREAD_LIMIT", "PYTHONPATH"} <= set(names) <= {"LC_CTYPE", "OMP_THREAD_LIMIT", "PYTHONPATH"}


def test_more_memory_than_allowed_is_an_error_and_the_worker_goes_on(workers: list[WorkerProcess]) -> None:
    worker = start(workers, "fill_memory")
    with pytest.raises(WorkerLimitExceeded, match="500,000,000 bytes of memory") as exceeded:
        worker.call(b"2000000000")
    assert exceeded.value.limit == "memory"
    assert worker.call(b"1000") == b"1000"


def test_more_processor_time_than_allowed_ends_the_process(workers: list[WorkerProcess]) -> None:
    worker = start(workers, "exceed_or_return")
    with pytest.raises(WorkerLimitExceeded, match="1 s of processor time") as exceeded:
        worker.call(b"exceed")
    assert exceeded.value.limit == "cpu"
    assert worker.call(b"again") == b"again"


def test_a_call_that_waits_is_ended_at_the_wall_limit(workers: list[WorkerProcess]) -> None:
    worker = start(workers, "wait", WorkerLimits(memory=500_000_000, cpu_seconds=1, wall_seconds=0.2))
    with pytest.raises(WorkerLimitExceeded, match=r"longer than 0\.2 s") as exceeded:
        worker.call(b"")
    assert exceeded.value.limit == "wall"


def test_an_exception_of_the_function_has_its_message(workers: list[WorkerProcess]) -> None:
    with pytest.raises(WorkerCrashed, match="ValueError: no such page: 7"):
        start(workers, "fail").call(b"7")


def test_a_crash_of_the_process_is_an_error_and_not_a_crash_of_ours(workers: list[WorkerProcess]) -> None:
    with pytest.raises(WorkerCrashed, match="ended with code -11"):
        start(workers, "crash").call(b"")


def test_what_the_function_prints_is_not_part_of_the_reply(workers: list[WorkerProcess]) -> None:
    assert start(workers, "talk").call(b"page") == b"page"


def test_threads_get_the_replies_to_their_own_requests(workers: list[WorkerProcess]) -> None:
    worker = start(workers, "reverse")
    requests = [f"request {number}".encode() for number in range(50)]
    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(worker.call, requests)) == [request[::-1] for request in requests]
