"""The key with which a command calls a server."""

from pathlib import Path
from typing import Annotated

from clerkship.kit.command_option import Option
from clerkship.model.errors import InputError
from clerkship.settings import Settings

KeyFile = Annotated[
    Path | None,
    Option(("--key-file",), "File with a person's key. [default: the setting CLERKSHIP_SERVER_KEY]", "FILE"),
]
_HINT = "write a key of the server to a file and name it with --key-file, or set CLERKSHIP_SERVER_KEY"


def read_key(file: Path | None, settings: Settings) -> str:
    """Return the key for a server, from a file or from the settings. Raise InputError if there is none."""
    if file is None:
        if not settings.server_key:
            raise InputError.of("a key of the server is needed", hint=_HINT)
        return settings.server_key
    try:
        key = file.read_text(encoding="ascii").strip()
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not a key"
        raise InputError.of(f"--key-file {file} cannot be read: {reason}", hint=_HINT) from None
    if not key or len(key.split()) != 1 or not key.isprintable():
        raise InputError.of(f"--key-file {file} has no key", hint="it has the key alone, on one line")
    return key
