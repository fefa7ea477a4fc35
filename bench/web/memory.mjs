/* How much memory a page needs while a model loads: the most that its process (the renderer) and the whole browser ever
 * had, for a File and for a URL. Linux alone, as /proc is asked.
 *
 *   tools/setup test
 *   node bench/web/memory.mjs [MODEL] [--plain 1]
 *
 * Without MODEL a file of 1 GiB with random weights is written by tests/web/random_model.py, and removed afterwards.
 * --plain 1: the page is not cross-origin isolated. */
import { spawnSync } from "node:child_process";
import fs from "node:fs";
import path from "node:path";

import { ROOT, inBrowser, option } from "./browser.mjs";

const plain = option("plain", 0) === 1,
  given = process.argv[2],
  file = path.resolve(given ?? path.join(ROOT, "build/large.gguf"));

/* The processes below this one, with their command lines. */
function processes() {
  const all = fs.readdirSync("/proc").filter((name) => /^\d+$/.test(name));
  const found = [];
  for (const pid of all) {
    try {
      const status = fs.readFileSync(`/proc/${pid}/status`, "utf8"),
        number = (key) => Number(new RegExp(`${key}:\\s+(\\d+)`).exec(status)?.[1] ?? 0);
      const command = fs.readFileSync(`/proc/${pid}/cmdline`, "utf8").replaceAll("\0", " ");
      found.push({ pid: Number(pid), parent: number("PPid"), bytes: 1024 * number("VmRSS"), command });
    } catch {
      // it has ended
    }
  }
  const below = new Set([process.pid]);
  for (let before = 0; before !== below.size;) {
    before = below.size;
    for (const { pid, parent } of found) if (below.has(parent)) below.add(pid);
  }
  return found.filter(({ pid, command }) => pid !== process.pid && below.has(pid) && command.includes("chrom"));
}

/* Runs fn and returns the most that was resident of the largest renderer, and of all processes together. */
async function watch(fn) {
  let page = 0,
    all = 0;
  const timer = setInterval(() => {
    const now = processes();
    page = Math.max(page, ...now.filter((p) => p.command.includes("--type=renderer")).map((p) => p.bytes));
    all = Math.max(all, now.reduce((sum, p) => sum + p.bytes, 0));
  }, 50);
  try {
    const value = await fn();
    return { ...value, page, all };
  } finally {
    clearInterval(timer);
  }
}

async function load(source) {
  const rlx = await import("/rlx/index.js");
  const from = performance.now(),
    lm = await rlx.loadLm(source ?? document.querySelector("input").files[0], { device: "cpu" });
  const seconds = (performance.now() - from) / 1000,
    { wasm, memory } = await rlx.about({ device: "cpu" });
  const generation = lm.generate("a", { maxTokens: 2, ignoreEnd: true });
  await generation.text();
  await lm.close();
  return { seconds, wasm, module: memory.bytes, tokens: generation.stats.tokens };
}

if (!given) {
  const code =
    "import pathlib, sys; sys.path[:0] = ['tests/web', 'tests/cli']; import random_model; " +
    "random_model.write_model(pathlib.Path(sys.argv[1]), width=2048, layers=16)";
  const done = spawnSync("python3", ["-c", code, file], { cwd: ROOT, stdio: "inherit" });
  if (done.status) process.exit(2);
}
try {
  const size = fs.statSync(file).size,
    mib = (n) => `${Math.round(n / 2 ** 20)} MiB`.padStart(9);
  console.log(`file ${mib(size)}${plain ? ", the page is not isolated" : ""}`);
  console.log("source      page      all processes    seconds  module");
  for (const kind of ["File", "URL"]) {
    const prepare = async (page) => {
      await page.setContent("<input type=file>");
      if (kind === "File") await page.setInputFiles("input", file);
    };
    const run = (page) => watch(() => page.evaluate(load, kind === "URL" ? "/model.gguf" : null));
    const { value } = await inBrowser({ files: { "/model.gguf": file }, plain, prepare, run });
    if (value.tokens !== 2) throw new Error(`${kind}: ${JSON.stringify(value)}`);
    const times = `${(value.page / size).toFixed(2)} x`;
    console.log(
      `${kind.padEnd(6)} ${mib(value.page)} (${times}) ${mib(value.all)}  ${value.seconds.toFixed(1).padStart(8)}` +
        `  ${path.basename(value.wasm)}`,
    );
  }
} finally {
  if (!given) fs.rmSync(file, { force: true });
}
