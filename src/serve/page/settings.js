/* The dialog of settings: the system prompt of a conversation, and how tokens are drawn in all of them. */
import { byId, make } from "./dom.js";
import { keep, kept } from "./store.js";

const KEY = "rlx.settings";
/* Member of the request, label, attributes of the input. */
const FIELDS = [
  ["temperature", "Temperature", { min: 0, max: 5, step: 0.05 }],
  ["top_p", "Top p", { min: 0, max: 1, step: 0.01 }],
  ["top_k", "Top k (0: all)", { min: 0, step: 1 }],
  ["min_p", "Min p", { min: 0, max: 1, step: 0.01 }],
  ["repetition_penalty", "Repetition penalty", { min: 0.1, max: 5, step: 0.05 }],
  ["frequency_penalty", "Frequency penalty", { min: -2, max: 2, step: 0.1 }],
  ["presence_penalty", "Presence penalty", { min: -2, max: 2, step: 0.1 }],
  ["max_tokens", "Max tokens", { min: 1, step: 1 }],
  ["seed", "Seed", { min: 0, step: 1 }],
];

let values = {}; // of FIELDS; stops and more as they were typed

function read() {
  try {
    values = { ...JSON.parse(kept(KEY)) };
  } catch {
    values = {};
  }
}

const write = () => keep(KEY, JSON.stringify(values));

/* An object, or null. */
function moreFields() {
  if (!values.more) return {};
  try {
    const found = JSON.parse(values.more);
    return found && typeof found === "object" && !Array.isArray(found) ? found : null;
  } catch {
    return null;
  }
}

/* The members of a request that the reader has set. */
export function requestSettings() {
  const request = {};
  for (const [name] of FIELDS) if (typeof values[name] === "number") request[name] = values[name];
  const stop = `${values.stops ?? ""}`.split("\n").filter(Boolean);
  if (stop.length) request.stop = stop;
  return { ...request, ...moreFields() };
}

function show() {
  for (const [name] of FIELDS) byId(`set-${name}`).value = values[name] ?? "";
  byId("stops").value = values.stops ?? "";
  byId("more").value = values.more ?? "";
  judgeMore();
}

function judgeMore() {
  const isGood = moreFields() !== null;
  byId("more-note").textContent = isGood ? "" : "This is no JSON object, and is not sent.";
  byId("more-note").classList.toggle("error", !isGood);
  byId("more").setAttribute("aria-invalid", String(!isGood));
}

function makeField([name, label, attributes]) {
  const input = make("input", { id: `set-${name}`, type: "number", placeholder: "auto", ...attributes });
  input.oninput = () => {
    if (input.value === "" || !input.validity.valid) delete values[name];
    else values[name] = input.valueAsNumber;
    write();
  };
  return make("label", {}, label, input);
}

/* `system`: get() and set(text), of the conversation that is shown. */
export function setUpSettings(system) {
  byId("fields").append(...FIELDS.map(makeField));
  read();
  byId("settings-open").onclick = () => {
    show();
    byId("system").value = system.get();
    byId("settings").showModal();
  };
  byId("system").oninput = () => system.set(byId("system").value);
  for (const name of ["stops", "more"])
    byId(name).oninput = () => {
      values[name] = byId(name).value;
      judgeMore();
      write();
    };
  byId("reset").onclick = () => {
    values = {};
    write();
    show();
  };
  byId("settings").onclick = (event) => event.target === byId("settings") && byId("settings").close(); // beside it
}
