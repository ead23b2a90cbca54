"""The page of the reference about prompts: what models are told, word for word."""

from clerkship.library.conftest import TRIALS
from clerkship.llm.prompts import BUILT_IN, names, parts

FOR = {
    "criterion": "whether a criterion holds",
    "recite": "again, where a verdict cites what is not there",
    "metrics": "how good a conversation was",
    "relevance": "`generative_response_is_relevant`",
    "variations": "the same under `compat: rasa`",
    "groundedness": "`generative_response_is_grounded`",
}


def prompts_page(head: str) -> str:
    """Every built-in prompt with its mark, the keys that put another in its place, and all texts."""
    keys = {trial.name: key for key, trial in TRIALS.items()}
    lines = [head, "# Prompts", "", "What models are told. `clerkship prompts NAME` prints one.", ""]
    lines += ["| prompt | asks | mark | yours instead, in `eval/conftest.yml` |", "|---|---|---|---|"]
    for name in names():
        own = f"`{keys[name]}`" if name in keys else ""
        lines.append(f"| [{name}](#{name}) | {FOR.get(name, '')} | `{BUILT_IN[name].mark}` | {own} |")
    lines += ["", f"`{'` and `'.join(parts())}` are parts of the others.", ""]
    for name in (*names(), *parts()):
        lines += [f"## {name}", "", "```jinja", BUILT_IN[name].text.strip(), "```", ""]
    return "\n".join(lines).rstrip() + "\n"
