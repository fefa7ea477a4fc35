/* Threads of the CPU: whether this page may have them, the memory that they share, and the workers that are they.
 *
 * C starts a thread while its caller waits, and then no worker can be started; so workers are started beforehand, and
 * wait in C for a function to run (src/base/os_wasm.c). A model's pool keeps its workers until the model is closed. */
import { isNode } from "./files.js";

const PAGES = 256; // the memory's initial size, also in cmake/wasm.cmake
const MAX_PAGES = [65536, 32768, 16384]; // what a device does not reserve it may at a smaller size
const MOST = 64; // workers, also in src/base/os_wasm.c
const DEFAULT_MOST = 8;
const START_MILLISECONDS = 10_000;

/* Why there can be one thread only; null: there can be several. */
export function whyOneThread() {
  if (typeof SharedArrayBuffer !== "function" || !(isNode || globalThis.crossOriginIsolated === true))
    return (
      "the page is not cross-origin isolated (Cross-Origin-Opener-Policy: same-origin, " +
      "Cross-Origin-Embedder-Policy: require-corp)"
    );
  return isNode || typeof Worker === "function" ? null : "workers cannot start workers in this browser";
}

/* Whether a module takes its memory from outside, to share it. */
export const isThreaded = (module) => WebAssembly.Module.imports(module).some((i) => i.kind === "memory");

export function createSharedMemory() {
  for (const maximum of MAX_PAGES) {
    try {
      return new WebAssembly.Memory({ initial: PAGES, maximum, shared: true });
    } catch (error) {
      if (maximum === MAX_PAGES.at(-1)) throw error;
    }
  }
}

/* How many threads a call gets that asks for n; 0: as many as the machine has cores. */
export async function countThreads(n) {
  if (n) return Math.min(n, MOST + 1);
  const cores = isNode ? (await import("node:os")).availableParallelism() : (navigator.hardwareConcurrency ?? 1);
  return Math.min(cores, DEFAULT_MOST);
}

async function startWorker() {
  const url = new URL("./thread.js", import.meta.url);
  if (isNode) {
    const { Worker: Thread } = await import("node:worker_threads");
    const worker = new Thread(url);
    worker.unref(); // it never ends by itself
    const listen = (fn) => {
      worker.once("message", fn);
      worker.once("error", (error) => fn({ error: error.message }));
    };
    return { worker, listen };
  }
  // Written so that bundlers find the worker.
  const worker = new Worker(new URL("./thread.js", import.meta.url), { type: "module", name: "rlx-thread" });
  const listen = (fn) => {
    worker.onmessage = (event) => fn(event.data);
    worker.onerror = (event) => fn({ error: event.message || "a thread's script cannot be loaded" });
  };
  return { worker, listen };
}

/* Starts a worker with this index on an instance's memory; resolves when it waits for work. */
async function addWorker(it, index) {
  const stack = it.now("rlx_os_worker_memory") >>> 0;
  if (!stack) throw new Error("no memory for a thread's stack");
  const { worker, listen } = await startWorker();
  try {
    await new Promise((resolve, reject) => {
      const timer = setTimeout(() => reject(new Error("a thread did not start in time")), START_MILLISECONDS);
      listen(({ error }) => {
        clearTimeout(timer);
        if (error) reject(new Error(error));
        else resolve();
      });
      worker.postMessage({ module: it.module, memory: it.exports.memory, index, stack });
    });
  } catch (error) {
    worker.terminate();
    throw error;
  }
  it.now("rlx_os_worker_add", index);
}

/* The workers of one instance. Where one cannot be started there are fewer threads, and `why` has the reason. */
export class Threads {
  #turn = Promise.resolve();

  constructor(it) {
    this.it = it;
    this.started = 0;
    this.why = isThreaded(it.module) ? null : (whyOneThread() ?? "the module has no threads");
  }

  /* Makes sure that a pool of n threads finds workers that are idle; returns how many threads it can have. */
  ensure(n) {
    const result = this.#turn.then(() => this.#ensure(n));
    this.#turn = result.catch(() => {});
    return result;
  }

  async #ensure(n) {
    if (!isThreaded(this.it.module)) return 1;
    try {
      while (this.it.now("rlx_os_workers_idle") < n - 1 && this.started < MOST) {
        await addWorker(this.it, this.started);
        this.started++;
      }
    } catch (error) {
      this.why = `a thread cannot be started: ${error.message}`;
    }
    return Math.min(n, this.it.now("rlx_os_workers_idle") + 1);
  }

  /* How many threads a model gets unless it asks for a number, how many there are, how many of them belong to models
   * now, and why there are not more. */
  async describe() {
    const idle = this.started ? this.it.now("rlx_os_workers_idle") : 0,
      usual = isThreaded(this.it.module) ? await countThreads(0) : 1;
    return { usual, started: this.started + 1, inUse: this.started - idle + 1, why: this.why };
  }
}
