/**
 * No plan of ours is compiled, and what every document passes is not planned anew for each. Method: a server that would
 * compile every plan and counts, for each statement, its plans and the functions that it compiled; a whole engine on it
 * that is sent documents, judges, delivers and answers; the statements of that way again and again on one connection.
 * @source the columns plans and jit_functions of pg_stat_statements, PostgreSQL 15 and newer
 */
import { randomUUID } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import postgres from "postgres";
import { describe, expect, test } from "vitest";

import { startEmbeddedPostgres } from "../../../engine/embedded/postgres.js";
import { systemClock } from "../../../engine/base/clock.js";
import { newId, newReceivedDocumentId } from "../../../engine/base/ids.js";
import type { FirmId, ParticipantId } from "../../../engine/base/ids.js";
import { silentLog } from "../../../engine/base/log.js";
import { claimDocuments, endAttempt, readLanes } from "../../../engine/storage/documents/attempts.js";
import type { TakenAttempt } from "../../../engine/storage/documents/attempts.js";
import { acceptDocuments } from "../../../engine/storage/documents/documents.js";
import { findOwnParticipant, listReceived, storeBusiness } from "../../../engine/storage/documents/received.js";
import { migrate } from "../../../engine/storage/migrate.js";
import { openSql } from "../../../engine/storage/sql.js";
import type { Sql } from "../../../engine/storage/sql.js";
import { accessToken, invoiceXml, sapi, send, sendParts, startTestEngine } from "../../support/engines/engine.js";
import type { Mailbox } from "../../support/engines/engine.js";
import { eventually } from "../../support/eventually.js";
import { isInstalled, POSTGRES_15, startPostgresServer } from "../../support/database/postgres-server.js";
import type { PostgresServer } from "../../support/database/postgres-server.js";
import { newDocumentRow, seedFirm } from "../../support/database/seed.js";

const COMPILES_EVERYTHING = {
  jit: "on",
  jit_above_cost: "0",
  jit_inline_above_cost: "0",
  jit_optimize_above_cost: "0",
  shared_preload_libraries: "pg_stat_statements",
  "pg_stat_statements.track": "all",
  "pg_stat_statements.track_planning": "on",
  "pg_stat_statements.max": "5000",
};

