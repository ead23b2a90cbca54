"""The page about agents."""

from clerkship.actors.agent_kinds import AGENT_KINDS
from clerkship.actors.contract import History, Message, Say, Turn
from clerkship.actors.http_bot import ONLY_IN_TURNS, VARIABLES
from clerkship.actors.installed.agent import PROGRAMS
from clerkship.events.agent import AGENT_EVENTS
from clerkship.kit.command_option import options_of
from clerkship.sandbox.handle import Refused, Sandboxes
from clerkship.service.planning.options import BotOptions
from scripts.reference.render import AUTHENTICATION, ISOLATION, render_page
from scripts.reference.tables import describe_dataclass, describe_members, rows

_MESSAGE = {
    "text": "the person's message",
    "turn": "the number of the turn, from 1",
    "sandbox": "the sandbox of the conversation",
    "task_item": "the task item, if the task has one",
    "metadata": "metadata of the message, which the person does not see",
    "slots": "the slots that the scenario set before the conversation",
    "channel": "`sms`, `email` or `portal`, if the person writes from an address; `None` on a chat",
    "address": "the address of the person on that channel",
    "subject": "the subject of an e-mail or a patient portal message",
}
_SAY = {
    "text": "the text of the reply",
    "utter_name": "the name of the response, for assertions",
    "buttons": "choices that are shown with it, each a map",
    "metadata": "any other data, stored in the log. Assertions on generated replies use `utter_source` (what produced "
    "the reply), `search_results` and `domain_ground_truth` (what it is based on)",
    "custom": "what is not text: an image, an attachment, a payload for the channel",
}
_HISTORY = {
    "turns": "the turns so far, in order; the next `on_turn` is the turn after them",
    "slots": "the current values of the slots, as far as the log has them",
    "sandbox": "the sandbox of the conversation",
    "task_item": "the task item, if the task has one",
    "channel": "`sms`, `email` or `portal`, if the person writes from an address; `None` on a chat",
    "address": "the address of the person on that channel",
}
_TURN = {
    "turn": "the number of the turn, from 1; 0 is what the agent said and did before the person's first message",
    "text": "the person's message; `None` in turn 0",
    "metadata": "metadata of the message",
    "answer": "what the agent said and reported, as `on_turn` returns it; its requests are in the sandboxes",
}
_BOT_VARIABLES = {
    "text": "the person's message",
    "turn": "the number of the turn, from 1",
    "messages": 'the conversation so far, with the person\'s message: `{"role": "user", "content": …}` and so on, '
    "with the role `assistant` for the bot",
    "metadata": "metadata of the message",
    "subject": "the subject of an e-mail or a patient portal message",
    "session": "the session id; also in headers",
    "trial": "the number of the trial; also in headers",
    "task_item": "the task item, if the task has one",
    "slots": "the slots that the scenario set",
    "sandbox": "the sandbox of the conversation",
    "channel": "`sms`, `email` or `portal`, if the person writes from an address",
    "address": "the address of the person on that channel",
    "sandboxes": "addresses and tokens of the sandboxes, as in [messages](#messages)",
    "clock": "address and token of the simulated clock",
    "now": "the simulated time",
}
_SANDBOXES_MEMBERS = ("get_as(kind, name)", "now", "report(payload)", "wait(duration)")


def agents_page() -> str:
    """Return the page of agents."""
    members = [(name, text) for name, text in describe_members(Sandboxes) if name in _SANDBOXES_MEMBERS]
    return render_page(
        "agents.md",
        KINDS=rows((", ".join(f"`{form}`" for form in kind.forms), kind.description) for kind in AGENT_KINDS),
        OLDEST={name: ".".join(map(str, program.oldest)) for name, program in PROGRAMS.items()},
        bot_options=rows(
            (f"`{option.names[0]}`, `CLERKSHIP_{name.upper()}`", option.help)
            for name, (_, option) in options_of(BotOptions).items()
        ),
        bot_variables=rows(
            (f"`{name}`", f"{_BOT_VARIABLES[name]}{'; not in the start call' if name in ONLY_IN_TURNS else ''}")
            for name in VARIABLES
        ),
        message=describe_dataclass(Message, _MESSAGE, "message."),
        say=describe_dataclass(Say, _SAY),
        history=describe_dataclass(History, _HISTORY),
        turn=describe_dataclass(Turn, _TURN),
        sandboxes=rows((f"`sandboxes.{name}`", text) for name, text in members),
        reports=rows(
            (f"`{model.__name__}({', '.join(model.model_fields)})`", f"`{model.kind}`") for model in AGENT_EVENTS
        ),
        REFUSED=f"{Refused.__module__}.Refused",
        AUTHENTICATION=AUTHENTICATION,
        ISOLATION=ISOLATION,
    )
