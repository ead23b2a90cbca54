// The page of all runs.
import { useCallback, useEffect, useState } from "preact/hooks";
import { Command } from "../parts/Command";
import { quoteShell } from "../parts/shell";
import { DeleteDialog } from "./DeleteDialog";
import { Filters } from "./Filters";
import { LabelDialog } from "./LabelDialog";
import { RunTable } from "./RunTable";
import { type Figures, type RunList, type RunRow, prefix, readFigures, readRuns } from "./data";

const POLL_MS = 2000;
const FIGURES_AT_ONCE = 10;

interface Opened {
  kind: "label" | "delete";
  run: RunRow;
}

export function RunsPage({ initial }: { initial: RunList }) {
  const [query, setQuery] = useState(() => new URLSearchParams(location.search));
  const [list, setList] = useState(initial);
  const [chosen, setChosen] = useState<string[]>([]);
  const [opened, setOpened] = useState<Opened | null>(null);
  const [problem, setProblem] = useState("");
  const figures = useFigures(list.runs);

  const load = useCallback((next: URLSearchParams) => {
    readRuns(next).then(
      (found) => {
        setList(found);
        setProblem("");
      },
      (error: Error) => setProblem(error.message),
    );
  }, []);
  const go = (next: URLSearchParams) => {
    history.pushState(null, "", `${prefix}/${next.size ? `?${next}` : ""}`);
    setQuery(next);
    load(next);
  };
  useEffect(() => {
    const back = () => {
      const next = new URLSearchParams(location.search);
      setQuery(next);
      load(next);
    };
    addEventListener("popstate", back);
    return () => removeEventListener("popstate", back);
  }, []);
  usePolling(list.runs, (rows) => setList((now) => ({ ...now, runs: merge(now.runs, rows) })));

  const filter = (name: string, value: string) => {
    const next = new URLSearchParams(query);
    if (value) next.set(name, value);
    else next.delete(name);
    go(next);
  };
  const sort = query.get("sort") ?? "";
  const sortBy = (name: string) => filter("sort", sort === `-${name}` ? name : sort === name ? "" : `-${name}`);
  const choose = (id: string) =>
    setChosen((now) => (now.includes(id) ? now.filter((each) => each !== id) : [...now.slice(-1), id]));
  const more = () => {
    const next = new URLSearchParams(query);
    next.set("after", list.next ?? "0");
    readRuns(next).then(
      (found) => setList({ ...found, runs: [...list.runs, ...found.runs] }),
      (error: Error) => setProblem(error.message),
    );
  };
  const commandLine = (...words: string[]) => list.program && `${[list.program, ...words.map(quoteShell)].join(" ")}${list.store_option}`;
  const done = (after: RunRow[]) => {
    setOpened(null);
    setList({ ...list, runs: after });
  };

  return (
    <>
      <Filters query={query} choices={list.choices} onChoose={filter} onClear={() => go(new URLSearchParams())} />
      <Actions runs={list.runs} chosen={chosen} words={countWords(list)} />
      {[...list.damaged, ...(problem ? [problem] : [])].map((sentence) => (
        <p class="problem" role="alert" key={sentence}>
          {sentence}
        </p>
      ))}
      {list.runs.length > 0 ? (
        <RunTable
          runs={list.runs}
          figures={figures}
          chosen={chosen}
          sort={sort}
          canChange={list.can_change}
          onChoose={choose}
          onSort={sortBy}
          onFilter={filter}
          onLabel={(run) => setOpened({ kind: "label", run })}
          onDelete={(run) => setOpened({ kind: "delete", run })}
        />
      ) : (
        <p>{list.all ? "No run is like that." : "No run is stored yet: clerkship run makes one."}</p>
      )}
      {list.next && (
        <button type="button" class="more" onClick={more}>
          Show more runs
        </button>
      )}
      {list.command && (
        <p class="command">
          The same on the command line: <Command line={list.command} />
        </p>
      )}
      {opened?.kind === "label" && (
        <LabelDialog
          run={opened.run}
          command={(label) => commandLine("label", opened.run.id, label)}
          onClose={() => setOpened(null)}
          onSaved={(label) => done(list.runs.map((run) => (run.id === opened.run.id ? { ...run, label } : run)))}
        />
      )}
      {opened?.kind === "delete" && (
        <DeleteDialog
          run={opened.run}
          command={commandLine("delete", opened.run.id, "--yes")}
          onClose={() => setOpened(null)}
          onDeleted={() => {
            setChosen((now) => now.filter((id) => id !== opened.run.id));
            setOpened(null);
            load(query);
          }}
        />
      )}
    </>
  );
}

function countWords(list: RunList): string {
  const plural = list.all === 1 ? "run" : "runs";
  return list.total === list.all ? `${list.all.toLocaleString("en")} ${plural}` : `${list.total.toLocaleString("en")} of ${list.all.toLocaleString("en")} ${plural}`;
}

function Actions({ runs, chosen, words }: { runs: RunRow[]; chosen: string[]; words: string }) {
  const both = runs.filter((run) => chosen.includes(run.id)).sort((one, other) => one.started.localeCompare(other.started));
  const [before, after] = both;
  return (
    <div class="actions">
      {before && after ? (
        <a class="main-button" href={`${prefix}/compare?${new URLSearchParams({ before: before.id, after: after.id })}`}>
          Compare the two
        </a>
      ) : (
        <span class="muted">{before ? "Choose one more run to compare." : "Choose two runs to compare."}</span>
      )}
      <span class="push" role="status">
        {words}
      </span>
    </div>
  );
}

function merge(runs: RunRow[], rows: RunRow[]): RunRow[] {
  const found = new Map(rows.map((row) => [row.id, row]));
  return runs.map((run) => found.get(run.id) ?? run);
}

/** Reads axes and costs of the runs that are shown, a few at a time, so that the list itself is there first. */
function useFigures(runs: RunRow[]): Record<string, Figures> {
  const [known, setKnown] = useState<Record<string, Figures & { done: number }>>({});
  const missing = runs.filter((run) => known[run.id]?.done !== run.done).slice(0, FIGURES_AT_ONCE);
  const key = missing.map((run) => `${run.id} ${run.done}`).join(",");
  useEffect(() => {
    if (!key) return;
    const keep = (found: Record<string, Figures>) => {
      const rows = missing.map(({ id, done }) => [id, { axes: {}, cost: null, ...found[id], done }]);
      setKnown((now) => ({ ...now, ...Object.fromEntries(rows) }));
    };
    readFigures(missing.map((run) => run.id)).then(keep, () => keep({})); // such as a run that was deleted meanwhile
  }, [key]);
  return known;
}

/** Reads the runs that are at work again, until they have ended. */
function usePolling(runs: RunRow[], update: (rows: RunRow[]) => void): void {
  const key = runs
    .filter((run) => run.status === "running")
    .slice(0, 100)
    .map((run) => run.id)
    .join(" ");
  useEffect(() => {
    if (!key) return;
    const timer = setInterval(() => {
      if (document.visibilityState === "visible") {
        const query = new URLSearchParams(key.split(" ").map((id) => ["run", id]));
        readRuns(query).then((found) => update(found.runs), () => undefined);
      }
    }, POLL_MS);
    return () => clearInterval(timer);
  }, [key]);
}
