/* The JavaScript half of test_web_node.py: node cases.mjs CASE WASM_URL ARGUMENT.. prints one JSON document.
 *
 * Failures of the library are caught and printed as { status, message }, because the test compares them. */
import * as rlx from "../../web/rlx/index.js";
import { Instance } from "../../web/rlx/module.js";
import { Wasi } from "../../web/rlx/wasi.js";

const [name, wasmUrl, ...args] = process.argv.slice(2);
const cpu = { wasmUrl, device: "cpu" };

const caught = (error) => ({ error: { name: error.name, status: error.status, message: error.message } });
const attempt = (promise) => Promise.resolve(promise).catch(caught);

/* A seeded sequence of bytes, as cli.py has. */
function* noise(seed = 1n) {
  for (let x = seed; ;) {
    x = BigInt.asUintN(64, x * 6364136223846793005n + 1442695040888963407n);
    yield Number(x >> 56n);
  }
}

const cases = {
  /* Runs a WASI command over files of this tree: what wasi.js is tested with. */
  async command(module, ...words) {
    const fs = await import("node:fs");
    const out = [],
      err = [];
    const wasi = new Wasi({
      args: ["command", ...words],
      env: { GREETING: "hello" },
      onOut: (l) => out.push(l),
      onError: (l) => err.push(l),
    });
    const add = (path, bytes) =>
      wasi.tree.add(path, {
        size: bytes.length,
        mtime: 1000,
        read(offset, target) {
          if (path.endsWith("broken")) throw new Error("the disk is gone");
          const part = bytes.subarray(offset, offset + Math.min(target.length, 7)); // short reads are allowed
          target.set(part);
          return part.length;
        },
      });
    add("a/hello.txt", new TextEncoder().encode("hello, file\nsecond line\n"));
    add("a/b/deep", new Uint8Array(100));
    add("broken", new Uint8Array(10));
    for (let i = 0; i < 300; i++) add(`many/file number ${i}`, new Uint8Array(i));
    const compiled = await WebAssembly.compile(fs.readFileSync(module));
    const instance = await WebAssembly.instantiate(compiled, { wasi_snapshot_preview1: wasi.imports() });
    wasi.attach(instance.exports.memory);
    let code = 0;
    try {
      instance.exports._start();
    } catch (error) {
      if (error.code === undefined) throw error;
      code = error.code;
    }
    return { code, out, err, error: wasi.takeError()?.message ?? null };
  },

  about: () => rlx.about(cpu),
  devices: () => rlx.devices(cpu),

  async generate(model, options) {
    const { prompt, ...how } = JSON.parse(options),
      stages = new Set();
    const lm = await rlx.loadLm(model, { ...cpu, exact: !!how.exact, onProgress: (p) => stages.add(p.stage) });
    const generation = lm.generate(prompt, how),
      pieces = [];
    for await (const piece of generation) pieces.push(piece);
    const again = await lm.generate(prompt, { ...how, ahead: 7 }).text();
    await lm.close();
    return {
      text: pieces.join(""),
      pieces: pieces.length,
      again,
      stats: generation.stats,
      info: lm.info,
      stages: [...stages],
    };
  },

  async chat(model, options) {
    const { messages, ...how } = JSON.parse(options);
    const lm = await rlx.loadLm(model, cpu),
      generation = lm.chat(messages, how),
      text = await generation.text();
    messages.push({ role: "assistant", content: text }, { role: "user", content: "And then?" });
    const second = lm.chat(messages, { ...how, maxTokens: 2 });
    await second.text();
    await lm.close();
    return { text, stats: generation.stats, second: second.stats };
  },

  async embed(folder, ...texts) {
    const lm = await rlx.loadLm(folder, cpu);
    const vectors = [];
    for (const text of texts) vectors.push(Array.from(await lm.embed(text)));
    return { vectors, info: lm.info };
  },

  async tokenize(model, text) {
    const lm = await rlx.loadLm(model, cpu),
      ids = await lm.tokenize(text);
    return { ids: Array.from(ids), back: await lm.detokenize(ids) };
  },

  async stops(model) {
    const lm = await rlx.loadLm(model, cpu),
      whole = await lm.generate("ROMEO:", { maxTokens: 80 }).text();
    const stop = whole.slice(20, 26),
      at = whole.indexOf(stop);
    const generation = lm.generate("ROMEO:", { maxTokens: 80, stop: ["never found", stop] });
    const text = await generation.text();
    return { expected: whole.slice(0, at), text, stats: generation.stats };
  },

  /* Leaving a loop and aborting stop a text; the model goes on working. */
  async cancel(model) {
    const lm = await rlx.loadLm(model, cpu),
      endless = { maxTokens: 0, shift: true, ignoreEnd: true };
    const before = await lm.generate("ROMEO:", { maxTokens: 20 }).text();
    const left = lm.generate("ROMEO:", endless);
    let n = 0;
    for await (const piece of left) if (piece && ++n === 5) break;
    const abort = new AbortController(),
      aborted = lm.generate("ROMEO:", { ...endless, signal: abort.signal });
    let m = 0;
    const outcome = await attempt(
      (async () => {
        for await (const piece of aborted) if (piece && ++m === 5) abort.abort();
      })(),
    );
    const after = await lm.generate("ROMEO:", { maxTokens: 20 }).text();
    const early = await attempt(lm.generate("x", { signal: AbortSignal.abort() }).text());
    return { before, after, n, m, outcome, early, left: left.stats };
  },

  /* Closing a model ends its text. */
  async closeWhile(model) {
    const lm = await rlx.loadLm(model, cpu);
    const generation = lm.generate("ROMEO:", { maxTokens: 0, shift: true, ignoreEnd: true });
    await generation[Symbol.asyncIterator]().next();
    await lm.close();
    const rest = await generation.text();
    return { rest: rest.length, stats: generation.stats, live: (await rlx.about(cpu)).memory.live };
  },

  /* A module that traps is not called again. Its one function is `unreachable`. */
  async trap() {
    const section = (id, ...bytes) => [id, bytes.length, ...bytes];
    const text = (word) => [word.length, ...new TextEncoder().encode(word)];
    const module = await WebAssembly.compile(
      new Uint8Array([
        0,
        0x61,
        0x73,
        0x6d,
        1,
        0,
        0,
        0,
        ...section(1, 1, 0x60, 0, 0),
        ...section(3, 1, 0),
        ...section(5, 1, 0, 1),
        ...section(7, 2, ...text("boom"), 0, 0, ...text("memory"), 2, 0),
        ...section(10, 1, 3, 0, 0, 0x0b),
      ]),
    );
    const it = await Instance.create({ module, callbacks: {} });
    const first = await it.call("boom").catch((e) => e.name),
      second = await it.call("boom").catch((e) => e === it.dead);
    return { first, second };
  },

  /* Aborting while a model loads, at its first sign of progress. */
  async cancelLoad(model) {
    const abort = new AbortController();
    const outcome = await attempt(rlx.loadLm(model, { ...cpu, signal: abort.signal, onProgress: () => abort.abort() }));
    const lm = await rlx.loadLm(model, cpu);
    await lm.close();
    return { outcome, live: (await rlx.about(cpu)).memory.live };
  },

  /* The same numbers for any number of threads; the workers of a model that is closed serve the next one. */
  async threads(url, model) {
    const side = 300,
      text = `graph { %1 = input "x" : f32[${side},${side}]  %2 = matmul(%1, %1)  %3 = softmax(%2){axis=-1}
        output "y" = %3 }`;
    const x = { data: Float32Array.from({ length: side * side }, (_, i) => Math.sin(i * i)), shape: [side, side] };
    const found = [];
    for (const threads of [1, 2, 3, 2]) {
      const how = { wasmUrl: url, device: "cpu", threads };
      const lm = await rlx.loadLm(model, how),
        g = await rlx.graph(text, how);
      const inUse = (await rlx.about(how)).threads.inUse;
      const { y } = await g.run({ x });
      const words = await lm.generate("ROMEO:", { maxTokens: 60 }).text();
      await lm.close();
      await g.close();
      const about = await rlx.about(how);
      found.push({ threads, inUse, words, y: Array.from(y.data), about: about.threads, live: about.memory.live });
    }
    return found;
  },

  /* The text with one thread and with two. */
  async threadsRead(url, model) {
    const texts = [];
    for (const threads of [1, 2]) {
      const lm = await rlx.loadLm(model, { wasmUrl: url, device: "cpu", threads });
      texts.push(await lm.generate("a", { maxTokens: 4, ignoreEnd: true }).text());
      await lm.close();
    }
    return texts;
  },

  /* A load and two tokens, and the most memory that this process ever had. */
  async large(model) {
    const fs = await import("node:fs");
    const peak = () => 1024 * Number(/VmHWM:\s+(\d+)/.exec(fs.readFileSync("/proc/self/status", "utf8"))[1]);
    await rlx.about(cpu);
    const before = peak(),
      begin = performance.now();
    const lm = await rlx.loadLm(model, cpu),
      generation = lm.generate("a", { maxTokens: 2, ignoreEnd: true });
    await generation.text();
    const seconds = (performance.now() - begin) / 1000,
      module = (await rlx.about(cpu)).memory.bytes;
    await lm.close();
    return { before, peak: peak(), module, seconds, tokens: generation.stats.tokens };
  },

  /* Two texts of one model do not mix, nor do those of two models. */
  async together(model) {
    const a = await rlx.loadLm(model, cpu),
      b = await rlx.loadLm(model, cpu),
      how = { maxTokens: 30 };
    const alone = [await a.generate("ROMEO:", how).text(), await a.generate("JULIET:", how).text()];
    const mixed = await Promise.all([
      a.generate("ROMEO:", how).text(),
      a.generate("JULIET:", how).text(),
      b.generate("ROMEO:", how).text(),
      b.generate("JULIET:", how).text(),
    ]);
    return { alone, mixed };
  },

  /* The heap's blocks and the memory's size over many loads. */
  async cycles(model, times) {
    const sizes = [];
    for (let i = 0; i < Number(times); i++) {
      const lm = await rlx.loadLm(model, cpu);
      await lm.generate("A", { maxTokens: 2 }).text();
      await lm.close();
      sizes.push((await rlx.about(cpu)).memory);
    }
    return sizes;
  },

  /* An ONNX model with inputs made for what it declares; a size that inputs decide is 2. */
  async onnxAny(model) {
    const m = await rlx.loadOnnx(model, cpu),
      bytes = noise(),
      inputs = {};
    for (const { name: input, dtype, shape, optional } of m.inputs) {
      const sizes = shape.map((size) => (typeof size === "number" ? size : 2)),
        n = sizes.reduce((a, b) => a * b, 1);
      const data = Array.from({ length: n }, () =>
        dtype.startsWith("f") ? (bytes.next().value - 128) / 64 : bytes.next().value % 2,
      );
      if (!optional) inputs[input] = { data, shape: sizes, dtype };
    }
    const outputs = await m.run(inputs);
    const values = Object.fromEntries(
      Object.entries(outputs).map(([k, v]) => [k, { ...v, data: Array.from(v.data, Number) }]),
    );
    await m.close();
    return { inputs, values, live: (await rlx.about(cpu)).memory.live };
  },

  async onnx(model, inputs) {
    const m = await rlx.loadOnnx(model, cpu);
    const outputs = await m.run(JSON.parse(inputs)),
      again = await m.run(JSON.parse(inputs));
    const values = Object.fromEntries(
      Object.entries(outputs).map(([k, v]) => [k, { ...v, data: Array.from(v.data, Number) }]),
    );
    const same = Object.entries(outputs).every(([k, v]) => v.data.every((x, i) => Object.is(x, again[k].data[i])));
    const svg = await m.plan("svg");
    await m.close();
    return {
      inputs: m.inputs,
      outputs: m.outputs,
      values,
      same,
      svg: svg.slice(0, 4),
      live: (await rlx.about(cpu)).memory.live,
    };
  },

  async graph(text, inputs) {
    const g = await rlx.graph(text, cpu),
      outputs = await g.run(JSON.parse(inputs));
    const values = Object.fromEntries(
      Object.entries(outputs).map(([k, v]) => [k, { ...v, data: Array.from(v.data, Number) }]),
    );
    const plan = await g.plan(),
      dispatch = await g.dispatch("text");
    await g.close();
    const closed = await attempt(g.run(JSON.parse(inputs)));
    return { inputs: g.inputs, values, plan, dispatch, closed, live: (await rlx.about(cpu)).memory.live };
  },

  /* What must fail, with the error each time; afterwards the same worker still works. */
  async refused(model, ...sources) {
    const errors = {};
    for (const source of sources) {
      errors[source] = await attempt(rlx.loadLm(source, cpu).then(() => "loaded"));
      errors[`onnx ${source}`] = await attempt(rlx.loadOnnx(source, cpu).then(() => "loaded"));
    }
    const bytes = Uint8Array.from(
      { length: 5000 },
      (
        (g) => () =>
          g.next().value
      )(noise()),
    );
    errors.noise = await attempt(rlx.loadLm(bytes, cpu));
    errors.nothing = await attempt(rlx.loadLm(new ArrayBuffer(0), cpu));
    errors.number = await attempt(rlx.loadLm(42, cpu));
    errors.escape = await attempt(rlx.loadLm({ "../x": bytes }, cpu));
    errors.webgpu = await attempt(rlx.loadLm(model, { ...cpu, device: "webgpu" }));
    errors.device = await attempt(rlx.loadLm(model, { ...cpu, device: "abacus" }));
    errors.memory = await attempt(rlx.loadLm(model, { ...cpu, memoryLimit: 100000 }));
    errors.context = await attempt(rlx.loadLm(model, { ...cpu, context: -1 }));
    errors.module = await attempt(rlx.loadLm(model, { device: "cpu", wasmUrl: `${wasmUrl}absent.wasm` }));
    errors.noModule = await attempt(rlx.loadLm(model, { device: "cpu", wasmUrl: model }));
    errors.text = await attempt(rlx.graph("graph {", cpu));
    const lm = await rlx.loadLm(model, cpu),
      text = await lm.generate("ROMEO:", { maxTokens: 5 }).text();
    errors.template = await attempt(lm.chat([{ role: "user", content: "x" }]).text());
    errors.embed = await attempt(lm.embed("x"));
    errors.long = await attempt(lm.generate("word ".repeat(3000), { maxTokens: 5 }).text());
    await lm.close();
    await lm.close();
    errors.closed = await attempt(lm.generate("x").text());
    return { errors, text, live: (await rlx.about(cpu)).memory.live };
  },

  async load(source) {
    const lm = await rlx.loadLm(source, cpu),
      text = await lm.generate("ROMEO:", { maxTokens: 20 }).text();
    await lm.close();
    return text;
  },

  async conform(pattern) {
    const rows = [];
    const counts = await rlx.conform({ ...cpu, pattern, onRow: (row) => rows.push(row) });
    return { counts, rows: rows.length, failed: rows.filter((r) => r.result === "fail") };
  },
};

console.log(JSON.stringify(await cases[name](...args)));
await rlx.shutdown();
