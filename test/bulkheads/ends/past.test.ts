/** The past costs nothing: what is asked all day reads as many rows among many as among few. Counted, not timed. */
import { randomUUID } from "node:crypto";
import { expect, test } from "vitest";

import { OUTBOUND_STATES } from "../../../engine/lifecycle/document.js";
import type { OutboundState } from "../../../engine/lifecycle/document.js";
import { CANCELLED_IN_BOX } from "../../../engine/documents/box/operate.js";
import { systemClock } from "../../../engine/base/clock.js";
import { LIMITS } from "../../../engine/base/limits.js";
import { claimDocuments } from "../../../engine/storage/documents/attempts.js";
import { censusOfDocuments, acceptDocuments } from "../../../engine/storage/documents/documents.js";
import { listFirmsByName, listFirmsByNumber } from "../../../engine/storage/operators/firms.js";
import { findIntegratorSheet } from "../../../engine/storage/operators/integrators.js";
import { listScopedKeys } from "../../../engine/storage/operators/keys.js";
import { listFirmsOf } from "../../../engine/storage/operators/tenants.js";
import { addPast } from "../../../bench/scale/past.js";
import { costsOfPast, OWN_ROWS, rowsReadBy } from "../../support/database/past.js";
import { freshDatabase } from "../../support/database/postgres.js";
import { newDocumentRow, seedFirm } from "../../support/database/seed.js";
import { applyMove } from "../../support/documents/moves.js";

test("a scrape, the inbox, a status, an acceptance and a sweep read no more rows among 12,000 of everything than among 200", async () => {
  const { few, many } = await costsOfPast(200, 12_000);
  for (const [name, read] of Object.entries(few)) expect(many[name], name).toBeLessThanOrEqual(read + OWN_ROWS);
});

test("a claim reads as many rows beside 3,000 documents that are due as beside 100, also where statistics are of an hour in which none was", async () => {
  const db = await freshDatabase();
  const sql = db.one("claims");
  try {
    const firmId = await seedFirm(sql, SENDER);
    const { receiver } = newDocumentRow(firmId, SENDER);
    await addPast(db.url, [{ firmId, participant: SENDER }], 500);
    const accepted = (count: number) =>
      acceptDocuments(
        sql,
        Array.from({ length: count }, () =>
          newDocumentRow(firmId, SENDER, { facts: { documentNumber: randomUUID() } }),
        ),
      );
    const claimed = (): Promise<number> =>
      rowsReadBy(sql, async () => {
        const taken = await claimDocuments(sql, {
          ...{ shares: [{ firmId, receiver, count: 8 }], owner: "past/1", lease_ms: LIMITS.attempt_lease_ms },
          ...{ bytes_max: LIMITS.payload_bytes_max, one: true },
        });
        expect(taken).toHaveLength(8);
      });
    await accepted(100);
    await claimed();
    const few = await claimed();
    for (let round = 0; round < 30; round += 1) await accepted(100);
    // What was taken before stands in front of a lane until its lease ends.
    expect(await claimed()).toBeLessThanOrEqual(few + 2 * 8);
  } finally {
    await sql.end({ timeout: 1 });
    await db.drop();
  }
});

test("operators' pages of firms and of an integrator's firms and keys read no more rows among 8,000 firms than among 2,000", async () => {
  const db = await freshDatabase();
  const sql = db.one("pages");
  const integratorId = "018f6a3e-0000-7000-8000-00000000bbbb";
  const add = async (from: number, to: number): Promise<void> => {
    await sql`
      with added as (
        insert into firm (id, name, ico, peppol_status, sandbox, created_at)
        select new_row_id(), 'Firma ' || n, n::text, 'not_registered', true, now()
        from generate_series(${from}::integer, ${to}::integer) as n returning id
      ), bound as (
        insert into firm_binding (integrator_id, firm_id, state, scopes, interfaces, created_at, updated_at)
        select ${integratorId}, id, 'active', '{documents:send}', '{enterprise}', now(), now() from added
      )
      insert into api_key (id, key_type, integrator_id, scoped_firm_id, prefix, secret_sha256, scopes, ip_allowlist,
        active, created_at)
      select new_row_id(), 'sk_int', ${integratorId}, id, 'sk_int_test_' || left(id::text, 28), sha256(id::text::bytea),
        '{documents:send}', '{}', true, now() from added`;
    await sql`analyze firm, firm_binding, api_key`;
  };
  const limit = 51;
  const pages = async (): Promise<Readonly<Record<string, number>>> => {
    const [firm] = await sql<{ readonly id: string }[]>`select id from firm where ico = '1500'`;
    const [key] = await sql<{ readonly id: string }[]>`select id from api_key where scoped_firm_id = ${firm?.id ?? ""}`;
    const found: Record<string, number> = {};
    for (const [name, ask] of Object.entries({
      "the first page": () => listFirmsByName(sql, { begin: "", after: undefined, limit }),
      "a page behind a firm": () => listFirmsByName(sql, { begin: "", after: firm?.id, limit }),
      "a begin of a name": () => listFirmsByName(sql, { begin: "firma 15", after: undefined, limit }),
      "a number": () => listFirmsByNumber(sql, "1500"),
      "keys for single firms behind one": () => listScopedKeys(sql, { integratorId, after: key?.id, limit }),
      "an integrator": () => findIntegratorSheet(sql, integratorId),
      "its firms": () => listFirmsOf(sql, integratorId),
    })) {
      await ask();
      found[name] = await rowsReadBy(sql, ask);
    }
    return found;
  };
  try {
    await sql`
      insert into integrator (id, name, production_authorized, created_at) values (${integratorId}, 'One', true, now())`;
    await add(1, 2_000);
    const few = await pages();
    await add(2_001, 8_000);
    const many = await pages();
    for (const [name, read] of Object.entries(few)) expect(many[name], name).toBeLessThanOrEqual(read + OWN_ROWS);
  } finally {
    await sql.end({ timeout: 1 });
    await db.drop();
  }
});

