/* Elements, without markup in strings: what anybody writes becomes text nodes. */

export const byId = (id) => document.getElementById(id);

/* make("p", { className: "note", onclick }, "text", element, ..): properties, and what is inside. */
export function make(tag, properties = {}, ...children) {
  const element = Object.assign(document.createElement(tag), properties);
  element.append(...children.filter((child) => child !== null && child !== undefined && child !== ""));
  return element;
}

/* A symbol of index.html. */
export function icon(name) {
  const SVG = "http://www.w3.org/2000/svg";
  const svg = document.createElementNS(SVG, "svg"),
    use = document.createElementNS(SVG, "use");
  use.setAttribute("href", `#i-${name}`);
  svg.setAttribute("aria-hidden", "true");
  svg.append(use);
  return svg;
}

export function iconButton(name, label, onclick) {
  const button = make("button", { type: "button", className: "icon", title: label, onclick }, icon(name));
  button.setAttribute("aria-label", label);
  return button;
}

/* A text area is as high as its text, as far as the style sheet allows. */
export function fitHeight(area) {
  area.style.height = "auto";
  area.style.height = `${area.scrollHeight + area.offsetHeight - area.clientHeight}px`;
}

/* Copies, and says so on the button for a moment. */
export async function copyText(button, text) {
  let said = "Copied";
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    said = copyByHand(text) ? "Copied" : "Not copied"; // pages without HTTPS have no clipboard
  }
  const { title, textContent } = button;
  if (textContent) button.textContent = said;
  else button.classList.add("done");
  button.title = said;
  setTimeout(() => {
    if (textContent) button.textContent = textContent;
    button.classList.remove("done");
    button.title = title;
  }, 1200);
}

function copyByHand(text) {
  const before = document.activeElement,
    area = make("textarea", { value: text, className: "hidden" });
  document.body.append(area);
  area.select();
  const isCopied = document.execCommand("copy");
  area.remove();
  before?.focus();
  return isCopied;
}

/* Hands a file to whoever looks at the page. */
export function download(name, text) {
  const url = URL.createObjectURL(new Blob([text], { type: "application/json" }));
  make("a", { href: url, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(url), 60_000);
}

export const shorten = (text, length) => (text.length > length ? `${text.slice(0, length - 1).trimEnd()}…` : text);
