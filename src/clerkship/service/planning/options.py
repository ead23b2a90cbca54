"""The options of a run in typed groups, declared once for the command line, the pytest plug-in and Python.

A request inherits from the groups it needs; a function takes only the group that it reads.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Literal

from clerkship.kit.command_option import Option
from clerkship.model.errors import InputError
from clerkship.model.run_options import (
    MAX_TOKEN_LIMIT,
    MAX_VOTES,
    NO_MODEL,
    IsolationMode,
    PersonFacts,
    RecordingMode,
)
from clerkship.sandbox.faults.registry import PROFILES

MAX_TIMEOUT = 86_400
MAX_TURN_LIMIT = 10_000
MAX_SHARDS = 10_000
MAX_TRIALS_UNTIL_SURE = 50
"""The default maximum of trials per task with `until_sure`."""
_DURATION: Any = {"metavar": "TIME", "is_duration": True}
_MODEL_FORMS = "openai:model, anthropic:model, gemini:model, any:model@address, scripted:file"
# The headings of the help, each with the options below it.
_selection, _execution = partial(Option, panel="Selection"), partial(Option, panel="Execution")
_grading, _people = partial(Option, panel="Grading"), partial(Option, panel="People played by models")
_recording, _models = partial(Option, panel="Record and replay"), partial(Option, panel="Requests to models")
_dollars, _count = partial(_models, metavar="DOLLARS", min=0), partial(_models, metavar="N", min=0)
_bot = partial(Option, panel="Bots over HTTP", is_kept=False)
_network = partial(Option, panel="Agents on other machines", is_kept=False)


Concurrency = Annotated[
    int | None,
    _execution(
        ("--concurrency", "-c"), "Number of trials at a time. [default: 4]", "N", min=1, max=1000, is_kept=False
    ),
]
Trials = Annotated[
    int | None, _execution(("--trials", "-k"), "Trials of each task. [default: 1]", "N", min=1, is_kept=False)
]
Seed = Annotated[int | None, _execution(("--seed",), "Seed of all random choices. [default: 0]", "N", is_kept=False)]
DomainPath = Annotated[
    Path | None,
    _grading(
        ("--domain",),
        "Rasa domain, a file or folder, to check slots against. [default: the agent's, or the project's]",
        "PATH",
    ),
]
Judge = Annotated[
    str | None,
    _grading(
        ("--judge",),
        f"Model that judges criteria in plain language: {_MODEL_FORMS}.",
        "MODEL",
        flags={"--no-judge": (NO_MODEL, "Skip criteria that need a model.")},
    ),
]
"""The model that judges; `none` to skip what it would judge."""
AllowUngraded = Annotated[bool, _grading(("--allow-ungraded",), "Exit with 0 even if no criterion was judged.")]
VoteCount = Annotated[
    int | None,
    _grading(
        ("--votes",),
        "Votes for each judged criterion, an odd number; the majority decides. [default: 1]",
        "N",
        min=1,
        max=MAX_VOTES,
    ),
]


def _build_metrics_option(default: str) -> Option:
    text = "Let the judge rate each conversation. Ratings do not change verdicts."
    flags: dict[str, tuple[str | bool, str]] = {"--no-metrics": (False, f"Rate no conversation. [default: {default}]")}
    return _grading(("--metrics",), text, flags=flags)


Metrics = Annotated[bool | None, _build_metrics_option("scenarios are rated if conftest.yml names a judge")]
"""Whether conversations are rated; None if the files decide."""
RescoredMetrics = Annotated[bool | None, _build_metrics_option("as in the run")]
PersonModel = Annotated[
    str | None, _people(("--person",), f"Model that plays people without a script: {_MODEL_FORMS}.", "MODEL")
]
MaxTokens = Annotated[
    int | None,
    _models(
        ("--max-tokens",),
        "Maximum tokens in one answer of a model. [default: 8192, or what its context allows]",
        "N",
        min=1,
        max=MAX_TOKEN_LIMIT,
    ),
]
ModelTimeout = Annotated[
    float | None,
    _models(
        ("--model-timeout",),
        "Time limit of one answer of a model: seconds, or such as 2m. [default: 120]",
        **_DURATION,
    ),
]
_RECORDED: dict[str, tuple[str | bool, str]] = {
    "--replay": ("replay", "Use recorded answers; send no requests to models."),
    "--refresh": ("refresh", "Use recorded answers, and record missing ones."),
}
RecordingModeOption = Annotated[
    RecordingMode | None,
    _recording(
        flags={
            "--record": (
                "record",
                "Record the answers of models in cassettes beside the files, also those to the agent.",
            ),
            **_RECORDED,
        }
    ),
]
KeepRecordings = Annotated[RecordingMode | None, _recording(flags=_RECORDED)]
"""For several runs with the same cassettes: `record` would drop what an earlier run has recorded."""
AgentHeaders = Annotated[
    tuple[str, ...],
    _bot(
        ("--header",),
        "Header of each request, such as 'Authorization: Bearer ${BOT_KEY}'; may be repeated. The value of a "
        "variable is not stored, nor is a value that may be a secret.",
        "HEADER",
    ),
]


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Selection:
    """Which tasks of the files to run."""

    tasks: Annotated[
        tuple[str, ...],
        _selection(("--task",), "Only tasks whose name or file name contains this; `*` is a wildcard.", "NAME"),
    ] = ()
    tags: Annotated[
        tuple[str, ...], _selection(("--tag", "-t"), "Only tasks with this tag; may be repeated.", "TAG")
    ] = ()


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class ResourceOptions:
    """How many trials run at once, and how isolated their agent is."""

    concurrency: Concurrency = None
    isolate: Annotated[
        IsolationMode | None,
        _execution(
            ("--isolate",),
            "Hide the store, the tasks and other processes from an agent's program: auto (if possible), always (or "
            "refuse to run), never. [default: auto]",
            "MODE",
        ),
    ] = None


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class ExecutionOptions:
    """How often tasks are run, and within which limits."""

    trials: Trials = None
    """1 by default; with `until_sure`, the maximum, 50 by default."""
    seed: Seed = None
    timeout: Annotated[
        float | None,
        _execution(
            ("--timeout",),
            "Time limit of a task without its own timeout: seconds, or such as 90s or 1h30m. [default: 300]",
            **_DURATION,
        ),
    ] = None
    turn_timeout: Annotated[
        float | None,
        _execution(
            ("--turn-timeout",),
            "Time limit of each reply in a conversation: seconds, or such as 2m. [default: 60]",
            **_DURATION,
        ),
    ] = None
    max_turns: Annotated[
        int | None,
        _execution(
            ("--max-turns",), "Maximum number of turns in a conversation. [default: 50]", "N", min=1, max=MAX_TURN_LIMIT
        ),
    ] = None
    agent_process: Annotated[
        bool,
        _execution(
            ("--agent-process",),
            "Run a Python agent in its own process for each trial, isolated like a program.",
            is_kept=False,
        ),
    ] = False
    shuffle: Annotated[
        bool, _execution(("--shuffle",), "Run the trials in random order, by the seed.", is_kept=False)
    ] = False
    shard: Annotated[
        str | None,
        _execution(
            ("--shard",),
            "Run one part of the trials, such as 3/10: the third of ten. `clerkship merge` makes one run of all parts.",
            "I/N",
            is_kept=False,
        ),
    ] = None
    chaos: Annotated[
        str | None,
        _execution(
            ("--chaos",), f"Add the faults of a chaos profile to every task: {' or '.join(PROFILES)}.", "PROFILE"
        ),
    ] = None
    until_sure: Annotated[
        float | None,
        _execution(
            ("--threshold",),
            "With --until-sure: the pass rate to compare with.",
            "RATE",
            min=0.01,
            max=0.99,
            switch=(
                "--until-sure",
                "Repeat each task until its rate is clearly above or below --threshold, at most -k times (default 50).",
            ),
            switch_value=0.8,
        ),
    ] = None

    @property
    def trial_count(self) -> int:
        """How often each task is run, at most."""
        if self.trials is not None:
            return self.trials
        return MAX_TRIALS_UNTIL_SURE if self.until_sure is not None else 1


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class GradingOptions:
    """How trials are graded, and by which model."""

    compat: Annotated[
        Literal["rasa"] | None, _grading(("--compat",), "Evaluate assertions like another tool: rasa.", "TOOL")
    ] = None
    domain: DomainPath = None
    judge: Judge = None
    allow_ungraded: AllowUngraded = False
    votes: VoteCount = None
    """Votes of the judge on each criterion that sets no number; 1 by default."""
    metrics: Metrics = None


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class PersonOptions:
    """Which model plays people that are not scripted, and what it may make up."""

    person: PersonModel = None
    checks_person: Annotated[
        bool, _people(("--check-person",), "Let the judge also check how the person was played.")
    ] = False
    person_facts: Annotated[
        PersonFacts | None,
        _people(
            ("--person-facts",),
            "Whether a played person may make up a PIN, a date or an address that is not given: strict (never), free. "
            "For people whose file does not say. [default: free]",
            "FACTS",
        ),
    ] = None


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class ModelCallOptions:
    """Limits of each request to a model: the agent's, the person's and the judge's."""

    max_tokens: MaxTokens = None
    model_timeout: ModelTimeout = None


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class CallLimitOptions:
    """Limits of all model calls of the agent: of the run, and of each trial."""

    max_cost: Annotated[
        float | None,
        _dollars(("--max-cost",), "Dollars that the agent's model calls may cost in the run. 0: no limit."),
    ] = None
    max_calls: Annotated[
        int | None, _count(("--max-calls",), "Maximum number of model calls of the agent in the run. 0: no limit.")
    ] = None
    max_total_tokens: Annotated[
        int | None, _count(("--max-total-tokens",), "Tokens that all these calls may use in the run. 0: no limit.")
    ] = None
    max_cost_per_trial: Annotated[
        float | None, _dollars(("--max-cost-per-trial",), "The same as --max-cost, for each trial.")
    ] = None
    max_calls_per_trial: Annotated[
        int | None, _count(("--max-calls-per-trial",), "The same as --max-calls, for each trial.")
    ] = None
    max_total_tokens_per_trial: Annotated[
        int | None, _count(("--max-total-tokens-per-trial",), "The same as --max-total-tokens, for each trial.")
    ] = None


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class RecordingOptions:
    """Whether answers are recorded, or replayed from a recording."""

    tape: RecordingModeOption = None
    tapes_agent: Annotated[bool, _recording(("--record-agent",), "Also record what the agent answers.")] = False


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class BotOptions:
    """How to talk to an agent at an address that has its own format. Each replaces the setting of the same name."""

    agent_request: Annotated[
        str | Mapping[str, Any] | None,
        _bot(
            ("--request",),
            'JSON that the bot expects, such as \'{"message": "{{text}}"}\', or @FILE. Other variables: {{session}}, '
            "{{messages}} and more.",
            "JSON",
        ),
    ] = None
    agent_reply: Annotated[
        str | None,
        _bot(
            ("--reply",),
            "Path of the message in its reply: reply.text, choices.0.message.content, messages.*.text. "
            "[default: the reply is plain text]",
            "PATH",
        ),
    ] = None
    agent_buttons: Annotated[str | None, _bot(("--buttons",), "Path of buttons in its reply.", "PATH")] = None
    agent_session: Annotated[
        str | None,
        _bot(
            ("--session",),
            "Path of the session id in its reply. [default: {{session}} is a new id for each conversation]",
            "PATH",
        ),
    ] = None
    agent_headers: AgentHeaders = field(default=(), repr=False)
    agent_start: Annotated[
        str | None, _bot(("--start",), "Address or path to call before the first message.", "ADDRESS")
    ] = None
    agent_start_request: Annotated[
        str | Mapping[str, Any] | None, _bot(("--start-request",), "JSON of the start call. [default: {}]", "JSON")
    ] = None
    agent_greeting: Annotated[
        str | None,
        _bot(
            ("--greeting",),
            "Path of the greeting in the reply to the start call. [default: that of --reply, if it is there]",
            "PATH",
        ),
    ] = None


