/* Cases of browser.mjs in which the browser refuses what the page needs: devices, buffers, memory. The page must say
 * so, and go on. What fails is arranged by faults.js, which these cases put before the page's worker. */
import fs from "node:fs";

const HOOKS = fs.readFileSync(new URL("./faults.js", import.meta.url), "utf8");

/* The page, with faults in its workers. maxPages bounds the memory of a module, 0 does not; noInstance: there is none
 * for any module. */
async function openFaulty({ openPage }, { maxPages = 0, noInstance = false } = {}) {
  const given = `const MAX_PAGES = ${maxPages}, NO_INSTANCE = ${noInstance};`;
  const prepare = (context) =>
    context.route("**/rlx/worker.js", async (route) => {
      const response = await route.fetch();
      await route.fulfill({ response, body: `{ ${given}\n${HOOKS} }\n${await response.text()}` });
    });
  const page = await openPage({ serviceWorkers: "block", prepare });
  await page.evaluate(() => (globalThis.faultChannel = new BroadcastChannel("faults")));
  return page;
}

/* Arranges a fault in all workers; returns when one of them has answered. */
const arrange = (page, fault) =>
  page.evaluate(
    (sent) =>
      new Promise((resolve) => {
        globalThis.faultChannel.onmessage = () => resolve();
        globalThis.faultChannel.postMessage(sent);
      }),
    fault,
  );

const note = (page) => page.textContent("#model-note");

async function load(page, { noteIs }) {
  await page.click("#model-load");
  await noteIs(page, "model-note", "loaded in|Error");
  return note(page);
}

async function talk(page, tokens) {
  await page.fill("#chat-tokens", String(tokens));
  await page.fill("#chat-text", "ROMEO:\n");
  await page.click("#chat-send");
}

/* Loads and generates: the page goes on. */
async function goesOn(page, tools) {
  const loaded = await load(page, tools);
  if (loaded.startsWith("Error")) return { loaded };
  await talk(page, 8);
  await tools.noteIs(page, "speed", "Tokens/s");
  return { loaded, text: await page.textContent("#log .assistant") };
}

const canSend = (page) => page.evaluate(() => !document.querySelector("#chat-send").disabled);

export const faultCases = (tools) => ({
  /* The device is lost while a text is generated, and while nothing happens. */
  async deviceLost() {
    const page = await openFaulty(tools),
      found = {};
    await page.check('input[value="webgpu"]');
    await load(page, tools);
    await talk(page, 4000);
    await page.waitForFunction(() => document.querySelector("#log .assistant")?.textContent.length > 3);
    await arrange(page, { loseDevices: true });
    await tools.noteIs(page, "model-note", "Error");
    await page.waitForFunction(() => document.querySelector("#chat-stop").disabled);
    found.during = { note: await note(page), canSend: await canSend(page), ...(await goesOn(page, tools)) };
    await arrange(page, { loseDevices: true });
    await talk(page, 8);
    await tools.noteIs(page, "model-note", "Error");
    found.idle = { note: await note(page), ...(await goesOn(page, tools)) };
    return { ...found, errors: tools.errors };
  },

  /* The process that has the GPU ends: a loss that nobody arranged. */
  async gpuProcessEnds() {
    const page = await openFaulty(tools);
    await page.check('input[value="webgpu"]');
    await load(page, tools);
    await talk(page, 4000);
    await page.waitForFunction(() => document.querySelector("#log .assistant")?.textContent.length > 3);
    const session = await tools.browser.newBrowserCDPSession();
    await session.send("Browser.crashGpuProcess").catch(() => {});
    await tools.noteIs(page, "model-note", "Error");
    const found = { note: await note(page) };
    await page.waitForTimeout(2000); // until the browser has started another
    found.again = await goesOn(page, tools);
    await page.check('input[value="cpu"]');
    return { ...found, onCpu: await goesOn(page, tools), errors: tools.errors };
  },

  /* The two small models of the page share a device with nobody: each loads again by itself. */
  async onnxDeviceLost(file) {
    const page = await openFaulty(tools),
      notes = [];
    await page.check('input[value="webgpu"]');
    for (const fault of [{}, { loseDevices: true }, {}]) {
      await arrange(page, fault);
      await page.evaluate(() => (document.getElementById("magika-note").textContent = ""));
      await page.setInputFiles("#magika-file", []);
      await page.setInputFiles("#magika-file", file);
      await tools.noteIs(page, "magika-note", " ms on |Error");
      notes.push(await page.textContent("#magika-note"));
    }
    return { notes, errors: tools.errors };
  },

  /* `fault` is one of faults.js: then a load fails, and without it the next one works. */
  async refused(fault) {
    const page = await openFaulty(tools);
    await page.check('input[value="webgpu"]');
    await arrange(page, { [fault]: true });
    const refused = await load(page, tools);
    await arrange(page, { [fault]: false, refused: 0 });
    return { refused, ...(await goesOn(page, tools)), errors: tools.errors };
  },

  /* No memory for the module itself, at first. */
  async noInstance() {
    const page = await openFaulty(tools, { noInstance: true });
    const device = await page.textContent("#device-note");
    return { device, note: await load(page, tools), errors: tools.errors };
  },

  /* A module whose memory ends too early for the model; then a smaller one. */
  async memoryEnds(maxPages, smaller) {
    const page = await openFaulty(tools, { maxPages: Number(maxPages) }),
      notes = [];
    for (let i = 0; i < 2; i++) notes.push(await load(page, tools));
    await page.selectOption("#model-choice", "file");
    await page.setInputFiles("#model-file", smaller);
    await tools.noteIs(page, "model-note", "loaded in");
    return { notes, ...(await goesOn(page, tools)), errors: tools.errors };
  },

  /* The page's own limit of memory, on one device. */
  async memoryLimit(device) {
    const page = await openFaulty(tools);
    await page.check(`input[value="${device}"]`);
    await page.fill("#model-memory", "2");
    const refused = await load(page, tools);
    await page.fill("#model-memory", "");
    return { refused, ...(await goesOn(page, tools)), errors: tools.errors };
  },
});
