"""The YAML parser: scalars, keys, tags, aliases, depth and positions."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from clerkship.suite_files.source import SourceFolder
from clerkship.suite_files.yaml import InvalidYaml, YamlTooLarge, YamlTree, parse_yaml
from tests.waiting import processor_limit


def read(text: str) -> Any:
    """Return the data of a text without mistakes."""
    tree = parse_yaml(text, "f.yml")
    assert tree.mistakes == []
    return tree.data


def find_mistakes(text: str) -> list[tuple[int, int, str]]:
    """Return line, column and message of the mistakes that did not stop the parser."""
    return [(flaw.line, flaw.column, flaw.message) for flaw in parse_yaml(text, "f.yml").mistakes]


def get_error(text: str) -> InvalidYaml:
    """Return the error that stopped the parser."""
    with pytest.raises(InvalidYaml) as caught:
        parse_yaml(text, "f.yml")
    return caught.value


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("yes", "yes"),
        ("No", "No"),
        ("on", "on"),
        ("OFF", "OFF"),
        ("y", "y"),
        ("1:30", "1:30"),
        ("2026-03-02", "2026-03-02"),
        ("2026-03-02T09:00:00-05:00", "2026-03-02T09:00:00-05:00"),
        ("1_000", "1_000"),
        ("0b11", "0b11"),
        ("-0o17", "-0o17"),
        ("0o18", "0o18"),
        ("true", True),
        ("FALSE", False),
        ("~", None),
        ("Null", None),
        ("", None),
        ("0o17", 15),
        ("017", 17),
        ("0x1F", 31),
        ("+12", 12),
        ("-0", 0),
        ("9223372036854775807", 9223372036854775807),
        ("-9223372036854775808", -9223372036854775808),
        (".5", 0.5),
        ("5.", 5.0),
        ("1e3", 1000.0),
        ("-1.5E-3", -0.0015),
        ('"12"', "12"),
        ("'true'", "true"),
        ("!!str 12", "12"),
        ("<<", "<<"),
        ("+", "+"),
        ("...x", "...x"),
    ],
)
def test_scalars_are_resolved_by_the_yaml_1_2_core_schema(written: str, meant: object) -> None:
    value = read(f"a: {written}\n")["a"]
    assert value == meant
    assert type(value) is type(meant)


@pytest.mark.parametrize("written", [".inf", "-.INF", "+.Inf", ".nan", "1e400", "-1e999999"])
def test_infinity_and_nan_are_rejected_with_their_place(written: str) -> None:
    assert find_mistakes(f"a: {written}\n") == [(1, 4, "infinity and not-a-number are not allowed")]


@pytest.mark.parametrize("written", ["9223372036854775808", "-9223372036854775809", "0x8000000000000000", "1" * 5000])
def test_integer_over_64_bits_is_rejected_with_its_place(written: str) -> None:
    assert find_mistakes(f"a: {written}\n") == [(1, 4, "the number has more than 64 bits")]


def test_duplicate_key_is_rejected_and_the_first_value_kept() -> None:
    tree = parse_yaml("a: 1\nb:\n  c: 1\n  c: 2\na: 3\n", "f.yml")
    assert [(flaw.line, flaw.column, flaw.message) for flaw in tree.mistakes] == [
        (4, 3, "duplicate key `c`"),
        (5, 1, "duplicate key `a`"),
    ]
    assert tree.data == {"a": 1, "b": {"c": 1}}


def test_keys_are_always_text() -> None:
    assert read("1: a\nnull: b\ntrue: c\n2026-01-01: d\n") == {"1": "a", "null": "b", "true": "c", "2026-01-01": "d"}


def test_list_as_key_is_rejected() -> None:
    assert find_mistakes("? [a, b]\n: c\n") == [(1, 3, "a key must be text")]


def test_merge_key_is_rejected_unless_quoted() -> None:
    assert find_mistakes("base: &b {x: 1}\nmore:\n  <<: *b\n") == [(3, 3, "merge keys are not part of YAML 1.2")]
    assert read("'<<': 1\n") == {"<<": 1}


@pytest.mark.parametrize("tagged", ["!foo x", "!!set {a}", "!!python/object:os.system x", "!foo [1]", "!!binary aGk="])
def test_unknown_tag_is_rejected(tagged: str) -> None:
    [(line, column, message)] = find_mistakes(f"a: {tagged}\n")
    assert (line, column) == (1, 4)
    assert message.startswith("unknown tag ")


def test_all_mistakes_are_found_in_one_pass() -> None:
    text = "a: .inf\nb: !x 1\na: 2\nc: 99999999999999999999\n<<: {}\n"
    assert [line for line, _, _ in find_mistakes(text)] == [1, 2, 3, 4, 5]


def test_alias_is_resolved() -> None:
    assert read("a: &x [1, 2]\nb: *x\n") == {"a": [1, 2], "b": [1, 2]}


def test_undefined_alias_is_rejected() -> None:
    bad = get_error("a: 1\nb: *nothing\n")
    assert (bad.line, bad.column) == (2, 4)
    assert "undefined alias" in bad.message


def test_recursive_alias_is_rejected() -> None:
    assert get_error("a: &x [1, *x]\n").message == "the alias contains itself"


def test_alias_bomb_is_rejected() -> None:
    bomb = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n" + "".join(
        f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]\n" for n in range(1, 12)
    )
    with processor_limit():
        bad = get_error(bomb)
    assert bad.message == "more than 100,000 values once aliases and includes are followed"
    assert isinstance(bad, YamlTooLarge)


def test_alias_bomb_of_long_text_is_rejected() -> None:
    bad = get_error(f"a: &a {'x' * 500_000}\nb: [{', '.join(['*a'] * 50)}]\n")
    assert bad.message == "more than 10,000,000 characters once aliases and includes are followed"


DEEP = {
    "brackets": "'[' * 300_000",
    "closed brackets": "'[' * 100_000 + ']' * 100_000",
    "braces": "'{a: ' * 100_000",
    "dashes": "'- ' * 100_000",
    "question marks": "'? ' * 100_000",
    "both": "'- ? ' * 100_000",
    "brackets hidden by a quoted text": "'[\"' + ']' * 100_000 + '\", ' + '[' * 100_000",
    "brackets hidden by comments": "('[' * 300 + chr(10) + '#' + ']' * 300 + chr(10)) * 400",
    "braces hidden by comments": "('{a: ' * 90 + chr(10) + '#' + '}' * 90 + chr(10)) * 1000",
    "indentation": "''.join(' ' * n + 'a:' + chr(10) for n in range(1300))",
    "indentation with carriage returns": "''.join(' ' * n + 'a:' + chr(13) for n in range(1300))",
    "lists in maps": "''.join(' ' * n + 'a:' + chr(10) + ' ' * n + '- b: 1' + chr(10) + ' ' * n for n in range(900))",
    "anchors between": "'- &a ' * 100_000",
    "tags between": "'- !a ' * 100_000",
    "tags in brackets": "'!a [' * 100_000",
}


@pytest.mark.parametrize("form", DEEP)
def test_deep_nesting_does_not_crash_the_process(form: str) -> None:
    program = (
        "from clerkship.suite_files.yaml import InvalidYaml, parse_yaml\n"
        f"text = {DEEP[form]}\n"
        "try:\n    parse_yaml(text, 'f.yml')\nexcept InvalidYaml as bad:\n    print('refused:', bad.message)\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=30, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("refused: ")


@pytest.mark.parametrize("text", ["[" * 100 + "]" * 100, "- " * 99 + "[]", "".join("- " for _ in range(99)) + "{}"])
def test_a_hundred_levels_are_allowed(text: str) -> None:
    assert isinstance(read(text), list)


def test_level_101_is_rejected_with_its_place() -> None:
    bad = get_error("a: " + "[" * 100 + "]" * 100)
    assert (bad.message, bad.line, bad.column) == ("nested deeper than 100 levels", 1, 103)


def test_many_sibling_brackets_are_accepted() -> None:
    text = "\n".join(f"- [{{a: {n}}}, '[[[[', \"{{{{ x }}}}\"]" for n in range(2000))
    assert len(read(text)) == 2000


def test_long_run_of_dashes_in_text_is_accepted() -> None:
    assert read(f"a: |\n  {'-' * 3000}\n") == {"a": "-" * 3000 + "\n"}


@pytest.mark.parametrize("text", ["", "   \n", "# only a comment\n"])
def test_empty_file_is_rejected(text: str) -> None:
    assert get_error(text).message == "the file is empty, or has only comments"


def test_second_document_is_rejected() -> None:
    bad = get_error("a: 1\n---\nb: 2\n")
    assert (bad.line, bad.hint) == (2, "a file must be one document")


@pytest.mark.parametrize(
    ("text", "place", "hint"),
    [
        ("a:\n\tb: 1\n", (2, 1), "indent with spaces, not tabs"),
        ("a: x: y\n", (1, 5), "keys of one map begin in the same column; quote text that holds `: `"),
        ("a: {b: c: d}\n", (1, 9), "quote text that holds `: ` or a comma"),
        ('a: 1\nb: "never closed\nc: 2\n', (2, 4), "a quote that starts here is never closed"),
        ("a: @x\n", (1, 4), "quote text that starts with a special character"),
        ("a: 1\nb: \x08\n", (2, 4), 'write it as an escape in "double quotes"'),
    ],
)
def test_syntax_error_is_reported_with_place_and_hint(text: str, place: tuple[int, int], hint: str) -> None:
    bad = get_error(text)
    assert ((bad.line, bad.column), bad.hint) == (place, hint)
    assert bad.message.startswith("not YAML: ")


TEXT = """\
task:
  name: X
  criteria:
    - label: one
      assertion: {file-present: {path: a}}
    - label: two
