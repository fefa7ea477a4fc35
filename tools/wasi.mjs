// Runs a WebAssembly program of build/wasm in Node, with this machine's files and environment:
//
//     node tools/wasi.mjs build/wasm/rlx.wasm devices
//
// --no-incremental-marking is for Node 20, whose collector fails at times when a module's memory grows while it marks;
// the program starts itself again with it. What needs a browser (module "webgpu") is not there. A module with threads
// gets RLX_WASM_WORKERS workers (8) beside the program's own thread, which run web/rlx/thread.js.
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { WASI } from 'node:wasi';
import { Worker } from 'node:worker_threads';

const FLAGS = ['--no-warnings', '--no-incremental-marking'];
const [program, ...args] = process.argv.slice(2);
if (!program) {
  console.error('usage: node tools/wasi.mjs PROGRAM.wasm [ARGS]');
  process.exit(2);
}
if (!FLAGS.every((flag) => process.execArgv.includes(flag))) {
  const done = spawnSync(process.execPath, [...FLAGS, fileURLToPath(import.meta.url), program, ...args],
    { stdio: 'inherit' });
  process.exit(done.status ?? 1);
}
const bytes = readFileSync(program);
if (!WebAssembly.validate(bytes)) {
  console.error(`${program}: this Node (${process.version}) does not know its instructions`);
  process.exit(77);
}
const module = new WebAssembly.Module(bytes);
const isThreaded = WebAssembly.Module.imports(module).some(({ kind }) => kind === 'memory');
const wasi = new WASI({
  version: 'preview1',
  args: [program, ...args],
  env: process.env,
  preopens: { '/': '/' },
  returnOnExit: !isThreaded,
});
const imports = wasi.getImportObject();
const memory = isThreaded ? new WebAssembly.Memory({ initial: 256, maximum: 65536, shared: true }) : null;
for (const { module: from, name, kind } of WebAssembly.Module.imports(module)) {
  imports[from] ??= {};
  imports[from][name] ??= kind === 'memory' ? memory : () => 0; // webgpu: no instance, so no device
}
const instance = new WebAssembly.Instance(module, imports);

async function startWorker(index) {
  const stack = instance.exports.rlx_os_worker_memory();
  const worker = new Worker(new URL('../web/rlx/thread.js', import.meta.url));
  await new Promise((resolve, reject) => {
    worker.once('message', ({ error }) => (error ? reject(new Error(error)) : resolve()));
    worker.once('error', reject);
    worker.postMessage({ module, memory, index, stack });
  });
  instance.exports.rlx_os_worker_add(index);
}

if (isThreaded) {
  // With the exports of workers in it, a module's constructors are called from here; proc_exit ends the process.
  wasi.start({ exports: { memory, _start: () => instance.exports.__wasm_call_ctors() } });
  for (let i = 0; i < Number(process.env.RLX_WASM_WORKERS ?? 8); i++) await startWorker(i);
  instance.exports._start();
  process.exit(0);
}
process.exitCode = wasi.start(instance);
