/* The thread that owns the WebAssembly instance: a Worker of a browser, or a worker thread of Node.
 *
 * Messages in: { type: "start", .. } once; then { type: "call", id, op, args } and { type: "cancel", id }.
 * Messages out: { type: "ready" | "failed" }, { type: "event", id, .. } any number of times, and one
 * { type: "result", id, value } or { type: "error", id, error: { status, message } } per call.
 *
 * Models and graphs are numbers on the page's side, addresses here. Text is generated in steps; between two of them the
 * event loop runs, so a cancel is seen. Where memory can be shared, `flags` carries cancels also into calls that do not
 * return to the loop for long: loading, running a graph, reading a prompt. */
import { folderSpecs, isNode, openSource } from "./files.js";
import { Instance, SUSPENDING, compile, engineFeatures } from "./module.js";
import { countThreads, isThreaded } from "./threads.js";

let post = null; // (message, transferred)
let wasm = null;
let flags = null; // shared: flags[id % length] === id: cancelled
let started = null;
const cancelled = new Set();
const aborts = new Map(); // id -> AbortController of its downloads
const objects = new Map(); // handle -> { kind, address, folder, sources, turn }
let nextHandle = 1;
let nextFolder = 1;

/* ---- Errors ---- */

class Failure extends Error {
  constructor({ status, message }) {
    super(message);
    this.status = status;
  }
}

function describe(error) {
  if (error instanceof WebAssembly.RuntimeError || error === wasm?.dead)
    return { status: "device lost", message: `the WebAssembly module stopped: ${error.message}` };
  if (error instanceof RangeError) return { status: "no memory", message: error.message };
  return { status: error.status ?? "invalid", message: error.message ?? String(error) };
}

const check = (status) => {
  if (status) throw new Failure(wasm.failure());
};
const need = (address) => {
  if (!address) throw new Failure(wasm.failure());
  return address >>> 0;
};

/* ---- Callbacks of the module: module "rlx" ---- */

const isCancelled = (id) => cancelled.has(id) || (flags && id > 0 && Atomics.load(flags, id % flags.length) === id);
const stages = new Map();

const callbacks = {
  rlx_js_stage(it, id, stage) {
    stages.set(id, it.text(stage));
  },
  rlx_js_progress(it, id, done, total) {
    if (id > 0) post({ type: "event", id, event: "progress", stage: stages.get(id) ?? "", done, total });
    return isCancelled(id) ? 1 : 0;
  },
  rlx_js_poll: (it, id) => (isCancelled(id) ? 1 : 0),
  rlx_js_piece(it, id, text, bytes) {
    const part = new TextDecoder().decode(it.bytes(text, bytes).slice());
    post({ type: "event", id, event: "piece", text: part });
    return isCancelled(id) ? 1 : 0;
  },
  rlx_js_row(it, id, op, name, result, why, error) {
    const row = { op: it.text(op), name: it.text(name), result, why: it.text(why), error };
    post({ type: "event", id, event: "row", row });
    return isCancelled(id) ? 1 : 0;
  },
  rlx_js_log(it, level, text) {
    post({ type: "event", id: 0, event: "log", level, text: it.text(text) });
  },
};

/* ---- Start ---- */

/* How the module waits for a GPU. */
async function openGpu(jspi) {
  if (!globalThis.navigator?.gpu)
    throw new Failure({ status: "not found", message: "WebGPU is not available in workers of this browser" });
  if (jspi && engineFeatures().jspi) return SUSPENDING;
  return (await import("./gpu_remote.js")).RemoteGpu.start();
}

async function start({ wasmUrl, gpu, jspi, cancelFlags }) {
  flags = cancelFlags;
  const how = gpu ? await openGpu(jspi) : null;
  const { module, url } = await compile(wasmUrl, { threads: !how?.suspends }); // one that suspends has one thread
  if (how && !how.suspends && !isThreaded(module))
    throw new Failure({
      status: "unsupported",
      message: `without JavaScript Promise Integration a GPU needs a variant with threads, and ${url} has none`,
    });
  const onLine = (text) => post({ type: "event", id: 0, event: "log", level: 2, text });
  wasm = await Instance.create({ module, callbacks, gpu: how, onLine });
  return { version: wasm.text(wasm.now("rlx_web_version")), wasm: url, features: engineFeatures() };
}

/* ---- Files and objects ---- */

