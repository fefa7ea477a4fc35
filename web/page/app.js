/* The demo page: devices first, then its parts (chat.js, magika.js, ocr.js), and the service worker behind it. */
import * as rlx from "./rlx/index.js";
import { byId, say } from "./dom.js";
import { startChat } from "./chat.js";
import { startMagika } from "./magika.js";
import { startOcr } from "./ocr.js";

const getDevice = () => document.querySelector('input[name="device"]:checked').value;

/* Which devices there are, and why one is absent. A GPU made of software is offered, not chosen. */
async function showDevices() {
  const { devices, absent } = await rlx.devices();
  const webgpu = devices.find((d) => d.backend === "webgpu"),
    cpu = devices.find((d) => d.backend === "cpu");
  const choice = document.querySelector('input[value="webgpu"]'),
    parts = [];
  choice.disabled = !webgpu;
  if (webgpu && webgpu.kind !== "software") choice.checked = true;
  if (webgpu)
    parts.push(`WebGPU: ${webgpu.name}${webgpu.kind === "software" ? " (software: slower than the CPU)" : ""}`);
  else parts.push(`No WebGPU: ${absent.find((a) => a.backend === "webgpu")?.why ?? "the reason is not known"}`);
  const about = await rlx.about({ device: "cpu" }),
    { usual, why } = about.threads;
  if (cpu)
    parts.push(`CPU: WebAssembly, ${cpu.features || "base"}, ${why ? `one thread: ${why}` : `threads: ${usual}`}`);
  say("device-note", parts.join(". "));
  byId("about").textContent = `RLX ${about.version}, ${about.wasm.split("/").pop()}`;
}

async function listModels() {
  try {
    return await (await fetch("models.json")).json();
  } catch {
    return []; // no server of ours: a file or an address can still be loaded
  }
}

navigator.serviceWorker?.register("sw.js").catch(() => {}); // without one the page works, but not offline
showDevices().catch((error) => say("device-note", error.message, true));
const models = await listModels();
startChat(models, getDevice);
startMagika(models, getDevice);
startOcr(models, getDevice);
document.documentElement.dataset.ready = "yes"; // tests wait for it
