"""How a field of a request is given on the command line, and how its value is typed again."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, fields
from datetime import timedelta
from typing import Any, get_args, get_type_hints

from clerkship.by_name import load

REFRESH_HINT = "--refresh records what is missing, and nothing else"


@dataclass(frozen=True, eq=False, repr=False)
class Option:
    """How one field is given on the command line: by an option with a value, by flags, or as an argument."""

    names: tuple[str, ...] = ()
    """`--task` and its short form; empty for an argument, or where flags alone decide."""
    help: str = ""
    metavar: str | None = None
    panel: str | None = None
    """The heading that it has in the help."""
    min: float | None = None
    max: float | None = None
    is_duration: bool = False
    """Whether the value is a number of seconds, or a duration such as 90s or 1h30m."""
    flags: Mapping[str, tuple[str | bool, str]] = field(default_factory=dict)
    """Flags that each stand for a value, with the value and the help. Only one of them or the option may be given."""
    switch: tuple[str, str] = ("", "")
    """A flag without which the option does not count, and its help."""
    switch_value: object = None
    """The value where the switch is given alone."""
    is_kept: bool = True
    """Whether it is kept among the options of a run; the run has fields for the others."""

    @property
    def turns_off(self) -> bool:
        """Whether a flag stands for False: the field is then None if nothing is given."""
        return any(value is False for value, _ in self.flags.values())

    def words(self, value: object) -> Iterator[tuple[str, ...]]:
        """Yield what is typed for a value: flags alone, options with the value."""
        flags = {meant: name for name, (meant, _) in self.flags.items()}
        if self.switch[0]:
            yield (self.switch[0],)
        if isinstance(value, bool | str) and value in flags:
            yield (flags[value],)
            return
        if value is True:
            yield (self.names[0],)
            return
        for one in value if isinstance(value, tuple) else (value,):
            yield self.names[0], _render_seconds(one) if self.is_duration else str(one)


def _render_seconds(seconds: float) -> str:
    """Return a number of seconds as a duration. Loaded late, because it imports pydantic, and the help must not."""
    return str(load("clerkship.model.duration:render_duration")(timedelta(seconds=seconds)))


def options_of(group: type) -> dict[str, tuple[Any, Option]]:
    """Return the type and the option of each field of a group that has one."""
    hints = get_type_hints(group, include_extras=True)
    parts = {item.name: get_args(hints[item.name]) for item in fields(group)}
    return {name: hint for name, hint in parts.items() if len(hint) == 2 and isinstance(hint[1], Option)}


def is_any_given(request: Any, group: type) -> bool:
    """Return whether a request has a value for a field of one of its groups; zero and False are none."""
    return any(getattr(request, item.name) for item in fields(group))


def words_of(request: Any, group: type | None = None) -> tuple[str, ...]:
    """Return the options of a request that a run keeps, or all of one of its groups, as they are typed, flags first."""
    words: list[tuple[str, ...]] = []
    for name, (_, option) in options_of(group or type(request)).items():
        value = getattr(request, name)
        is_given = value not in (None, False, ()) or (value is False and option.turns_off)
        if (option.is_kept or group is not None) and is_given:
            words += option.words(value)
    return tuple(part for typed in sorted(words, key=len) for part in typed)


def drop_words(words: Iterable[str], group: type) -> tuple[str, ...]:
    """Return typed options without those of a group."""
    typed = {name: kind for kind, option in options_of(group).values() for name in option.names}
    left, rest = list[str](), iter(words)
    for word in rest:
        if word not in typed:
            left.append(word)
        elif typed[word] is not bool:
            next(rest, "")
    return tuple(left)
