"""The extras of this package: what each consists of, whether it is installed, and how to install it."""

import json
import sys
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path

EXTRAS: dict[str, tuple[str, ...]] = {
    "browser": ("playwright",),
    "fax": ("PIL", "pypdfium2", "font_roboto", "font_caladea", "HersheyFonts"),
    "jwt": ("joserfc",),
    "ocr": ("PIL", "tesserocr"),
    "portal": ("PIL", "pypdfium2"),
    "postgres": ("psycopg",),
    "server": ("cryptography", "fastapi", "uvicorn"),
    "sftp": ("asyncssh",),
    "sign": ("cryptography",),
    "smtp": ("aiosmtpd", "cryptography"),
    "temporal": ("temporalio",),
    "websocket": ("websockets",),
}
"""The modules that each extra of pyproject.toml installs."""


def is_installed(extra: str) -> bool:
    """Return whether all modules of an extra are installed; True for one of another package. Nothing is imported."""
    return all(find_spec(module) is not None for module in EXTRAS.get(extra, ()))


def find_extra(module: str) -> str | None:
    """Return an extra that installs a module; None if there is none."""
    return next((extra for extra, modules in EXTRAS.items() if module in modules), None)


UV_RECEIPT = "uv-receipt.toml"
"""A file in the environment of a program that `uv tool install` installed."""


def describe_install(*extras: str) -> str:
    """Return the commands that install extras: in a checkout, and from a package, or in the environment of uv."""
    if (Path(sys.prefix) / UV_RECEIPT).is_file():  # uv makes the environment anew, so name what is installed too
        every = [extra for extra in EXTRAS if extra in extras or is_installed(extra)]
        return f"`uv tool install 'clerkship[{','.join(every)}]{_find_source()}'`"
    options = " ".join(f"--extra {extra}" for extra in extras)
    # Without --inexact, uv removes the extras that are installed and not named.
    return f"`uv sync {options} --inexact` in a checkout, or `pip install 'clerkship[{','.join(extras)}]'`"


def _find_source() -> str:
    """Return where this package was installed from, as in a requirement (PEP 610); empty if from an index."""
    record = json.loads(metadata.distribution("clerkship").read_text("direct_url.json") or "{}")
    version_control = record.get("vcs_info")
    if version_control:
        return f" @ {version_control['vcs']}+{record['url']}@{version_control['commit_id']}"
    return f" @ {record['url']}" if record else ""
