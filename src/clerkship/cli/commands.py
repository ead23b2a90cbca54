"""The names of the commands, with their helps and the functions behind them."""

from collections.abc import Mapping
from typing import NamedTuple


class CommandEntry(NamedTuple):
    """A command. Its function is imported when the command is used; a test compares the help with its docstring."""

    target: str
    """`package.module:function`."""
    help: str
    """The first paragraph of the function's docstring."""


class GroupEntry(NamedTuple):
    """A command that has commands of its own."""

    help: str
    commands: Mapping[str, CommandEntry]


COMMANDS: Mapping[str, CommandEntry | GroupEntry] = {
    "demo": CommandEntry(
        "clerkship.cli.demo:demo", "Run a small suite with a small agent: no key, no server, no network."
    ),
    "init": CommandEntry(
        "clerkship.cli.init:init",
        "Make a project that works: an environment, a conversation and a piece of work, each with its solution, an "
        "agent that passes them, the same as pytest tests, and files for GitHub Actions and GitLab CI.",
    ),
    "validate": CommandEntry(
        "clerkship.cli.validate:validate",
        "Check every file of a folder: keys, types, names, templates, bindings; slots against the agent's domain.",
    ),
    "run": CommandEntry("clerkship.cli.run:run", "Run tasks with an agent, grade what it did, keep everything."),
    "show": CommandEntry(
        "clerkship.cli.show:show",
        "Show a run that is kept, or one task of it: each criterion, the conversation, the log.",
    ),
    "compare": CommandEntry(
        "clerkship.cli.compare:compare",
        "Compare two runs: each task and each criterion better, worse, the same, or flaky; and each axis.",
    ),
    "resume": CommandEntry(
        "clerkship.cli.run:resume", "Finish a run that was killed, stopped, or broken off by a full disk."
    ),
    "rerun": CommandEntry(
        "clerkship.cli.run:rerun",
        "Do a run again from its snapshot: the same tasks, data and seed, whatever the files say today.",
    ),
    "rescore": CommandEntry(
        "clerkship.cli.rescore:rescore", "Grade a run again over the logs that are kept, without running anything."
    ),
    "fork": CommandEntry(
        "clerkship.cli.run:fork", "Go on with a recorded conversation from a turn, with another agent or model."
    ),
    "list": CommandEntry("clerkship.cli.list_runs:list_runs", "List the runs that are kept, newest first."),
    "up": CommandEntry(
        "clerkship.cli.up:up", "Start a playground and leave it up, to write an agent against in any language."
    ),
    "events": CommandEntry(
        "clerkship.cli.events:events", "Print the log of the playground that `clerkship up` started from this folder."
    ),
    "check": CommandEntry(
        "clerkship.cli.check:check",
        "Grade what has happened so far in the playground that is up, by the files as they are now.",
    ),
    "schema": CommandEntry(
        "clerkship.cli.schema:schema",
        "Print the JSON Schema of a sort of file, for editors and for other programs. It is JSON with or without "
        "--json.",
    ),
    "prompts": CommandEntry(
        "clerkship.cli.prompts:prompts",
        "List the built-in prompts with their marks, or print one: a start for a prompt of your own.",
    ),
    "plugins": CommandEntry(
        "clerkship.cli.plugins:plugins",
        "List the plug-ins that are installed: the names each brings, or why it is broken.",
    ),
    "conformance": CommandEntry(
        "clerkship.cli.conformance:conformance",
        "Run the conformance suite on a simulator or a domain, ours or a plug-in's.",
    ),
    "new": GroupEntry(
        "Start something that works as it is: a task, a scenario, a simulator, an assertion. Nothing that exists is "
        "overwritten.",
        {
            "task": CommandEntry(
                "clerkship.cli.new:task", "Write a task with every key explained, and a solution that passes it."
            ),
            "scenario": CommandEntry(
                "clerkship.cli.new:scenario",
                "Write a scenario file with every key explained: a conversation with a person who needs no model.",
            ),
            "simulator": CommandEntry(
                "clerkship.cli.new:simulator",
                "Write a package with a simulator of your own: it installs, conforms, and has a task and tests.",
            ),
            "assertion": CommandEntry(
                "clerkship.cli.new:assertion",
                "Write an assertion of your own: a package, or a file more in the package that the folder is.",
            ),
        },
    ),
    "generate": GroupEntry(
        "Draft files for you to edit.",
        {
            "scenarios": CommandEntry(
                "clerkship.cli.generate:scenarios",
                "Draft scenario files from the flows of a Rasa project, a file for each flow and kind.",
            ),
        },
    ),
    "dataset": GroupEntry(
        "Look into datasets, and make them up.",
        {
            "show": CommandEntry(
                "clerkship.cli.dataset:show",
                "Show what is in a dataset: how many of each type, its hash, its patients; or resources of it.",
            ),
            "generate": CommandEntry(
                "clerkship.cli.dataset:generate",
                "Make charts of synthetic patients: FHIR R4, clinically plausible, from newborn to very old, healthy "
                "to frail.",
            ),
        },
    ),
    "judge": GroupEntry(
        "Is the model that judges any good? Hold it against what people say.",
        {
            "calibrate": CommandEntry(
                "clerkship.cli.judge:calibrate",
                "Ask the judge about conversations that people have labelled, and print how far it agrees with them.",
            ),
        },
    ),
    "suite": GroupEntry(
        "Is a suite of tasks any good? Attack it.",
        {
            "attack": CommandEntry(
                "clerkship.cli.suite:attack",
                "Run agents that deserve no pass over every task, and print which task passes one.",
            ),
        },
    ),
}
