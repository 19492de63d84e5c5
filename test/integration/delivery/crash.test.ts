/**
 * What a 202 is worth: the engine is killed with SIGKILL, in order and at random, and started again.
 * The gateway role accepts and does not dispatch, so that "between 202 and dispatch" is a state and not a race.
 */
import { createHash } from "node:crypto";
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";

import { findNatsServer, runningEmbeddedPostgres } from "../../../engine/embedded/embedded.js";
import { openSql } from "../../../engine/storage/sql.js";
import type { Sql } from "../../../engine/storage/sql.js";
import { buildIfNeeded } from "../../../deploy/build.mjs";
import { accessToken, invoiceXml, send, sendParts } from "../../support/engines/engine.js";
import type { HttpAnswer, Mailbox } from "../../support/engines/engine.js";
import { eventually } from "../../support/eventually.js";
import { violations } from "../../support/truth/oracle.js";
import type { AcceptedFact as Accepted, Facts } from "../../support/truth/oracle.js";
import { databaseFacts, logOf, processFacts, RSS_MAX_BYTES } from "../../support/truth/oracle-facts.js";
import { killEverythingOn, startEngineProcess } from "../../support/engines/process.js";
import type { EngineProcess } from "../../support/engines/process.js";

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
  return sendParts(
    sender.participantId,
    receiver.participantId,
    invoiceXml(sender.participantId, receiver.participantId),
  );
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

/** The oracle's invariants of one engine that sends to itself: its rows, what clients saw, its log, its life. */
async function holdInvariants(engine: EngineProcess, accepted: readonly Accepted[]): Promise<void> {
  const database = await onDatabase(databaseFacts);
  const { sender, receiver, integrator, admin } = engine.sandbox;
  const facts: Facts = {
    sides: [
      {
        ...database,
        name: "engine",
        counted: undefined,
        probes: [],
        accepted,
        process: await processFacts(engine, engine.output()),
        places: [
          { where: "the log", text: logOf(engine.output()) },
          { where: "/metrics", text: await (await fetch(`${engine.sandbox.adminUrl}/metrics`)).text() },
        ],
      },
    ],
    canaries: [sender, receiver, integrator]
      .map(({ clientSecret }) => ({ name: "a client secret", value: clientSecret }))
      .concat({ name: "the admin token", value: admin.token }),
    rssMax_bytes: RSS_MAX_BYTES,
  };
  expect(violations(facts)).toEqual([]);
  // Everything travels to ourselves, so nothing is left on the way.
  expect(database.outgoing.filter(({ kind }) => kind === "business").map(({ status }) => status)).toEqual(
    database.outgoing.filter(({ kind }) => kind === "business").map(() => "delivered"),
  );
}

/** A 202 and the payload that it was for. */
const acceptedFact = (answer: HttpAnswer, payload: string, repeated: readonly HttpAnswer[] = []): Accepted => ({
  id: String(answer.json["providerDocumentId"]),
  sha256: createHash("sha256").update(payload).digest("hex"),
  answer: { status: answer.status, body: answer.text },
  repeated: repeated.map(({ status, text }) => ({ status, body: text })),
});

/** Waits until all are delivered, as the database says: a client that asked this often would meet its rate limit. */
const delivered = (accepted: readonly Accepted[]): Promise<unknown> =>
  onDatabase((sql) =>
    eventually(
      `${accepted.length} documents are delivered`,
      async () =>
        (
          await sql`select 1 from document where id = any (${accepted.map(({ id }) => id)}::uuid[]) and status = 'delivered'`
        ).length === accepted.length,
    ),
  );

const FORMS = [
  ["jetstream", {}],
  ["postgres", { NATS_URL: "embedded" }],
] as const;

describe.each(FORMS)("killed between 202 and dispatch, streams: %s", (form, env) => {
  const missing = form === "jetstream" && findNatsServer() === undefined;
  if (missing && process.env["CI"] === "true") throw new Error("nats-server is missing");

  test.skipIf(missing)(
    "a document accepted before the engine was killed is delivered, once, after the next start",
    async () => {
      const gateway = await startEngineProcess({ dataDir, role: "gateway", env });
      const mailbox = await senderOf(gateway);
      const parts = demoParts(gateway);
      const answer = await send(gateway.sandbox, mailbox, parts);
      expect(answer.status).toBe(202);
      await gateway.kill();
      const engine = await startEngineProcess({ dataDir, env });
      const accepted = [acceptedFact(answer, parts.payload)];
      await delivered(accepted);
      await holdInvariants(engine, accepted);
      expect(await engine.stop()).toBe(0);
    },
  );

  test.skipIf(missing)(
    "a document accepted before everything was killed is delivered, once, also when the streams' directory is gone",
    async () => {
      const gateway = await startEngineProcess({ dataDir, role: "gateway", env });
      const mailbox = await senderOf(gateway);
      const parts = demoParts(gateway);
      const key = { "idempotency-key": "0190b2a4-0000-7000-8000-000000000001" };
      const answer = await send(gateway.sandbox, mailbox, parts, key);
      await eventually("the outbox was relayed", () =>
        onDatabase(async (sql) => (await sql`select 1 from outbox`).length === 0),
      );
      await gateway.kill();
      killEverythingOn(dataDir);
      if (form === "jetstream") {
        expect(existsSync(join(dataDir, "streams"))).toBe(true);
        rmSync(join(dataDir, "streams"), { recursive: true });
      }
      const engine = await startEngineProcess({ dataDir, env });
      await delivered([acceptedFact(answer, parts.payload)]);
      const repeated = await send(engine.sandbox, await senderOf(engine), parts, key);
      expect(repeated.status).toBe(202);
      await holdInvariants(engine, [acceptedFact(answer, parts.payload, [repeated])]);
      expect(await engine.stop()).toBe(0);
    },
  );
});

describe("killed at random under load", () => {
  test("every 202 that a client saw is one document, delivered once", async () => {
    const KILLS = 4;
    const SENDERS = 4;
    const accepted: Accepted[] = [];
    for (let round = 0; round < KILLS; round += 1) {
      const engine = await startEngineProcess({ dataDir, env: { NATS_URL: "embedded" } });
      const mailbox = await senderOf(engine);
      const target = accepted.length + 8 + round * 5;
      let dead = false;
      const load = Array.from({ length: SENDERS }, async () => {
        while (!dead) {
          try {
            const parts = demoParts(engine);
            const answer = await send(engine.sandbox, mailbox, parts);
            if (answer.status === 202) accepted.push(acceptedFact(answer, parts.payload));
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
    await eventually("nothing is under way", () =>
      onDatabase(async (sql) => (await sql`select 1 from document where status <> 'delivered'`).length === 0),
    );
    await holdInvariants(engine, accepted);
    expect(await engine.stop()).toBe(0);
  });
});
