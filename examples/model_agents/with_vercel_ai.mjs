// An agent with the Vercel AI SDK: one tool, at most ten steps.
// clerkship run practice --tag files --agent "command:node with_vercel_ai.mjs"
import { createInterface } from "node:readline";
import { openai } from "@ai-sdk/openai"; // reads the run's variables
import { generateText, stepCountIs, tool } from "ai";
import { z } from "zod";

const { value: line } = await createInterface({ input: process.stdin })[Symbol.asyncIterator]().next();
const message = JSON.parse(line);
const drop = message.sandboxes.drop;

const readFile = tool({
  description: "Read a file.",
  inputSchema: z.object({ path: z.string() }),
  execute: async ({ path }) => {
    const response = await fetch(`${drop.url}/files/${path}`, { headers: { Authorization: `Bearer ${drop.token}` } });
    return response.text();
  },
});

const { text } = await generateText({
  model: openai("gpt-5-mini"),
  instructions: "Answer with the number alone.",
  prompt: message.task_item.instruction,
  tools: { read_file: readFile },
  stopWhen: stepCountIs(10),
});
process.stdout.write(`${JSON.stringify({ answer: Number(text) })}\n`, () => process.exit(0));
