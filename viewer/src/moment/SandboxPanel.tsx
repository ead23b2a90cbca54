import type { LoadRecord, SandboxState, StateRecord } from "./data";
import { RecordRow } from "./RecordRow";

interface SandboxPanelProps {
  id: string;
  name: string;
  sandbox: SandboxState;
  seq: number;
  isChangedOnly: boolean;
  loadRecord: LoadRecord;
  onSeq: (seq: number) => void;
}

/** The records of one sandbox by group, the groups with changes first. */
export function SandboxPanel({ id, name, sandbox, seq, isChangedOnly, loadRecord, onSeq }: SandboxPanelProps) {
  const records = isChangedOnly ? sandbox.records.filter((record) => record.change !== null) : sandbox.records;
  const groups = new Map<string, StateRecord[]>();
  // What changed comes first, in its own groups and within them.
  const changedFirst = [...records].sort((a, b) => Number(b.change !== null) - Number(a.change !== null));
  for (const record of changedFirst) groups.set(record.group, [...(groups.get(record.group) ?? []), record]);
  const { created, updated, deleted, unchanged } = sandbox.counts;
  return (
    <div class="moment-panel" role="tabpanel" id={`${id}-panel`} aria-labelledby={`${id}-tab-${name}`} tabIndex={0}>
      <p class="moment-counts">
        Since the start: {created} created, {updated} updated, {deleted} deleted; {unchanged} unchanged.
        {sandbox.left_out > 0 && ` ${sandbox.left_out} records are not listed.`}
      </p>
      {records.length === 0 && <p class="muted">{isChangedOnly ? "Nothing has changed." : "Nothing is here yet."}</p>}
      {[...groups].map(([group, members]) => (
        <div key={group} class="moment-group">
          <h4>
            {group} <small>{members.length}</small>
          </h4>
          <ul>
            {members.map((record) => (
              <RecordRow key={record.key} sandbox={name} record={record} seq={seq} loadRecord={loadRecord} onSeq={onSeq} />
            ))}
          </ul>
        </div>
      ))}
    </div>
  );
}