/* Mounts one file, or several by name; returns { path, folder, sources }. */
async function mount(id, { files, main }) {
  const abort = new AbortController(),
    folder = `files/${nextFolder++}`,
    sources = [];
  aborts.set(id, abort);
  if (isCancelled(id)) abort.abort();
  const onDownload = (done, total) => post({ type: "event", id, event: "progress", stage: "download", done, total });
  try {
    for (const [name, spec] of Object.entries(files)) {
      const source = await openSource(spec, { onDownload, signal: abort.signal });
      sources.push(source);
      wasm.wasi.tree.add(`${folder}/${name}`, source);
    }
    return { path: `/${folder}${main ? `/${main}` : ""}`, folder, sources };
  } catch (error) {
    unmount({ folder, sources });
    if (abort.signal.aborted) throw new Failure({ status: "cancelled", message: "stopped while opening a file" });
    throw error;
  } finally {
    aborts.delete(id);
  }
}

function unmount({ folder, sources }) {
  wasm.wasi.tree.remove(folder);
  for (const source of sources) source.close();
}

/* In Node a path may be a folder: its files are mounted. */
async function expand({ files, main }) {
  const path = files[main]?.path;
  if (isNode && path !== undefined) {
    const fs = await import("node:fs");
    if (fs.statSync(path, { throwIfNoEntry: false })?.isDirectory())
      return { files: await folderSpecs(path), main: "" };
  }
  return { files, main };
}

const requireExport = (name, what) => {
  if (!wasm.has(name)) throw new Failure({ status: "unsupported", message: `this module was built without ${what}` });
};

function register(kind, fields) {
  const handle = nextHandle++;
  objects.set(handle, { kind, turn: Promise.resolve(), ...fields });
  return handle;
}

const get = (handle, kind) => {
  const object = objects.get(handle);
  if (!object || object.kind !== kind) throw new Failure({ status: "invalid", message: `the ${kind} is closed` });
  return object;
};

/* One call per object at a time: a text is generated in many calls, which no other may interrupt. */
async function exclusively(object, fn) {
  const before = object.turn;
  let release;
  object.turn = new Promise((resolve) => (release = resolve));
  await before;
  try {
    if (object.closed) throw new Failure({ status: "invalid", message: `the ${object.kind} is closed` });
    return await fn();
  } finally {
    release();
  }
}

const info = async (name, address) => JSON.parse(wasm.takeText(need(await wasm.call(name, address))));

async function close(object, handle, name) {
  await exclusively(object, async () => {
    object.closed = true;
    objects.delete(handle);
    await wasm.call(name, object.address);
    if (object.sources) unmount(object);
  });
}

/* The threads that an object may have of the n that were asked for. */
const takeThreads = async (n) => (wasm.gpu ? 1 : wasm.threads.ensure(await countThreads(n)));

/* Opens what is in files. `open(path)` returns an address or 0. */
async function openFiles(id, kind, files, open, describeName) {
  const mounted = await mount(id, await expand(files));
  try {
    const address = need(await wasm.withTexts([mounted.path], open));
    const value = await info(describeName, address);
    return { handle: register(kind, { address, ...mounted }), info: value };
  } catch (error) {
    unmount(mounted);
    throw error;
  }
}

/* ---- Tensors ---- */

/* Calls fn with the address of a list of these tensors: { name, dtype, shape, bytes }. */
async function withTensors(tensors, fn) {
  const list = need(wasm.now("rlx_web_tensors_create")),
    held = [];
  try {
    for (const { name, dtype, shape, bytes } of tensors) {
      const data = wasm.put(bytes),
        sizes = wasm.put(new Uint8Array(Float64Array.from(shape).buffer));
      held.push(data, sizes);
      await wasm.withTexts([name, dtype], (n, d) =>
        check(wasm.now("rlx_web_tensors_add", list, n, d, sizes, shape.length, data, bytes.length)),
      );
    }
    return await fn(list);
  } finally {
    if (!wasm.dead) {
      wasm.now("rlx_web_tensors_destroy", list);
      held.forEach((at) => wasm.free(at));
    }
  }
}

/* Copies outputs out of the module's memory. */
function takeOutputs(json) {
  return JSON.parse(json).map(({ name, dtype, shape, data, bytes }) => {
    return { name, dtype, shape, buffer: wasm.bytes(data, bytes).slice().buffer };
  });
}

async function run(id, kind, name, { handle, tensors }) {
  const object = get(handle, kind);
  const outputs = await exclusively(object, () =>
    withTensors(tensors, async (list) =>
      takeOutputs(wasm.takeText(need(await wasm.call(name, object.address, list, id)))),
    ),
  );
  return { value: outputs, transfer: outputs.map((o) => o.buffer) };
}

/* ---- Text ---- */

