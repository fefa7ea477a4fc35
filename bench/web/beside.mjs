/* rlx.js beside wllama (llama.cpp as WebAssembly): one language model, one browser, in turns. rlx.js has one thread;
 * --threads are wllama's.
 *
 *   tools/setup test && npm install --prefix build/tools/npm @wllama/wllama
 *   node bench/web/beside.mjs MODEL.gguf [--tokens 48] [--prompt 100] [--runs 3] [--threads 1]
 *
 * A headless Chromium loads a page that has both. Each run asks for one token and for several after a prompt of words
 * that no earlier run had; the first time is the prompt's, the difference that of generation. Printed are the best rates
 * of the runs, and their ratio. */
import fs from "node:fs";
import http from "node:http";
import { createRequire } from "node:module";
import path from "node:path";
import { fileURLToPath } from "node:url";

const ROOT = path.resolve(path.dirname(fileURLToPath(import.meta.url)), "../..");
const PACKAGES = path.join(ROOT, "build/tools/npm");
const WLLAMA = path.join(PACKAGES, "node_modules/@wllama/wllama/esm");
const TYPES = { js: "text/javascript", wasm: "application/wasm", html: "text/html" };

function option(name, fallback) {
  const at = process.argv.indexOf(`--${name}`);
  return at < 0 ? fallback : Number(process.argv.splice(at, 2)[1]);
}

const how = { tokens: option("tokens", 48), words: option("prompt", 100), runs: option("runs", 3), threads: option("threads", 1) };
const model = process.argv[2];
if (!model || !fs.existsSync(WLLAMA)) {
  console.error(model ? "beside: @wllama/wllama is not installed (see the head of this file)" : "beside: which model?");
  process.exit(2);
}

/* ---- The server ---- */

function fileOf(name) {
  if (name === "/") return null;
  if (name === "/model.gguf") return model;
  if (name === "/rlx/rlx_web.wasm") return path.join(ROOT, "build/wasm/rlx_web.wasm");
  if (name === "/rlx/rlx_web_relaxed.wasm") return path.join(ROOT, "build/wasm-relaxed/rlx_web.wasm");
  const [, from, rest] = name.match(/^\/(rlx|wllama)\/([\w./-]+)$/) ?? [];
  return from && !rest.includes("..") ? path.join(from === "rlx" ? path.join(ROOT, "web/rlx") : WLLAMA, rest) : undefined;
}

const server = http.createServer((request, response) => {
  const file = fileOf(new URL(request.url, "http://x").pathname);
  const headers = {
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Embedder-Policy": "require-corp",
    "Content-Type": TYPES[(file ?? "x.html").split(".").pop()] ?? "application/octet-stream",
  };
  if (file === null) return response.writeHead(200, headers).end("<!doctype html><title>beside</title>");
  if (!file || !fs.existsSync(file)) return response.writeHead(404).end();
  const size = fs.statSync(file).size,
    [, begin, end] = request.headers.range?.match(/bytes=(\d+)-(\d*)/) ?? [];
  const first = Number(begin ?? 0),
    last = end ? Math.min(Number(end), size - 1) : size - 1;
  headers["Content-Length"] = last - first + 1;
  if (begin !== undefined) headers["Content-Range"] = `bytes ${first}-${last}/${size}`;
  response.writeHead(begin === undefined ? 200 : 206, headers);
  fs.createReadStream(file, { start: first, end: last }).pipe(response);
});
await new Promise((resolve) => server.listen(0, "localhost", resolve));
const address = `http://localhost:${server.address().port}/`;

/* ---- In the page ---- */

async function measure({ tokens, words, runs, threads }) {
  const rlx = await import("/rlx/index.js"),
    { Wllama } = await import("/wllama/index.js");
  const begin = performance.now();
  const lm = await rlx.loadLm("/model.gguf", { device: "cpu", context: 1024 });
  const rlxLoad = performance.now() - begin;
  const wllama = new Wllama({ default: "/wllama/wasm/wllama.wasm" }, { suppressNativeLog: true });
  const blob = await (await fetch("/model.gguf")).blob(),
    middle = performance.now();
  await wllama.loadModel([blob], { n_threads: threads, n_gpu_layers: 0, n_ctx: 1024, n_batch: 512 });
  const wllamaLoad = performance.now() - middle;
  const ask = {
    rlx: (prompt, n) => lm.generate(prompt, { maxTokens: n, ignoreEnd: true }).text(),
    wllama: (prompt, n) =>
      wllama.createCompletion({ prompt, max_tokens: n, temperature: 0, cache_prompt: false, ignore_eos: true }),
  };
  const list = "king queen land sea grain town field river stone house bread salt road tree wind rain".split(" ");
  let state = 7;
  const makePrompt = () =>
    Array.from({ length: words }, () => list[(state = (state * 48271) % 2147483647) % list.length]).join(" ");
  const seconds = async (fn) => {
    const from = performance.now();
    await fn();
    return (performance.now() - from) / 1000;
  };
  const best = {};
  for (let i = 0; i < runs + 1; i++) {
    for (const name of Object.keys(ask)) {
      const prompt = makePrompt(),
        n = (await lm.tokenize(prompt)).length;
      const one = await seconds(() => ask[name](prompt, 1)),
        all = await seconds(() => ask[name](makePrompt(), tokens));
      if (!i) continue; // the first warms up
      best[name] ??= { prompt: 0, generate: 0 };
      best[name].prompt = Math.max(best[name].prompt, n / one);
      best[name].generate = Math.max(best[name].generate, (tokens - 1) / (all - one));
    }
  }
  best.rlx.load = rlxLoad / 1000;
  best.wllama.load = wllamaLoad / 1000;
  return { best, wasm: (await rlx.about({ device: "cpu" })).wasm, threads: wllama.getNumThreads() };
}

const { chromium } = createRequire(`${PACKAGES}/`)("playwright-core");
const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
  args: ["--no-sandbox", "--disable-gpu"],
});
const page = await (await browser.newContext()).newPage();
page.setDefaultTimeout(0);
page.on("pageerror", (error) => console.error(error.message));
await page.goto(address);
const { best, wasm, threads } = await page.evaluate(measure, how);
console.log(
  `${path.basename(model)}, Chromium ${browser.version()}, prompt of ${how.words} words, ${how.tokens} tokens generated`,
);
console.log(`rlx.js: ${path.basename(wasm)}, one thread; wllama: ${threads} thread(s)`);
console.log("              load s   prompt tokens/s   generated tokens/s");
for (const name of ["rlx", "wllama"]) {
  const { load, prompt, generate } = best[name];
  console.log(
    [name.padEnd(12), load.toFixed(2).padStart(7), prompt.toFixed(1).padStart(17), generate.toFixed(1).padStart(20)].join(" "),
  );
}
console.log(
  `ratio               ${(best.rlx.prompt / best.wllama.prompt).toFixed(2).padStart(17)} ${(
    best.rlx.generate / best.wllama.generate
  )
    .toFixed(2)
    .padStart(20)}`,
);
await browser.close();
server.close();
