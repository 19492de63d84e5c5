/**
 * A database that takes calls and answers none, as behind a frozen host or a full disk. Method: a proxy in front of Postgres
 * that stops passing octets and goes on later; callers wait a moment of the test's choosing instead of LIMITS' seconds, but
 * for the whole engine over HTTP, which waits as long as it does for its users.
 */
import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "vitest";

import type { FirmId } from "../../../engine/base/ids.js";
import { LIMITS } from "../../../engine/base/limits.js";
import { createAcceptBatches } from "../../../engine/storage/documents/accept-batches.js";
import { acceptDocuments } from "../../../engine/storage/documents/documents.js";
import { openSql, orTemporary, untilAnswered } from "../../../engine/storage/sql.js";
import type { Sql } from "../../../engine/storage/sql.js";
import { accessToken, http, invoiceXml, sapi, send, sendParts, startTestEngine } from "../../support/engines/engine.js";
import type { HttpAnswer, Mailbox, TestEngine } from "../../support/engines/engine.js";
import { eventually } from "../../support/eventually.js";
import { fakeSql } from "../../support/fake-sql.js";
import { startFreezingProxy } from "../../support/network/freezing-proxy.js";
import type { FreezingProxy } from "../../support/network/freezing-proxy.js";
import { serverForms } from "../../support/engines/gateway.js";
import { freshDatabase } from "../../support/database/postgres.js";
import type { TestDatabase } from "../../support/database/postgres.js";
import { newDocumentRow, seedFirm } from "../../support/database/seed.js";
import { openTransaction } from "../../support/database/transactions.js";

const SENDER = "0245:1111111111";
const WAIT_MS = 50;
let db: TestDatabase;
let firmId: FirmId;
let proxy: FreezingProxy;
let frozen: Sql;

beforeAll(async () => {
  db = await freshDatabase();
  firmId = await seedFirm(db.sql, SENDER);
  proxy = await startFreezingProxy(db.url);
  frozen = openSql({ url: proxy.url, name: "behind a proxy", connections: 4 });
  await frozen`select 1`;
});
afterAll(async () => {
  await frozen.end({ timeout: 1 });
  proxy.stop();
  await db.drop();
});

test("who waits for a database that hangs is told 503 TEMPORARY, at the latest after the time of the limit, and who reads later is answered", async () => {
  proxy.freeze();
  await expect(untilAnswered(frozen`select 1 as one`, WAIT_MS)).rejects.toMatchObject({
    reason: "TEMPORARY",
    extras: { retryAfter_s: LIMITS.temporary_retry_after_s, failure: "UNANSWERED" },
  });
  proxy.thaw();
  expect(await orTemporary(frozen<{ one: number }[]>`select 1 as one`)).toEqual([{ one: 1 }]);
});

test("a send that was told 503 because the database hangs may be accepted all the same, and its repeat tells so: one document, its reply", async () => {
  const batches = createAcceptBatches(frozen, WAIT_MS);
  const first = newDocumentRow(firmId, SENDER);
  proxy.freeze();
  await expect(batches.accept(first)).rejects.toMatchObject({
    reason: "TEMPORARY",
    extras: { failure: "UNANSWERED" },
  });
  const { idempotencyKey, erpDocumentId, payloadSha256, requestSha256 } = first;
  const repeat = (): ReturnType<typeof newDocumentRow> =>
    newDocumentRow(firmId, SENDER, { idempotencyKey, erpDocumentId, payloadSha256, requestSha256 });
  await expect(batches.accept(repeat())).rejects.toMatchObject({ reason: "TEMPORARY" });
  proxy.thaw();
  const patient = createAcceptBatches(frozen);
  const told = [await patient.accept(repeat()), await patient.accept(repeat())];
  // Either of the two that were told 503 may have been the first; the repeats name the one that is there.
  const rows = await db.sql<
    { id: string; reply_body: string }[]
  >`select id, reply_body from document where idempotency_key = ${idempotencyKey ?? ""}`;
  expect(rows).toHaveLength(1);
  const stored = { kind: "replay", documentId: rows[0]?.id, replyBody: rows[0]?.reply_body };
  expect(told).toMatchObject([stored, stored]);
});

test("where a lock holds every acceptance, the last of those who wait is told 503 with the others, and not behind all of them", async () => {
  const holder = await openTransaction(db.url);
  await holder.run("lock table document in access exclusive mode");
  const batches = createAcceptBatches(db.sql, 1.5 * LIMITS.db_lock_timeout_ms);
  const told = await Promise.allSettled(
    Array.from({ length: 8 }, () => batches.accept(newDocumentRow(firmId, SENDER))),
  );
  await holder.commit();
  // Those that nobody waits for any more are over, or under way: the next lock must not find them waiting.
  await createAcceptBatches(db.sql).accept(newDocumentRow(firmId, SENDER));
  expect(told.map((one) => (one.status === "rejected" ? one.reason : one.value))).toEqual(
    told.map(() => expect.objectContaining({ reason: "TEMPORARY" })),
  );
});

test.each([
  ["all documents", "lock table document in access exclusive mode"],
  ["all events", "lock table document_event in share mode"],
  ["the firm", "select 1 from firm for update"],
])(
  "a send that a lock on %s holds up is told to come again, and nothing of a request with its key",
  async (_, lock) => {
    const holder = await openTransaction(db.url);
    await holder.run(lock);
    const told = await createAcceptBatches(db.sql)
      .accept(newDocumentRow(firmId, SENDER))
      .finally(() => holder.commit())
      .catch((error: unknown) => error);
    expect(told).toMatchObject({ reason: "TEMPORARY", extras: { failure: "55P03" } });
  },
);

