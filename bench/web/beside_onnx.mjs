/* rlx.js beside onnxruntime-web (WebAssembly): ONNX models in one browser, one thread each, in turns.
 *
 *   tools/setup test && npm install --prefix build/tools/npm onnxruntime-web
 *   node bench/web/beside_onnx.mjs [--runs 20]
 *
 * Prints the best time of the runs of each, their ratio, and the largest difference of the outputs. Models come from
 * tools/fetch_model; one that cannot be had is named. */
import { spawnSync } from "node:child_process";
import fs from "node:fs";
import path from "node:path";

import { PACKAGES, ROOT, inBrowser, option } from "./browser.mjs";

const ORT = path.join(PACKAGES, "node_modules/onnxruntime-web/dist");
const runs = option("runs", 20);
const MODELS = [
  { name: "magika", fetch: "magika", file: "model.onnx", inputs: { bytes: ["int32", [1, 2048]] } },
  { name: "PP-OCRv4 finding", fetch: "ppocr", file: "ch_PP-OCRv4_det_infer.onnx", inputs: { x: ["float32", [1, 3, 320, 320]] } },
  { name: "PP-OCRv4 reading", fetch: "ppocr", file: "ch_PP-OCRv4_rec_infer.onnx", inputs: { x: ["float32", [1, 3, 48, 320]] } },
  { name: "PP-OCR angle", fetch: "ppocr", file: "ch_ppocr_mobile_v2.0_cls_infer.onnx", inputs: { x: ["float32", [1, 3, 48, 192]] } },
];
if (!fs.existsSync(ORT)) {
  console.error("beside_onnx: onnxruntime-web is not installed (see the head of this file)");
  process.exit(2);
}

const files = {},
  models = [];
for (const model of MODELS) {
  const done = spawnSync(path.join(ROOT, "tools/fetch_model"), [model.fetch], { encoding: "utf8" });
  const file = path.join(done.stdout.trim(), model.file);
  if (done.status || !fs.existsSync(file)) {
    console.log(`${model.name}: cannot be had: ${done.stderr.trim()}`);
    continue;
  }
  files[`/models/${models.length}.onnx`] = file;
  models.push({ ...model, url: `/models/${models.length}.onnx` });
}

async function measure({ models: list, runs: n }) {
  const rlx = await import("/rlx/index.js"),
    ort = await import("/ort/ort.wasm.min.mjs");
  ort.env.wasm.numThreads = 1;
  ort.env.wasm.wasmPaths = "/ort/";
  let state = 11;
  const next = () => (state = (state * 48271) % 2147483647) / 2147483647;
  const make = ([dtype, shape]) => {
    const size = shape.reduce((a, b) => a * b, 1);
    const data = dtype === "int32" ? new Int32Array(size) : new Float32Array(size);
    return { dtype, shape, data: data.map(() => (dtype === "int32" ? Math.floor(next() * 256) : next() - 0.5)) };
  };
  const rows = [];
  for (const { name, url, inputs } of list) {
    const ours = await rlx.loadOnnx(url, { device: "cpu" }),
      theirs = await ort.InferenceSession.create(url, { executionProviders: ["wasm"] });
    const tensors = Object.fromEntries(Object.entries(inputs).map(([key, kind]) => [key, make(kind)]));
    const feeds = Object.fromEntries(
      Object.entries(tensors).map(([key, t]) => [key, new ort.Tensor(t.dtype, t.data, t.shape)]),
    );
    const ask = {
      rlx: () => ours.run(Object.fromEntries(Object.entries(tensors).map(([k, t]) => [k, { data: t.data, shape: t.shape }]))),
      ort: () => theirs.run(feeds),
    };
    const best = { rlx: Infinity, ort: Infinity },
      last = {};
    for (let i = 0; i < n + 2; i++) {
      for (const key of ["rlx", "ort"]) {
        const from = performance.now();
        last[key] = await ask[key]();
        if (i >= 2) best[key] = Math.min(best[key], performance.now() - from);
      }
    }
    const [output] = Object.keys(last.ort),
      a = last.rlx[output].data,
      b = last.ort[output].data;
    let difference = a.length === b.length ? 0 : Infinity;
    for (let i = 0; i < b.length; i++) difference = Math.max(difference, Math.abs(a[i] - b[i]));
    rows.push({ name, ...best, difference });
    await ours.close();
    await theirs.release();
  }
  return { rows, wasm: (await rlx.about({ device: "cpu" })).wasm, version: ort.env.versions?.web };
}

const { value, version } = await inBrowser({ files, folders: { ort: ORT } }, measure, { models, runs });
console.log(`Chromium ${version}, ${path.basename(value.wasm)} and onnxruntime-web ${value.version}, one thread each`);
console.log("model               rlx ms   ort ms    ratio   largest difference");
for (const { name, rlx, ort, difference } of value.rows)
  console.log(
    [
      name.padEnd(18),
      rlx.toFixed(2).padStart(7),
      ort.toFixed(2).padStart(8),
      (ort / rlx).toFixed(2).padStart(8),
      difference.toExponential(1).padStart(13),
    ].join(" "),
  );
