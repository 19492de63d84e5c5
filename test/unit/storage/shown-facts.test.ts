/** Goal: a page of many rows of few documents opens each document's facts once, and never shows one's for another's. */
import { expect, test } from "vitest";

import type { FirmId, IntegratorId } from "../../../engine/base/ids.js";
import { LIMITS } from "../../../engine/base/limits.js";
import { pullReceived } from "../../../engine/storage/documents/firm-received.js";
import { pullSent } from "../../../engine/storage/documents/firm-sent.js";
import { listPending, listPendingOfAll } from "../../../engine/storage/events/pulls.js";
import { sealFacts, shownFacts, shownOnce, useFactsSealer } from "../../../engine/storage/keyring/facts.js";
import { createSealer } from "../../../engine/storage/sealer.js";
import type { Sql } from "../../../engine/storage/sql.js";
import { fakeSql } from "../../support/fake-sql.js";
import { turnsDuring } from "../../support/turns.js";

const SENDER = "0245:2020202020";
const [ONE, OTHER] = ["0197b2f0-0000-7000-8000-000000000001", "0197b2f0-0000-7000-8000-000000000002"];

/** A pool that answers every statement with the same rows, and whose sealer counts what it opens. */
function counted() {
  const sealer = createSealer([Buffer.alloc(32, 1)]);
  const seen = { opened: 0, unopened: 0 };
  // Bounded by the rows of a test.
  const rows: unknown[] = [];
  const sql = fakeSql(() => Promise.resolve(rows));
  const open: typeof sealer.open = (...sealed) => {
    seen.opened += 1;
    return sealer.open(...sealed);
  };
  useFactsSealer(sql, { ...sealer, open }, () => {
    seen.unopened += 1;
  });
  const factsOf = (id: string, documentNumber: string) =>
    sealFacts(sealer, { id, sender: SENDER }, { documentNumber, issueDate: "2026-11-20", payableAmount: "1.00" });
  return { sql, seen, rows, factsOf };
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

test("rows of one document whose facts lie in clear each show their own, also beside sealed ones", () => {
  const { sql, factsOf } = counted();
  const shown = shownOnce(sql);
  const rows = [{ documentNumber: "F-1" }, { documentNumber: "F-2" }, factsOf(ONE, "F-3"), { documentNumber: "F-4" }];
  expect(rows.map((stored) => shown(ONE, stored).number)).toEqual(["F-1", "F-2", "F-3", "F-4"]);
});

const ROWS = 4 * LIMITS.listed_slice_items;
const FIRM = ONE as FirmId;
const PLACE = { transactionId: "1", position: "1" };

/** The lists that can be long, over a pool; @returns how many rows they give */
const LISTS: Readonly<Record<string, (sql: Sql) => Promise<number>>> = {
  "events of one firm": async (sql) =>
    (await listPending(sql, { firmId: FIRM, integratorId: undefined }, { kind: undefined, limit: ROWS })).rows.length,
  "events of all firms": async (sql) => {
    const partner = { integratorId: OTHER as IntegratorId, bindingGeneration: 0 };
    return (await listPendingOfAll(sql, partner, { since: undefined, limit: ROWS })).rows.length;
  },
  "sent documents": async (sql) => {
    const asked = { firmId: FIRM, after: PLACE, since: undefined, type: undefined, limit: ROWS };
    const any = { statuses: undefined, isAttempted: undefined, responseStatus: undefined, receiverKey: undefined };
    return (await pullSent(sql, { ...asked, ...any })).length;
  },
  "received documents": async (sql) => {
    const asked = { firmId: FIRM, after: PLACE, since: undefined, type: undefined, limit: ROWS };
    return (await pullReceived(sql, { ...asked, senderKey: undefined, shownAt: undefined })).length;
  },
};

test.each(Object.entries(LISTS))("others have their turn while a long list of %s is opened", async (_, list) => {
  const { sql, rows, factsOf } = counted();
  for (let at = 0; at < ROWS; at += 1)
    rows.push({ id: ONE, documentId: ONE, eventId: OTHER, firmId: FIRM, meta: null, facts: factsOf(ONE, `F-${at}`) });
  let listed = 0;
  const turns = await turnsDuring(async () => {
    listed = await list(sql);
  });
  expect([listed, turns >= ROWS / LIMITS.listed_slice_items]).toEqual([ROWS, true]);
});

test("a page of many events of one document opens its facts once", async () => {
  const { sql, seen, rows, factsOf } = counted();
  const facts = factsOf(ONE, "F-1");
  for (let at = 0; at < 100; at += 1) rows.push({ documentId: ONE, eventId: OTHER, firmId: FIRM, meta: null, facts });
  expect(await LISTS["events of all firms"]?.(sql)).toBe(100);
  expect(seen.opened).toBe(1);
});
