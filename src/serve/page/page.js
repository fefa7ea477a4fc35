/* The page of rlx serve: conversations with the server's models. This file connects the parts: dom.js makes elements,
 * store.js keeps conversations, ask.js asks the server, message.js shows messages, files.js reads attached files,
 * settings.js has the settings.
 *
 * One conversation is shown (`current`); answers of others go on in the background (`runs`). */
import { apiKey, ask, AskError, listModels, setApiKey } from "./ask.js";
import { byId, download, fitHeight, iconButton, make } from "./dom.js";
import { countFiles, setUpFiles, takeFiles } from "./files.js";
import { contentOf, MessageView, titleOf } from "./message.js";
import { requestSettings, setUpSettings } from "./settings.js";
import { keep, kept, newId, Store } from "./store.js";

const SAVE_MS = 2000; // between savings of an answer that comes
const NOTICE_MS = 12_000;
const AT_END = 60; // pixels from the end that count as there
const IDEAS = ["Explain gravity in two sentences.", "Write a haiku about the sea.", "List three uses of a spoon."];
const ENDS = { length: "ended at the limit of tokens" };

const store = new Store();
const runs = new Map(); // by the conversation's id: { abort, message, .. }
let current = null,
  views = [], // of its messages
  models = [],
  isFollowing = true; // the end of the messages stays in sight

/* ---- Notices ---- */

let noticeTimer = 0;

/* A line above the form; `action` is [label, function]. Errors stay until the next one. */
function notice(text, { isError = false, action } = {}) {
  const line = byId("notice"),
    close = () => (line.hidden = true);
  clearTimeout(noticeTimer);
  line.classList.toggle("error", isError);
  line.replaceChildren(make("span", {}, text));
  if (action) {
    const [label, act] = action;
    line.append(make("button", { type: "button", className: "plain", onclick: () => (close(), act()) }, label));
  }
  line.append(iconButton("close", "Dismiss", close));
  line.hidden = false;
  if (!isError) noticeTimer = setTimeout(close, NOTICE_MS);
}

function save(c) {
  if (!store.save(c)) notice("The browser has no room for this conversation; export it to keep it.", { isError: true });
}

/* ---- The list of conversations ---- */

function showList() {
  byId("list").replaceChildren(...store.list().map(listItem));
}

function listItem(c) {
  const pick = make(
    "button",
    { type: "button", className: "pick", onclick: () => select(c) },
    c.title || "Conversation",
  );
  if (c.id === current?.id) pick.setAttribute("aria-current", "true");
  const item = make("li", {}, pick);
  item.append(
    iconButton("edit", `Rename ${c.title}`, () => rename(c, item)),
    iconButton("delete", `Delete ${c.title}`, () => removeConversation(c)),
  );
  if (runs.has(c.id)) item.classList.add("running");
  return item;
}

function rename(c, item) {
  const input = make("input", { value: c.title, maxLength: 200 });
  let isOver = false;
  const end = (keeps) => {
    if (isOver) return;
    isOver = true;
    if (keeps && input.value.trim()) c.title = input.value.trim();
    save(c);
    showList();
    showTitle();
    byId("list").querySelector("[aria-current]")?.focus();
  };
  input.setAttribute("aria-label", "Name of the conversation");
  input.onkeydown = (event) => {
    if (event.isComposing) return;
    if (event.key === "Enter" || event.key === "Escape") {
      event.stopPropagation();
      end(event.key === "Enter");
    }
  };
  input.onblur = () => end(true);
  item.replaceChildren(input);
  input.select();
}

function removeConversation(c) {
  runs.get(c.id)?.abort.abort();
  store.remove(c);
  if (c.id === current.id) select(store.list()[0] ?? draft());
  else showList();
  byId("new").focus();
  const undo = () => (store.restore(c), select(c));
  notice(`“${c.title}” was deleted.`, { action: ["Undo", undo] });
}

function removeAll() {
  const all = store.list();
  for (const c of all) {
    runs.get(c.id)?.abort.abort();
    store.remove(c);
  }
  byId("settings").close();
  select(draft());
  const undo = () => (all.forEach((c) => store.restore(c)), select(all[0]));
  if (all.length) notice(`${all.length} conversations were deleted.`, { action: ["Undo", undo] });
}

/* A conversation that is kept once it has a message. */
const draft = () => ({ id: newId(), title: "", changed: 0, model: "", system: "", messages: [] });

function select(c) {
  current = c;
  keep("rlx.current", c.id, "sessionStorage");
  showConversation();
  showList();
  openSide(false);
}

/* ---- The conversation ---- */

function showTitle() {
  const title = current.title || "New conversation";
  byId("title").textContent = title;
  document.title = current.title ? `${title} · RLX` : "RLX";
}