test.each(["idempotencyKey", "erpDocumentId", "payloadSha256"] as const)(
  "a send whose %s a concurrent request has, and holds for long, is told that this one is still in flight",
  async (name) => {
    const first = newDocumentRow(firmId, SENDER);
    const rival = openSql({ url: db.url, name: "rival", connections: 1 });
    await rival.unsafe("begin");
    await acceptDocuments(rival, [first]);
    const second = newDocumentRow(firmId, SENDER, { [name]: first[name] });
    const told = await createAcceptBatches(db.sql)
      .accept(second)
      .finally(() => rival.end({ timeout: 0 }));
    expect(told).toEqual({ kind: "in_flight" });
  },
);

test.each([
  ["English", 'while inserting index tuple (0,12) in relation "document"'],
  ["German", "beim Einfügen von Indextupel (0,12) in Relation »document«"],
  ["French", "lors de l'insertion de l'enregistrement (0, 12) de l'index dans la relation « document »"],
  ["Japanese", 'リレーション"document"のインデックスタプル(0,12)の挿入中'],
  ["Korean", '0,12 튜플 인덱스(해당 릴레이션 "document")를 삽입하는 중에 발생'],
  ["Chinese", '在往关系"document"中插入索引元组 (0,12) 时'],
])("a concurrent request is known by what a server says in %s, too", async (_, where) => {
  const late = Object.assign(new Error("lock timeout"), { code: "55P03", where: `${where}\nSQL` });
  const answersLate = fakeSql(() => {
    throw late;
  });
  const told = await createAcceptBatches(answersLate).accept(newDocumentRow(firmId, SENDER));
  expect(told).toEqual({ kind: "in_flight" });
});

describe.each(serverForms)("a whole engine over %s whose database hangs", (form) => {
  let t: TestEngine;
  let own: FreezingProxy;
  let database: TestDatabase;
  let sender: Mailbox;
  let integrator: Readonly<Record<string, string>>;

  beforeAll(async () => {
    database = await freshDatabase();
    own = await startFreezingProxy(database.url);
    t = await startTestEngine({ form, db: database, config: { DATABASE_URL: own.url } });
    sender = { participantId: t.sandbox.sender.participantId, token: await accessToken(t.sandbox, t.sandbox.sender) };
    integrator = {
      authorization: `Bearer ${await accessToken(t.sandbox, t.sandbox.integrator)}`,
      "x-firm-id": t.sandbox.sender.firmId,
    };
  });
  afterAll(async () => {
    own.thaw();
    await t.stop();
    own.stop();
    await database.drop();
  });

  /** One wait for the database is as long as the limit; two in a row would be told too late. */
  const inTime = async (asked: Promise<HttpAnswer>): Promise<HttpAnswer> => {
    let timer: NodeJS.Timeout | undefined;
    const tooLate = new Promise<never>((_, reject) => {
      timer = setTimeout(() => {
        reject(new Error("the caller has waited for the database twice"));
      }, 2 * LIMITS.db_answer_timeout_ms);
    });
    try {
      return await Promise.race([asked, tooLate]);
    } finally {
      clearTimeout(timer);
    }
  };
  const fault = ({ status, json, headers }: HttpAnswer): unknown => [
    status,
    (json["error"] as { code?: string } | undefined)?.code,
    Number(headers.get("retry-after")) > 0,
  ];

  test("every operation that needs it answers 503 with Retry-After after one wait, and a send that was told so is told the truth when it is repeated with the same key: one document, one reply", async () => {
    const parts = sendParts(
      sender.participantId,
      t.sandbox.receiver.participantId,
      invoiceXml(sender.participantId, t.sandbox.receiver.participantId),
    );
    const headers = { "idempotency-key": randomUUID() };
    const before = await send(
      t.sandbox,
      sender,
      sendParts(
        sender.participantId,
        t.sandbox.receiver.participantId,
        invoiceXml(sender.participantId, t.sandbox.receiver.participantId),
      ),
    );
    expect(before.status).toBe(202);
    const status = `${t.sandbox.baseUrl}/documents/${String(before.json["providerDocumentId"])}/status`;

    own.freeze();
    const away = await Promise.all([
      inTime(send(t.sandbox, sender, parts, headers)),
      inTime(sapi(t.sandbox, sender, "GET", "/document/receive")),
      inTime(http("GET", status, integrator)),
      inTime(http("GET", `${t.sandbox.baseUrl}/reporting/statistics`, integrator)),
    ]);
    const temporary = [503, "TEMPORARY", true];
    expect(away.map(fault)).toEqual(away.map(() => temporary));
    const failed = t.lines.filter((line) => line.includes('"event":"database.failed"'));
    expect(failed.map((line) => (JSON.parse(line) as { readonly code: string }).code)).toContain("UNANSWERED");
    // By now the node does not trust its memory of keys any more, so that another step meets the database first.
    expect(fault(await inTime(send(t.sandbox, sender, parts, headers)))).toEqual(temporary);

    own.thaw();
    const told = await eventually("the repeat is told the truth", async () => {
      const answer = await send(t.sandbox, sender, parts, headers);
      expect([202, 503]).toContain(answer.status);
      return answer.status === 202 ? answer : undefined;
    });
    expect((await send(t.sandbox, sender, parts, headers)).text).toBe(told.text);
    const rows = await database.sql<{ id: string }[]>`
      select id from document where idempotency_key = ${headers["idempotency-key"]}`;
    expect(rows.map(({ id }) => id)).toEqual([told.json["providerDocumentId"]]);
    expect((await http("GET", status, integrator)).status).toBe(200);
    expect(t.lines.filter((line) => line.includes("request.failed"))).toEqual([]);
  });
});
