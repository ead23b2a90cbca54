"""The code words for letters of the NATO phonetic alphabet."""

from clerkship.formats.phone_tree.spoken_words import to_word_set

PHONETIC_ALPHABET = {
    word[0].upper(): word
    for word in to_word_set(
        "alpha bravo charlie delta echo foxtrot golf hotel india juliet kilo lima mike november oscar papa quebec "
        "romeo sierra tango uniform victor whiskey x-ray yankee zulu"
    )
}
CODE_WORDS = {word: letter for letter, word in PHONETIC_ALPHABET.items()} | {
    "alfa": "A",
    "juliett": "J",
    "whisky": "W",
    "xray": "X",
}
"""Code word -> letter, with other spellings."""
