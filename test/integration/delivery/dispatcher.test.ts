/** Goal: streams and their messages may all be lost; what is due in Postgres is done. Method: a dispatcher that nobody tells of anything. */
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";

import { startDispatcher } from "../../../actors/delivery/dispatcher.js";
import { systemClock } from "../../../engine/base/clock.js";
import type { DocumentId, FirmId } from "../../../engine/base/ids.js";
import { LIMITS } from "../../../engine/base/limits.js";
import type { Transport } from "../../../engine/peppol/transport.js";
import type { NewDocument } from "../../../engine/storage/documents/documents.js";
import { eventually } from "../../support/eventually.js";
import { shortenLimits } from "../../support/engines/limits.js";
import { fakeClock } from "../../support/fake-clock.js";
import { freshDatabase } from "../../support/database/postgres.js";
import type { TestDatabase } from "../../support/database/postgres.js";
import { newDocumentRow, sealedPayload, seedFirm } from "../../support/database/seed.js";
import { statusBench } from "../../support/as4/statuses.js";
import type { StatusBench } from "../../support/as4/statuses.js";

const SENDER = "0245:1111111111";
const clock = fakeClock();
const transmitted: string[] = [];
/** What the transmission of a document waits for. */
const holding = new Map<string, Promise<void>>();
let db: TestDatabase;
let bench: StatusBench;
let firmId: FirmId;

beforeAll(async () => {
  db = await freshDatabase();
  firmId = await seedFirm(db.sql, SENDER);
  bench = statusBench(db, clock, {
    transport: {
      deliver: async (exchange) => {
        transmitted.push(exchange.documentId);
        await holding.get(exchange.documentId);
        return { kind: "receipt" };
      },
    },
  });
});
afterAll(() => db.drop());

async function accept(changes: Partial<NewDocument> = {}): Promise<DocumentId> {
  const { id } = newDocumentRow(firmId, SENDER);
  await bench.document(firmId, SENDER, { id, ...sealedPayload(bench.ports.sealer, id), ...changes });
  return id;
}

test("a document that no stream and no door has told of is delivered, one left by a dead process and one that comes later", async () => {
  const left = await accept();
  const { actors, document } = bench.node;
  const dispatcher = await startDispatcher({
    sql: db.sql,
    beatSql: db.sql,
    actors,
    document,
    log: bench.ports.log,
    owner: "node/1",
    clock: systemClock,
    capacityOf: (key) => ({ key, places: LIMITS.attempts_per_receiver_max, typical_ms: undefined }),
  });
  try {
    await eventually("what was left is delivered", () => transmitted.includes(left));
    const later = await accept();
    await eventually("what came later is delivered", () => transmitted.includes(later));
    expect(transmitted).toEqual([left, later]);
  } finally {
    await dispatcher.stop();
    await actors.stop();
  }
});

test("an attempt that outlives its lease gives its place at the receiver back when it ends, also when the document was claimed again", async () => {
  const { actors, document } = statusBench(db, clock, { transport: bench.ports.transport, owner: "node/2" }).node;
  const dispatcher = await startDispatcher({
    sql: db.sql,
    beatSql: db.sql,
    actors,
    document,
    log: bench.ports.log,
    owner: "node/2",
    clock: systemClock,
    capacityOf: (key) => ({ key, places: 2, typical_ms: undefined }),
  });
  try {
    for (let round = 0; round < 2; round += 1) {
      const { id } = newDocumentRow(firmId, SENDER);
      let end = (): void => undefined;
      const over = new Promise<void>((resolve) => {
        end = resolve;
      });
      holding.set(id, over);
      await bench.document(firmId, SENDER, { id, ...sealedPayload(bench.ports.sealer, id) });
      await eventually("it is under way", () => transmitted.includes(id));
      await db.sql`update document set lease_until = clock_timestamp() - interval '1 second' where id = ${id}`;
      await eventually("it is claimed again", async () => {
        const rows = await db.sql`select id from document where id = ${id} and lease_until > clock_timestamp()`;
        return rows.length === 1;
      });
      end();
      await eventually("it is delivered", async () => {
        const rows = await db.sql`select id from document where id = ${id} and status = 'delivered'`;
        return rows.length === 1;
      });
    }
    const next = await accept();
    await eventually("the receiver's next document goes", () => transmitted.includes(next));
  } finally {
    await dispatcher.stop();
    await actors.stop();
  }
});

const attemptsOf = async (id: DocumentId): Promise<number | undefined> =>
  (await db.sql<{ attempts: number }[]>`select attempts from document where id = ${id}`)[0]?.attempts;

