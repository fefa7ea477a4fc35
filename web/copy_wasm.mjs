/* Copies the built modules into the package, for npm pack: `npm pack ./web/rlx` runs it (prepack). */
import fs from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";

const root = path.resolve(path.dirname(fileURLToPath(import.meta.url)), "..");
const modules = {
  "build/wasm/rlx_web.wasm": "rlx_web.wasm",
  "build/wasm-relaxed/rlx_web.wasm": "rlx_web_relaxed.wasm",
  "build/wasm-threads/rlx_web.wasm": "rlx_web_threads.wasm",
  "build/wasm-relaxed-threads/rlx_web.wasm": "rlx_web_relaxed_threads.wasm",
};
let n = 0;
for (const [from, to] of Object.entries(modules)) {
  const source = path.join(root, from);
  if (!fs.existsSync(source)) continue;
  fs.copyFileSync(source, path.join(root, "web/rlx", to));
  n++;
}
if (!n) {
  console.error("copy_wasm: expected build/wasm/rlx_web.wasm, did not find it (make web)");
  process.exit(1);
}
