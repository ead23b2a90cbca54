"""The extras of this package: what each consists of, whether it is installed, and how to install it."""

from importlib.util import find_spec

EXTRAS: dict[str, tuple[str, ...]] = {
    "anthropic": ("anthropic",),
    "browser": ("playwright",),
    "fax": ("PIL", "pypdfium2", "font_roboto", "font_caladea", "HersheyFonts"),
    "jwt": ("joserfc",),
    "ocr": ("PIL", "tesserocr"),
    "portal": ("PIL", "pypdfium2"),
    "server": ("cryptography", "fastapi", "uvicorn"),
    "sftp": ("asyncssh",),
    "sign": ("cryptography",),
    "smtp": ("aiosmtpd", "cryptography"),
    "websocket": ("websockets",),
}
"""The modules that each extra of pyproject.toml installs."""


def is_installed(extra: str) -> bool:
    """Return whether all modules of an extra are installed; True for one of another package. Nothing is imported."""
    return all(find_spec(module) is not None for module in EXTRAS.get(extra, ()))


def find_extra(module: str) -> str | None:
    """Return an extra that installs a module; None if there is none."""
    return next((extra for extra, modules in EXTRAS.items() if module in modules), None)


def describe_install(*extras: str) -> str:
    """Return the commands that install extras: in a checkout, and from a package."""
    options = " ".join(f"--extra {extra}" for extra in extras)
    # Without --inexact, uv removes the extras that are installed and not named.
    return f"`uv sync {options} --inexact` in a checkout, or `pip install 'clerkship[{','.join(extras)}]'`"
