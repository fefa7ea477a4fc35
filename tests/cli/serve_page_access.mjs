/* Cases of serve_page.mjs: whether everybody can use the page, by keyboard, with a screen reader, on a phone. */
import { worstContrast } from "../web/contrast.mjs";

export const accessCases = ({ SHORT, readyPage, isReady, isIdle, ask, count, texts, grown, answerWith }) => ({
  async keyboard() {
    const page = await readyPage({ settings: { ...SHORT, max_tokens: undefined } }),
      press = (key) => page.keyboard.press(key),
      focused = () =>
        page.evaluate(
          () =>
            document.activeElement.id ||
            document.activeElement.getAttribute("aria-label") ||
            document.activeElement.textContent,
        ),
      found = {};
    found.begins = await focused();
    await page.evaluate(() => (document.body.setAttribute("tabindex", "-1"), document.body.focus()));
    await press("Tab");
    found.skip = await page.evaluate(() => ({
      text: document.activeElement.textContent,
      left: document.activeElement.getBoundingClientRect().left,
    }));
    await press("Enter");
    found.skipped = await focused();
    await page.keyboard.type("one");
    await press("Shift+Enter");
    await page.keyboard.type("two");
    await press("Enter");
    await grown(page, 2);
    await press("Escape");
    await isIdle(page);
    found.mine = await texts(page, ".mine-text");
    found.facts = await page.textContent(".facts");
    found.after = await focused();
    const order = [],
      unseen = [];
    for (let i = 0; i < 40; i++) {
      await press("Shift+Tab");
      const at = await focused();
      const isSeen = await page.evaluate(
        () => getComputedStyle(document.activeElement).outlineStyle !== "none" || document.activeElement.id === "text",
      );
      if (!isSeen) unseen.push(at);
      if (at === "text" || order.includes("new")) break;
      order.push(at);
    }
    Object.assign(found, { order, unseen });
    await page.focus("#settings-open");
    await press("Enter");
    await page.keyboard.type("Be brief.");
    await press("Escape");
    found.dialog = { open: await count(page, "dialog[open]"), back: await focused() };
    await page.locator(".mine").getByRole("button", { name: "Edit" }).focus();
    await press("Enter");
    await press("End");
    await page.keyboard.type(" three");
    await press("Escape");
    found.cancelled = { mine: await texts(page, ".mine-text"), focused: await focused() };
    await page.focus("#new");
    await press("Enter");
    found.fresh = { focused: await focused(), messages: await count(page, ".message") };
    return found;
  },

  async access() {
    const page = await readyPage(),
      found = {};
    await answerWith(page, [
      { reasoning_content: "Hm." },
      {
        content:
          "# Title\n\nText `code` [link](https://example.org) **x**\n\n> quote\n\n```c\nint x;\n```\n\n|a|b|\n|-|-|\n|1|2|",
      },
    ]);
    await page.setInputFiles("#attach-file", { name: "a.txt", mimeType: "text/plain", buffer: Buffer.from("text") });
    await page.waitForSelector("#files li");
    await ask(page, "a the ab");
    await page.evaluate(() => document.querySelectorAll("details").forEach((e) => (e.open = true)));
    found.unnamed = await page.evaluate(() =>
      [...document.querySelectorAll("input, select, textarea, button, dialog, nav, [role]")]
        .filter(
          (e) =>
            !(
              e.labels?.length ||
              e.textContent.trim() ||
              e.getAttribute("aria-label") ||
              e.getAttribute("aria-labelledby") ||
              e.getAttribute("role") === "status"
            ),
        )
        .map((e) => e.outerHTML),
    );
    found.live = await page.evaluate(() =>
      [...document.querySelectorAll("[aria-live], [role=status]")].map((e) => e.id),
    );
    found.said = await texts(page, "#said p");
    const contrasts = async (key) => {
      found[key] = await page.evaluate(worstContrast);
      await page.click("#settings-open");
      const inside = await page.evaluate(worstContrast);
      await page.keyboard.press("Escape");
      if (inside.ratio < found[key].ratio) found[key] = inside;
      found[key].page = await page.evaluate(() => getComputedStyle(document.body).backgroundColor);
    };
    for (const colorScheme of ["light", "dark"]) {
      await page.emulateMedia({ colorScheme });
      await contrasts(colorScheme);
    }
    await page.click("#theme"); // from the system's dark
    await contrasts("switched");
    await page.reload();
    await isReady(page);
    found.kept = await page.evaluate(() => getComputedStyle(document.body).backgroundColor);
    return found;
  },

  async phone() {
    const page = await readyPage({ viewport: { width: 320, height: 640 }, deviceScaleFactor: 2, hasTouch: true }),
      found = {};
    const wide = () =>
      page.evaluate(() =>
        Math.max(
          ...["html", "body", "main", "#log"]
            .map((s) => document.querySelector(s))
            .map((e) => e.scrollWidth - e.clientWidth),
        ),
      );
    const long = "x".repeat(400);
    await answerWith(page, [
      { reasoning_content: long },
      {
        content: `${long}\n\n\`${long}\`\n\n\`\`\`\n${long}\n\`\`\`\n\n|${"a|".repeat(40)}\n|${"-|".repeat(40)}\n\n- ${long}\n\n# ${long}`,
      },
    ]);
    found.empty = await wide();
    await page.setInputFiles("#attach-file", {
      name: `${long}.txt`,
      mimeType: "text/plain",
      buffer: Buffer.from(long),
    });
    await page.waitForSelector("#files li");
    found.attached = await wide();
    await ask(page, long);
    await page.evaluate(() => document.querySelectorAll("details").forEach((e) => (e.open = true)));
    found.messages = await wide();
    await page.click("#settings-open");
    found.settings = await page.evaluate(
      () => document.getElementById("settings").scrollWidth - document.getElementById("settings").clientWidth,
    );
    await page.keyboard.press("Escape");
    const isShown = () => page.isVisible("#new");
    found.side = [await isShown()];
    await page.click("#side-open");
    found.side.push(await isShown());
    await page.keyboard.press("Escape");
    found.side.push(await isShown());
    await page.click("#side-open");
    await page.click("#new");
    found.side.push(await isShown());
    found.fresh = await count(page, ".message");
    return found;
  },
});