function addView(message) {
  const view = new MessageView(message, { edit, again, remove });
  views.push(view);
  byId("messages").append(view.element);
  if (runs.get(current.id)?.message === message) view.setRunning(true);
  return view;
}

const viewOf = (message) => views.find((view) => view.message === message);

function showConversation() {
  views = [];
  byId("messages").replaceChildren();
  current.messages.forEach(addView);
  byId("empty").hidden = current.messages.length > 0;
  byId("said").replaceChildren();
  showTitle();
  showModel();
  showBusy();
  isFollowing = true;
  follow();
}

function showBusy() {
  const isBusy = runs.has(current.id),
    isEmpty = !byId("text").value.trim() && !countFiles();
  if (isBusy && document.activeElement === byId("send")) byId("text").focus();
  byId("send").hidden = isBusy;
  byId("stop").hidden = !isBusy;
  byId("send").disabled = isEmpty;
}

function follow() {
  const log = byId("log");
  if (isFollowing) log.scrollTop = log.scrollHeight;
  byId("down").hidden = isFollowing;
}

function noteScroll() {
  const log = byId("log");
  isFollowing = log.scrollHeight - log.scrollTop - log.clientHeight < AT_END;
  byId("down").hidden = isFollowing;
}

/* ---- Changing messages ---- */

/* The conversation as it was, on demand. */
function offerUndo(c, text) {
  const before = c.messages.slice();
  const undo = async () => {
    await stop(c);
    c.messages = before;
    save(c);
    select(c);
  };
  notice(text, { action: ["Undo", undo] });
}

async function edit(message, text) {
  const c = current;
  if (message.role === "assistant") {
    message.content = text;
    save(c);
    viewOf(message)?.update();
    return;
  }
  if (!text.trim() && !message.files.length) return;
  await stop(c);
  const at = c.messages.indexOf(message);
  offerUndo(c, "The conversation goes on from the edited message.");
  c.messages = [...c.messages.slice(0, at), { ...message, content: text }];
  showConversation();
  answer(c);
}

async function again(message) {
  const c = current;
  await stop(c);
  const at = c.messages.indexOf(message) + (message.role === "user" ? 1 : 0);
  const isLost = c.messages.slice(at).some((m) => m.content);
  if (isLost) offerUndo(c, "The conversation goes on from here with a new answer.");
  c.messages = c.messages.slice(0, at);
  showConversation();
  answer(c);
}

async function remove(message) {
  const c = current;
  await stop(c);
  offerUndo(c, "The message was deleted.");
  c.messages = c.messages.filter((m) => m !== message);
  save(c);
  if (!c.messages.length) store.remove(c);
  showConversation();
  showList();
  byId("text").focus();
}

/* ---- Answers ---- */

function factsOf(run, usage) {
  const n = usage?.completion_tokens ?? run.pieces,
    seconds = (run.last - run.first) / 1000,
    facts = [`${n} ${n === 1 ? "token" : "tokens"}`];
  if (n > 1 && seconds > 0) facts[0] += `, ${((n - 1) / seconds).toFixed(1)} tokens/s`;
  if (run.first) facts.push(`${((run.first - run.begin) / 1000).toFixed(2)} s to the first`);
  const held = usage?.prompt_tokens_details?.cached_tokens;
  if (usage) facts.push(`prompt ${usage.prompt_tokens} tokens${held ? `, ${held} of them held` : ""}`);
  return facts.join(" · ");
}

/* The messages as the model is given them. Those of one side in a row, as after a failure, become one: templates want
 * the sides to alternate. */
function requestMessages(c) {
  const sent = c.system.trim() ? [{ role: "system", content: c.system }] : [];
  for (const message of c.messages) {
    const content = contentOf(message) || (message.calls?.length ? JSON.stringify(message.calls) : "");
    if (!content) continue;
    if (sent.at(-1)?.role === message.role) sent.at(-1).content += `\n\n${content}`;
    else sent.push({ role: message.role, content });
  }
  return sent;
}

function takeDelta(c, run, delta) {
  const { message } = run;
  message.content += delta.content ?? "";
  message.thought += delta.reasoning_content ?? "";
  for (const { index = 0, function: f } of delta.tool_calls ?? []) {
    const call = (message.calls[index] ??= { name: "", arguments: "" });
    call.name += f?.name ?? "";
    call.arguments += f?.arguments ?? "";
  }
  if (!delta.content && !delta.reasoning_content && !delta.tool_calls) return;
  run.last = performance.now();
  run.first ||= run.last;
  run.pieces++;
  message.facts = factsOf(run);
  if (!run.frame) run.frame = requestAnimationFrame(() => showProgress(c, run));
  if (run.last - run.saved > SAVE_MS) {
    run.saved = run.last;
    save(c);
  }
}

