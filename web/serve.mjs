/* A server for the demo page, on this machine only: `node web/serve.mjs [--port N] [--plain]` prints the address.
 *
 * It serves web/page, the package web/rlx with the modules from build/, and the models that are here. Files are served
 * by name from a list that is made when they are asked for; nothing else can be reached. It answers range requests, and
 * sends the headers with which a page may share memory between threads (COOP, COEP); --plain omits those. */
import fs from "node:fs";
import http from "node:http";
import os from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";

const ROOT = path.resolve(path.dirname(fileURLToPath(import.meta.url)), "..");
const BUILD = process.env.RLX_WASM_DIR ? path.resolve(process.env.RLX_WASM_DIR) : path.join(ROOT, "build/wasm");
// Where tools/fetch_model puts models.
const CACHE = path.join(process.env.XDG_CACHE_HOME || path.join(os.homedir(), ".cache"), "rlx/models");

const TYPES = {
  html: "text/html; charset=utf-8",
  css: "text/css; charset=utf-8",
  js: "text/javascript; charset=utf-8",
  json: "application/json; charset=utf-8",
  webmanifest: "application/manifest+json",
  svg: "image/svg+xml",
  png: "image/png",
  wasm: "application/wasm",
  ts: "text/plain; charset=utf-8",
};

/* ---- What is served ---- */

const MODELS = [
  {
    name: "Shakespeare, 4.5 M parameters",
    kind: "lm",
    url: "models/shakespeare.gguf",
    file: path.join(ROOT, "models/shakespeare/shakespeare.gguf"),
  },
  {
    name: "SmolLM2 135M Instruct",
    kind: "lm",
    url: "models/smollm2.gguf",
    fetch: "smollm2",
    file: path.join(CACHE, "SmolLM2-135M-Instruct.Q4_1.gguf"),
  },
  {
    name: "magika",
    kind: "magika",
    url: "models/magika.onnx",
    fetch: "magika",
    file: path.join(CACHE, "magika/model.onnx"),
  },
  {
    name: "magika's labels",
    kind: "labels",
    url: "models/magika.json",
    fetch: "magika",
    file: path.join(CACHE, "magika/config.min.json"),
  },
  {
    name: "PP-OCRv4, finding text",
    kind: "ocr-find",
    url: "models/ocr_find.onnx",
    fetch: "ppocr",
    file: path.join(CACHE, "ppocr/ch_PP-OCRv4_det_infer.onnx"),
  },
  {
    name: "PP-OCRv4, reading text",
    kind: "ocr-read",
    url: "models/ocr_read.onnx",
    fetch: "ppocr",
    file: path.join(CACHE, "ppocr/ch_PP-OCRv4_rec_infer.onnx"),
  },
];

/* What the page asks for: models that are here, and how to get those that are not. */
function modelList() {
  return MODELS.map(({ name, kind, url, fetch, file }) => {
    const stat = fs.statSync(file, { throwIfNoEntry: false });
    return stat ? { name, kind, url, bytes: stat.size } : { name, kind, missing: `tools/fetch_model ${fetch}` };
  });
}

function filesBelow(folder, prefix, files) {
  for (const entry of fs.readdirSync(folder, { withFileTypes: true }))
    if (entry.isFile()) files.set(prefix + entry.name, path.join(folder, entry.name));
}

function findFile(name) {
  const files = new Map();
  filesBelow(path.join(ROOT, "web/page"), "", files);
  filesBelow(path.join(ROOT, "web/rlx"), "rlx/", files);
  files.set("colours.css", path.join(ROOT, "src/serve/page/colours.css")); // those of the page of rlx serve
  for (const variant of ["", "relaxed", "threads", "relaxed-threads"]) {
    const suffix = variant && `-${variant}`;
    files.set(`rlx/rlx_web${suffix.replaceAll("-", "_")}.wasm`, path.join(BUILD + suffix, "rlx_web.wasm"));
  }
  for (const { url, file } of MODELS) files.set(url, file);
  files.set("", files.get("index.html"));
  return files.get(name);
}

