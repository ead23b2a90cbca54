"""`conftest.yml`: which file is one, the one above a folder of scenarios; the templates it names, read and tried."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from clerkship.library.source import SUFFIXES, Unreadable, read_text
from clerkship.llm.prompts import BadPrompt, Prompt
from clerkship.model.problem import Problem

STEM = "conftest"
BLOCKS = frozenset({"simulation", "evaluation"})


def is_conftest(path: Path, data: Any) -> bool:
    """Whether a file says which models an evaluation uses; other tests have files of this name too."""
    return path.stem == STEM and isinstance(data, dict) and bool(BLOCKS & data.keys())


def above(root: Path) -> Path | None:
    """The one that a folder of scenarios goes by: `eval/conftest.yml` for `eval/scenarios`."""
    folder = root.resolve()
    if folder.name != "scenarios" and folder.parent.name != "eval":
        return None
    found = (root.resolve().parent / f"{STEM}{suffix}" for suffix in SUFFIXES)
    return next((path for path in found if path.is_file()), None)


def read_template(conftest: Path, name: str) -> tuple[Path, str]:
    """A template and where it is; raises Unreadable unless it is a file of the project, with something in it. Paths are
    from the project's root."""
    folder = conftest.resolve().parent
    project = folder.parent if folder.name == "eval" else folder
    path = project / name
    if Path(name).is_absolute() or not path.resolve().is_relative_to(project):
        raise Unreadable("it is outside the project", f"paths are from {project.name}/, and stay in it")
    if not path.exists():
        raise Unreadable("there is no such file", f"it is looked for from {project.name}/")
    text = read_text(path)
    if not text.strip():
        raise Unreadable("it is empty")
    return path, text


def check_template(key: str, path: Path, text: str) -> Problem | None:
    """What is wrong with it, if anything is: found by filling it in as a run would, with things of no meaning."""
    trial = TRIALS[key]
    try:
        filled = [trial.prompt(text).fill(**given) for given in trial.given()]
    except BadPrompt as bad:
        hint = f"it can use {', '.join(trial.variables)}" if "is undefined" in bad.said else ""
        return Problem(file=str(path), line=bad.line, column=1 if bad.line else 0, message=bad.said, hint=hint)
    unused = [names for names in trial.needed if not any(_MARK.format(name) in "".join(filled[0]) for name in names)]
    if unused:
        names = " or ".join(f"`{name}`" for name in unused[0])
        return Problem(file=str(path), message=f"it never says {names}", hint=f"put {{{{ {unused[0][0]} }}}} into it")
    return None


class _Trial(NamedTuple):
    """How a template of somebody's own is tried."""

    name: str
    """Of the built-in one that it stands for."""
    needed: tuple[tuple[str, ...], ...]
    """Variables without which it makes no sense, each with those that do as well."""
    optional: tuple[str, ...] = ()

    @property
    def variables(self) -> tuple[str, ...]:
        """All that it can use."""
        return (*(name for names in self.needed for name in names), *self.optional)

    def prompt(self, text: str) -> Prompt:
        """The template."""
        return Prompt(self.name, text)

    def given(self) -> Iterator[dict[str, Any]]:
        """Values: with something in each, and with nothing in those that may be empty."""
        full: dict[str, Any] = {name: _MARK.format(name) for name in self.variables}
        lists = {name: [{"name": "politeness", "description": "It is polite.", "scale": "1-5"}] for name in _LISTS}
        full |= {name: value for name, value in lists.items() if name in full}
        yield full
        yield full | {name: [] if name in _LISTS else "" for name in self.optional}


_MARK = "(the {})"
_LISTS = ("metrics",)
TRIALS = {
    "criteria_judge_prompt": _Trial(
        "criterion",
        (("criteria_text", "criterion"), ("transcript",)),
        ("event_ledger", "simulation_context", "engine_version"),
    ),
    "metrics_judge_prompt": _Trial(
        "metrics", (("transcript",),), ("event_ledger", "simulation_context", "engine_version", "metrics")
    ),
    "simulated_user_prompt": _Trial("person", (("simulation_context",),)),
}
"""By the key that names the template in a conftest."""
