// node-x12 parses interchanges strictly: node x12_parse.mjs FOLDER_OF_NODE_MODULES < texts, one JSON array. Prints a JSON
// array: for each text its errors, and the segments that it read, each a list of elements.
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';

const { X12Parser, X12Interchange } = createRequire(join(process.argv[2], 'package.json'))('node-x12');
const elements = (segment) => [segment.tag, ...segment.elements.map((element) => element.value)];

const parse = (text) => {
  try {
    const parsed = new X12Parser(true).parse(text);
    const interchanges = parsed instanceof X12Interchange ? [parsed] : [...parsed.interchanges];
    const segments = [];
    for (const interchange of interchanges) {
      segments.push(elements(interchange.header));
      for (const group of interchange.functionalGroups) {
        segments.push(elements(group.header));
        for (const set of group.transactions) {
          segments.push(...[set.header, ...set.segments, set.trailer].map(elements));
        }
        segments.push(elements(group.trailer));
      }
      segments.push(elements(interchange.trailer));
    }
    return { errors: [], segments };
  } catch (problem) {
    return { errors: [`${problem.name}: ${problem.message}`], segments: [] };
  }
};
console.log(JSON.stringify(JSON.parse(readFileSync(0, 'utf8')).map(parse)));