/* ---- Answers ---- */

const ISOLATED = {
  "Cross-Origin-Opener-Policy": "same-origin",
  "Cross-Origin-Embedder-Policy": "require-corp",
  "Cross-Origin-Resource-Policy": "same-origin",
};
const ALWAYS = {
  ...(process.argv.includes("--plain") ? {} : ISOLATED),
  "X-Content-Type-Options": "nosniff",
  "Cache-Control": "no-cache",
};

function refuse(response, status, text) {
  response.writeHead(status, { ...ALWAYS, "Content-Type": "text/plain; charset=utf-8" });
  response.end(`${text}\n`);
}

/* "bytes=10-19", "bytes=10-", "bytes=-5" -> [begin, end); null: no range; undefined: one that cannot be satisfied. */
function parseRange(text, size) {
  const match = /^bytes=(\d*)-(\d*)$/.exec(text ?? "");
  if (!match || (!match[1] && !match[2])) return null;
  const begin = match[1] ? Number(match[1]) : Math.max(0, size - Number(match[2]));
  const end = match[1] && match[2] ? Math.min(size, Number(match[2]) + 1) : size;
  return begin < end ? [begin, end] : undefined;
}

function sendFile(request, response, file) {
  const stat = fs.statSync(file, { throwIfNoEntry: false });
  if (!stat?.isFile()) return refuse(response, 404, "not here");
  const headers = {
    ...ALWAYS,
    "Content-Type": TYPES[path.extname(file).slice(1)] ?? "application/octet-stream",
    "Accept-Ranges": "bytes",
    ETag: `"${stat.size.toString(36)}-${Math.round(stat.mtimeMs).toString(36)}"`,
    "Last-Modified": stat.mtime.toUTCString(),
  };
  const range = parseRange(request.headers.range, stat.size);
  if (range === undefined) {
    response.writeHead(416, { ...ALWAYS, "Content-Range": `bytes */${stat.size}` });
    return response.end();
  }
  if (!range && request.headers["if-none-match"] === headers.ETag) {
    response.writeHead(304, headers);
    return response.end();
  }
  const [begin, end] = range ?? [0, stat.size];
  headers["Content-Length"] = end - begin;
  if (range) headers["Content-Range"] = `bytes ${begin}-${end - 1}/${stat.size}`;
  response.writeHead(range ? 206 : 200, headers);
  if (request.method === "HEAD" || end === begin) return response.end();
  const stream = fs.createReadStream(file, { start: begin, end: end - 1 });
  stream.on("error", () => response.destroy());
  return stream.pipe(response);
}

function answer(request, response) {
  if (request.method !== "GET" && request.method !== "HEAD") return refuse(response, 405, "only GET and HEAD");
  let name;
  try {
    name = decodeURIComponent(new URL(request.url, "http://localhost").pathname).slice(1);
  } catch {
    return refuse(response, 400, "no such name");
  }
  if (name === "models.json") {
    response.writeHead(200, { ...ALWAYS, "Content-Type": TYPES.json });
    return response.end(request.method === "HEAD" ? "" : JSON.stringify(modelList()));
  }
  const file = findFile(name);
  return file ? sendFile(request, response, file) : refuse(response, 404, "not here");
}

/* ---- Main ---- */

const at = process.argv.indexOf("--port");
const port = at > 0 ? Number(process.argv[at + 1]) : 8000;
if (!(port >= 0 && port < 65536)) {
  console.error("serve: expected --port N");
  process.exit(2);
}
if (!fs.existsSync(path.join(BUILD, "rlx_web.wasm"))) {
  console.error(`serve: ${BUILD}/rlx_web.wasm is not built (make web)`);
  process.exit(1);
}
const server = http.createServer(answer);
server.on("error", (error) => {
  console.error(
    `serve: ${error.code === "EADDRINUSE" ? `port ${port} is taken (--port N chooses another)` : error.message}`,
  );
  process.exit(1);
});
server.listen(port, "127.0.0.1", () => console.log(`http://localhost:${server.address().port}/`));
