"""Text from outside that must be kept."""


def writable(text: str) -> str:
    """The same, with a sign for each half of a letter: JSON and Python can have one alone, and nothing can keep it."""
    return text if text.isascii() else text.encode(errors="replace").decode()
