// The conversation with a simulated person, and the box to reply.
import { Bubble, ReplyBox } from "./MessagesPanel";
import { Transcript } from "./Transcript";
import { type PlayEvent, type Question, textOf } from "./types";

interface Props {
  question: Question;
  events: PlayEvent[];
  waits: boolean;
  isOver: boolean;
  reply: (text: string | null) => Promise<boolean>;
}

export function Conversation({ question, events, waits, isOver, reply }: Props) {
  const said = events.filter((event) => typeof event.payload["text"] === "string" && event.payload["turn"] !== undefined);
  return (
    <section class="card conversation" aria-label="Conversation">
      <h2>Conversation</h2>
      {question.channel && <p class="muted">{[question.channel, question.address, question.subject].filter(Boolean).join(", ")}</p>}
      <Transcript class="bubbles" label="What was said" count={said.length}>
        {said.map((event) => (
          <Bubble key={event.seq} mine={event.actor === "agent"} who={event.actor} text={textOf(event.payload["text"])} />
        ))}
      </Transcript>
      {!isOver && <ReplyBox send={reply} word="Send" disabled={!waits} />}
      {!isOver && (
        <div class="actions">
          <button type="button" disabled={!waits} onClick={() => reply(null)}>
            Say nothing
          </button>
          {!waits && <span class="muted">The other side is acting.</span>}
        </div>
      )}
    </section>
  );
}
