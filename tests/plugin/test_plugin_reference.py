"""The plug-in reference has a signature for every exported name."""

from pathlib import Path

import clerkship.plugin
from clerkship.plugin import Check, compare_value
from scripts.reference.plugins import CONSTANTS, exported_names, has_signature
from scripts.reference.signatures import stub_of

PAGE = (Path(__file__).parents[2] / "docs" / "reference" / "plugins.md").read_text(encoding="utf-8")


def test_every_exported_name_has_a_signature_or_a_description() -> None:
    texts = {
        name: f"\n{stub_of(getattr(clerkship.plugin, name))}\n" if has_signature(name) else CONSTANTS[name]
        for names in exported_names().values()
        for name in names
    }
    assert [name for name, text in texts.items() if text not in PAGE] == []


def test_a_function_is_shown_with_its_types() -> None:
    signature = "(path: str, expected: Any, actual: Any, seq: int | None=None) -> FieldCheck"
    assert stub_of(compare_value) == f"def compare_value{signature}: ..."


def test_a_class_is_shown_with_its_fields_and_public_methods() -> None:
    assert stub_of(Check).splitlines()[:7] == [
        "class Check(NamedTuple):",
        "    passed: bool",
        "    score: float",
        "    detail: str",
        "    evidence: tuple[FieldCheck, ...] = ()",
        "    pictures: tuple[PagePicture, ...] = ()",
        "    @classmethod",
    ]
