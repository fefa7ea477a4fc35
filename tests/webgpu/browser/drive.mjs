// Runs a job of worker.js in a headless Chromium with WebGPU on SwiftShader, and prints its result as JSON.
//
//   node drive.mjs JOB.json     {playwright, chromium, files: {"/path": file}, job}
//
// The files are served from this machine; the job goes to the worker as it is.
import fs from 'node:fs';
import http from 'node:http';
import os from 'node:os';
import path from 'node:path';
import {pathToFileURL} from 'node:url';

const {playwright, chromium: program, files, job} = JSON.parse(fs.readFileSync(process.argv[2], 'utf8'));
const {chromium} = (await import(pathToFileURL(path.join(playwright, 'index.mjs')))).default ??
  await import(pathToFileURL(path.join(playwright, 'index.mjs')));

const TYPES = {'.js': 'text/javascript', '.wasm': 'application/wasm'};
const server = http.createServer((request, response) => {
  const file = files[request.url];
  const type = file ? TYPES[path.extname(file)] ?? 'application/octet-stream' : 'text/html';
  response.writeHead(file || request.url === '/' ? 200 : 404, {'content-type': type});
  response.end(file ? fs.readFileSync(file) : '<!doctype html><title>test</title>');
});
await new Promise(resolve => server.listen(0, '127.0.0.1', resolve));

const profile = fs.mkdtempSync(path.join(os.tmpdir(), 'rlx-browser-'));
const browser = await chromium.launchPersistentContext(profile, {executablePath: program, headless: false, args: [
  '--headless=new', '--no-sandbox', '--enable-unsafe-webgpu', '--use-webgpu-adapter=swiftshader',
  '--disable-background-networking', '--disable-component-update', '--disable-sync', '--no-first-run',
  '--disable-quic']});
try {
  const page = await browser.newPage();
  await page.goto(`http://127.0.0.1:${server.address().port}/`);
  const result = await page.evaluate(sent => new Promise((resolve, reject) => {
    const worker = new Worker('/worker.js', {type: 'module'});
    worker.onmessage = event => resolve(event.data);
    worker.onerror = event => reject(new Error(event.message));
    worker.postMessage(sent);
  }), job);
  console.log(JSON.stringify(result));
} finally {
  await browser.close();
  server.close();
  fs.rmSync(profile, {recursive: true, force: true});
}
