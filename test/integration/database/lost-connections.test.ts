/**
 * Connections that are lost at the worst moment: the database's while an acceptance is committed, its backends at random
 * under load, the client's before its answer. Whatever happens, a request is told the truth, now or when it comes again.
 * @source design/reliability.md, F-03, F-05, C-02, C-07; section 2.2
 */
import { createHash, randomUUID } from "node:crypto";
import { connect } from "node:net";
import { afterAll, beforeAll, expect, test } from "vitest";

import { startCuttingProxy } from "../../support/network/cutting-proxy.js";
import type { CuttingProxy, LostAt } from "../../support/network/cutting-proxy.js";
import { openSql, readOrTemporary } from "../../../engine/storage/sql.js";
import { accessToken, invoiceXml, send, sendParts, startTestEngine } from "../../support/engines/engine.js";
import type { HttpAnswer, Mailbox, SendParts, TestEngine } from "../../support/engines/engine.js";
import { eventually } from "../../support/eventually.js";
import { freshDatabase } from "../../support/database/postgres.js";
import type { TestDatabase } from "../../support/database/postgres.js";
import { Random, seedFrom } from "../../support/random.js";

const SEED = seedFrom(20_261_122);
/** Sends under which backends are ended; a key may make 150 a minute, and each comes twice. */
const SENDS = 48;
const ABREAST = 6;
/** How often all idle sessions are ended. */
const ROUNDS = 5;
/** Requests with one key at once. */
const BODIES = 60;

let db: TestDatabase;
let proxy: CuttingProxy;
let t: TestEngine;
let sender: Mailbox;
let receiver: Mailbox;

beforeAll(async () => {
  db = await freshDatabase();
  proxy = await startCuttingProxy(db.url);
  t = await startTestEngine({ db, config: { DATABASE_URL: proxy.url } });
  const mailbox = async (firm: "sender" | "receiver"): Promise<Mailbox> => ({
    participantId: t.sandbox[firm].participantId,
    token: await accessToken(t.sandbox, t.sandbox[firm]),
  });
  [sender, receiver] = [await mailbox("sender"), await mailbox("receiver")];
});
afterAll(async () => {
  await t.stop();
  proxy.stop();
  await db.drop();
});

const partsOf = (from: Mailbox, to: Mailbox): SendParts =>
  sendParts(from.participantId, to.participantId, invoiceXml(from.participantId, to.participantId));
const digest = (text: string): string => createHash("sha256").update(text).digest("hex");

interface Row {
  readonly id: string;
  readonly sha256: string;
}
/** The documents that a key has made. */
const madeBy = async (key: string): Promise<readonly Row[]> =>
  db.sql<Row[]>`select id, encode(payload_sha256, 'hex') as sha256 from document where idempotency_key = ${key}`;
const committed = (key: string): Promise<boolean> =>
  eventually("the acceptance is committed", async () => (await madeBy(key)).length === 1);

/** The same request until it is accepted; what was told before is 503, or that the key has asked often enough. */
const accepted = (from: Mailbox, parts: SendParts, key: string): Promise<HttpAnswer> =>
  eventually("the request is accepted", async () => {
    const answer = await send(t.sandbox, from, parts, { "idempotency-key": key });
    expect([202, 429, 503], answer.text).toContain(answer.status);
    return answer.status === 202 ? answer : undefined;
  });

test.each([
  ["statement", "before Postgres has it"],
  ["answer", "when it is committed and not answered"],
] as const)(
  "an acceptance whose connection is lost at its %s, %s, is one document, and its client is told so",
  async (lost: LostAt, _when) => {
    const parts = partsOf(sender, receiver);
    const key = randomUUID();
    const met = proxy.meet(key, lost, async () => {
      if (lost === "answer") await committed(key);
    });
    const first = await send(t.sandbox, sender, parts, { "idempotency-key": key });
    await met;
    expect([202, 503]).toContain(first.status);
    const answer = await accepted(sender, parts, key);
    if (first.status === 202) expect(answer.text).toBe(first.text);
    expect(await madeBy(key)).toEqual([{ id: answer.json["providerDocumentId"], sha256: digest(parts.payload) }]);
  },
);

test("a client that leaves before its answer finds its document when it asks again", async () => {
  const parts = partsOf(sender, receiver);
  const key = randomUUID();
  const body = Buffer.from(JSON.stringify(parts));
  const url = new URL(t.sandbox.sapiBaseUrl);
  const client = connect(Number(url.port), url.hostname).on("error", () => undefined);
  const met = proxy.meet(key, "nowhere", async () => {
    client.destroy();
    await committed(key);
  });
  client.write(
    [
      `POST ${url.pathname}/document/send HTTP/1.1`,
      `host: ${url.host}`,
      "content-type: application/json",
      `authorization: Bearer ${sender.token}`,
      `x-peppol-participant-id: ${sender.participantId}`,
      `idempotency-key: ${key}`,
      `content-length: ${body.length}`,
      "\r\n",
    ].join("\r\n"),
  );
  client.write(body);
  await met;
  const answer = await accepted(sender, parts, key);
  expect(await madeBy(key)).toEqual([{ id: answer.json["providerDocumentId"], sha256: digest(parts.payload) }]);
});

