// Goal: the Connector's events reach an account's webhook once, whichever process sends them and whatever becomes of it;
// what is kept of attempts is true, and goes when its time has come.
// Method: real rows and the parts that deliver, without a gateway; a process that dies is one whose attempt never ends.
import { randomUUID } from "node:crypto";
import { afterEach, beforeEach, describe, expect, test } from "vitest";

import { systemClock } from "../../../engine/base/clock.js";
import type { FirmId, IntegratorId } from "../../../engine/base/ids.js";
import { LIMITS } from "../../../engine/base/limits.js";
import { silentLog } from "../../../engine/base/log.js";
import { readTestSuite, startTestSuite } from "../../../engine/events/connector/tests.js";
import {
  deleteConnectorWebhook,
  putConnectorWebhook,
  rotateConnectorSecret,
} from "../../../engine/events/connector/webhook.js";
import type { ShownWebhook } from "../../../engine/events/connector/webhook.js";
import { attemptDelivery } from "../../../engine/events/webhooks/attempt.js";
import type { AttemptPorts } from "../../../engine/events/webhooks/attempt.js";
import { OPERATOR } from "../../../engine/identity/audit.js";
import { bindFirm, createIntegrator } from "../../../engine/identity/firms.js";
import { createHttpClient } from "../../../engine/peppol/network/http.js";
import type { HttpClient } from "../../../engine/peppol/network/http.js";
import { claimDeliveries } from "../../../engine/storage/events/dispatch.js";
import { fanOutConnector } from "../../../engine/storage/events/fan-out.js";
import type { ClaimedDelivery } from "../../../engine/storage/events/dispatch.js";
import { pruneDeliveries } from "../../../engine/storage/events/repairs.js";
import { createSealer } from "../../../engine/storage/sealer.js";
import type { Sql } from "../../../engine/storage/sql.js";
import { isGenuine } from "../../support/callers/connector-receiver.js";
import { eventually } from "../../support/eventually.js";
import { startReceiver, status } from "../../support/webhooks/receiver.js";
import type { Receiver } from "../../support/webhooks/receiver.js";
import { webhookWorld } from "../../support/webhooks/webhook-world.js";
import type { WebhookWorld } from "../../support/webhooks/webhook-world.js";

const policy = { allowLoopback: true, ownOrigins: [] };
const sealer = createSealer([Buffer.alloc(32, 7)]);

let world: WebhookWorld;
let receiver: Receiver;
let client: HttpClient;
let integratorId: IntegratorId;
let firm: FirmId;
let made: ShownWebhook;
beforeEach(async () => {
  [world, receiver] = await Promise.all([webhookWorld(), startReceiver()]);
  client = createHttpClient({ policy });
  const ports = { sql: world.db.sql, clock: systemClock };
  integratorId = await createIntegrator(ports, { name: "Účtovníctvo Plus", productionAuthorized: true });
  firm = await world.firm();
  await bindFirm(ports, {
    integratorId,
    firmId: firm,
    customerRef: "K-1",
    scopes: ["webhooks:read"],
    interfaces: ["connector"],
  });
  made = await putConnectorWebhook(
    { ...ports, sealer, addresses: { policy } },
    integratorId,
    { url: `${receiver.origin}/in`, events: undefined, active: undefined },
    OPERATOR,
  );
});
afterEach(async () => {
  await world.end();
  client.close();
  await receiver.close();
});

const portsOf = (owner: string, changes: Partial<AttemptPorts> = {}): AttemptPorts => ({
  sql: world.db.sql,
  sealer,
  http: client.request,
  clock: systemClock,
  log: silentLog,
  metrics: world.metrics,
  owner,
  ...changes,
});

/** Waits until what happened has become a delivery: other databases of the server hold the feed up for a moment. */
const queued = (): Promise<unknown> =>
  eventually("a delivery is there", async () => (await fanOutConnector(world.db.sql)).queued > 0);

/** Takes the one delivery that is due. */
async function taken(owner: string): Promise<ClaimedDelivery> {
  const [claim] = await claimDeliveries(world.db.sql, owner, 1);
  if (claim === undefined) throw new Error("nothing is due");
  return claim;
}

const attemptsKept = () => world.db.sql`select number, outcome, cause from webhook_attempt order by started_at, number`;

