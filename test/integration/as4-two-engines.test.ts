/**
 * Two engines as processes exchange documents over AS4. One of them is killed at every point of an exchange where that makes a
 * difference: each document arrives once, each sender's record ends in "delivered", and the evidence of both sides holds.
 * @source design/reliability.md, F-01, I1 to I4
 */
import postgres from "postgres";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createHash } from "node:crypto";

import { systemClock } from "../../engine/clock.js";
import { auditEvidence } from "../../engine/peppol/evidence-audit.js";
import { createEvidenceArchive } from "../../engine/storage/evidence-archive.js";
import { openFileEvidence } from "../../engine/storage/evidence-store-file.js";
import { createSealer } from "../../engine/storage/sealer.js";
import { connectionTarget } from "../../engine/storage/sql.js";
import { buildIfNeeded } from "../../deploy/build.mjs";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { inThread } from "../support/as4.js";
import { accessToken, http, invoiceXml, type Mailbox, sapi, send, sendParts } from "../support/engine.js";
import { eventually } from "../support/eventually.js";
import { type EngineProcess, startEngineProcess } from "../support/process.js";
import { type AccessPointHome, prepareTwo, type TwoHomes } from "../support/two-engines.js";

let homes: TwoHomes;
let a: EngineProcess;
let b: EngineProcess;

const start = (home: AccessPointHome): Promise<EngineProcess> => startEngineProcess({ dataDir: home.dataDir, env: home.env });

beforeAll(async () => {
  await buildIfNeeded();
  homes = await prepareTwo();
  [a, b] = await Promise.all([start(homes.a), start(homes.b)]);
}, 120_000);
afterAll(async () => {
  await a.stop();
  await b.stop();
  await homes.remove();
});

/** A token outlives the process that gave it. */
const mailboxes = new Map<string, Promise<Mailbox>>();

function mailboxOf({ sandbox }: EngineProcess, firm: "sender" | "receiver"): Promise<Mailbox> {
  const key = `${sandbox.baseUrl} ${firm}`;
  const mailbox = mailboxes.get(key) ?? accessToken(sandbox, sandbox[firm]).then((token) => ({ participantId: sandbox[firm].participantId, token }));
  mailboxes.set(key, mailbox);
  return mailbox;
}

/** Sends one invoice from A's sender to B's receiver. */
async function sendFromA(): Promise<{ readonly id: string; readonly payload: string }> {
  const mailbox = await mailboxOf(a, "sender");
  const { participantId: receiver } = a.sandbox.receiver;
  const payload = invoiceXml(mailbox.participantId, receiver);
  const answer = await send(a.sandbox, mailbox, sendParts(mailbox.participantId, receiver, payload));
  if (answer.status !== 202) throw new Error(`not accepted: ${answer.status} ${answer.text}`);
  return { id: String(answer.json["providerDocumentId"]), payload };
}

const statusOf = async (home: AccessPointHome, id: string): Promise<unknown> => (await home.db.sql<{ status: string }[]>`select status from document where id = ${id}`)[0]?.status;

/** The documents of a payload in an inbox, by the digest of what the API gives out. */
async function received(engine: EngineProcess, firm: "sender" | "receiver", payload: string): Promise<number> {
  const mailbox = await mailboxOf(engine, firm);
  const list = (await sapi(engine.sandbox, mailbox, "GET", "/document/receive?limit=100")).json["documents"] as { documentId: string }[];
  let count = 0;
  for (const { documentId } of list) {
    const detail = await sapi(engine.sandbox, mailbox, "GET", `/document/receive/${documentId}`);
    if (detail.json["payload"] === payload) count += 1;
  }
  return count;
}

/** The next attempt would be in 10 s; nothing is gained by waiting for it. */
const retryNow = async (id: string): Promise<void> => {
  await eventually("the first attempt has ended", async () => {
    const [row] = await homes.a.db.sql<{ busy: boolean }[]>`select lease_until > clock_timestamp() as busy from document where id = ${id} and attempts > 0`;
    return row !== undefined && !row.busy;
  });
  await homes.a.db.sql`update document set next_attempt_at = clock_timestamp() where id = ${id} and next_attempt_at is not null`;
};

