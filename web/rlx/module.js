/* The WebAssembly module: which variant this engine can run, its imports, and calls into it.
 *
 * The build makes rlx_web.wasm (128-bit vectors, which every engine has) and variants for engines that can do more, and
 * for pages that may share memory between threads (threads.js).
 * They are tried from the fastest that the engine validates; one that is not there or does not compile is passed over.
 *
 * Calls: one at a time. With a GPU an export may suspend (JavaScript Promise Integration) while C waits; a second call
 * would run on the same stack in memory, so it waits its turn here. Without JSPI the thread itself waits
 * (gpu_remote.js). */
import { isNode } from "./files.js";
import { gpuImports } from "./gpu.js";
import { Threads, createSharedMemory, isThreaded, whyOneThread } from "./threads.js";
import { Wasi } from "./wasi.js";

/* ---- What the engine can do ---- */

const HEADER = [0, 0x61, 0x73, 0x6d, 1, 0, 0, 0];
const V128 = 0x7b,
  I32_CONST = 0x41,
  SIMD = 0xfd,
  SPLAT = 0x0f,
  END = 0x0b;
const section = (id, ...bytes) => [id, bytes.length, ...bytes];

/* A module of one function without parameters and this body, whose result is a vector. */
function hasInstruction(...code) {
  const body = [0, ...code, END]; // no locals
  return WebAssembly.validate(
    new Uint8Array([
      ...HEADER,
      ...section(1, 1, 0x60, 0, 1, V128),
      ...section(3, 1, 0),
      ...section(10, 1, body.length, ...body),
    ]),
  );
}

const ONES = [I32_CONST, 1, SIMD, SPLAT]; // i8x16.splat

export function engineFeatures() {
  const sharesMemory = WebAssembly.validate(new Uint8Array([...HEADER, ...section(5, 1, 3, 1, 1)]));
  return {
    simd: hasInstruction(...ONES),
    relaxed: hasInstruction(...ONES, ...ONES, SIMD, 0x80, 0x02), // i8x16.relaxed_swizzle
    threads: sharesMemory && !whyOneThread(),
    jspi: typeof WebAssembly.Suspending === "function" && typeof WebAssembly.promising === "function",
  };
}

/* Names of the variants, best first: threads count for more than relaxed SIMD. */
export function variants({ relaxed, threads }) {
  const names = relaxed ? ["rlx_web_relaxed", "rlx_web"] : ["rlx_web"];
  return [...(threads ? names.map((name) => `${name}_threads`) : []), ...names].map((name) => `${name}.wasm`);
}

/* ---- Loading ---- */

async function fetchBytes(url) {
  if (isNode && url.startsWith("file:")) {
    const fs = await import("node:fs");
    return fs.promises.readFile(new URL(url)).catch((error) => {
      throw new Error(error.code === "ENOENT" ? "is not there" : error.message);
    });
  }
  const response = await fetch(url);
  if (!response.ok) throw new Error(`HTTP ${response.status}`);
  return response.arrayBuffer();
}

/* wasmUrl: a .wasm file, or a folder with the variants, which ends with a slash. */
export async function compile(wasmUrl, { threads = true } = {}) {
  const features = engineFeatures(),
    reasons = [];
  features.threads &&= threads;
  if (!features.simd) throw new Error("this engine has no WebAssembly SIMD; every browser since 2023 has it");
  const urls = wasmUrl.endsWith("/") ? variants(features).map((name) => wasmUrl + name) : [wasmUrl];
  for (const url of urls) {
    try {
      return { module: await WebAssembly.compile(await fetchBytes(url)), url };
    } catch (error) {
      reasons.push(`${url}: ${error.message}`);
    }
  }
  throw new Error(`the WebAssembly module cannot be loaded: ${reasons.join("; ")}`);
}

/* Functions of webgpu.h where there is no GPU: creating an instance fails, and nothing else is called. */
function absentGpu(module) {
  const wanted = WebAssembly.Module.imports(module).filter((i) => i.module === "webgpu" && i.kind === "function");
  return Object.fromEntries(wanted.map((i) => [i.name, () => 0]));
}

