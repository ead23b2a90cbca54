// promptfoo: tests answered by a provider in JavaScript, results kept in its database, cache off.
import fs from "node:fs";
import path from "node:path";
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";

const [shape, count, folder] = process.argv.slice(2);
const cases = Number(count);
// Resolved from the working folder, where it is installed: this file lies elsewhere.
const inside = createRequire(path.join(process.cwd(), "package.json"));
const entry = path.join(path.dirname(inside.resolve("promptfoo")), "index.js");
const { default: promptfoo } = await import(pathToFileURL(entry).href);

const PERSON = ["Hello, can you help me?", "My parcel is late.", "It is 4711."];
const AGENT = ["Gladly, how?", "What is its number?", "It comes tomorrow."];
const WANTED = ["late", "number", "tomorrow"];

const inOrder = (text) => {
  let at = 0;
  return WANTED.every((word) => (at = text.indexOf(word, at) + 1) > 0);
};

const answer = async (prompt) => {
  const said = PERSON.indexOf(prompt.split("\n").at(-1));
  return { output: said < 0 ? String(Number(prompt) * 2) : AGENT[said] };
};

// A conversation is as many tests as it has turns; promptfoo hands each the earlier ones by their conversationId.
const talk = (n) =>
  PERSON.map((line, turn) => ({
    vars: { line },
    metadata: { conversationId: `conversation ${n}` },
    assert:
      turn < 2 ? [] : [{ type: "javascript", value: (output, context) => inOrder(`${context.prompt}\n${output}`) }],
  }));

const HISTORY = "{% for turn in _conversation %}{{ turn.input }}\n{{ turn.output }}\n{% endfor %}{{ line }}";

const suite = (size) => {
  const every = Array.from({ length: size }, (_, n) => n);
  if (shape === "conversation") return { prompts: [HISTORY], tests: every.flatMap(talk) };
  const test = (n) => ({ vars: { n }, assert: [{ type: "equals", value: String(n * 2) }] });
  return { prompts: ["{{n}}"], tests: every.map(test) };
};

const bytes = () =>
  fs.readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((file) => file.isFile() && file.name.startsWith("promptfoo.db"))
    .reduce((sum, file) => sum + fs.statSync(path.join(file.parentPath, file.name)).size, 0);

const run = async (size) => {
  const work = { ...suite(size), providers: [answer], writeLatestResults: true };
  const cpu = process.cpuUsage();
  const began = process.hrtime.bigint();
  const result = await promptfoo.evaluate(work, { cache: false, showProgressBar: false, maxConcurrency: 4 });
  const seconds = Number(process.hrtime.bigint() - began) / 1e9;
  const used = process.cpuUsage(cpu);
  const { stats } = await result.toEvaluateSummary();
  if (stats.failures || stats.errors || stats.successes !== work.tests.length) throw new Error(JSON.stringify(stats));
  return { seconds, cpu: (used.user + used.system) / 1e6 };
};

await run(10);
const before = bytes();
const taken = await run(cases);
console.log(JSON.stringify({ ...taken, cases, persisted: bytes() > before }));
process.exit(0);
