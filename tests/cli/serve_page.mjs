/* The JavaScript half of test_serve_page.py: node serve_page.mjs CASE ADDRESS ARGUMENT.. drives a headless Chromium by
 * playwright-core on the page of a server, and prints one JSON document: what the case found, errors on the page, and
 * requests that left the server's origin. PLAYWRIGHT names the folder with the package, CHROMIUM the program. */
import fs from "node:fs";
import { createRequire } from "node:module";

import { accessCases } from "./serve_page_access.mjs";

const { chromium } = createRequire(`${process.env.PLAYWRIGHT}/`)("playwright-core");
const [name, address, ...args] = process.argv.slice(2);
const LONG = 900_000;
const CHAT = "**/v1/chat/completions";
const SHORT = { max_tokens: 24, temperature: 0, more: '{"ignore_eos": true}' };

const browser = await chromium.launch({ executablePath: process.env.CHROMIUM, args: ["--no-sandbox"] });
const errors = [],
  outside = [],
  bodies = []; // of the requests for answers

/* ---- What cases share ---- */

/* `settings`: of sampling. Other options are the browser's context's. */
async function openPage({ settings = SHORT, prepare = () => {}, ...options } = {}) {
  const context = await browser.newContext({ viewport: { width: 1120, height: 800 }, ...options });
  await context.addInitScript((values) => (localStorage["rlx.settings"] ??= JSON.stringify(values)), settings);
  const page = await context.newPage();
  page.setDefaultTimeout(LONG);
  page.on("pageerror", (error) => errors.push(error.message));
  page.on("console", (message) => message.type() === "error" && errors.push(message.text()));
  page.on("request", (request) => {
    const url = new URL(request.url());
    if (url.origin !== new URL(address).origin && !["data:", "blob:"].includes(url.protocol))
      outside.push(request.url());
    if (url.pathname.endsWith("/chat/completions")) bodies.push(request.postDataJSON());
  });
  await prepare(page);
  await page.goto(address);
  return page;
}

const isReady = (page) => page.waitForFunction(() => document.documentElement.dataset.ready);

async function readyPage(options) {
  const page = await openPage(options);
  await isReady(page);
  return page;
}

const isIdle = (page) => page.waitForSelector("#stop", { state: "hidden" });

async function send(page, text) {
  await page.fill("#text", text);
  await page.press("#text", "Enter");
}

async function ask(page, text) {
  await send(page, text);
  await isIdle(page);
}

const count = (page, selector) => page.locator(selector).count();
const texts = (page, selector) => page.locator(selector).allTextContents();
const answers = (page) => texts(page, ".theirs .body > .text");
const titles = (page) => texts(page, "#list .pick");
const stored = (page) =>
  page.evaluate(() => JSON.parse(localStorage[Object.keys(localStorage).find((key) => key.startsWith("rlx.chat."))]));
/* What can be done with a conversation is seen where the pointer is. */
async function listTool(page, label) {
  const button = page.locator(`[aria-label="${label}"]`);
  await page.locator("#list li", { has: button }).hover();
  await button.click();
}
const notice = (page) => page.textContent("#notice span");
const tool = (page, message, label) =>
  page.locator(".message").nth(message).getByRole("button", { name: label, exact: true });

/* The text of the last answer, once it has grown this often or is over. */
function grown(page, times) {
  return page.evaluate(async (wanted) => {
    const last = () => [...document.querySelectorAll(".theirs .body > .text")].at(-1)?.textContent ?? "";
    for (let seen = last(), n = 0; n < wanted && !document.getElementById("stop").hidden;) {
      await new Promise((resolve) => setTimeout(resolve, 5));
      if (last().length > seen.length && last() !== "…") n++;
      seen = last();
    }
    return last();
  }, times);
}

async function setting(page, id, value) {
  await page.click("#settings-open");
  await page.fill(`#${id}`, value);
  await page.keyboard.press("Escape");
}

/* The server's answers are these deltas from now on. */
async function answerWith(page, deltas) {
  const event = (data) => `data: ${JSON.stringify(data)}\n\n`;
  const usage = { prompt_tokens: 7, completion_tokens: 5, prompt_tokens_details: { cached_tokens: 3 } };
  const body =
    deltas.map((delta) => event({ choices: [{ index: 0, delta }] })).join("") +
    event({ choices: [{ index: 0, delta: {}, finish_reason: "stop" }] }) +
    event({ choices: [], usage }) +
    "data: [DONE]\n\n";
  await page.unroute(CHAT);
  await page.route(CHAT, (route) => route.fulfill({ contentType: "text/event-stream", body }));
}

