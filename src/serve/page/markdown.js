/* Markdown as elements. What a model writes is shown as it wrote it, and none of it can become markup: this makes
 * elements of a few kinds and text nodes, and links to http and https alone. Pictures are links, HTML is text.
 *
 * The text is cut into blocks by lines, and a block's text is read from left to right. A text that grows is shown
 * again and again, so blocks that did not change keep their elements. Time is linear in the text but for nesting, whose
 * depth is limited: a text made to take long must not stop the page. */
import { copyText, make } from "./dom.js";

const MAX_DEPTH = 10;
const MAX_ADDRESS = 2000;

/* ---- Blocks ---- */

const FENCE = /^ {0,3}(`{3,}|~{3,})(?!~)([^`]*)$/;
const HEADING = /^ {0,3}(#{1,6})(?: |$)/;
const RULE = /^ {0,3}([-*_])(?: *\1){2,} *$/;
const QUOTE = /^ {0,3}> ?/;
const ITEM = /^( *)([-*+]|\d{1,9}[.)])( +|$)/;
const DIVIDER = /^[ :|-]+$/;

const indentOf = (line) => line.length - line.trimStart().length;
const isBlank = (line) => line.trim() === "";

function beginsBlock(line) {
  const item = ITEM.exec(line);
  const interrupts = item && item[3] && (!/\d/.test(item[2]) || /^1[.)]/.test(item[2]));
  return FENCE.test(line) || HEADING.test(line) || RULE.test(line) || QUOTE.test(line) || interrupts;
}

function takeCode(lines, at, fence) {
  const inside = [],
    indent = indentOf(lines[at]);
  let i = at + 1,
    isOpen = true;
  for (; i < lines.length; i++) {
    const line = lines[i].trim();
    if (line.startsWith(fence[1]) && line === fence[1][0].repeat(line.length)) {
      isOpen = false;
      i++;
      break;
    }
    inside.push(lines[i].slice(Math.min(indent, indentOf(lines[i]))));
  }
  return { kind: "code", language: fence[2].trim().split(/\s/)[0], lines: inside, isOpen, end: i };
}

function takeWhile(lines, at, kind, belongs) {
  let end = at + 1;
  while (end < lines.length && belongs(lines[end])) end++;
  return { kind, lines: lines.slice(at, end), end };
}

/* Items begin with markers of one kind at about one indent; what is indented further belongs to the item before. */
function takeList(lines, at, first) {
  const isOrdered = /\d/.test(first[2]),
    items = [];
  let i = at,
    width = 0,
    base = first[1].length,
    isLoose = false;
  const isSibling = (item) =>
    item[1].length <= base || (item[1].length < base + Math.max(width, 2) && /\d/.test(item[2]) === isOrdered);
  for (; i < lines.length; i++) {
    const line = lines[i],
      item = ITEM.exec(line),
      isAfterBlank = i > at && isBlank(lines[i - 1]);
    if (isBlank(line)) {
      items.at(-1).push("");
    } else if (item && isSibling(item) && !RULE.test(line)) {
      if (/\d/.test(item[2]) !== isOrdered || item[1].length + 3 < base) break;
      isLoose ||= isAfterBlank;
      width = item[2].length + Math.min(item[3].length || 1, 4);
      base = item[1].length;
      items.push([line.slice(item[0].length > base + width ? base + width : item[0].length)]);
    } else if (indentOf(line) > base) {
      items.at(-1).push(line.slice(Math.min(indentOf(line), base + width)));
    } else if (!isAfterBlank && !beginsBlock(line)) {
      items.at(-1).push(line); // a paragraph that goes on without an indent
    } else {
      break;
    }
  }
  return { kind: "list", isOrdered, isLoose, start: parseInt(first[2], 10), items, lines: lines.slice(at, i), end: i };
}

function takeBlock(lines, at) {
  const line = lines[at],
    fence = FENCE.exec(line),
    item = ITEM.exec(line);
  if (fence) return takeCode(lines, at, fence);
  if (HEADING.test(line)) return { kind: "heading", lines: [line], end: at + 1 };
  if (RULE.test(line)) return { kind: "rule", lines: [line], end: at + 1 };
  if (QUOTE.test(line)) return takeWhile(lines, at, "quote", (next) => QUOTE.test(next));
  if (item) return takeList(lines, at, item);
  const divider = lines[at + 1];
  if (line.includes("|") && divider?.includes("|") && divider.includes("-") && DIVIDER.test(divider))
    return takeWhile(lines, at, "table", (next) => next.includes("|"));
  return takeWhile(lines, at, "paragraph", (next) => !isBlank(next) && !beginsBlock(next));
}

function blocksOf(lines) {
  const blocks = [];
  for (let at = 0; at < lines.length;) {
    if (isBlank(lines[at])) {
      at++;
      continue;
    }
    const block = takeBlock(lines, at);
    blocks.push(block);
    at = block.end;
  }
  return blocks;
}

