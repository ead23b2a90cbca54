"""What can be known of a command line without starting it: whether its script and its interpreter are there."""

import re
import shutil
from collections.abc import Sequence
from pathlib import Path

from clerkship.model.problem import InputError

_FIRST_ARGUMENT = re.compile(r"(python|pypy)[\d.]*|(ba|da|z|k)?sh")
"""Programs whose first argument is a file, whatever its name, unless it is an option."""
_BY_SUFFIX = re.compile(r"node|deno|tsx|ts-node|ruby|perl|php|lua|Rscript|java")
_SUFFIXES = (".py", ".pyz", ".js", ".mjs", ".cjs", ".ts", ".mts", ".rb", ".pl", ".php", ".lua", ".R", ".jar", ".sh")
_NO_SCRIPT = ("-c", "-m", "-e", "-E", "-p", "-r", "-C", "--eval", "--print")
"""Options after which there may be no script: the code is in the argument, or in a module."""
_MAX_SHEBANG = 512


def check_command_line(name: str, words: Sequence[str], folder: Path) -> None:
    """Raise InputError where the script or the interpreter that a command line needs does not exist."""
    script = _script(words)
    if script is not None and not (folder / script).exists():
        raise InputError.of(f"agent {name}: no file `{script}` in {folder}", hint="start from the folder it is in")
    interpreter = _interpreter(folder, words[0])
    if interpreter is not None and shutil.which(interpreter) is None:
        raise InputError.of(
            f"agent {name}: its first line names `{interpreter}`, which is not there",
            hint="install it, or name another interpreter there",
        )


def _script(words: Sequence[str]) -> str | None:
    """The script that an interpreter is given, where there is one for certain."""
    program, arguments = Path(words[0]).name, words[1:]
    named = bool(_FIRST_ARGUMENT.fullmatch(program))
    if not named and not _BY_SUFFIX.fullmatch(program):
        return None
    for number, word in enumerate(arguments):
        if word in _NO_SCRIPT or "://" in word:
            return None
        if not word.startswith("-") and (word.endswith(_SUFFIXES) or (named and number == 0)):
            return word
    return None


def _interpreter(folder: Path, program: str) -> str | None:
    """The interpreter in the first line of a program that is a script."""
    try:
        with (folder / (shutil.which(program) or program)).open("rb") as file:
            first = file.readline(_MAX_SHEBANG)
    except OSError:  # a program may be executable and not readable
        return None
    words = first.removeprefix(b"#!").decode(errors="replace").split() if first.startswith(b"#!") else []
    if words and Path(words[0]).name == "env":
        words = [word for word in words[1:] if not word.startswith("-") and "=" not in word]
    return words[0] if words else None
