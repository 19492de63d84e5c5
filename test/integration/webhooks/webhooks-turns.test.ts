// Goal: a claim that waits for its turn sends what is so when the turn comes: to the url of then, signed by the secrets of
// then, and to nobody whose consent has ended meanwhile.
// Method: real statements on a real Postgres; the turn is held by a transaction while the subscription is changed.
import { afterEach, beforeEach, expect, test } from "vitest";

import { systemClock } from "../../../engine/base/clock.js";
import { openedSecret } from "../../../engine/events/webhooks/secrets.js";
import { bindFirm, createFirm, createIntegrator } from "../../../engine/identity/firms.js";
import { claimDeliveries } from "../../../engine/storage/events/dispatch.js";
import type { ClaimedDelivery } from "../../../engine/storage/events/dispatch.js";
import { openTransaction } from "../../support/database/transactions.js";
import { eventually } from "../../support/eventually.js";
import { webhookWorld } from "../../support/webhooks/webhook-world.js";
import type { WebhookWorld } from "../../support/webhooks/webhook-world.js";

const ORIGIN = "http://127.0.0.1:10000";

let world: WebhookWorld;
beforeEach(async () => {
  world = await webhookWorld();
});
afterEach(() => world.end());

/** What a claim answers that asks for its turn before a change is committed, and gets it afterwards. */
async function claimedAcross(change: () => PromiseLike<unknown>): Promise<ClaimedDelivery[]> {
  const { sql, url } = world.db;
  const turn = await openTransaction(url);
  await turn.run("select begin_webhook_leases()");
  const claim = claimDeliveries(world.db.another(), "node/1", 64);
  await eventually("the claim waits for its turn", async () => {
    const rows = await sql`select 1 from pg_stat_activity
      where datname = current_database() and wait_event = 'advisory' and query like '%due_webhooks%'`;
    return rows.length > 0;
  });
  await change();
  await turn.commit();
  return claim;
}

test("a claim that waits for its turn goes to the url that the subscription has by then", async () => {
  const firm = await world.firm();
  const { id } = await world.subscribe(firm, `${ORIGIN}/old`);
  await world.happen(firm);
  await world.queue();
  expect(await claimedAcross(() => world.change(firm, id, { url: `${ORIGIN}/new` }))).toMatchObject([
    { url: `${ORIGIN}/new` },
  ]);
});

test("a claim that waits for its turn is signed by the secret that was made meanwhile, and by the one before", async () => {
  const firm = await world.firm();
  const { id, secret: old } = await world.subscribe(firm, `${ORIGIN}/in`);
  await world.happen(firm);
  await world.queue();
  let made = "";
  const [claimed] = await claimedAcross(async () => {
    made = await world.rotate(firm, id);
  });
  const { sealer } = world.ports();
  const opened = (keyId: string | null | undefined, sealed: Buffer | null | undefined): string | undefined =>
    keyId == null || sealed == null ? undefined : openedSecret(sealer, id, keyId, sealed);
  expect(opened(claimed?.secretKeyId, claimed?.secretSealed)).toBe(made);
  expect(opened(claimed?.oldSecretKeyId, claimed?.oldSecretSealed)).toBe(old);
});

test("a claim that waits for its turn tells nothing to an integrator that may not be told by then", async () => {
  const ports = { sql: world.db.sql, clock: systemClock };
  const firmId = await createFirm(ports, { name: "Skutočná s. r. o.", sandbox: false });
  const integratorId = await createIntegrator(ports, { name: "Partner", productionAuthorized: true });
  await bindFirm(ports, { integratorId, firmId, scopes: ["webhooks:read"], interfaces: ["enterprise"] });
  await world.subscribe(firmId, `${ORIGIN}/in`, { integratorId });
  await world.happen(firmId);
  await world.queue();
  const revoke = () => world.db.sql`update firm_binding set state = 'revoked' where integrator_id = ${integratorId}`;
  expect(await claimedAcross(revoke)).toMatchObject([{ allowed: false }]);
});
