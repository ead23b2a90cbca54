// @medplum/hl7 listens: node mllp_listen.mjs FOLDER_OF_NODE_MODULES PORT MODE COUNT. Prints `ready`, then what it heard, as JSON.
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

const [folder, port, mode, count] = process.argv.slice(2);
const path = join(folder, 'node_modules', '@medplum', 'hl7', 'dist', 'esm', 'index.mjs');
const { Hl7Server } = await import(pathToFileURL(path));
const heard = [];
const server = new Hl7Server((connection) => {
  connection.addEventListener('message', ({ message }) => {
    heard.push(message.toString());
    connection.send(message.buildAck()); // in enhanced mode, after the commit that the server has sent itself
    if (heard.length === Number(count)) {
      connection.addEventListener('close', () => {
        console.log(JSON.stringify(heard));
        process.exit(0);
      });
    }
  });
});
server.start(Number(port), undefined, mode === 'enhanced');
server.server.on('listening', () => console.log('ready'));
