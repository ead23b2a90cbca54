// The official clients in Node: a question with a tool and its answer, as a whole and as a stream, over each API.
import Anthropic from "@anthropic-ai/sdk";
import OpenAI from "openai";

const parameters = { type: "object", properties: { path: { type: "string" } } };
const question = [{ role: "user", content: "How many boxes?" }];
const openai = new OpenAI();
const anthropic = new Anthropic();
const model = "gpt-5-mini";

async function chat(stream) {
  const tools = [{ type: "function", function: { name: "read_file", parameters } }];
  const ask = async (messages) => {
    const asked = { model, messages, tools };
    if (!stream) return (await openai.chat.completions.create(asked)).choices[0].message;
    return openai.chat.completions.stream(asked).finalMessage();
  };
  const first = await ask(question);
  const call = first.tool_calls[0];
  const result = { role: "tool", tool_call_id: call.id, content: "12" };
  return [call.function.arguments, (await ask([...question, first, result])).content];
}

async function responses(stream) {
  const tools = [{ type: "function", name: "read_file", parameters, strict: false }];
  const ask = async (input) => {
    const asked = { model, input, tools };
    return stream ? openai.responses.stream(asked).finalResponse() : openai.responses.create(asked);
  };
  const call = (await ask(question)).output[0];
  const result = { type: "function_call_output", call_id: call.call_id, output: "12" };
  return [call.arguments, (await ask([...question, call, result])).output_text];
}

async function messages(stream) {
  const tools = [{ name: "read_file", input_schema: parameters }];
  const ask = async (said) => {
    const asked = { model: "claude-sonnet-5", max_tokens: 100, messages: said, tools };
    return stream ? anthropic.messages.stream(asked).finalMessage() : anthropic.messages.create(asked);
  };
  const first = await ask(question);
  const call = first.content[0];
  const result = { role: "user", content: [{ type: "tool_result", tool_use_id: call.id, content: "12" }] };
  const answer = await ask([...question, { role: "assistant", content: first.content }, result]);
  return [JSON.stringify(call.input), answer.content[0].text];
}

const [, , name, mode] = process.argv;
const answers = await { chat, responses, messages }[name](mode === "stream");
console.log(JSON.stringify([JSON.parse(answers[0]), answers[1]]));
