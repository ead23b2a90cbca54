// Drives a FHIR server with @medplum/core: medplum_drive.mjs <folder of the package> <url> <token>
import { createRequire } from 'node:module';
import { pathToFileURL } from 'node:url';

const [folder, url, token] = process.argv.slice(2);
const require = createRequire(pathToFileURL(`${folder}/`));
const { MedplumClient } = require('@medplum/core');
const base = new URL(url);
const client = new MedplumClient({
  baseUrl: `${base.origin}/`,
  fhirUrlPath: base.pathname.slice(1),
  fetch: globalThis.fetch,
});
client.setAccessToken(token);
const gender = 'http://hl7.org/fhir/ValueSet/administrative-gender';

async function refused(call) {
  try {
    await call();
    return null;
  } catch (error) {
    return error.outcome?.issue?.[0];
  }
}

const output = {
  expanded: await client.valueSetExpand({ url: gender }),
  filtered: await client.valueSetExpand({ url: 'http://loinc.org/vs', filter: 'potas', count: 5 }),
  unknown: await refused(() => client.valueSetExpand({ url: 'http://example.org/ValueSet/none' })),
  unlisted: await refused(() => client.valueSetExpand({ url: 'http://hl7.org/fhir/ValueSet/condition-code' })),
  validated: await client.get(client.fhirUrl('ValueSet', `$validate-code?url=${gender}&code=femal`)),
  looked_up: await client.post(client.fhirUrl('CodeSystem', '$lookup'), {
    resourceType: 'Parameters',
    parameter: [{ name: 'coding', valueCoding: { system: 'http://hl7.org/fhir/administrative-gender', code: 'other' } }],
  }),
};
console.log(JSON.stringify(output));
