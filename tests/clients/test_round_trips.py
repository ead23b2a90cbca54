"""The choice of tests that `make test` runs with outside programs."""

import ast

from tests.clients.conftest import FOLDER, ROUND_TRIPS


def test_every_chosen_test_exists() -> None:
    missing = []
    for file, chosen in ROUND_TRIPS.items():
        tree = ast.parse((FOLDER / file).read_text(encoding="utf-8"))
        functions = {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}
        missing += [f"{file}: {name}" for name in chosen if name.partition("[")[0] not in functions]
    assert missing == []