const delivered = (id: string): Promise<unknown> => eventually(`${id} is delivered`, async () => await statusOf(homes.a, id) === "delivered");

async function holdInvariants(sent: { readonly id: string; readonly payload: string }): Promise<void> {
  const [message] = await homes.a.db.sql<{ as4_message_id: string; sha: string }[]>`select as4_message_id, encode(payload_sha256, 'hex') as sha from document where id = ${sent.id}`;
  // I1, I2: one document there, under the one MessageId, with the same bytes.
  const there = await homes.b.db.sql<{ sha: string }[]>`select encode(payload_sha256, 'hex') as sha from received_document where as4_message_id = ${message?.as4_message_id ?? ""}`;
  expect(there.map(({ sha }) => sha)).toEqual([message?.sha]);
  expect(message?.sha).toBe(createHash("sha256").update(sent.payload).digest("hex"));
  expect(await received(b, "receiver", sent.payload)).toBe(1);
  // I3, I4: nothing rests without a time; the history only goes on.
  const [facts] = await homes.a.db.sql<{ restless: number; twice: number; backwards: number }[]>`
    select (select count(*)::integer from document where status in ('queued', 'sent') and next_attempt_at is null) as restless,
      (select count(*)::integer from (select document_id from document_history where status = 'delivered' group by document_id having count(*) > 1) as x) as twice,
      (select count(*)::integer from document_history as x join document_history as y on x.document_id = y.document_id and x.version < y.version and x.occurred_at > y.occurred_at) as backwards`;
  expect(facts).toEqual({ restless: 0, twice: 0, backwards: 0 });
  // Both sides can prove it.
  const proofs = async (home: AccessPointHome): Promise<string[]> => (await home.db.sql<{ outcome: string }[]>`select outcome from evidence where message_id = ${message?.as4_message_id ?? ""} order by index`).map(({ outcome }) => outcome);
  expect(await proofs(homes.a)).toContain("receipt");
  expect(await proofs(homes.b)).toEqual(expect.arrayContaining([expect.stringMatching(/^(stored|duplicate)$/)]));
}

/** Holds a table of B so that what comes next in its inbound path waits; `release` lets go. */
async function hold(home: AccessPointHome, table: "received_document" | "evidence_head" | "document"): Promise<{ release(): Promise<void> }> {
  const { url, ...socket } = connectionTarget(home.db.url);
  const sql = postgres(url, { ...socket, max: 1 });
  let release: (() => void) | undefined;
  const released = new Promise<void>((resolve) => { release = resolve; });
  const held = await new Promise<{ readonly ended: Promise<void> }>((resolve, reject) => {
    const ended = sql.begin(async (transaction) => {
      await transaction.unsafe(`lock table ${table} in ${table === "document" ? "exclusive" : "access exclusive"} mode`);
      resolve({ ended: ended.then(() => undefined) });
      await released;
    });
    ended.catch(reject);
  });
  return {
    release: async () => {
      release?.();
      await held.ended;
      await sql.end();
    },
  };
}

describe("two access points", () => {
  test("a document goes from A to B and another from B to A, byte for byte", async () => {
    const sent = await sendFromA();
    await delivered(sent.id);
    await holdInvariants(sent);
    // B's receiver answers A's sender: B is the sending access point now.
    const mailbox = await mailboxOf(b, "receiver");
    const payload = invoiceXml(mailbox.participantId, b.sandbox.sender.participantId);
    const answer = await send(b.sandbox, mailbox, sendParts(mailbox.participantId, b.sandbox.sender.participantId, payload));
    expect(answer.status).toBe(202);
    await eventually("it is delivered", async () => await statusOf(homes.b, String(answer.json["providerDocumentId"])) === "delivered");
    expect(await received(a, "sender", payload)).toBe(1);
  });

  test("the evidence names the envelope, the receipt and the place in the chain; the envelope is given out as it was sent", async () => {
    const { id } = await sendFromA();
    await delivered(id);
    const token = await accessToken(a.sandbox, a.sandbox.integrator);
    const headers = { authorization: `Bearer ${token}`, "x-firm-id": a.sandbox.sender.firmId };
    const evidence = await http("GET", `${a.sandbox.baseUrl}/documents/${id}/evidence`, headers);
    expect(evidence.json).toMatchObject({ documentId: id, state: "delivered", receipt: { receivedAt: expect.any(String) as string }, chain: { index: expect.any(Number) as number } });
    const response = await fetch(`${a.sandbox.baseUrl}/documents/${id}/envelope`, { headers });
    expect(response.headers.get("content-type")).toMatch(/^multipart\/related; boundary=/);
    const { sha256 } = evidence.json["envelope"] as { sha256: string };
    expect(createHash("sha256").update(Buffer.from(await response.arrayBuffer())).digest("hex")).toBe(sha256);
    const other = await http("GET", `${a.sandbox.baseUrl}/documents/${id}/evidence`, { ...headers, "x-firm-id": a.sandbox.receiver.firmId });
    expect(other.status).toBe(404);
    const withoutScope = await http("GET", `${a.sandbox.baseUrl}/documents/${id}/evidence`, { authorization: `Bearer ${await accessToken(a.sandbox, a.sandbox.sender)}` });
    expect([withoutScope.status, JSON.stringify(withoutScope.json)]).toEqual([403, expect.stringContaining("evidence:read")]);
  });
});

