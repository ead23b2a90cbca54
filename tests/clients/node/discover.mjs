// fhir-kit-client discovers a server: node discover.mjs FOLDER_OF_NODE_MODULES URL. Prints the addresses it found, as JSON.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

const [folder, baseUrl] = process.argv.slice(2);
const kit = join(folder, 'node_modules', 'fhir-kit-client');
const { main } = JSON.parse(readFileSync(join(kit, 'package.json'), 'utf8'));
const { Client } = await import(pathToFileURL(join(kit, main)));
console.log(JSON.stringify(await new Client({ baseUrl }).smartAuthMetadata()));
