"""A model's name to somebody who can be asked: by the settings, the environment's keys, and a script's file."""

from pathlib import Path

from pydantic import JsonValue, ValidationError

from clerkship.library.complaint import complain
from clerkship.library.source import Unreadable, read_text
from clerkship.library.yaml import BadYaml, parse
from clerkship.llm.contract import Model
from clerkship.llm.openai import ANSWER_WITHIN, AT_ONCE, Manner, OpenAIModel
from clerkship.llm.place import ANTHROPIC, AZURE, OPENAI, Place, check_key, parse_place, parse_who
from clerkship.llm.scripted import Script, ScriptedModel
from clerkship.model.model_choice import ModelChoice
from clerkship.model.problem import InputError, Problem
from clerkship.model.variables import UnknownVariable, expand
from clerkship.settings import Settings, variables

SCRIPTED = "scripted:"


def model_name(choice: ModelChoice, settings: Settings) -> str:
    """What the model's own name is, once it is built: nobody is asked for that, and no key is needed."""
    if choice.skips or choice.who.startswith(SCRIPTED):
        return choice.who
    return _place(choice, settings).name


def build_model(choice: ModelChoice, settings: Settings) -> Model | None:
    """Whoever is to be asked, ready to be; None where nobody is."""
    if choice.skips:
        return None
    if choice.who.startswith(SCRIPTED):
        return ScriptedModel(choice.who, _script(Path(choice.who.removeprefix(SCRIPTED))))
    return _openai(choice, settings)


def _place(choice: ModelChoice, settings: Settings) -> Place:
    return parse_who(choice.who, {OPENAI: settings.openai_base_url})


def _openai(choice: ModelChoice, settings: Settings) -> Model:
    place = _place(choice, settings)
    if place.sort in (AZURE, ANTHROPIC):
        raise InputError.of(f"the provider `{place.sort}` is not available yet", hint="there is openai")
    key = _key(choice, settings)
    check_key(place, key, "OPENAI_API_KEY", "model")
    vectors = parse_place(choice.embeddings or settings.embeddings, place.address, "embeddings")
    timeout, at_once = choice.timeout or ANSWER_WITHIN, choice.at_once or AT_ONCE
    return OpenAIModel(place, vectors, key, Manner(_parameters(choice), timeout, at_once))


def _key(choice: ModelChoice, settings: Settings) -> str:
    key = variables().get(choice.key_from, "").strip() if choice.key_from else settings.openai_api_key
    if choice.key_from and not key:
        raise InputError.of(
            f"model `{choice.who}`: the environment variable {choice.key_from} is not set", hint="set it"
        )
    return key


def _parameters(choice: ModelChoice) -> dict[str, JsonValue]:
    def unset(path: list[int | str], unknown: UnknownVariable) -> None:
        raise InputError.of(f"model `{choice.who}`: {unknown}", hint=unknown.hint)

    found: dict[str, JsonValue] = expand(choice.parameters, variables(), unset)
    return found


def _script(path: Path) -> Script:
    try:
        tree = parse(read_text(path), str(path))
    except Unreadable as unreadable:
        raise InputError.of(unreadable.message, file=str(path), hint=unreadable.hint) from None
    except BadYaml as bad:
        raise InputError([_flaw(path, bad)]) from None
    if tree.flaws:
        raise InputError(_flaw(path, flaw) for flaw in tree.flaws)
    try:
        return Script.model_validate(tree.data)
    except ValidationError as error:
        raise InputError(find() for find in complain(error, Script, tree, [])) from None


def _flaw(path: Path, bad: BadYaml) -> Problem:
    return Problem(file=str(path), line=bad.line, column=bad.column, message=bad.message, hint=bad.hint)
