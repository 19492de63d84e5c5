/**
 * Who is told next of those to whom we owe a message, a status or an answer, while others hang: real rows and leases,
 * and a network that answers a provider only when the test lets it.
 */
import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";

import { startStatusWork } from "../../../actors/status-work.js";
import type { StatusWork } from "../../../actors/status-work.js";
import type { ParticipantId } from "../../../engine/base/ids.js";
import { LIMITS } from "../../../engine/base/limits.js";
import { newServiceMessage } from "../../../engine/documents/provider.js";
import { MLS_DOCUMENT_TYPE, MLS_PROCESS } from "../../../engine/peppol/responses/mls.js";
import { PROVIDER_SCHEME } from "../../../engine/peppol/seats.js";
import type { Outcome, Transport } from "../../../engine/peppol/transport.js";
import { addServiceMessage, takeServiceMessages } from "../../../engine/storage/documents/service-messages.js";
import type { Sql } from "../../../engine/storage/sql.js";
import { OWN, PEER_SEAT, statusBench, statusNode } from "../../support/as4/statuses.js";
import type { StatusBench } from "../../support/as4/statuses.js";
import { rowsReadBy } from "../../support/database/past.js";
import { freshDatabase } from "../../support/database/postgres.js";
import type { TestDatabase } from "../../support/database/postgres.js";
import { eventually } from "../../support/eventually.js";
import { fakeClock } from "../../support/fake-clock.js";

const QUIET = "0242:000777";
const clock = fakeClock();
let db: TestDatabase;
let bench: StatusBench;
let work: StatusWork;
/** Those that were handed to the network, in this order, and whose providers do not answer yet. */
let handed: string[];
// Bounded by the messages of one test.
let hanging: Map<string, () => void>;
let hangs: (receiver: string) => boolean;

beforeAll(async () => {
  db = await freshDatabase();
  const transport: Transport = {
    deliver: ({ documentId, receiver }) => {
      const receipt: Outcome = { kind: "receipt", peerSeat: PEER_SEAT };
      // The reports of past months are sent as well.
      if (!receiver.startsWith(PROVIDER_SCHEME)) return Promise.resolve(receipt);
      handed.push(receiver);
      if (!hangs(receiver)) return Promise.resolve(receipt);
      return new Promise((resolve) => {
        hanging.set(documentId, () => {
          hanging.delete(documentId);
          resolve(receipt);
        });
      });
    },
  };
  bench = statusBench(db, clock, { transport });
});
afterAll(async () => {
  await db.drop();
});
beforeEach(async () => {
  handed = [];
  hanging = new Map();
  await db.sql`truncate service_message, service_attempt, report_submission`;
});

/** Owes a provider so many statuses, one after the other. */
async function owe(receivers: readonly string[]): Promise<void> {
  for (const receiver of receivers) {
    const message = await newServiceMessage(bench.ports, {
      kind: "mls",
      subject: `mls/${randomUUID()}`,
      code: "RE",
      sender: OWN.participant,
      receiver: receiver as ParticipantId,
      documentTypeId: MLS_DOCUMENT_TYPE,
      processId: MLS_PROCESS,
      payload: Buffer.from("<status/>"),
    });
    expect(await addServiceMessage(db.sql, message)).toBe(true);
  }
}
/** Rows of messages alone that are due, as many as one likes. */
const addMessages = (sql: Sql, count: number, receiver: string) => sql`
  insert into service_message (
    id, kind, subject, code, sender, receiver, document_type_id, process_id, as4_message_id, sbdh_instance_id,
    payload_key_id, payload_sealed, payload_sha256, status, version, attempts, next_attempt_at, created_at
  ) select row.id, 'mls', row.id, 'RE', ${OWN.participant}, ${receiver}, 'type', 'process', row.id, row.id, 'k', 's', 'h',
    'queued', 1, 0, now(), now()
  from (select gen_random_uuid() as id from generate_series(1, ${count}::integer)) as row`;
const times = (count: number, receiver: string): string[] => Array.from({ length: count }, () => receiver);
const to = (receiver: string): number => handed.filter((one) => one === receiver).length;
const delivered = async (): Promise<number> =>
  (await db.sql`select 1 from service_message where status = 'delivered' and kind = 'mls'`).length;

/** Answers whatever hangs, and what comes after it, until all are delivered. */
async function release(count: number): Promise<void> {
  hangs = () => false;
  for (const answer of [...hanging.values()]) answer();
  await eventually("all are delivered", async () => (await delivered()) === count);
  await work.stop();
  expect(handed, "nothing was sent twice").toHaveLength(count);
}

