"""The names of the commands, with their help and their functions."""

from collections.abc import Mapping
from typing import NamedTuple


class CommandEntry(NamedTuple):
    """A command. Its function is imported when the command is used; a test compares the help with its docstring."""

    target: str
    """`package.module:function`."""
    help: str
    """The first paragraph of the function's docstring."""


class GroupEntry(NamedTuple):
    """A command with subcommands."""

    help: str
    commands: Mapping[str, CommandEntry]


COMMANDS: Mapping[str, CommandEntry | GroupEntry] = {
    "demo": CommandEntry(
        "clerkship.cli.demo:demo",
        "Run a conversation and a prior authorization with sample agents, without a key, server or network.",
    ),
    "init": CommandEntry(
        "clerkship.cli.init:init",
        "Create a project with an environment, tasks or conversations, an agent, tests and CI files.",
    ),
    "validate": CommandEntry(
        "clerkship.cli.validate:validate",
        "Check the files of a suite and report all mistakes.",
    ),
    "run": CommandEntry("clerkship.cli.run:run", "Run tasks with an agent and grade the results."),
    "show": CommandEntry(
        "clerkship.cli.show:show",
        "Show a stored run, or one task of it with criteria, conversation and log.",
    ),
    "compare": CommandEntry(
        "clerkship.cli.compare:compare",
        "Compare two runs by task, criterion and axis.",
    ),
    "coverage": CommandEntry(
        "clerkship.cli.coverage:coverage",
        "Show what a set of stored runs exercised, and what never.",
    ),
    "export": CommandEntry(
        "clerkship.cli.export:export",
        "Export stored runs: results as CSV, trajectories in ATIF, or logs of Inspect.",
    ),
    "resume": CommandEntry("clerkship.cli.run:resume", "Finish an interrupted run."),
    "merge": CommandEntry("clerkship.cli.merge:merge", "Make one run of the runs of its shards."),
    "rerun": CommandEntry(
        "clerkship.cli.run:rerun",
        "Run the snapshots of a stored run again.",
    ),
    "rescore": CommandEntry(
        "clerkship.cli.rescore:rescore", "Grade the logs of a stored run again, without running an agent."
    ),
    "fork": CommandEntry("clerkship.cli.run:fork", "Continue a stored conversation from a turn."),
    "agents": CommandEntry(
        "clerkship.cli.agents:agents",
        "List the kinds of agents, and which of the programs among them are on this machine.",
    ),
    "list": CommandEntry("clerkship.cli.list_runs:list_runs", "List stored runs, newest first."),
    "label": CommandEntry(
        "clerkship.cli.manage_runs:label", "Give a stored run a label, which lists and reports show."
    ),
    "delete": CommandEntry("clerkship.cli.manage_runs:delete", "Delete a stored run with all its trials and logs."),
    "prune": CommandEntry("clerkship.cli.manage_runs:prune", "Delete old runs with all their trials and logs."),
    "store": GroupEntry(
        "Copy runs between stores, and bring a store to another version.",
        {
            "copy": CommandEntry(
                "clerkship.cli.store:copy",
                "Copy runs from one store to another, with their seals, logs and labels.",
            ),
            "migrate": CommandEntry(
                "clerkship.cli.store:migrate",
                "Bring the tables of a store to the version of this program, or back to an earlier one.",
            ),
        },
    ),
    "view": CommandEntry(
        "clerkship.cli.view:view",
        "Show runs in the browser: list, compare, label and delete them, and read every trial.",
    ),
    "play": CommandEntry("clerkship.cli.play:play", "Do a task yourself in the browser, and be graded as an agent is."),
    "up": CommandEntry("clerkship.cli.up:up", "Start a playground that stays up, for developing an agent."),
    "events": CommandEntry("clerkship.cli.events:events", "Print the log of a playground started with `clerkship up`."),
    "check": CommandEntry(
        "clerkship.cli.check:check",
        "Grade what has happened so far in a playground started with `clerkship up`.",
    ),
    "mcp": CommandEntry(
        "clerkship.cli.mcp:mcp",
        "Offer the tools of a trial to an MCP client that starts servers as programs.",
    ),
    "schema": CommandEntry(
        "clerkship.cli.schema:schema",
        "Print the JSON Schema of a kind of file, or write the schemas for editors.",
    ),
    "prompts": CommandEntry(
        "clerkship.cli.prompts:prompts",
        "List the built-in prompts, or print one.",
    ),
    "docs": CommandEntry("clerkship.cli.docs:docs", "List the pages of the documentation, or print one."),
    "author": CommandEntry(
        "clerkship.cli.author:author",
        "Serve tools for writing suites to a coding assistant, over MCP on standard input and output.",
    ),
    "monitors": CommandEntry(
        "clerkship.cli.monitors:monitors",
        "List the monitors: checks that run on every task, whatever its criteria say.",
    ),
    "plugins": CommandEntry(
        "clerkship.cli.plugins:plugins",
        "List installed plug-ins with the names they add, or the reason why one is broken.",
    ),
    "publish": CommandEntry(
        "clerkship.cli.publish:publish",
        "Freeze a suite into one file that never changes.",
    ),
    "serve": CommandEntry(
        "clerkship.cli.serve:serve",
        "Serve tasks and runs by REST, for agents that hold a key.",
    ),
    "push": CommandEntry(
        "clerkship.cli.push:push",
        "Send the folder of a suite to a server, where it can be edited, published and run.",
    ),
    "pull": CommandEntry(
        "clerkship.cli.push:pull",
        "Fetch the folder of a benchmark from a server, byte for byte.",
    ),
    "worker": CommandEntry(
        "clerkship.cli.worker:worker",
        "Run trials of `clerkship run --on temporal://…` on this machine, until Ctrl-C.",
    ),
    "backup": CommandEntry("clerkship.cli.backup:backup", "Back up the data of a server, which may run meanwhile."),
    "restore": CommandEntry("clerkship.cli.backup:restore", "Restore a backup of a server into a new data folder."),
    "keys": GroupEntry(
        "Create, list and revoke the keys of a server.",
        {
            "create": CommandEntry("clerkship.cli.serve:create", "Create a key for a server. It is printed once."),
            "list": CommandEntry(
                "clerkship.cli.serve:list_keys", "List the keys of a server, newest first, without their secrets."
            ),
            "revoke": CommandEntry(
                "clerkship.cli.serve:revoke",
                "Revoke a key of a server: it is not valid from now on, also if the server runs.",
            ),
        },
    ),
    "new-key": CommandEntry("clerkship.cli.publish:new_key", "Make a pair of keys to sign published versions with."),
    "published": GroupEntry(
        "List, show, compare, verify and withdraw published versions.",
        {
            "list": CommandEntry(
                "clerkship.cli.published:list_published",
                "List the published versions that can be run by name.",
            ),
            "show": CommandEntry(
                "clerkship.cli.published:show",
                "Show what a published version tests and needs, and who scored what on it.",
            ),
            "diff": CommandEntry(
                "clerkship.cli.published:diff",
                "Show in words how two published versions differ.",
            ),
            "verify": CommandEntry(
                "clerkship.cli.published:verify",
                "Check that a published version is unchanged, and that its tasks can be solved and are not passed by "
                "doing nothing.",
            ),
            "withdraw": CommandEntry(
                "clerkship.cli.published:withdraw",
                "Withdraw a published version, so that it can no longer be run by name.",
            ),
        },
    ),
    "conformance": CommandEntry(
        "clerkship.cli.conformance:conformance",
        "Run the conformance suite on a simulator or domain.",
    ),
    "new": GroupEntry(
        "Create a task, scenario file, simulator or assertion from a template.",
        {
            "task": CommandEntry(
                "clerkship.cli.new:task", "Create a commented task file, and a solution that passes it."
            ),
            "scenario": CommandEntry(
                "clerkship.cli.new:scenario",
                "Create a commented scenario file with a scripted person.",
            ),
            "simulator": CommandEntry(
                "clerkship.cli.new:simulator",
                "Create a plug-in package with a simulator, a task and tests.",
            ),
            "assertion": CommandEntry(
                "clerkship.cli.new:assertion",
                "Create an assertion, in a new package or in the package of the current folder.",
            ),
        },
    ),
    "import": GroupEntry(
        "Convert benchmarks of others to suites.",
        {
            "tau2": CommandEntry(
                "clerkship.cli.import_suite:tau2", "Convert a domain of a tau2-bench checkout to a suite."
            ),
        },
    ),
    "generate": GroupEntry(
        "Write first drafts of files.",
        {
            "scenarios": CommandEntry(
                "clerkship.cli.generate:scenarios",
                "Draft scenario files from the flows of a Rasa project.",
            ),
        },
    ),
    "dataset": GroupEntry(
        "Show and generate datasets.",
        {
            "show": CommandEntry(
                "clerkship.cli.dataset:show",
                "Show the contents of a dataset, or resources of it.",
            ),
            "generate": CommandEntry(
                "clerkship.cli.dataset:generate",
                "Generate FHIR R4 charts of synthetic patients.",
            ),
        },
    ),
    "fax": GroupEntry(
        "Read and show the fax pages of a suite.",
        {
            "ocr": CommandEntry(
                "clerkship.cli.fax:ocr",
                "Read the fax pages of a suite with the OCR engine, and write their text to a dataset.",
            ),
            "preview": CommandEntry(
                "clerkship.cli.fax:preview",
                "Write the pages of the faxes that arrive in a task as PNG files.",
            ),
        },
    ),
    "ivr": GroupEntry(
        "List and draw phone trees.",
        {
            "show": CommandEntry(
                "clerkship.cli.ivr:show",
                "Draw a phone tree in the terminal or as SVG.",
            ),
            "list": CommandEntry(
                "clerkship.cli.ivr:list_shipped",
                "List the phone trees that ship.",
            ),
        },
    ),
    "judge": GroupEntry(
        "Measure how well a judge agrees with people.",
        {
            "calibrate": CommandEntry(
                "clerkship.cli.judge:calibrate",
                "Compare a judge with labelled conversations and print the agreement.",
            ),
            "label": CommandEntry(
                "clerkship.cli.judge:label",
                "Label the verdict of a judge as right or wrong, for `clerkship judge calibrate`.",
            ),
        },
    ),
    "suite": GroupEntry(
        "Test a suite of tasks.",
        {
            "attack": CommandEntry(
                "clerkship.cli.suite:attack",
                "Run agents that must not pass, and report every task that one passes.",
            ),
            "mutate": CommandEntry(
                "clerkship.cli.mutate:mutate",
                "Run the reference solutions with one mistake each, and report every mistake that passes.",
            ),
        },
    ),
}
