// @medplum/hl7 sends messages: node mllp_send.mjs FOLDER_OF_NODE_MODULES PORT < messages, one JSON array. Prints the ACKs, as JSON.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

const [folder, port] = process.argv.slice(2);
const load = (name) => import(pathToFileURL(join(folder, 'node_modules', '@medplum', name, 'dist', 'esm', 'index.mjs')));
const [{ Hl7Client }, { Hl7Message }] = await Promise.all([load('hl7'), load('core')]);
const connect = () => new Hl7Client({ host: '127.0.0.1', port: Number(port), keepAlive: true });
const messages = JSON.parse(readFileSync(0, 'utf8')).map((text) => Hl7Message.parse(text));

const client = connect();
const oneByOne = [];
for (const message of messages) {
  oneByOne.push((await client.sendAndWait(message, { timeoutMs: 10_000 })).toString());
}
await client.close();

// Each on a connection of its own: this client takes what it reads at once for one message.
const together = await Promise.all(
  messages.map(async (message) => {
    const own = connect();
    const ack = await own.sendAndWait(message, { timeoutMs: 10_000 });
    await own.close();
    return ack.toString();
  })
);
console.log(JSON.stringify({ oneByOne, together }));
process.exit(0); // its timers go on
