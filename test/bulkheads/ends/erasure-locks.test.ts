/**
 * What meets the erasure of a firm at the same rows waits for it, or is waited for, and neither ends by a deadlock. Method:
 * a row is held until both wait for it, or for each other, in the order in which they would be stuck.
 */
import { randomBytes, randomUUID } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";

import { systemClock } from "../../../engine/base/clock.js";
import { newId } from "../../../engine/base/ids.js";
import type { FirmId, IntegratorId, KeyId, OnboardingId } from "../../../engine/base/ids.js";
import { LIMITS } from "../../../engine/base/limits.js";
import { OPERATOR, stampOf } from "../../../engine/identity/audit.js";
import { settleDeliveries } from "../../../engine/storage/events/dispatch.js";
import { insertSubscription } from "../../../engine/storage/events/subscriptions.js";
import type { DeliveryEnd } from "../../../engine/storage/events/dispatch.js";
import { applyStatus } from "../../../engine/storage/documents/received-responses.js";
import { endDuty } from "../../../engine/storage/documents/duties.js";
import { revokeBinding } from "../../../engine/storage/identity/bindings.js";
import type { AuditStamp } from "../../../engine/storage/identity/audit.js";
import { closeFirm, eraseFirmRows } from "../../../engine/storage/identity/erasure.js";
import { rotateKey } from "../../../engine/storage/identity/keys.js";
import { activateOnboarding } from "../../../engine/storage/identity/onboarding/requests.js";
import { bindWhiteLabel, insertWhiteLabelLeave } from "../../../engine/storage/identity/white-label.js";
import { movePayloads } from "../../../engine/storage/payloads/move.js";
import { openPayloadStore } from "../../../engine/storage/payloads/payload-store.js";
import { openSql } from "../../../engine/storage/sql.js";
import type { Sql } from "../../../engine/storage/sql.js";
import { freshDatabase } from "../../support/database/postgres.js";
import type { TestDatabase } from "../../support/database/postgres.js";
import { rowsOf } from "../../support/database/rows.js";
import type { Rows } from "../../support/database/rows.js";
import { eventually } from "../../support/eventually.js";

const now = systemClock.now();
const audit = (): AuditStamp => stampOf(OPERATOR, systemClock);
const later = (ms: number): Date => new Date(now + ms);

let db: TestDatabase;
let rows: Rows;
let firmId: FirmId;
let integratorId: IntegratorId;
let participant: string;
let dic: string;
let firms = 0;

beforeAll(async () => {
  db = await freshDatabase();
  rows = await rowsOf(db.url);
});
afterAll(async () => {
  await rows.end();
  await db.drop();
});

/** A firm with a participant, and an integrator. */
beforeEach(async () => {
  firms += 1;
  dic = String(2_100_000_000 + firms);
  participant = `0245:${dic}`;
  [firmId, integratorId] = [randomUUID() as FirmId, randomUUID() as IntegratorId];
  await rows.add("firm", now, { id: firmId, dic, peppol_status: "not_registered", sends_only: true });
  await rows.add("participant", now, { key: participant, id: participant, firm_id: firmId });
  await rows.add("integrator", now, { id: integratorId });
});

const waiting = async (): Promise<number> => {
  const [row] = await db.sql<{ readonly count: number }[]>`
    select count(*)::int as count from pg_stat_activity
    where datname = current_database() and wait_event_type = 'Lock'`;
  return row?.count ?? 0;
};

/** Resolves when so many statements wait for a lock, or all of them have ended. */
async function stuck(works: readonly Promise<unknown>[], count: number): Promise<void> {
  let over = 0;
  const isOver = (): void => {
    over += 1;
  };
  for (const work of works) work.then(isOver, isOver);
  await eventually("they wait or have ended", async () => (await waiting()) + over >= count);
}

type Work = (sql: Sql) => Promise<unknown>;

