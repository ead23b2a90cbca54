"""How an extra is installed, by where Clerkship is installed."""

import sys
from pathlib import Path

import pytest

from clerkship.kit import extras
from clerkship.kit.extras import UV_RECEIPT, describe_install


def test_extra_is_installed_in_a_checkout_or_with_pip() -> None:
    expected = "`uv sync --extra sftp --inexact` in a checkout, or `pip install 'clerkship[sftp]'`"
    assert describe_install("sftp") == expected


def test_extra_of_a_tool_of_uv_is_added_to_those_that_are_installed(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / UV_RECEIPT).touch()
    monkeypatch.setattr(sys, "prefix", str(tmp_path))
    monkeypatch.setattr(extras, "is_installed", lambda extra: extra == "fax")
    written = describe_install("sftp")
    assert written.startswith("`uv tool install 'clerkship[fax,sftp]")
    assert written.endswith("'`")
