/* Speed of a language model by rlx.js in Node, for each variant of the module that is built.
 *
 *   node bench/web/speed.mjs [MODEL.gguf] [--tokens 64] [--prompt 128] [--runs 3]
 *
 * Prints loading, reading a prompt and generating, the best of the runs. The native command beside it:
 * rlx bench MODEL -p 128 -n 64 -t 1 --device cpu. */
import fs from "node:fs";
import path from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";

import * as rlx from "../../web/rlx/index.js";

const ROOT = path.resolve(path.dirname(fileURLToPath(import.meta.url)), "../..");

function option(name, fallback) {
  const at = process.argv.indexOf(`--${name}`);
  return at < 0 ? fallback : Number(process.argv.splice(at, 2)[1]);
}

const tokens = option("tokens", 64),
  promptTokens = option("prompt", 128),
  runs = option("runs", 3);
const model = process.argv[2] ?? path.join(ROOT, "models/shakespeare/shakespeare.gguf");

/* A text of so many tokens of this model. */
async function makePrompt(lm) {
  const words =
    "the king and the queen of a far land went to see how the grain was sold in the town by the sea ".repeat(100);
  return lm.detokenize((await lm.tokenize(words)).slice(0, promptTokens));
}

async function measure(wasmUrl) {
  const begin = performance.now(),
    lm = await rlx.loadLm(model, { device: "cpu", wasmUrl });
  const best = { load: (performance.now() - begin) / 1000, prompt: 0, generate: 0 },
    prompt = await makePrompt(lm);
  for (let i = 0; i < runs; i++) {
    const generation = lm.generate(prompt, { maxTokens: tokens, ignoreEnd: true });
    await generation.text();
    const { stats } = generation;
    best.prompt = Math.max(best.prompt, stats.promptTokens / stats.promptSeconds);
    best.generate = Math.max(best.generate, (stats.tokens - 1) / stats.seconds);
  }
  await lm.close();
  return best;
}

const features = (await rlx.about({ device: "cpu", wasmUrl: `${ROOT}/build/wasm/` })).features;
console.log(
  `${path.basename(model)}, Node ${process.version}, one thread, prompt of ${promptTokens} tokens, ${tokens} generated`,
);
console.log("module        load s   prompt tokens/s   generated tokens/s");
for (const [name, folder, isPossible] of [
  ["simd128", "build/wasm", true],
  ["relaxed", "build/wasm-relaxed", features.relaxed],
]) {
  const file = path.join(ROOT, folder, "rlx_web.wasm");
  const why = !fs.existsSync(file) ? "not built" : isPossible ? null : "this engine does not know it";
  if (why) {
    console.log(`${name.padEnd(12)}  ${why}`);
    continue;
  }
  const { load, prompt, generate } = await measure(pathToFileURL(file).href);
  console.log(
    [
      name.padEnd(12),
      load.toFixed(2).padStart(7),
      prompt.toFixed(1).padStart(17),
      generate.toFixed(1).padStart(20),
    ].join(" "),
  );
}
await rlx.shutdown();
