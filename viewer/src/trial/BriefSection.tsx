// What the agent was told, who else took part, and where it worked.
import type { Brief } from "../data";
import { Coded } from "../parts/Coded";
import { plainValue, pretty } from "../parts/values";
import type { OpenTrial } from "../trial";

function describePerson({ name, sandbox, reached, variant, context }: Brief["people"][number]): string {
  return [name, sandbox ? ` on ${sandbox}` : "", reached ? `, ${reached}` : "", variant ? ` (${variant})` : "", context ? `: ${context}` : ""].join("");
}

function listEntries(brief: Brief): [string, string][] {
  const { instruction: _, ...rest } = brief.task_item;
  const sandboxes = Object.entries(brief.sandboxes).map(([name, kind]) => (name === kind ? name : `${name} (${kind})`));
  const slots = Object.entries(brief.slots).map(([name, value]) => `${name} = ${plainValue(value)}`);
  const entries: [string, string][] = [
    ...Object.entries(rest).map(([name, value]): [string, string] => [name.replaceAll("_", " "), Array.isArray(value) ? value.map(plainValue).join(", ") : plainValue(value)]),
    ...brief.people.map((person): [string, string] => ["Person", describePerson(person)]),
    ["Slots before", slots.join(", ")],
    ["Assertions", brief.compat ? `read as ${brief.compat} reads them` : ""],
    ["Where", brief.environment + (brief.description ? `: ${brief.description}` : "")],
    ["File", brief.file],
    ["Sandboxes", sandboxes.join(", ")],
  ];
  const always = Object.keys(rest).length + brief.people.length; // also if what they say is empty
  return entries.filter(([, words], place) => words || place < always);
}

export function BriefSection({ trial }: { trial: OpenTrial }) {
  const { brief } = trial.body;
  if (!brief) return null;
  const { instruction, ...rest } = brief.task_item;
  const told = typeof instruction === "string" ? instruction : instruction === undefined ? "" : pretty(instruction);
  return (
    <section class="brief">
      <h3>{told || Object.keys(rest).length || !brief.people.length ? "What the agent was told" : "How it began"}</h3>
      {told && (
        <blockquote>
          <Coded text={told.trim()} />
        </blockquote>
      )}
      {brief.opening && !told && (
        <blockquote>
          <Coded text={`“${brief.opening}”`} />
        </blockquote>
      )}
      <dl>
        {listEntries(brief).map(([name, value]) => (
          <div>
            <dt>{name}</dt>
            <dd>
              <Coded text={value} />
            </dd>
          </div>
        ))}
      </dl>
    </section>
  );
}
