"""Full-text search over the trials of runs: conversations, evidence, requests and pages, with FTS5 of SQLite.

The index is a temporary file of this process. Each run is indexed in the background when it is first searched.
"""

import re
import sqlite3
import threading
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager
from dataclasses import replace
from html.parser import HTMLParser
from typing import Any, NamedTuple

import orjson

from clerkship.model.errors import ClerkshipError
from clerkship.model.run import TaskRun
from clerkship.report.detail import TaskDetail
from clerkship.report.trial_card import build_body
from clerkship.service.exporting import load_detail
from clerkship.service.log_redaction import LogRedactor
from clerkship.service.reading import RunView
from clerkship.store.contract import Store

OpenStore = Callable[[], AbstractContextManager[Store]]
"""Opens the store for one thread."""
MAX_TERMS = 12
MAX_RUNS = 20
"""Runs in the index; the one that was searched longest ago is removed for another."""
MAX_TRIAL_CHARACTERS = 2_000_000
"""Characters of one trial that are indexed."""
MAX_TRIALS_SHOWN = 500
"""Trials of one answer that have hits; further ones are only named."""
MAX_HITS = 5
"""Hits of each trial."""
SNIPPET_TOKENS = 16
MARK_START, MARK_END = "\x02", "\x03"
"""Around each word of a snippet that was searched for. Texts are indexed without them."""
_MARKS = str.maketrans("", "", MARK_START + MARK_END)
_TERM = re.compile(r'"([^"]+)"|([^\s"]+)')
_SCHEMA = """
CREATE TABLE trials (id INTEGER PRIMARY KEY, run TEXT, task TEXT, trial INTEGER, attempt INTEGER);
CREATE UNIQUE INDEX trials_of_run ON trials (run, task, trial);
CREATE TABLE places (id INTEGER PRIMARY KEY, trial_id INTEGER, label TEXT, address TEXT);
CREATE INDEX places_of_trial ON places (trial_id);
CREATE VIRTUAL TABLE passages USING fts5(text, tokenize="unicode61 remove_diacritics 2");
"""


class TrialPassage(NamedTuple):
    """A text of a trial, and where it is."""

    label: str
    """In words, such as `Criterion`."""
    address: str
    """The part of the page's address: `e12` for an event, `k3` for a criterion, empty for the trial."""
    text: str


class SearchHit(NamedTuple):
    """A passage with words that were searched for."""

    label: str
    address: str
    snippet: str


class FoundTrial(NamedTuple):
    """A trial with all words, and the passages with most of them."""

    task: str
    trial: int
    hits: list[SearchHit]


class SearchAnswer(NamedTuple):
    """The trials that have all words."""

    trials: list[FoundTrial]
    indexed: int
    """Trials that were searched. The others are still being read: ask again."""
    total: int
    problem: str = ""
    """Why the rest cannot be searched."""


def parse_terms(query: str) -> list[str]:
    """Return the words of a query, and its phrases in quotes."""
    return [(found[1] or found[2]).strip() for found in _TERM.finditer(query)][:MAX_TERMS]


def _to_match(term: str) -> str:
    """Return the FTS5 expression for a term: the words in their order, the last of which may go on."""
    return f'"{term.replace(chr(34), " ")}"*'


