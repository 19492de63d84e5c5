/**
 * The disk is full: database, evidence and streams of an engine lie on a small file system of their own, which a file of
 * ballast fills to the last octet under load. Needs the right to mount; without it the test is skipped and says so.
 * @source design/reliability.md, F-06
 */
import { createHash, randomUUID } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";

import { runningEmbeddedPostgres } from "../../../engine/embedded/embedded.js";
import { openSql } from "../../../engine/storage/sql.js";
import { buildIfNeeded } from "../../../deploy/build.mjs";
import { createBallast, canMountSmall, mountSmall, unmountSmall } from "../../support/ballast.js";
import { accessToken, invoiceXml, sapi, send, sendParts } from "../../support/engines/engine.js";
import type { HttpAnswer, Mailbox, SendParts } from "../../support/engines/engine.js";
import { eventually } from "../../support/eventually.js";
import { killEverythingOn, startEngineProcess } from "../../support/engines/process.js";
import type { EngineProcess } from "../../support/engines/process.js";

const SIZE = "384m";
/** Sends at each of three moments: before, while and after the disk is full. */
const SENDS = 12;

const folder = mkdtempSync(join(tmpdir(), "kurier-disk-"));
const canMount = canMountSmall(SIZE);
const ballast = createBallast(folder);
let engine: EngineProcess;
let sender: Mailbox;

beforeAll(async () => {
  if (!canMount) return;
  mountSmall(folder, SIZE);
  await buildIfNeeded();
  engine = await startEngineProcess({ dataDir: folder, env: { VALIDATOR_THREADS: "1" } });
  const own = engine.sandbox.sender;
  sender = { participantId: own.participantId, token: await accessToken(engine.sandbox, own) };
});
afterAll(() => {
  killEverythingOn(folder);
  if (canMount) unmountSmall(folder);
  rmSync(folder, { recursive: true, force: true });
});

/** Has Postgres need a new segment of its log, again and again, until it cannot have one. */
async function exhaustLog(): Promise<void> {
  await eventually("the log of Postgres has no room", async () => {
    ballast.fill();
    const url = runningEmbeddedPostgres(folder);
    if (url === undefined) return true;
    const sql = openSql({ url, name: "ballast", connections: 1 });
    try {
      await sql`select pg_logical_emit_message(false, 'ballast', repeat('x', 8000000)), pg_switch_wal()`;
      return false;
    } catch {
      return true;
    } finally {
      await sql.end({ timeout: 1 });
    }
  });
}

interface Asked {
  readonly parts: SendParts;
  readonly key: string;
}
const asked: Asked[] = [];

/** One send; repeats of it are told the truth. */
const ask = ({ parts, key }: Asked): Promise<HttpAnswer> =>
  send(engine.sandbox, sender, parts, { "idempotency-key": key });

async function sendSome(): Promise<readonly number[]> {
  const receiver = engine.sandbox.receiver.participantId;
  const some = Array.from({ length: SENDS }, () => ({
    parts: sendParts(sender.participantId, receiver, invoiceXml(sender.participantId, receiver)),
    key: randomUUID(),
  }));
  asked.push(...some);
  return (await Promise.all(some.map(ask))).map(({ status }) => status);
}

test.skipIf(!canMount)(
  "on a full disk sends and reads are answered 503 and nothing worse; with room again each is accepted under its key and delivered once, by the same process",
  async () => {
    expect(new Set(await sendSome())).toEqual(new Set([202]));
    await exhaustLog();
    const statuses = new Set<number>();
    await eventually("sends are refused", async () => {
      if (!ballast.isFull()) ballast.fill();
      for (const status of await sendSome()) statuses.add(status);
      return statuses.has(503) || asked.length > 8 * SENDS;
    });
    expect([...statuses].filter((status) => status !== 202)).toEqual([503]);
    // The log of another process can come a moment behind its answer.
    await eventually("the log names the database", () => engine.output().includes('"event":"database.failed"'));
    const reads = await Promise.all(
      Array.from({ length: SENDS }, () => sapi(engine.sandbox, sender, "GET", "/document/receive")),
    );
    expect(reads.filter(({ status }) => status !== 200 && status !== 503)).toEqual([]);
    ballast.remove();
    await eventually("the engine is ready again", async () =>
      fetch(`${engine.sandbox.adminUrl}/readyz`).then(
        ({ status }) => status === 200,
        () => false,
      ),
    );
    for (const one of asked) {
      const answer = await eventually("the send is accepted", async () => {
        const again = await ask(one);
        expect([202, 503, 429]).toContain(again.status);
        return again.status === 202 ? again : undefined;
      });
      expect(answer.json["status"]).toBe("ACCEPTED");
    }
    const sql = openSql({ url: runningEmbeddedPostgres(folder) ?? "", name: "oracle", connections: 1 });
    try {
      await eventually("everything is delivered", async () => {
        await sql`update document set next_attempt_at = clock_timestamp()
          where next_attempt_at > clock_timestamp() and attempts > 0 and (lease_until > clock_timestamp()) is not true`;
        return (await sql`select 1 from document where status <> 'delivered'`).length === 0;
      });
      const sent = await sql<{ sha256: string }[]>`select encode(payload_sha256, 'hex') as sha256 from document`;
      const digests = asked.map(({ parts }) => createHash("sha256").update(parts.payload).digest("hex"));
      expect(sent.map(({ sha256 }) => sha256).sort()).toEqual(digests.sort());
      const [received] = await sql<{ n: number }[]>`select count(*)::integer as n from received_document`;
      expect(received?.n).toBe(asked.length);
    } finally {
      await sql.end({ timeout: 1 });
    }
    expect(engine.ended()).toBe(false);
    expect(await engine.stop()).toBe(0);
  },
);
