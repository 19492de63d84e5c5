/**
 * Octets of megabytes as a parameter of a statement: they arrive whole, in order with the statements around them, and a
 * connection that breaks in the middle fails the statement and nothing else.
 */
import { createHash, randomBytes } from "node:crypto";
import { once } from "node:events";
import { connect, createServer } from "node:net";
import type { AddressInfo, Socket } from "node:net";
import { afterEach, beforeEach, expect, test } from "vitest";

import { LIMITS } from "../../../engine/base/limits.js";
import { base64Array, withBase64 } from "../../../engine/storage/payloads/base64.js";
import { connectionTarget, openSql } from "../../../engine/storage/sql.js";
import type { Sql } from "../../../engine/storage/sql.js";
import { freshDatabase } from "../../support/database/postgres.js";
import type { TestDatabase } from "../../support/database/postgres.js";

let database: TestDatabase;
let sql: Sql;
beforeEach(async () => {
  database = await freshDatabase();
  sql = openSql({ url: database.url, connections: 1, name: "long-parameters" });
});
afterEach(async () => {
  await sql.end({ timeout: 0 });
  await database.drop();
});

/** What Postgres has received of octet strings: the digest of each. */
const received = (octets: readonly Buffer[], label = ""): Promise<readonly unknown[]> =>
  withBase64(octets, async (texts) => {
    const rows = await sql<{ readonly label: string; readonly md5: string }[]>`
      select ${label}::text as label, md5(decode(t, 'base64')) as md5
      from unnest(${base64Array(sql, texts)}) with ordinality as x (t, n) order by n`;
    return rows.map(({ label: told, md5 }) => `${told} ${md5}`);
  });
const sent = (octets: readonly Buffer[], label = ""): readonly unknown[] =>
  octets.map((bytes) => `${label} ${createHash("md5").update(bytes).digest("hex")}`);

const SLICE = LIMITS.payload_slice_bytes;
test.each([SLICE, SLICE + 1, SLICE + 2, SLICE + 3, 2 * SLICE, 3 * SLICE - 2, 14_000_001])(
  "%d octets arrive as they are, twice in a row, from a statement that is new and from one that is prepared",
  async (length) => {
    const octets = [randomBytes(length)];
    expect(await received(octets)).toEqual(sent(octets));
    expect(await received(octets)).toEqual(sent(octets));
  },
);

test("several octet strings of any length arrive in their order", async () => {
  const octets = [3, SLICE + 5, 0, 7].map((length) => randomBytes(length));
  expect(await received(octets)).toEqual(sent(octets));
});

test("statements before, beside and behind a long one on its connection have their own answers", async () => {
  const long = [randomBytes(5_000_000)];
  const other = [randomBytes(2_000_000)];
  const short = async (n: number): Promise<unknown> =>
    (await sql<{ readonly n: number }[]>`select ${n}::integer as n`)[0]?.n;
  await Promise.all([short(0), received(long)]);
  const asked = [short(1), received(long, "a"), short(2), received(other, "b"), short(3), received(long, "c")];
  const answers = [1, sent(long, "a"), 2, sent(other, "b"), 3, sent(long, "c")];
  expect(await Promise.all(asked)).toEqual(answers);
});

test("a text that looks like the name of octets is a text, also beside octets that are on their way", async () => {
  const long = [randomBytes(2_000_000)];
  const likeness = "-octets-01234567-0123-0123-0123-0123456789ab";
  await received(long, likeness);
  expect(await received(long, likeness)).toEqual(sent(long, likeness));
  await withBase64(long, async ([name = ""]) => {
    const [row] = await sql<{ readonly t: string }[]>`select ${`around ${name} it`}::text as t`;
    expect(row?.t).toBe(`around ${name} it`);
  });
});

test("a name whose statement is over is no octets: a statement that uses it is refused", async () => {
  let kept: readonly string[] = [];
  await withBase64([randomBytes(2_000_000)], (texts) => {
    kept = texts;
    return Promise.resolve();
  });
  await expect(sql`select decode(t, 'base64') from unnest(${base64Array(sql, kept)}) as x (t)`).rejects.toThrow(
    /base64/u,
  );
});

test("a connection that breaks in the middle of long octets fails their statement, and the next one is answered", async () => {
  const { url, path } = connectionTarget(database.url);
  const target = new URL(url);
  let breakAt = Infinity;
  const open = new Set<Socket>();
  const proxy = createServer((client) => {
    const server = path === undefined ? connect(Number(target.port), target.hostname) : connect(path);
    for (const socket of [client, server]) {
      open.add(socket);
      socket.on("error", () => undefined).on("close", () => [client, server].forEach((one) => one.destroy()));
    }
    let passed = 0;
    client.on("data", (octets: Buffer) => {
      passed += octets.length;
      if (passed > breakAt) client.resetAndDestroy();
      else server.write(octets);
    });
    server.pipe(client);
  }).listen(0, "127.0.0.1");
  await once(proxy, "listening");
  target.hostname = "127.0.0.1";
  target.port = String((proxy.address() as AddressInfo).port);
  const ours = sql;
  sql = openSql({ url: target.href, connections: 1, name: "long-parameters" });
  try {
    const long = [randomBytes(8_000_000)];
    expect(await received(long)).toEqual(sent(long));
    for (breakAt of [15_000_000, 1_000_000, 3_000_000])
      await expect(received(long)).rejects.toThrow(/ended|closed|reset/iu);
    breakAt = Infinity;
    expect(await received(long)).toEqual(sent(long));
  } finally {
    await sql.end({ timeout: 0 });
    sql = ours;
    proxy.close();
    for (const socket of open) socket.destroy();
  }
});
