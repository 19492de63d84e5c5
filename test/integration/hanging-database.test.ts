/**
 * A database that takes calls and answers none, as behind a frozen host or a full disk. Method: a proxy in front of Postgres
 * that stops passing octets and goes on later; callers wait a moment of the test's choosing instead of LIMITS' seconds.
 */
import { connect, createServer } from "node:net";
import type { AddressInfo, Server, Socket } from "node:net";
import { afterAll, beforeAll, expect, test } from "vitest";

import type { FirmId } from "../../engine/base/ids.js";
import { LIMITS } from "../../engine/base/limits.js";
import { createAcceptBatches } from "../../engine/storage/documents/accept-batches.js";
import { connectionTarget, openSql, orTemporary, untilAnswered } from "../../engine/storage/sql.js";
import type { Sql } from "../../engine/storage/sql.js";
import { freshDatabase } from "../support/postgres.js";
import type { TestDatabase } from "../support/postgres.js";
import { newDocumentRow, seedFirm } from "../support/seed.js";

const SENDER = "0245:1111111111";
const WAIT_MS = 50;
let db: TestDatabase;
let firmId: FirmId;
let proxy: Server;
let frozen: Sql;
const sockets: Socket[] = [];

beforeAll(async () => {
  db = await freshDatabase();
  firmId = await seedFirm(db.sql, SENDER);
  const { url, path } = connectionTarget(db.url);
  const target = new URL(url);
  proxy = createServer((client) => {
    const server = path === undefined ? connect(Number(target.port || "5432"), target.hostname) : connect({ path });
    client.pipe(server).pipe(client);
    for (const socket of [client, server]) {
      socket.on("error", () => socket.destroy());
      sockets.push(socket);
    }
  });
  await new Promise<void>((resolve) => {
    proxy.listen(0, "127.0.0.1", resolve);
  });
  target.hostname = "127.0.0.1";
  target.port = String((proxy.address() as AddressInfo).port);
  frozen = openSql({ url: target.href, name: "behind a proxy", connections: 4 });
  await frozen`select 1`;
});
afterAll(async () => {
  await frozen.end({ timeout: 1 });
  for (const socket of sockets) socket.destroy();
  proxy.close();
  await db.drop();
});
const freeze = (): void => {
  for (const socket of sockets) socket.pause();
};
const thaw = (): void => {
  for (const socket of sockets) socket.resume();
};

test("who waits for a database that hangs is told 503 TEMPORARY, at the latest after the time of the limit, and who reads later is answered", async () => {
  freeze();
  await expect(untilAnswered(frozen`select 1 as one`, WAIT_MS)).rejects.toMatchObject({
    reason: "TEMPORARY",
    extras: { retryAfter_s: LIMITS.temporary_retry_after_s },
  });
  thaw();
  expect(await orTemporary(frozen<{ one: number }[]>`select 1 as one`)).toEqual([{ one: 1 }]);
});

test("a send that was told 503 because the database hangs may be accepted all the same, and its repeat tells so: one document, its reply", async () => {
  const batches = createAcceptBatches(frozen, WAIT_MS);
  const first = newDocumentRow(firmId, SENDER);
  freeze();
  await expect(batches.accept(first)).rejects.toMatchObject({ reason: "TEMPORARY" });
  const { idempotencyKey, erpDocumentId, payloadSha256, requestSha256 } = first;
  const repeat = (): ReturnType<typeof newDocumentRow> =>
    newDocumentRow(firmId, SENDER, { idempotencyKey, erpDocumentId, payloadSha256, requestSha256 });
  await expect(batches.accept(repeat())).rejects.toMatchObject({ reason: "TEMPORARY" });
  thaw();
  const patient = createAcceptBatches(frozen);
  const told = [await patient.accept(repeat()), await patient.accept(repeat())];
  // Either of the two that were told 503 may have been the first; the repeats name the one that is there.
  const rows = await db.sql<
    { id: string; reply_body: string }[]
  >`select id, reply_body from document where idempotency_key = ${idempotencyKey ?? ""}`;
  expect(rows).toHaveLength(1);
  const stored = { kind: "replay", documentId: rows[0]?.id, replyBody: rows[0]?.reply_body };
  expect(told).toMatchObject([stored, stored]);
});
