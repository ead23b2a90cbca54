"""Schemathesis sends what the description allows and what it does not: no failure, and no answer it does not name."""

from contextlib import suppress
from typing import Any

import pytest
import schemathesis
from fastapi import FastAPI
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis.errors import Unsatisfiable
from schemathesis.core.result import Ok
from schemathesis.generation import GenerationMode
from schemathesis.specs.openapi.checks import positive_data_acceptance

from clerkship.service.serving.server import Server


def _fuzz(app: FastAPI, secret: str, examples: int) -> int:
    """Send examples of all operations. Return how many operations there are."""
    schema = schemathesis.openapi.from_asgi("/v1/openapi.json", app)
    headers = {"Authorization": f"Bearer {secret}"}

    def check(case: Any) -> None:
        # What fits the description may be refused: a cursor, a time that is over.
        case.call_and_validate(headers=headers, excluded_checks=[positive_data_acceptance])

    limits = settings(
        max_examples=examples,
        deadline=None,
        database=None,
        phases=[Phase.explicit, Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    operations = [result.ok() for result in schema.get_all_operations() if isinstance(result, Ok)]
    for operation in operations:
        for mode in GenerationMode:
            strategy = operation.as_strategy(generation_mode=mode)
            with suppress(Unsatisfiable):  # nothing can be wrong in a request without parameters and body
                seed(1)(limits(given(strategy)(check)))()
    return len(operations)


@pytest.mark.long
def test_answers_are_as_described(server: Server, app: FastAPI) -> None:
    assert _fuzz(app, server.keys.create_person("Ada").key, 1) > 15


@pytest.mark.slow
@pytest.mark.long
@pytest.mark.parametrize("kind", ["person", "solver"])
def test_many_answers_are_as_described(kind: str, server: Server, app: FastAPI) -> None:
    solver = server.solvers.create("robin", "", "", "")
    new = server.keys.create_person("Ada") if kind == "person" else server.keys.create_solver_key(solver.id)
    assert _fuzz(app, new.key, 100) > 15
