/* rlx.js: language models, ONNX models and graphs on the page's own machine, in a browser or in Node.
 *
 *   import * as rlx from "rlx";
 *   const lm = await rlx.loadLm("model.gguf");
 *   for await (const text of lm.chat([{ role: "user", content: "Hello!" }])) console.log(text);
 *
 * Everything runs in a worker (runtime.js, worker.js), so the page never waits; `rlx.shutdown()` ends the workers.
 * Errors are RlxError, with the library's status and message; an AbortSignal makes a call fail with the signal's
 * reason. */
import {
  RlxError,
  absolute,
  chooseDevice,
  findRuntime,
  hasScheme,
  isNode,
  runtimeFor,
  whyNoWebGpu,
} from "./runtime.js";

export { RlxError, shutdown, whyNoWebGpu } from "./runtime.js";

/* ---- Sources ---- */

const lastName = (path) => decodeURIComponent(path.split(/[?#]/)[0].split("/").filter(Boolean).pop() ?? "") || "model";

/* What the worker opens (files.js), and a name for it. */
function toSpec(source) {
  if (typeof source === "string" && source.startsWith("opfs:")) {
    const path = source.slice("opfs:".length);
    return { spec: { opfs: path }, name: lastName(path) };
  }
  if (typeof source === "string" || source instanceof URL) {
    const text = String(source);
    if (isNode && !hasScheme(text)) return { spec: { path: text }, name: lastName(text) };
    if (isNode && text.startsWith("file:"))
      return { spec: { path: decodeURIComponent(new URL(text).pathname) }, name: lastName(text) };
    const url = absolute(text);
    return { spec: { url }, name: lastName(new URL(url).pathname) };
  }
  if (typeof Blob === "function" && source instanceof Blob)
    return { spec: { blob: source }, name: source.name ?? "model" };
  if (source instanceof ArrayBuffer || ArrayBuffer.isView(source)) {
    const bytes =
      source instanceof ArrayBuffer
        ? new Uint8Array(source)
        : new Uint8Array(source.buffer, source.byteOffset, source.byteLength);
    return { spec: { bytes }, name: "model" };
  }
  if (typeof source?.getFile === "function") return { spec: { handle: source }, name: source.name };
  return null;
}

/* One source, or an object of them by file name (a folder, an ONNX model with external data). */
function toFiles(source, main) {
  const one = toSpec(source);
  if (one) return { files: { [one.name]: one.spec }, main: one.name };
  if (!source || typeof source !== "object")
    throw new RlxError(
      "invalid",
      `expected a URL, a File, an ArrayBuffer, or an object of these by name, got ${source}`,
    );
  const files = {};
  for (const [name, part] of Object.entries(source)) {
    const found = toSpec(part);
    if (!found) throw new RlxError("invalid", `file '${name}': expected a URL, a File or an ArrayBuffer`);
    if (name.split("/").some((step) => step === "" || step === "." || step === ".."))
      throw new RlxError("invalid", `'${name}' is no name of a file`);
    files[name] = found.spec;
  }
  return { files, main: main ?? (Object.keys(files).length === 1 ? Object.keys(files)[0] : "") };
}

/* ---- Opening ---- */

function progressEvents(onProgress) {
  return (event) => {
    if (event.event === "progress") onProgress?.({ stage: event.stage, done: event.done, total: event.total });
  };
}

const count = (value, name) => {
  if (value === undefined) return 0;
  if (!(Number.isFinite(value) && value >= 0 && value < 2 ** 53))
    throw new RlxError("invalid", `${name}: expected a number, got ${value}`);
  return value;
};

async function open(ops, source, options, extra, make) {
  options.signal?.throwIfAborted();
  const { name, runtime } = await findRuntime(options);
  const args = {
    files: toFiles(source, options.main),
    device: name,
    threads: count(options.threads, "threads"),
    memory: count(options.memoryLimit, "memoryLimit"),
    ...extra,
  };
  const undo = ({ handle }) => runtime.start(ops.close, { handle }).promise.catch(() => {});
  const opened = await runtime.call(ops.open, args, {
    signal: options.signal,
    undo,
    onEvent: progressEvents(options.onProgress),
  });
  return make(runtime, opened);
}

/* What a model and a graph have in common. */
class Loaded {
  constructor(runtime, { handle, info }, ops) {
    this.runtime = runtime;
    this.handle = handle;
    this.info = info;
    this.ops = ops;
  }

  get device() {
    return this.info.device;
  }

  /* The memory plan: "svg" (a picture), "json" or "text". */
  plan(format = "json") {
    return this.#report("plan", format);
  }

  /* What runs where, and why: "json" or "text". */
  dispatch(format = "json") {
    return this.#report("dispatch", format);
  }

  async #report(what, format) {
    const text = await this.runtime.call(this.ops.report, { handle: this.handle, what, format });
    return format === "json" ? JSON.parse(text) : text;
  }

  /* Frees it. A second call does nothing. */
  async close() {
    if (this.handle === 0) return;
    const { handle } = this;
    this.handle = 0;
    if (!this.runtime.isDead) await this.runtime.call(this.ops.close, { handle });
  }

  async [Symbol.asyncDispose ?? Symbol("asyncDispose")]() {
    await this.close();
  }
}

/* ---- Language models ---- */

const LM = { open: "lmOpen", close: "lmClose", report: "lmReport" };
const LIKELIEST = { temperature: 0, topK: 0, topP: 1, minP: 0, repetitionPenalty: 1, penaltyTokens: 0 };
const LIVELY = { ...LIKELIEST, temperature: 0.7, topP: 0.95 }; // as `rlx chat` does without settings in the file

function settingsFor(options, base) {
  const pick = (name) => count(options[name] ?? base[name], name);
  const settings = Object.fromEntries(Object.keys(LIKELIEST).map((name) => [name, pick(name)]));
  settings.seed = count(options.seed ?? (settings.temperature > 0 ? Math.floor(Math.random() * 2 ** 31) : 0), "seed");
  settings.maxTokens = count(options.maxTokens, "maxTokens");
  settings.stops = [options.stop ?? []].flat().map(String);
  settings.ahead = count(options.ahead, "ahead");
  settings.ignoreEnd = !!options.ignoreEnd;
  return settings;
}

/* Text as it comes: `for await (const piece of generation)`, or `await generation.text()`. Leaving the loop stops it.
 * `stats` holds counts and seconds once it has ended. */
class Generation {
  #queue = [];
  #wake = null;
  #isOver = false;
  #error = null;

  constructor(runtime, args, signal) {
    this.stats = null;
    this.settings = args.settings;
    this.cancel = () => {};
    this.ended = Promise.resolve();
    if (signal?.aborted) {
      this.#finish(signal.reason);
      return;
    }
    const { promise, cancel } = runtime.start("lmGenerate", args, { onEvent: (e) => this.#receive(e) });
    const onAbort = () => {
      cancel();
      this.#finish(signal.reason);
    };
    this.cancel = cancel;
    signal?.addEventListener("abort", onAbort);
    this.ended = promise
      .then(
        (stats) => {
          this.stats = stats;
          this.#finish(null);
        },
        (error) => this.#finish(error),
      )
      .finally(() => signal?.removeEventListener("abort", onAbort));
  }

  #receive(event) {
    if (event.event !== "piece" || this.#isOver) return;
    this.#queue.push(event.text);
    this.#wake?.();
  }

  #finish(error) {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#error = error;
    this.#wake?.();
  }

  async #next() {
    while (!this.#queue.length && !this.#isOver) {
      await new Promise((resolve) => (this.#wake = resolve));
      this.#wake = null;
    }
    if (this.#queue.length) return { value: this.#queue.shift(), done: false };
    if (this.#error) throw this.#error;
    return { value: undefined, done: true };
  }

  [Symbol.asyncIterator]() {
    return {
      next: () => this.#next(),
      return: async () => {
        this.cancel();
        return { value: undefined, done: true };
      },
    };
  }

  async text() {
    let all = "";
    for await (const piece of this) all += piece;
    return all;
  }
}

class Lm extends Loaded {
  #running = new Set();

  #generate(args, signal) {
    const generation = new Generation(this.runtime, args, signal);
    this.#running.add(generation);
    generation.ended.finally(() => this.#running.delete(generation));
    return generation;
  }

  /* Stops what is being generated, and frees the model. */
  async close() {
    for (const generation of this.#running) generation.cancel();
    await super.close();
  }

  /* The next turn of a conversation: all its messages, as { role, content }. */
  chat(messages, options = {}) {
    const list = Array.from(messages, ({ role, content }) => ({ role: String(role), content: String(content) }));
    const settings = settingsFor(options, this.info.sampling ?? LIVELY);
    settings.shift = options.shift ?? true;
    settings.specialParse = !!options.parseSpecial;
    const args = { handle: this.handle, messages: list, template: options.template ?? "", settings };
    return this.#generate(args, options.signal);
  }

  /* Continues a text. Without settings it takes the likeliest token each time. */
  generate(prompt, options = {}) {
    const settings = settingsFor(options, LIKELIEST);
    settings.shift = !!options.shift;
    settings.specialText = options.parseSpecial === false;
    const args = { handle: this.handle, prompt: String(prompt), goesOn: !!options.continue, settings };
    return this.#generate(args, options.signal);
  }

  /* The embedding of a text by an encoder: a Float32Array of unit length. */
  embed(text, options = {}) {
    return this.runtime.call("lmEmbed", { handle: this.handle, text: String(text) }, options);
  }

  /* Token ids of a text. addSpecial: with what the model expects around it; parseSpecial: "<|x|>" may be a token. */
  tokenize(text, { addSpecial = false, parseSpecial = false } = {}) {
    const flags = (addSpecial ? 1 : 0) | (parseSpecial ? 2 : 0);
    return this.runtime.call("lmEncode", { handle: this.handle, text: String(text), flags });
  }

  detokenize(ids, { special = false } = {}) {
    return this.runtime.call("lmDecode", { handle: this.handle, ids: Int32Array.from(ids), special });
  }
}

/* Loads a language model: a GGUF or safetensors file, or the files of a Hugging Face folder by name. */
export async function loadLm(source, options = {}) {
  const extra = {
    context: count(options.context, "context"),
    chunk: count(options.chunk, "chunk"),
    dryRun: !!options.dryRun,
    exact: !!options.exact,
    cacheF32: options.cache === "f32",
  };
  return open(LM, source, options, extra, (runtime, opened) => new Lm(runtime, opened, LM));
}

/* ---- Tensors ---- */

const ARRAYS = {
  f32: Float32Array,
  f64: Float64Array,
  i8: Int8Array,
  u8: Uint8Array,
  i16: Int16Array,
  u16: Uint16Array,
  i32: Int32Array,
  u32: Uint32Array,
  i64: BigInt64Array,
  u64: BigUint64Array,
  bool: Uint8Array,
  f16: globalThis.Float16Array ?? Uint16Array,
  bf16: Uint16Array,
  c64: Float32Array,
  f8e4m3: Uint8Array,
  f8e5m2: Uint8Array,
};
const DTYPES = new Map([
  [Float32Array, "f32"],
  [Float64Array, "f64"],
  [Int8Array, "i8"],
  [Uint8Array, "u8"],
  [Uint8ClampedArray, "u8"],
  [Int16Array, "i16"],
  [Uint16Array, "u16"],
  [Int32Array, "i32"],
  [Uint32Array, "u32"],
  [BigInt64Array, "i64"],
  [BigUint64Array, "u64"],
]);
if (globalThis.Float16Array) DTYPES.set(globalThis.Float16Array, "f16");

/* A tensor as a caller writes it: { data, shape, dtype }; plain arrays take the type that the model declares. */
function toTensor(name, value, declared) {
  let { data, shape, dtype } = ArrayBuffer.isView(value) || Array.isArray(value) ? { data: value } : (value ?? {});
  if (typeof data === "number" || typeof data === "bigint" || typeof data === "boolean") {
    data = [data];
    shape ??= [];
  }
  if (Array.isArray(data)) {
    dtype ??= declared ?? "f32";
    const Class = ARRAYS[dtype];
    if (!Class) throw new RlxError("invalid", `tensor '${name}': there is no type '${dtype}'`);
    const isBig = Class === BigInt64Array || Class === BigUint64Array;
    data = Class.from(data, isBig ? (x) => BigInt(x) : (x) => Number(x));
  }
  if (!ArrayBuffer.isView(data))
    throw new RlxError("invalid", `tensor '${name}': expected { data: a typed array, shape: [..] }`);
  dtype ??= DTYPES.get(data.constructor) ?? declared;
  shape = Array.from(shape ?? [data.length], Number);
  const bytes = new Uint8Array(data.buffer, data.byteOffset, data.byteLength);
  return { name, dtype, shape, bytes };
}

function toOutputs(list) {
  const outputs = {};
  for (const { name, dtype, shape, buffer } of list)
    outputs[name] = { data: new (ARRAYS[dtype] ?? Uint8Array)(buffer), shape, dtype };
  return outputs;
}

class Runnable extends Loaded {
  get inputs() {
    return this.info.inputs;
  }

  get outputs() {
    return this.info.outputs;
  }

  /* Runs with tensors by name; returns the outputs by name. */
  async run(inputs, options = {}) {
    const declared = new Map(this.inputs.map((i) => [i.name, i.dtype]));
    const tensors = Object.entries(inputs ?? {}).map(([name, value]) => toTensor(name, value, declared.get(name)));
    return toOutputs(await this.runtime.call(this.ops.run, { handle: this.handle, tensors }, options));
  }
}

/* ---- ONNX models, graphs ---- */

const ONNX = { open: "onnxOpen", close: "onnxClose", report: "onnxReport", run: "onnxRun" };
const GRAPH = { open: "graphOpen", close: "graphClose", report: "graphReport", run: "graphRun" };

/* Loads an ONNX model. With external data: an object of all files by name, and `main`, the name of the model. */
export async function loadOnnx(source, options = {}) {
  return open(ONNX, source, options, {}, (runtime, opened) => new Runnable(runtime, opened, ONNX));
}

/* A graph in text form. Its params and states are set by name, as inputs are. */
export async function graph(text, options = {}) {
  const { name, runtime } = await findRuntime(options);
  const args = {
    text: String(text),
    device: name,
    threads: count(options.threads, "threads"),
    memory: count(options.memoryLimit, "memoryLimit"),
  };
  return new Runnable(runtime, await runtime.call("graphOpen", args, { signal: options.signal }), GRAPH);
}

/* ---- Devices, conformance, the worker itself ---- */

/* { devices: [..], absent: [{ backend, why }] } */
export async function devices(options = {}) {
  let why = whyNoWebGpu(options);
  const runtime = (gpu) => runtimeFor(gpu, options.wasmUrl, options.jspi);
  if (!why) await runtime(true).ready.catch((error) => (why = error.message));
  const found = await runtime(!why).call("devices", {}, { signal: options.signal });
  if (why) {
    found.absent = found.absent.filter((a) => a.backend !== "webgpu");
    found.absent.push({ backend: "webgpu", why });
  }
  return found;
}

const RESULTS = ["pass", "host", "unsupported", "fail"];

/* Runs the conformance cases of every op (or of those that match `pattern`) on a device, against the reference. */
export async function conform({ device, pattern = "", onRow, signal, wasmUrl, jspi } = {}) {
  const { name, runtime } = await findRuntime({ device, wasmUrl, jspi });
  const counts = { pass: 0, host: 0, unsupported: 0, fail: 0 };
  const onEvent = ({ event, row }) => {
    if (event !== "row") return;
    const result = RESULTS[row.result];
    counts[result]++;
    onRow?.({ ...row, result });
  };
  await runtime.call("conform", { device: name, pattern }, { signal, onEvent });
  return counts;
}

/* Version, file and features of the module, its memory and threads: { version, wasm, features, memory: { bytes, live },
 * threads: { usual, started, inUse, why } }; `why` is the reason for one thread, or null. */
export async function about({ device, wasmUrl, jspi } = {}) {
  const runtime = runtimeFor(chooseDevice(device, jspi).gpu, wasmUrl, jspi);
  const info = await runtime.ready;
  return { ...info, memory: await runtime.call("memory", {}), threads: await runtime.call("threads", {}) };
}

/* Passes what the library logs to fn(level, text), of workers for this kind of device; null ends it. */
export async function setLog(fn, { device, wasmUrl, jspi } = {}) {
  const runtime = runtimeFor(chooseDevice(device, jspi).gpu, wasmUrl, jspi);
  runtime.onLog = fn;
  await runtime.call("log", { on: !!fn });
}
