// The number of an event, which is a link if the event is on this page.
import type { Trial } from "../trial";

export function EventLink({ trial, seq, text }: { trial: Trial; seq: number; text?: string }) {
  const words = text ?? `#${seq}`;
  if (!trial.bySeq.has(seq)) return <span class="muted">{words}</span>;
  return (
    <a href={`#t${trial.number}e${seq}`} class="seq">
      {words}
    </a>
  );
}
