"""Clean up text from outside before it is stored, and format tracebacks."""

import traceback
from collections.abc import Iterable
from pathlib import Path

MAX_FRAMES = 40
MAX_CHARACTERS = 8_000
_PACKAGES = ("site-packages", "dist-packages", "src")
"""Folders below which the path of a file is the same on every machine."""


def render_traceback(error: BaseException) -> str:
    """Render an exception with its causes, oldest first, without the folders of this machine."""
    text = "\n".join("\n".join(_render_frames(link)) for link in reversed(_chain(error)))
    return replace_surrogates(text[-MAX_CHARACTERS:])


def _chain(error: BaseException) -> list[BaseException]:
    """Return an exception and its causes, oldest last."""
    chain: list[BaseException] = []
    link: BaseException | None = error
    while link is not None and link not in chain:
        chain.append(link)
        link = link.__cause__ or (None if link.__suppress_context__ else link.__context__)
    return chain


def describe_error(error: BaseException) -> str:
    """Render an exception in one line, with its notes."""
    notes = "".join(f" ({note})" for note in getattr(error, "__notes__", ()))
    return replace_surrogates(f"{type(error).__name__}: {error_message(error)}{notes}")


def describe_error_with_location(error: BaseException) -> str:
    """Render an exception in one line, with the file and line that raised it."""
    frames = traceback.extract_tb(error.__traceback__)
    place = f" ({Path(frames[-1].filename).name}:{frames[-1].lineno})" if frames else ""
    return describe_error(error) + place


def location_in_package(module: str, error: BaseException) -> str:
    """Return the last location of an exception or its oldest cause in the package of a module, such as
    `pager/state.py:69`.

    Return an empty string if it did not pass through that package.
    """
    package = module.rpartition(".")[0] or module
    for link in reversed(_chain(error)):
        for frame, line in reversed(list(traceback.walk_tb(link.__traceback__))):
            name = frame.f_globals.get("__name__", "")
            if name == package or name.startswith(f"{package}."):
                parts = Path(frame.f_code.co_filename).parts
                return f"{'/'.join(parts[-2:] if package != module else parts[-1:])}:{line}"
    return ""


def error_message(error: BaseException) -> str:
    """Return the message of an exception, whose `__str__` may raise."""
    try:
        return str(error)
    except BaseException:  # the exception's own code may raise anything
        return "(no description)"


def _render_frames(error: BaseException) -> Iterable[str]:
    frames = traceback.extract_tb(error.__traceback__)
    if len(frames) > MAX_FRAMES:
        yield f"… {len(frames) - MAX_FRAMES} earlier frames"
    for frame in frames[-MAX_FRAMES:]:
        yield f"{_shorten_path(frame.filename)}:{frame.lineno} in {frame.name}"
        if frame.line:
            yield f"    {frame.line}"
    yield _last_line(error)


def _last_line(error: BaseException) -> str:
    try:
        return "".join(traceback.format_exception_only(error)).rstrip()
    except Exception:  # the exception's own __str__ raises
        return type(error).__name__


def _shorten_path(file: str) -> str:
    """Cut a path to the part after the packages folder, or to the file's name."""
    parts = Path(file).parts
    below = [number for number, part in enumerate(parts) if part in _PACKAGES]
    return "/".join(parts[below[-1] + 1 :]) if below else Path(file).name


def replace_surrogates(text: str) -> str:
    """Replace lone surrogates, which cannot be stored, by `?`; convert a subclass of str to str."""
    text = text if type(text) is str else str.__str__(text)
    return text if text.isascii() else text.encode(errors="replace").decode()


def cut_start(text: str, limit: int) -> str:
    """Return the end of a long text, starting at a whole word: half a secret would not be redacted."""
    if len(text) <= limit:
        return text
    end = text[-limit:]
    rest = end.split(maxsplit=1)[1:]
    return rest[0] if rest else end
