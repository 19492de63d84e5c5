/**
 * The Box under contention: operations, claims, attempts and deaths at once, on several nodes. Method: the real
 * statements on a real Postgres, with every node played by the test, so that each order can be made to happen.
 */
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, test } from "vitest";

import { pruneBox } from "../../../engine/documents/box/retention.js";
import type { BoxItemId, FirmId } from "../../../engine/base/ids.js";
import { BOX_OPERATIONS, boxMove } from "../../../engine/lifecycle/box.js";
import type { BoxOperation, BoxState } from "../../../engine/lifecycle/box.js";
import { boxFirms, claimBoxItems } from "../../../engine/storage/box/claims.js";
import { boxWorld, worldInvoice } from "../../support/worlds/box-world.js";
import type { AttemptResult, BoxWorld } from "../../support/worlds/box-world.js";
import { seedFrom } from "../../support/random.js";
import { seedFirms } from "../../support/database/seed.js";

let world: BoxWorld;
beforeAll(async () => {
  world = await boxWorld();
});
afterAll(() => world.db.drop());

const HOUR_MS = 3_600_000;
const later = (): number => Date.now() + HOUR_MS;

/** Documents that were made of an item, with their states. */
const documentsOf = async (id: BoxItemId): Promise<readonly string[]> => {
  const rows = await world.db.sql<{ status: string }[]>`
    select d.status from document as d
    where d.id in (
      select document_id from box_item where id = ${id}
      union select document_id from box_event where item_id = ${id} and document_id is not null)`;
  return rows.map(({ status }) => status);
};

/** Items of each state from which something can be asked. */
const MAKERS: Readonly<Partial<Record<BoxState, () => Promise<BoxItemId>>>> = {
  scheduled: async () => (await world.create({ scheduledFor: later() })).id,
  retrying: async () => {
    const { id } = await world.create({ scheduledFor: later() });
    await world.operate("a/1", "send_now", id);
    await world.attempt(id, "failed");
    return id;
  },
  needs_repair: async () => {
    const { id } = await world.create({ scheduledFor: later(), payload: worldInvoice(true) });
    await world.operate("a/1", "send_now", id);
    return id;
  },
  failed: async () => {
    const { id } = await world.create({ scheduledFor: later() });
    await world.operate("a/1", "send_now", id);
    await world.attempt(id, "peer_refused");
    return id;
  },
};
const STATES = Object.keys(MAKERS) as (keyof typeof MAKERS)[];
const made = async (state: BoxState): Promise<BoxItemId> => {
  const id = await MAKERS[state]?.();
  if (id === undefined) throw new Error(`no item is made ${state}`);
  expect((await world.item(id)).status).toBe(state);
  return id;
};

const PAIRS = BOX_OPERATIONS.flatMap((first) => BOX_OPERATIONS.map((second) => [first, second] as const));