/* ---- Blocks as elements ---- */

function codeElement({ language, lines }) {
  const code = make("code", {}, lines.join("\n")),
    button = make("button", { type: "button", className: "plain" }, "Copy"),
    pre = make("pre", { tabIndex: 0 }, code);
  button.onclick = () => copyText(button, code.textContent);
  return make("div", { className: "code" }, make("div", { className: "bar" }, language || "text", button), pre);
}

function cellsOf(line) {
  const text = line.trim().replace(/^\|/, ""),
    cells = text.split(/(?<!\\)\|/);
  if (text.endsWith("|")) cells.pop();
  return cells.map((cell) => cell.trim().replaceAll("\\|", "|"));
}

function tableElement({ lines }) {
  const [head, divider, ...rows] = lines.map(cellsOf);
  const rowElement = (cells, tag) =>
    make(
      "tr",
      {},
      ...head.map((_, i) => {
        const cell = make(tag),
          mark = divider[i] ?? "";
        if (mark.endsWith(":")) cell.className = mark.startsWith(":") ? "middle" : "right";
        addInline(cell, cells[i] ?? "", 0);
        return cell;
      }),
    );
  const table = make("table", {}, make("thead", {}, rowElement(head, "th")));
  table.append(make("tbody", {}, ...rows.map((cells) => rowElement(cells, "td"))));
  return make("div", { className: "table", tabIndex: 0 }, table);
}

function listElement({ isOrdered, isLoose, start, items }, depth) {
  const list = make(isOrdered ? "ol" : "ul");
  if (isOrdered && start !== 1) list.start = start;
  for (const lines of items) {
    const item = make("li");
    lines[0] = lines[0].replace(/^\[( |x|X)\] /, (_, mark) => (mark === " " ? "☐ " : "☑ "));
    for (const block of blocksOf(lines)) {
      if (block.kind === "paragraph" && !isLoose) addInline(item, block.lines.join("\n"), 0);
      else item.append(elementOf(block, depth + 1));
    }
    list.append(item);
  }
  return list;
}