"""


@pytest.mark.parametrize(
    ("path", "value", "key"),
    [
        (["task"], (2, 3), (1, 1)),
        (["task", "name"], (2, 9), (2, 3)),
        (["task", "criteria"], (4, 5), (3, 3)),
        (["task", "criteria", 0], (4, 7), (4, 7)),
        (["task", "criteria", 1, "label"], (6, 14), (6, 7)),
        (["task", "criteria", 0, "assertion", "file_present", "path"], (5, 40), (5, 34)),
        (["task", "criteria", 0, "Branch", "label"], (4, 14), (4, 7)),
        (["task", "criteria", 9, "label"], (4, 5), (3, 3)),
    ],
)
def test_path_is_located_at_its_value_or_key(
    path: list[int | str], value: tuple[int, int], key: tuple[int, int]
) -> None:
    tree = parse_yaml(TEXT, "f.yml")
    assert tree.locate(path)[1:3] == value
    assert tree.locate(path, key=True)[1:3] == key


def test_location_has_the_keys_of_the_file() -> None:
    tree = parse_yaml(TEXT, "f.yml")
    path: list[int | str] = ["task", "criteria", 0, "Branch", "assertion", "file_present", "path"]
    assert tree.locate(path).keys == ["task", "criteria", 0, "assertion", "file-present", "path"]


@pytest.fixture
def outer(tmp_path: Path) -> YamlTree:
    """A file that includes a file that is itself an include, and a text."""
    (tmp_path / "outer.yml").write_text("a: 1\nb: !include middle.yml\nc:\n  - !include note.txt\n")
    (tmp_path / "middle.yml").write_text("# a comment\n!include inner.yml\n")
    (tmp_path / "inner.yml").write_text("\nx:\n  y: 5\n")
    (tmp_path / "note.txt").write_text("one\ntwo\n")
    folder = SourceFolder(tmp_path)
    tree = folder.read(tmp_path / "outer.yml")
    assert tree is not None
    assert folder.report.sorted() == []
    return tree


def test_include_inserts_the_data_of_the_file(outer: YamlTree) -> None:
    assert outer.data == {"a": 1, "b": {"x": {"y": 5}}, "c": ["one\ntwo\n"]}


@pytest.mark.parametrize(
    ("path", "value", "key"),
    [
        (["a"], ("outer.yml", 1, 4), ("outer.yml", 1, 1)),
        (["b"], ("inner.yml", 2, 1), ("outer.yml", 2, 1)),
        (["b", "x", "y"], ("inner.yml", 3, 6), ("inner.yml", 3, 3)),
        (["b", "x", "absent"], ("inner.yml", 3, 3), ("inner.yml", 2, 1)),
        (["c", 0], ("note.txt", 1, 1), ("outer.yml", 4, 5)),
    ],
)
def test_path_through_an_include_is_located_in_the_included_file(
    outer: YamlTree, path: list[int | str], value: tuple[str, int, int], key: tuple[str, int, int]
) -> None:
    found, found_key = outer.locate(path), outer.locate(path, key=True)
    assert (Path(found.file).name, found.line, found.column) == value
    assert (Path(found_key.file).name, found_key.line, found_key.column) == key


def test_include_without_a_folder_is_rejected() -> None:
    assert find_mistakes("a: !include b.yml\n") == [(1, 4, "includes are not allowed here")]


@pytest.mark.parametrize(
    "text",
    ["a: {b: Patient/{{ patient.id }}}", "a: {{ patient.name }} and more", "a: {b: '{{ x }}', c: x{{ y }}}"],
)
def test_unquoted_template_is_rejected_with_a_hint(text: str) -> None:
    assert get_error(text).hint == 'quote text that contains a template: "{{ patient.name }}"'


def test_unquoted_template_as_value_is_rejected_with_a_hint() -> None:
    [flaw] = parse_yaml("a: {b: {{ patient.name }}}", "f.yml").mistakes
    assert (flaw.message, flaw.hint) == (
        "a key must be text",
        'quote text that contains a template: "{{ patient.name }}"',
    )


def test_quoted_template_does_not_cause_the_hint() -> None:
    assert "template" not in get_error("a: {b: '{{ x }}', c: x: y}").hint