/* WebGPU in the module's own thread, by JavaScript Promise Integration. */
export const SUSPENDING = { suspends: true, imports: gpuImports, attach: () => {} };

/* ---- An instance ---- */

const encoder = new TextEncoder(),
  decoder = new TextDecoder();

export class Instance {
  #turn = Promise.resolve();

  /* callbacks: the functions of module "rlx", called with this instance first; gpu: SUSPENDING, a RemoteGpu, or null */
  static async create({ module, callbacks, gpu = null, onLine = () => {} }) {
    const it = new Instance();
    it.wasi = new Wasi({ onOut: onLine, onError: onLine });
    it.gpu = gpu;
    it.module = module;
    const bound = Object.fromEntries(Object.entries(callbacks).map(([name, fn]) => [name, (...a) => fn(it, ...a)]));
    it.instance = await WebAssembly.instantiate(module, {
      wasi_snapshot_preview1: it.wasi.imports(),
      rlx: bound,
      webgpu: gpu ? gpu.imports(() => it.instance, module) : absentGpu(module),
      ...(isThreaded(module) ? { env: { memory: createSharedMemory() } } : {}),
    });
    it.exports = it.instance.exports;
    it.wasi.attach(it.exports.memory);
    gpu?.attach(it.exports);
    it.exports._initialize?.();
    it.waiting = {}; // exports that may wait for a GPU
    it.threads = new Threads(it);
    return it;
  }

  has(name) {
    return name in this.exports;
  }

  /* Calls an export. Waits its turn, and for the GPU where there is one. */
  async call(name, ...args) {
    let release;
    const before = this.#turn;
    this.#turn = new Promise((resolve) => (release = resolve));
    await before;
    try {
      if (this.dead) throw this.dead;
      this.wasi.takeError(); // of an earlier call
      if (!this.gpu?.suspends) return this.exports[name](...args);
      this.waiting[name] ??= WebAssembly.promising(this.exports[name]);
      return await this.waiting[name](...args);
    } catch (error) {
      this.dead = error; // a trap: memory may be in any state
      throw error;
    } finally {
      release();
    }
  }

  /* Exports that never wait may be called at any time. */
  now(name, ...args) {
    if (this.dead) throw this.dead;
    return this.exports[name](...args);
  }

  bytes(at, n) {
    return new Uint8Array(this.exports.memory.buffer, at >>> 0, n);
  }

  alloc(n) {
    const at = this.now("rlx_web_alloc", n) >>> 0;
    if (!at) throw this.failure();
    return at;
  }

  free(at) {
    if (at) this.now("rlx_web_free", at);
  }

  /* NUL-terminated. */
  text(at) {
    const all = new Uint8Array(this.exports.memory.buffer),
      from = at >>> 0;
    let end = all.indexOf(0, from);
    if (end < 0) end = all.length;
    return decoder.decode(all.slice(from, end));
  }

  /* A text that the caller of an export must free. */
  takeText(at) {
    const text = this.text(at);
    this.free(at);
    return text;
  }

  put(bytes) {
    const at = this.alloc(Math.max(1, bytes.length));
    this.bytes(at, bytes.length).set(bytes);
    return at;
  }

  putText(text) {
    return this.put(encoder.encode(`${text}\0`));
  }

  /* Calls fn with the addresses of these texts, which are freed when it has returned. */
  async withTexts(texts, fn) {
    const held = [];
    try {
      for (const text of texts) held.push(this.putText(text));
      return await fn(...held);
    } finally {
      if (!this.dead) for (const at of held) this.free(at);
    }
  }

  /* What the last call reported, as { status, message }. A file that could not be read adds why. */
  failure() {
    const cause = this.wasi.takeError();
    const status = cause?.status ?? this.text(this.now("rlx_web_status_name", this.now("rlx_web_status")));
    const message = this.text(this.now("rlx_web_message"));
    return { status, message: cause ? `${message} (${cause.message})` : message };
  }
}