class RunSearch:
    """The index of the runs of one store. Any thread may use it."""

    def __init__(self, open_store: OpenStore) -> None:
        self._open_store = open_store
        self._lock = threading.Lock()
        self._database = sqlite3.connect("", check_same_thread=False, isolation_level=None)
        self._database.executescript(f"PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF; {_SCHEMA}")
        self._readers: dict[str, threading.Thread] = {}
        """The last reader of each run, the run that was searched last at the end."""
        self._problems: dict[str, str] = {}
        self._is_closed = False

    def search(self, run_id: str, query: str) -> SearchAnswer:
        """Return the trials of a run in which every word of a query occurs, as far as it is indexed."""
        total = self._read_new_trials(run_id)
        terms = [term for term in parse_terms(query) if any(map(str.isalnum, term))]
        with self._lock:
            [(indexed,)] = self._database.execute("SELECT count(*) FROM trials WHERE run = ?", (run_id,))
            found = self._find_trials(run_id, terms) if terms else []
            hits = self._find_hits(run_id, {id for id, _, _ in found[:MAX_TRIALS_SHOWN]}, terms)
            trials = [FoundTrial(task, trial, hits.get(id, [])) for id, task, trial in found]
        return SearchAnswer(trials, indexed, total, self._problems.get(run_id, ""))

    def search_whole(self, run_id: str, query: str) -> SearchAnswer:
        """Read all trials of a run first, and search them."""
        with self._open_store() as store:
            missing = [each[:3] for each in store.outcomes(run_id)]
        self._read(run_id, missing)
        return self.search(run_id, query)

    def close(self) -> None:
        """Stop reading and delete the index."""
        self._is_closed = True
        for reader in list(self._readers.values()):
            reader.join(10)
        with self._lock:
            self._database.close()

    def _find_trials(self, run_id: str, terms: list[str]) -> list[tuple[int, str, int]]:
        having = "SELECT places.trial_id FROM passages JOIN places ON places.id = passages.rowid WHERE passages MATCH ?"
        every = " ".join(f"AND id IN ({having})" for _ in terms)
        query = f"SELECT id, task, trial FROM trials WHERE run = ? {every} ORDER BY task, trial"
        return self._database.execute(query, (run_id, *map(_to_match, terms))).fetchall()

    def _find_hits(self, run_id: str, trials: set[int], terms: list[str]) -> Mapping[int, list[SearchHit]]:
        """Return the passages of trials with any of the words, best first. The passages are searched once for all."""
        best = defaultdict[int, list[int]](list)
        if not trials:
            return {}
        words = " OR ".join(map(_to_match, terms))
        query = (
            "SELECT places.id, places.trial_id FROM passages JOIN places ON places.id = passages.rowid"
            " JOIN trials ON trials.id = places.trial_id WHERE passages MATCH ? AND trials.run = ?"
            " ORDER BY rank, places.id"
        )
        for place, trial in self._database.execute(query, (words, run_id)):
            if trial in trials and len(best[trial]) < MAX_HITS:
                best[trial].append(place)
        # With `+`, the passages with the words are read once; without, they would be for each place.
        cut = (
            "SELECT places.id, label, address,"
            f" snippet(passages, 0, '{MARK_START}', '{MARK_END}', '…', {SNIPPET_TOKENS})"
            " FROM passages JOIN places ON places.id = passages.rowid"
            " WHERE passages MATCH ? AND +passages.rowid IN (SELECT value FROM json_each(?))"
        )
        chosen = orjson.dumps([place for places in best.values() for place in places]).decode()
        shown = {place: SearchHit(*hit) for place, *hit in self._database.execute(cut, (words, chosen))}
        return {trial: [shown[place] for place in places] for trial, places in best.items()}

    def _read_new_trials(self, run_id: str) -> int:
        """Read trials that are not in the index in a thread; return how many the run has."""
        with self._open_store() as store:
            run = store.run(run_id)
            outcomes = store.outcomes(run.id)
        with self._lock:
            rows = self._database.execute("SELECT task, trial, attempt FROM trials WHERE run = ?", (run_id,))
            known = set(rows)
            reader = self._readers.pop(run_id, None)
            missing = [each[:3] for each in outcomes if each[:3] not in known]
            if missing and (reader is None or not reader.is_alive()) and run_id not in self._problems:
                reader = threading.Thread(target=self._read, args=(run_id, missing), name="search", daemon=True)
                reader.start()
            if reader is not None:
                self._readers[run_id] = reader
            self._forget_runs()
        return len(outcomes)

    def _forget_runs(self) -> None:
        """Remove the runs that were searched longest ago."""
        idle = [run for run, reader in self._readers.items() if not reader.is_alive()]
        for run in idle[: max(len(self._readers) - MAX_RUNS, 0)]:
            del self._readers[run]
            self._delete("run = ?", run)

    def _delete(self, where: str, *values: object) -> None:
        for (id,) in self._database.execute(f"SELECT id FROM trials WHERE {where}", values).fetchall():
            places = "SELECT id FROM places WHERE trial_id = ?"
            self._database.execute(f"DELETE FROM passages WHERE rowid IN ({places})", (id,))
            self._database.execute("DELETE FROM places WHERE trial_id = ?", (id,))
            self._database.execute("DELETE FROM trials WHERE id = ?", (id,))

    def _read(self, run_id: str, missing: list[tuple[str, int, int]]) -> None:
        try:
            with self._open_store() as store:
                run = store.run(run_id)
                redactor = LogRedactor(store, run)
                for task, trial, _ in missing:
                    if self._is_closed:
                        return
                    task_run = store.task_run(run_id, task, trial)
                    if task_run is not None:
                        lines = list(map(redactor.line, store.log(task_run)))
                        self._add(task_run, list(list_passages(load_detail(store, task_run, redactor, lines))))
        except ClerkshipError as error:
            self._problems[run_id] = str(error)

    def _add(self, run: TaskRun, passages: list[TrialPassage]) -> None:
        with self._lock:
            if self._is_closed:
                return
            self._database.execute("BEGIN")
            self._delete("run = ? AND task = ? AND trial = ?", run.run, run.task, run.trial)
            values = (run.run, run.task, run.trial, run.attempt)
            insert = "INSERT INTO trials (run, task, trial, attempt) VALUES (?, ?, ?, ?)"
            trial = self._database.execute(insert, values).lastrowid
            room = MAX_TRIAL_CHARACTERS
            for passage in passages:
                text = passage.text[:room].translate(_MARKS)
                room -= len(text)
                row = (trial, passage.label, passage.address)
                place = self._database.execute("INSERT INTO places (trial_id, label, address) VALUES (?, ?, ?)", row)
                self._database.execute("INSERT INTO passages (rowid, text) VALUES (?, ?)", (place.lastrowid, text))
                if room <= 0:
                    break
            self._database.execute("COMMIT")