test.each([
  ["and its receipt is the delivery", { kind: "receipt" }, 1],
  ["and is attempted anew when that has ended without a receipt", { kind: "transport_failed" }, 2],
] as const)(
  "a document that is claimed again while an attempt of this node is under way is not sent a second time beside it, %s",
  async (_, first, sent) => {
    onTestFinished(shortenLimits({ lease_young_ms: 100, lease_look_soon_ms: 20 }));
    const { id } = newDocumentRow(firmId, SENDER);
    let end = (): void => undefined;
    const over = new Promise<void>((resolve) => {
      end = resolve;
    });
    let [onWire, abreast, made] = [0, 0, 0];
    const deliver: Transport["deliver"] = async () => {
      const number = (made += 1);
      onWire += 1;
      abreast = Math.max(abreast, onWire);
      if (number === 1) await over;
      onWire -= 1;
      return number === 1 ? first : { kind: "receipt" };
    };
    const { actors, document } = statusBench(db, clock, { transport: { deliver }, owner: "node/5" }).node;
    const dispatcher = await startDispatcher({
      sql: db.sql,
      beatSql: db.sql,
      actors,
      document,
      log: bench.ports.log,
      owner: "node/5",
      clock: systemClock,
      capacityOf: (key) => ({ key, places: 2, typical_ms: undefined }),
    });
    try {
      await bench.document(firmId, SENDER, { id, ...sealedPayload(bench.ports.sealer, id) });
      await eventually("it is under way", () => made === 1);
      await db.sql`update document set lease_until = clock_timestamp() - interval '1 second' where id = ${id}`;
      await eventually("it is claimed again", async () => (await attemptsOf(id)) === 2);
      end();
      await eventually("it is delivered", async () => {
        const rows = await db.sql`select id from document where id = ${id} and status = 'delivered'`;
        return rows.length === 1;
      });
    } finally {
      await dispatcher.stop();
      await actors.stop();
    }
    expect({ made, abreast }).toEqual({ made: sent, abreast: 1 });
  },
);

/** A node that looks for its leases again and again, and whose attempts last until they are let go. */
async function startHolding(
  owner: string,
  places: number,
): Promise<{
  readonly made: readonly string[];
  /** A look for its leases has begun and ended since. */
  readonly looked: () => Promise<unknown>;
  readonly letGo: () => void;
  readonly drain: () => Promise<void>;
  readonly stop: () => Promise<void>;
}> {
  let letGo = (): void => undefined;
  const over = new Promise<void>((resolve) => {
    letGo = resolve;
  });
  const made: string[] = [];
  const { actors, document } = statusBench(db, clock, {
    owner,
    transport: {
      deliver: async ({ documentId }) => {
        made.push(documentId);
        await over;
        return { kind: "receipt" };
      },
    },
  }).node;
  let looks = 0;
  const counting = Object.assign((...args: Parameters<typeof db.sql>) => {
    if (String(args[0]).includes("select id, version")) looks += 1;
    return db.sql(...args);
  }, db.sql) as typeof db.sql;
  const dispatcher = await startDispatcher({
    sql: counting,
    beatSql: db.sql,
    actors,
    document,
    log: bench.ports.log,
    owner,
    clock: systemClock,
    capacityOf: (key) => ({ key, places, typical_ms: undefined }),
  });
  return {
    made,
    letGo,
    looked: async () => {
      const before = looks;
      await eventually(`${owner} has looked for its leases`, () => looks >= before + 3);
    },
    drain: () => dispatcher.drain(),
    stop: async () => {
      letGo();
      await dispatcher.stop();
      await actors.stop();
    },
  };
}

/** A part of a lease passes, in the database. */
const passOfLease = (id: DocumentId): Promise<unknown> => db.sql`
  update document set lease_until = lease_until - ${0.6 * LIMITS.attempt_lease_ms} * interval '1 millisecond'
  where id = ${id} and lease_until > '-infinity'`;

test.each([
  ["works on", "goes on"],
  ["works on while it stops", "stops"],
] as const)(
  "another node sends no document that a living one %s, however long that outlives its lease",
  async (_, life) => {
    onTestFinished(shortenLimits({ lease_look_ms: 5, drain_timeout_ms: 1 }));
    const owner = await startHolding(`owner/${life}`, 1);
    let other: Awaited<ReturnType<typeof startHolding>> | undefined;
    try {
      const id = await accept({ acceptedAt: systemClock.now() });
      await eventually("it is under way", () => owner.made.includes(id));
      other = await startHolding(`other/${life}`, 2);
      if (life === "stops") await owner.drain();
      for (let part = 0; part < 4; part += 1) {
        await passOfLease(id);
        await owner.looked();
        await other.looked();
      }
      // Whoever takes what the firm sends next has taken what was due before it: the owner has no place for either.
      const next = await accept({ acceptedAt: systemClock.now() });
      await eventually("the next document is under way", () => other?.made.includes(next) === true);
      expect(other.made.filter((one) => one === id)).toEqual([]);
      owner.letGo();
      await eventually("it is delivered", async () => {
        const rows = await db.sql`select id from document where id = ${id} and status = 'delivered'`;
        return rows.length === 1;
      });
      expect(await attemptsOf(id)).toBe(1);
    } finally {
      await other?.stop();
      await owner.stop();
    }
  },
);

