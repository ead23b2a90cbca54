"""Words on a page, from text."""

from clerkship.formats.fax_pages.page import PageWord, PageWords

LETTER_WIDTH, HEIGHT, LINE_HEIGHT = 14, 24, 40


def place_words(text: str) -> PageWords:
    """Return the words of some text at the places where a typewriter would put them. A tab begins a column."""
    words = []
    for line, row in enumerate(text.split("\n")):
        for column, cell in enumerate(row.split("\t")):
            left = 150 + 600 * column
            for word in cell.split():
                width = LETTER_WIDTH * len(word)
                words.append(
                    PageWord(text=word, left=left, top=100 + LINE_HEIGHT * line, width=width, height=HEIGHT, line=line)
                )
                left += width + LETTER_WIDTH
    return PageWords(words=tuple(words))
