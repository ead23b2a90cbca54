// What was said, by whom, with a thin line for what was done in between.

const MOST_NOTES = 6;
const MOST_SAID = 100;
const BROKE = "person.broke_contract";
const MADE_UP = "person.made_up_facts";

function isMessage(event) {
  return /\.message\.(sent|arrived)$/.test(event.kind) && "turn" in event.payload;
}

// Channel and address of the person to whom a message was sent, or from whom it came; null on a chat.
function reached(event) {
  const header = event.payload.header;
  if (!header) return null;
  const addresses = event.kind.endsWith(".sent") ? [...header.to, ...header.cc, ...header.bcc] : [header.sender];
  return { channel: header.channel, addresses, subject: header.subject };
}

function conversationSection(trial) {
  const messages = trial.log.filter(isMessage);
  if (!messages.length) return null;
  const chat = el("div", { class: "chat" });
  const view = { trial, chat, several: new Set(messages.map((event) => event.source)).size > 1 };
  const more = el("button", { type: "button", class: "more", click: say });
  let said = 0;
  let next = trial.log.indexOf(messages[0]);
  function say() {
    const until = Math.min(said + MOST_SAID, messages.length);
    const end = until === messages.length ? trial.log.length : trial.log.indexOf(messages[until - 1]) + 1;
    chat.append(...told(view, trial.log.slice(next, end)));
    [said, next] = [until, end];
    more.hidden = said === messages.length;
    more.textContent = `Show more of ${plural(messages.length - said, "message")}`;
  }
  say();
  return el("section", {}, el("h3", {}, "Conversation"), chat, more);
}

function told(view, events) {
  const rows = [];
  let between = [];
  for (const event of events) {
    if (isMessage(event)) {
      rows.push(...notes(between, view.trial), bubble(event, view));
      between = [];
    } else if (event.kind === "sandbox.answered") {
      continue; // a look that changed nothing, such as one for new messages
    } else if (event.actor === "agent" || event.actor === "scenario" || event.payload.detail || [BROKE, MADE_UP].includes(event.kind)) between.push(event);
  }
  return [...rows, ...notes(between, view.trial)];
}

// The name of the person who talks in a sandbox, or from an address.
function speaker(trial, source, from) {
  const session = trial.log.find((event) => event.source === source && event.payload.person && (from
    ? event.kind.endsWith(".conversation.started") && event.payload.channel === from.channel && sameAddress(event.payload.address, from.addresses[0])
    : event.kind.endsWith(".session.started")));
  if (from && !session) return from.addresses[0];
  const people = trial.body.brief ? trial.body.brief.people : [];
  return session ? session.payload.person : people.length === 1 ? people[0].name : "the person";
}

function sameAddress(one, other) {
  return one.toLowerCase() === other.toLowerCase();
}

// A text too long for the log is stored outside it, and may not be in this page.
function wording(event) {
  const kept = (event.blobs || {}).text;
  if (typeof event.payload.text === "string" && (event.payload.text || !event.payload.custom)) return coded(event.payload.text);
  if (kept === undefined && event.payload.custom) return null;
  return el("i", {}, kept ? `${plural(kept.size, "byte")} of text, stored outside the log` : "(no text)");
}

function bubble(event, { trial, several }) {
  const place = reached(event);
  const agent = event.actor === "agent" || (place && event.kind.endsWith(".sent"));
  const who = event.actor === "agent" ? "Agent" : event.actor === "person" ? speaker(trial, event.source, place) : event.actor;
  const buttons = (event.payload.buttons || []).map((button) => el("span", { class: "choice" }, coded(oneLine(button.title || button, 60))));
  return el("div", { class: `said ${agent ? "by-agent" : "by-person"}` },
    el("p", { class: "who" }, el("b", {}, who), ` turn ${event.payload.turn}`, several ? ` on ${event.source}` : "",
      place ? ` · ${place.channel} ${agent ? "to" : "from"} ${place.addresses.join(", ")}` : "",
      place && place.subject ? ` · ${place.subject}` : "",
      " · ", timeElement(trial, event.at), " · ", eventLink(trial, event.seq)),
    el("div", { class: "bubble" }, wording(event), buttons.length ? el("div", { class: "choices" }, buttons) : null,
      event.payload.custom ? el("code", { class: "custom" }, oneLine(JSON.stringify(event.payload.custom), 300)) : null),
    citedBy(trial, event.seq));
}

function notes(events, trial) {
  const shown = events.length > MOST_NOTES ? events.slice(0, MOST_NOTES - 1) : events;
  const lines = shown.map((event) => el("p", { class: `note ${trouble(event) ? "trouble" : ""}` },
    trouble(event) ? icon(trouble(event).icon) : null,
    el("b", {}, event.source), ` ${event.kind} `, event.line ? `${event.line} ` : summary(event.payload),
    event.payload.value === null ? [el("span", { class: "field" }, "value "), "null  "] : null, eventLink(trial, event.seq)));
  const rest = events.length - shown.length;
  if (rest) lines.push(el("p", { class: "note" }, `and ${plural(rest, "more event")} to `, eventLink(trial, events.at(-1).seq)));
  return lines;
}
