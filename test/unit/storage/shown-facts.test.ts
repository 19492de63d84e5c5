/** Goal: a page of many rows of few documents opens each document's facts once, and never shows one's for another's. */
import { expect, test } from "vitest";

import { sealFacts, shownFacts, shownOnce, useFactsSealer } from "../../../engine/storage/keyring/facts.js";
import { createSealer } from "../../../engine/storage/sealer.js";
import type { Sql } from "../../../engine/storage/sql.js";

const SENDER = "0245:2020202020";
const [ONE, OTHER] = ["0197b2f0-0000-7000-8000-000000000001", "0197b2f0-0000-7000-8000-000000000002"];

/** A pool that asks nothing, whose sealer counts what it opens. */
function counted() {
  const sealer = createSealer([Buffer.alloc(32, 1)]);
  const seen = { opened: 0, unopened: 0 };
  const sql = {} as unknown as Sql;
  const open: typeof sealer.open = (...sealed) => {
    seen.opened += 1;
    return sealer.open(...sealed);
  };
  useFactsSealer(sql, { ...sealer, open }, () => {
    seen.unopened += 1;
  });
  const factsOf = (id: string, documentNumber: string) =>
    sealFacts(sealer, { id, sender: SENDER }, { documentNumber, issueDate: "2026-11-20", payableAmount: "1.00" });
  return { sql, seen, factsOf };
}

test("facts of one document are opened once for all rows of a page, and again where they are others", () => {
  const { sql, seen, factsOf } = counted();
  const shown = shownOnce(sql);
  const facts = factsOf(ONE, "F-1");
  const rows = [facts, facts, factsOf(ONE, "F-2"), factsOf(OTHER, "F-3")].map((stored, at) =>
    shown(at < 3 ? ONE : OTHER, stored),
  );
  expect(rows.map(({ number }) => number)).toEqual(["F-1", "F-1", "F-2", "F-3"]);
  expect(seen).toEqual({ opened: 3, unopened: 0 });
});

test("facts of a document that lie at another one are not shown for it, also where they were opened before", () => {
  const { sql, seen, factsOf } = counted();
  const shown = shownOnce(sql);
  const facts = factsOf(ONE, "F-1");
  expect(shown(ONE, facts).number).toBe("F-1");
  expect(shown(OTHER, facts)).toEqual({
    ...{ number: null, total: null, issueDate: "2026-11-20", dueDate: null, currency: null },
  });
  expect(seen).toEqual({ opened: 2, unopened: 1 });
});

test("facts that lie in clear are shown as they are, and nothing is opened for them", () => {
  const { sql, seen } = counted();
  const clear = { documentNumber: "F-1", payableAmount: "12.50", currency: "EUR" };
  const expected = { number: "F-1", total: "12.50", currency: "EUR", issueDate: null, dueDate: null };
  expect([shownFacts(sql, ONE, clear), shownOnce(sql)(ONE, clear)]).toEqual([expected, expected]);
  expect(seen.opened).toBe(0);
});