test("two processes at once tell the webhook each event once, and keep one attempt of each", async () => {
  world.deliver({ owner: "one/1" });
  world.deliver({ owner: "two/1", sql: world.db.another() });
  const ids: string[] = [];
  for (let n = 0; n < 60; n += 1) ids.push(await world.happen(firm));
  await eventually("all have ended", async () => {
    const states = await world.states(made.webhook.id);
    return states.length === ids.length && states.every((state) => state.status === "SUCCESS");
  });
  const arrived = receiver.at("/in").map(({ headers }) => headers["x-webhook-event-id"]);
  expect([...arrived].sort()).toEqual([...ids].sort());
  expect(await attemptsKept()).toHaveLength(ids.length);
});

test("a delivery that another process has by now is not sent, and no attempt of it is kept", async () => {
  await world.happen(firm);
  await queued();
  const claim = await taken("one/1");
  await world.db.sql`update webhook_delivery set lease_owner = 'two/1'`;
  expect(await attemptDelivery(portsOf("one/1"), claim)).toBeUndefined();
  expect(receiver.calls).toEqual([]);
  expect(await attemptsKept()).toEqual([]);
});

test("an attempt that is cut off with its process is shown as begun, and is made again under its number", async () => {
  await world.happen(firm);
  await queued();
  void attemptDelivery(portsOf("one/1", { http: () => new Promise(() => undefined) }), await taken("one/1"));
  await eventually("the attempt has begun", async () => (await attemptsKept()).length === 1);
  expect(await attemptsKept()).toEqual([{ number: 1, outcome: "STARTED", cause: null }]);
  await world.db.sql`update webhook_delivery set due_at = now()`;
  await attemptDelivery(portsOf("two/1"), await taken("two/1"));
  expect(await attemptsKept()).toEqual([{ number: 1, outcome: "SUCCESS", cause: null }]);
  expect(receiver.calls.map(({ headers }) => headers["x-webhook-attempt"])).toEqual(["1"]);
});

test("after a rotation both secrets sign, the new one in the header of the specification", async () => {
  const { secret: fresh = "" } = await rotateConnectorSecret(
    { sql: world.db.sql, sealer, clock: systemClock },
    integratorId,
    OPERATOR,
  );
  await world.happen(firm);
  await queued();
  await attemptDelivery(portsOf("one/1"), await taken("one/1"));
  const [call] = receiver.calls;
  if (call === undefined) throw new Error("nothing came");
  expect(isGenuine(call, fresh)).toBe(true);
  expect(isGenuine(call, made.secret ?? "")).toBe(false);
  expect(isGenuine(call, made.secret ?? "", "x-webhook-signature-previous")).toBe(true);
});

/** Lets an attempt fail, and everything that was kept of it be of so many days ago. */
async function failed(days: number, changes: { readonly isTest?: boolean } = {}): Promise<void> {
  receiver.script("/in", status(422));
  await world.happen(firm, "document.delivered", randomUUID());
  await queued();
  if (changes.isTest === true)
    await world.db
      .sql`update webhook_delivery set scenario = 'terminal_422', test_data = '{}' where settled_at is null`;
  await attemptDelivery(portsOf("one/1"), await taken("one/1"));
  await world.db.sql`
    update webhook_attempt set completed_at = completed_at - ${days}::integer * interval '1 day'
    where completed_at > now() - interval '1 minute'`;
  await world.db.sql`
    update webhook_subscription set failing_since = least(failing_since, now() - ${days}::integer * interval '1 day')
    where failing_since is not null`;
}
const isActive = async (): Promise<unknown> =>
  (await world.db.sql`select active from webhook_subscription`)[0]?.["active"];

test("a webhook that has failed for days is switched off, but tests that were meant to fail are no failure", async () => {
  await failed(6, { isTest: true });
  await failed(0);
  expect(await isActive()).toBe(true);
  await failed(6);
  await failed(0);
  expect(await isActive()).toBe(false);
});

test("deliveries that are old go with their attempts, and the keys of requests with them", async () => {
  for (const days of [8, 6]) {
    await world.happen(firm);
    await queued();
    await attemptDelivery(portsOf("one/1"), await taken("one/1"));
    await world.db.sql`
      update webhook_delivery set created_at = now() - ${days}::integer * interval '1 day'
      where created_at > now() - interval '1 minute'`;
    await world.db.sql`
      insert into connector_request (subscription_id, idempotency_key, request_sha256, made, created_at)
      values (${made.webhook.id}, ${`key of ${days} days ago`}, '', ${randomUUID()},
        now() - ${days}::integer * interval '1 day')`;
  }
  expect(LIMITS.webhook_delivered_kept_ms).toBe(7 * 86_400_000);
  expect(await pruneDeliveries(world.db.sql)).toBe(1);
  expect(await attemptsKept()).toHaveLength(1);
  expect(await world.db.sql`select idempotency_key as key from connector_request`).toEqual([
    { key: "key of 6 days ago" },
  ]);
});