NO_BOT_OPTIONS = BotOptions()

ListenHost = Annotated[
    str | None,
    _network(
        ("--host",),
        "Listen on this IPv4 address; 0.0.0.0 is every network of this machine, as a container needs. "
        "[default: 127.0.0.1]",
        "ADDRESS",
    ),
]
ListenPort = Annotated[
    int | None, _network(("--port",), "Port of the HTTP server. [default: any free port]", "N", min=0, max=65_535)
]
ListenerPorts = Annotated[
    tuple[str, ...],
    _network(
        ("--listener",),
        "Port of a listener, such as mllp=2575; may be repeated. [default: any free port]",
        "NAME=PORT",
    ),
]
AllowNoPassword = Annotated[
    bool,
    _network(
        ("--allow-no-password",),
        "With --host: let other machines also use listeners that ask for no password (MLLP).",
    ),
]


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class NetworkOptions:
    """Where sandboxes listen, and how agents on other machines reach them."""

    host: ListenHost = None
    port: ListenPort = None
    listeners: ListenerPorts = ()
    public_url: Annotated[
        str | None,
        _network(("--public-url",), "URL of the HTTP server behind a proxy or tunnel that leads to --port.", "URL"),
    ] = None
    tls_cert: Annotated[
        Path | None,
        _network(("--tls-cert",), "Certificate in PEM, with which HTTP, SMTP and MLLP are encrypted.", "FILE"),
    ] = None
    tls_key: Annotated[
        Path | None, _network(("--tls-key",), "Its private key. [default: in the file of the certificate]", "FILE")
    ] = None
    client_ca: Annotated[
        Path | None,
        _network(("--client-ca",), "Authority in PEM: MLLP clients need a certificate signed by it.", "FILE"),
    ] = None
    allow_no_password: AllowNoPassword = False


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class TraceOptions:
    """Where the traces of trials are sent."""

    otlp: Annotated[
        str | None,
        _execution(
            ("--otlp",),
            "Send a trace of each trial to the OpenTelemetry collector at this address, such as http://127.0.0.1:4318.",
            "URL",
            is_kept=False,
        ),
    ] = None


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class RepeatedRunOptions(TraceOptions, CallLimitOptions, NetworkOptions, ResourceOptions):
    """How the trials of a stored run are run again."""


