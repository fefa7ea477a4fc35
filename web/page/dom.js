/* Small helpers of the page: elements, messages, drops, numbers as a reader wants them. */

export const byId = (id) => document.getElementById(id);

/* A status line; `isError` shows it as such, and says so to those who do not see colours. */
export function say(id, text, isError = false) {
  const line = byId(id);
  line.textContent = isError ? `Error: ${text}` : text;
  line.classList.toggle("error", isError);
}

/* What a reader can do about a failure of the library. */
const ADVICE = {
  "device lost": "What was loaded is gone; it can be loaded again.",
  "no memory": "There is not enough memory: a smaller model or another device may do.",
  "over a limit": "A smaller model or a higher limit may do.",
};

export function sayError(id, error) {
  say(id, [error.message, ADVICE[error.status]].filter(Boolean).join(". "), true);
}

/* Closes models. One whose device was lost may refuse, and is gone all the same. */
export const closeAll = (...models) => Promise.all(models.map((model) => model?.close().catch(() => {})));

export const mebibytes = (bytes) =>
  bytes >= 2 ** 30 ? `${(bytes / 2 ** 30).toFixed(2)} GiB` : `${(bytes / 2 ** 20).toFixed(1)} MiB`;

/* Calls take(file) for a file that is chosen or dropped. */
export function onFile(input, take) {
  const area = input.closest(".drop");
  input.addEventListener("change", () => input.files[0] && take(input.files[0]));
  for (const kind of ["dragenter", "dragover"])
    area.addEventListener(kind, (event) => {
      event.preventDefault();
      area.classList.add("over");
    });
  area.addEventListener("dragleave", () => area.classList.remove("over"));
  area.addEventListener("drop", (event) => {
    event.preventDefault();
    area.classList.remove("over");
    if (event.dataTransfer.files[0]) take(event.dataTransfer.files[0]);
  });
}

/* A list of facts: name, value. */
export function showFacts(list, facts) {
  list.replaceChildren(
    ...facts.map(([name, value]) => {
      const row = document.createElement("div"),
        term = document.createElement("dt"),
        text = document.createElement("dd");
      term.textContent = name;
      text.textContent = value;
      row.append(term, text);
      return row;
    }),
  );
}

/* A file that drops beside its place must not replace the page. */
for (const kind of ["dragover", "drop"]) window.addEventListener(kind, (event) => event.preventDefault());
