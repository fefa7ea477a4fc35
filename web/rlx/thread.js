/* A thread of the CPU's pool: an instance of the module on the memory of another worker (threads.js). It runs kernels
 * until it is terminated, and never returns to its event loop. */
import { isNode } from "./files.js";
import { Wasi } from "./wasi.js";

/* Kernels call nothing of the page, and of the system the clock at most. */
function stubs(module) {
  const imports = {};
  for (const { module: from, name, kind } of WebAssembly.Module.imports(module))
    if (kind === "function") (imports[from] ??= {})[name] = () => 0;
  return imports;
}

async function run({ module, memory, index, stack }, post) {
  const wasi = new Wasi();
  wasi.attach(memory);
  const imports = { ...stubs(module), wasi_snapshot_preview1: wasi.imports(), env: { memory } };
  const { exports } = await WebAssembly.instantiate(module, imports);
  exports.__stack_pointer.value = stack;
  exports.__wasm_init_tls(stack);
  post({ ready: true });
  exports.rlx_os_worker(index);
}

const start = (message, post) => run(message, post).catch((error) => post({ error: error.message }));
if (isNode) {
  const { parentPort } = await import("node:worker_threads");
  parentPort.once("message", (message) => start(message, (answer) => parentPort.postMessage(answer)));
} else {
  self.onmessage = (event) => start(event.data, (answer) => self.postMessage(answer));
}
