/**
 * Every table has an end for its rows: the list names all of them, what it names exists, and of each table that is swept an
 * old row goes while a young one, and an old one that something still needs, stays.
 */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { randomBytes, randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "vitest";

import { systemClock } from "../../../engine/base/clock.js";
import { newId } from "../../../engine/base/ids.js";
import { LIMITS } from "../../../engine/base/limits.js";
import { endUnvouched, sweepRows } from "../../../engine/documents/retention.js";
import { ROW_ENDS, SWEPT } from "../../../engine/storage/retention/ends.js";
import type { SweptTable } from "../../../engine/storage/retention/ends.js";
import { overlap } from "../../support/database/overlap.js";
import { freshDatabase } from "../../support/database/postgres.js";
import type { TestDatabase } from "../../support/database/postgres.js";
import { openTransaction } from "../../support/database/transactions.js";
import { PROJECT } from "../../support/engines/process.js";
import { rowsOf } from "../../support/database/rows.js";
import type { Rows } from "../../support/database/rows.js";

const SCHEMA = readFileSync(fileURLToPath(new URL("../../integration/database/schema.sql", import.meta.url)), "utf8");
const TABLES = [...SCHEMA.matchAll(/^table (\w+)$/gm)].flatMap(([, name]) => name ?? []);
const DAY_MS = 86_400_000;

describe("the list of ends", () => {
  test("a table without an end for its rows is found", () => {
    expect(Object.keys(ROW_ENDS).sort()).toEqual([...TABLES].sort());
  });
  test("a row that goes with another one goes with one that has an end", () => {
    const ends = new Map(Object.entries(ROW_ENDS));
    for (const [table, end] of ends)
      if (end.end === "with") expect([table, ends.get(end.table)?.end]).not.toEqual([table, undefined]);
  });
  test("what prunes a table is a function of the engine or of the database", () => {
    const engine = join(PROJECT, "engine");
    const files = readdirSync(engine, { recursive: true, encoding: "utf8" }).filter((path) => path.endsWith(".ts"));
    const text = [SCHEMA, ...files.map((path) => readFileSync(join(engine, path), "utf8"))].join("\n");
    const isFunction = (name: string): boolean =>
      text.includes(`function ${name}(`) || text.includes(`FUNCTION public.${name}(`);
    for (const end of Object.values(ROW_ENDS))
      if (end.end === "pruned") expect([end.by, isFunction(end.by)]).toEqual([end.by, true]);
  });
});

const idAt = (at: number): string => newId({ ...systemClock, now: () => at });

/** A row of each table that goes when it is old enough. */
const ROWS: Readonly<Record<SweptTable, (at: number) => Readonly<Record<string, unknown>>>> = {
  service_message: (at) => ({ id: idAt(at), status: "send_failed", kind: "mls", code: "AP", firm_id: randomUUID() }),
  inbound_status: (at) => ({ id: idAt(at), kind: "mls", outcome: "unknown", handled_at: new Date(at) }),
  document: (at) => ({ id: idAt(at), status: "send_failed", door: "enterprise", sbdh_instance_id: randomUUID() }),
  received_document: (at) => ({ id: idAt(at), status: "RECEIVED", findings: null }),
  exchange: (at) => ({ id: idAt(at), direction: "outgoing", kind: "business", c4_country: null }),
  usage_month: (at) => ({ month: `${new Date(at).toISOString().slice(0, 7)}-01` }),
  registration_operation: (at) => ({ id: idAt(at), operation: "register", ended_at: new Date(at), outcome: "done" }),
  white_label_operation: (at) => ({
    ...{ id: idAt(at), operation_type: "registration", status: "succeeded", completed_at: new Date(at) },
    ...{ dic: "2020202020" },
  }),
  onboarding_request: (at) => ({
    ...{ id: idAt(at), status: "revoked", service_mode: "send_only", relationship_mode: "managed_service" },
    dic: "2020202020",
  }),
  pfs_confirmation: () => ({ dic: "2020202020" }),
  api_key: (at) => ({
    ...{ key_type: "sk_live", firm_id: randomUUID(), active: false, deactivated_at: new Date(at) },
    prefix: `sk_live_${randomBytes(4).toString("hex")}`,
  }),
  signing_key: (at) => ({ alg: "EdDSA", seq: Math.floor(at / 60_000), signs_from: new Date(at - DAY_MS) }),
  person: (at) => ({ id: idAt(at) }),
};

describe("rows whose time has come", () => {
  let db: TestDatabase;
  let rows: Rows;
  const now = systemClock.now();
  const countOf = async (table: string): Promise<number> => (await db.sql`select 1 from ${db.sql(table)}`).length;
  beforeAll(async () => {
    db = await freshDatabase();
    rows = await rowsOf(db.url);
  });
  afterAll(async () => {
    await rows.end();
    await db.drop();
  });

  test.each(Object.keys(SWEPT) as SweptTable[])("an old row of %s goes and a young one stays", async (table) => {
    const before = now - SWEPT[table].kept_ms;
    for (const at of [before - 40 * DAY_MS, before + 40 * DAY_MS]) await rows.add(table, at, ROWS[table](at));
    expect((await sweepRows({ sql: db.sql, clock: systemClock }, { dry: true })).get(table)).toBe(1);
    expect(await countOf(table)).toBe(2);
    expect((await sweepRows({ sql: db.sql, clock: systemClock })).get(table)).toBe(1);
    expect(await countOf(table)).toBe(1);
  });

  test.each(Object.keys(SWEPT) as SweptTable[])(
    "a row of %s does not go before its time where a node's clock is years ahead, nor is it counted",
    async (table) => {
      const clock = { ...systemClock, now: () => systemClock.now() + 12 * 366 * DAY_MS };
      await rows.add(table, now - DAY_MS, ROWS[table](now - DAY_MS));
      await sweepRows({ sql: db.sql, clock: systemClock });
      const before = await countOf(table);
      expect((await sweepRows({ sql: db.sql, clock }, { dry: true })).get(table)).toBe(0);
      expect((await sweepRows({ sql: db.sql, clock })).get(table)).toBe(0);
      expect(await countOf(table)).toBe(before);
    },
  );

  test("a status that nobody could read in all those years goes like one that was handled", async () => {
    const at = now - LIMITS.archive_kept_ms - DAY_MS;
    const id = idAt(at);
    await rows.add("inbound_status", at, { id, kind: "mls", outcome: null, handled_at: null, next_at: new Date(at) });
    await sweepRows({ sql: db.sql, clock: systemClock });
    expect(await db.sql`select 1 from inbound_status where id = ${id}`).toEqual([]);
  });

  test("a document goes with its text, its attempts, its history and its timeline", async () => {
    const at = now - LIMITS.archive_kept_ms - DAY_MS;
    const id = idAt(at);
    await rows.add("document", at, { ...ROWS.document(at), id });
    await rows.add("payload", at, { document_id: id });
    await rows.add("document_attempt", at, { document_id: id });
    await rows.add("document_history", at, { document_id: id, status: "queued", trigger: "accepted" });
    await rows.add("document_mark", at, { document_id: id, state: "read" });
    await rows.add("document_event", at, { document_id: id, kind: "document.queued", actor: "api" });
    const parts = ["payload", "document_attempt", "document_history", "document_mark", "document_event"];
    expect(await Promise.all(parts.map(countOf))).toEqual([1, 1, 1, 1, 1]);
    await sweepRows({ sql: db.sql, clock: systemClock });
    expect(await Promise.all(parts.map(countOf))).toEqual([0, 0, 0, 0, 0]);
  });

  test.each(["2008-01-30T08:00:00Z", "2016-12-31T12:00:00Z", "2018-02-28T23:30:00Z"])(
    "on %s the usage of a month is there as long as a day of it is kept",
    async (instant) => {
      const clock = { ...systemClock, now: () => Date.parse(instant) };
      const lastDay = new Date(clock.now() - LIMITS.archive_kept_ms + DAY_MS);
      const month = `${lastDay.toISOString().slice(0, 7)}-01`;
      const firmId = randomUUID();
      await rows.add("usage_month", now, { firm_id: firmId, month });
      await sweepRows({ sql: db.sql, clock });
      expect(await db.sql`select 1 from usage_month where firm_id = ${firmId}`).toHaveLength(1);
      await sweepRows({ sql: db.sql, clock: { ...clock, now: () => clock.now() + 63 * DAY_MS } });
      expect(await db.sql`select 1 from usage_month where firm_id = ${firmId}`).toHaveLength(0);
    },
  );

  test.each(["inbound_status", "received_document"] as const)("a duty goes with its %s", async (table) => {
    const at = now - LIMITS.archive_kept_ms - DAY_MS;
    const id = idAt(at);
    await rows.add(table, at, { ...ROWS[table](at), id });
    await rows.add("mls_duty", at, { id });
    await sweepRows({ sql: db.sql, clock: systemClock });
    expect(await db.sql`select 1 from mls_duty where id = ${id}`).toHaveLength(0);
  });

  test("a document that waits, and one with evidence or a status about it, stays however old it is", async () => {
    const before = await countOf("document");
    const at = now - LIMITS.archive_kept_ms - DAY_MS;
    const open = { ...ROWS.document(at), status: "queued", next_attempt_at: new Date(at) };
    const proved = ROWS.document(at);
    const answered = ROWS.document(at);
    for (const row of [open, proved, answered]) await rows.add("document", at, row);
    await rows.add("inbound_status", now, { ...ROWS.inbound_status(now), document_id: answered["id"] });
    await rows.add("evidence", at + 1_000, { document_id: proved["id"], direction: "outbound", byte_offset: 0 });
    await sweepRows({ sql: db.sql, clock: systemClock });
    expect(await countOf("document")).toBe(before + 3);
  });

  test.each([
    [
      "vouch",
      "is carried out, and its end finds nothing to release",
      { status: "processing", code: null, sealed: true },
    ],
    [
      "release",
      "has ended, and the vouching changes nothing",
      { status: "released", code: "VERIFICATION_EXPIRED", sealed: false },
    ],
  ] as const)(
    "a vouching and the end of the wait at the same moment are one after the other: after a %s the operation %s",
    async (first, _, expected) => {
      const at = now - LIMITS.white_label_unvouched_kept_ms - DAY_MS;
      const [id, integratorId] = [idAt(at), randomUUID()];
      await rows.add("white_label_operation", at, {
        ...{ id, integrator_id: integratorId, participant_key: randomUUID(), customer_ref: randomUUID(), version: 1 },
        ...{ operation_type: "registration", status: "manual_review", error_code: "VERIFICATION_REQUIRED" },
        ...{ secret_key_id: "key", secret_sealed: Buffer.from("sealed"), completed_at: null, due_at: null },
        dic: "2020202020",
      });
      const audit = JSON.stringify({ id: randomUUID(), at: new Date(now), actorType: "operator" });
      const steps = {
        vouch: `vouch_white_label('${id}', 1, now(), '${audit}')`,
        release: `release_unvouched_white_label('${new Date(at + DAY_MS / 2).toISOString()}', now(), 100)`,
      };
      const second = first === "vouch" ? "release" : "vouch";
      expect(await overlap(db, steps[first], steps[second])).toEqual(first === "vouch" ? [true, 0] : [1, false]);
      const [state] = await db.sql`
        select status, error_code as code, secret_sealed is not null as sealed from white_label_operation where id = ${id}`;
      expect(state).toEqual(expected);
      const entries = await db.sql`select event from audit_entry where integrator_id = ${integratorId}`;
      expect(entries).toEqual([{ event: first === "vouch" ? "white_label.vouched" : "white_label.ended" }]);
    },
  );

  test("an operation that nobody vouches for is released after its time, with an entry in the audit; other reviews stay", async () => {
    const integratorId = randomUUID();
    const late = now - LIMITS.white_label_unvouched_kept_ms - DAY_MS;
    const reviews = [
      [late, "VERIFICATION_REQUIRED"],
      [now, "VERIFICATION_REQUIRED"],
      [late, "INTERRUPTED"],
    ] as const;
    for (const [at, code] of reviews)
      await rows.add("white_label_operation", at, {
        ...{ id: idAt(at), integrator_id: integratorId, participant_key: randomUUID(), customer_ref: randomUUID() },
        ...{ operation_type: "registration", status: "manual_review", error_code: code, due_at: null },
        ...{ secret_key_id: "key", secret_sealed: Buffer.from("sealed"), completed_at: null, dic: "2020202020" },
      });
    const ports = { sql: db.sql, clock: systemClock };
    const ahead = { ...systemClock, now: () => systemClock.now() + 366 * DAY_MS };
    expect(await endUnvouched({ ...ports, clock: ahead }, { dry: true })).toBe(1);
    expect(await endUnvouched(ports, { dry: true })).toBe(1);
    expect(await endUnvouched(ports)).toBe(1);
    expect(await endUnvouched(ports)).toBe(0);
    const states = await db.sql`
      select status, error_code as code, completed_at is not null as ended, secret_sealed is not null as sealed
      from white_label_operation where integrator_id = ${integratorId} order by created_at, status desc`;
    expect(states).toEqual([
      { status: "released", code: "VERIFICATION_EXPIRED", ended: true, sealed: false },
      { status: "manual_review", code: "INTERRUPTED", ended: false, sealed: true },
      { status: "manual_review", code: "VERIFICATION_REQUIRED", ended: false, sealed: true },
    ]);
    const entries = await db.sql`
      select actor_type as actor, event, metadata from audit_entry where integrator_id = ${integratorId}`;
    expect(entries).toEqual([
      {
        ...{ actor: "system", event: "white_label.ended" },
        metadata: { status: "released", errorCode: "VERIFICATION_EXPIRED" },
      },
    ]);
  });

  test.each(["awaiting_pfs", "action_required", "activating"])(
    "a request of onboarding that nobody has moved from %s for its time goes with its history; an active one stays",
    async (status) => {
      const at = now - LIMITS.ended_kept_ms - DAY_MS;
      const request = { ...ROWS.onboarding_request(at), idempotency_key: randomUUID(), contact_email: "a@b.example" };
      const [waiting, moved, active] = [idAt(at), idAt(at), idAt(at)];
      await rows.add("onboarding_request", at, { ...request, id: waiting, status });
      await rows.add("onboarding_history", at, { request_id: waiting, status, trigger: "created" });
      await rows.add("onboarding_request", at, {
        ...{ ...request, id: moved, status, idempotency_key: randomUUID(), updated_at: new Date(now) },
      });
      await rows.add("onboarding_request", at, {
        ...{ ...request, id: active, status: "active", idempotency_key: randomUUID(), firm_id: randomUUID() },
      });
      await sweepRows({ sql: db.sql, clock: systemClock });
      const ids = [waiting, moved, active];
      const left = await db.sql<{ readonly id: string }[]>`
        select id from onboarding_request where id = any (${ids}::uuid[])`;
      expect(left.map(({ id }) => id).sort()).toEqual([moved, active].sort());
      expect(await db.sql`select 1 from onboarding_history where request_id = ${waiting}`).toHaveLength(0);
    },
  );

  test("the key that signs stays however old it is", async () => {
    await db.sql`delete from signing_key`;
    await rows.add("signing_key", 0, { alg: "EdDSA", seq: 7, signs_from: new Date(-DAY_MS) });
    await sweepRows({ sql: db.sql, clock: systemClock });
    expect(await countOf("signing_key")).toBe(1);
  });

  test("an erasure with nothing left to count waits for no meter that counts", async () => {
    const meter = await openTransaction(db.url);
    const erasing = await openTransaction(db.url);
    try {
      await meter.run("select 1 from feed_consumer for update");
      await erasing.run("set local lock_timeout = '200ms'");
      await erasing.run("select meter_erased('{}')");
      const waiting = erasing.run(`select meter_erased(array['${randomUUID()}']::uuid[])`);
      await expect(waiting).rejects.toThrow("lock timeout");
    } finally {
      await erasing.commit();
      await meter.commit();
    }
  });

  test("a table with more rows than a statement removes is emptied in several", async () => {
    const at = now - LIMITS.confirmation_kept_ms - DAY_MS;
    await db.sql`
      insert into pfs_confirmation (token_sha256, dic, received_at)
      select sha256(n::text::bytea), '2020202020', ${new Date(at)}
      from generate_series(1, ${LIMITS.sweep_batch + 1}) as n`;
    expect((await sweepRows({ sql: db.sql, clock: systemClock })).get("pfs_confirmation")).toBe(LIMITS.sweep_batch + 1);
  });
});