/* A context that has a conversation of these messages. */
async function importMessages(page, messages, title = "A title") {
  const conversations = [{ title, changed: 1, messages }];
  const buffer = Buffer.from(JSON.stringify({ format: "rlx.conversations", version: 1, conversations }));
  await page.setInputFiles("#import-file", { name: "file.json", mimeType: "application/json", buffer });
  await page.waitForSelector("#list .pick");
}

/* What could be more than text in what others wrote. */
const dangers = (page) =>
  page.evaluate(() => {
    const all = [...document.querySelectorAll("#messages *, #list *, #title *, #notice *, #files *")];
    return {
      hacked: window.hacked ?? null,
      tags: [...new Set(all.map((e) => e.localName))].sort(),
      handlers: all.flatMap((e) => [...e.attributes]).filter((a) => /^on|^style$|^srcdoc$/.test(a.name)).length,
      links: [...document.querySelectorAll("#messages a")].map((a) => ({ href: a.href, rel: a.rel, target: a.target })),
    };
  });

const HOSTILE = [
  "<script>window.hacked = 1</script>",
  "<img src=x onerror='window.hacked = 2'>",
  "[click](javascript:window.hacked=3) [data](data:text/html,<script>hacked=4</script>)",
  "[space]( javascript:alert(1)) [tab](java\tscript:alert(1)) ![p](javascript:alert(1)) <javascript:alert(1)>",
  '[quote](https://example.org/"onmouseover="hacked=5) [good](https://example.org/a?b=1) https://example.org/bare.',
  "```html\n</code></pre><script>window.hacked = 6</script>\n```",
  "| <b onclick=hacked=7>x</b> | y |\n|---|---|\n| `<svg onload=hacked=8>` | <iframe srcdoc='<script>hacked=9</script>'> |",
  "&lt;script&gt; &#60;b&#62; \u202egnp.exe \0 <style>*{display:none}</style> <a href=//evil>x</a>",
].join("\n\n");

/* Texts that a careless reader takes long for. */
const LARGE = 40_000;
const DEEP = [
  "[",
  "*a ",
  "**a",
  "_",
  "`",
  "~~a ",
  "> ",
  "- ",
  "  - a\n  ",
  "[](",
  "![",
  "-",
  "|",
  "| - ",
  "# ",
  "http://a)",
  "<",
  "\\",
];

const shared = { SHORT, readyPage, isReady, isIdle, ask, count, texts, grown, answerWith };

