"""Text from outside that must be kept."""


def writable(text: str) -> str:
    """Return the text with a sign for each lone surrogate, which cannot be stored; a subclass of str becomes plain."""
    text = text if type(text) is str else str.__str__(text)
    return text if text.isascii() else text.encode(errors="replace").decode()
