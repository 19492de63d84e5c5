/**
 * What a 202 is worth: the engine is killed with SIGKILL, in order and at random, and started again.
 * The gateway role accepts and does not dispatch, so that "between 202 and dispatch" is a state and not a race.
 */
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";

import { findNatsServer, runningEmbeddedPostgres } from "../../engine/embedded.js";
import { openSql, type Sql } from "../../engine/storage/sql.js";
import { buildIfNeeded } from "../../deploy/build.mjs";
import { accessToken, invoiceXml, type Mailbox, send, sendParts } from "../support/engine.js";
import { eventually } from "../support/eventually.js";
import { type EngineProcess, killEverythingOn, startEngineProcess } from "../support/process.js";

let dataDir: string;

beforeEach(async () => {
  await buildIfNeeded();
  dataDir = mkdtempSync(join(tmpdir(), "kurier-crash-"));
});
afterEach(() => {
  killEverythingOn(dataDir);
  rmSync(dataDir, { recursive: true, force: true });
});

async function senderOf(engine: EngineProcess): Promise<Mailbox> {
  const { sender } = engine.sandbox;
  return { participantId: sender.participantId, token: await accessToken(engine.sandbox, sender) };
}

const demoParts = (engine: EngineProcess): ReturnType<typeof sendParts> => {
  const { sender, receiver } = engine.sandbox;
  return sendParts(sender.participantId, receiver.participantId, invoiceXml(sender.participantId, receiver.participantId));
};

async function onDatabase<T>(use: (sql: Sql) => Promise<T>): Promise<T> {
  const url = runningEmbeddedPostgres(dataDir);
  if (url === undefined) throw new Error("the embedded Postgres does not run");
  const sql = openSql({ url, name: "oracle", connections: 1 });
  try {
    return await use(sql);
  } finally {
    await sql.end({ timeout: 1 });
  }
}

/** I1–I4 of the reliability notes, asked of the database. */
async function holdInvariants(accepted: readonly string[]): Promise<void> {
  await onDatabase(async (sql) => {
    const [facts] = await sql<{ documents: number; received: number; delivered: number; restless: number; twice: number; backwards: number }[]>`
      select
        (select count(*)::integer from document where id = any (${accepted as string[]}::uuid[])) as documents,
        (select count(*)::integer from received_document as r join document as d on d.as4_message_id = r.as4_message_id where d.id = any (${accepted as string[]}::uuid[])) as received,
        (select count(*)::integer from document where status = 'delivered') as delivered,
        (select count(*)::integer from document where status in ('queued', 'sent') and next_attempt_at is null) as restless,
        (select count(*)::integer from (select document_id from document_history where status = 'delivered' group by document_id having count(*) > 1) as x) as twice,
        (select count(*)::integer from document_history as a join document_history as b on a.document_id = b.document_id and a.version < b.version and a.occurred_at > b.occurred_at) as backwards`;
    expect(facts).toMatchObject({ documents: accepted.length, received: accepted.length, restless: 0, twice: 0, backwards: 0 });
    const [received] = await sql<{ n: number }[]>`select count(*)::integer as n from received_document`;
    const [all] = await sql<{ n: number }[]>`select count(*)::integer as n from document`;
    expect(received?.n).toBe(all?.n);
    expect(facts?.delivered).toBe(all?.n);
  });
}

/** Waits until all are delivered, as the database says: a client that asked this often would meet its rate limit. */
const delivered = (ids: readonly string[]): Promise<unknown> => onDatabase((sql) => eventually(`${ids.length} documents are delivered`, async () =>
  (await sql`select 1 from document where id = any (${ids as string[]}::uuid[]) and status = 'delivered'`).length === ids.length));

const FORMS = [["jetstream", {}], ["postgres", { NATS_URL: "embedded" }]] as const;

/** Each start of an engine takes seconds on a busy machine, and these tests start several. */
const PATIENCE_MS = 240_000;

describe.each(FORMS)("killed between 202 and dispatch, streams: %s", (form, env) => {
  const missing = form === "jetstream" && findNatsServer() === undefined;
  if (missing && process.env["CI"] === "true") throw new Error("nats-server is missing");

  test.skipIf(missing)("the document is delivered, once, after the next start", async () => {
    const gateway = await startEngineProcess({ dataDir, role: "gateway", env });
    const mailbox = await senderOf(gateway);
    const answer = await send(gateway.sandbox, mailbox, demoParts(gateway));
    expect(answer.status).toBe(202);
    await gateway.kill();
    const engine = await startEngineProcess({ dataDir, env });
    await delivered([String(answer.json["providerDocumentId"])]);
    await holdInvariants([String(answer.json["providerDocumentId"])]);
    expect(await engine.stop()).toBe(0);
  }, PATIENCE_MS);

  test.skipIf(missing)("also when everything was killed and the streams' directory is gone", async () => {
    const gateway = await startEngineProcess({ dataDir, role: "gateway", env });
    const mailbox = await senderOf(gateway);
    const parts = demoParts(gateway);
    const key = { "idempotency-key": "0190b2a4-0000-7000-8000-000000000001" };
    const answer = await send(gateway.sandbox, mailbox, parts, key);
    await eventually("the outbox was relayed", () => onDatabase(async (sql) => (await sql`select 1 from outbox`).length === 0));
    await gateway.kill();
    killEverythingOn(dataDir);
    if (form === "jetstream") {
      expect(existsSync(join(dataDir, "streams"))).toBe(true);
      rmSync(join(dataDir, "streams"), { recursive: true });
    }
    const engine = await startEngineProcess({ dataDir, env });
    await delivered([String(answer.json["providerDocumentId"])]);
    const repeated = await send(engine.sandbox, await senderOf(engine), parts, key);
    expect([repeated.status, repeated.text]).toEqual([202, answer.text]);
    await holdInvariants([String(answer.json["providerDocumentId"])]);
    expect(await engine.stop()).toBe(0);
  }, PATIENCE_MS);
});

describe("killed at random under load", () => {
  test("every 202 that a client saw is one document, delivered once", async () => {
    const KILLS = 4;
    const SENDERS = 4;
    const accepted: string[] = [];
    for (let round = 0; round < KILLS; round += 1) {
      const engine = await startEngineProcess({ dataDir, env: { NATS_URL: "embedded" } });
      const mailbox = await senderOf(engine);
      const target = accepted.length + 8 + round * 5;
      let dead = false;
      const load = Array.from({ length: SENDERS }, async () => {
        while (!dead) {
          try {
            const answer = await send(engine.sandbox, mailbox, demoParts(engine));
            if (answer.status === 202) accepted.push(String(answer.json["providerDocumentId"]));
            else if (answer.status === 429) dead = true;
          } catch (error) {
            if (!(error instanceof TypeError)) throw error;
          }
        }
      });
      await eventually("some were accepted", () => accepted.length >= target || dead);
      await engine.kill();
      dead = true;
      await Promise.all(load);
    }
    const engine = await startEngineProcess({ dataDir, env: { NATS_URL: "embedded" } });
    expect(accepted.length).toBeGreaterThan(KILLS * 8);
    await delivered(accepted);
    await eventually("nothing is under way", () => onDatabase(async (sql) => (await sql`select 1 from document where status <> 'delivered'`).length === 0));
    await holdInvariants(accepted);
    expect(await engine.stop()).toBe(0);
  }, PATIENCE_MS);
});
