/* One message as elements. A message is an object of store.js; the view shows it and offers what can be done. */
import { copyText, fitHeight, icon, iconButton, make, shorten } from "./dom.js";
import { showMarkdown } from "./markdown.js";

/* ---- Parts ---- */

export function fileFold({ name, text }) {
  const summary = make("summary", {}, icon("file"), `${name} `, make("span", { className: "note" }, sizeText(text)));
  return make("details", { className: "fold" }, summary, make("pre", { tabIndex: 0 }, text));
}

export function sizeText(text) {
  const bytes = new Blob([text]).size;
  return bytes < 1024 ? `${bytes} bytes` : `${(bytes / 1024).toFixed(1)} KiB`;
}

function prettyJson(text) {
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}

const callElement = ({ name, arguments: given }) =>
  make(
    "figure",
    { className: "call" },
    make("figcaption", {}, "Call of ", make("code", {}, name)),
    make("pre", { tabIndex: 0 }, prettyJson(given)),
  );

/* What the model is given of a message: its text, then its files, each in a fence longer than any inside. */
export function contentOf(message) {
  const parts = [message.content];
  for (const { name, text } of message.files ?? []) {
    const longest = Math.max(2, ...Array.from(text.matchAll(/`+/g), (run) => run[0].length));
    const fence = "`".repeat(longest + 1);
    parts.push(`File ${name}:\n${fence}\n${text}${text.endsWith("\n") ? "" : "\n"}${fence}`);
  }
  return parts.filter(Boolean).join("\n\n");
}

/* ---- The view ---- */

/* `does`: edit(message, text), again(message), remove(message). */
export class MessageView {
  constructor(message, does) {
    const isMine = message.role === "user";
    Object.assign(this, { message, does, isMine, isRunning: false });
    this.files = make("div", { className: "files" });
    this.thoughtTitle = make("span");
    this.thoughtText = make("div", { className: "text" });
    this.thought = make(
      "details",
      { className: "fold", hidden: true },
      make("summary", {}, this.thoughtTitle),
      this.thoughtText,
    );
    this.text = make("div", { className: isMine ? "text mine-text" : "text" });
    this.calls = make("div");
    this.error = make("p", { className: "error", hidden: true });
    this.facts = make("span", { className: "note facts" });
    this.tools = make("div", { className: "tools" });
    const parts = isMine ? [this.text, this.files] : [this.thought, this.text, this.calls, this.error];
    this.body = make("div", { className: "body" }, ...parts);
    this.element = make("article", { className: `message ${isMine ? "mine" : "theirs"}` }, this.body, this.tools);
    this.element.setAttribute("aria-label", isMine ? "You" : "Answer");
    this.addTools();
    this.update();
  }

  addTools() {
    const { message, does, isMine } = this,
      copy = iconButton("copy", "Copy", () => copyText(copy, message.content));
    this.tools.append(
      copy,
      iconButton("edit", "Edit", () => this.edit()),
      iconButton("again", isMine ? "Send again" : "Regenerate", () => does.again(message)),
      iconButton("delete", "Delete", () => does.remove(message)),
    );
    if (!isMine) this.tools.append(this.facts);
  }

  /* Shows the message as it is now. */
  update() {
    const { message, isMine, isRunning } = this;
    if (isMine) this.text.textContent = message.content;
    else showMarkdown(this.text, message.content);
    this.text.hidden = !message.content && !isRunning;
    if (isMine) this.files.replaceChildren(...message.files.map(fileFold));
    else this.showAnswer(message, isRunning);
  }

  showAnswer(message, isRunning) {
    const isWaiting = isRunning && !message.content && !message.thought && !message.calls.length;
    if (isWaiting) this.text.replaceChildren(make("p", { className: "waiting" }, "…"));
    this.thought.hidden = !message.thought;
    if (message.thought) showMarkdown(this.thoughtText, message.thought);
    this.thoughtTitle.textContent = isRunning && !message.content ? "Thinking …" : "Thoughts";
    this.calls.replaceChildren(...message.calls.map(callElement));
    this.error.textContent = message.error;
    this.error.hidden = !message.error;
    if (message.error)
      this.error.append(
        " ",
        make("button", { type: "button", className: "plain", onclick: () => this.does.again(message) }, "Try again"),
      );
    this.facts.textContent = [message.note, message.facts].filter(Boolean).join(" · ");
  }

  setRunning(isRunning) {
    this.isRunning = isRunning;
    this.element.classList.toggle("running", isRunning);
    this.element.setAttribute("aria-busy", String(isRunning));
    this.update();
  }

  /* The text becomes a text area. Enter ends it in one's own message, Ctrl+Enter in an answer, which has lines. */
  edit() {
    if (this.isRunning || this.editor) return;
    const { message, isMine } = this,
      area = make("textarea", { value: message.content }),
      end = () => {
        this.editor.remove();
        this.editor = null;
        this.body.hidden = this.tools.hidden = false;
        this.tools.querySelectorAll("button")[1].focus();
      },
      keep = () => {
        end();
        this.does.edit(message, area.value);
      };
    area.setAttribute("aria-label", isMine ? "Your message" : "The answer");
    area.oninput = () => fitHeight(area);
    area.onkeydown = (event) => {
      if (event.isComposing) return;
      if (event.key === "Escape") {
        event.stopPropagation();
        end();
      } else if (event.key === "Enter" && !event.shiftKey && (isMine || event.ctrlKey || event.metaKey)) {
        event.preventDefault();
        keep();
      }
    };
    this.editor = make(
      "div",
      { className: "editor" },
      area,
      make(
        "div",
        { className: "row end" },
        make("button", { type: "button", className: "plain", onclick: end }, "Cancel"),
        make("button", { type: "button", onclick: keep }, isMine ? "Send" : "Save"),
      ),
    );
    this.body.hidden = this.tools.hidden = true;
    this.element.prepend(this.editor);
    fitHeight(area);
    area.focus();
  }
}

/* The title of a conversation: how its first message begins. */
export const titleOf = (message) =>
  shorten(message.content.trim().replace(/\s+/g, " ") || message.files[0]?.name || "Conversation", 60);