/** Holds what `hold` selects until the first work waits, and then the second. @returns what they came to */
async function meeting(hold: Work, first: Work, second: Work): Promise<unknown[]> {
  const holder = openSql({ url: db.url, name: "holder", connections: 1 });
  try {
    await holder.unsafe("begin");
    await hold(holder);
    const works = [first(db.another())];
    await stuck(works, 1);
    works.push(second(db.another()));
    await stuck(works, 2);
    await holder.unsafe("rollback");
    return await Promise.all(works);
  } finally {
    await holder.end({ timeout: 1 });
  }
}

/** Closes the firm, of which the row alone is held until the work waits or has ended. @returns what both came to */
async function closingBeside(work: Work): Promise<unknown[]> {
  const closer = openSql({ url: db.url, name: "closer", connections: 1 });
  try {
    await closer.unsafe("begin");
    await closer`select 1 from firm where id = ${firmId} for update`;
    const working = work(db.sql);
    await stuck([working], 1);
    const closed = await close(closer);
    await closer.unsafe("commit");
    return [closed, await working];
  } finally {
    await closer.end({ timeout: 1 });
  }
}

const close: Work = (sql) => closeFirm(sql, firmId, now, audit());
const eraseRows: Work = async (sql) => (await eraseFirmRows(sql, firmId)) > 0;
const erased = (): Promise<unknown> => db.sql`update firm set erased_at = now() where id = ${firmId}`;

const addKey = async (of: Readonly<Record<string, unknown>>): Promise<KeyId> => {
  const id = randomUUID() as KeyId;
  const prefix = `sk_${randomUUID().slice(0, 12)}`;
  await rows.add("api_key", now, { id, prefix, generation: 1, active: true, scopes: ["documents:read"], ...of });
  return id;
};

/** A participant of White Label, and the operation by which it came or leaves. */
async function addWhiteLabel(operation: Readonly<Record<string, unknown>>): Promise<readonly [string, string]> {
  const [id, of] = [randomUUID(), randomUUID()];
  await rows.add("white_label_participant", now, {
    ...{ id, integrator_id: integratorId, operation_id: of, firm_id: firmId, participant_key: participant },
    ...{ status: "active", authorization_source: "fs_verification_token" },
  });
  await rows.add("white_label_operation", now, {
    ...{ id: of, integrator_id: integratorId, participant_key: participant, dic, company_email: "a@b.example" },
    ...{ firm_id: firmId, participant_id: id, ...operation },
  });
  return [id, of];
}

