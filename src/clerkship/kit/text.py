"""Text from outside that must be kept."""


def replace_surrogates(text: str) -> str:
    """Return the text with a sign for each lone surrogate, which cannot be stored; a subclass of str becomes plain."""
    text = text if type(text) is str else str.__str__(text)
    return text if text.isascii() else text.encode(errors="replace").decode()


def cut_start(text: str, limit: int) -> str:
    """Return the end of a text that is too long, from a whole word on: half a secret would not be redacted."""
    if len(text) <= limit:
        return text
    end = text[-limit:]
    rest = end.split(maxsplit=1)[1:]
    return rest[0] if rest else end