function showProgress(c, run) {
  run.frame = 0;
  if (c !== current) return;
  viewOf(run.message)?.update();
  say(run, false);
  follow();
}

/* For those who listen: whole sentences, as they come. */
function say(run, isOver) {
  const { content, error, note } = run.message;
  let end = content.length;
  if (!isOver)
    end =
      run.said +
      Math.max(...[". ", "! ", "? ", ": ", "\n"].map((mark) => content.slice(run.said).lastIndexOf(mark))) +
      1;
  const parts = [
    content
      .slice(run.said, end)
      .replace(/[*_`#|>]+/g, " ")
      .trim(),
    isOver && error,
    isOver && note,
  ];
  run.said = Math.max(run.said, end);
  for (const part of parts) if (part) byId("said").append(make("p", {}, part));
}

async function askWithKey(body, how) {
  for (;;) {
    try {
      return await ask(body, how);
    } catch (error) {
      if (error.status !== 401 || !(await askForKey())) throw error;
    }
  }
}

async function answer(c) {
  const begin = performance.now(),
    model = models.some((m) => m.id === c.model) ? c.model : byId("model").value;
  const message = { role: "assistant", content: "", thought: "", calls: [], model, facts: "", note: "", error: "" };
  const run = {
    abort: new AbortController(),
    message,
    begin,
    first: 0,
    last: 0,
    pieces: 0,
    said: 0,
    saved: begin,
    frame: 0,
  };
  const request = { ...requestSettings(), model, messages: requestMessages(c) };
  c.messages.push(message);
  c.changed = Date.now();
  run.isOver = new Promise((resolve) => (run.resolve = resolve));
  runs.set(c.id, run);
  save(c);
  byId("said").replaceChildren();
  if (c === current) addView(message);
  showBusy();
  showList();
  follow();
  try {
    const end = await askWithKey(request, { signal: run.abort.signal, delta: (delta) => takeDelta(c, run, delta) });
    message.facts = factsOf(run, end.usage);
    message.note = ENDS[end.reason] ?? "";
  } catch (error) {
    if (error.name === "AbortError") message.note = "stopped";
    else message.error = error instanceof AskError ? error.message : `The page failed: ${error.message}`;
  }
  endRun(c, run);
}

function endRun(c, run) {
  cancelAnimationFrame(run.frame);
  runs.delete(c.id);
  save(c);
  if (c === current) {
    viewOf(run.message)?.setRunning(false);
    say(run, true);
    follow();
  }
  showBusy();
  showList();
  run.resolve();
  if (!run.message.error) loadModels(true); // one may have been loaded, and now says what it is
}

/* Waits until the answer has ended. */
async function stop(c) {
  const run = runs.get(c.id);
  run?.abort.abort();
  await run?.isOver;
}

function send() {
  const area = byId("text"),
    content = area.value.trim(),
    c = current;
  if (runs.has(c.id) || (!content && !countFiles())) return;
  const message = { role: "user", content, files: takeFiles() };
  area.value = "";
  fitHeight(area);
  c.title ||= titleOf(message);
  c.model ||= byId("model").value;
  c.messages.push(message);
  store.restore(c);
  byId("empty").hidden = true;
  addView(message);
  showTitle();
  isFollowing = true;
  answer(c);
}

/* ---- Models and the key ---- */

const number = (n) => n.toLocaleString("en");

function aboutModel(model) {
  if (!model) return "";
  const facts = [model.id];
  if (model.parameters) facts.push(`${number(Math.round(model.parameters / 1e6))} million parameters`, model.weights);
  if (model.context) facts.push(`${number(model.context)} tokens of context`);
  if (model.state === "away") facts.push("loaded when it is asked");
  return facts.filter(Boolean).join(" · ");
}

function showModel() {
  const choice = byId("model"),
    wanted = [current.model, choice.value].find((id) => models.some((m) => m.id === id));
  choice.replaceChildren(...models.map((m) => new Option(m.id, m.id)));
  choice.disabled = !models.length;
  if (wanted) choice.value = wanted;
  const model = models.find((m) => m.id === choice.value);
  byId("about").textContent = choice.title = aboutModel(model);
}

/* One dialog at a time; true: there is a key to try. */
let asking = null;
function askForKey() {
  asking ??= new Promise((resolve) => {
    const dialog = byId("key"),
      had = apiKey();
    byId("key-text").value = "";
    byId("key-note").textContent = had
      ? "The key that was used is not the server’s."
      : "It is kept in this browser until the tab closes.";
    dialog.returnValue = "";
    byId("key-cancel").onclick = () => dialog.close();
    dialog.onclose = () => {
      asking = null;
      const key = byId("key-text").value.trim();
      if (dialog.returnValue === "ok" && key) setApiKey(key);
      resolve(dialog.returnValue === "ok" && key !== "");
    };
    dialog.showModal();
  });
  return asking;
}

async function loadModels(isQuiet = false) {
  try {
    models = await listModels();
    showModel();
  } catch (error) {
    if (isQuiet) return;
    if (error.status === 401 && (await askForKey())) return loadModels();
    notice(error.message, { isError: true, action: ["Try again", () => loadModels()] });
  }
}

/* ---- Around it ---- */

function openSide(isOpen) {
  byId("side").classList.toggle("open", isOpen);
  byId("shade").hidden = !isOpen;
  byId("side-open").setAttribute("aria-expanded", String(isOpen));
  if (isOpen) byId("new").focus();
}

function setUpSide() {
  byId("side-open").onclick = () => openSide(true);
  byId("side-close").onclick = byId("shade").onclick = () => {
    openSide(false);
    byId("side-open").focus();
  };
  byId("new").onclick = () => {
    select(draft());
    byId("text").focus();
  };
  byId("export").onclick = () => download("rlx-conversations.json", store.toFile());
  const input = byId("import-file");
  byId("import").onclick = () => input.click();
  input.onchange = async () => {
    const [file] = input.files;
    input.value = "";
    try {
      const n = store.addFile(await file.text());
      notice(`${n} ${n === 1 ? "conversation" : "conversations"} came from ${file.name}.`);
    } catch (error) {
      const why = error instanceof SyntaxError ? "it is no JSON" : error.message;
      notice(`${file.name} cannot be imported: ${why}.`, { isError: true });
    }
    showList();
  };
}

const darkSystem = matchMedia("(prefers-color-scheme: dark)");

function setTheme(theme) {
  const { dataset } = document.documentElement,
    isSystem = theme === (darkSystem.matches ? "dark" : "light");
  if (isSystem) delete dataset.theme;
  else dataset.theme = theme;
  keep("rlx.theme", isSystem ? null : theme);
}

function setUpTheme() {
  byId("theme").onclick = () => {
    const now = document.documentElement.dataset.theme ?? (darkSystem.matches ? "dark" : "light");
    setTheme(now === "dark" ? "light" : "dark");
  };
}

function setUpForm() {
  const area = byId("text");
  byId("form").onsubmit = (event) => {
    event.preventDefault();
    send();
  };
  area.oninput = () => {
    fitHeight(area);
    showBusy();
  };
  area.onkeydown = (event) => {
    if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
    event.preventDefault();
    send();
  };
  byId("stop").onclick = () => {
    stop(current);
    area.focus();
  };
  byId("down").onclick = () => {
    isFollowing = true;
    follow();
    byId("log").focus();
  };
  byId("log").addEventListener("scroll", noteScroll, { passive: true });
  byId("ideas").append(
    ...IDEAS.map((idea) => {
      const use = () => {
        area.value = idea;
        send();
        area.focus();
      };
      return make("button", { type: "button", className: "plain", onclick: use }, idea);
    }),
  );
  byId("model").onchange = () => {
    current.model = byId("model").value;
    save(current);
    showModel();
  };
}

function setUpWindow() {
  window.addEventListener("keydown", (event) => {
    if (event.key !== "Escape" || document.querySelector("dialog[open]")) return;
    if (byId("side").classList.contains("open")) byId("side-close").click();
    else if (runs.has(current.id)) byId("stop").click();
  });
  window.addEventListener("storage", (event) => {
    const isShown = event.key?.endsWith(current.id);
    if ([...runs.keys()].some((id) => event.key?.endsWith(id)) || !store.take(event)) return;
    if (isShown) select(store.all.get(current.id) ?? draft());
    else showList();
  });
  window.addEventListener("pagehide", () => {
    for (const id of runs.keys()) store.save(store.all.get(id) ?? {});
  });
  window.addEventListener("resize", follow);
}

function begin() {
  for (const button of document.querySelectorAll("button[aria-label]")) button.title ||= button.ariaLabel;
  setUpTheme();
  setUpSide();
  setUpForm();
  setUpFiles({ changed: showBusy, failed: (text) => notice(text, { isError: true }) });
  setUpWindow();
  setUpSettings({
    get: () => current.system,
    set: (text) => {
      current.system = text;
      save(current);
    },
  });
  byId("forget").onclick = () => {
    setApiKey(null);
    notice("The API key is forgotten.");
    byId("settings").close();
  };
  byId("delete-all").onclick = removeAll;
  select(store.all.get(kept("rlx.current", "sessionStorage")) ?? draft());
  byId("text").focus();
  loadModels().finally(() => (document.documentElement.dataset.ready = "yes"));
}

begin();