test.each([
  ["that has begun goes on and operators are told nothing, for its peer is slow", "slow peer", []],
  ["that has not begun is given up and operators are told that it is delayed", "busy actor", ["dispatch.delayed"]],
] as const)("an attempt whose asker has waited for too long and %s", async (_, held, expected) => {
  onTestFinished(shortenLimits({ actor_ask_timeout_ms: 500, lease_young_ms: 100, lease_look_soon_ms: 20 }));
  const { actors, document } = statusBench(db, clock, { transport: bench.ports.transport, owner: "node/3" }).node;
  const { id } = newDocumentRow(firmId, SENDER);
  let letGo = (): void => undefined;
  const over = new Promise<void>((resolve) => {
    letGo = resolve;
  });
  if (held === "slow peer") holding.set(id, over);
  const busy: typeof document = {
    ...document,
    handlers: {
      ...document.handlers,
      Attempt: async (...turn) => {
        if (held === "busy actor") await over;
        return document.handlers.Attempt(...turn);
      },
    },
  };
  const gaveUp: string[] = [];
  const told: string[] = [];
  const dispatcher = await startDispatcher({
    sql: db.sql,
    beatSql: db.sql,
    actors: {
      ...actors,
      ask: (kind, key, command, ask) =>
        actors.ask(kind, key, command, ask).catch((error: unknown) => {
          gaveUp.push(key);
          throw error;
        }),
    },
    document: busy,
    log: { ...bench.ports.log, warn: (event) => told.push(event) },
    owner: "node/3",
    clock: systemClock,
    capacityOf: (key) => ({ key, places: 2, typical_ms: undefined }),
  });
  try {
    await bench.document(firmId, SENDER, { id, ...sealedPayload(bench.ports.sealer, id) });
    await eventually("its asker has given up", () => gaveUp.includes(id));
    letGo();
    await eventually("it is delivered", async () => {
      const rows = await db.sql`select id from document where id = ${id} and status = 'delivered'`;
      return rows.length === 1;
    });
    expect(told.filter((event) => event === "dispatch.delayed")).toEqual(expected);
    expect(transmitted.filter((one) => one === id)).toEqual([id]);
  } finally {
    await dispatcher.stop();
    await actors.stop();
  }
});

test("documents of sixty hours ago whose healthy receiver has few places are all sent", async () => {
  onTestFinished(shortenLimits({ place_rest_max_ms: 20 }));
  const count = 40;
  const ids = new Set<string>();
  for (let i = 0; i < count; i += 1) ids.add(await accept({ acceptedAt: clock.now() - 60 * 3_600_000 }));
  await db.sql`update document set next_attempt_at = now() - interval '60 hours' where id in ${db.sql([...ids])}`;
  let [onWire, refused] = [0, 0];
  let open = (): void => undefined;
  const isOpen = new Promise<void>((resolve) => {
    open = resolve;
  });
  const deliver: Transport["deliver"] = async () => {
    if (onWire === 2) {
      refused += 1;
      if (refused === 20) open();
      return { kind: "deferred", code: "full", retryAfter_ms: 1_000, keepsPlace: true };
    }
    onWire += 1;
    await isOpen;
    onWire -= 1;
    return { kind: "receipt" };
  };
  const { actors, document } = statusBench(db, clock, { transport: { deliver }, owner: "node/4" }).node;
  const dispatcher = await startDispatcher({
    sql: db.sql,
    beatSql: db.sql,
    actors,
    document,
    log: bench.ports.log,
    owner: "node/4",
    clock: systemClock,
    capacityOf: () => ({ key: "one for all", places: 2, typical_ms: undefined }),
  });
  try {
    const found = async (): Promise<readonly { readonly status: string }[]> =>
      db.sql`select status from document where id in ${db.sql([...ids])}`;
    await eventually("none waits", async () => (await found()).every(({ status }) => status !== "queued"));
    expect((await found()).filter(({ status }) => status === "delivered")).toHaveLength(count);
  } finally {
    await dispatcher.stop();
    await actors.stop();
  }
});
