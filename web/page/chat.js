/* The language model: choosing one, loading it, the conversation, its speed and its memory plan.
 *
 * A model with a chat template converses; one without continues a text, and the conversation shows both parts. */
import * as rlx from "./rlx/index.js";
import { byId, closeAll, mebibytes, onFile, say, sayError, showFacts } from "./dom.js";

const KEEP_ALWAYS = 16 << 20; // bytes of a model that is kept for use without a network in any case

let lm = null;
let messages = [];
let loading = null; // AbortController
let answering = null; // AbortController

/* ---- Choosing and loading ---- */

function fillChoice(models) {
  const options = models
    .filter((m) => m.kind === "lm")
    .map((m) => {
      const option = new Option(
        m.url ? `${m.name} (${mebibytes(m.bytes)})` : `${m.name} (missing: ${m.missing})`,
        m.url ?? "",
      );
      option.disabled = !m.url;
      return option;
    });
  byId("model-choice").replaceChildren(
    ...options,
    new Option("a file of mine", "file"),
    new Option("an address", "url"),
  );
  showChoice();
}

function showChoice() {
  const { value } = byId("model-choice");
  byId("model-url-label").hidden = value !== "url";
  byId("model-file-label").hidden = value !== "file";
}

function chosenSource() {
  const { value } = byId("model-choice");
  if (value === "file") return byId("model-file").files[0];
  return value === "url" ? byId("model-url").value : value;
}

function setEnabled(isReady, isBusy) {
  byId("chat-text").disabled = !isReady;
  byId("chat-send").disabled = !isReady || isBusy;
  byId("chat-stop").disabled = !isBusy;
  byId("chat-clear").disabled = !isReady || isBusy;
}

function showProgress({ stage, done, total }) {
  const bar = byId("model-progress");
  if (total) bar.value = done / total;
  else bar.removeAttribute("value");
  if (stage === "download") say("model-note", `The server has no range requests: downloading, ${mebibytes(done)}`);
}

async function load(source, device) {
  loading?.abort();
  const abort = (loading = new AbortController());
  setEnabled(false, false);
  byId("model-progress").hidden = byId("model-cancel").hidden = false;
  byId("model-load").disabled = true;
  say("model-note", "Loading …");
  try {
    await unload();
    const begin = performance.now(),
      memoryLimit = 2 ** 20 * byId("model-memory").value;
    lm = await rlx.loadLm(source, { device, memoryLimit, signal: abort.signal, onProgress: showProgress });
    await showModel((performance.now() - begin) / 1000);
    keep(source);
  } catch (error) {
    if (error.name === "AbortError") say("model-note", "Loading was cancelled.");
    else sayError("model-note", error);
    if (loading === abort) await unload(); // it may have failed after the model was there
  } finally {
    if (loading === abort) {
      byId("model-progress").hidden = byId("model-cancel").hidden = true;
      byId("model-load").disabled = false;
      loading = null;
    }
  }
}

async function unload() {
  const old = lm;
  lm = null;
  setEnabled(false, false);
  byId("speed").replaceChildren();
  byId("plan-picture").replaceChildren();
  await closeAll(old);
}

/* For use without a network: models of this server, small ones always. */
function keep(source) {
  const isOurs = typeof source === "string" && source.startsWith("models/");
  if (isOurs && (byId("model-keep").checked || lm.info.weightBytes <= KEEP_ALWAYS))
    navigator.serviceWorker?.controller?.postMessage({ keep: new URL(source, location.href).href });
}

async function showModel(seconds) {
  const { info } = lm,
    canTalk = !!info.chatTemplate;
  messages = [];
  byId("log").replaceChildren();
  byId("chat-label").textContent = canTalk ? "Message" : "Text to continue (this model has no chat template)";
  byId("chat-text").value = canTalk ? "" : "ROMEO:\n";
  say(
    "model-note",
    `${info.name || info.family}: ${(info.parameters / 1e6).toFixed(1)} M parameters, ${info.weights}, loaded in ` +
      `${seconds.toFixed(1)} s on ${lm.device.name} (${lm.device.backend})`,
  );
  setEnabled(!info.isEncoder, false);
  showSpeed(null);
  const picture = new DOMParser().parseFromString(await lm.plan("svg"), "image/svg+xml").documentElement;
  byId("plan-picture").replaceChildren(document.importNode(picture, true));
}