test("a suite of tests keeps its verdict until all of it goes at once, whatever its deliveries came to", async () => {
  const ports = { sql: world.db.sql, clock: systemClock };
  const { suite } = await startTestSuite(ports, integratorId, {
    ...{ firmId: firm, customerRef: "K-1", event: "document.failed", idempotencyKey: randomUUID() },
    scenarios: ["success", "terminal_422", "signature"],
  });
  const read = () => readTestSuite(world.db.sql, integratorId, suite.id);
  const age = (days: number) => world.db.sql`
    update webhook_delivery set created_at = now() - ${days}::integer * interval '1 day' where test_run_id = ${suite.id}`;
  receiver.script("/in", status(204));
  for (const { deliveryId } of suite.scenarios) {
    const claimed = await taken("one/1");
    expect(claimed.deliveryId).toBe(deliveryId);
    await attemptDelivery(portsOf("one/1"), claimed);
  }
  await world.db.sql`
    update webhook_delivery set status = 'FAILED' where test_run_id = ${suite.id} and scenario = 'terminal_422'`;
  const verdict = (await read()).scenarios;
  expect(verdict.map((one) => one.status)).toEqual(["passed", "failed", "failed"]);
  await age(29);
  await pruneDeliveries(world.db.sql);
  expect((await read()).scenarios).toEqual(verdict);
  await age(31);
  expect(await pruneDeliveries(world.db.sql)).toBe(3);
  await expect(read()).rejects.toMatchObject({ reason: "NOT_FOUND" });
});

/** A pool on which another process does something right after the statement that calls a function. */
const followedBy = (sql: Sql, called: string, other: () => Promise<unknown>): Sql =>
  new Proxy(sql, {
    apply: (pool, self, parts: Parameters<Sql>) => {
      const asked: unknown = Reflect.apply(pool, self, parts);
      const isCall = String(parts[0]).includes(called);
      return isCall ? Promise.resolve(asked).then(async (rows) => (await other(), rows)) : asked;
    },
  });

describe("while another process ends the webhook and makes the next", () => {
  const ports = (sql: Sql = world.db.sql) => ({ sql, sealer, clock: systemClock, addresses: { policy } });
  const wish = (path: string) => ({ url: `${receiver.origin}${path}`, events: undefined, active: undefined });
  const end = () => deleteConnectorWebhook(ports(), integratorId, OPERATOR);
  const next = async (): Promise<ShownWebhook> => {
    await end();
    return putConnectorWebhook(ports(), integratorId, wish("/next"), OPERATOR);
  };

  test("whoever made the first is told of that one, and its secret is never shown beside the next", async () => {
    await end();
    const sql = followedBy(world.db.sql, "put_connector_webhook", next);
    const shown = await putConnectorWebhook(ports(sql), integratorId, wish("/first"), OPERATOR);
    expect(shown.webhook).toMatchObject({ url: `${receiver.origin}/first`, active: true, failedAttempts: 0 });
    expect(shown.secret).toMatch(/^[0-9a-f]{64}$/);
    const [row] = await world.db.sql<{ deleted: boolean }[]>`
      select deleted_at is not null as deleted from webhook_subscription where id = ${shown.webhook.id}`;
    expect(row).toEqual({ deleted: true });
  });

  test("whoever made one that was ended at once is told that it was made, and not that there was none", async () => {
    await end();
    const sql = followedBy(world.db.sql, "put_connector_webhook", end);
    const shown = await putConnectorWebhook(ports(sql), integratorId, wish("/first"), OPERATOR);
    expect(shown.webhook.url).toBe(`${receiver.origin}/first`);
  });

  test("whoever changed one that was ended at once is asked to come again", async () => {
    const sql = followedBy(world.db.sql, "put_connector_webhook", end);
    await expect(putConnectorWebhook(ports(sql), integratorId, wish("/other"), OPERATOR)).rejects.toMatchObject({
      reason: "TEMPORARY",
    });
  });

  test("a secret that was made for one that has ended is not shown beside the next", async () => {
    const sql = followedBy(world.db.sql, "rotate_connector_secret", next);
    await expect(rotateConnectorSecret(ports(sql), integratorId, OPERATOR)).rejects.toMatchObject({
      reason: "NOT_FOUND",
    });
  });
});
