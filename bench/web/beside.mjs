/* rlx.js beside wllama (llama.cpp as WebAssembly): one language model, one browser, in turns, with the
 * same number of threads.
 *
 *   tools/setup test && npm install --prefix build/tools/npm @wllama/wllama
 *   node bench/web/beside.mjs MODEL.gguf [--tokens 48] [--prompt 100] [--runs 3] [--threads 1]
 *
 * A headless Chromium loads a page that has both. Each run asks for one token and for several after a prompt of words
 * that no earlier run had; the first time is the prompt's, the difference that of generation. Printed are the best rates
 * of the runs, and their ratio. */
import fs from "node:fs";
import path from "node:path";

import { PACKAGES, inBrowser, option } from "./browser.mjs";

const WLLAMA = path.join(PACKAGES, "node_modules/@wllama/wllama/esm");
const how = {
  tokens: option("tokens", 48),
  words: option("prompt", 100),
  runs: option("runs", 3),
  threads: option("threads", 1),
};
const model = process.argv[2];
if (!model || !fs.existsSync(WLLAMA)) {
  console.error(model ? "beside: @wllama/wllama is not installed (see the head of this file)" : "beside: which model?");
  process.exit(2);
}

/* ---- In the page ---- */

async function measure({ tokens, words, runs, threads }) {
  const rlx = await import("/rlx/index.js"),
    { Wllama } = await import("/wllama/index.js");
  const begin = performance.now();
  const lm = await rlx.loadLm("/model.gguf", { device: "cpu", context: 1024, threads });
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
  const about = await rlx.about({ device: "cpu" });
  return { best, wasm: about.wasm, own: about.threads.inUse, threads: wllama.getNumThreads() };
}

const { value, version } = await inBrowser(
  { files: { "/model.gguf": model }, folders: { wllama: WLLAMA } },
  measure,
  how,
);
const { best, wasm, own, threads } = value;
console.log(
  `${path.basename(model)}, Chromium ${version}, prompt of ${how.words} words, ${how.tokens} tokens generated`,
);
console.log(`rlx.js: ${path.basename(wasm)}, ${own} thread(s); wllama: ${threads} thread(s)`);
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
