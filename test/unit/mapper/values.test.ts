/** Goal: what a float has made of a number is refused instead of guessed (D-140), also where a text is meant. */
import { expect, test } from "vitest";

import { mapSource } from "../../../engine/invoices/mapper/map.js";
import { OWN_FIRM } from "../../support/documents/json-invoices.js";

const NOTHING = { customerRef: "c", fieldMap: {}, defaults: {}, sourceText: undefined, own: OWN_FIRM };
function numberOf(written: string): unknown {
  const sourceJson: unknown = JSON.parse(`{"invoice_number": ${written}}`);
  const mapped = mapSource({ ...NOTHING, sourceType: "json", sourceJson });
  if (mapped.kind === "unreadable") throw new Error(mapped.message);
  const isTold = mapped.issues.some(({ code, field }) => code === "NOT_EXACT" && field === "number");
  return isTold ? "NOT_EXACT" : mapped.document["number"];
}

test.each([
  ["20260000000000000001", "NOT_EXACT"],
  ["9007199254740993", "NOT_EXACT"],
  ["1e21", "NOT_EXACT"],
  ["0.1234567890123456789", "NOT_EXACT"],
  ["202600000000001", "202600000000001"],
  ["2026.5", "2026.5"],
  ['"20260000000000000001"', "20260000000000000001"],
])("a number of a document that is %s in JSON becomes %s", (written, expected) => {
  expect(numberOf(written)).toBe(expected);
});
