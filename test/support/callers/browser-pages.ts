/** Pages of a running engine in a browser: signing in, and what every page is held to. */
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Browser, BrowserContext, Page } from "playwright-core";
import { expect } from "vitest";

import type { TestEngine } from "../engines/engine.js";
import { violations } from "./axe.js";
import { codeFor, codesSent } from "./visitor.js";

const PICTURES = fileURLToPath(new URL("../../../deploy/screenshots/", import.meta.url));

/** What stood in the bar of each picture when it was taken. */
const BARS = fileURLToPath(new URL("../../browser/bars-of-pictures.json", import.meta.url));
const pictureBars = (): Readonly<Record<string, string>> =>
  JSON.parse(readFileSync(BARS, "utf8")) as Readonly<Record<string, string>>;

/** Width in pixels and theme: a phone and a desk, in light and dark. */
export const LOOKS = [
  ["light", 360],
  ["light", 1280],
  ["dark", 360],
  ["dark", 1280],
] as const;
export type LooksOfPage = (typeof LOOKS)[number];
/** A loaded machine takes a minute for axe-core on the longest page. */
export const LOOKS_TIMEOUT_MS = 300_000;

/** From the page that asks for an address to wherever the right code leads. */
export async function signInOn(page: Page, running: TestEngine, email: string): Promise<void> {
  const mail = join(running.dataDir, "mail");
  const before = codesSent(mail, email);
  await page.getByLabel("E-mail address").fill(email);
  await page.getByRole("button", { name: "Send the code" }).click();
  await page.getByLabel("Code from the e-mail").fill(await codeFor(mail, email, before));
  await page.getByRole("main").getByRole("button", { name: "Sign in" }).click();
}

/** Contexts of one look, with somebody signed in where an address is named. */
export async function contextOf(
  browser: Browser,
  running: TestEngine,
  [colorScheme, width]: LooksOfPage,
  who: { readonly email?: string; readonly locale?: string } = {},
): Promise<BrowserContext> {
  const { email, locale = "en" } = who;
  const context = await browser.newContext({ colorScheme, viewport: { width, height: 800 }, locale });
  if (email === undefined) return context;
  const page = await context.newPage();
  await page.goto(`${running.engine.publicUrl}/sign-in`);
  await signInOn(page, running, email);
  await page.getByText(`You are signed in as ${email}.`).waitFor();
  await page.close();
  return context;
}

/** A page by the name of its picture, with who looks at it and where it is. */
export type NamedPage = readonly [name: string, context: BrowserContext, path: string];

/**
 * Holds pages to what all of them promise: nothing scrolls sideways and axe-core finds nothing. SCREENSHOTS=1 writes
 * the pictures of the README anew: the desk in light, the phone in dark. Without it their bars must be those of the pages.
 */
export async function checkLooks(
  running: TestEngine,
  [theme, width]: LooksOfPage,
  pages: readonly NamedPage[],
  pictured: readonly string[],
): Promise<void> {
  for (const [name, context, path] of pages) {
    const page = await context.newPage();
    await page.goto(new URL(path, running.engine.publicUrl).href);
    expect([name, await page.evaluate("document.documentElement.scrollWidth")]).toEqual([name, width]);
    expect([name, await violations(page)]).toEqual([name, []]);
    if (pictured.includes(name) && (theme === "light") === (width === 1280)) {
      const picture = `${name}-${theme}.png`;
      const bar = (await page.getByRole("navigation").first().getByRole("link").allInnerTexts()).join(", ");
      if (process.env["SCREENSHOTS"] === "1") {
        mkdirSync(PICTURES, { recursive: true });
        await page.screenshot({ path: join(PICTURES, picture) });
        writeFileSync(BARS, `${JSON.stringify({ ...pictureBars(), [picture]: bar }, undefined, 2)}\n`);
      } else
        expect(bar, `${picture} was taken of another bar: SCREENSHOTS=1 takes it anew`).toEqual(pictureBars()[picture]);
    }
    await page.close();
  }
}
