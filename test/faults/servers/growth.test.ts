/**
 * The growth plan, read by measurement: documents divided by their firm over two PostgreSQL servers by PL/Proxy, and the
 * engine's own acceptance run against the server before them, unchanged. What an acceptance costs direct, through
 * the front server to one server and to two; what holds of its races; and what does not.
 *
 * Needs Debian's postgresql-15 and postgresql-15-plproxy. On one machine two servers cannot be quicker than one:
 * what is told is the processor time that the way through the front server adds.
 * @source design/performance.md; docs/operators/growth.md
 */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";

import { processorTime } from "../../../bench/cpu.js";
import type { FirmId } from "../../../engine/base/ids.js";
import { systemClock } from "../../../engine/base/clock.js";
import { createAcceptBatches } from "../../../engine/storage/documents/accept-batches.js";
import type { AcceptBatches } from "../../../engine/storage/documents/accept-batches.js";
import { acceptDocuments, findDocument } from "../../../engine/storage/documents/documents.js";
import type { AcceptOutcome } from "../../../engine/storage/documents/documents.js";
import { migrate } from "../../../engine/storage/migrate.js";
import { openSql } from "../../../engine/storage/sql.js";
import type { Sql } from "../../../engine/storage/sql.js";
import { divide, shardOf } from "../../support/database/growth.js";
import { POSTGRES_15, startPostgresServer } from "../../support/database/postgres-server.js";
import { newDocumentRow, seedFirms } from "../../support/database/seed.js";
import { keepFigures } from "../figures.js";

const PLPROXY = join(POSTGRES_15, "../lib/plproxy.so");
/** Documents of each of the measured ways, and those who wait at once. */
const DOCUMENTS = Number(process.env["KURIER_TEST_DOCUMENTS"] ?? "4000");
const CALLERS = 64;
const FIRMS = 64;
const RACERS = 24;
const PAYLOAD = Buffer.alloc(12_000, "x");

interface Server {
  readonly server: Awaited<ReturnType<typeof startPostgresServer>>;
  readonly sql: Sql;
}

interface World {
  readonly front: Server;
  readonly shards: readonly [Server, Server];
  readonly firms: readonly { readonly id: FirmId; readonly sender: string; readonly shard: number }[];
}

let world: World;
const undo: (() => Promise<void>)[] = [];
afterAll(async () => {
  for (const step of undo.splice(0).reverse()) await step();
});

async function start(): Promise<Server> {
  const server = await startPostgresServer(POSTGRES_15, { fsync: "on", max_connections: "200" });
  undo.push(() => server.stop());
  const sql = openSql({ url: server.url, name: "growth" });
  undo.push(() => sql.end({ timeout: 1 }));
  return { server, sql };
}

const present = existsSync(PLPROXY);

beforeAll(async () => {
  if (!present) return;
  const [front, one, two] = [await start(), await start(), await start()];
  for (const { server } of [one, two]) await migrate({ url: server.url, clock: systemClock });
  const shards = [one, two] as const;
  await divide(
    front.sql,
    shards.map(({ server }) => server.url),
    shards.map(({ sql }) => sql),
  );
  const senders = Array.from({ length: FIRMS }, (_, index) => `0245:7${String(index).padStart(9, "0")}`);
  // Every firm is on both servers: who a caller is would be asked of a database that is not divided.
  const ids = await seedFirms(one.sql, senders);
  await copyFirms(one.sql, two.sql);
  const firms = await Promise.all(
    ids.map(async (id, index) => ({
      id,
      sender: senders[index] ?? "",
      shard: await shardOf(front.sql, id, shards.length),
    })),
  );
  world = { front, shards, firms };
});

async function copyFirms(from: Sql, to: Sql): Promise<void> {
  const rows = await from<{ readonly id: string; readonly name: string }[]>`select id, name from firm`;
  await to`insert into firm (id, name, peppol_status, sandbox, created_at)
    select id, name, 'registered', true, now()
    from unnest(${rows.map(({ id }) => id)}::uuid[], ${rows.map(({ name }) => name)}::text[]) as f (id, name)`;
}