describe("a firm that is closed", () => {
  test("a firm closes beside the exchange of a key of it, which finds the key changed", async () => {
    const id = await addKey({ key_type: "sk_live", firm_id: firmId });
    const rotation = { id, generation: 1, newId: randomUUID() as KeyId, prefix: `sk_${randomUUID().slice(0, 12)}` };
    const exchange: Work = (sql) => rotateKey(sql, { ...rotation, secretSha256: randomBytes(32), audit: audit() }, now);
    expect(await closingBeside(exchange)).toEqual(["closed", "changed"]);
  });

  test("a firm closes beside the end of a request of onboarding that leads to it, which finds the request changed", async () => {
    const id = randomUUID() as OnboardingId;
    await rows.add("onboarding_request", now, {
      ...{ id, integrator_id: integratorId, dic, status: "activating", service_mode: "send_only" },
      ...{ relationship_mode: "technical_delegation", contact_email: "a@b.example" },
    });
    const activate: Work = (sql) =>
      activateOnboarding(
        sql,
        {
          ...{ id, version: 1, firmId: randomUUID() as FirmId, participantKey: participant, isSandbox: true },
          audit: [audit(), audit()],
        },
        now,
      );
    expect(await closingBeside(activate)).toEqual(["closed", "changed"]);
    expect(await db.sql`select 1 from firm_binding where firm_id = ${firmId}`).toEqual([]);
  });

  test("a firm closes beside a participant of it that is to leave, which is unknown by then", async () => {
    const registered = { operation_type: "registration", status: "succeeded", completed_at: later(0) };
    const [participantId] = await addWhiteLabel(registered);
    const leave: Work = async (sql) =>
      (await insertWhiteLabelLeave(sql, { id: randomUUID(), integratorId, participantId, audit: audit() }, now))
        .outcome;
    expect(await closingBeside(leave)).toEqual(["closed", "unknown"]);
    expect(await db.sql`select 1 from white_label_operation where firm_id = ${firmId}`).toEqual([]);
  });

  test("a firm closes beside a participant of it that has left, whose operation has gone by then", async () => {
    const leaving = { operation_type: "migration_out", status: "smp_succeeded", due_at: later(0) };
    const [participantId, id] = await addWhiteLabel(leaving);
    const bind: Work = (sql) =>
      bindWhiteLabel(
        sql,
        {
          ...{ id, version: 1, firmId: randomUUID() as FirmId, participantId, isSandbox: true, scopes: [] },
          ...{ capabilities: [], audit: audit() },
        },
        now,
      );
    const hold: Work = (sql) => sql`select 1 from white_label_participant where id = ${participantId} for update`;
    expect(await meeting(hold, close, bind)).toEqual(["closed", "changed"]);
  });

  test("a firm closes beside the withdrawal of a consent of it, which finds none", async () => {
    const id = await addKey({ key_type: "sk_int", integrator_id: integratorId, scoped_firm_id: firmId });
    await rows.add("firm_binding", now, {
      ...{ integrator_id: integratorId, firm_id: firmId, state: "active", interfaces: ["sapi"] },
      scopes: ["documents:read"],
    });
    const withdraw: Work = (sql) => revokeBinding(sql, { integratorId, firmId }, now, audit());
    const hold: Work = (sql) => sql`select 1 from api_key where id = ${id} for update`;
    expect(await meeting(hold, close, withdraw)).toEqual(["closed", false]);
  });

  test("a firm closes beside another one of its company, and what is known by their tax id alone goes with the last", async () => {
    const twin = randomUUID() as FirmId;
    await rows.add("firm", now, { id: twin, dic, peppol_status: "not_registered", sends_only: true });
    await rows.add("firm_binding", now, {
      ...{ integrator_id: integratorId, firm_id: firmId, state: "active", interfaces: ["sapi"] },
      scopes: ["documents:read"],
    });
    await rows.add("white_label_customer", now, { dic, relationship: "represented", company_email: "a@b.example" });
    await rows.add("pfs_confirmation", now, { dic });
    const closeTwin: Work = (sql) => closeFirm(sql, twin, now, audit());
    const hold: Work = (sql) => sql`select 1 from firm_binding where firm_id = ${firmId} for update`;
    expect(await meeting(hold, close, closeTwin)).toEqual(["closed", "closed"]);
    for (const table of ["white_label_customer", "pfs_confirmation"])
      expect(await db.sql`select 1 from ${db.sql(table)} where dic = ${dic}`, table).toEqual([]);
  });

  test("a firm closes behind the ends of deliveries to several of its receivers at once", async () => {
    const ids = [randomUUID(), randomUUID()].sort();
    // The receiver whose deliveries are ended first has the one whose id comes last.
    for (const id of [...ids].reverse()) {
      const subscription = randomUUID();
      const origin = "https://hooks.example";
      await insertSubscription(
        db.sql,
        {
          ...{ id: subscription, owner: { firmId, integratorId: undefined }, url: `${origin}/${id}`, origin },
          ...{ events: ["document.delivered"], isActive: true, createdAt: now },
          secret: { keyId: "k", sealed: randomBytes(32) },
        },
        audit(),
      );
      const [endpoint] = await db.sql<{ readonly id: string }[]>`
        select endpoint_id as id from webhook_subscription where id = ${subscription}`;
      await rows.add("webhook_delivery", now, {
        ...{ id, subscription_id: subscription, endpoint_id: endpoint?.id, owner_id: firmId, firm_id: firmId },
        ...{ event: "document.delivered", status: "PENDING", due_at: later(60_000), lease_owner: "node/1" },
      });
    }
    const endOf = (id: string | undefined): DeliveryEnd => ({
      ...{ id: id ?? "", owner: "node/1", attempt: 1, status: "SUCCESS", wait_ms: undefined, responseStatus: 200 },
      ...{ responseBody: undefined, cause: undefined, health: "well" },
    });
    // As one call, which is not tried again by itself when it fails among others.
    const settle: Work = async (sql) => (await settleDeliveries(sql, [endOf(ids[0]), endOf(ids[1])])) !== undefined;
    const hold: Work = (sql) => sql`select 1 from webhook_delivery where id = ${ids[0] ?? ""} for update`;
    expect(await meeting(hold, settle, close)).toEqual([true, "closed"]);
  });
});