describe("two operations at once on two nodes", () => {
  test.each(STATES.flatMap((state) => PAIRS.map(([first, second]) => [state, first, second] as const)))(
    "on an item that is %s: %s and %s come out as if one had come after the other",
    async (state, first, second) => {
      const id = await made(state);
      const before = (await documentsOf(id)).length;
      const [one, two] = await Promise.all([world.operate("a/1", first, id), world.operate("b/1", second, id)]);
      const { status } = await world.item(id);
      const done = [one, two].filter((outcome) => outcome === "done").length;
      const possible = [first, second].some((operation) => boxMove(state, operation) !== undefined);
      expect([state, first, second, done > 0]).toEqual([state, first, second, possible]);
      for (const outcome of [one, two])
        expect(["done", "BOX_ITEM_STATE", "BOX_DISPATCH_UNAVAILABLE"]).toContain(outcome);
      const after = await documentsOf(id);
      // At most one document more for each that was done, and none that could still leave once it was cancelled.
      expect(after.length - before).toBeLessThanOrEqual(done);
      const isCancelled = (first === "cancel" && one === "done") || (second === "cancel" && two === "done");
      expect(status === "cancelled").toBe(isCancelled);
      if (isCancelled)
        expect(after.filter((document) => ["queued", "sent", "delivered"].includes(document))).toEqual([]);
    },
  );

  test("cancel, send-now and the scheduler at once: exactly one of cancelled and sent, and the loser is told 409", async () => {
    for (let round = 0; round < 25; round += 1) {
      const { id } = await world.create();
      const [cancelled, sent, claimed] = await Promise.all([
        world.operate("a/1", "cancel", id),
        world.operate("b/1", "send_now", id),
        world.claim("c/1").then(async (items) => {
          for (const item of items) await world.dispatch("c/1", item);
          return items.filter((item) => item.id === id);
        }),
      ]);
      const { status } = await world.item(id);
      const winners = [cancelled === "done", sent === "done", claimed.length > 0].filter(Boolean);
      expect([round, winners.length]).toEqual([round, 1]);
      expect(status).toBe(cancelled === "done" ? "cancelled" : "sending");
      expect(await documentsOf(id)).toEqual(cancelled === "done" ? [] : ["queued"]);
      for (const loser of [cancelled, sent].filter((outcome) => outcome !== "done"))
        expect(["BOX_ITEM_STATE", "BOX_DISPATCH_UNAVAILABLE"]).toContain(loser);
    }
  });

  test("a cancel races the next attempt of its document: it is either attempted or cancelled, never both", async () => {
    for (let round = 0; round < 25; round += 1) {
      const id = await made("retrying");
      const [cancelled, attempted] = await Promise.all([
        world.operate("a/1", "cancel", id),
        world.attempt(id, "receipt_confirmed"),
      ]);
      const { status } = await world.item(id);
      expect([round, cancelled === "done", attempted]).toEqual([round, !attempted, attempted]);
      expect(status).toBe(attempted ? "sent" : "cancelled");
    }
  });

  test("retry said 200 times at once from two nodes is one transition", async () => {
    const id = await made("needs_repair");
    const outcomes = await Promise.all(
      Array.from({ length: 200 }, (_, n) => world.operate(n % 2 === 0 ? "a/1" : "b/1", "retry", id)),
    );
    expect(outcomes.filter((outcome) => outcome !== "done" && outcome !== "TEMPORARY")).toEqual([]);
    const { timeline } = await world.item(id);
    expect(timeline.filter(({ event }) => event === "box.retry")).toHaveLength(1);
  });

  test("1,000 creations with one externalId and payload at once make exactly one item", async () => {
    const [payload, externalId] = [worldInvoice(), "one of a thousand"];
    const outcomes = await Promise.allSettled(
      Array.from({ length: 1_000 }, () => world.create({ payload, externalId, scheduledFor: later() })),
    );
    const ids = outcomes.flatMap((outcome) => (outcome.status === "fulfilled" ? [outcome.value] : []));
    expect(new Set(ids.map(({ id }) => id)).size).toBe(1);
    expect(ids.filter(({ isNew }) => isNew)).toHaveLength(1);
    const [row] = await world.db.sql<{ n: number }[]>`
      select count(*)::integer as n from box_item where external_id = ${externalId}`;
    expect(row?.n).toBe(1);
  });
});

describe("an item that nobody can open", () => {
  test("an item that is put off again and again says so once, until something else was done with it, and leaves once it can be opened", async () => {
    const { id } = await world.create({ scheduledFor: later() });
    const [kept] = await world.db.sql<{ sealed: Buffer }[]>`select sealed from box_payload where item_id = ${id}`;
    const replace = (sealed: Buffer | undefined) =>
      world.db.sql`update box_payload set sealed = ${sealed ?? null} where item_id = ${id}`;
    const events = async (): Promise<readonly string[]> => (await world.item(id)).timeline.map(({ event }) => event);
    const handOver = async (): Promise<void> => {
      await world.makeDue(id);
      for (const item of await world.claim("a/1")) await world.dispatch("a/1", item);
    };
    await replace(Buffer.alloc(40));
    for (let n = 0; n < 3; n += 1) await handOver();
    expect(await world.item(id)).toMatchObject({ status: "retrying", lastError: { retryable: true } });
    expect(await events()).toEqual(["box.created", "box.postponed"]);
    expect(await world.operate("a/1", "retry", id)).toBe("done");
    await handOver();
    expect(await events()).toEqual(["box.created", "box.postponed", "box.retry", "box.postponed"]);
    await replace(kept?.sealed);
    await handOver();
    expect(await documentsOf(id)).toEqual(["queued"]);
  });
});

