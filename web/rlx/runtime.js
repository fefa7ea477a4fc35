/* The page's side of a worker (worker.js): messages become promises, and which worker serves which device.
 *
 * A worker is started for the first thing that is loaded for the CPU, and another for the GPU, because only there may a
 * call into the module suspend. One that has stopped is replaced at the next load. Cancels go by message, and where
 * memory can be shared also by a flag that C code sees while it runs. */

import { whyOneThread } from "./threads.js";

export const isNode = typeof process === "object" && !!process.versions?.node && typeof window === "undefined";

export class RlxError extends Error {
  /* status: "invalid", "no memory", "not found", "unsupported", "io", "busy", "cancelled", "device lost" or
   * "over a limit" */
  constructor(status, message) {
    super(message);
    this.name = "RlxError";
    this.status = status;
  }
}

/* ---- Devices ---- */

/* Why WebGPU cannot be used here; null if it can. jspi: whether JavaScript Promise Integration may be used. */
export function whyNoWebGpu({ jspi = true } = {}) {
  if (!globalThis.navigator?.gpu)
    return isNode
      ? "Node has no WebGPU"
      : "this browser has no WebGPU (navigator.gpu), or the page is not served securely";
  if (jspi && typeof WebAssembly.Suspending === "function" && typeof WebAssembly.promising === "function") return null;
  const why = whyOneThread(); // then a worker waits by Atomics
  const without = jspi ? "this browser has no" : "without";
  return why && `${without} JavaScript Promise Integration (WebAssembly.Suspending), a GPU needs shared memory: ${why}`;
}

/* "auto": with a GPU if there is one. The name that the library gets, and whether the worker needs a GPU. */
export function chooseDevice(device = "auto", jspi = true) {
  const why = whyNoWebGpu({ jspi });
  if (device === "auto") return { name: why ? "cpu" : "", gpu: !why };
  const gpu = device.startsWith("webgpu");
  if (gpu && why) throw new RlxError("unsupported", why);
  return { name: device, gpu };
}

/* ---- Addresses ---- */

export const hasScheme = (text) => /^[a-z][a-z0-9+.-]+:/i.test(text);

/* A URL of the page, or in Node of the working folder. */
export function absolute(text) {
  if (hasScheme(String(text))) return String(text);
  const base = isNode ? `file://${encodeURI(process.cwd())}/` : globalThis.location.href;
  return new URL(String(text), base).href;
}

/* ---- Workers ---- */

const CANCEL_SLOTS = 64;

class Runtime {
  #pending = new Map();
  #nextId = 1;

  constructor({ wasmUrl, gpu, jspi }) {
    const shared = typeof SharedArrayBuffer === "function" && (isNode || globalThis.crossOriginIsolated === true);
    this.flags = shared ? new Int32Array(new SharedArrayBuffer(4 * CANCEL_SLOTS)) : null;
    this.isDead = false;
    this.onLog = null;
    this.ready = this.#start(wasmUrl, gpu, jspi);
    this.ready.catch(() => {}); // reported by the first call
  }