describe("the rows of an erased firm", () => {
  test("rows of an erased firm go beside an answer to a document of it that is being read, which finds nothing to change", async () => {
    const [documentId, id] = [randomUUID(), randomUUID()];
    await rows.add("document", now, {
      ...{ id: documentId, firm_id: firmId, status: "delivered", door: "enterprise", sbdh_instance_id: randomUUID() },
      ...{ version: 1, delivered_at: later(0) },
    });
    await rows.add("inbound_status", now, {
      ...{ id, kind: "invoice_response", outcome: null, next_at: later(0), tries: 0 },
    });
    await rows.add("exchange", now, {
      ...{ id, direction: "incoming", kind: "invoice_response", firm_id: firmId, c4_country: "SK" },
    });
    await erased();
    const apply: Work = (sql) =>
      applyStatus(
        sql,
        { status: id, outcome: "applied", content: { code: "AP", responseId: "r", issuedAt: now } },
        {
          ...{ id: documentId as never, version: 1, status: "delivered", trigger: undefined, detail: undefined },
          ...{ now, events: [], changes: {} },
        },
      );
    const hold: Work = (sql) => sql`select 1 from document where id = ${documentId} for update`;
    const everything: Work = async (sql) => {
      while (await eraseFirmRows(sql, firmId));
      return true;
    };
    expect(await meeting(hold, everything, apply)).toEqual([true, false]);
    expect(await db.sql`select 1 from document where id = ${documentId}`).toEqual([]);
    expect(await db.sql`select 1 from inbound_status where id = ${id}`).toEqual([]);
  });

  test("rows of an erased firm go beside a move of their payloads to the payload store", async () => {
    const folder = mkdtempSync(join(tmpdir(), "kurier-erasure-locks-"));
    try {
      const then = now - LIMITS.payload_here_ms - 1_000;
      const old = { ...systemClock, now: () => then };
      const ids = [newId(old), newId(old), newId(old)].sort();
      // In the table they stand the other way round.
      for (const id of [...ids].reverse()) {
        await rows.add("document", then, {
          ...{ id, firm_id: firmId, status: "delivered", door: "enterprise", sbdh_instance_id: randomUUID() },
          delivered_at: new Date(then),
        });
        await rows.add("payload", then, { document_id: id, key_id: "k", sealed: randomBytes(8), bytes: 8 });
      }
      await erased();
      const store = openPayloadStore(`file:${folder}`, systemClock);
      const move: Work = async (sql) => (await movePayloads(sql, store, now)).moved;
      const hold: Work = (sql) => sql`select 1 from payload where document_id = ${ids[0] ?? ""} for update`;
      expect(await meeting(hold, move, eraseRows)).toEqual([ids.length, true]);
      for (const table of ["payload", "payload_moved"])
        expect(await db.sql`select 1 from ${db.sql(table)} where document_id = any (${ids}::uuid[])`, table).toEqual(
          [],
        );
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  });

  test("rows of an erased firm go beside the verdict on a document that it received, which finds nothing to end", async () => {
    const id = randomUUID();
    await rows.add("received_document", now, { id, firm_id: firmId, status: "HELD" });
    await rows.add("mls_duty", now, { id, firm_id: firmId, next_at: later(0) });
    await erased();
    const judge: Work = (sql) => endDuty(sql, id, { code: "AP", document: { to: "RECEIVED" } as never });
    const hold: Work = (sql) => sql`select 1 from received_document where id = ${id} for update`;
    expect(await meeting(hold, eraseRows, judge)).toEqual([true, false]);
    expect(await db.sql`select 1 from received_document where id = ${id}`).toEqual([]);
  });
});