const cases = {
  ...accessCases(shared),

  /* ---- Conversations ---- */

  async conversation() {
    const page = await readyPage(),
      found = {};
    await ask(page, "a the ab");
    found.first = {
      content: (await stored(page)).messages[1].content,
      facts: await page.textContent(".facts"),
      title: await page.title(),
    };
    await setting(page, "set-max_tokens", "");
    await send(page, "go on");
    found.grown = (await grown(page, 3)).length;
    await page.click("#stop");
    await isIdle(page);
    found.stopped = (await answers(page)).at(-1).length;
    found.stoppedFacts = (await texts(page, ".facts")).at(-1);
    await setting(page, "set-max_tokens", "12");
    await setting(page, "system", "Be brief.");
    found.later = (await answers(page)).at(-1).length;
    await tool(page, 3, "Regenerate").click();
    await page.waitForSelector(".running", { state: "detached" });
    await isIdle(page);
    found.again = { body: bodies.at(-1), messages: await count(page, ".message") };
    await tool(page, 0, "Edit").click();
    await page.fill(".editor textarea", "the ab a");
    await page.press(".editor textarea", "Enter");
    await page.waitForFunction(() => document.querySelectorAll(".message").length === 2);
    await isIdle(page);
    found.edited = {
      body: bodies.at(-1),
      messages: await count(page, ".message"),
      mine: await texts(page, ".mine-text"),
    };
    await page.click("#notice >> text=Undo");
    await page.waitForFunction(() => document.querySelectorAll(".message").length === 4);
    found.undone = await texts(page, ".mine-text");
    await tool(page, 1, "Edit").click();
    await page.fill(".editor textarea", "Put *by hand*");
    await page.click("text=Save");
    found.byHand = await page.locator(".theirs .body > .text").first().innerHTML();
    await ask(page, "and now");
    found.history = bodies.at(-1).messages;
    await tool(page, 4, "Delete").click();
    await page.waitForFunction(() => document.querySelectorAll(".message").length === 5);
    await page.reload();
    await isReady(page);
    found.reloaded = { mine: await texts(page, ".mine-text"), answers: await count(page, ".theirs") };
    return found;
  },

  /* One answers in the background while another is shown. */
  async several() {
    const page = await readyPage({ settings: { ...SHORT, max_tokens: undefined } }),
      found = {};
    await send(page, "the first");
    await grown(page, 2);
    await setting(page, "set-max_tokens", "8");
    await page.click("#new");
    await ask(page, "the second");
    found.behind = { running: await count(page, "#list .running"), mine: await texts(page, ".mine-text") };
    await page.click("#list .pick >> text=the first");
    await page.click("#stop");
    await isIdle(page);
    found.first = await texts(page, ".mine-text");
    found.titles = await titles(page);
    await page.reload();
    await isReady(page);
    found.reloaded = { titles: await titles(page), shown: await texts(page, ".mine-text") };
    await listTool(page, "Rename the first");
    await page.fill("#list input", "Another name");
    await page.press("#list input", "Enter");
    await listTool(page, "Delete the second");
    found.deleted = { titles: await titles(page), header: await page.textContent("#title") };
    await page.click("#notice >> text=Undo");
    found.undone = await titles(page);
    const downloads = page.waitForEvent("download");
    await page.click("#export");
    const file = await (await downloads).path();
    found.exported = JSON.parse(fs.readFileSync(file, "utf8"));
    await page.click("#settings-open");
    await page.click("#delete-all");
    found.none = { titles: await titles(page), stored: await page.evaluate(() => Object.keys(localStorage)) };
    await page.setInputFiles("#import-file", file);
    await page.waitForSelector("#list .pick");
    found.imported = (await titles(page)).sort();
    await page.setInputFiles("#import-file", {
      name: "bad.json",
      mimeType: "application/json",
      buffer: Buffer.from("{}"),
    });
    await page.waitForSelector("#notice.error");
    found.refused = await notice(page);
    return found;
  },

  /* Two tabs of one browser. */
  async tabs() {
    const page = await readyPage();
    const other = await page.context().newPage();
    await other.goto(address);
    await isReady(other);
    await ask(page, "from a tab");
    await other.waitForSelector("#list .pick");
    await other.click("#list .pick");
    const seen = await texts(other, ".mine-text");
    await listTool(page, "Delete from a tab");
    await other.waitForSelector("#list .pick", { state: "detached" });
    return { seen, left: await texts(other, ".mine-text") };
  },

  async models(second) {
    const page = await readyPage();
    const choices = await texts(page, "#model option");
    await page.selectOption("#model", second);
    await ask(page, "a the ab");
    const about = await page.getAttribute("#model", "title");
    await page.click("#new");
    await page.selectOption("#model", choices[0]);
    await page.click("#list .pick");
    return { choices, asked: bodies.at(-1).model, about, back: await page.inputValue("#model") };
  },

  /* ---- What models and files bring ---- */

  async hostile() {
    const page = await readyPage(),
      found = {};
    await page.evaluate(() => {
      window.violations = [];
      document.addEventListener("securitypolicyviolation", (event) => window.violations.push(event.violatedDirective));
    });
    const call = {
      index: 0,
      function: { name: "<img src=x onerror=hacked=10>", arguments: '{"a": "<script>hacked=11</script>"}' },
    };
    await answerWith(page, [{ reasoning_content: HOSTILE }, { content: HOSTILE }, { tool_calls: [call] }]);
    await page.setInputFiles("#attach-file", {
      name: "<img src=x onerror=hacked=12>.txt",
      mimeType: "text/plain",
      buffer: Buffer.from(HOSTILE.replace("\0", "")),
    });
    await page.waitForSelector("#files li");
    await ask(page, HOSTILE);
    found.shown = await dangers(page);
    found.text = (await answers(page)).at(-1);
    const message = { role: "assistant", content: HOSTILE, error: "<img src=x onerror=hacked=13>", facts: "<b>x</b>" };
    const odd = [
      null,
      5,
      { role: "system", content: "x" },
      { role: "user", content: 7, files: "x" },
      { role: "assistant", calls: [4] },
    ];
    await importMessages(page, [message, ...odd], "<img src=x onerror=hacked=14>");
    await page.click("#list .pick >> text=onerror=hacked=14");
    found.imported = await dangers(page);
    found.violations = await page.evaluate(() => window.violations);
    found.blocked = await page.addScriptTag({ content: "window.hacked = 15" }).then(
      () => page.evaluate(() => window.hacked ?? null),
      () => null,
    );
    errors.length = 0; // the browser reports what the policy blocked
    return found;
  },

  /* [text, HTML] of each row that differs. */
  async markdown(file) {
    const page = await readyPage();
    return page.evaluate(
      async (rows) => {
        const { showMarkdown } = await import("./markdown.js");
        const wrong = [];
        for (const [text, expected] of rows) {
          const whole = document.createElement("div"),
            pieces = document.createElement("div");
          showMarkdown(whole, text);
          for (let n = 1; n <= text.length; n++) showMarkdown(pieces, text.slice(0, n));
          for (const container of [whole, pieces])
            if (container.innerHTML !== expected) wrong.push([text, container.innerHTML, expected]);
        }
        return { wrong, n: rows.length };
      },
      JSON.parse(fs.readFileSync(file, "utf8")),
    );
  },

  async deep() {
    const page = await readyPage();
    const lengths = await page.evaluate(
      async ([pieces, length]) => {
        const { showMarkdown } = await import("./markdown.js");
        const found = [];
        for (const piece of pieces)
          for (const end of ["", "x", "\n"]) {
            const container = document.createElement("div");
            showMarkdown(container, piece.repeat(length / piece.length) + end);
            found.push(container.textContent.length);
          }
        return found;
      },
      [DEEP, LARGE],
    );
    return { n: lengths.length };
  },

  async thoughts() {
    const page = await readyPage();
    await answerWith(page, [
      { role: "assistant", content: "" },
      { reasoning_content: "I must " },
      { reasoning_content: "think." },
      { content: "It is **four**. " },
      {
        tool_calls: [
          { index: 0, id: "call_1", type: "function", function: { name: "add", arguments: '{"a":2,"b":2}' } },
        ],
      },
    ]);
    await ask(page, "2 + 2?");
    const fold = page.locator(".theirs .fold").first();
    const isOpen = await fold.evaluate((e) => e.open);
    await fold.locator("summary").click();
    const found = {
      isOpen,
      thought: await fold.locator(".text").textContent(),
      answer: await page.locator(".theirs .body > .text").innerHTML(),
      call: await page.textContent(".call"),
      facts: await page.textContent(".facts"),
      said: await texts(page, "#said p"),
    };
    await ask(page, "again");
    return { ...found, sent: bodies.at(-1).messages };
  },

  async files(large, binary) {
    const page = await readyPage(),
      found = {};
    await page.setInputFiles("#attach-file", [large]);
    await page.waitForSelector("#notice.error");
    found.large = await notice(page);
    await page.setInputFiles("#attach-file", [binary]);
    await page.waitForFunction((before) => document.querySelector("#notice span").textContent !== before, found.large);
    found.binary = await notice(page);
    const data = await page.evaluateHandle(() => {
      const transfer = new DataTransfer();
      transfer.items.add(new File(["one\n```\ntwo"], "notes.md"));
      transfer.items.add(new File(["left out"], "other.txt"));
      return transfer;
    });
    await page.dispatchEvent("#log", "dragover", { dataTransfer: data });
    found.over = await page.evaluate(() => document.getElementById("form").classList.contains("over"));
    await page.dispatchEvent("#log", "drop", { dataTransfer: data });
    await page.waitForFunction(() => document.querySelectorAll("#files li").length === 2);
    await page.click('[aria-label="Leave out other.txt"]');
    await ask(page, "Read this.");
    found.sent = bodies.at(-1).messages[0].content;
    found.folds = await texts(page, ".mine .fold summary");
    found.left = await count(page, "#files li");
    return found;
  },

  /* ---- What goes wrong ---- */

  async key(right) {
    const page = await openPage();
    await page.waitForSelector("#key[open]");
    const first = await page.textContent("#key-note");
    await page.fill("#key-text", "wrong");
    await page.keyboard.press("Enter");
    await page.waitForFunction((before) => document.getElementById("key-note").textContent !== before, first);
    const second = await page.textContent("#key-note");
    await page.fill("#key-text", right);
    await page.keyboard.press("Enter");
    await isReady(page);
    await ask(page, "a the ab");
    const kept = await page.evaluate(() => [
      JSON.stringify({ ...localStorage }),
      JSON.stringify({ ...sessionStorage }),
    ]);
    await page.reload();
    await isReady(page);
    const asksAgain = await count(page, "#key[open]");
    await page.click("#settings-open");
    await page.click("#forget");
    await send(page, "the");
    await page.waitForSelector("#key[open]");
    await page.click("#key >> text=Cancel");
    await isIdle(page);
    const refused = await page.textContent(".theirs:last-child .error");
    errors.length = 0; // the browser reports answers of 401
    return {
      first,
      second,
      inLocal: kept[0].includes(right),
      inSession: kept[1].includes(right),
      asksAgain,
      refused,
      answers: await answers(page),
    };
  },

  /* The server is ended while it answers. */
  async gone(server) {
    const page = await readyPage({ settings: { ...SHORT, max_tokens: undefined } }),
      found = {};
    await send(page, "a the ab");
    await grown(page, 2);
    process.kill(Number(server), "SIGINT");
    await isIdle(page);
    found.during = await page.textContent(".theirs .error");
    found.kept = (await answers(page))[0].length;
    await ask(page, "are you there");
    found.after = await page.textContent(".theirs:last-child .error");
    await page.locator("text=Try again").last().click();
    await page.waitForSelector(".running", { state: "detached" });
    found.messages = await count(page, ".message");
    await answerWith(page, [{ content: "I am back" }]);
    await page.locator("text=Try again").last().click();
    await page.waitForFunction(
      () => document.querySelector(".theirs:last-child .body > .text").textContent === "I am back",
    );
    found.sent = bodies.at(-1).messages.map((m) => m.role);
    errors.length = 0; // the browser reports refused connections
    return found;
  },

  async refused() {
    const page = await readyPage();
    await setting(page, "more", '{"min_p": "x"}');
    await ask(page, "a the ab");
    const said = await page.textContent(".theirs .error");
    await page.click("#settings-open");
    await page.fill("#more", "{");
    const note = await page.textContent("#more-note");
    await page.keyboard.press("Escape");
    await ask(page, "the");
    errors.length = 0; // the browser reports an answer of 400
    return { said, note, body: bodies.at(-1), answers: (await answers(page)).at(-1).length };
  },

  async noRoom() {
    const page = await readyPage();
    await page.evaluate(
      () =>
        (Storage.prototype.setItem = () => {
          throw new DOMException("full", "QuotaExceededError");
        }),
    );
    await ask(page, "a the ab");
    return { notice: await notice(page), answers: (await answers(page))[0].length };
  },

  /* The pictures of docs/serve.md. */
  async screenshots(folder) {
    const settings = { temperature: 0, max_tokens: 120, stops: "\n\nExample" };
    for (const [file, viewport, colorScheme] of [
      ["serve-desktop.png", { width: 1120, height: 760 }, "light"],
      ["serve-desktop-dark.png", { width: 1120, height: 760 }, "dark"],
      ["serve-phone.png", { width: 390, height: 760 }, "light"],
      ["serve-phone-dark.png", { width: 390, height: 760 }, "dark"],
    ]) {
      const page = await readyPage({ viewport, colorScheme, settings });
      for (const text of ["Plan a weekend in Lisbon", "Three tips for good sleep"]) {
        await page.evaluate(() => document.getElementById("new").click());
        await ask(page, text);
      }
      await page.evaluate(() => document.getElementById("new").click());
      await ask(page, "Write a Python function that reverses a string.");
      await ask(page, "Explain in one sentence what gravity is.");
      await page.evaluate(() => document.activeElement.blur());
      await page.screenshot({ path: `${folder}/${file}` });
    }
    return {};
  },
};

try {
  const found = await cases[name](...args);
  console.log(JSON.stringify({ ...found, errors, outside }));
} finally {
  await browser.close();
}
