// A page with nothing but time travel, for its tests. Its data come from the routes of the viewer.
import { render } from "preact";
import { useCallback, useState } from "preact/hooks";
import type { MomentEvent, MomentState, RecordData } from "../src/moment/data";
import { Moment } from "../src/moment/Moment";

async function fetchData<T>(address: string, signal?: AbortSignal): Promise<T> {
  const answer = await fetch(address, signal === undefined ? {} : { signal });
  const data = await answer.json();
  if (!answer.ok) throw new Error(data.error.message);
  return data as T;
}

function Page({ state, events }: { state: string; events: MomentEvent[] }) {
  const [seq, setSeq] = useState(0);
  const loadState = useCallback(
    (to: number, signal: AbortSignal) => fetchData<MomentState>(`${state}&seq=${to}`, signal),
    [state],
  );
  const loadRecord = useCallback(
    (to: number, sandbox: string, key: string) =>
      fetchData<RecordData>(`${state}&seq=${to}&sandbox=${sandbox}&key=${encodeURIComponent(key)}`),
    [state],
  );
  return <Moment loadState={loadState} loadRecord={loadRecord} events={events} seq={seq} onSeq={setSeq} />;
}

const given = JSON.parse(document.getElementById("given")?.textContent ?? "{}");
const root = document.getElementById("root");
if (root !== null) render(<Page state={given.state} events={given.events} />, root);
