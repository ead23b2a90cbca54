"""Settings: read from the environment, validated, with defaults."""

from pathlib import Path

import pytest

from clerkship.model.errors import InputError
from clerkship.settings import Settings, get_command_prefix, load_settings


def test_each_setting_is_read_from_its_variable_or_has_its_default() -> None:
    assert load_settings({}) == Settings()
    given = {
        "CLERKSHIP_STORE": "x.db",
        "CLERKSHIP_TIMEOUT": "2.5",
        "CLERKSHIP_CONCURRENCY": "3",
        "CLERKSHIP_SEED": "-7",
    }
    assert load_settings(given) == Settings(store=Path("x.db"), timeout=2.5, concurrency=3, seed=-7)


@pytest.mark.parametrize(
    ("given", "folder"),
    [
        ({"CLERKSHIP_CACHE": "here", "XDG_CACHE_HOME": "/x", "HOME": "/h"}, "here"),
        ({"XDG_CACHE_HOME": "/x", "HOME": "/h"}, "/x/clerkship"),
        ({"XDG_CACHE_HOME": "x", "HOME": "/h"}, "/h/.cache/clerkship"),
        ({"HOME": "/h"}, "/h/.cache/clerkship"),
    ],
)
def test_cache_folder_follows_the_platform_conventions(given: dict[str, str], folder: str) -> None:
    assert load_settings(given).cache == Path(folder)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("TIMEOUT", "soon"),
        ("TIMEOUT", "nan"),
        ("TIMEOUT", "inf"),
        ("TIMEOUT", "-1"),
        ("TIMEOUT", "0"),
        ("CONCURRENCY", "-3"),
        ("CONCURRENCY", "2.5"),
        ("SEED", "x"),
    ],
)
def test_invalid_value_is_an_error_with_the_expected_form(name: str, text: str) -> None:
    with pytest.raises(InputError, match=f"CLERKSHIP_{name} is '{text}'; expected"):
        load_settings({f"CLERKSHIP_{name}": text})


def test_suggested_command_matches_how_and_where_the_program_was_started(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    by_uv = {"UV_RUN_RECURSION_DEPTH": "1", "VIRTUAL_ENV": str(tmp_path / "project" / ".venv")}
    assert get_command_prefix(None, {}) == "clerkship"
    elsewhere = f"uv run --project {tmp_path / 'project'} clerkship"
    (tmp_path / "project").mkdir()
    for folder, command in ((tmp_path / "project", "uv run clerkship"), (tmp_path, elsewhere)):
        monkeypatch.chdir(folder)
        assert get_command_prefix(None, by_uv) == command
    assert get_command_prefix(tmp_path / "project" / "mine", by_uv) == "uv run clerkship"
    assert get_command_prefix(tmp_path / "elsewhere", by_uv) == elsewhere


@pytest.mark.parametrize("name", ["MAX_CALLS", "MAX_COST", "MAX_TOTAL_TOKENS_PER_TRIAL"])
def test_zero_is_no_limit_of_model_calls(name: str) -> None:
    assert getattr(load_settings({f"CLERKSHIP_{name}": "0"}), name.lower()) == 0