const LOOP_MILLISECONDS = 30; // of reading a prompt, between two looks at the messages
const STEP_TOKENS_CPU = 1;
const STEP_TOKENS_GPU = 15; // 1 + 2 + 4 + 8: a GPU draws several tokens without the host
const FLAG = { ignoreEnd: 1, shift: 2, specialText: 4, specialParse: 8 }; // also in src/web/lm_generate.c

/* Lets the event loop take messages. A timer would wait longer than a token takes. */
const takeMessages = isNode
  ? () => new Promise((resolve) => setImmediate(resolve))
  : (() => {
      const { port1, port2 } = new MessageChannel();
      const waiting = [];
      port1.onmessage = () => waiting.shift()();
      return () =>
        new Promise((resolve) => {
          waiting.push(resolve);
          port2.postMessage(0);
        });
    })();

function begin(lm, o) {
  let bits = 0;
  for (const [name, bit] of Object.entries(FLAG)) if (o[name]) bits |= bit;
  wasm.now(
    "rlx_web_lm_begin",
    lm,
    o.maxTokens,
    o.temperature,
    o.topK,
    o.topP,
    o.minP,
    o.repetitionPenalty,
    o.penaltyTokens,
    o.seed,
    bits,
  );
}

async function startText(lm, id, { messages, prompt, template, goesOn, settings }) {
  begin(lm, settings);
  for (const stop of settings.stops) await wasm.withTexts([stop], (at) => check(wasm.now("rlx_web_lm_stop", lm, at)));
  if (!messages) {
    const bytes = new TextEncoder().encode(prompt),
      at = wasm.put(bytes);
    try {
      return check(await wasm.call("rlx_web_lm_start_text", lm, at, bytes.length, goesOn ? 1 : 0, id));
    } finally {
      if (!wasm.dead) wasm.free(at);
    }
  }
  for (const { role, content } of messages)
    await wasm.withTexts([role, content], (r, c) => check(wasm.now("rlx_web_lm_message", lm, r, c)));
  await wasm.withTexts([template], async (t) => check(await wasm.call("rlx_web_lm_start_chat", lm, t, id)));
}

async function generate(id, args) {
  const object = get(args.handle, "model");
  return exclusively(object, async () => {
    const lm = object.address,
      tokens = args.settings.ahead || (wasm.gpu ? STEP_TOKENS_GPU : STEP_TOKENS_CPU);
    await startText(lm, id, args);
    for (let more = 1; more > 0 && !isCancelled(id);) {
      more = await wasm.call("rlx_web_lm_step", lm, tokens, LOOP_MILLISECONDS);
      if (more < 0) throw new Failure(wasm.failure());
      await takeMessages();
    }
    check(await wasm.call("rlx_web_lm_end", lm));
    return info("rlx_web_lm_stats", lm);
  });
}

/* ---- Operations ---- */

const REPORT = { plan: 0, dispatch: 1, profile: 2, trace: 3 },
  FORMAT = { text: 0, json: 1, svg: 2 };

const report =
  (kind, name) =>
  async (id, { handle, what, format }) => {
    const object = get(handle, kind);
    return exclusively(object, async () =>
      wasm.takeText(need(await wasm.call(name, object.address, REPORT[what] ?? -1, FORMAT[format] ?? -1))),
    );
  };

/* Calls an export that takes a text and writes a count: fn(text address, bytes, address of the count). */
async function withText(text, fn) {
  const bytes = new TextEncoder().encode(text),
    at = wasm.put(bytes),
    count = wasm.alloc(4);
  try {
    const result = need(await fn(at, bytes.length, count));
    return { result, n: new DataView(wasm.exports.memory.buffer).getUint32(count, true) };
  } finally {
    if (!wasm.dead) [at, count].forEach((p) => wasm.free(p));
  }
}

const OPEN_FLAG = { dryRun: 1, exact: 2, cacheF32: 4 }; // also in src/web/lm.c

