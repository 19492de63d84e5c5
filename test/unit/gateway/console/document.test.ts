/** A document's page at the console, as far as it says more than its row. */
import { expect, test } from "vitest";

import { LIMITS } from "../../../../engine/base/limits.js";
import { sheetOfDocument } from "../../../../gateway/web/console/document.js";
import type { DocumentSheet } from "../../../../gateway/web/console/document.js";

const AT = Date.parse("2026-11-24T10:00:00Z");
const entry = (status: string, trigger: string) => ({ status, trigger, detail: null, at: AT });
const document = (status: string, timeline: DocumentSheet["timeline"]): DocumentSheet => ({
  id: "01a20de2-8678-720b-84ab-e7af160353fc",
  direction: "sent",
  status,
  firmId: "01a20ddf-ec65-7a11-bae1-67aea79b1139",
  sender: "0245:2120000017",
  receiver: "0245:2120000025",
  documentTypeId: "urn:oasis:names:specification:ubl:schema:xsd:Invoice-2::Invoice",
  as4MessageId: "8e2a2767@kurier",
  createdAt: AT,
  nextAttemptAt: null,
  peerSeat: null,
  timeline,
  attempts: [],
  notApplied: [],
  notAppliedCount: 0,
  findings: [],
  evidence: [],
});

const stateOf = (trigger: string): string | undefined => {
  const sheet = sheetOfDocument(document("send_failed", [entry("queued", "accepted"), entry("send_failed", trigger)]));
  return sheet.facts?.find(([name]) => name === "State")?.[1];
};

test("what its firm has cancelled is cancelled on its page, as the overview counts it; what no receiver took has failed", () => {
  expect(stateOf("cancelled")).toBe("cancelled; its firm reads send_failed");
  expect(stateOf("attempts_exhausted")).toBe("send_failed");
});

test("a document's page says how many statuses changed nothing where it does not show each", () => {
  const ignored = { kind: "document.mls_ignored", reason: "foreign", code: "RE", at: AT };
  const rowsOf = (notAppliedCount: number): readonly (readonly string[])[] | undefined =>
    sheetOfDocument({ ...document("sent", []), notApplied: [ignored], notAppliedCount })
      .sections?.find(({ id }) => id === "not-applied")
      ?.rows.map((row) => row.map(({ text }) => text));
  expect(rowsOf(1)).toHaveLength(1);
  expect(rowsOf(13)?.at(-1)).toEqual(["", "13 in all, the first of each reason shown", "", ""]);
  const most = LIMITS.statuses_ignored_counted_max;
  expect(rowsOf(most)?.at(-1)?.[1]).toBe(`${most} or more in all, the first of each reason shown`);
});
