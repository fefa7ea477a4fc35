/* Conversations in this browser: one entry of localStorage each, so that two tabs with two conversations do not
 * overwrite each other. What comes from there or from a file may be anything, and becomes a conversation by taking what
 * fits and leaving out the rest.
 *
 *   { id, title, changed, model, system, messages: [message] }
 *   message: { role: "user", content, files: [{ name, text }] }
 *            { role: "assistant", content, thought, calls: [{ name, arguments }], model, facts, note, error } */

const PREFIX = "rlx.chat.";
const MAX_MESSAGES = 10_000;

export const newId = () => Array.from(crypto.getRandomValues(new Uint32Array(3)), (n) => n.toString(36)).join("");

const text = (value) => (typeof value === "string" ? value : "");
const list = (value) => (Array.isArray(value) ? value : []);

function cleanMessage(m) {
  if (m?.role === "user") {
    const files = list(m.files).map((f) => ({ name: text(f?.name), text: text(f?.text) }));
    return { role: "user", content: text(m.content), files };
  }
  if (m?.role !== "assistant") return null;
  const calls = list(m.calls).map((c) => ({ name: text(c?.name), arguments: text(c?.arguments) }));
  const rest = { model: text(m.model), facts: text(m.facts), note: text(m.note), error: text(m.error) };
  return { role: "assistant", content: text(m.content), thought: text(m.thought), calls, ...rest };
}

function clean(c, id) {
  if (!c || typeof c !== "object" || !Array.isArray(c.messages)) return null;
  const messages = c.messages.slice(0, MAX_MESSAGES).map(cleanMessage).filter(Boolean);
  const changed = Number.isFinite(c.changed) ? c.changed : 0;
  return { id, title: text(c.title).slice(0, 200), changed, model: text(c.model), system: text(c.system), messages };
}

function parse(json, id) {
  try {
    return clean(JSON.parse(json), id);
  } catch {
    return null;
  }
}

/* ---- What the browser keeps, which it may forbid, and which may be full ---- */

/* `kind`: "localStorage", or "sessionStorage", which ends with the tab. */
export function kept(key, kind = "localStorage") {
  try {
    return window[kind].getItem(key);
  } catch {
    return null;
  }
}

/* False: it is not kept. */
export function keep(key, value, kind = "localStorage") {
  try {
    if (value === null) window[kind].removeItem(key);
    else window[kind].setItem(key, value);
    return true;
  } catch {
    return false;
  }
}

function keptKeys() {
  try {
    return Object.keys(localStorage);
  } catch {
    return [];
  }
}

/* ---- All conversations ---- */

export class Store {
  constructor() {
    this.all = new Map();
    for (const key of keptKeys()) this.take({ key, newValue: kept(key) });
  }

  /* The newest first. */
  list() {
    return [...this.all.values()].sort((a, b) => b.changed - a.changed);
  }

  /* False: the browser has no room. A conversation without messages is not kept. */
  save(c) {
    if (!this.all.has(c.id)) return true;
    return keep(PREFIX + c.id, c.messages.length ? JSON.stringify(c) : null);
  }

  remove(c) {
    this.all.delete(c.id);
    keep(PREFIX + c.id, null);
  }

  restore(c) {
    this.all.set(c.id, c);
    return this.save(c);
  }

  /* Another tab has changed an entry. The conversation's id, or null if it is none of ours. */
  take({ key, newValue }) {
    if (!key?.startsWith(PREFIX)) return null;
    const id = key.slice(PREFIX.length),
      found = newValue && parse(newValue, id);
    if (found) this.all.set(id, found);
    else this.all.delete(id);
    return id;
  }

  toFile() {
    return JSON.stringify({ format: "rlx.conversations", version: 1, conversations: this.list() }, null, 1);
  }

  /* Adds the conversations of a file, beside those that are here. How many; it throws for a file of another kind. */
  addFile(json) {
    const file = JSON.parse(json);
    if (file?.format !== "rlx.conversations") throw new Error("no conversations of this page");
    const found = list(file.conversations).map((c) => clean(c, newId()));
    const kept = found.filter((c) => c?.messages.length);
    for (const c of kept) if (!this.restore(c)) throw new Error("the browser has no room for all of them");
    return kept.length;
  }
}
