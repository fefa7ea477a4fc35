/* A page in a headless Chromium for benchmarks: files of this tree, of npm packages, and models, from a server on this
 * machine that answers range requests and isolates the page. */
import fs from "node:fs";
import http from "node:http";
import { createRequire } from "node:module";
import path from "node:path";
import { fileURLToPath } from "node:url";

export const ROOT = path.resolve(path.dirname(fileURLToPath(import.meta.url)), "../..");
export const PACKAGES = path.join(ROOT, "build/tools/npm");
const TYPES = { js: "text/javascript", mjs: "text/javascript", wasm: "application/wasm", html: "text/html" };

/* A number after --name, which is taken out of the arguments. */
export function option(name, fallback) {
  const at = process.argv.indexOf(`--${name}`);
  return at < 0 ? fallback : Number(process.argv.splice(at, 2)[1]);
}

/* The file of a path; null: the page itself; undefined: there is none. `files` and `folders` are by their path. */
function fileOf(name, { files, folders }) {
  if (name === "/") return null;
  if (files[name]) return files[name];
  const [, from, rest] = name.match(/^\/(\w+)\/([\w./-]+)$/) ?? [];
  return folders[from] && !rest.includes("..") ? path.join(folders[from], rest) : undefined;
}

function answer(request, response, served) {
  const file = fileOf(new URL(request.url, "http://x").pathname, served);
  const isolates = { "Cross-Origin-Opener-Policy": "same-origin", "Cross-Origin-Embedder-Policy": "require-corp" };
  const headers = {
    ...(served.plain ? {} : isolates),
    "Content-Type": TYPES[(file ?? "x.html").split(".").pop()] ?? "application/octet-stream",
  };
  if (file === null) return response.writeHead(200, headers).end("<!doctype html><title>bench</title>");
  if (!file || !fs.existsSync(file)) return response.writeHead(404).end();
  const size = fs.statSync(file).size,
    [, begin, end] = request.headers.range?.match(/bytes=(\d+)-(\d*)/) ?? [];
  const first = Number(begin ?? 0),
    last = end ? Math.min(Number(end), size - 1) : size - 1;
  headers["Content-Length"] = last - first + 1;
  if (begin !== undefined) headers["Content-Range"] = `bytes ${first}-${last}/${size}`;
  response.writeHead(begin === undefined ? 200 : 206, headers);
  fs.createReadStream(file, { start: first, end: last }).pipe(response);
}

/* Runs `measure(argument)` in the page, or run(page) here after prepare(page); returns its value and the browser's
 * version. plain: the page is not isolated. */
export async function inBrowser({ files = {}, folders = {}, plain, prepare, run }, measure, argument) {
  const served = {
    files: {
      "/rlx/rlx_web.wasm": path.join(ROOT, "build/wasm/rlx_web.wasm"),
      "/rlx/rlx_web_relaxed.wasm": path.join(ROOT, "build/wasm-relaxed/rlx_web.wasm"),
      "/rlx/rlx_web_threads.wasm": path.join(ROOT, "build/wasm-threads/rlx_web.wasm"),
      "/rlx/rlx_web_relaxed_threads.wasm": path.join(ROOT, "build/wasm-relaxed-threads/rlx_web.wasm"),
      ...files,
    },
    folders: { rlx: path.join(ROOT, "web/rlx"), ...folders },
    plain,
  };
  const server = http.createServer((request, response) => answer(request, response, served));
  await new Promise((resolve) => server.listen(0, "localhost", resolve));
  const { chromium } = createRequire(`${PACKAGES}/`)("playwright-core");
  const browser = await chromium.launch({
    executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
    args: ["--no-sandbox", "--disable-gpu"],
  });
  try {
    const page = await (await browser.newContext()).newPage();
    page.setDefaultTimeout(0);
    page.on("pageerror", (error) => console.error(error.message));
    await page.goto(`http://localhost:${server.address().port}/`);
    await prepare?.(page);
    const value = await (run ? run(page) : page.evaluate(measure, argument));
    return { value, version: browser.version() };
  } finally {
    await browser.close();
    server.close();
  }
}