  async #start(wasmUrl, gpu, jspi) {
    if (isNode) {
      const { Worker: Thread } = await import("node:worker_threads");
      this.worker = new Thread(new URL("./worker.js", import.meta.url));
      this.worker.on("message", (message) => this.#receive(message));
      this.worker.on("error", (error) => this.#end(error.message));
      this.worker.on("exit", () => this.#end("the worker has ended"));
      this.worker.unref(); // an idle worker does not keep the process
    } else {
      // Written so that bundlers find the worker.
      this.worker = new Worker(new URL("./worker.js", import.meta.url), { type: "module", name: "rlx" });
      this.worker.onmessage = (event) => this.#receive(event.data);
      this.worker.onerror = (event) => this.#end(event.message || "the worker cannot be loaded");
    }
    return new Promise((resolve, reject) => {
      this.started = { resolve, reject };
      this.#keep(1);
      this.worker.postMessage({ type: "start", wasmUrl, gpu, jspi, cancelFlags: this.flags });
    });
  }

  #calls = 0;

  /* Node's process lives on while a call is pending. */
  #keep(change) {
    this.#calls += change;
    if (isNode && this.#calls > 0) this.worker.ref();
    else if (isNode) this.worker.unref();
  }

  /* All calls fail. The worker's memory is given back: the next one may need it. */
  #end(message, status = "device lost") {
    if (this.isDead) return;
    const error = new RlxError(status, message);
    this.isDead = true;
    this.started?.reject(error);
    for (const { reject } of this.#pending.values()) reject(error);
    this.#pending.clear();
    this.worker?.terminate();
  }

  #receive(message) {
    if (message.type === "ready") {
      this.#keep(-1);
      this.started.resolve(message.value);
    } else if (message.type === "failed") {
      this.#keep(-1);
      this.#end(message.error.message, message.error.status);
    } else if (message.type === "event" && message.event === "log") {
      this.onLog?.(message.level, message.text);
    } else {
      this.#settle(message);
    }
  }

  #settle(message) {
    const call = this.#pending.get(message.id);
    if (!call) return; // abandoned
    if (message.type === "event") return call.onEvent?.(message);
    this.#pending.delete(message.id);
    this.#keep(-1);
    if (message.type === "result") call.resolve(message.value);
    else call.reject(new RlxError(message.error.status, message.error.message));
    if (message.isDead) this.#end("the WebAssembly module stopped");
  }

  /* Starts an operation of the worker: { promise, cancel() }. */
  start(op, args, { onEvent, transfer = [] } = {}) {
    const id = this.#nextId++;
    const promise = new Promise((resolve, reject) => this.#pending.set(id, { resolve, reject, onEvent }));
    const send = async () => {
      try {
        await this.ready;
        if (!this.#pending.has(id)) return;
        this.#keep(1);
        this.worker.postMessage({ type: "call", id, op, args }, transfer);
      } catch (error) {
        this.#pending.get(id)?.reject(error);
        this.#pending.delete(id);
      }
    };
    send();
    const cancel = () => {
      if (!this.#pending.has(id)) return;
      if (this.flags) Atomics.store(this.flags, id % CANCEL_SLOTS, id);
      this.worker?.postMessage({ type: "cancel", id });
    };
    return { promise, cancel };
  }

  /* The same with an AbortSignal. `undo` gets the value of a call that was aborted too late. */
  async call(op, args, { signal, undo, ...how } = {}) {
    signal?.throwIfAborted();
    const { promise, cancel } = this.start(op, args, how);
    if (!signal) return promise;
    let onAbort;
    const aborted = new Promise((_, reject) => {
      onAbort = () => {
        cancel();
        reject(signal.reason);
      };
      signal.addEventListener("abort", onAbort);
    });
    promise.then(
      (value) => signal.aborted && undo?.(value),
      () => {},
    );
    try {
      return await Promise.race([promise, aborted]);
    } finally {
      signal.removeEventListener("abort", onAbort);
    }
  }

  end() {
    this.#end("the worker was shut down");
    return this.worker?.terminate();
  }
}

const runtimes = new Map();

export function runtimeFor(gpu, wasmUrl, jspi = true) {
  const url = String(wasmUrl === undefined ? new URL("./", import.meta.url) : absolute(wasmUrl));
  const key = `${gpu} ${gpu && jspi} ${url}`;
  if (!runtimes.has(key) || runtimes.get(key).isDead) runtimes.set(key, new Runtime({ wasmUrl: url, gpu, jspi }));
  return runtimes.get(key);
}

/* Ends all workers. What was loaded is closed; a later load starts a new one. */
export async function shutdown() {
  const all = [...runtimes.values()];
  runtimes.clear();
  await Promise.all(all.map((r) => r.end()));
}

/* The worker for a device, and the device's name in it. If any device will do and the GPU's worker does not start, that
 * is the CPU's. */
export async function findRuntime({ device = "auto", wasmUrl, jspi = true }) {
  const { name, gpu } = chooseDevice(device, jspi),
    runtime = runtimeFor(gpu, wasmUrl, jspi);
  if (!gpu || device !== "auto") return { name, runtime };
  try {
    await runtime.ready;
    return { name, runtime };
  } catch {
    return { name: "cpu", runtime: runtimeFor(false, wasmUrl) };
  }
}
