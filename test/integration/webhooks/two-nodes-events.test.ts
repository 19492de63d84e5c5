/**
 * Goal: whichever node dies, what is due in the Box leaves from the other one, once, and whoever subscribed is told
 * of every step in order.
 * Method: two engines, each a process of its own, on one database; one is killed with SIGKILL while items fall due, and
 * nobody starts it again.
 * @source spec/enterprise.md, Box item; Events, Consumer rules
 */
import { cpSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { afterAll, beforeAll, expect, test } from "vitest";

import { buildIfNeeded } from "../../../deploy/build.mjs";
import { fallDueSoon, FAR_AHEAD_MS, fromNow } from "../../support/callers/box.js";
import { accessToken, invoiceXml } from "../../support/engines/engine.js";
import { eventually } from "../../support/eventually.js";
import { api } from "../../support/callers/partners.js";
import { freshDatabase } from "../../support/database/postgres.js";
import type { TestDatabase } from "../../support/database/postgres.js";
import { freePort, killEverythingOn, startEngineProcess } from "../../support/engines/process.js";
import type { EngineProcess } from "../../support/engines/process.js";
import { Random, seedFrom } from "../../support/random.js";
import { startReceiver, status } from "../../support/webhooks/receiver.js";
import type { Receiver } from "../../support/webhooks/receiver.js";

const ITEMS = 40;
const MASTER_KEY = Buffer.alloc(32, 9).toString("base64");
const KINDS = ["document.created", "document.validated", "document.sent", "document.delivered"] as const;

let db: TestDatabase;
let folder: string;
let receiver: Receiver;
beforeAll(async () => {
  await buildIfNeeded();
  folder = mkdtempSync(join(tmpdir(), "kurier-two-nodes-"));
  [db, receiver] = await Promise.all([freshDatabase(), startReceiver()]);
});
afterAll(async () => {
  killEverythingOn(folder);
  await receiver.close();
  await db.drop();
  rmSync(folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 });
});

/** A node; what is sent goes over the network to the one that lives on. */
const start = (name: string, port: number, alive: number): Promise<EngineProcess> =>
  startEngineProcess({
    dataDir: join(folder, name),
    env: {
      ENVIRONMENT: "sandbox",
      DATABASE_URL: db.url,
      NATS_URL: "embedded",
      MASTER_KEY,
      PUBLIC_URL: `http://127.0.0.1:${alive}`,
      PORT: String(port),
      VALIDATOR_THREADS: "1",
    },
  });

test("killed while items fall due, a node leaves nothing behind that the other one does not send once and tell in order", async () => {
  const seed = seedFrom(20_261_122);
  const random = new Random(seed);
  const [port, alive] = [await freePort(), await freePort()];
  const living = await start("living", alive, alive);
  cpSync(join(folder, "living", "pki"), join(folder, "dying", "pki"), { recursive: true });
  const dying = await start("dying", port, alive);
  const { sender, receiver: buyer } = dying.sandbox;
  // Calls go to the one that will die.
  const origin = `http://127.0.0.1:${port}`;
  const door = { sandbox: { ...dying.sandbox, sapiBaseUrl: `${origin}/sapi/v1`, baseUrl: `${origin}/api/v1` } };
  const token = await accessToken(door.sandbox, sender);
  receiver.script("/in", (response, call, nth) => {
    setTimeout(() => {
      status(200)(response, call, nth);
    }, random.int(30));
  });
  const made = await api(door, token, "POST /webhooks", { body: { url: `${receiver.origin}/in`, events: [...KINDS] } });
  expect([seed, made.status]).toEqual([seed, 201]);
  const scheduledFor = fromNow(FAR_AHEAD_MS);
  const ids: string[] = [];
  for (let n = 0; n < ITEMS; n += 1) {
    const payloadXml = invoiceXml(sender.participantId, buyer.participantId);
    const answer = await api(door, token, "POST /box/items", { body: { payloadXml, scheduledFor } });
    expect([seed, answer.status]).toEqual([seed, 201]);
    ids.push(String(answer.json["boxItemId"]));
  }
  const due = await fallDueSoon(db.sql, ids);
  await pause(Math.max(0, due - Date.now() + random.int(120)));
  await dying.kill();
  await eventually("every item is sent", async () => {
    const [row] = await db.sql<{ n: number }[]>`
      select count(*)::integer as n from box_item where id = any(${ids}::uuid[]) and status = 'sent'`;
    return row?.n === ITEMS;
  });
  const [sent] = await db.sql<{ n: number; received: number }[]>`
    select (select count(*)::integer from document where door = 'box') as n,
      (select count(*)::integer from received_document) as received`;
  expect([seed, sent]).toEqual([seed, { n: ITEMS, received: ITEMS }]);
  const toldOf = (): Map<string, string[]> => {
    const told = new Map<string, string[]>();
    for (const { json } of receiver.at("/in")) {
      const kinds = told.get(String(json.data["document_id"])) ?? [];
      if (kinds.at(-1) !== json["event"]) kinds.push(String(json["event"]));
      told.set(String(json.data["document_id"]), kinds);
    }
    return told;
  };
  await eventually("everything is told", () =>
    ids.every((id) => (toldOf().get(id) ?? []).at(-1) === "document.delivered"),
  );
  for (const id of ids) expect([seed, id, toldOf().get(id)]).toEqual([seed, id, [...KINDS]]);
  expect(await living.stop()).toBe(0);
});
