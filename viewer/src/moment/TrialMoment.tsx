// Time travel over the selected trial. To rebuild its sandboxes takes the program a while, so this begins folded.
import { useCallback, useEffect, useMemo, useState } from "preact/hooks";
import { moment as momentWords } from "../parts/times";
import { getJson, ServerSource } from "../server";
import { gistText } from "../trial/Gist";
import type { MomentProps } from "../slots";
import type { LoadRecord, LoadState, MomentState, RecordData } from "./data";
import { Moment } from "./Moment";

export function TrialMoment({ source, trial, seq, moved }: MomentProps) {
  const server = source as ServerSource;
  const [isOpen, setOpen] = useState(false);
  const events = useMemo(
    () => [...trial.log].sort((a, b) => a.seq - b.seq).map((event) => ({ seq: event.seq, at: event.at, source: event.source, kind: event.kind, line: gistText(event) })),
    [trial.log],
  );
  const [moment, setMoment] = useState(seq ?? events.at(-1)!.seq);
  // An event that is selected in the lanes or in the timeline is the moment.
  useEffect(() => {
    if (seq !== null) setMoment(seq);
  }, [seq]);
  useEffect(() => moved(isOpen ? moment : null), [isOpen, moment]);
  const loadState = useCallback<LoadState>((at, signal) => getJson<MomentState>(server.addressOf("state", trial, { seq: at }), signal), [server, trial]);
  const loadRecord = useCallback<LoadRecord>((at, sandbox, key) => getJson<RecordData>(server.addressOf("state", trial, { seq: at, sandbox, key })), [server, trial]);
  const format = useCallback((at: string) => momentWords(trial.body.zone, at), [trial]);
  return (
    <section>
      <details class="moment-fold" open={isOpen} onToggle={(event) => setOpen(event.currentTarget.open)}>
        <summary>Time travel: the sandboxes at any moment</summary>
        {isOpen && <Moment loadState={loadState} loadRecord={loadRecord} events={events} seq={moment} onSeq={setMoment} formatTime={format} />}
      </details>
    </section>
  );
}
