/* What kind of file is it? magika looks at 1,024 bytes from either end, without white space there; 256 is padding. */
import * as rlx from "./rlx/index.js";
import { byId, closeAll, onFile, say, sayError } from "./dom.js";

const EACH = 1024,
  BLOCK = 4096,
  PADDING = 256,
  SHOWN = 3;
const isSpace = (byte) => byte === 0x20 || (byte >= 0x09 && byte <= 0x0d);
let loaded = null; // { model, labels, device }

async function unload() {
  const old = loaded;
  loaded = null;
  await closeAll(old?.model);
}

async function load(models, device) {
  if (loaded?.device === device) return loaded;
  await unload();
  const find = (kind) => models.find((m) => m.kind === kind) ?? {};
  if (!find("magika").url)
    throw new Error(`the server does not have the model: run ${find("magika").missing ?? "tools/fetch_model magika"}`);
  const labels = (await (await fetch(find("labels").url)).json()).target_labels_space;
  loaded = { model: await rlx.loadOnnx(find("magika").url, { device }), labels, device };
  return loaded;
}

async function features(file) {
  const x = new Int32Array(2 * EACH).fill(PADDING);
  const head = new Uint8Array(await file.slice(0, BLOCK).arrayBuffer());
  const tail = new Uint8Array(await file.slice(Math.max(0, file.size - BLOCK)).arrayBuffer());
  const first = head.findIndex((byte) => !isSpace(byte)),
    last = tail.findLastIndex((byte) => !isSpace(byte));
  if (first >= 0) x.set(head.subarray(first, first + EACH));
  const end = tail.subarray(Math.max(0, last + 1 - EACH), last + 1);
  x.set(end, 2 * EACH - end.length);
  return x;
}

function show(scores, labels) {
  const order = Array.from(scores.keys())
    .sort((a, b) => scores[b] - scores[a])
    .slice(0, SHOWN);
  byId("magika-result").replaceChildren(
    ...order.map((i) => {
      const row = document.createElement("li"),
        name = document.createElement("strong"),
        bar = document.createElement("meter");
      const share = `${(100 * scores[i]).toFixed(1)} %`,
        text = document.createElement("span");
      name.textContent = labels[i] ?? "?";
      bar.value = scores[i];
      bar.setAttribute("aria-hidden", "true");
      text.textContent = share;
      row.append(name, bar, text);
      return row;
    }),
  );
}

async function classify(file, models, device) {
  try {
    say("magika-note", "Loading magika …");
    const { model, labels } = await load(models, device);
    const bytes = await features(file),
      begin = performance.now();
    const { data } = Object.values(await model.run({ bytes: { data: bytes, shape: [1, 2 * EACH] } }))[0];
    show(data, labels);
    say("magika-note", `${file.name}: ${(performance.now() - begin).toFixed(0)} ms on ${model.device.backend}`);
  } catch (error) {
    sayError("magika-note", error);
    if (error.status === "device lost") await unload();
  }
}

export function startMagika(models, getDevice) {
  onFile(byId("magika-file"), (file) => classify(file, models, getDevice()));
}
