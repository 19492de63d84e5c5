/** What the browser suites find of texts that are hard to read, on pages made for it: equal texts are judged once. */
import { chromium } from "playwright-core";
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";

import { violations } from "../support/callers/axe.js";
import { describeBrowser } from "../support/callers/chromium.js";

const PARAGRAPHS = 100;
/** A page of equal paragraphs, but for the one in the middle of the second half. */
const pageWith = (other: string): string => {
  const paragraphs = Array.from({ length: PARAGRAPHS }, () => "<p>A sentence that is easy to read.</p>");
  paragraphs[75] = other;
  return `<!doctype html><html lang="en"><head><title>Texts</title><style>
    body { color: #111; background: #fff } .dark { background: #222 } .pale { color: #ddd } [hidden] { display: none }
    button, button:disabled { color: #ddd; background: #fff }
    </style></head><body><main><h1>Texts</h1>${paragraphs.join("")}</main></body></html>`;
};

/** What is hard to read, and what is not though it has its colours. */
const CASES: readonly (readonly [string, string, boolean])[] = [
  ["nothing but equal texts", "<p>A sentence that is easy to read.</p>", false],
  ["a text with a colour of its own", '<p style="color: #ddd">Pale.</p>', true],
  ["a text with a class of its own", '<p class="pale">Pale.</p>', true],
  ["an equal text on another ground", '<div class="dark"><p>Dark.</p></div>', true],
  ["a text that lets its ground through", '<p style="opacity: 0.2">Pale.</p>', true],
  ["a pale word inside of an equal text", 'A <p>sentence <span class="pale">with a pale word</span>.</p>', true],
  ["a pale text that nobody sees", '<p class="pale" hidden>Pale.</p>', false],
  ["a control that is disabled before one that is not", "<button disabled>Off</button>", false],
  [
    "a pale control behind a disabled one",
    '<button disabled class="pale">Off</button><button class="pale">On</button>',
    true,
  ],
];

const CLOSED = '<details><summary>More</summary><p class="pale">Pale.</p></details>';
const CUT_OFF = '<div style="height: 0; overflow: hidden"><p class="pale">Pale.</p></div>';
const OFF = "<button disabled><b>Off or on</b></button>";

/** Of texts that look alike the second alone can be read, and is hard to read. */
const SECONDS: readonly (readonly [string, string])[] = [
  ["in details that are open", `${CLOSED}${CLOSED.replace("<details>", "<details open>")}${CLOSED}${CLOSED}`],
  ["where it is not cut off", `${CUT_OFF}${CUT_OFF.replace("height: 0; ", "")}${CUT_OFF}${CUT_OFF}`],
  ["in letters", '<p class="pale">→→</p><p class="pale">Pale.</p><p class="pale">→→</p><p class="pale">→→</p>'],
  ["in a control that is not disabled", `${OFF}${OFF.replace(" disabled", "")}${OFF}${OFF}`],
];

/** Controls that have their text in an attribute or in what they hold, which are no texts of a page. */
const CONTROLS: readonly string[] = [
  '<form><input type="submit" class="pale" value="Send"></form>',
  '<label for="name">Name</label> <span><input id="name" class="pale" value="Pale"></span>',
  '<label for="list">List</label> <span><select id="list" class="pale"><option>Pale</option></select></span>',
];

/** What breaks a rule that has nothing to do with contrast, with what is said of it. */
const OTHER_RULES: readonly (readonly [string, string])[] = [
  ['<img src="data:,">', 'image-alt: <img src="data:,">'],
  [
    '<button style="all: unset; font-size: 5px">A</button><button style="all: unset; font-size: 5px">B</button>',
    'target-size: <button style="all: unset; font-size: 5px">A</button>',
  ],
];

describeBrowser("texts that are hard to read", (executablePath) => {
  let browser: Browser;
  beforeAll(async () => {
    browser = await chromium.launch({ executablePath, args: ["--no-sandbox"] });
  });
  afterAll(() => browser.close());

  test.each(CASES)(
    "%s, in a hundred texts that are easy to read: found when it is hard to read",
    async (_name, other, isFound) => {
      const page = await browser.newPage();
      await page.setContent(pageWith(other));
      const found = await violations(page);
      expect(found.map((line) => line.split(":")[0])).toEqual(isFound ? ["color-contrast"] : []);
      await page.close();
    },
  );

  test.each(SECONDS)("a pale text is found %s, the second of four that look alike", async (_where, texts) => {
    const page = await browser.newPage();
    await page.setContent(pageWith(texts));
    expect((await violations(page)).join("\n")).toMatch(/^color-contrast: /m);
    await page.close();
  });

  test.each(OTHER_RULES)(
    "every other rule is held as well, with the element that breaks it: %s",
    async (part, said) => {
      const page = await browser.newPage();
      await page.setContent(pageWith(part));
      expect((await violations(page)).join("\n")).toContain(said);
      await page.close();
    },
  );

  test.each(CONTROLS)("a control that is hard to read is found: %s", async (control) => {
    const page = await browser.newPage();
    await page.setContent(pageWith(control));
    expect((await violations(page)).join("\n")).toMatch(/^color-contrast: /m);
    await page.close();
  });
});
