"""A task that is played by a test, with the pages of the viewer."""

from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import NamedTuple

from clerkship.cli.catalog import build_catalog
from clerkship.model.redaction import Redactor
from clerkship.model.run import TaskRun
from clerkship.sandbox.request import Refusal
from clerkship.service.playing import PlayRequest, PlaySession, plan_play
from clerkship.service.running import RunResult, execute
from clerkship.settings import Settings
from clerkship.store.opening import open_store
from clerkship.viewer.answering import respond
from clerkship.viewer.application import LocalViewer
from clerkship.viewer.context import ViewerContext
from tests.waiting import wait_until

SUITES = Path(__file__).parents[2] / "suites"
LIMIT = 60.0
"""Seconds for what takes one."""


class PlayedTask(NamedTuple):
    """A task under way."""

    session: PlaySession
    viewer: LocalViewer
    settings: Settings
    run: "Future[RunResult]"

    def get_result(self) -> TaskRun:
        """Return the graded trial."""
        result = self.run.result(LIMIT)
        with open_store(self.settings) as store:
            [task_run] = store.task_runs(result.run.id)
        return task_run


@contextmanager
def play(folder: Path, suite: Path, task: str | None = None, time_limit: float = 600.0) -> Iterator[PlayedTask]:
    """Start a task in another thread, and wait until it asks the person. At the end, a task under way is given up."""
    settings, session, catalog = Settings(store=folder / "store.db"), PlaySession(time_limit), build_catalog()
    plan = plan_play(PlayRequest(task=task, path=suite, timeout=time_limit), session, settings, catalog)
    session.begin(plan, Redactor({}))
    context = ViewerContext(settings, partial(open_store, settings), play=session)
    with (
        open_store(settings, create=True) as store,
        LocalViewer(partial(respond, context), home="play") as viewer,
        ThreadPoolExecutor(1) as pool,
    ):

        def run() -> RunResult:
            result = execute(plan, store, catalog)
            for task_run in store.task_runs(result.run.id):
                session.finish(task_run)
            return result

        played = PlayedTask(session, viewer, settings, pool.submit(run))
        wait_until(lambda: session.describe(0)["state"] != "starting" or played.run.done())
        try:
            yield played
        finally:
            if not played.run.done():
                with suppress(Refusal):  # it has just ended
                    session.give_up()