const firmAt = (index: number): World["firms"][number] => world.firms[index % FIRMS] as World["firms"][number];
const document = (index: number, changes: Parameters<typeof newDocumentRow>[2] = {}) => {
  const { id, sender } = firmAt(index);
  return newDocumentRow(id, sender, { payloadSealed: PAYLOAD, payloadBytes: PAYLOAD.length, ...changes });
};

const countOn = async ({ sql }: Server): Promise<number> =>
  (await sql<{ readonly n: number }[]>`select count(*)::integer as n from document`)[0]?.n ?? 0;
const kinds = (outcomes: readonly AcceptOutcome[]): Readonly<Record<string, number>> => {
  const found: Record<string, number> = {};
  for (const { kind } of outcomes) found[kind] = (found[kind] ?? 0) + 1;
  return found;
};

/** Callers that accept one document after the other, of all firms. @returns acceptances a second */
async function accepting(accept: AcceptBatches, count: number): Promise<number> {
  let next = 0;
  const begun = systemClock.monotonic();
  await Promise.all(
    Array.from({ length: CALLERS }, async () => {
      while (next < count) {
        const outcome = await accept.accept(document(next++));
        expect(outcome.kind).toBe("accepted");
      }
    }),
  );
  return count / ((systemClock.monotonic() - begun) / 1_000);
}

const processorOf = (servers: readonly Server[]): number =>
  servers.reduce(
    (sum, { server }) =>
      sum + [...processorTime(server.pid)].reduce((all, [part, seconds]) => all + (part === "client" ? 0 : seconds), 0),
    0,
  );