def select_found(open_store: OpenStore, view: RunView, query: str) -> RunView:
    """Return a view with the trials that have all words. Raise ClerkshipError if one cannot be read."""
    search = RunSearch(open_store)
    answer = search.search_whole(view.run.id, query)
    search.close()
    if answer.problem:
        raise ClerkshipError(answer.problem)
    names = {(found.task, found.trial) for found in answer.trials}
    return replace(view, task_runs=[each for each in view.task_runs if (each.task, each.trial) in names])


def list_passages(detail: TaskDetail) -> Iterator[TrialPassage]:
    """Yield the texts of a trial: its name, verdict, instruction, criteria, events and pages."""
    run, body = detail.task_run, build_body(detail)
    brief = body["brief"] or {}
    yield TrialPassage("Name and tags", "", _join(run.task, run.tags, run.template))
    texts = [
        TrialPassage("Reason", "", _join(body["reason"])),
        TrialPassage("Error", "", _join(body["error"], body["agent_error"])),
        TrialPassage("Answer", "", _join(body["answer"])),
        TrialPassage("Instruction", "", _join(brief.get("task_item"), brief.get("opening"), brief.get("slots"))),
        TrialPassage("Person", "", _join(brief.get("people"))),
        TrialPassage("Environment", "", _join(brief.get("environment"), brief.get("description"), brief.get("file"))),
        *(
            TrialPassage("Criterion", f"k{place}", _join({key: each[key] for key in each if key != "status"}))
            for place, each in enumerate(body["criteria"])
        ),
        TrialPassage("Quality", "", _join(body.get("quality"))),
        *(TrialPassage(each["title"], "", each["text"]) for each in body["attachments"]),
        TrialPassage("Requests not in the log", "", _join(body["unauthenticated"])),
    ]
    yield from (passage for passage in texts if passage.text)
    for event in detail.events:
        yield TrialPassage(_name_event(event), f"e{event['seq']}", _join(*_list_event_texts(event, detail)))


def _name_event(event: Mapping[str, Any]) -> str:
    if "turn" in event["payload"] and "text" in event["payload"]:
        return f"{str(event['actor']).capitalize()}, turn {event['payload']['turn']}"
    return f"Event #{event['seq']}, {event['source']}"


def _list_event_texts(event: Mapping[str, Any], detail: TaskDetail) -> Iterator[Any]:
    yield from (event["kind"], event.get("line"), event["payload"])
    if "request" in event:
        yield {key: event["request"].get(key) for key in ("path", "query", "answer", "body")}
    read = detail.site_pages.get(event.get("page", ""))
    if read is not None:
        yield extract_text(read().decode(errors="replace"))


def _join(*values: Any) -> str:
    return " · ".join(_list_texts(values))


def _list_texts(value: Any) -> Iterator[str]:
    """Yield every name and value in some data."""
    if isinstance(value, Mapping):
        for name, item in value.items():
            if isinstance(item, Mapping | list | tuple):
                yield str(name)
                yield from _list_texts(item)
            elif item is not None and item != "":
                yield f"{name} {item}"
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _list_texts(item)
    elif value is not None and value != "":
        yield str(value)


class _TextExtractor(HTMLParser):
    """Collects the texts of a page, without scripts and styles."""

    def __init__(self) -> None:
        super().__init__()
        self.texts: list[str] = []
        self._hidden = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._hidden += tag in ("script", "style")
        self.texts += [value for name, value in attrs if name in ("value", "placeholder", "alt") and value]

    def handle_endtag(self, tag: str) -> None:
        self._hidden -= tag in ("script", "style") and self._hidden > 0

    def handle_data(self, data: str) -> None:
        if not self._hidden and not data.isspace():
            self.texts.append(data.strip())


def extract_text(html: str) -> str:
    """Return the text of a page as a person sees it, with the values of its fields."""
    extractor = _TextExtractor()
    extractor.feed(html)
    extractor.close()
    return " ".join(extractor.texts)