/* ---- The conversation ---- */

function addMessage(role, text) {
  const line = document.createElement("p");
  line.className = role;
  line.textContent = text;
  byId("log").append(line);
  return line;
}

function showSpeed(stats) {
  const { info } = lm;
  const facts = [
    ["Device", `${lm.device.name} (${lm.device.backend})`],
    ["Weights", mebibytes(info.weightBytes)],
    ["Cache", mebibytes(info.stateBytes)],
    ["Scratch", mebibytes(info.scratchBytes)],
  ];
  if (stats) {
    const after = Math.max(0, stats.tokens - 1); // the first token belongs to the prompt's time
    facts.unshift(
      ["Tokens/s", stats.seconds > 0 ? (after / stats.seconds).toFixed(1) : "–"],
      ["Tokens", stats.tokens],
      ["Prompt", `${stats.promptTokens} tokens, ${(stats.promptTokens / stats.promptSeconds).toFixed(0)}/s`],
      ["Ended", stats.ended],
    );
  }
  showFacts(byId("speed"), facts);
}

async function answer(text) {
  const canTalk = !!lm.info.chatTemplate,
    temperature = byId("chat-temperature").value;
  const options = {
    maxTokens: Number(byId("chat-tokens").value) || 200,
    signal: (answering = new AbortController()).signal,
  };
  if (temperature !== "") options.temperature = Number(temperature);
  else if (!canTalk) options.temperature = 0.8;
  addMessage("user", text);
  const line = addMessage("assistant", "");
  if (canTalk) messages.push({ role: "user", content: text });
  const generation = canTalk ? lm.chat(messages, options) : lm.generate(text, options);
  setEnabled(true, true);
  byId("log").setAttribute("aria-busy", "true"); // read out when it is complete, not piece by piece
  try {
    for await (const piece of generation) {
      line.textContent += piece;
      byId("log").scrollTop = byId("log").scrollHeight;
    }
    showSpeed(generation.stats);
  } catch (error) {
    if (error.name === "AbortError") line.textContent += " …";
    else sayError("model-note", error);
    if (error.status === "device lost") await unload();
  } finally {
    if (canTalk) messages.push({ role: "assistant", content: line.textContent });
    answering = null;
    byId("log").removeAttribute("aria-busy");
    setEnabled(!!lm, false);
    byId(lm ? "chat-text" : "model-load").focus();
  }
}

export function startChat(models, getDevice) {
  fillChoice(models);
  byId("model-choice").addEventListener("change", showChoice);
  onFile(byId("model-file"), (file) => load(file, getDevice()));
  byId("model-cancel").addEventListener("click", () => loading?.abort());
  byId("model-form").addEventListener("submit", (event) => {
    event.preventDefault();
    const source = chosenSource();
    if (source) load(source, getDevice());
    else say("model-note", "Choose a file, or write an address.", true);
  });
  byId("chat-form").addEventListener("submit", (event) => {
    event.preventDefault();
    const text = byId("chat-text").value;
    if (!text.trim() || answering || !lm) return;
    if (lm.info.chatTemplate) byId("chat-text").value = "";
    answer(text);
  });
  byId("chat-text").addEventListener("keydown", (event) => {
    if (event.key !== "Enter" || event.shiftKey || event.isComposing || !lm?.info.chatTemplate) return;
    event.preventDefault();
    byId("chat-form").requestSubmit();
  });
  byId("chat-stop").addEventListener("click", () => answering?.abort());
  byId("chat-clear").addEventListener("click", () => {
    messages = [];
    byId("log").replaceChildren();
  });
}
