// Runs a WebAssembly program of build/wasm in Node, with this machine's files and environment:
//
//     node tools/wasi.mjs build/wasm/rlx.wasm devices
//
// --no-incremental-marking is for Node 20, whose collector fails at times when a module's memory grows while it marks;
// the program starts itself again with it. What needs a browser (module "webgpu") is not there.
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { WASI } from 'node:wasi';

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
const wasi = new WASI({
  version: 'preview1',
  args: [program, ...args],
  env: process.env,
  preopens: { '/': '/' },
  returnOnExit: true,
});
const module = new WebAssembly.Module(bytes);
const imports = wasi.getImportObject();
for (const { module: from, name } of WebAssembly.Module.imports(module)) {
  imports[from] ??= {};
  imports[from][name] ??= () => 0; // webgpu: no instance, so no device
}
process.exitCode = wasi.start(new WebAssembly.Instance(module, imports));
