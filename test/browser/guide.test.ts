/** The guide as a reader sees it, on a desk and on a phone, in both themes, without scripts. */
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { chromium } from "playwright-core";
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";

import { buildIfNeeded } from "../../deploy/build.mjs";
import { guideRoutes } from "../../gateway/routes/guide.js";
import { violations } from "../support/callers/axe.js";
import { LOOKS, LOOKS_TIMEOUT_MS } from "../support/callers/browser-pages.js";
import { describeBrowser } from "../support/callers/chromium.js";
import { serverForms, startGateway } from "../support/engines/gateway.js";
import type { TestGateway } from "../support/engines/gateway.js";
import { referenceRows } from "../support/engines/published-rows.js";

/** A folder for pictures of the pages; without it none are taken. */
const PICTURES = process.env["KURIER_TEST_GUIDE_PICTURES"];
/** The first page, one of words, pictures and programs each, and one of wide tables. */
const SHOWN = ["", "/start/how-it-works", "/integrators/sapi", "/operators/keys"];

describeBrowser("the guide in a browser", (executablePath) => {
  let browser: Browser;
  let gateway: TestGateway;
  beforeAll(async () => {
    await buildIfNeeded();
    gateway = await startGateway(serverForms[0] ?? "node", [...guideRoutes(), ...referenceRows]);
    browser = await chromium.launch({ executablePath, args: ["--no-sandbox"] });
  });
  afterAll(async () => {
    await browser.close();
    await gateway.stop();
  });

  test.each(LOOKS)(
    "no page of the guide in the %s theme at %d pixels scrolls sideways, and axe-core finds nothing",
    async (colorScheme, width) => {
      const page = await browser.newPage({ colorScheme, viewport: { width, height: 900 } });
      const complaints: string[] = [];
      page.on("console", (message) => complaints.push(message.text()));
      page.on("request", (request) => {
        if (!request.url().startsWith(gateway.origin)) complaints.push(`asked ${request.url()}`);
      });
      for (const path of SHOWN) {
        await page.goto(`${gateway.origin}/docs/guide${path}`);
        expect(await page.evaluate("document.documentElement.scrollWidth")).toBeLessThanOrEqual(width);
        expect(await violations(page)).toEqual([]);
        if (PICTURES === undefined) continue;
        mkdirSync(PICTURES, { recursive: true });
        const name = path === "" ? "index" : path.slice(1).replaceAll("/", "-");
        await page.screenshot({ path: join(PICTURES, `${name}-${colorScheme}-${width}.png`) });
      }
      expect(complaints).toEqual([]);
      await page.close();
    },
    LOOKS_TIMEOUT_MS,
  );

  test("without scripts a phone finds the menu of the guide below the text, and a desk beside it", async () => {
    const context = await browser.newContext({ javaScriptEnabled: false, viewport: { width: 360, height: 740 } });
    const page = await context.newPage();
    await page.goto(`${gateway.origin}/docs/guide/integrators/sapi`);
    await page.getByRole("link", { name: "Contents" }).click();
    expect(new URL(page.url()).hash).toBe("#contents");
    await page.getByRole("navigation", { name: "Guide" }).getByRole("link", { name: "Webhooks" }).click();
    expect(new URL(page.url()).pathname).toBe("/docs/guide/integrators/webhooks");
    await page.setViewportSize({ width: 1280, height: 800 });
    expect(await page.getByRole("link", { name: "Contents" }).isVisible()).toBe(false);
    expect(await page.getByRole("navigation", { name: "Guide" }).isVisible()).toBe(true);
    await context.close();
  });
});
