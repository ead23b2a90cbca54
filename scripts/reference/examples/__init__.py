"""The examples of the reference: what a page shows, and what a test does with it."""

from functools import cache
from pathlib import Path
from typing import Any

import yaml

_FOLDER = Path(__file__).parent


@cache
def load_examples(page: str) -> dict[str, Any]:
    """Return the examples of a page by name."""
    examples: dict[str, Any] = yaml.load((_FOLDER / f"{page}.yml").read_text(encoding="utf-8"), yaml.CSafeLoader)
    return examples


def show_example(page: str, name: str) -> str:
    """Return an example as a block of YAML, in the place where a file has it."""
    example = load_examples(page)[name]["example"]
    places = {
        "assertions": {"assertion": example},
        "steps": {"scenario": {"steps": [example]}},
        "simulators": {"environment": example},
    }
    text = yaml.dump(places[page], sort_keys=False, default_flow_style=None, width=110, allow_unicode=True)
    return f"```yaml\n{text}```\n"