const SENDER = "0245:1111111111";

test("documents are counted by their state wherever they move, by many transactions at once, and when they are removed", async () => {
  const db = await freshDatabase();
  try {
    const firmId = await seedFirm(db.sql, SENDER);
    const pools = [db.sql, db.another("second process")];
    const counted = async (): Promise<Record<OutboundState, number>> => {
      const { states } = await censusOfDocuments(db.sql, systemClock.now());
      return Object.fromEntries(OUTBOUND_STATES.map((state) => [state, states.get(state) ?? -1])) as Record<
        OutboundState,
        number
      >;
    };
    const documents = Array.from({ length: 40 }, () => newDocumentRow(firmId, SENDER));
    await acceptDocuments(db.sql, documents);
    const none = { delivered: 0, rejected: 0, send_failed: 0, delivery_failed: 0, validation_failed: 0 };
    expect(await counted()).toEqual({ ...none, queued: 40, sent: 0 });
    const move = (index: number, version: number, status: OutboundState): Promise<number | undefined> => {
      const [pool, document] = [pools[index % 2] ?? db.sql, documents[index]];
      if (document === undefined) throw new Error("no such document");
      return applyMove(pool, {
        ...{ id: document.id, version, status, trigger: "receipt_confirmed" as const, detail: undefined },
        ...{ now: systemClock.now(), events: [], changes: {} },
      });
    };
    await Promise.all(documents.map((_, index) => move(index, 1, index < 30 ? "delivered" : "send_failed")));
    expect(await counted()).toEqual({ ...none, queued: 0, sent: 0, delivered: 30, send_failed: 10 });
    await Promise.all(documents.slice(0, 5).map((_, index) => move(index, 2, "rejected")));
    expect(await counted()).toEqual({ ...none, queued: 0, sent: 0, delivered: 25, rejected: 5, send_failed: 10 });
    // What its firm has cancelled, as a staged document or in the Box, is nobody's failure.
    const [staged, boxed] = [newDocumentRow(firmId, SENDER), newDocumentRow(firmId, SENDER)];
    await acceptDocuments(db.sql, [staged, boxed]);
    await db.sql`update document set staged = 'cancelled', staged_at = now() where id = ${staged.id}`;
    for (const [id, statusReason] of [
      [staged.id, "It was staged."],
      [boxed.id, CANCELLED_IN_BOX],
    ] as const)
      await applyMove(db.sql, {
        ...{
          id,
          version: 1,
          status: "send_failed",
          trigger: "cancelled",
          detail: undefined,
          changes: { statusReason },
        },
        ...{ now: systemClock.now(), events: [] },
      });
    const cancelled = async () => (await censusOfDocuments(db.sql, systemClock.now())).states.get("cancelled");
    expect([await cancelled(), (await counted()).send_failed]).toEqual([2, 10]);
    await db.sql`select remove_documents(${[staged.id, boxed.id]}::uuid[])`;
    expect([await cancelled(), (await counted()).send_failed]).toEqual([0, 10]);
    await db.sql`select remove_documents(${documents.slice(0, 10).map(({ id }) => id)}::uuid[])`;
    expect(await counted()).toEqual({ ...none, queued: 0, sent: 0, delivered: 20, rejected: 0, send_failed: 10 });
  } finally {
    await db.drop();
  }
});
