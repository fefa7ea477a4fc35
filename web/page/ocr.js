/* Reading a picture: one model marks the pixels of text, whose connected areas are the lines; another reads each line.
 *
 * Both take any size; each new size is compiled once. Colours are blue, green, red, from -1 to 1. The alphabet is in
 * the metadata of the second: a letter per line, number 0 means none, and after the last comes the space. Lines must
 * run from left to right; pictures that are turned are not handled. */
import * as rlx from "./rlx/index.js";
import { byId, closeAll, onFile, say, sayError } from "./dom.js";

const LONGEST = 960,
  HEIGHT = 48,
  IS_TEXT = 0.3,
  SMALLEST = 20;
let loaded = null;

async function unload() {
  const old = loaded;
  loaded = null;
  await closeAll(old?.find, old?.read);
}

async function load(models, device) {
  if (loaded?.device === device) return loaded;
  await unload();
  const find = (kind) => models.find((m) => m.kind === kind) ?? {};
  if (!find("ocr-find").url)
    throw new Error(
      `the server does not have the models: run ${find("ocr-find").missing ?? "tools/fetch_model ppocr"}`,
    );
  const read = await rlx.loadOnnx(find("ocr-read").url, { device });
  try {
    const letters = ["", ...read.info.metadata.character.split("\n"), " "];
    loaded = { find: await rlx.loadOnnx(find("ocr-find").url, { device }), read, letters, device };
  } catch (error) {
    await closeAll(read);
    throw error;
  }
  return loaded;
}

/* A part of the picture at another size, as the models want it. */
function planes(picture, { x, y, w, h }, width, height) {
  const canvas = new OffscreenCanvas(width, height),
    context = canvas.getContext("2d", { willReadFrequently: true });
  context.fillStyle = "white";
  context.fillRect(0, 0, width, height);
  context.drawImage(picture, x, y, w, h, 0, 0, width, height);
  const pixels = context.getImageData(0, 0, width, height).data,
    n = width * height,
    data = new Float32Array(3 * n);
  for (let i = 0; i < n; i++) for (let c = 0; c < 3; c++) data[(2 - c) * n + i] = pixels[4 * i + c] / 127.5 - 1;
  return { data, shape: [1, 3, height, width] };
}

/* Boxes around connected areas of text, top to bottom, slightly enlarged, in the picture's own pixels. */
function findBoxes(map, width, height, picture) {
  const seen = new Uint8Array(width * height),
    boxes = [];
  for (let start = 0; start < map.length; start++) {
    if (seen[start] || map[start] < IS_TEXT) continue;
    const box = { left: width, top: height, right: 0, bottom: 0 },
      todo = [start];
    let n = 0;
    seen[start] = 1;
    while (todo.length) {
      const at = todo.pop(),
        x = at % width,
        y = (at - x) / width;
      n++;
      ((box.left = Math.min(box.left, x)), (box.right = Math.max(box.right, x + 1)));
      ((box.top = Math.min(box.top, y)), (box.bottom = Math.max(box.bottom, y + 1)));
      for (const next of [x > 0 && at - 1, x + 1 < width && at + 1, y > 0 && at - width, y + 1 < height && at + width])
        if (next !== false && !seen[next] && map[next] >= IS_TEXT) {
          seen[next] = 1;
          todo.push(next);
        }
    }
    if (n >= SMALLEST) boxes.push(box);
  }
  return boxes
    .map(({ left, top, right, bottom }) => {
      const more = (bottom - top) * 0.4 + 2,
        sx = picture.width / width,
        sy = picture.height / height;
      const x = Math.max(0, (left - more) * sx),
        y = Math.max(0, (top - more) * sy);
      return {
        x,
        y,
        w: Math.min(picture.width, (right + more) * sx) - x,
        h: Math.min(picture.height, (bottom + more) * sy) - y,
      };
    })
    .sort((a, b) => (Math.abs(a.y - b.y) > Math.min(a.h, b.h) / 2 ? a.y - b.y : a.x - b.x));
}

/* The likeliest letter of each step; equal neighbours are one. */
function toText({ data, shape }, letters) {
  const [, steps, classes] = shape;
  let text = "",
    last = 0;
  for (let t = 0; t < steps; t++) {
    let best = 0;
    for (let i = 1; i < classes; i++) if (data[t * classes + i] > data[t * classes + best]) best = i;
    if (best && best !== last) text += letters[best] ?? "";
    last = best;
  }
  return text;
}

const output = async (model, tensor) => Object.values(await model.run({ [model.inputs[0].name]: tensor }))[0];

function draw(picture, boxes) {
  const canvas = byId("ocr-canvas"),
    context = canvas.getContext("2d");
  canvas.hidden = false;
  canvas.width = picture.width;
  canvas.height = picture.height;
  context.drawImage(picture, 0, 0);
  context.strokeStyle = "#d03a20";
  context.lineWidth = Math.max(1, picture.width / 400);
  for (const { x, y, w, h } of boxes) context.strokeRect(x, y, w, h);
}

async function readPicture(picture, models, device) {
  try {
    byId("ocr-result").replaceChildren();
    say("ocr-note", "Loading the models …");
    const { find, read, letters } = await load(models, device),
      begin = performance.now();
    const scale = Math.min(1, LONGEST / Math.max(picture.width, picture.height));
    const width = Math.max(32, Math.round((picture.width * scale) / 32) * 32);
    const height = Math.max(32, Math.round((picture.height * scale) / 32) * 32);
    say("ocr-note", "Looking for text …");
    const whole = { x: 0, y: 0, w: picture.width, h: picture.height };
    const boxes = findBoxes((await output(find, planes(picture, whole, width, height))).data, width, height, picture);
    draw(picture, boxes);
    for (const [i, box] of boxes.entries()) {
      say("ocr-note", `Reading line ${i + 1} of ${boxes.length} …`);
      const wide = Math.max(16, Math.round((HEIGHT * box.w) / box.h / 8) * 8);
      const item = document.createElement("li");
      item.textContent = toText(await output(read, planes(picture, box, wide, HEIGHT)), letters);
      byId("ocr-result").append(item);
    }
    const seconds = ((performance.now() - begin) / 1000).toFixed(1);
    say(
      "ocr-note",
      boxes.length ? `${boxes.length} lines, ${seconds} s on ${read.device.backend}` : "No text was found.",
    );
  } catch (error) {
    sayError("ocr-note", error);
    if (error.status === "device lost") await unload();
  }
}

function samplePicture() {
  const canvas = new OffscreenCanvas(480, 140),
    context = canvas.getContext("2d");
  context.fillStyle = "#fdfcf5";
  context.fillRect(0, 0, 480, 140);
  context.fillStyle = "#202830";
  context.font = "36px sans-serif";
  context.fillText("Hello, RLX 2026", 24, 56);
  context.fillText("runs in the browser", 24, 112);
  return canvas;
}

export function startOcr(models, getDevice) {
  onFile(byId("ocr-file"), async (file) => {
    try {
      await readPicture(await createImageBitmap(file), models, getDevice());
    } catch {
      say("ocr-note", `${file.name} is no picture that this browser knows`, true);
    }
  });
  byId("ocr-sample").addEventListener("click", () => readPicture(samplePicture(), models, getDevice()));
}
