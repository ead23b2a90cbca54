"""Many trials, so many at once: hands them out, watches their time, and takes down each as it finishes."""

import contextlib
import queue
import signal
import threading
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field

from clerkship.engine.finished import Finished
from clerkship.engine.seat import Done, NoMoreSeats, Seat, finish
from clerkship.engine.spec import BatchContext, TrialSpec
from clerkship.engine.watchdog import is_crowded
from clerkship.kit.wall import monotonic

WATCH_EVERY = 0.1
OPEN_AFTER = 0.002
STOP_WITHIN = 0.7
CLOSE_WITHIN = 3.0
"""Seconds for agents that have stopped to let go of what they hold: a program of theirs may want to be killed."""
MOST_WAITING = 64

_STOPPING = [number for name in ("SIGINT", "SIGTERM", "SIGHUP") if (number := getattr(signal, name, None)) is not None]
"""Ctrl-C; and what a cancelled job, a stopped container or a closed terminal sends."""
Save = Callable[[list[Finished]], None]
More = Callable[[list[Finished]], Iterable[TrialSpec]]


@dataclass(repr=False)  # `signal.signal` asks for the repr of a handler, and so of all its jobs
class Batch:
    """Runs in the caller's thread; the seats are its only others. Ctrl-C stops it and keeps what finished."""

    jobs: list[TrialSpec]
    setting: BatchContext
    concurrency: int
    save: Save
    more: More = lambda finished: ()
    """What is to be done besides, now that these have finished."""
    cancelled: bool = False
    _stopping: bool = False
    _waiting: "queue.SimpleQueue[TrialSpec | None]" = field(default_factory=queue.SimpleQueue)
    _done: "queue.SimpleQueue[Done]" = field(default_factory=queue.SimpleQueue)
    _taken: threading.Event = field(default_factory=threading.Event)
    _seats: list[Seat] = field(default_factory=list)
    _alone: list[TrialSpec] = field(default_factory=list)
    """Trials to be repeated, each while nothing else runs."""
    _open: int = 0
    _watch_at: float = 0.0

    def run(self) -> None:
        """Until every job is done, or somebody stops it. What finished is kept, whatever ends it."""
        for job in self.jobs:
            self._waiting.put(job)
        self._open = len(self.jobs)
        try:
            self._sit()
            while self._open and not self._stopping:
                self._take(self._next(self._patience()))
                self._watch()
                self._repeat_alone()
            if self._open:
                self.cancelled = True
                self._stop()
        finally:
            self._send_home()

    def stop(self) -> None:
        """Wish for an end, from any thread."""
        self._stopping = True

    @contextlib.contextmanager
    def hearing_ctrl_c(self) -> Iterator[None]:
        """In here the first Ctrl-C is a wish, not an exception: it must not strike in the middle of keeping a trial.

        So is a plain kill: what agents have started must not outlive this process.
        """
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        heard = [number for number in _STOPPING if signal.getsignal(number) is not signal.SIG_IGN]  # as under `nohup`
        before = {number: signal.signal(number, self._wish) for number in heard}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler or signal.SIG_DFL)

    def _wish(self, number: int, frame: object) -> None:
        self.stop()
        signal.signal(number, signal.default_int_handler)  # the second is meant

    def _patience(self) -> float:
        """Seats are opened while nothing comes in from those there are: agents that wait get the whole limit,
        agents that only compute are not made to fight over one interpreter."""
        return OPEN_AFTER if len(self._seats) < self.concurrency and not self._waiting.empty() else WATCH_EVERY

    def _sit(self) -> None:
        self._seats.append(Seat(self.setting, self._waiting, self._hand_in))

    def _hand_in(self, done: Done) -> None:
        """Called by seats: they wait where results are kept more slowly than they come."""
        self._done.put(done)
        while self._done.qsize() > MOST_WAITING and not self._stopping:
            self._taken.wait(WATCH_EVERY)

    def _next(self, wait: float) -> list[Done]:
        """What has finished, all that is there at once: one commit for them together."""
        found: list[Done] = []
        self.setting.watchdog.beat()
        try:
            found.append(self._done.get(timeout=wait))
            while len(found) < MOST_WAITING:
                found.append(self._done.get_nowait())
        except queue.Empty:
            if not self._stopping and not found:
                self._sit_down()
        return found

    def _sit_down(self) -> None:
        """Nothing has come in: twice as many seats, as far as there is work for them."""
        for _ in range(min(len(self._seats), self.concurrency - len(self._seats), self._waiting.qsize())):
            try:
                self._sit()
            except NoMoreSeats:
                self.concurrency = len(self._seats)  # as many as the system has room for
                return

    def _take(self, done: Iterable[Done]) -> None:
        items = list(done)
        self._keep([item.finished for item in items if item.finished is not None])
        for item in items:
            if item.seat.retired and item.seat in self._seats:
                self._seats.remove(item.seat)
                self._sit()

    def _keep(self, finished: list[Finished]) -> None:
        self._taken.set()
        self._taken.clear()
        self._open -= len(finished)
        if not finished:
            return
        self.save(finished)
        if self._stopping:
            return
        for job in self.more(finished):
            self._open += 1
            self._waiting.put(job)
        repeated = [item.again for item in finished if item.again is not None]
        self._open += len(repeated)
        self._alone += repeated

    def _repeat_alone(self) -> None:
        """Start the next repetition, once everything else is done."""
        if self._alone and self._open == len(self._alone):
            self._waiting.put(self._alone.pop(0))

    def _watch(self) -> None:
        """Now and then: to look at every seat for each result would cost more than the trials, where there are many."""
        if monotonic() < self._watch_at:
            return
        self._watch_at = monotonic() + WATCH_EVERY
        self._note_crowding()
        for seat in list(self._seats):
            trial = seat.overdue()
            if trial is not None and trial.claim():
                seat.retired = True
                self._seats.remove(seat)
                self._keep([finish(trial, trial.out_of_time("timed_out"))])
                self._sit()

    def _note_crowding(self) -> None:
        """Tell every trial under way whether agents hold each other up now."""
        trials = [(seat, trial) for seat in self._seats if (trial := seat.trial) is not None]
        crowded = is_crowded([seat.load() for seat, _ in trials])
        for _, trial in trials:
            trial.crowding.note(crowded)

    def _stop(self) -> None:
        """Cancel what runs, wait a moment for it to end, give up the rest."""
        self._send_home()
        for seat in self._seats:
            seat.stop()
        self.setting.models.close()
        until = monotonic() + STOP_WITHIN
        while monotonic() < until and any(seat.trial is not None for seat in self._seats):
            for seat in self._seats:
                seat.overdue()
            self._take_last(self._next(0.02))
        while monotonic() < until + CLOSE_WITHIN and any(seat.finishing for seat in self._seats):
            self._take_last(self._next(0.02))
        while self._take_last(self._next(0.05)):
            pass
        abandoned = [seat.trial for seat in self._seats if seat.trial is not None]
        self._keep([finish(trial, "cancelled") for trial in abandoned if trial.claim()])

    def _send_home(self) -> None:
        """No more jobs for anyone."""
        with contextlib.suppress(queue.Empty):
            while True:
                self._waiting.get_nowait()
        for _ in range(len(self._seats) + 1):
            self._waiting.put(None)

    def _take_last(self, done: list[Done]) -> bool:
        self._keep([item.finished for item in done if item.finished is not None])
        return bool(done)
