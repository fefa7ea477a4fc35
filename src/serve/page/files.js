/* Text files that go with the message that is being written: chosen, dropped or pasted, within limits. */
import { byId, iconButton, make } from "./dom.js";
import { fileFold } from "./message.js";

const MAX_FILE = 256 << 10,
  MAX_FILES = 1 << 20; // bytes of one, and of all of a message

let files = []; // { name, text }
let on = null; // changed(), failed(text)

export const countFiles = () => files.length;

/* The message takes them. */
export function takeFiles() {
  const taken = files;
  files = [];
  show();
  return taken;
}

function show() {
  byId("files").replaceChildren(
    ...files.map((file) => {
      const drop = () => {
        files = files.filter((f) => f !== file);
        show();
        byId("text").focus();
      };
      return make("li", {}, fileFold(file), iconButton("close", `Leave out ${file.name}`, drop));
    }),
  );
  on.changed();
}

async function readText(file) {
  if (file.size > MAX_FILE)
    throw new Error(`it has ${Math.ceil(file.size / 1024)} KiB, and ${MAX_FILE >> 10} KiB is the limit`);
  const text = await file
    .arrayBuffer()
    .then((bytes) => new TextDecoder("utf-8", { fatal: true }).decode(bytes))
    .catch(() => "\0");
  if (text.includes("\0")) throw new Error("it is no text in UTF-8");
  return text;
}

async function attach(chosen) {
  for (const file of chosen) {
    try {
      const text = await readText(file);
      if (files.reduce((sum, f) => sum + f.text.length, text.length) > MAX_FILES)
        throw new Error(`all files of a message have at most ${MAX_FILES >> 10} KiB`);
      files.push({ name: file.name, text });
    } catch (error) {
      on.failed(`${file.name} is not attached: ${error.message}.`);
    }
  }
  show();
  byId("text").focus();
}

export function setUpFiles(handlers) {
  const input = byId("attach-file");
  on = handlers;
  byId("attach").onclick = () => input.click();
  input.onchange = () => {
    attach([...input.files]);
    input.value = "";
  };
  for (const kind of ["dragover", "dragleave", "drop"])
    window.addEventListener(kind, (event) => {
      if (!event.dataTransfer?.types.includes("Files")) return;
      event.preventDefault(); // a file beside its place must not replace the page
      byId("form").classList.toggle("over", kind === "dragover");
      if (kind === "drop") attach([...event.dataTransfer.files]);
    });
  byId("text").addEventListener("paste", (event) => {
    if (!event.clipboardData?.files.length) return;
    event.preventDefault();
    attach([...event.clipboardData.files]);
  });
}