async function startEmbedded(): Promise<PostgresServer> {
  const folder = mkdtempSync(join(tmpdir(), "kurier-pg-"));
  const server = await startEmbeddedPostgres({ dataDir: folder, log: silentLog, settings: COMPILES_EVERYTHING });
  return {
    url: server.url,
    stop: async () => {
      await server.stop();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

const SERVERS = [
  ["the embedded PostgreSQL", true, startEmbedded],
  [
    `PostgreSQL 15 at ${POSTGRES_15}`,
    isInstalled(POSTGRES_15),
    (): Promise<PostgresServer> => startPostgresServer(POSTGRES_15, COMPILES_EVERYTHING),
  ],
] as const;

/** Statements of which something was compiled. */
const compiled = async (sql: Sql): Promise<readonly string[]> =>
  (
    await sql<{ readonly query: string }[]>`
      select query from pg_stat_statements where jit_functions > 0`
  ).map(({ query }) => query);

/** One statement of a client that says nothing about compilation. @returns whether the server can compile */
async function ofAnother(url: string): Promise<boolean> {
  const host = new URL(url).searchParams.get("host") ?? "";
  const client = postgres({ host, port: 5432, user: "kurier", database: "postgres", max: 1 });
  try {
    await client`select sum(n) from generate_series(1, 1000) as s (n) where n % 7 = 3`;
    const [row] = await client<{ readonly able: boolean }[]>`select pg_jit_available() as able`;
    return row?.able === true;
  } finally {
    await client.end({ timeout: 1 });
  }
}

/** Documents there and back, one of them refused by its receiver, read and answered. */
async function exerciseEngine(url: string, sql: Sql): Promise<void> {
  const engine = await startTestEngine({
    transport: "as4",
    db: { url, sql, another: () => sql, one: () => sql, drop: () => Promise.resolve() },
  });
  try {
    const { sender, receiver } = engine.sandbox;
    const mailbox = async (of: typeof sender): Promise<Mailbox> => ({
      participantId: of.participantId,
      token: await accessToken(engine.sandbox, of),
    });
    const [from, to] = [await mailbox(sender), await mailbox(receiver)];
    for (let i = 0; i < 8; i += 1) {
      const xml = invoiceXml(sender.participantId, receiver.participantId);
      expect(
        (await send(engine.sandbox, from, sendParts(sender.participantId, receiver.participantId, xml))).status,
      ).toBe(202);
    }
    await eventually(
      "all are delivered",
      async () => (await sql`select 1 from document where status = 'delivered'`).length === 8,
    );
    await eventually(
      "all are judged",
      async () => (await sql`select 1 from received_document where status = 'RECEIVED'`).length === 8,
    );
    const listed = await sapi(engine.sandbox, to, "GET", "/document/receive?limit=10");
    expect(listed.status).toBe(200);
    expect((await fetch(`${engine.sandbox.adminUrl}/metrics`)).status).toBe(200);
  } finally {
    await engine.stop();
  }
}

const SENDERS = ["0245:1111111111", "0245:3333333333"] as const;
const NOW = Date.parse("2026-11-20T10:00:00Z");
/** More than the five times that Postgres plans a statement before it asks whether one plan would serve. */
const ROUNDS = 16;

const endOf = (sql: Sql, { id, version }: TakenAttempt): ReturnType<typeof endAttempt> =>
  endAttempt(sql, {
    id,
    version,
    owner: "node-a",
    status: "delivered",
    now: NOW,
    wait_ms: undefined,
    uses: "answer",
    moves: [{ status: "delivered", trigger: "receipt_confirmed", detail: "receipt" }],
    events: (["document.sent", "document.delivered"] as const).map((kind) => ({ id: newId(systemClock), kind })),
    attempt: { number: 1, outcome: "receipt", code: undefined, retryable: false, detail: undefined },
    reason: undefined,
    exchange: undefined,
  });

function arrivalFor(sql: Sql, firmId: FirmId, receiver: ParticipantId): Promise<boolean> {
  const id = newReceivedDocumentId(systemClock);
  const common = { id, firmId, documentTypeId: "type", processId: "process" };
  return storeBusiness(sql, {
    document: {
      ...common,
      participantKey: receiver,
      sender: "0245:9999999999" as ParticipantId,
      receiver,
      creationDateTime: NOW,
      payloadSha256: "00".repeat(32),
      as4MessageId: `${randomUUID()}@peer`,
      sbdhInstanceId: randomUUID(),
      facts: {},
      receivedAt: NOW,
      payloadKeyId: "k1",
      payloadSealed: Buffer.from("sealed"),
      payloadBytes: 6,
      status: "RECEIVED",
    },
    exchange: {
      ...common,
      direction: "incoming",
      kind: "business",
      c2Seat: "POP000777",
      c3Seat: "PSK000001",
      transportProfile: "t",
      c1Country: "AT",
      c4Country: "SK",
      endUser: receiver,
      exchangedAt: NOW,
    },
    duty: undefined,
  });
}

/** Two documents at once, from acceptance to the inbox: as few as share a statement on a machine that is not busy. */
async function passTwoDocuments(sql: Sql, firms: readonly { readonly id: FirmId; readonly of: ParticipantId }[]) {
  const rows = firms.map(({ id, of }) => newDocumentRow(id, of));
  expect((await acceptDocuments(sql, rows)).map(({ kind }) => kind)).toEqual(["accepted", "accepted"]);
  const { lanes } = await readLanes(sql, { firm: undefined, receivers: new Map() }, { firms: 4, ready: 4 });
  expect(lanes).toHaveLength(2);
  const taken = await claimDocuments(sql, {
    shares: lanes.map(({ firmId, receiver, ready }) => ({ firmId, receiver, count: ready })),
    owner: "node-a",
    lease_ms: 60_000,
    bytes_max: 1_000,
    one: true,
  });
  expect(taken).toHaveLength(2);
  for (const attempt of taken) expect(await endOf(sql, attempt)).toBeDefined();
  for (const { id, of } of firms) expect(await arrivalFor(sql, id, of)).toBe(true);
  await Promise.all(firms.map(({ of }) => findOwnParticipant(sql, of)));
  await listReceived(
    sql,
    firms.map(({ id, of }) => ({
      firmId: id,
      participantKey: of,
      status: "RECEIVED" as const,
      limit: 21,
      heldSince: NOW,
      after: "0",
    })),
  );
}

describe.each(SERVERS)("%s", (name, isThere, start) => {
  if (!isThere && process.env["CI"] === "true") throw new Error(`${name} is missing`);

  test.skipIf(!isThere)("no plan of ours is compiled by a server that would compile every plan", async () => {
    const server = await start();
    const sql = openSql({ url: server.url, name: "test", connections: 4 });
    try {
      await sql`create extension pg_stat_statements`;
      // What others ask is compiled where the server can: a count that is always nothing would prove nothing.
      const isAble = await ofAnother(server.url);
      expect((await compiled(sql)).length > 0).toBe(isAble);
      await sql`select pg_stat_statements_reset()`;
      await exerciseEngine(server.url, sql);
      expect(await sql`select count(*) > 100 as many from pg_stat_statements`).toEqual([{ many: true }]);
      expect(await compiled(sql)).toEqual([]);
    } finally {
      await sql.end({ timeout: 1 });
      await server.stop();
    }
  });

  test.skipIf(!isThere)("what every document passes is planned once, however few share a statement", async () => {
    const server = await start();
    await migrate({ url: server.url, clock: systemClock });
    const sql = openSql({ url: server.url, name: "test", connections: 1 });
    try {
      await sql`create extension pg_stat_statements`;
      const firms = await Promise.all(
        SENDERS.map(async (of) => ({ id: await seedFirm(sql, of), of: of as ParticipantId })),
      );
      await sql`select pg_stat_statements_reset()`;
      for (let round = 0; round < ROUNDS; round += 1) await passTwoDocuments(sql, firms);
      const asked = await sql<{ readonly query: string; readonly calls: number; readonly plans: number }[]>`
        select query, calls::integer as calls, plans::integer as plans from pg_stat_statements where calls >= ${ROUNDS}`;
      expect(asked.length).toBeGreaterThan(20);
      expect(asked.filter(({ calls, plans }) => plans > calls / 2)).toEqual([]);
    } finally {
      await sql.end({ timeout: 1 });
      await server.stop();
    }
  });
});