describe("a node that dies", () => {
  test("what it had taken is free as soon as it is missed, is sent by another, and once only", async () => {
    const { id } = await world.create();
    const [taken] = (await world.claim("dead/1")).filter((item) => item.id === id);
    if (taken === undefined) throw new Error("the item was not taken");
    expect(await world.claim("alive/1")).toEqual([]);
    await world.db.sql`update box_item set locked_at = locked_at - interval '1 minute' where id = ${id}`;
    const heirs = (await world.claim("heir/1")).filter((item) => item.id === id);
    expect(heirs.map(({ documentId }) => documentId)).toEqual([taken.documentId]);
    await Promise.all([...heirs.map((item) => world.dispatch("heir/1", item)), world.dispatch("dead/1", taken)]);
    expect(await documentsOf(id)).toEqual(["queued"]);
    expect((await world.item(id)).status).toBe("sending");
  });

  test("one that wakes up after its item was cancelled makes no document of it", async () => {
    const { id } = await world.create();
    const [taken] = (await world.claim("sleeper/1")).filter((item) => item.id === id);
    if (taken === undefined) throw new Error("the item was not taken");
    // As if another node had met a refusal meanwhile, and the client had cancelled then.
    await world.db
      .sql`update box_item set status = 'failed', due_at = null, lease_owner = null, locked_at = null, version = version + 1 where id = ${id}`;
    expect(await world.operate("a/1", "cancel", id)).toBe("done");
    await world.dispatch("sleeper/1", taken);
    expect(await documentsOf(id)).toEqual([]);
    expect((await world.item(id)).status).toBe("cancelled");
  });
});

test("claims take one item of each firm in turn: who has a thousand due does not hide who has one", async () => {
  const { sql } = world.db;
  const firms = (await seedFirms(sql, ["0245:3000000001", "0245:3000000002", "0245:3000000003"])) as FirmId[];
  const { id } = await world.create({ scheduledFor: later() });
  const counts = [200, 1, 3];
  for (const [n, firm] of firms.entries())
    await sql`
      with made as (
        insert into box_item (id, firm_id, key_id, status, version, sender, receiver, document_type_id, process_id,
          payload_sha256, payload_bytes, due_at, document_id, status_since, created_at, updated_at)
        select g, ${firm}, i.key_id, 'ready', 1, i.sender, i.receiver, i.document_type_id, i.process_id,
          i.payload_sha256, i.payload_bytes, now() - interval '1 hour', g, now(), now(), now()
        from box_item as i cross join (
          select gen_random_uuid() as g from generate_series(1, ${counts[n] ?? 0})) as ids
        where i.id = ${id} returning id)
      insert into box_payload (item_id, key_id, sealed) select id, 'k', '' from made`;
  const due = (await boxFirms(sql, undefined, 100)).filter(({ isDue }) => isDue).map(({ firmId }) => firmId);
  expect([...due].sort()).toEqual([...firms].sort());
  const taken = await claimBoxItems(sql, { firms: due, owner: "fair/1", max: 9, bytes_max: 1e9, one: true });
  const share = firms.map((firm) => taken.filter(({ firmId }) => firmId === firm).length);
  expect(share).toEqual([3, 1, 3]);
  const few = await claimBoxItems(sql, { firms: due, owner: "fair/1", max: 9, bytes_max: 1, one: true });
  expect(few).toHaveLength(1);
  await sql`delete from box_item where firm_id = any(${firms}::uuid[])`;
});

