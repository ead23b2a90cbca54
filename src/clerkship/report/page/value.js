// Values as people read them: matchers in words, text as text, anything else as JSON.

const MATCHERS = {
  equals: "is",
  matches: "matches",
  contains: "contains",
  in: "one of",
  gt: "more than",
  gte: "at least",
  lt: "less than",
  lte: "at most",
  not: "not",
  exists: "exists:",
  approx: "about",
  within: "within",
};

function isMap(value) {
  return value !== null && typeof value === "object" && !Array.isArray(value);
}

function isMatcher(value) {
  const keys = isMap(value) ? Object.keys(value) : [];
  return keys.length > 0 && keys.every((key) => Object.hasOwn(MATCHERS, key));
}

function expectedValue(value) {
  if (!isMatcher(value)) return el("div", { class: "value" }, coded(plainValue(value)));
  const parts = Object.entries(value).map(([name, argument], place) => [
    place ? el("span", { class: "matcher" }, " and ") : null,
    el("span", { class: "matcher" }, `${MATCHERS[name]} `),
    writeArgument(matcherArgument(name, argument)),
  ]);
  return el("div", { class: "value" }, parts);
}

function writeArgument(argument) {
  return typeof argument === "string" ? coded(argument) : argument;
}

function matcherArgument(name, argument) {
  if (name === "not") return isMatcher(argument) ? expectedValue(argument) : plainValue(argument);
  if (name === "approx" && isMap(argument)) return `${argument.value} ± ${argument.tolerance}`;
  if (name === "within" && isMap(argument)) return `${argument.by} of ${argument.of}`;
  if (name === "in" && Array.isArray(argument)) return argument.map(plainValue).join(", ");
  return plainValue(argument);
}

// Quotes only where leaving them out would make a string look like something else.
function plainValue(value) {
  if (typeof value !== "string") return pretty(value);
  const ambiguous = value === "" || value !== value.trim() || /^(-?[\d.]+|true|false|null|[[{"].*)$/s.test(value);
  return ambiguous && value.length < 400 ? JSON.stringify(value) : value;
}

function pretty(value) {
  const line = JSON.stringify(value);
  return line === undefined || line.length <= 60 ? String(line) : JSON.stringify(value, null, 2);
}

function oneLine(value, limit) {
  const text = (typeof value === "string" ? value : JSON.stringify(value)).replace(/\s+/g, " ").trim();
  return text.length > limit ? `${text.slice(0, limit)}…` : text;
}

const TELLING = ["text", "path", "step", "fault", "operation", "status", "code", "reason", "name", "value", "answer", "error", "details"];
const DULL = ["data", "turn", "seed"];
const MOST_FIELDS = 4;

// What an event's payload says, in a line: the telling fields first; empty and nested ones are for who opens it.
function summary(payload) {
  const names = Object.keys(payload).filter((name) => !DULL.includes(name) && isTelling(name, payload[name]));
  return names.sort((a, b) => rank(a) - rank(b)).slice(0, MOST_FIELDS).map((name) => {
    const value = oneLine(payload[name], 160);
    return name === "text" ? coded(`“${value}”  `) : [el("span", { class: "field" }, `${name} `), coded(`${value}  `)];
  });
}

function isTelling(name, value) {
  if (value === null || value === "") return false;
  return typeof value !== "object" || (TELLING.includes(name) && Object.keys(value).length > 0);
}

function rank(name) {
  const place = TELLING.indexOf(name);
  return place < 0 ? TELLING.length : place;
}

// A duration for people, as `describe_duration` of the program writes it: two units at most.
function lasting(seconds, most = 2) {
  if (seconds > 0 && seconds < 0.9995) return `${Math.max(Math.round(seconds * 1000), 1)} ms`;
  if (seconds < 9.95 && Number(seconds.toFixed(1)) % 1) return `${seconds.toFixed(1)} s`;
  const units = [["d", 86400], ["h", 3600], ["min", 60], ["s", 1]];
  for (const [place, [name, size]] of units.slice(0, 3).entries()) {
    const [lesser, step] = units[place + 1];
    const whole = Math.floor(seconds / step + 0.5);
    const [count, rest] = [Math.floor(whole / (size / step)), whole % (size / step)];
    if (count) return `${count.toLocaleString("en")} ${name}${rest && most > 1 ? ` ${rest} ${lesser}` : ""}`;
  }
  return `${Math.floor(seconds + 0.5)} s`;
}

// Times are shown in the zone of the trial's environment, whatever the zone of the browser.
function local(trial, at) {
  return new Date(Date.parse(at) + trial.body.zone.minutes * 60000).toISOString();
}

function clock(trial, at) {
  return local(trial, at).slice(11, 19);
}

function day(trial, at) {
  return local(trial, at).slice(0, 10);
}

function moment(trial, at) {
  return `${day(trial, at)} ${clock(trial, at)} ${trial.body.zone.name}`;
}

function timeElement(trial, at) {
  return el("time", { datetime: at, title: moment(trial, at) }, clock(trial, at));
}
