/* The JavaScript half of test_web_browser.py and test_web_faults.py: node browser.mjs CASE ADDRESS ARGUMENT.. drives a
 * headless Chromium by playwright-core, and prints one JSON document. PLAYWRIGHT names the folder with the package,
 * CHROMIUM the program. */
import { createRequire } from "node:module";

import { faultCases } from "./browser_faults.mjs";
import { worstContrast } from "./contrast.mjs";

const { chromium } = createRequire(`${process.env.PLAYWRIGHT}/`)("playwright-core");
const [name, address, ...args] = process.argv.slice(2);
const FLAGS = ["--no-sandbox", "--enable-unsafe-webgpu", "--use-webgpu-adapter=swiftshader"];
const LONG = 900_000;
const STREAMED = 4; // pieces of a text that must be seen before it is stopped

const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM,
  args: name === "noGpu" ? ["--no-sandbox", "--disable-features=WebGPU", "--disable-gpu"] : FLAGS,
});
const errors = [];

/* prepare(context) is called before the page is loaded. */
async function openPage({ prepare = () => {}, ...options } = {}) {
  const context = await browser.newContext({ viewport: { width: 1280, height: 900 }, ...options });
  await prepare(context);
  const page = await context.newPage();
  page.setDefaultTimeout(LONG);
  page.on("pageerror", (error) => errors.push(error.message));
  page.on("console", (message) => message.type() === "error" && errors.push(message.text()));
  await page.goto(address);
  await page.waitForFunction(() => document.documentElement.dataset.ready);
  await page.waitForFunction(() => !document.querySelector("#device-note").textContent.startsWith("Looking"));
  return page;
}

const noteIs = (page, id, pattern) =>
  page.waitForFunction(
    ([note, text]) => new RegExp(text).test(document.getElementById(note).textContent),
    [id, pattern],
  );

async function loadModel(page, device = "cpu") {
  if (device !== "cpu") await page.check(`input[value="${device}"]`);
  await page.click("#model-load");
  await noteIs(page, "model-note", "loaded in|Error");
  const note = await page.textContent("#model-note");
  if (note.startsWith("Error")) throw new Error(note);
  return note;
}

