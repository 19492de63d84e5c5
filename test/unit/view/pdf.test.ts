/** Invoices as PDF, read back by another program's reader: nothing of a page is lost, letters stay letters, pages break well. */
import { extractText, getDocumentProxy } from "unpdf";
import { describe, expect, test } from "vitest";

import { LANGUAGES } from "../../../validators/report.js";
import type { Language } from "../../../validators/report.js";
import { describeConformance } from "../../support/conformance.js";
import { amountsIn, asRead, drawn, exampleBytes, invoiceSaying, VIEW_EXAMPLES } from "../../support/documents/views.js";

/** The text of each page, every white space as one blank: a PDF knows no others. */
async function pagesOf(bytes: Buffer, language: Language): Promise<readonly string[]> {
  const file = await getDocumentProxy(new Uint8Array(drawn(bytes, language, "pdf")));
  const { text } = await extractText(file, { mergePages: false });
  return text.map((page) => page.replaceAll(/\s+/gu, " "));
}
const plain = (text: string): string => text.replaceAll(/\s+/gu, " ");
const AMOUNTS = [
  "LineExtensionAmount",
  "TaxExclusiveAmount",
  "TaxInclusiveAmount",
  "PayableAmount",
  "TaxableAmount",
  "TaxAmount",
];

describeConformance("official examples as PDF", "documents", () => {
  const cases = VIEW_EXAMPLES.flatMap(([name, ...path]) =>
    LANGUAGES.map((language) => [name, language, path] as const),
  );

  test.each(cases)("%s in %s has number, parties and each amount to the last digit", async (_, language, path) => {
    const xml = exampleBytes(path)
      .toString("utf8")
      .replaceAll(/<!--.*?-->/gsu, "");
    const text = (await pagesOf(Buffer.from(xml), language)).join(" ");
    const said = (pattern: RegExp): string => plain(pattern.exec(xml)?.[1] ?? "?").replaceAll("&amp;", "&");
    expect(text).toContain(said(/<cbc:ID>([^<]*)</u));
    expect(text).toContain(said(/<cbc:RegistrationName>([^<]*)</u));
    const amounts = amountsIn(xml, ...AMOUNTS);
    expect(amounts.length).toBeGreaterThan(5);
    for (const amount of amounts) expect(text).toContain(plain(asRead(amount, language)));
  });
});

describe("an invoice as PDF", () => {
  test("Slovak letters, and those of other languages of the network, are read back as they were written", async () => {
    const letters = "Príliš žltý kôň úpel ďábelské ódy ĽŠČŤŽÝÁÍÉÚÄÔŇĎŔĹ ľščťžýáíéúäôňďŕĺ";
    const others = "Ελληνικά Български Íslenska Łódź Öresund Straße €";
    const [page = ""] = await pagesOf(invoiceSaying({ RegistrationName: letters, StreetName: others }), "sk");
    expect(page).toContain(letters);
    expect(page).toContain(others);
    expect(page).toContain("Dodávateľ".toUpperCase());
  });

  test.each(LANGUAGES)(
    "three hundred lines in %s stand on several pages, each with the head of the table and its number",
    async (language) => {
      const xml = invoiceSaying({}, 300);
      const pages = await pagesOf(xml, language);
      expect(pages.length).toBeGreaterThan(10);
      const [head, page] = language === "en" ? ["Unit price", "Page"] : ["Jedn. cena", "Strana"];
      pages.slice(1, -1).forEach((text) => {
        expect(text).toContain(head);
      });
      pages.forEach((text, index) => {
        expect(text).toContain(
          language === "en" ? `${page} ${index + 1} of ${pages.length}` : `${page} ${index + 1} z ${pages.length}`,
        );
      });
      const all = pages.join(" ");
      for (let n = 1; n <= 300; n++) expect(all).toMatch(new RegExp(`Shelf ${n} `, "u"));
      for (const amount of amountsIn(xml.toString("utf8"), ...AMOUNTS))
        expect(all).toContain(plain(asRead(amount, language)));
    },
  );

  test("a text that is longer than a page goes on on the next ones, and no word is lost", async () => {
    const words = Array.from({ length: 440 }, (_, n) => `slovo${n}`).join(" ");
    const all = (await pagesOf(invoiceSaying({ Description: words }, 1), "sk")).join(" ");
    for (let n = 0; n < 440; n++) expect(all).toContain(`slovo${n}`);
  });

  test("words without blanks, control characters and syntax of PDF are text like any other", async () => {
    const hostile = `)>>endstream endobj (${"W".repeat(500)}`;
    const all = (
      await pagesOf(invoiceSaying({ RegistrationName: hostile.replaceAll(">", "&gt;"), ID: "x\u00ad\u200b)" }), "en")
    ).join(" ");
    expect(all.replaceAll(" ", "")).toContain(hostile.replaceAll(" ", ""));
  });

  test("the same document gives the same bytes, with its title and language, and no more of the fonts than it needs", () => {
    const bytes = drawn(invoiceSaying({}), "sk", "pdf");
    expect(drawn(invoiceSaying({}), "sk", "pdf").equals(bytes)).toBe(true);
    expect(bytes.length).toBeLessThan(100_000);
    expect(bytes.toString("latin1")).toMatch(/\/Lang<FEFF0073006B>/u);
    expect(bytes.toString("latin1").match(/\/FontFile2/gu)).toHaveLength(2);
  });
});