const operations = {
  devices: async () => JSON.parse(wasm.takeText(need(await wasm.call("rlx_web_devices")))),
  memory: async () => ({ bytes: wasm.exports.memory.buffer.byteLength, live: wasm.now("rlx_web_live") }),
  threads: async () => wasm.threads.describe(),
  log: async (id, { on }) => wasm.now("rlx_web_log", on ? 1 : 0),

  async lmOpen(id, { files, device, context, chunk, threads, memory, ...how }) {
    requireExport("rlx_web_lm_open", "language models");
    const n = await takeThreads(threads);
    let bits = 0;
    for (const [name, bit] of Object.entries(OPEN_FLAG)) if (how[name]) bits |= bit;
    return openFiles(
      id,
      "model",
      files,
      (path) =>
        wasm.withTexts([device], (d) =>
          wasm.call("rlx_web_lm_open", path, d, context, chunk, n, memory, bits, id),
        ),
      "rlx_web_lm_info",
    );
  },
  lmGenerate: generate,
  async lmEncode(id, { handle, text, flags: bits }) {
    const object = get(handle, "model");
    const { result, n } = await withText(text, (at, bytes, count) =>
      wasm.call("rlx_web_lm_encode", object.address, at, bytes, bits, count),
    );
    const ids = new Int32Array(wasm.bytes(result, 4 * n).slice().buffer);
    wasm.free(result);
    return ids;
  },
  async lmDecode(id, { handle, ids, special }) {
    const object = get(handle, "model"),
      at = wasm.put(new Uint8Array(ids.buffer, ids.byteOffset, ids.byteLength));
    const count = wasm.alloc(4);
    try {
      return wasm.takeText(
        need(await wasm.call("rlx_web_lm_decode", object.address, at, ids.length, special ? 1 : 0, count)),
      );
    } finally {
      if (!wasm.dead) [at, count].forEach((p) => wasm.free(p));
    }
  },
  async lmEmbed(id, { handle, text }) {
    const object = get(handle, "model");
    return exclusively(object, async () => {
      const { result, n } = await withText(text, (at, bytes, count) =>
        wasm.call("rlx_web_lm_embed", object.address, at, bytes, count, id),
      );
      const values = new Float32Array(wasm.bytes(result, 4 * n).slice().buffer);
      wasm.free(result);
      return values;
    });
  },
  lmReport: report("model", "rlx_web_lm_report"),
  lmClose: (id, { handle }) => close(get(handle, "model"), handle, "rlx_web_lm_close"),

  async onnxOpen(id, { files, device, threads, memory }) {
    const n = await takeThreads(threads);
    return openFiles(
      id,
      "ONNX model",
      files,
      (path) => wasm.withTexts([device], (d) => wasm.call("rlx_web_onnx_open", path, d, n, memory, id)),
      "rlx_web_onnx_info",
    );
  },
  onnxRun: (id, args) => run(id, "ONNX model", "rlx_web_onnx_run", args),
  onnxReport: report("ONNX model", "rlx_web_onnx_report"),
  onnxClose: (id, { handle }) => close(get(handle, "ONNX model"), handle, "rlx_web_onnx_close"),

  async graphOpen(id, { text, device, threads, memory }) {
    const n = await takeThreads(threads),
      bytes = new TextEncoder().encode(text),
      at = wasm.put(bytes);
    try {
      const address = need(
        await wasm.withTexts([device], (d) => wasm.call("rlx_web_graph_open", at, bytes.length, d, n, memory)),
      );
      return { handle: register("graph", { address }), info: await info("rlx_web_graph_info", address) };
    } finally {
      if (!wasm.dead) wasm.free(at);
    }
  },
  graphRun: (id, args) => run(id, "graph", "rlx_web_graph_run", args),
  graphReport: report("graph", "rlx_web_graph_report"),
  graphClose: (id, { handle }) => close(get(handle, "graph"), handle, "rlx_web_graph_close"),

  conform: async (id, { device, pattern }) =>
    wasm.withTexts([device, pattern], async (d, p) => check(await wasm.call("rlx_web_conform", d, p, id))),
};

/* ---- Messages ---- */

async function answer({ id, op, args }) {
  try {
    await started;
    const result = await operations[op](id, args);
    const { value, transfer } = result?.transfer ? result : { value: result, transfer: [] };
    post({ type: "result", id, value }, transfer);
  } catch (error) {
    post({ type: "error", id, error: describe(error), isDead: !!wasm?.dead });
  } finally {
    cancelled.delete(id);
    stages.delete(id);
  }
}

function receive(message) {
  if (message.type === "start") {
    started = start(message);
    started.then(
      (value) => post({ type: "ready", value }),
      (error) => post({ type: "failed", error: describe(error) }),
    );
  } else if (message.type === "call") {
    answer(message);
  } else if (message.type === "cancel") {
    cancelled.add(message.id);
    aborts.get(message.id)?.abort();
  }
}

if (isNode) {
  const { parentPort } = await import("node:worker_threads");
  post = (message, transfer) => parentPort.postMessage(message, transfer);
  parentPort.on("message", receive);
} else {
  post = (message, transfer) => self.postMessage(message, transfer ?? []);
  self.onmessage = (event) => receive(event.data);
}
