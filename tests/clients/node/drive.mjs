// fhir-kit-client drives a record: node drive.mjs FOLDER_OF_NODE_MODULES URL TOKEN. Prints what it was answered, as JSON.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

const [folder, baseUrl, bearerToken] = process.argv.slice(2);
const kit = join(folder, 'node_modules', 'fhir-kit-client');
const { main } = JSON.parse(readFileSync(join(kit, 'package.json'), 'utf8'));
const { Client } = await import(pathToFileURL(join(kit, main)));
const client = new Client({ baseUrl, bearerToken });
const told = {};

async function failing(work) {
  try {
    await work();
    return { status: 0 };
  } catch (error) {
    const status = error.response?.status ?? error.status;
    return { status, outcome: error.response?.data?.resourceType ?? error.data?.resourceType, message: String(error) };
  }
}

told.software = (await client.capabilityStatement()).fhirVersion;
told.read = await client.read({ resourceType: 'Patient', id: 'p1' });

const created = await client.create({
  resourceType: 'Patient',
  body: { resourceType: 'Patient', name: [{ family: 'Hébert' }], birthDate: '1971-05-02' },
});
told.created = created;
told.search = await client.search({ resourceType: 'Patient', searchParams: { family: 'Hébert' } });
told.posted = await client.search({
  resourceType: 'Observation',
  searchParams: { date: ['ge2026-02-03', 'lt2026-02-06'] },
  options: { postSearch: true },
});
told.twice = await client.search({ resourceType: 'Observation', searchParams: { date: ['ge2026-02-03', 'lt2026-02-06'] } });

let page = await client.search({ resourceType: 'Observation', searchParams: { code: '2823-3', _count: 10 } });
told.pages = [];
while (page) {
  told.pages.push(page.entry.map((entry) => entry.resource.id));
  page = await client.nextPage({ bundle: page });
}

told.patched = await client.patch({
  resourceType: 'Patient',
  id: created.id,
  jsonPatch: [{ op: 'add', path: '/active', value: true }],
});
const ifMatch = (version) => ({ headers: { 'If-Match': `W/"${version}"` } });
told.stale = await failing(() =>
  client.update({ resourceType: 'Patient', id: created.id, body: { ...told.patched, gender: 'female' }, options: ifMatch('1') })
);
told.updated = await client.update({
  resourceType: 'Patient',
  id: created.id,
  body: { ...told.patched, gender: 'female' },
  options: ifMatch(told.patched.meta.versionId),
});
told.versions = (await client.history({ resourceType: 'Patient', id: created.id })).entry.length;
told.vread = await client.vread({ resourceType: 'Patient', id: created.id, version: '1' });

told.transaction = await client.transaction({
  body: {
    resourceType: 'Bundle',
    type: 'transaction',
    entry: [
      {
        fullUrl: 'urn:uuid:61ebe359-bfdc-4613-8bf2-c5e300945f0a',
        resource: { resourceType: 'Patient', name: [{ family: 'Together' }] },
        request: { method: 'POST', url: 'Patient' },
      },
      {
        resource: {
          resourceType: 'Observation',
          status: 'final',
          code: { text: 'weight' },
          subject: { reference: 'urn:uuid:61ebe359-bfdc-4613-8bf2-c5e300945f0a' },
        },
        request: { method: 'POST', url: 'Observation' },
      },
    ],
  },
});
told.batch = await client.batch({
  body: {
    resourceType: 'Bundle',
    type: 'batch',
    entry: [{ request: { method: 'GET', url: 'Patient/p1' } }, { request: { method: 'GET', url: 'Patient/nobody' } }],
  },
});
told.everything = await client.operation({ name: '$everything', resourceType: 'Patient', id: 'p1', method: 'GET' });
told.compartment = await client.compartmentSearch({
  resourceType: 'Observation',
  compartment: { resourceType: 'Patient', id: 'p1' },
});

await client.delete({ resourceType: 'Patient', id: created.id });
told.gone = await failing(() => client.read({ resourceType: 'Patient', id: created.id }));
told.missing = await failing(() => client.read({ resourceType: 'Patient', id: 'nobody' }));
told.wrong = await failing(() =>
  client.create({ resourceType: 'Patient', body: { resourceType: 'Patient', birthDate: '1970-02-30' } })
);
client.bearerToken = 'wrong';
told.stranger = await failing(() => client.read({ resourceType: 'Patient', id: 'p1' }));
console.log(JSON.stringify(told));
