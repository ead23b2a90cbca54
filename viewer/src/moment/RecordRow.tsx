import { useEffect, useState } from "preact/hooks";
import type { LoadRecord, RecordData, StateRecord } from "./data";
import { DifferenceTable } from "./DifferenceTable";
import { formatTime } from "./time";

interface RecordRowProps {
  sandbox: string;
  record: StateRecord;
  seq: number;
  loadRecord: LoadRecord;
  onSeq: (seq: number) => void;
}

/** One record: what changed in words, and the whole record once it is opened. */
export function RecordRow({ sandbox, record, seq, loadRecord, onSeq }: RecordRowProps) {
  const [isOpen, setOpen] = useState(false);
  const [data, setData] = useState<RecordData | null>(null);
  const [error, setError] = useState("");
  const { key, title, facts, change, cause_seq: cause, differences } = record;

  useEffect(() => {
    if (!isOpen) return undefined;
    let isLast = true;
    loadRecord(seq, sandbox, key).then(
      (loaded) => {
        if (!isLast) return;
        setData(loaded);
        setError("");
      },
      (reason: unknown) => isLast && setError(reason instanceof Error ? reason.message : String(reason)),
    );
    return () => {
      isLast = false;
    };
  }, [isOpen, seq, sandbox, key, loadRecord]);

  return (
    <li class={change === null ? "moment-record" : `moment-record moment-${change}`}>
      <details open={isOpen} onToggle={(toggled) => setOpen(toggled.currentTarget.open)}>
        <summary>
          {change !== null && <span class="moment-change">{change}</span>}
          {cause !== null && cause === seq && change !== null && <span class="moment-just">now</span>}
          <span class="moment-title">{title}</span>
          {Object.keys(facts).length > 0 && (
            <span class="moment-facts">
              {Object.entries(facts).map(([name, value]) => (
                <span key={name}>
                  <span class="muted">{name}:</span> {typeof value === "string" ? formatTime(value) : JSON.stringify(value)}
                </span>
              ))}
            </span>
          )}
        </summary>
        <p class="moment-key">
          <code>{key}</code>
          {change !== null && cause !== null && (
            <button type="button" class="link" onClick={() => onSeq(cause)}>
              by event {cause}
            </button>
          )}
        </p>
        {differences !== undefined && (
          <DifferenceTable differences={differences} leftOut={record.differences_left_out ?? 0} />
        )}
        {error !== "" && (
          <p class="moment-error" role="alert">
            {error}
          </p>
        )}
        {data !== null && (
          <pre tabIndex={0} aria-label={`${title} in full`}>
            {JSON.stringify(data.after ?? data.before, null, 2)}
          </pre>
        )}
      </details>
    </li>
  );
}