describe.skipIf(!present)("documents over two servers, divided by firm", () => {
  test("a call with documents of both servers answers each in its place", async () => {
    const documents = Array.from({ length: 16 }, (_, index) => document(index));
    const outcomes = await acceptDocuments(world.front.sql, documents);
    expect(outcomes.map((one) => (one.kind === "accepted" ? one.documentId : one.kind))).toEqual(
      documents.map(({ id }) => id),
    );
    const places = new Set(documents.map((_, index) => firmAt(index).shard));
    expect(places.size).toBe(2);
    for (const [index, { id, firmId }] of documents.entries()) {
      const here = world.shards[firmAt(index).shard] as Server;
      expect((await findDocument(here.sql, firmId, id))?.id).toBe(id);
    }
    expect(await countOn(world.shards[0])).toBeGreaterThan(0);
    expect((await countOn(world.shards[0])) + (await countOn(world.shards[1]))).toBe(documents.length);
  });

  test.each([0, 1])("one key used by many at once is one document, on either server (%i)", async (shard) => {
    const index = world.firms.findIndex((firm) => firm.shard === shard);
    const first = document(index);
    const outcomes = await Promise.all(
      Array.from({ length: RACERS }, () =>
        createAcceptBatches(world.front.sql).accept({ ...first, id: document(index).id }),
      ),
    );
    expect(kinds(outcomes)).toEqual({ accepted: 1, replay: RACERS - 1 });
    expect(new Set(outcomes.map((one) => ("documentId" in one ? one.documentId : undefined))).size).toBe(1);
  });

  test("one documentId used by many requests at once is one document", async () => {
    const erpDocumentId = "INV-2026-1";
    const outcomes = await Promise.all(
      Array.from({ length: RACERS }, () => createAcceptBatches(world.front.sql).accept(document(0, { erpDocumentId }))),
    );
    expect(kinds(outcomes)).toEqual({ accepted: 1, duplicate_document: RACERS - 1 });
  });

  test("the same acceptance again after a lost answer finds the first", async () => {
    const lost = document(3);
    await acceptDocuments(world.front.sql, [lost]);
    const [again] = await acceptDocuments(world.front.sql, [lost]);
    expect(again).toMatchObject({ kind: "replay", documentId: lost.id });
  });

  test("a caller who rolls back leaves the document: the server behind has committed", async () => {
    const undone = document(5);
    const alone = openSql({ url: world.front.server.url, name: "growth", connections: 1 });
    try {
      await alone`begin`;
      await acceptDocuments(alone, [undone]);
      await alone`rollback`;
    } finally {
      await alone.end({ timeout: 1 });
    }
    const here = world.shards[firmAt(5).shard] as Server;
    expect((await findDocument(here.sql, undone.firmId, undone.id))?.id).toBe(undone.id);
  });

  test("a sender who moves to a firm of the other server can use a documentId twice, which one server refuses", async () => {
    const [left, right] = [0, 1].map((shard) => world.firms.find((firm) => firm.shard === shard));
    if (left === undefined || right === undefined) throw new Error("all firms are on one server");
    const erpDocumentId = "INV-2026-2";
    const first = newDocumentRow(left.id, left.sender, { erpDocumentId });
    const second = newDocumentRow(right.id, left.sender, { erpDocumentId });
    const divided = [
      ...(await acceptDocuments(world.front.sql, [first])),
      ...(await acceptDocuments(world.front.sql, [second])),
    ];
    expect(kinds(divided)).toEqual({ accepted: 2 });
    const together = newDocumentRow(right.id, left.sender, { erpDocumentId });
    const [alone] = await acceptDocuments((world.shards[left.shard] as Server).sql, [together]);
    expect(alone?.kind).toBe("duplicate_document");
  });

  test("the price of the way through the front server", async () => {
    const { front, shards } = world;
    const [one, two] = shards;
    const rows: (readonly (string | number)[])[] = [];
    const ways = [
      ["direct, one server", one.sql, [one]],
      ["through the front server to one", front.sql, [front, one]],
      ["through the front server to two", front.sql, [front, one, two]],
    ] as const;
    for (const [way, sql, servers] of ways) {
      const used = way.endsWith("two") ? shards : [one];
      await divide(
        front.sql,
        used.map(({ server }) => server.url),
        used.map((shard) => shard.sql),
      );
      const accept = createAcceptBatches(sql);
      await accepting(accept, Math.ceil(DOCUMENTS / 10));
      const before = processorOf(servers);
      const perSecond = await accepting(accept, DOCUMENTS);
      rows.push([way, Math.round(perSecond), ((processorOf(servers) - before) * 1_000) / DOCUMENTS]);
    }
    keepFigures("growth", {
      title: "Documents over two servers",
      command: "npm run -s test:faults -- growth",
      remark: `${DOCUMENTS} acceptances of 12 KB by ${CALLERS} callers of ${FIRMS} firms; all servers, the callers and whatever else ran share the machine, and every server syncs its own log.`,
      columns: ["Way", "Acceptances a second", "ms of processor time of the servers, each"],
      rows: rows.map(([way = "", rate = 0, cost = 0]) => [way, rate, Number(Number(cost).toFixed(2))]),
    });
    expect(rows).toHaveLength(ways.length);
  });

  test("a server that is away fails the acceptances of its firms alone; a call of both is found again in part", async () => {
    const { front, shards } = world;
    await divide(
      front.sql,
      shards.map(({ server }) => server.url),
      shards.map(({ sql }) => sql),
    );
    const [here, there] = [0, 1].map((shard) => world.firms.findIndex((firm) => firm.shard === shard));
    const [living, lost] = [document(here ?? 0), document(there ?? 0)];
    await shards[1].server.stop();
    await expect(acceptDocuments(front.sql, [lost])).rejects.toThrow();
    await expect(acceptDocuments(front.sql, [living, lost])).rejects.toThrow();
    const [again] = await acceptDocuments(front.sql, [living]);
    expect(["accepted", "replay"]).toContain(again?.kind);
  });
});

test("what the growth plan is read with is installed where all must run", () => {
  if (process.env["CI"] === "true") expect(present, PLPROXY).toBe(true);
});
