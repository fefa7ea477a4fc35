/* Requests to the server: its models, and answers that come as server-sent events. Failures are AskErrors whose
 * messages a reader understands; an end that the reader asked for is an AbortError. */
import { keep, kept } from "./store.js";

export class AskError extends Error {
  constructor(message, status = 0) {
    super(message);
    this.status = status; // of HTTP; 0: there was no answer
  }
}

/* ---- The key ---- */

const KEY = "rlx.key";
let heldKey = null; // where the browser keeps nothing

export const apiKey = () => kept(KEY, "sessionStorage") ?? heldKey;

export function setApiKey(key) {
  heldKey = key;
  keep(KEY, key, "sessionStorage");
}

/* ---- Calls ---- */

const ABOUT = {
  400: "The server cannot do this",
  401: "The server wants an API key",
  404: "The server does not have this",
  413: "This is more than the server takes",
  429: "The server has too much to do. Try again in a moment",
  503: "The server is out of memory",
  504: "The answer took longer than the server allows",
};
const GONE = "The server does not answer. Does it still run, and is it reachable from here?";

/* A message of the server begins with a small letter and has no full stop. */
const inWords = (status, message) => `${ABOUT[status] ?? "The server failed"}${message ? `: ${message}` : ""}.`;

async function failureOf(response) {
  const text = await response.text().catch(() => "");
  let message = text.slice(0, 300);
  try {
    message = JSON.parse(text).error.message;
  } catch {
    // something between here and the server answered
  }
  return new AskError(inWords(response.status, message), response.status);
}

async function call(path, options = {}) {
  const key = apiKey(),
    headers = {
      ...(key && { Authorization: `Bearer ${key}` }),
      ...(options.body && { "Content-Type": "application/json" }),
    };
  let response;
  try {
    response = await fetch(path, { ...options, headers });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new AskError(GONE);
  }
  if (!response.ok) throw await failureOf(response);
  return response;
}

export async function listModels() {
  const { data } = await (await call("v1/models")).json();
  return data.filter((model) => !model.is_encoder);
}

/* ---- Answers ---- */

/* The data of each event. */
async function* eventsOf(response) {
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let held = "";
  for (;;) {
    const { value, done } = await reader.read();
    const blocks = (held + (value ?? "")).replaceAll("\r", "").split("\n\n");
    held = done ? "" : blocks.pop();
    for (const block of blocks) {
      const lines = block.split("\n").filter((line) => line.startsWith("data:"));
      if (lines.length) yield lines.map((line) => line.slice(5).trimStart()).join("\n");
    }
    if (done) return;
  }
}

/* Asks, and calls on.delta(delta) for each piece. Returns { reason, usage }. */
export async function ask(body, { signal, delta }) {
  const request = { ...body, stream: true, stream_options: { include_usage: true } };
  const response = await call("v1/chat/completions", { method: "POST", body: JSON.stringify(request), signal });
  const end = { reason: null, usage: null };
  let isWhole = false;
  try {
    for await (const data of eventsOf(response)) {
      if (data === "[DONE]") {
        isWhole = true;
        continue;
      }
      const event = JSON.parse(data);
      if (event.error) throw new AskError(inWords(event.error.code, event.error.message), 500);
      const choice = event.choices?.[0];
      if (choice?.delta) delta(choice.delta);
      end.reason = choice?.finish_reason ?? end.reason;
      end.usage = event.usage ?? end.usage;
    }
  } catch (error) {
    if (error.name === "AbortError" || error instanceof AskError) throw error;
    throw new AskError("The connection broke before the answer was complete.");
  }
  if (!isWhole) throw new AskError("The server ended the connection before the answer was complete.");
  return end;
}
