"""Prompts as templates that users can replace. Each has a fingerprint that is stored with every verdict.

A template has two blocks: `orders`, the instructions, and `matter`, the content. A template without blocks is sent
as a single message. It may extend a built-in one: `{% extends "criterion.jinja2" %}`.
"""

import hashlib
import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from clerkship.model.errors import InputError, InputProblem

if TYPE_CHECKING:
    from jinja2 import Environment, Template

FOLDER = Path(__file__).parent / "templates"
SUFFIX = ".jinja2"
MAX_PROMPT_LENGTH = 2_000_000
"""Characters of a rendered prompt."""
_SEPARATOR = "\x1e"
"""Separates the blocks `orders` and `matter`; removed from inserted values."""
_PARTS = {"layout", "quoted", "counterpart", "person_tools"}
_EXTENDS = re.compile(r"""\{%[-+]?\s*extends\s+["']([^"']+)["']""")
_BLOCK = re.compile(r"\{%[-+]?\s*block\s+(\w+)")
_REFERENCES = re.compile(r"""\{%[-+]?\s*(?:extends|include|import|from)\s+["']([^"']+)["']""")


class BadPrompt(InputError):
    """A template cannot be rendered."""

    def __init__(self, name: str, reason: str, line: int = 0) -> None:
        place = f" in line {line}" if line else ""
        super().__init__([InputProblem(message=f"prompt `{name}` cannot be rendered: {reason}{place}")])
        self.said, self.line = reason, line


class RenderedPrompt(NamedTuple):
    """A rendered template."""

    instructions: str
    """The block `orders`, which is sent as the system prompt; empty for a template without blocks."""
    content: str
    """The block `matter`, or the whole text of a template without blocks."""


class Prompt(NamedTuple):
    """A template for one kind of question."""

    name: str
    text: str

    @property
    def is_own(self) -> bool:
        """Whether it is the user's own and differs from the built-in one."""
        return self.text != read_built_in(self.name + SUFFIX)

    def mentions(self, key: str) -> bool:
        """Return whether it mentions a key of the answer."""
        return key in _with_references(self.text)

    def find_unknown_block(self) -> tuple[str, tuple[str, ...]] | None:
        """Return the first block that the extended template does not have, and the blocks it has; None if all are
        known.
        """
        on = _EXTENDS.search(self.text)
        if on is None or not (FOLDER / on[1]).is_file():
            return None
        known = tuple(dict.fromkeys(_BLOCK.findall(_with_references(read_built_in(on[1])))))
        return next(((name, known) for name in _BLOCK.findall(self.text) if name not in known), None)

    @property
    def version(self) -> str:
        """The name of the prompt, and a hash of its text with everything that it extends or includes."""
        return _compute_version(self.name, self.text)

    def fill(self, **given: Any) -> RenderedPrompt:
        """Render the template; raise InputError if that fails."""
        from jinja2 import TemplateError, TemplateNotFound  # noqa: PLC0415  (most runs ask no model)

        clean = {
            name: value.replace(_SEPARATOR, " ") if isinstance(value, str) else value for name, value in given.items()
        }
        written: list[str] = []
        size = 0
        try:
            for part in _compile(self.text).generate(then=_SEPARATOR, section=section, **clean):
                written.append(part)
                size += len(part)
                if size > MAX_PROMPT_LENGTH:
                    raise InputError.of(
                        f"prompt `{self.name}` has more than {MAX_PROMPT_LENGTH:,} characters when rendered"
                    )
        except (
            TemplateError,
            TypeError,
            ValueError,
            ArithmeticError,
            AttributeError,
            LookupError,
            RecursionError,
        ) as error:
            reason = f"unknown built-in prompt {error.name}" if isinstance(error, TemplateNotFound) else str(error)
            raise BadPrompt(self.name, reason, getattr(error, "lineno", None) or _template_line(error)) from None
        first, separator, second = "".join(written).partition(_SEPARATOR)
        return RenderedPrompt(first.strip(), second.strip()) if separator else RenderedPrompt("", first.strip())


class Prompts:
    """All prompts: the user's own where there is one, otherwise the built-in ones."""

    def __init__(self, own: Mapping[str, str] | None = None) -> None:
        self._own = dict(own or {})

    def __getitem__(self, name: str) -> Prompt:
        return Prompt(name, self._own[name]) if name in self._own else Prompt(name, read_built_in(name + SUFFIX))


BUILT_IN = Prompts()


def list_prompts() -> tuple[str, ...]:
    """Return the names of all built-in prompts that ask a question."""
    return tuple(sorted({path.stem for path in FOLDER.glob(f"*{SUFFIX}")} - _PARTS))


def list_prompt_parts() -> tuple[str, ...]:
    """Return the names of the templates that others are built from."""
    return tuple(sorted(_PARTS))


@cache
def read_built_in(file: str) -> str:
    """Return the text of a built-in template."""
    return (FOLDER / file).read_text(encoding="utf-8")


@cache
def _compute_version(name: str, text: str) -> str:
    return f"{name}-{hashlib.sha256(_with_references(text).encode()).hexdigest()[:12]}"


@cache
def _with_references(text: str) -> str:
    """Return the text with everything it extends or includes."""
    files = [file for file in _REFERENCES.findall(text) if (FOLDER / file).is_file()]
    return "\0".join([text, *(_with_references(read_built_in(file)) for file in files)])


@cache
def _compile(text: str) -> "Template":
    return _environment().from_string(text)


@cache
def _environment() -> "Environment":
    from jinja2 import FileSystemLoader, StrictUndefined  # noqa: PLC0415  (as above)
    from jinja2.exceptions import SecurityError  # noqa: PLC0415  (as above)
    from jinja2.sandbox import ImmutableSandboxedEnvironment  # noqa: PLC0415  (as above)

    class Bounded(ImmutableSandboxedEnvironment):
        """A Jinja sandbox in which multiplying texts cannot exhaust the memory."""

        intercepted_binops = frozenset({"*", "**"})

        def call_binop(self, context: Any, operator: str, left: Any, right: Any) -> Any:
            """Multiply small numbers; raise SecurityError for anything else."""
            if (
                all(isinstance(side, int | float) and abs(side) <= MAX_PROMPT_LENGTH for side in (left, right))
                and operator == "*"
            ):
                return left * right
            raise SecurityError(f"`{operator}` is for small numbers here")

    how = {"undefined": StrictUndefined, "trim_blocks": True, "lstrip_blocks": True}
    # Built-in templates do not change during a run; checking them for each question took longer than rendering.
    return Bounded(loader=FileSystemLoader(FOLDER), auto_reload=False, **how)


def _template_line(error: BaseException) -> int:
    """Return the line of a user's template that raised an error; 0 if it was not raised there."""
    trace, line = error.__traceback__, 0
    while trace is not None:
        line = trace.tb_lineno if trace.tb_frame.f_code.co_filename == "<template>" else line
        trace = trace.tb_next
    return line


def section(name: str, text: str) -> str:
    """Return a fenced section. The fence has a hash of the text, so that nothing inside can close it."""
    code = hashlib.sha256(text.encode(errors="replace")).hexdigest()[:16]
    return f"<<< {name} {code}\n{text}\n{name} {code} >>>"