const cases = {
  ...faultCases({ browser, openPage, noteIs, errors }),

  async devices() {
    const page = await openPage();
    return page.evaluate(async () => {
      const rlx = await import("./rlx/index.js");
      return { ...(await rlx.devices()), about: await rlx.about({ device: "cpu" }), isolated: crossOriginIsolated };
    });
  },

  /* A text with one thread and with two, and what the page says of threads. */
  async threads() {
    const page = await openPage();
    return page.evaluate(async () => {
      const rlx = await import("./rlx/index.js"),
        texts = [],
        used = [];
      for (const threads of [1, 2]) {
        const lm = await rlx.loadLm("models/shakespeare.gguf", { device: "cpu", threads });
        texts.push(await lm.generate("ROMEO:", { maxTokens: 60 }).text());
        used.push((await rlx.about({ device: "cpu" })).threads.inUse);
        await lm.close();
      }
      const { threads, wasm } = await rlx.about({ device: "cpu" });
      return { texts, used, threads, wasm, note: document.getElementById("device-note").textContent };
    });
  },

  async noGpu() {
    const page = await openPage();
    return page.evaluate(async () => {
      const rlx = await import("./rlx/index.js");
      const text = 'graph { %1 = input "x" : f32[2]\n %2 = relu(%1)\n output "y" = %2 }';
      const error = await rlx.graph(text, { device: "webgpu" }).catch((e) => e);
      return {
        note: document.getElementById("device-note").textContent,
        why: rlx.whyNoWebGpu(),
        disabled: document.querySelector('input[value="webgpu"]').disabled,
        status: error.status,
        message: error.message,
      };
    });
  },

  /* patterns: with commas between; none: every op */
  async conform(device, patterns) {
    const page = await openPage();
    return page.evaluate(
      async ([where, which]) => {
        const rlx = await import("./rlx/index.js"),
          failed = [],
          sum = { pass: 0, host: 0, unsupported: 0, fail: 0 };
        for (const pattern of which) {
          const counts = await rlx.conform({
            device: where,
            pattern,
            onRow: (r) => r.result === "fail" && failed.push(r),
          });
          for (const result in sum) sum[result] += counts[result];
        }
        return { counts: sum, failed: failed.slice(0, 20) };
      },
      [device, patterns.split(",")],
    );
  },

  /* The same text as elsewhere, by each way of getting at a file. */
  async sources(device, file, ...urls) {
    const page = await openPage(),
      workers = new Set();
    page.on("worker", (worker) => workers.add(worker.url().split("/").pop()));
    await page.selectOption("#model-choice", "file");
    const texts = {};
    const generate = () =>
      page.evaluate(
        async ([where, url]) => {
          const rlx = await import("./rlx/index.js");
          const source = url ?? document.getElementById("model-file").files[0];
          try {
            const lm = await rlx.loadLm(source, { device: where, exact: true });
            const text = await lm.generate("ROMEO:", { maxTokens: 40 }).text();
            await lm.close();
            return text;
          } catch (error) {
            return { status: error.status, message: error.message };
          }
        },
        [device, generate.url],
      );
    await page.setInputFiles("#model-file", file);
    await noteIs(page, "model-note", "loaded in|Error");
    texts.file = await generate();
    for (const url of urls) {
      generate.url = url;
      texts[url] = await generate();
    }
    texts.left = await page.evaluate(async () => {
      const names = [];
      try {
        const folder = await (await navigator.storage.getDirectory()).getDirectoryHandle("rlx-downloads");
        for await (const entry of folder.keys()) names.push(entry);
      } catch {
        return "no folder";
      }
      return names;
    });
    return { ...texts, workers: [...workers], helper: workers.has("reader.js") };
  },

  /* The same greedy text on both devices, and what is left of the module's memory after it. */
  async bothDevices() {
    const page = await openPage();
    return page.evaluate(async () => {
      const rlx = await import("./rlx/index.js"),
        found = {};
      for (const device of ["cpu", "webgpu"]) {
        const lm = await rlx.loadLm("models/shakespeare.gguf", { device, exact: true });
        const text = await lm.generate("ROMEO:", { maxTokens: 12 }).text(),
          { backend } = lm.device;
        await lm.close();
        found[device] = { text, backend, live: (await rlx.about({ device })).memory.live };
      }
      return found;
    });
  },

  /* WebGPU where the module cannot suspend: a text, a graph, texts and loads that are stopped; why not, where memory is
   * not shared. */
  async withoutJspi() {
    const page = await openPage(),
      workers = new Set();
    page.on("worker", (worker) => workers.add(worker.url().split("/").pop()));
    const found = await page.evaluate(async () => {
      const rlx = await import("./rlx/index.js"),
        on = { device: "webgpu", jspi: false };
      const why = rlx.whyNoWebGpu(on);
      const text = `graph { %1 = input "x" : f32[3,5]  %2 = param "w" : f32[7,5]
        %3 = matmul(%1, %2) {trans_b=true}  %4 = softmax(%3)  output "y" = %4 }`;
      const inputs = {
        x: { data: new Float32Array(15).map((_, i) => Math.sin(i)), shape: [3, 5] },
        w: { data: new Float32Array(35).map((_, i) => Math.cos(i)), shape: [7, 5] },
      };
      const wrong = await rlx.graph(text, on).catch((e) => ({ status: e.status, message: e.message }));
      if (wrong.status) return { why, ...wrong };
      const values = async (graph) => [...(await graph.run(inputs)).y.data];
      const graph = { webgpu: await values(wrong), cpu: await values(await rlx.graph(text, { device: "cpu" })) };
      await wrong.close();
      const texts = {};
      for (const device of ["cpu", "webgpu"]) {
        const lm = await rlx.loadLm("models/shakespeare.gguf", { ...on, device, exact: true });
        texts[device] = await lm.generate("ROMEO:", { maxTokens: 12 }).text();
        texts[`${device} is`] = lm.device.backend;
        if (device === "webgpu") {
          const abort = new AbortController(),
            reply = lm.generate("ROMEO:", { maxTokens: 200, signal: abort.signal });
          let pieces = 0;
          texts.stopped = await (async () => {
            for await (const piece of reply) if (piece && ++pieces === 3) abort.abort();
            return "not stopped";
          })().catch((error) => error.name);
          texts.again = await lm.generate("ROMEO:", { maxTokens: 12 }).text();
        }
        await lm.close();
      }
      const abort = new AbortController();
      const load = await rlx
        .loadLm("models/shakespeare.gguf", { ...on, signal: abort.signal, onProgress: () => abort.abort() })
        .catch((error) => error.name);
      const { devices } = await rlx.devices(on);
      const { memory, wasm } = await rlx.about(on);
      return { why, graph, texts, load, devices: devices.map((d) => d.backend), live: memory.live, wasm };
    });
    return { ...found, workers: [...workers], errors };
  },

  /* Aborting a load: the call fails, and in the end nothing is left. */
  async cancelLoad() {
    const page = await openPage();
    return page.evaluate(async () => {
      const rlx = await import("./rlx/index.js"),
        abort = new AbortController(),
        device = "cpu";
      const outcome = await rlx
        .loadLm("models/shakespeare.gguf", { device, signal: abort.signal, onProgress: () => abort.abort() })
        .catch((error) => error.name);
      const lm = await rlx.loadLm("models/shakespeare.gguf", { device });
      const text = await lm.generate("ROMEO:", { maxTokens: 10 }).text();
      await lm.close();
      return { outcome, text, live: (await rlx.about({ device })).memory.live, isolated: crossOriginIsolated };
    });
  },

  /* Text streams into the page, and Stop ends it. */
  async chat(device) {
    const page = await openPage(),
      note = await loadModel(page, device);
    await page.fill("#chat-tokens", "4000");
    await page.fill("#chat-text", "ROMEO:\n");
    let lengths = [];
    while (lengths.length < STREAMED) lengths = await page.evaluate(sendAndStop, STREAMED); // a text may end at once
    await page.waitForFunction(() => !document.querySelector("#chat-send").disabled);
    const stopped = await page.textContent("#log .assistant:last-child");
    await page.waitForTimeout(500);
    const later = await page.textContent("#log .assistant:last-child");
    await page.fill("#chat-tokens", "20");
    await page.click("#chat-send");
    await page.waitForFunction(() => /Tokens\/s/.test(document.getElementById("speed").textContent));
    const plan = await page.evaluate(
      () => document.querySelector("#plan-picture svg")?.querySelectorAll("rect").length ?? 0,
    );
    return {
      note,
      lengths,
      stopped: stopped.length,
      later: later.length,
      speed: await page.textContent("#speed"),
      plan,
      errors,
    };
  },

  async onnx(file) {
    const page = await openPage();
    await page.setInputFiles("#magika-file", file);
    await noteIs(page, "magika-note", " ms on |Error");
    const kinds = [
      await page.textContent("#magika-note"),
      await page.textContent("#magika-result li strong").catch(() => ""),
    ];
    await page.click("#ocr-sample");
    await noteIs(page, "ocr-note", " s on |Error|No text");
    const lines = await page.$$eval("#ocr-result li", (list) => list.map((item) => item.textContent));
    return { kinds, note: await page.textContent("#ocr-note"), lines, errors };
  },

  /* Once loaded, without a network: the server is ended. */
  async offline(server) {
    const page = await openPage();
    await page.evaluate(() => navigator.serviceWorker.ready);
    await page.reload();
    await page.waitForFunction(() => document.documentElement.dataset.ready && navigator.serviceWorker.controller);
    await loadModel(page);
    const kept = () => page.evaluate(async () => (await (await caches.open("rlx-models-1")).keys()).length);
    while ((await kept()) !== 1) await page.waitForTimeout(50);
    process.kill(Number(server));
    await page.reload();
    await page.waitForFunction(() => document.documentElement.dataset.ready);
    const note = await loadModel(page);
    await page.fill("#chat-tokens", "10");
    await page.click("#chat-send");
    await page.waitForFunction(() => /Tokens\/s/.test(document.getElementById("speed").textContent));
    return { note, text: await page.textContent("#log .assistant") };
  },

  /* Names of all controls, contrast of all texts in both schemes, the keyboard, a phone's width. */
  async access() {
    const page = await openPage(),
      found = {};
    await loadModel(page);
    found.unnamed = await page.evaluate(() =>
      [...document.querySelectorAll("input, select, textarea, button")]
        .filter((e) => !(e.labels?.length || e.textContent.trim() || e.getAttribute("aria-label")))
        .map((e) => e.id),
    );
    found.live = await page.evaluate(() =>
      [...document.querySelectorAll('[role="status"], [role="log"]')].map((e) => e.id),
    );
    for (const colorScheme of ["light", "dark"]) {
      await page.emulateMedia({ colorScheme });
      found[colorScheme] = await page.evaluate(worstContrast);
    }
    await page.focus("#chat-text");
    const reached = [];
    for (let i = 0; i < 5; i++) {
      await page.keyboard.press("Tab");
      reached.push(await page.evaluate(() => document.activeElement.id));
    }
    found.reached = reached;
    const phone = await openPage({ viewport: { width: 360, height: 740 }, deviceScaleFactor: 2 });
    await loadModel(phone);
    found.wider = await phone.evaluate(
      () => document.documentElement.scrollWidth - document.documentElement.clientWidth,
    );
    return { ...found, errors };
  },

  async screenshots(folder) {
    for (const [file, viewport] of [
      ["web-desktop.png", { width: 1120, height: 860 }],
      ["web-phone.png", { width: 390, height: 844 }],
    ]) {
      const page = await openPage({ viewport });
      await loadModel(page);
      await page.fill("#chat-tokens", "60");
      await page.evaluate(() => (Math.random = () => 0.42)); // the seed
      await page.click("#chat-send");
      await page.waitForFunction(() => /Tokens\/s/.test(document.getElementById("speed").textContent));
      await page.evaluate(() => (document.activeElement.blur(), window.scrollTo(0, 0)));
      await page.screenshot({ path: `${folder}/${file}` });
    }
    return { errors };
  },
};

/* In the page: sends, and stops when the text has grown so many times. The lengths that it had; fewer: it ended first. */
function sendAndStop(count) {
  const log = document.getElementById("log"),
    lengths = [];
  return new Promise((resolve) => {
    const observer = new MutationObserver(() => {
      const text = log.lastElementChild.textContent,
        isOver = !log.hasAttribute("aria-busy");
      if (log.lastElementChild.className === "assistant" && text.length > (lengths.at(-1) ?? 0)) lengths.push(text.length);
      if (lengths.length < count && !isOver) return;
      observer.disconnect();
      document.getElementById("chat-stop").click();
      resolve(lengths);
    });
    observer.observe(log, { childList: true, subtree: true, attributes: true });
    document.getElementById("chat-send").click();
  });
}

try {
  console.log(JSON.stringify(await cases[name](...args)));
} finally {
  await browser.close();
}
