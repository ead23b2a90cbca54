// An agent that is a program: reads a message per line, writes a reply per line. Node's own library is enough.
import { createInterface } from "node:readline";

let day = null;

async function request(place, method, path, body) {
  const reply = await fetch(place.url + path, { method, body, headers: { Authorization: `Bearer ${place.token}` } });
  if (!reply.ok) throw new Error(`${method} ${path}: ${reply.status} ${await reply.text()}`);
  return reply.text();
}

async function onTurn({ text, sandboxes }) {
  const found = text.match(/monday|tuesday|wednesday|thursday|friday/i);
  if (found) {
    day = found[0];
    return `${day} at 10:00 is free. Shall I book it?`;
  }
  if (day && /yes/i.test(text)) {
    await request(sandboxes.drop, "PUT", "/files/bookings.txt", `${day} 10:00`);
    write({ report: { kind: "agent.action.executed", name: "book", arguments: { day } } });
    return `Booked for ${day} at 10:00. See you then!`;
  }
  return "Which day would suit you?";
}

async function onTask({ sandboxes }) {
  const text = await request(sandboxes.drop, "GET", "/files/inbox/orders.csv");
  const boxes = text.trim().split("\n").slice(1).map((line) => Number(line.split(",")[1]));
  return boxes.reduce((sum, count) => sum + count, 0);
}

function write(reply) {
  process.stdout.write(`${JSON.stringify(reply)}\n`);
}

for await (const line of createInterface({ input: process.stdin })) {
  const message = JSON.parse(line);
  console.error(`got a ${message.type}`); // shown by `clerkship show`
  write(message.type === "turn" ? { say: await onTurn(message) } : { answer: await onTask(message) });
}