describe("the receiver is killed and started again", () => {
  /** What happens to B during the exchange; each ends with B dead. */
  const points: readonly [name: string, at: () => Promise<{ readonly dead: Promise<void> }>][] = [
    ["before the connection", async () => {
      await b.kill();
      return { dead: Promise.resolve() };
    }],
    ["with the first octets of the message", async () => ({ dead: new Promise((resolve) => {
      homes.b.proxy.onRequest = async () => {
        await b.kill();
        resolve();
        return false;
      };
    }) })],
    ["with the whole message, before it is stored", async () => {
      const held = await hold(homes.b, "received_document");
      return { dead: (async () => {
        await waiting(homes.b);
        await b.kill();
        await held.release();
      })() };
    }],
    ["after the document is stored, before its evidence is", async () => {
      const held = await hold(homes.b, "evidence_head");
      return { dead: (async () => {
        await waiting(homes.b);
        await b.kill();
        await held.release();
      })() };
    }],
    ["after everything, with the receipt on its way", async () => ({ dead: new Promise((resolve) => {
      homes.b.proxy.onResponse = async () => {
        await b.kill();
        resolve();
        return false;
      };
    }) })],
  ];

  /** Until a statement waits for the lock. */
  const waiting = (home: AccessPointHome): Promise<unknown> => eventually("a statement waits", async () =>
    (await home.db.sql`select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock' and pid <> pg_backend_pid()`).length > 0);

  test.each(points)("%s: the document arrives once", { timeout: 90_000 }, async (_, at) => {
    const { dead } = await at();
    const sent = await sendFromA();
    await dead;
    b = await start(homes.b);
    await retryNow(sent.id);
    await delivered(sent.id);
    await holdInvariants(sent);
  });
});

describe("the sender is killed and started again", () => {
  test("after the receipt, before it is written down: the repeat is the same message, and the receiver keeps one document", { timeout: 90_000 }, async () => {
    let held: Awaited<ReturnType<typeof hold>> | undefined;
    homes.b.proxy.onResponse = async () => {
      held = await hold(homes.a, "document");
      return true;
    };
    const sent = await sendFromA();
    await eventually("A waits to write the receipt down", async () =>
      (await homes.a.db.sql`select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock' and query like '%apply_move%'`).length > 0);
    await a.kill();
    await held?.release();
    a = await start(homes.a);
    await retryNow(sent.id);
    await delivered(sent.id);
    await holdInvariants(sent);
  });
});

test("after all of this the evidence of both sides is whole", async () => {
  for (const home of [homes.a, homes.b]) {
    const store = openFileEvidence(join(home.dataDir, "evidence"));
    const sealer = createSealer([Buffer.from(readFileSync(join(home.dataDir, "master.key"), "utf8").trim(), "base64")]);
    const archive = createEvidenceArchive({ sql: home.db.sql, store, sealer, clock: systemClock });
    const result = await auditEvidence({ sql: home.db.sql, store, archive, crypto: inThread, now: systemClock.now() });
    expect(result.faults).toEqual([]);
    expect(result.entries).toBeGreaterThan(6);
  }
});
