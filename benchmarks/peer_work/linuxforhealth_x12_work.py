"""linuxforhealth-x12: the segment reader, the models of pydantic, and their x12()."""

from typing import Any

from linuxforhealth.x12.io import X12ModelReader, X12SegmentReader
from x12_work import X12Library, report


def parse(text: str) -> int:
    """Split the text with its segment reader."""
    with X12SegmentReader(text) as reader:
        return sum(1 for name, _ in list(reader.segments()) if name == "ST")


def models(text: str) -> list[Any]:
    """Build a model of every set; a wrong one raises."""
    with X12ModelReader(text) as reader:
        return list(reader.models())


def validate(text: str) -> int:
    """Count the models."""
    return len(models(text))


def render(sets: list[Any]) -> int:
    """Write every model."""
    return len([each.x12(use_new_lines=False) for each in sets])


if __name__ == "__main__":
    report(X12Library(parse, validate, models, render))