describe("retention", () => {
  const age = (id: BoxItemId, days: number) =>
    world.db.sql`
      update box_item set status_since = status_since - ${days} * interval '1 day' where id = ${id}`;
  const payloads = async (id: BoxItemId): Promise<number> =>
    (await world.db.sql`select 1 from box_payload where item_id = ${id}`).length;

  test.each(["needs_repair", "failed"] as const)(
    "an item that is %s expires after 90 days, its payload goes, and it is gone 30 days later",
    async (state) => {
      const id = await made(state);
      const { retention } = await world.item(id);
      expect(Date.parse(retention.expiresAt ?? "") - Date.now()).toBeGreaterThan(89 * 24 * HOUR_MS);
      await age(id, 89);
      await pruneBox(world.db.sql);
      expect(await world.item(id)).toMatchObject({ status: state, storage: { payloadStored: true } });
      await age(id, 2);
      await pruneBox(world.db.sql);
      expect(await world.item(id)).toMatchObject({ status: "expired", storage: { payloadStored: false } });
      expect((await world.item(id)).timeline.at(-1)).toMatchObject({ event: "box.expired", actor: { type: "system" } });
      expect([await payloads(id), await world.operate("a/1", "retry", id)]).toEqual([0, "BOX_DISPATCH_UNAVAILABLE"]);
      await age(id, 31);
      await pruneBox(world.db.sql);
      await expect(world.item(id)).rejects.toMatchObject({ reason: "NOT_FOUND" });
    },
  );

  test("what was sent stays for ten years; the Box's own copy of it goes after 90 days, its document's stays", async () => {
    const id = await made("retrying");
    await world.attempt(id, "receipt_confirmed");
    await age(id, 91);
    await pruneBox(world.db.sql);
    expect(await world.item(id)).toMatchObject({ status: "sent", retention: { reason: "sent_archive" } });
    expect(await payloads(id)).toBe(0);
    expect(await world.db.sql`select 1 from payload where document_id = ${id}`).toHaveLength(1);
    await age(id, 3_650);
    await pruneBox(world.db.sql);
    expect((await world.item(id)).status).toBe("expired");
  });

  test("an externalId whose item is gone names another, of which one document is made, however many nodes hand it over and how often", async () => {
    const wish = { externalId: "free again" };
    const first = await world.create({ ...wish, scheduledFor: later() });
    await world.operate("a/1", "send_now", first.id);
    await world.attempt(first.id, "peer_refused");
    for (const days of [91, 31]) {
      await age(first.id, days);
      await pruneBox(world.db.sql);
    }
    await expect(world.item(first.id)).rejects.toMatchObject({ reason: "NOT_FOUND" });
    const { id, isNew } = await world.create(wish);
    expect([isNew, id === first.id]).toEqual([true, false]);
    const [taken] = (await world.claim("gone/1")).filter((item) => item.id === id);
    if (taken === undefined) throw new Error("the item was not taken");
    await world.db.sql`update box_item set locked_at = locked_at - interval '1 minute' where id = ${id}`;
    const [heir] = (await world.claim("next/1")).filter((item) => item.id === id);
    if (heir === undefined) throw new Error("the item was not taken over");
    await Promise.all([world.dispatch("next/1", heir), world.dispatch("gone/1", taken)]);
    await world.dispatch("next/1", heir);
    expect(await world.item(id)).toMatchObject({ status: "sending", documentId: id, lastError: null });
    expect(await documentsOf(id)).toEqual(["queued"]);
    await world.attempt(id, "receipt_confirmed");
    expect(await world.item(id)).toMatchObject({ status: "sent", externalId: wish.externalId });
    await expect(world.create(wish)).rejects.toMatchObject({ reason: "BOX_EXTERNAL_ID_CONFLICT" });
  });

  test("what waits has no end, however long it waits", async () => {
    const id = await made("scheduled");
    await age(id, 10_000);
    await pruneBox(world.db.sql);
    expect(await world.item(id)).toMatchObject({ status: "scheduled", retention: { expiresAt: null } });
    await world.operate("a/1", "cancel", id);
  });
});

