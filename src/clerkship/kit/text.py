"""Clean up text from outside before it is stored."""


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