def parse_shard(text: str) -> dict[str, int]:
    """Return the fields of a shard, from a text such as 3/10. Raise InputError for another text."""
    number, slash, count = text.partition("/")
    if not (slash and number.isdecimal() and count.isdecimal() and 1 <= int(number) <= int(count) <= MAX_SHARDS):
        expected = f"such as 3/10: a number from 1 on, and how many there are, at most {MAX_SHARDS:,}"
        raise InputError.of(f"invalid --shard `{text}` (expected: {expected})")
    return {"number": int(number), "count": int(count)}


def check_model_limits(max_tokens: int | None, model_timeout: float | None) -> None:
    """Raise InputError for a limit of requests to models that is out of range."""
    if max_tokens is not None and not 1 <= max_tokens <= MAX_TOKEN_LIMIT:
        raise InputError.of(f"invalid max_tokens {max_tokens} (expected: from 1 to {MAX_TOKEN_LIMIT})")
    if model_timeout is not None and not 0 < model_timeout <= MAX_TIMEOUT:
        raise InputError.of(f"invalid model_timeout {model_timeout} (expected: more than 0, at most {MAX_TIMEOUT})")


def check_votes(votes: int) -> int:
    """Return the number of votes. Raise InputError unless it is odd and within the limit."""
    if not 1 <= votes <= MAX_VOTES or votes % 2 == 0:
        raise InputError.of(f"invalid number of votes {votes} (expected: an odd number from 1 to {MAX_VOTES})")
    return votes
