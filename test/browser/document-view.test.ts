/**
 * Invoices to be read, in a browser: at the widths of a phone and of a desk, in light and dark, no page scrolls sideways,
 * its style is let in by its policy, and axe-core finds nothing.
 */
import { chromium } from "playwright-core";
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";

import { documentViewRoutes } from "../../gateway/routes/documents/view.js";
import { parseUuid } from "../../engine/base/ids.js";
import { violations } from "../support/callers/axe.js";
import { LOOKS, LOOKS_TIMEOUT_MS } from "../support/callers/browser-pages.js";
import { describeBrowser } from "../support/callers/chromium.js";
import { conformanceFiles } from "../support/conformance.js";
import { serverForms, startGateway, testCaller } from "../support/engines/gateway.js";
import type { TestGateway } from "../support/engines/gateway.js";
import { drawn, exampleBytes, invoiceSaying, VIEW_EXAMPLES } from "../support/documents/views.js";

const WIDE = "W".repeat(300);
const OWN: readonly (readonly [name: string, bytes: Buffer])[] = [
  ["a hundred lines", invoiceSaying({}, 100)],
  [
    "words without blanks",
    invoiceSaying({ Name: WIDE, Description: WIDE, ID: WIDE, StreetName: WIDE, PaymentID: WIDE }),
  ],
  ["amounts of many digits", invoiceSaying({ PayableAmount: "-123456789012.34", PriceAmount: "1234567890.12345678" })],
];
const EXAMPLES = conformanceFiles("documents/peppol-3.0.21", ".xml").length === 0 ? [] : VIEW_EXAMPLES;
const DOCUMENTS = [...OWN, ...EXAMPLES.map(([name, ...path]) => [name, exampleBytes(path)] as const)];
const idOf = (index: number): string => `018f6a3e-0000-7000-8000-${String(index).padStart(12, "0")}`;

/** Texts of the totals that look like an amount and stand in more than one line. */
const BROKEN_AMOUNTS = `[...document.querySelectorAll(".totals dd")]
  .filter(({ textContent }) => textContent.length <= 24)
  .filter((amount) => {
    const range = document.createRange();
    range.selectNodeContents(amount);
    return new Set([...range.getClientRects()].map(({ top }) => Math.round(top))).size > 1;
  })
  .map(({ textContent }) => textContent)`;

describeBrowser("invoices to be read in a browser", (executablePath) => {
  let browser: Browser;
  let gateway: TestGateway;
  beforeAll(async () => {
    gateway = await startGateway(
      serverForms[0] ?? "node",
      documentViewRoutes({
        document: async (_, id, { language, format }) => {
          const bytes = DOCUMENTS.find((_document, index) => parseUuid(idOf(index)) === id)?.[1] ?? Buffer.alloc(0);
          return { kind: "shown", bytes: drawn(bytes, language, format), number: "" };
        },
        view: async () => ({ kind: "refused", findings: [] }),
      }),
      { ports: { authenticate: () => testCaller({ scopes: new Set(["documents:read"]) }) } },
    );
    browser = await chromium.launch({ executablePath, args: ["--no-sandbox"] });
  });
  afterAll(async () => {
    await browser.close();
    await gateway.stop();
  });

  test(
    "no amount of the totals is broken on the narrowest phone: it stands below its word where both have no room",
    async () => {
      const context = await browser.newContext({
        viewport: { width: 320, height: 640 },
        extraHTTPHeaders: { authorization: "Bearer good" },
      });
      const page = await context.newPage();
      for (const [index, [name]] of DOCUMENTS.entries())
        for (const language of ["sk", "en"]) {
          await page.goto(`${gateway.origin}/api/v1/documents/${idOf(index)}/html?lang=${language}`);
          expect([name, await page.evaluate(BROKEN_AMOUNTS)]).toEqual([name, []]);
          expect([name, await page.evaluate("document.documentElement.scrollWidth")]).toEqual([name, 320]);
        }
      await context.close();
    },
    LOOKS_TIMEOUT_MS,
  );

  test.each(LOOKS)(
    "no invoice in the %s theme at %d pixels scrolls sideways, its style is let in, and axe-core finds nothing",
    async (theme, width) => {
      const context = await browser.newContext({
        colorScheme: theme,
        viewport: { width, height: 800 },
        extraHTTPHeaders: { authorization: "Bearer good" },
        bypassCSP: false,
      });
      for (const [index, [name]] of DOCUMENTS.entries()) {
        const page = await context.newPage();
        const complaints: string[] = [];
        page.on("console", (message) => complaints.push(message.text()));
        const language = index % 2 === 0 ? "sk" : "en";
        await page.goto(`${gateway.origin}/api/v1/documents/${idOf(index)}/html?lang=${language}`);
        expect([name, await page.evaluate("document.documentElement.scrollWidth")]).toEqual([name, width]);
        expect(await page.evaluate("getComputedStyle(document.body).margin")).toBe("0px");
        expect([name, complaints]).toEqual([name, []]);
        // The page's sandbox runs no script, axe-core among them: the same markup is judged in a page without one.
        const judge = await context.newPage();
        await judge.setContent((await page.content()).replace(/<meta http-equiv[^>]*>/u, ""));
        expect([name, await violations(judge)]).toEqual([name, []]);
        await Promise.all([page.close(), judge.close()]);
      }
      await context.close();
    },
    LOOKS_TIMEOUT_MS,
  );
});
