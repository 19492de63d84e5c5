// Goal: while the key of a firm cannot be read, what it seals waits and uses nothing up, and nothing of another firm waits;
// all of it is told, in its order, once the key is back. What others have sealed under a master key that a process lacks
// is left to them.
// Method: real statements on a real Postgres, keys of firms in a directory that a test takes away and brings back.
import { mkdirSync, mkdtempSync, renameSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";

import { systemClock } from "../../../engine/base/clock.js";
import type { FirmId, IntegratorId } from "../../../engine/base/ids.js";
import { LIMITS } from "../../../engine/base/limits.js";
import { silentLog } from "../../../engine/base/log.js";
import type { Log } from "../../../engine/base/log.js";
import { attemptDelivery } from "../../../engine/events/webhooks/attempt.js";
import { pullEvents, pullEventsOfAll } from "../../../engine/events/webhooks/pulls.js";
import { bindFirm, createIntegrator } from "../../../engine/identity/firms.js";
import { acceptDocuments } from "../../../engine/storage/documents/documents.js";
import { claimDeliveries } from "../../../engine/storage/events/dispatch.js";
import { fanOutFeed, takenChains } from "../../../engine/storage/events/fan-out.js";
import { sealFacts, useFactsSealer } from "../../../engine/storage/keyring/facts.js";
import { joinFirmKeys } from "../../../engine/storage/keyring/firm-keys.js";
import { openKeyring } from "../../../engine/storage/keyring/keyring.js";
import { createSealer } from "../../../engine/storage/sealer.js";
import type { Sealer } from "../../../engine/storage/sealer.js";
import { newDocumentRow, seedFirm } from "../../support/database/seed.js";
import { eventually } from "../../support/eventually.js";
import { startReceiver } from "../../support/webhooks/receiver.js";
import type { Receiver } from "../../support/webhooks/receiver.js";
import { webhookWorld } from "../../support/webhooks/webhook-world.js";
import type { WebhookWorld } from "../../support/webhooks/webhook-world.js";

const OWNER = "node/1";
const [LOCKED, OPEN] = ["0245:1111111111", "0245:2222222222"] as const;

let world: WebhookWorld;
let receiver: Receiver;
let folder: string;
/** The firm whose key goes away, and one whose key is read. */
let locked: FirmId;
let open: FirmId;
let writer: Sealer;
beforeEach(async () => {
  [world, receiver] = await Promise.all([webhookWorld(), startReceiver()]);
  folder = join(mkdtempSync(join(tmpdir(), "kurier-unopened-")), "keys");
  [locked, open] = [await seedFirm(world.db.sql, LOCKED), await seedFirm(world.db.sql, OPEN)];
  writer = await ring();
});
afterEach(async () => {
  await world.end();
  await receiver.close();
  rmSync(join(folder, ".."), { recursive: true, force: true });
});

const hook = (path: string): string => `${receiver.origin}${path}`;
const arrived = (path: string): string[] => receiver.at(path).map(({ headers }) => headers["x-webhook-event-id"] ?? "");

/** The keys as a process has them that has just begun, and holds none. */
async function ring(): Promise<Sealer> {
  const { sql } = world.db;
  const keyring = await openKeyring(sql, [Buffer.alloc(32, 7)], systemClock);
  return (await joinFirmKeys(sql, keyring, { text: `file:${folder}`, use: "seal", clock: systemClock })).sealer;
}

/** A document that was sent, its facts under the key of its firm. @returns its id */
async function documentOf(firmId: FirmId): Promise<string> {
  const sender = firmId === locked ? LOCKED : OPEN;
  const row = newDocumentRow(firmId, sender);
  const facts = sealFacts(await writer.forFirm(firmId), { id: row.id, sender }, { documentNumber: `F ${sender}` });
  await acceptDocuments(world.db.sql, [{ ...row, facts }]);
  return row.id;
}
const happenTo = async (firmId: FirmId): Promise<string> =>
  world.happen(firmId, "document.delivered", await documentOf(firmId));

/** How a key is out of reach, and comes back; the process that reads has just begun. */
type Outage = () => Promise<() => void>;
const OUTAGES: readonly (readonly [what: string, outage: Outage])[] = [
  [
    "the directory is away",
    async () => {
      const reader = await ring();
      // The key of the other firm is held since it was read last.
      await (await reader.forFirm(open)).sealInSlices(Buffer.from("x"), "x");
      useFactsSealer(world.db.sql, reader, loudly);
      renameSync(folder, `${folder}.away`);
      return () => {
        renameSync(`${folder}.away`, folder);
      };
    },
  ],
  [
    "its file is unreadable",
    async () => {
      useFactsSealer(world.db.sql, await ring(), loudly);
      const file = join(folder, `${locked}.key`);
      renameSync(file, `${file}.kept`);
      mkdirSync(file);
      return () => {
        rmSync(file, { recursive: true });
        renameSync(`${file}.kept`, file);
      };
    },
  ],
];
const loudly = (_: string, error: unknown): never => {
  throw error;
};

/** What a delivery has used up, and how long it waits. */
const usedBy = (firmId: FirmId) => world.db.sql<{ begun: number; attempts: number; leased: boolean; soon: boolean }[]>`
  select begun, attempts, lease_owner is not null as leased,
    due_at between now() and now() + ${LIMITS.webhook_unopened_ms}::integer * interval '1 millisecond' as soon
  from webhook_delivery where firm_id = ${firmId} and due_at <> 'infinity' order by position`;
const UNUSED = { begun: 0, attempts: 0, leased: false, soon: true };

/** An integrator that both firms let read their events. */
async function partner(): Promise<IntegratorId> {
  const ports = { sql: world.db.sql, clock: systemClock };
  const integratorId = await createIntegrator(ports, { name: "Partner", productionAuthorized: true });
  for (const firmId of [locked, open])
    await bindFirm(ports, { integratorId, firmId, scopes: ["webhooks:read"], interfaces: ["enterprise"] });
  return integratorId;
}

describe.each(OUTAGES)("while %s", (_, outage) => {
  test("a claim sends what opens, and gives back the rest for some seconds, however often that happens", async () => {
    const { sql } = world.db;
    for (const firmId of [locked, open]) await world.subscribe(firmId, hook(`/${firmId}`));
    const [kept, told] = [await happenTo(locked), await happenTo(open)];
    await world.queue();
    const back = await outage();
    const given: number[] = [];
    const claim = () => claimDeliveries(sql, OWNER, 64, (rows) => given.push(rows.length));
    expect(await claim()).toMatchObject([{ eventId: told, number: `F ${OPEN}`, attempt: 1, cutOff: false }]);
    expect(await usedBy(locked)).toEqual([UNUSED]);
    for (let round = 0; round <= LIMITS.webhook_begun_max; round += 1) {
      await world.passTime();
      expect(await claim()).toEqual([]);
    }
    expect(given).toEqual(Array.from({ length: LIMITS.webhook_begun_max + 2 }, () => 1));
    back();
    await world.passTime();
    expect(await claim()).toMatchObject([{ eventId: kept, number: `F ${LOCKED}`, attempt: 1, cutOff: false }]);
  });

  test("what is handed over with its making is given back where it does not open, and what waits behind it waits on", async () => {
    const { sql } = world.db;
    for (const firmId of [locked, open]) await world.subscribe(firmId, hook(`/${firmId}`));
    const kept = await world.happenTogether(locked, ["document.sent", "document.delivered"], await documentOf(locked));
    const told = await happenTo(open);
    const back = await outage();
    const eventsOf = (chains: Awaited<ReturnType<typeof takenChains>>): string[][] =>
      chains.map((chain) => chain.map(({ eventId }) => eventId));
    const taken: string[] = [];
    await eventually("all is handed over", async () => {
      taken.push(...(await fanOutFeed(sql, { owner: OWNER, places: 64 })).taken);
      return taken.length === kept.length + 1;
    });
    expect(eventsOf(await takenChains(sql, OWNER, taken))).toEqual([[told]]);
    expect(await usedBy(locked)).toEqual([UNUSED]);
    back();
    await world.passTime();
    expect(await claimDeliveries(sql, OWNER, 64)).toMatchObject([{ eventId: kept[0], attempt: 1 }]);
  });

  test("a node tells the others of their events, says in one line that some wait, and tells those once the key is back", async () => {
    const integratorId = await partner();
    const own = await world.subscribe(locked, hook("/in"), { integratorId });
    await world.subscribe(open, hook("/in"), { integratorId });
    // More than the endpoint has places for, and all of it due before the other's.
    const kept: string[] = [];
    for (let n = 0; n < 2 * LIMITS.webhook_per_endpoint; n += 1) kept.push(await happenTo(locked));
    await world.queue();
    const told = await happenTo(open);
    await world.queue();
    const back = await outage();
    const lines: unknown[] = [];
    const log: Log = { ...silentLog, warn: (event, fields) => lines.push([event, fields]) };
    world.deliver({ log });
    await eventually("the other's is told", () => arrived("/in").length > 0);
    expect(arrived("/in")).toEqual([told]);
    await eventually("it is said that some wait", () => lines.length > 0);
    expect(lines[0]).toEqual(["webhook.unopened", { count: expect.any(Number) as number }]);
    expect(await world.states(own.id)).toMatchObject(kept.map(() => ({ status: "PENDING", attempts: 0 })));
    back();
    await eventually("all are told", async () => {
      await world.passTime();
      return (await world.states(own.id)).every(({ status }) => status === "SUCCESS");
    });
    expect([...new Set(arrived("/in"))].sort()).toEqual([told, ...kept].sort());
  });

  test("a pull over all firms shows what opens, also behind a page of what does not, and the rest once the key is back", async () => {
    const { sql } = world.db;
    const integratorId = await partner();
    for (const firmId of [locked, open]) await world.subscribe(firmId, null, { integratorId });
    const kept: string[] = [];
    for (let n = 0; n < 3; n += 1) kept.push(await happenTo(locked));
    const told = [await happenTo(open), await happenTo(open)];
    await world.queue();
    const back = await outage();
    const asked = { integratorId, bindingGeneration: 0 };
    const pull = async (limit: number) => {
      const { events, has_more } = await pullEventsOfAll(sql, asked, { limit, since: undefined });
      return [events.map(({ event_id }) => event_id), has_more];
    };
    expect(await pull(10)).toEqual([told, false]);
    expect(await pull(2)).toEqual([told, false]);
    expect(await pull(1)).toEqual([told.slice(0, 1), true]);
    back();
    expect(await pull(10)).toEqual([[...kept, ...told], false]);
  });

  test("a pull leaves out what stands behind an event of its document that does not open, and nothing else", async () => {
    const { sql } = world.db;
    await world.subscribe(locked, null);
    const documentId = await documentOf(locked);
    const first = await world.happen(locked, "document.sent", documentId);
    // An event of that document whose words lie in clear, as those of a document that is gone do.
    const clear = await world.happen(locked, "document.sent");
    const second = await world.happen(locked, "document.delivered", documentId);
    await world.queue();
    await sql`update webhook_delivery set test_data = '{}' where event_id = ${second}`;
    const back = await outage();
    const pull = async () => {
      const owner = { firmId: locked, integratorId: undefined };
      const { events, has_more } = await pullEvents(sql, owner, { limit: 10, kind: undefined });
      return [events.map(({ event_id }) => event_id), has_more];
    };
    expect(await pull()).toEqual([[clear], false]);
    back();
    expect(await pull()).toEqual([[first, clear, second], false]);
  });

  test("a pull of one firm of whose events none opens is refused for the moment, and not answered as if there were none", async () => {
    const { sql } = world.db;
    const owner = { firmId: locked, integratorId: undefined };
    const pull = async (kind?: "document.rejected"): Promise<readonly string[]> =>
      (await pullEvents(sql, owner, { limit: 10, kind })).events.map(({ event_id }) => event_id);
    await world.subscribe(locked, null);
    const kept = await happenTo(locked);
    await world.queue();
    const back = await outage();
    await expect(pull()).rejects.toMatchObject({ reason: "TEMPORARY" });
    expect(await pull("document.rejected")).toEqual([]);
    back();
    expect(await pull()).toEqual([kept]);
  });
});

describe("of what lies under a master key that this process was not given", () => {
  const lacking = createSealer([Buffer.alloc(32, 9)]);

  test("a secret that others have sealed leaves its deliveries to them, however often they are claimed here", async () => {
    const { sql } = world.db;
    const own = await world.subscribe(open, hook("/in"));
    const told = await world.happen(open);
    await world.queue();
    useFactsSealer(sql, lacking, () => undefined);
    const given: number[] = [];
    const ports = world.ports({ sealer: lacking, onGivenBack: (rows) => given.push(rows.length) });
    for (let round = 0; round <= LIMITS.webhook_begun_max; round += 1) {
      await world.passTime();
      for (const claimed of await claimDeliveries(sql, OWNER, 64)) await attemptDelivery(ports, claimed);
    }
    expect(given).toEqual(Array.from({ length: LIMITS.webhook_begun_max + 1 }, () => 1));
    expect(await usedBy(open)).toEqual([UNUSED]);
    await world.passTime();
    world.deliver();
    await eventually("it is told by who has the key", async () =>
      (await world.states(own.id)).every(({ status }) => status === "SUCCESS"),
    );
    expect(arrived("/in")).toEqual([told]);
  });

  test("what a receiver has taken is written, also where a delivery behind it is signed by a secret that others have sealed", async () => {
    const { sql } = world.db;
    const own = await world.subscribe(open, hook("/in"));
    await world.happen(open);
    await world.happen(open);
    await world.queue();
    const [first, second] = await claimDeliveries(sql, OWNER, 64);
    if (first === undefined || second === undefined) throw new Error("there are not two");
    await attemptDelivery(world.ports(), first, { ...second, secretKeyId: lacking.keyId });
    const ended = (await world.states(own.id)).map(({ status }) => status === "SUCCESS").sort();
    expect(ended).toEqual([false, true]);
    expect(arrived("/in")).toEqual([first.eventId]);
  });

  test("a delivery whose secret lies under a key of nobody is not given back for ever, and counts as one that was cut off", async () => {
    const { sql } = world.db;
    await world.subscribe(open, hook("/in"));
    await world.happen(open);
    await world.queue();
    await sql`update webhook_subscription set secret_key_id = ${createSealer([Buffer.alloc(32, 8)]).keyId}`;
    useFactsSealer(sql, lacking, () => undefined);
    const ports = world.ports({ sealer: lacking });
    await eventually("the key is known to be nobody's", async () => {
      await world.passTime();
      for (const claimed of await claimDeliveries(sql, OWNER, 64)) await attemptDelivery(ports, claimed);
      const [kept] = await sql<{ owner: string | null; begun: number }[]>`
        select lease_owner as owner, begun from webhook_delivery`;
      return kept?.owner === OWNER && kept.begun === 1;
    });
    expect(arrived("/in")).toEqual([]);
  });

  test("a delivery whose secret lies under a key of nobody ends after ten attempts that were cut off, and its receiver has failed once", async () => {
    const { sql } = world.db;
    const own = await world.subscribe(open, hook("/in"));
    await world.happen(open);
    await world.queue();
    await sql`update webhook_subscription set secret_key_id = ${createSealer([Buffer.alloc(32, 8)]).keyId}`;
    useFactsSealer(sql, lacking, () => undefined);
    const unwritten: string[] = [];
    const log: Log = { ...silentLog, warn: (event) => unwritten.push(event) };
    const ports = world.ports({ sealer: lacking, log });
    await eventually("it has ended", async () => {
      // As when the lease of an attempt that was not written is over.
      await sql`update webhook_delivery set lease_owner = null, due_at = now() where lease_owner = ${OWNER}`;
      await world.passTime();
      for (const claimed of await claimDeliveries(sql, OWNER, 64)) await attemptDelivery(ports, claimed);
      return (await world.states(own.id)).every(({ status }) => status === "FAILED");
    });
    expect(unwritten).toEqual(Array.from({ length: LIMITS.webhook_begun_max }, () => "webhook.attempt_unwritten"));
    expect(await world.states(own.id)).toMatchObject([
      { cause: "attempts_cut_off", attempts: 1, responseStatus: null },
    ]);
    expect(
      await sql`
        select s.active, s.failed_attempts as failed, s.failing_since is not null as failing, w.failures
        from webhook_subscription as s join webhook_endpoint as w on w.id = s.endpoint_id`,
    ).toEqual([{ active: true, failed: 1, failing: true, failures: 1 }]);
    expect(arrived("/in")).toEqual([]);
  });

  test("a number that others have sealed is told by them, and one that lies under a key of nobody here is left out", async () => {
    const { sql } = world.db;
    const documentUnder = async (key: number): Promise<string> => {
      const row = newDocumentRow(open, OPEN);
      const facts = sealFacts(
        createSealer([Buffer.alloc(32, key)]),
        { id: row.id, sender: OPEN },
        { documentNumber: "N" },
      );
      await acceptDocuments(sql, [{ ...row, facts }]);
      return row.id;
    };
    await world.subscribe(open, hook("/in"));
    const theirs = await world.happen(open, "document.delivered", await documentUnder(7));
    const nobodys = await world.happen(open, "document.delivered", await documentUnder(8));
    await world.queue();
    useFactsSealer(sql, lacking, () => undefined);
    const claim = async () => {
      await world.passTime();
      return claimDeliveries(sql, OWNER, 64);
    };
    // Of a key that it has not met a process asks once, and waits for the answer.
    await eventually("the other is known to be nobody's", async () => {
      const claimed = await claim();
      expect(claimed.filter(({ eventId }) => eventId === theirs)).toEqual([]);
      return claimed.length === 1 && claimed[0]?.eventId === nobodys && claimed[0].number === null;
    });
    useFactsSealer(sql, createSealer([Buffer.alloc(32, 7)]), () => undefined);
    expect(await claim()).toMatchObject([{ eventId: theirs, number: "N", attempt: 1 }]);
  });
});
