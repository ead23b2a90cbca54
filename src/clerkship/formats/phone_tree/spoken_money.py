"""Amounts of money that a caller says or types."""

import re
from collections.abc import Iterator, Sequence
from decimal import Decimal

from clerkship.text.spoken_words import FACTORS, HESITATIONS, NUMBER_WORDS, fold_speech, read_number_below_hundred

MAX_AMOUNT = Decimal(1_000_000_000)
_TOKEN = re.compile(r"\d{1,3}(?:,\d{3})+(?:\.\d{1,2})?(?![\d,])|\d+\.\d{1,2}(?!\d)|\d+|[a-z]+")
_FACTORS = FACTORS | {"million": 1_000_000, "grand": 1_000}
_DOLLARS = frozenset({"dollar", "dollars", "buck", "bucks", "usd"})
_CENTS = frozenset({"cent", "cents"})
_INNER = frozenset({"and", "a", "point"}) | _DOLLARS | _CENTS | HESITATIONS
_MAX_WORDS = 30
"""Words of an amount at most."""


def parse_money(text: str) -> str | None:
    """Return an amount in dollars and cents, such as `1240.50`; None if there is none, or more than one."""
    amounts = {amount for run in _split_runs(_TOKEN.findall(fold_speech(text))) for amount in _read_amount(run)}
    if len(amounts) != 1:
        return None
    amount = amounts.pop()
    return f"{amount:.2f}" if amount < MAX_AMOUNT else None


def _split_runs(words: Sequence[str]) -> Iterator[list[str]]:
    """Yield sequences of words that can be an amount and have a number in them."""
    run: list[str] = []
    for word in (*words, "."):
        if _is_number(word) or word in _FACTORS or word in _INNER:
            run.append(word)
            continue
        if any(_is_number(item) or item in _FACTORS for item in run) and len(run) <= _MAX_WORDS:
            yield [item for item in run if item not in HESITATIONS]
        run = []


def _is_number(word: str) -> bool:
    return word[0].isdigit() or word in NUMBER_WORDS


def _read_amount(run: Sequence[str]) -> Iterator[Decimal]:
    """Yield the amount of a run, if it is one."""
    dollars: Decimal | None = None
    cents: Decimal | None = Decimal(0)
    words = list(run)
    unit = next((place for place, word in enumerate(words) if word in _DOLLARS), None)
    if unit is not None:
        dollars, rest = _read_decimal(words[:unit]), [word for word in words[unit + 1 :] if word not in _CENTS]
        cents = _read_cardinal(rest) if any(_is_number(word) for word in rest) else Decimal(0)
    elif words[-1] in _CENTS:
        dollars, cents = Decimal(0), _read_cardinal(words[:-1])
    else:
        dollars = _read_decimal(words)
    if dollars is not None and cents is not None and cents < 100 and cents == cents.to_integral_value():
        yield dollars + cents / 100


def _read_decimal(words: Sequence[str]) -> Decimal | None:
    """Return a number with or without `point`: `twelve point five`."""
    if "point" not in words:
        return _read_cardinal(words)
    place = list(words).index("point")
    whole = _read_cardinal(words[:place]) if words[:place] else Decimal(0)
    digits = _read_decimals(words[place + 1 :])
    return whole + Decimal(f"0.{digits}") if whole is not None and digits else None


def _read_decimals(words: Sequence[str]) -> str:
    """Return one or two digits after a point: `five oh`, `fifty`, `5`; an empty string if there are others."""
    digits = ""
    place = 0
    while place < len(words):
        number = read_number_below_hundred(words, place)
        if words[place].isdigit():
            digits, place = digits + words[place], place + 1
        elif number is not None:
            digits, place = digits + str(number[0]), place + number[1]
        else:
            return ""
    return digits if len(digits) <= 2 else ""


def _read_cardinal(words: Sequence[str]) -> Decimal | None:
    """Return a number such as `twelve hundred forty`; None if the words are not one number."""
    total, current = Decimal(0), Decimal(-1)  # -1: no number since the last factor
    words = [word for word in words if word != "and"]
    if words[:1] == ["a"]:
        words = ["one", *words[1:]]
    if not words or not (_is_number(words[0])):
        return None
    place = 0
    while place < len(words):
        word = words[place]
        if word in _FACTORS:
            if current <= 0:
                return None
            if word == "hundred":
                current *= 100
            else:
                total, current = total + current * _FACTORS[word], Decimal(-1)
            place += 1
            continue
        number = _read_number(words, place)
        if number is None or (current > 0 and (current % 100 or number[0] >= 100)) or current == 0:
            return None
        current, place = max(current, Decimal(0)) + number[0], place + number[1]
    return total + max(current, Decimal(0))


def _read_number(words: Sequence[str], place: int) -> tuple[Decimal, int] | None:
    if words[place][0].isdigit():
        return Decimal(words[place].replace(",", "")), 1
    number = read_number_below_hundred(words, place)
    return None if number is None else (Decimal(number[0]), number[1])