test("a provider that hangs over what it asked to be told holds nobody else up: it has its share of the places, whatever it is owed", async () => {
  const slow = "0242:000666";
  hangs = (receiver) => receiver === slow;
  await owe([...times(40, slow), QUIET]);
  work = startStatusWork(statusNode(bench.ports));
  await eventually("the quiet one is told", () => to(QUIET) === 1);
  await eventually("the slow one has its share", () => hanging.size === LIMITS.service_messages_receiver_max);
  await owe(times(10, QUIET));
  work.poke("messages");
  await eventually("the quiet one is told again", () => to(QUIET) === 11);
  expect(to(slow)).toBe(LIMITS.service_messages_receiver_max);
  await release(51);
});

test("the units of a provider have one share together, and two of its messages that end make room for the next two", async () => {
  hangs = (receiver) => receiver !== QUIET;
  await owe([...Array.from({ length: 20 }, (_, i) => `0242:000666-UNIT${i}`), QUIET]);
  work = startStatusWork(statusNode(bench.ports));
  await eventually("the quiet one is told", () => to(QUIET) === 1);
  await eventually("the slow one has its share", () => hanging.size === LIMITS.service_messages_receiver_max);
  for (const answer of [...hanging.values()].slice(0, 2)) answer();
  await eventually("two more are told", () => handed.length === 1 + LIMITS.service_messages_receiver_max + 2);
  expect(hanging.size).toBe(LIMITS.service_messages_receiver_max);
  await release(21);
});

test("several providers that hang leave a place for another, and no more are under way than there are places", async () => {
  const several = LIMITS.service_messages_concurrent / LIMITS.service_messages_receiver_max - 1;
  const slow = Array.from({ length: several }, (_, i) => `0242:00000${i + 2}`);
  hangs = (receiver) => slow.includes(receiver);
  await owe([...slow.flatMap((receiver) => times(6, receiver)), ...times(3, QUIET)]);
  work = startStatusWork(statusNode(bench.ports));
  await eventually("the quiet one is told of all", () => to(QUIET) === 3);
  await eventually(
    "each slow one has its share",
    () => hanging.size === several * LIMITS.service_messages_receiver_max,
  );
  hangs = (receiver) => receiver !== QUIET;
  await owe(times(2 * LIMITS.service_messages_receiver_max, "0242:000555"));
  work.poke("messages");
  await eventually("every place is taken", () => hanging.size === LIMITS.service_messages_concurrent);
  await release(6 * several + 3 + 2 * LIMITS.service_messages_receiver_max);
});

test("a provider that is owed more than a look at what is due sees is told a few at a time, and another in between", async () => {
  const busy = "0242:000666";
  await owe([...times(LIMITS.service_messages_looked_max + 50, busy), QUIET]);
  hangs = (receiver) => receiver === busy;
  work = startStatusWork(statusNode(bench.ports));
  await eventually("the other is told", () => to(QUIET) === 1);
  await eventually("the busy one has its share", () => to(busy) === LIMITS.service_messages_receiver_max);
  await db.sql`
    update service_message set next_attempt_at = 'infinity'
    where lease_owner is null and status = 'queued' and kind = 'mls'`;
  await release(LIMITS.service_messages_receiver_max + 1);
});

test("a claim reads what is due once, and not again for each message that it takes, also where statistics are of an hour in which none was", async () => {
  const sql = db.one("claims");
  const slow = "0242:000666" as ParticipantId;
  const backlog = 3_000;
  try {
    await addMessages(sql, 2_000, QUIET);
    await sql`update service_message set status = 'delivered', next_attempt_at = null, delivered_at = now()`;
    // A statement of somebody else that has just begun keeps what is dead from being removed.
    await eventually("nothing that is dead is left", async () => {
      await sql`vacuum analyze service_message`;
      const [left] = await sql`select n_dead_tup from pg_stat_user_tables where relname = 'service_message'`;
      return Number(left?.["n_dead_tup"]) === 0;
    });
    await addMessages(sql, backlog, slow);
    for (let other = 0; other < 28; other += 1) await addMessages(sql, 1, `0242:0007${String(other).padStart(2, "0")}`);
    const read = await rowsReadBy(sql, async () => {
      const taken = await takeServiceMessages(sql, {
        ...{ owner: "claims/1", lease_ms: LIMITS.status_lease_ms, limit: 28 },
        underWay: Array.from({ length: LIMITS.service_messages_receiver_max }, () => slow),
      });
      expect(taken).toHaveLength(28);
    });
    // Each that is due once, and of each that is taken no more than a few entries.
    expect(read).toBeLessThan(backlog + 28 * 20);
  } finally {
    await sql.end({ timeout: 1 });
  }
});
