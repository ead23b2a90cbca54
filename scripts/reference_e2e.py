"""What the reference says of others' files: how E2E test files are read, and what is in a folder of results."""

from clerkship.rasa.results import MAX_EVENTS

E2E = """## How E2E test files are read

Each test case is a task, with the tag `e2e`: its user's lines are said one after another, whatever is answered, and a
silent agent does not end it. All that it checks gates. `clerkship run FILE::NAME` runs one case of a file.

- *A turn* goes from a user step's line up to the next. Turns are counted: equal lines are different turns, where Rasa
  takes the first of them for all.
- *The first step*: its slot, action and bot assertions look at what came before it too; the others do not.
- *Every assertion* is checked, also after one that failed.
- *`assertion_order_enabled`* is one criterion more: what is asserted to have happened did so in this order. Of a list
  of slots the last has its place in it. What must not be, and what a model judges, has none: it is about the whole
  turn.
- *Steps without assertions* are checked on the turn of the user step before them. Where a case has assertions they are
  left out, with a note.
- *Fixtures, metadata and stubs* are those of the `conftest.yml` files from the working folder (or from the folder that
  is run, if that is elsewhere) down to the file's own folder, then those of the file: the last wins. The conftest of
  `eval` is another thing, and passed over.
- *Stubs* reach an agent's `on_start`, as `start.stubs`. An agent without one is refused before anything runs.
- *Refused*, each at its place: `sequencing` and other assertions that are not of that format, `turn`, the slot
  `mocked_datetime` where a case uses it, environment variables in `bot`.
- They take place in a chat alone, whatever environments the folder has.
"""
RESULTS = f"""## Results as Rasa's evaluation writes them

`--results rasa` writes a folder `YYYY-MM-DD_HH-MM-SS` (UTC), a new one each time, into `results` of the `eval` folder
that was run (or whose `scenarios` were), else into `eval/results` of the working folder; `--results rasa:DIR` into DIR.

| file | what is in it |
|---|---|
| `summary.txt`, `summary.json` | each scenario with its runs passed, total and errored, and its wall seconds |
| `<slug>/run_<N>.txt` | trial N in sections: criteria, metrics, assertions, transcript, inspector |
| `<slug>/run_<N>.json` | the same for programs |

Beside the keys of that layout the JSON has `detail` and `rationale`, `scenario_name`, `run`, `status`, `verdict`,
`score`, `ending`, `error`, `transcript`, `events` (at most {MAX_EVENTS:,}) and `events_total`.

The slug is the file's name, with the task's where a file has several. A run is `PASS` if its verdict is pass,
or if it has no criteria at all and nothing broke; else `FAIL`. Counted as errored are errored, cancelled and
inconclusive ones. Criteria that no model judged are left out, and said in `criteria_error`. Metrics are
there where they were asked for, in the JSON with their reasons under `quality`. Latencies per turn are not kept:
`latency` is not there.
"""