/** What can happen to an item, from outside and from inside. */
const ACTIONS = [
  ...BOX_OPERATIONS,
  "tick",
  "die",
  "failed",
  "receipt_confirmed",
  "peer_refused",
  "attempts_exhausted",
] as const;
type Action = (typeof ACTIONS)[number];

/** A small model of one item: its state, and whether its document is still under way. */
interface Model {
  readonly state: BoxState;
  readonly hasOpenDocument: boolean;
}

const RESULTS: Readonly<Partial<Record<Action, BoxState>>> = {
  failed: "retrying",
  receipt_confirmed: "sent",
  peer_refused: "failed",
  attempts_exhausted: "failed",
};

function next({ state, hasOpenDocument }: Model, action: Action, isBroken: boolean): Model {
  const handedOver: Model = isBroken
    ? { state: "needs_repair", hasOpenDocument: false }
    : { state: "sending", hasOpenDocument: true };
  const attempted = RESULTS[action];
  if (attempted !== undefined)
    return hasOpenDocument
      ? { state: attempted, hasOpenDocument: attempted === "retrying" }
      : { state, hasOpenDocument };
  const waits = !hasOpenDocument && ["ready", "scheduled", "retrying", "sending"].includes(state);
  if (action === "tick") return waits ? handedOver : { state, hasOpenDocument };
  if (action === "die") return { state: waits ? "sending" : state, hasOpenDocument };
  const to = boxMove(state, action as BoxOperation)?.to;
  if (to === undefined) return { state, hasOpenDocument };
  if (to === "sending") return handedOver;
  return { state: to, hasOpenDocument: hasOpenDocument && to === "retrying" };
}

let nodes = 0;

async function perform(id: BoxItemId, action: Action): Promise<void> {
  if (action === "tick" || action === "die") {
    await world.makeDue(id);
    await world.db
      .sql`update box_item set locked_at = locked_at - interval '1 minute' where id = ${id} and locked_at is not null`;
    // Each a node of its own, which looks at once for what the dead have left.
    const node = `tick/${(nodes += 1)}`;
    for (const item of await world.claim(node)) if (action === "tick") await world.dispatch(node, item);
    return;
  }
  if (RESULTS[action] !== undefined) {
    await world.attempt(id, action as AttemptResult);
    return;
  }
  await world.operate("a/1", action as BoxOperation, id);
}

test("whatever happens to an item in whatever order, it is in the state that the model says, and its documents fit", async () => {
  const seed = seedFrom(20_261_122);
  await fc.assert(
    fc.asyncProperty(
      fc.boolean(),
      fc.array(fc.constantFrom(...ACTIONS), { maxLength: 12 }),
      async (isBroken, actions) => {
        const { id } = await world.create({ scheduledFor: later(), payload: worldInvoice(isBroken) });
        let model: Model = { state: "scheduled", hasOpenDocument: false };
        for (const [n, action] of actions.entries()) {
          await perform(id, action);
          model = next(model, action, isBroken);
          const { status } = await world.item(id);
          expect([n, action, status]).toEqual([n, action, model.state]);
          const documents = await documentsOf(id);
          const open = documents.filter((document) => document === "queued");
          expect([n, action, open.length]).toEqual([n, action, model.hasOpenDocument ? 1 : 0]);
          expect(documents.filter((document) => document === "delivered").length).toBe(model.state === "sent" ? 1 : 0);
        }
        await world.db
          .sql`update box_item set status = 'expired', due_at = null, lease_owner = null, locked_at = null where id = ${id}`;
      },
    ),
    { seed, numRuns: 60, endOnFailure: true },
  );
});
