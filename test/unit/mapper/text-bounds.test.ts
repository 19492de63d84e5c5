/** Texts that nobody can mean as an invoice are read in little time, and come to nothing but issues. */
import { expect, test } from "vitest";

import { mapSource } from "../../../engine/invoices/mapper/map.js";
import type { SourceType } from "../../../engine/invoices/mapper/protocol.js";
import { OWN_FIRM } from "../../support/documents/json-invoices.js";

const map = (sourceType: SourceType, sourceText: string) =>
  mapSource({
    sourceType,
    sourceText,
    sourceJson: undefined,
    customerRef: "customer",
    fieldMap: {},
    defaults: {},
    own: OWN_FIRM,
  });

const HOSTILE: readonly (readonly [string, SourceType, () => string])[] = [
  ["a line of a million colons", "text", () => ": ".repeat(1_000_000)],
  ["a million spaces between two words", "pdf_text", () => `Popis${" ".repeat(1_000_000)}Cena`],
  ["a line of 300,000 words", "text", () => "Faktúra č. ".repeat(150_000)],
  ["a table of 4,000 rows without values", "text", () => `Popis  Množstvo  Cena\n${"a\n".repeat(4_000)}`],
  ["a text of 20,000 lines", "text", () => "a\n".repeat(20_000)],
  [
    "a table whose spaces are lost, with a row of 100,000 numbers",
    "text",
    () => `Popis Množstvo Cena bez DPH\n${"1 ".repeat(100_000)}`,
  ],
  ["a CSV of quotes", "csv", () => '""'.repeat(500_000)],
  ["a CSV of delimiters", "csv", () => `${";".repeat(150)}\n`.repeat(4_000)],
  ["an empty CSV", "csv", () => "\u{feff}"],
];

test.each(HOSTILE)("%s is answered, and not ready", (_, sourceType, source) => {
  const mapped = map(sourceType, source());
  expect(mapped.kind === "unreadable" || !mapped.ready).toBe(true);
});

test("a number of unmapped lines beyond what is listed is counted", () => {
  const mapped = map("text", Array.from({ length: 500 }, (_, at) => `Riadok ${at} bez významu`).join("\n"));
  if (mapped.kind === "unreadable") throw new Error(mapped.message);
  expect(mapped.unmapped).toHaveLength(200);
  expect(mapped.omitted).toBe(300);
});

test("an invoice of 1,000 lines is cut to what an invoice can have, and that is an error", () => {
  const rows = Array.from({ length: 1_000 }, (_, at) => `Tovar ${at};1;2,50;23`).join("\n");
  const mapped = map("csv", `Popis;Množstvo;Cena bez DPH;Sadzba DPH\n${rows}`);
  if (mapped.kind === "unreadable") throw new Error(mapped.message);
  expect(mapped.document["lines"]).toHaveLength(999);
  expect(mapped.issues).toContainEqual(expect.objectContaining({ code: "TOO_MANY_LINES", severity: "error" }));
});
