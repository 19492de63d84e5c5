/**
 * The page /validate in a browser, with a whole engine behind it: official examples and broken files, by drop, by paste and
 * by the keyboard alone; findings beside their lines, filters, languages, a phone, the dark.
 */
import { utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { chromium } from "playwright-core";
import type { Browser, Page, Route } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";

import { invoiceWithLines } from "../../bench/documents.js";
import { systemClock } from "../../engine/base/clock.js";
import { violations } from "../support/callers/axe.js";
import { LOOKS_TIMEOUT_MS } from "../support/callers/browser-pages.js";
import { describeBrowser } from "../support/callers/chromium.js";
import { conformanceBytes, conformanceFiles } from "../support/conformance.js";
import { startTestEngine } from "../support/engines/engine.js";
import type { TestEngine } from "../support/engines/engine.js";

const VALID = invoiceWithLines(2).toString();
const broken = (pattern: RegExp | string, by: string): string => {
  const text = VALID.replace(pattern, by);
  if (text === VALID) throw new Error(`${String(pattern)} is not in the sample`);
  return text;
};

/** Files that are wrong in one way each, with a rule that says so. */
const BROKEN: readonly (readonly [name: string, xml: string, ruleId: string])[] = [
  ["no-xml.xml", "hello", "XML-TAG"],
  ["json.xml", '{"invoice":1}', "XML-IS-JSON"],
  ["cut.xml", VALID.slice(0, -40), "XML-TRUNCATED"],
  ["doctype.xml", broken("<Invoice", "<!DOCTYPE Invoice><Invoice"), "XML-DOCTYPE"],
  ["end-tag.xml", broken("</cbc:ID>", "</cbc:Id>"), "XML-END-TAG"],
  ["ampersand.xml", broken("Obchodná", "A & B"), "XML-REFERENCE"],
  ["markup.xml", broken("<cbc:BuyerReference>", "<cbc:BuyerReference><![CDATA[<img src=x onerror=alert(1)>]]>").replace("<cbc:IssueDate>", "<cbc:UUID>1</cbc:UUID><cbc:IssueDate>"), "UBL-CR-005"],
  ["order.xml", '<Order xmlns="urn:oasis:names:specification:ubl:schema:xsd:Order-2"/>', "UBL-ROOT"],
  ["namespace.xml", broken("CommonBasicComponents-2", "CommonBasicComponents-1"), "UBL-NAMESPACE"],
  ["unknown.xml", broken("<cbc:BuyerReference>", "<cbc:Unheard/><cbc:BuyerReference>"), "UBL-GRAMMAR-UNEXPECTED"],
  ["date.xml", broken(/(<cbc:IssueDate>)[^<]*/u, "$120.11.2026"), "UBL-GRAMMAR-VALUE"],
  ["twice.xml", broken(/(<cbc:IssueDate>.*<\/cbc:IssueDate>)/u, "$1$1"), "UBL-GRAMMAR-REPEATED"],
  ["sum.xml", broken(/(<cbc:TaxInclusiveAmount[^>]*>)[^<]*/u, "$11.00"), "BR-CO-15"],
  ["due.xml", broken(/(<cbc:PayableAmount[^>]*>)[^<]*/u, "$11.00"), "BR-CO-16"],
  ["currency.xml", broken(/(<cbc:DocumentCurrencyCode>)[^<]*/u, "$1EURO"), "BR-CL-04"],
  ["country.xml", broken(/(<cbc:IdentificationCode>)[^<]*/u, "$1SVK"), "BR-CL-14"],
  ["unit.xml", broken(/unitCode="[^"]*"/u, 'unitCode="PIECE"'), "BR-CL-23"],
  ["type.xml", broken(/(<cbc:InvoiceTypeCode[^>]*>)[^<]*/u, "$1381"), "PEPPOL-EN16931-P0100"],
  ["profile.xml", broken(/(<cbc:ProfileID>)[^<]*/u, "$1urn:x"), "PEPPOL-EN16931-R007"],
  ["comma.xml", broken(/(<cbc:TaxableAmount[^>]*>)[^<]*/u, "$112,50"), "!err:FORG0001"],
]; // oxfmt-ignore

describeBrowser("the page /validate in a browser", (executablePath) => {
  let browser: Browser;
  let engine: TestEngine;
  let complaints: string[] = [];
  let minutesLater_ms = 0;
  beforeAll(async () => {
    const now = Date.parse("2026-11-20T09:00:00.000Z");
    engine = await startTestEngine({
      clock: { now: () => now, monotonic: () => systemClock.monotonic() + minutesLater_ms },
    });
    browser = await chromium.launch({ executablePath, args: ["--no-sandbox"] });
  });
  afterAll(async () => {
    await browser.close();
    await engine.stop();
  });

  /** The page, with everything that the browser complains of. */
  async function open(options: Parameters<Browser["newPage"]>[0] = {}): Promise<Page> {
    const page = await browser.newPage({ locale: "en-GB", ...options });
    complaints = [];
    page.on("console", (message) => {
      if (message.type() === "error" || message.type() === "warning") complaints.push(message.text());
    });
    page.on("pageerror", (error) => complaints.push(error.message));
    page.on("request", (request) => {
      if (!request.url().startsWith(engine.engine.publicUrl)) complaints.push(`asked ${request.url()}`);
    });
    await page.goto(`${engine.engine.publicUrl}/validate`);
    return page;
  }
  /** Each choice is of a minute of its own, so that the limit of an address is met by none. */
  const choose = async (page: Page, name: string, bytes: Buffer): Promise<void> => {
    minutesLater_ms += 60_000;
    const answered = page.waitForResponse((response) => response.url().endsWith("/api/validate"));
    await page.locator("#file").setInputFiles({ name, mimeType: "application/xml", buffer: bytes });
    await answered;
    await page.locator("#verdict").waitFor();
    await page.locator("#check:enabled").waitFor();
  };

  describe("verdicts", () => {
    const examples = conformanceFiles("documents/peppol-3.0.21", ".xml");
    test.skipIf(examples.length === 0)("the official examples are valid, and shown to be read", async () => {
      const page = await open();
      expect(examples.length).toBeGreaterThanOrEqual(10);
      for (const name of examples) {
        await choose(page, name, conformanceBytes("documents/peppol-3.0.21", name));
        expect([name, await page.locator("#verdict").textContent()]).toEqual([name, "Valid"]);
        const invoice = page.frameLocator("#reading iframe");
        await invoice.getByRole("heading", { name: "Seller", exact: true }).waitFor();
        expect(await invoice.locator("dd").count()).toBeGreaterThan(5);
        expect(await invoice.locator("tbody tr").count()).toBeGreaterThan(1);
        // The frame is as high as the invoice: nothing scrolls within it, and its style is not refused.
        const [height, shown] = (await page.evaluate(
          `(() => { const frame = document.querySelector("#reading iframe"); return [frame.clientHeight, frame.contentDocument.documentElement.scrollHeight, getComputedStyle(frame.contentDocument.querySelector(".name")).fontWeight]; })()`,
        )) as number[];
        expect(height).toBeGreaterThanOrEqual(shown ?? Infinity);
      }
      expect(complaints).toEqual([]);
      await page.close();
    });

    test("twenty broken files are invalid or warned of, each with its rule, and no text of theirs becomes markup", async () => {
      const page = await open();
      expect(BROKEN).toHaveLength(20);
      for (const [name, xml, ruleId] of BROKEN) {
        await choose(page, name, Buffer.from(xml));
        const ids = await page.locator("#findings a").allTextContents();
        expect([name, ids]).toEqual([name, expect.arrayContaining([ruleId])]);
        expect(await page.locator("main img").count()).toBe(0);
      }
      expect(complaints).toEqual([]);
      await page.close();
    });

    test("a finding marks its line and leads to it, shows its value, and its rule has a page", async () => {
      const page = await open();
      const xml = broken(/(<cbc:PayableAmount[^>]*>)[^<]*/u, "$11.00");
      await choose(page, "due.xml", Buffer.from(xml));
      const finding = page.locator("#findings li.fatal").first();
      expect(await finding.locator("code").first().textContent()).toMatch(/BT-115 1\.00/u);
      await finding.locator("button.place").click();
      const line = xml.split("\n").findIndex((text) => text.includes("<cac:LegalMonetaryTotal>")) + 1;
      expect(await page.evaluate("document.activeElement.dataset.line")).toBe(String(line));
      expect(await page.locator("#source li.fatal").getAttribute("data-line")).toBe(String(line));
      await finding.locator("a").click();
      await page.getByRole("heading", { name: "BR-CO-16" }).waitFor();
      expect(await page.locator("pre.fails").count()).toBe(1);
      expect(await page.locator("pre.passes").count()).toBe(1);
      expect(complaints).toEqual([]);
      await page.close();
    });

    test("findings can be filtered by severity, and told in Slovak", async () => {
      const page = await open();
      const xml = broken(/(<cbc:PayableAmount[^>]*>)[^<]*/u, "$11.00").replace(
        "<cbc:IssueDate>",
        "<cbc:UUID>1</cbc:UUID><cbc:IssueDate>",
      );
      await choose(page, "both.xml", Buffer.from(xml));
      expect(await page.locator("#findings li").count()).toBe(2);
      await page.getByLabel("Fatal (1)").uncheck();
      expect(await page.locator("#findings a").allTextContents()).toEqual(["UBL-CR-005"]);
      await page.getByLabel("Language").selectOption("sk");
      await page.getByText("nepoužíva; odstráňte ho").waitFor();
      expect(await page.locator("#verdict").textContent()).toBe("Neplatný");
      await page.close();
    });

    test("the verdict is saved as the JSON that the operation answered", async () => {
      const page = await open();
      await choose(page, "valid.xml", Buffer.from(VALID));
      const [download] = await Promise.all([page.waitForEvent("download"), page.locator("#save").click()]);
      const chunks: Buffer[] = [];
      for await (const chunk of await download.createReadStream()) chunks.push(chunk as Buffer);
      expect(JSON.parse(Buffer.concat(chunks).toString())).toMatchObject({ valid: true, profile: "peppol-billing" });
      await page.close();
    });
  });

  describe("people", () => {
    test("a document is pasted, judged and its finding reached with the keyboard alone", async () => {
      const page = await open();
      const focus = async (selector: string): Promise<void> => {
        for (let presses = 0; presses < 40; presses += 1) {
          if (await page.evaluate(`document.activeElement.matches(${JSON.stringify(selector)})`)) return;
          await page.keyboard.press("Tab");
        }
        throw new Error(`${selector} is not reached with the Tab key`);
      };
      await focus("#input");
      await page.keyboard.insertText(broken(/(<cbc:PayableAmount[^>]*>)[^<]*/u, "$11.00"));
      await focus("#check");
      await page.keyboard.press("Enter");
      await page.getByRole("heading", { name: "Invalid" }).waitFor();
      await page.locator("#check:enabled").waitFor();
      await focus("#findings button.place");
      await page.keyboard.press("Enter");
      expect(await page.evaluate("document.activeElement.className")).toBe("fatal");
      await page.close();
    });

    test("a file that was written anew is asked for again, and no verdict of its former text stands there", async () => {
      const page = await open();
      const path = join(engine.dataDir, "invoice.xml");
      writeFileSync(path, VALID);
      await page.locator("#file").setInputFiles(path);
      await page.getByRole("heading", { name: "Valid", exact: true }).waitFor();
      writeFileSync(path, broken(/(<cbc:PayableAmount[^>]*>)[^<]*/u, "$11.00"));
      utimesSync(path, 2_000_000_000, 2_000_000_000);
      await page.locator("#check").click();
      await page.getByText("The file has changed since it was chosen, or is gone. Choose it again.").waitFor();
      expect(await page.locator("#result").isVisible()).toBe(false);
      expect(complaints).toEqual([]);
      await page.close();
    });

    test("the same file can be chosen again: a click empties the choice, and a browser sees a change", async () => {
      const page = await open();
      await choose(page, "valid.xml", Buffer.from(VALID));
      const [chooser] = await Promise.all([page.waitForEvent("filechooser"), page.locator("#file").click()]);
      expect(await page.locator("#file").inputValue()).toBe("");
      await chooser.setFiles([]);
      await page.close();
    });

    test("no verdict of another document stands beside what is said of one that could not be sent", async () => {
      const page = await open();
      await choose(page, "valid.xml", Buffer.from(VALID));
      await page.route("**/api/validate", (route) => route.abort());
      await page.locator("#input").fill(broken(/(<cbc:PayableAmount[^>]*>)[^<]*/u, "$11.00"));
      await page.locator("#check").click();
      await page.getByText("The document could not be sent.").waitFor();
      expect(await page.locator("#result").isVisible()).toBe(false);
      expect(await page.locator("#check").isEnabled()).toBe(true);
      await page.close();
    });

    test("who asks for another document waits no longer for the one before, whose request ends", async () => {
      const page = await open();
      const asked: Route[] = [];
      await page.route("**/api/validate", async (route) => {
        asked.push(route);
        if (asked.length > 1) await route.continue();
      });
      const ended = page.waitForEvent("requestfailed");
      await page.locator("#file").setInputFiles({ name: "a.xml", mimeType: "text/xml", buffer: Buffer.from(VALID) });
      await page.getByText("Validating…").waitFor();
      await expect.poll(() => asked.length).toBe(1);
      await choose(page, "b.xml", Buffer.from(broken(/(<cbc:PayableAmount[^>]*>)[^<]*/u, "$11.00")));
      expect((await ended).failure()?.errorText).toBe("net::ERR_ABORTED");
      expect(await page.locator("#verdict").textContent()).toBe("Invalid");
      expect(await page.locator("#status").textContent()).toBe("");
      expect(complaints).toEqual([]);
      await page.close();
    });

    test("who has waited for ten seconds may ask again, although no answer has come", async () => {
      const page = await open();
      await page.clock.install();
      const asked: Route[] = [];
      await page.route("**/api/validate", async (route) => {
        asked.push(route);
        if (asked.length > 1) await route.continue();
      });
      await page.locator("#input").fill(VALID);
      await page.locator("#check").click();
      await expect.poll(() => asked.length).toBe(1);
      expect(await page.locator("#check").isDisabled()).toBe(true);
      await page.clock.fastForward(10_000);
      await page.locator("#check:enabled").click();
      await page.getByRole("heading", { name: "Valid", exact: true }).waitFor();
      await page.close();
    });

    test("who has pressed the button with the keyboard is at it again when nothing came of it", async () => {
      const page = await open();
      const asked: Route[] = [];
      await page.route("**/api/validate", (route) => void asked.push(route));
      await page.locator("#input").fill(VALID);
      await page.locator("#check").focus();
      await page.keyboard.press("Enter");
      await expect.poll(() => page.evaluate("document.activeElement.id")).toBe("");
      await expect.poll(() => asked.length).toBe(1);
      await asked[0]?.abort();
      await page.getByText("The document could not be sent.").waitFor();
      expect(await page.evaluate("document.activeElement.id")).toBe("check");
      await page.close();
    });

    test("another language shows no verdict of another document beside one that could not be sent", async () => {
      const page = await open();
      await choose(page, "valid.xml", Buffer.from(VALID));
      await page.locator("#input").fill(broken(/(<cbc:PayableAmount[^>]*>)[^<]*/u, "$11.00"));
      await page.route("**/api/validate", (route) => route.abort());
      await page.locator("#check").click();
      await page.getByText("The document could not be sent.").waitFor();
      await page.unroute("**/api/validate");
      await page.locator("#language").selectOption("sk");
      await page.getByRole("heading", { name: "Neplatný", exact: true }).waitFor();
      await page.close();
    });

    test("a document whose answer is late is judged in the language that was chosen meanwhile", async () => {
      const page = await open();
      await choose(page, "valid.xml", Buffer.from(VALID));
      const asked: Route[] = [];
      await page.route("**/api/validate", async (route) => {
        asked.push(route);
        if (asked.length > 1) await route.continue();
      });
      const late = Buffer.from(broken(/(<cbc:PayableAmount[^>]*>)[^<]*/u, "$11.00"));
      await page.locator("#file").setInputFiles({ name: "late.xml", mimeType: "text/xml", buffer: late });
      await expect.poll(() => asked.length).toBe(1);
      await page.locator("#language").selectOption("sk");
      await page.getByRole("heading", { name: "Neplatný", exact: true }).waitFor();
      await asked[0]?.abort();
      await page.close();
    });

    test("who may not copy, as on a page without TLS, is told to save instead", async () => {
      const page = await open();
      await choose(page, "valid.xml", Buffer.from(VALID));
      await page.evaluate('Object.defineProperty(navigator, "clipboard", { value: undefined })');
      await page.locator("#copy").click();
      await page.getByText("This browser does not let the page copy. Save it instead.").waitFor();
      expect(complaints).toEqual([]);
      await page.close();
    });

    /** Drops as a person does, from outside of the browser. */
    const drop = async (page: Page, on: string, data: object): Promise<void> => {
      const session = await page.context().newCDPSession(page);
      const box = await page.locator(on).boundingBox();
      const place = { x: (box?.x ?? 0) + 20, y: (box?.y ?? 0) + 20 };
      for (const type of ["dragEnter", "dragOver", "drop"] as const)
        await session.send("Input.dispatchDragEvent", {
          ...place,
          type,
          data: { items: [], dragOperationsMask: 1, ...data },
        });
    };
    const nameOf = (page: Page): Promise<string> => page.locator("#file").inputValue();

    test("a file can be dropped anywhere on the page; the form then names it, and judges it again", async () => {
      const page = await open();
      const [a, b] = ["dropped-a.xml", "dropped-b.xml"].map((name) => join(engine.dataDir, name)) as [string, string];
      writeFileSync(a, VALID);
      writeFileSync(b, broken(/(<cbc:PayableAmount[^>]*>)[^<]*/u, "$11.00"));
      await page.locator("#file").setInputFiles(a);
      await page.getByRole("heading", { name: "Valid", exact: true }).waitFor();
      await page.locator("#check:enabled").waitFor();
      await drop(page, "h1", { files: [b] });
      await page.getByRole("heading", { name: "Invalid", exact: true }).waitFor();
      expect(await nameOf(page)).toMatch(/dropped-b\.xml$/u);
      await page.locator("#check").click();
      await page.getByRole("heading", { name: "Invalid", exact: true }).waitFor();
      await page.close();
    });

    test("a folder that is dropped is said to be one, and of several files none is judged", async () => {
      const page = await open();
      await choose(page, "valid.xml", Buffer.from(VALID));
      await drop(page, "h1", { files: [engine.dataDir] });
      await page.getByText("That is a folder. Drop one file.").waitFor();
      expect(await page.locator("#result").isVisible()).toBe(false);
      const files = ["a.xml", "b.xml"].map((name) => join(engine.dataDir, name));
      for (const file of files) writeFileSync(file, VALID);
      await drop(page, "h1", { files });
      await page.getByText("These are several files. Drop one at a time.").waitFor();
      expect(await page.locator("#result").isVisible()).toBe(false);
      expect(complaints).toEqual([]);
      await page.close();
    });

    test("text can be dragged into its field, in which no file's name stands beside it; a link leads nowhere", async () => {
      const page = await open();
      await choose(page, "valid.xml", Buffer.from(VALID));
      await drop(page, "h1", { items: [{ mimeType: "text/uri-list", data: "http://kurier.example/" }] });
      await drop(page, "#input", { items: [{ mimeType: "text/plain", data: "hello" }] });
      await expect.poll(() => page.locator("#input").inputValue()).toBe("hello");
      expect(await nameOf(page)).toBe("");
      expect(complaints).toEqual([]);
      await page.close();
    });

    test("who opens the choice of a file and chooses none keeps the one before", async () => {
      const page = await open();
      await choose(page, "valid.xml", Buffer.from(VALID));
      await Promise.all([page.waitForEvent("filechooser"), page.locator("#file").click()]);
      await page.locator("#file").dispatchEvent("cancel");
      expect(await nameOf(page)).toMatch(/valid\.xml$/u);
      await page.locator("#check").click();
      await page.getByRole("heading", { name: "Valid", exact: true }).waitFor();
      await page.close();
    });

    test("on a phone the way back and the choice of a language have names, too", async () => {
      const page = await open({ viewport: { width: 360, height: 740 } });
      expect(await page.getByRole("link", { name: "Kurier", exact: true }).count()).toBe(1);
      expect(await page.getByRole("combobox", { name: "Language" }).count()).toBe(1);
      await page.close();
    });

    test("the list of languages is as high as a finger needs, and the page finds the words of Czech readers", async () => {
      const page = await open({ locale: "cs-CZ" });
      const list = page.getByRole("combobox", { name: "Jazyk" });
      expect((await list.boundingBox())?.height).toBeGreaterThanOrEqual(44);
      expect(await page.getByRole("navigation", { name: "Stránky" }).count()).toBe(1);
      await list.selectOption("en");
      expect(await page.getByRole("navigation", { name: "Pages" }).count()).toBe(1);
      await page.close();
    });

    test("lines with findings are marked without colours of ours, and on paper no line is cut off", async () => {
      const page = await open();
      await choose(page, "sum.xml", Buffer.from(broken(/(<cbc:TaxInclusiveAmount[^>]*>)[^<]*/u, "$11.00")));
      await page.emulateMedia({ forcedColors: "active" });
      const outlineOf = (selector: string): Promise<unknown> =>
        page.evaluate(`getComputedStyle(document.querySelector(${JSON.stringify(selector)})).outlineStyle`);
      expect(await outlineOf("#source li.fatal")).toBe("solid");
      expect(await outlineOf('#source li[data-line="1"]')).toBe("none");
      await page.emulateMedia({ forcedColors: "none", media: "print" });
      const [high, shown] = (await page.evaluate(
        "(({ scrollHeight, clientHeight }) => [scrollHeight, clientHeight])(document.getElementById('source'))",
      )) as [number, number];
      expect(shown).toBe(high);
      await page.close();
    });

    test.each(["/validate", "/validate/rules", "/validate/rules/BR-CO-15"])(
      "%s is no wider than a phone",
      async (path) => {
        const page = await open({ viewport: { width: 360, height: 740 } });
        await page.goto(engine.engine.publicUrl + path);
        if (path === "/validate")
          await choose(page, "sum.xml", Buffer.from(broken(/(<cbc:TaxInclusiveAmount[^>]*>)[^<]*/u, "$11.00")));
        expect(await page.evaluate("document.documentElement.scrollWidth")).toBeLessThanOrEqual(360);
        await page.close();
      },
    );

    test.each(["/validate", "/validate/rules", "/validate/rules/BR-CO-15"])(
      "axe-core finds nothing on %s, in light and dark, also where a phone shows a verdict",
      async (path) => {
        for (const colorScheme of ["light", "dark"] as const) {
          const page = await open({ colorScheme, viewport: { width: 320, height: 740 } });
          await page.goto(engine.engine.publicUrl + path);
          if (path === "/validate")
            await choose(page, "sum.xml", Buffer.from(broken(/(<cbc:TaxInclusiveAmount[^>]*>)[^<]*/u, "$11.00")));
          expect(await violations(page)).toEqual([]);
          await page.close();
        }
      },
      LOOKS_TIMEOUT_MS,
    );

    test.each([
      ["dark", "rgb(18, 22, 31)"],
      ["light", "rgb(255, 255, 255)"],
    ] as const)("who prefers %s gets it", async (colorScheme, background) => {
      const page = await open({ colorScheme });
      expect(await page.evaluate("getComputedStyle(document.body).backgroundColor")).toBe(background);
      await page.close();
    });

    test("a rule that is none of ours is said to be none, and its name is no markup", async () => {
      const page = await open();
      const response = await page.goto(`${engine.engine.publicUrl}/validate/rules/${encodeURIComponent("<b>X")}`);
      expect(response?.status()).toBe(404);
      expect(await page.getByRole("heading").textContent()).toBe("<b>X");
      await page.close();
    });
  });
});
