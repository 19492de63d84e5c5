/**
 * The Box when its process is killed with SIGKILL while items fall due: none is lost, none is sent twice. Method: an
 * engine of its own process on its own database, killed again and again while it takes what is due, and started again.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { afterEach, beforeEach, expect, test } from "vitest";

import { buildIfNeeded } from "../../../deploy/build.mjs";
import { runningEmbeddedPostgres } from "../../../engine/embedded/embedded.js";
import { openSql } from "../../../engine/storage/sql.js";
import type { Sql } from "../../../engine/storage/sql.js";
import { fallDueSoon, FAR_AHEAD_MS, fromNow } from "../../support/callers/box.js";
import { accessToken, invoiceXml } from "../../support/engines/engine.js";
import { eventually } from "../../support/eventually.js";
import { api } from "../../support/callers/partners.js";
import { killEverythingOn, startEngineProcess } from "../../support/engines/process.js";
import { Random, seedFrom } from "../../support/random.js";

let dataDir: string;

beforeEach(async () => {
  await buildIfNeeded();
  dataDir = mkdtempSync(join(tmpdir(), "kurier-box-crash-"));
});
afterEach(() => {
  killEverythingOn(dataDir);
  rmSync(dataDir, { recursive: true, force: true });
});

/** Asks the database of the running engine. */
async function onDatabase<T>(ask: (sql: Sql) => Promise<T>): Promise<T> {
  const url = runningEmbeddedPostgres(dataDir);
  if (url === undefined) throw new Error("the embedded Postgres does not run");
  const sql = openSql({ url, name: "oracle", connections: 1 });
  try {
    return await ask(sql);
  } finally {
    await sql.end({ timeout: 1 });
  }
}

const ITEMS = 40;
const KILLS = 3;

test("killed while items fall due and started again, the engine loses no item and sends none twice", async () => {
  const seed = seedFrom(20_261_122);
  const random = new Random(seed);
  let engine = await startEngineProcess({ dataDir });
  const { sender, receiver } = engine.sandbox;
  const token = await accessToken(engine.sandbox, sender);
  const scheduledFor = fromNow(FAR_AHEAD_MS);
  const ids: string[] = [];
  for (let n = 0; n < ITEMS; n += 1) {
    const payloadXml = invoiceXml(sender.participantId, receiver.participantId);
    const answer = await api(engine, token, "POST /box/items", { body: { payloadXml, scheduledFor } });
    expect([seed, answer.status]).toEqual([seed, 201]);
    ids.push(String(answer.json["boxItemId"]));
  }
  const due = await onDatabase((sql) => fallDueSoon(sql, ids));
  await pause(Math.max(0, due - Date.now()));
  for (let kill = 0; kill < KILLS; kill += 1) {
    await pause(random.int(150));
    await engine.kill();
    engine = await startEngineProcess({ dataDir });
  }
  await onDatabase(async (sql) => {
    await eventually("every item is sent", async () => {
      const [row] = await sql<{ n: number }[]>`
        select count(*)::integer as n from box_item where id = any(${ids}::uuid[]) and status = 'sent'`;
      return row?.n === ITEMS;
    });
    const documents = await sql<{ status: string; n: number }[]>`
      select status, count(*)::integer as n from document where door = 'box' group by status`;
    expect([seed, documents]).toEqual([seed, [{ status: "delivered", n: ITEMS }]]);
    const [inbox] = await sql<{ n: number; payloads: number }[]>`
      select count(*)::integer as n, count(distinct payload_sha256)::integer as payloads from received_document`;
    expect([seed, inbox]).toEqual([seed, { n: ITEMS, payloads: ITEMS }]);
  });
  await engine.stop();
});