function elementOf(block, depth) {
  const text = block.lines.join("\n");
  if (block.kind === "code") return codeElement(block);
  if (depth > MAX_DEPTH) return make("p", {}, text);
  if (block.kind === "rule") return make("hr");
  if (block.kind === "table") return tableElement(block);
  if (block.kind === "list") return listElement(block, depth);
  if (block.kind === "quote") {
    const inner = blocksOf(block.lines.map((line) => line.replace(QUOTE, "")));
    return make("blockquote", {}, ...inner.map((b) => elementOf(b, depth + 1)));
  }
  if (block.kind === "heading") {
    const marks = HEADING.exec(text)[1];
    const element = make(`h${Math.min(6, marks.length + 2)}`); // below those of the page
    const title = text.slice(text.indexOf(marks) + marks.length).trim();
    addInline(element, title.replace(/ #+$/, ""), 0);
    return element;
  }
  const element = make("p");
  addInline(element, text.trim(), 0);
  return element;
}

/* ---- Text ---- */

const BARE_LINK = /https?:\/\/[^\s<>"'`*]{1,2000}/y;
const PUNCTUATION = /[!-/:-@[-`{-~]/;
const WORD = /[\p{L}\p{N}_]/u;

/* The address if it is one that may be followed, else null. */
function safeAddress(text) {
  try {
    const url = new URL(text);
    return url.protocol === "http:" || url.protocol === "https:" ? url.href : null;
  } catch {
    return null;
  }
}

const linkTo = (href) => make("a", { href, target: "_blank", rel: "noopener noreferrer" });

/* Reads one text from left to right. `next` has where a mark was found, so that no part is searched twice for it. */
class Reader {
  constructor(parent, text, depth) {
    Object.assign(this, { parent, text, depth, at: 0, plain: "", next: new Map() });
  }

  flush() {
    if (this.plain) this.parent.append(this.plain);
    this.plain = "";
  }

  add(element, end) {
    this.flush();
    this.parent.append(element);
    this.at = end;
    return true;
  }

  /* Where `mark` comes next, at or after `from`, in a place that `fits`; -1: nowhere. */
  find(mark, from, fits = () => true) {
    const known = this.next.get(mark);
    if (known === -1 || known >= from) return known;
    let k = this.text.indexOf(mark, from);
    while (k >= 0 && !fits(k)) k = this.text.indexOf(mark, k + 1);
    this.next.set(mark, k);
    return k;
  }

  code() {
    const { text, at } = this;
    let n = 1;
    while (text[at + n] === "`") n++;
    const mark = "`".repeat(n),
      end = this.find(mark, at + n, (k) => text[k - 1] !== "`" && text[k + n] !== "`");
    if (end < 0) {
      this.plain += mark;
      this.at += n;
      return true;
    }
    const inside = text.slice(at + n, end).replaceAll("\n", " ");
    const isPadded = inside.startsWith(" ") && inside.endsWith(" ") && inside.trim();
    return this.add(make("code", {}, isPadded ? inside.slice(1, -1) : inside), end + n);
  }

  emphasis(mark, tag) {
    const { text, at } = this,
      n = mark.length,
      c = mark[0],
      begin = at + n;
    if (!text[begin] || /\s/.test(text[begin]) || (c === "_" && at && WORD.test(text[at - 1]))) return false;
    let end = this.find(mark, begin + 1, (k) => {
      if (/\s/.test(text[k - 1])) return false;
      if (n === 1 && (text[k + 1] === c || text[k - 1] === c)) return false;
      return c !== "_" || !WORD.test(text[k + n] ?? " ");
    });
    if (end < 0) return false;
    while (n === 2 && text[end + 2] === c) end++; // the inner mark of ***this***
    const element = make(tag);
    addInline(element, text.slice(begin, end), this.depth + 1);
    return this.add(element, end + n);
  }

  /* [text](address "title"), and a picture, which is a link to it. */
  link() {
    const { text, at } = this,
      isPicture = text[at] === "!",
      begin = at + (isPicture ? 2 : 1);
    const middle = this.find("](", begin);
    if (middle < 0) return false;
    let end = middle + 2,
      open = 1;
    for (; end < text.length && text[end] !== "\n" && end < middle + MAX_ADDRESS; end++) {
      if (text[end] === "(") open++;
      if (text[end] === ")" && --open === 0) break;
    }
    if (text[end] !== ")") return false;
    const [address] = text
        .slice(middle + 2, end)
        .trim()
        .split(/\s/),
      href = safeAddress(address.replace(/^<|>$/g, "")),
      label = text.slice(begin, middle);
    if (!href || label.includes("\n\n")) return false;
    const element = linkTo(href);
    if (isPicture) element.append(label || "picture");
    else addInline(element, label, this.depth + 1, true);
    return this.add(element, end + 1);
  }

  bareLink() {
    if (this.at && WORD.test(this.text[this.at - 1])) return false;
    BARE_LINK.lastIndex = this.at;
    let [found] = BARE_LINK.exec(this.text) ?? [""];
    while (found && (".,;:!?".includes(found.at(-1)) || (found.endsWith(")") && !found.includes("("))))
      found = found.slice(0, -1);
    const href = safeAddress(found);
    if (!href) return false;
    const element = linkTo(href);
    element.append(found);
    return this.add(element, this.at + found.length);
  }

  step(isInLink) {
    const { text, at } = this,
      c = text[at];
    if (c === "\\" && PUNCTUATION.test(text[at + 1] ?? "")) {
      this.plain += text[at + 1];
      this.at += 2;
      return true;
    }
    if (c === "`") return this.code();
    if (c === "\n") return this.add(make("br"), at + 1);
    if (this.depth > MAX_DEPTH) return false;
    if (c === "*" || c === "_") return (text[at + 1] === c && this.emphasis(c + c, "strong")) || this.emphasis(c, "em");
    if (c === "~" && text[at + 1] === "~") return this.emphasis("~~", "s");
    if (c === "<") {
      const [found] = /^<br ?\/?>/i.exec(text.slice(at, at + 6)) ?? [""];
      return found ? this.add(make("br"), at + found.length) : false;
    }
    if (isInLink) return false;
    if (c === "[" || (c === "!" && text[at + 1] === "[")) return this.link();
    return c === "h" && this.bareLink();
  }
}

function addInline(parent, text, depth, isInLink = false) {
  const reader = new Reader(parent, text, depth);
  while (reader.at < text.length) if (!reader.step(isInLink)) reader.plain += text[reader.at++];
  reader.flush();
}

/* ---- A text that grows ---- */

const sources = new WeakMap(); // of the elements of blocks: kind and text

/* Shows `text` in `container`, which has nothing else in it. */
export function showMarkdown(container, text) {
  const blocks = blocksOf(text.replaceAll("\r\n", "\n").replaceAll("\t", "    ").split("\n"));
  blocks.forEach((block, i) => {
    const old = container.children[i],
      before = old && sources.get(old),
      source = { kind: `${block.kind} ${block.language ?? ""}`, text: block.lines.join("\n") };
    if (before?.kind === source.kind && before.text === source.text) return;
    if (before?.kind === source.kind && block.kind === "code") {
      old.querySelector("code").textContent = source.text; // its button keeps the focus
      sources.set(old, source);
      return;
    }
    const element = elementOf(block, 0);
    sources.set(element, source);
    if (old) old.replaceWith(element);
    else container.append(element);
  });
  while (container.children.length > blocks.length) container.lastElementChild.remove();
}