test(`backends of Postgres that are ended at random under load mix up no request, lose none and end no process (SEED=${SEED})`, async () => {
  const random = new Random(SEED);
  let [left, ended] = [SENDS, 0];
  const told: { readonly parts: SendParts; readonly key: string; readonly answer: HttpAnswer }[] = [];
  const endOne = async (): Promise<void> => {
    const rows = await db.sql`
      select pg_terminate_backend(pid) as ended from pg_stat_activity
      where datname = current_database() and pid <> pg_backend_pid() and application_name not like 'test%'
      order by pid offset ${random.int(8)} limit 1`;
    ended += rows.length;
  };
  const client = async (): Promise<void> => {
    while (left > 0) {
      left -= 1;
      const [parts, key] = [partsOf(receiver, sender), randomUUID()];
      const [answer] = await Promise.all([accepted(receiver, parts, key), endOne()]);
      told.push({ parts, key, answer });
    }
  };
  await Promise.all(Array.from({ length: ABREAST }, client));
  expect(ended).toBeGreaterThan(SENDS / 4);
  for (const { parts, key, answer } of told)
    expect(await madeBy(key)).toEqual([{ id: answer.json["providerDocumentId"], sha256: digest(parts.payload) }]);
  const [count] = await db.sql<{ n: number }[]>`
    select count(*)::integer as n from document where sender = ${receiver.participantId}`;
  expect(count?.n).toBe(SENDS);
  expect(t.lines.filter((line) => /request\.failed|unhandled|uncaught/.test(line))).toEqual([]);
  await eventually("everything is delivered", async () => {
    await db.sql`update document set next_attempt_at = clock_timestamp()
      where next_attempt_at > clock_timestamp() and attempts > 0 and (lease_until > clock_timestamp()) is not true`;
    const open = await db.sql`select 1 from document where status <> 'delivered'`;
    return open.length === 0;
  });
});

test("a read whose session is ended in the middle of it is made once more, and twice only", async () => {
  const name = "read";
  const sql = openSql({ url: db.url, name, connections: 1 });
  let made = 0;
  const read = (): Promise<unknown> => {
    made += 1;
    return sql`select pg_sleep(${made === 1 ? 30 : 0}), ${made}::integer as made`;
  };
  const endSession = (): Promise<boolean> =>
    eventually("the session that reads is ended", async () => {
      const rows = await db.sql`
        select pg_terminate_backend(pid) from pg_stat_activity
        where datname = current_database() and application_name = ${name} and query like '%pg_sleep%'
          and state = 'active'`;
      return rows.length === 1;
    });
  const [found] = await Promise.all([readOrTemporary(read), endSession()]);
  expect(found).toMatchObject([{ made: 2 }]);
  await sql.end();
  const closed = Object.assign(new Error("closed"), { code: "CONNECTION_CLOSED" });
  let tries = 0;
  const lost = (): Promise<never> => {
    tries += 1;
    return Promise.reject(closed);
  };
  await expect(readOrTemporary(lost)).rejects.toMatchObject({ reason: "TEMPORARY" });
  expect(tries).toBe(2);
});

test("requests that come when all idle sessions have just been ended are answered as if nothing had happened", async () => {
  for (let round = 0; round < ROUNDS; round += 1) {
    const ended = await db.sql<{ readonly pid: number }[]>`
      select pid, pg_terminate_backend(pid) from pg_stat_activity
      where datname = current_database() and application_name not like 'test%' and state = 'idle'`;
    const pids = ended.map(({ pid }) => pid);
    await eventually(
      "the sessions are gone",
      async () => (await db.sql`select 1 from pg_stat_activity where pid = any (${pids}::integer[])`).length === 0,
    );
    const answers = await Promise.all(
      Array.from({ length: ABREAST }, () => send(t.sandbox, sender, partsOf(sender, receiver))),
    );
    expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 202));
  }
});

test("sixty bodies under one key at once: one is accepted, every other is told for ever that the key is another's", async () => {
  const key = randomUUID();
  const bodies = Array.from({ length: BODIES }, () => partsOf(sender, receiver));
  // 503 is no answer to the key: it asks for the same request again.
  const ask = (parts: SendParts): Promise<HttpAnswer> =>
    eventually("the key is answered", async () => {
      const answer = await send(t.sandbox, sender, parts, { "idempotency-key": key });
      return answer.status === 503 ? undefined : answer;
    });
  const codeOf = ({ json }: HttpAnswer): unknown =>
    (json["error"] as { readonly details?: readonly { readonly code?: string }[] } | undefined)?.details?.[0]?.code;
  const first = await Promise.all(bodies.map(ask));
  const winners = first.flatMap((answer, i) => (answer.status === 202 ? [i] : []));
  expect(winners).toHaveLength(1);
  for (const answer of first.filter(({ status }) => status !== 202)) {
    expect(answer.status).toBe(409);
    expect(["SAPI-PROC-002", "SAPI-PROC-003"]).toContain(codeOf(answer));
  }
  const losers = bodies.filter((_, i) => i !== winners[0]).slice(0, 8);
  for (const parts of losers) expect(codeOf(await ask(parts))).toBe("SAPI-PROC-003");
  const [winner] = winners.map((i) => bodies[i]);
  expect(await madeBy(key)).toEqual([{ id: expect.any(String) as string, sha256: digest(winner?.payload ?? "") }]);
});
