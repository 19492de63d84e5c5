/**
 * In whose name an item of the Box leaves, and what becomes of one that its node has lost. Method: the real statements on
 * a real Postgres, with every node played by the test; keys and consents end while items wait.
 */
import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "vitest";

import { systemClock } from "../../../engine/base/clock.js";
import { newId } from "../../../engine/base/ids.js";
import type { BoxItemId, IntegratorId, KeyId } from "../../../engine/base/ids.js";
import { OPERATOR, stampOf } from "../../../engine/identity/audit.js";
import { createIntegrator } from "../../../engine/identity/firms.js";
import { revokeBinding } from "../../../engine/storage/identity/bindings.js";
import { deactivateKey, rotateKey } from "../../../engine/storage/identity/keys.js";
import { boxWorld } from "../../support/worlds/box-world.js";
import type { BoxWorld } from "../../support/worlds/box-world.js";
import { eventually } from "../../support/eventually.js";
import { KEY_ID } from "../../support/database/seed.js";

let world: BoxWorld;
beforeAll(async () => {
  world = await boxWorld();
});
afterAll(() => world.db.drop());

const ports = () => ({ sql: world.db.sql, clock: systemClock });
const stamp = () => stampOf(OPERATOR, systemClock);
const later = (): number => Date.now() + 3_600_000;

/** A key of the firm, or of an integrator. */
async function key(integratorId?: IntegratorId): Promise<KeyId> {
  const id = newId(systemClock) as KeyId;
  await world.db.sql`
    insert into api_key (id, key_type, firm_id, integrator_id, prefix, secret_sha256, scopes, ip_allowlist, active, created_at)
    values (${id}, ${integratorId === undefined ? "sk_live" : "sk_int"}, ${integratorId === undefined ? world.firmId : null},
      ${integratorId ?? null}, ${`sk_test_${id}`.slice(0, 40)}, sha256(${id}::text::bytea), '{documents:send}', '{}', true, now())`;
  return id;
}
const end = (id: KeyId) =>
  deactivateKey(world.db.sql, { id, integratorId: undefined, issuer: undefined, audit: undefined }, Date.now());

/** The time of an item comes, and a node takes what is due. @returns the state of the item then */
async function fallDue(id: BoxItemId): Promise<string> {
  await world.makeDue(id);
  for (const item of await world.claim("node/1")) await world.dispatch("node/1", item);
  return (await world.item(id)).status;
}
const documents = async (id: BoxItemId): Promise<number> => {
  const rows = await world.db.sql`
    select 1 from document as d join box_item as i on i.document_id = d.id where i.id = ${id}`;
  return rows.length;
};

describe("items whose key has ended", () => {
  test("an item does not leave when its key has ended, and says why; who asks for it again answers for it from then on", async () => {
    const keyId = await key();
    const { id } = await world.create({ keyId, scheduledFor: later() });
    expect(await end(keyId)).toBe("deactivated");
    expect((await world.item(id)).status).toBe("scheduled");
    expect(await fallDue(id)).toBe("failed");
    expect(await documents(id)).toBe(0);
    expect((await world.item(id)).lastError).toMatchObject({ status: 403, message: expect.stringContaining("key") });
    expect(await world.operate("node/1", "retry", id)).toBe("done");
    expect(await fallDue(id)).toBe("sending");
    const [row] = await world.db
      .sql`select key_id from document where id = (select document_id from box_item where id = ${id})`;
    expect(row).toEqual({ key_id: KEY_ID });
  });

  test("an item leaves where another key took the place of its own by rotation, until that one has ended too", async () => {
    const keyId = await key();
    const [first, second] = [
      await world.create({ keyId, scheduledFor: later() }),
      await world.create({ keyId, scheduledFor: later() }),
    ];
    const heir = newId(systemClock) as KeyId;
    const rotation = { id: keyId, generation: 0, newId: heir, audit: stamp() };
    const secret = { prefix: `sk_test_${heir}`.slice(0, 40), secretSha256: Buffer.from(heir.padEnd(32).slice(0, 32)) };
    expect(await rotateKey(world.db.sql, { ...rotation, ...secret }, Date.now())).toBe("rotated");
    expect(await fallDue(first.id)).toBe("sending");
    expect(await end(heir)).toBe("deactivated");
    expect(await fallDue(second.id)).toBe("failed");
  });

  test("a send-now of an ended key's item by another key sends it", async () => {
    const keyId = await key();
    const { id } = await world.create({ keyId, scheduledFor: later() });
    await end(keyId);
    expect(await world.operate("node/1", "send_now", id)).toBe("done");
    expect(await documents(id)).toBe(1);
  });
});

describe("items of integrators", () => {
  async function partner(isAuthorized = true): Promise<{ readonly integratorId: IntegratorId; readonly keyId: KeyId }> {
    const integratorId = await createIntegrator(ports(), { name: "Partner", productionAuthorized: isAuthorized });
    await consent(integratorId);
    return { integratorId, keyId: await key(integratorId) };
  }
  const consent = (integratorId: IntegratorId) => world.db.sql`
    insert into firm_binding (integrator_id, firm_id, state, scopes, interfaces, created_at, updated_at)
    values (${integratorId}, ${world.firmId}, 'active', '{documents:send}', '{enterprise}', now(), now())
    on conflict (integrator_id, firm_id) do update set state = 'active'`;

  // spec/enterprise.md: "revoked: the firm withdrew consent; processing stops"; "a new consent does not revive old keys"
  test("an integrator's item does not leave once the consent is withdrawn, nor by a new one; what is made under that one leaves", async () => {
    const maker = await partner();
    const old = await world.create({ ...maker, scheduledFor: later() });
    const older = await world.create({ ...maker, scheduledFor: later() });
    const binding = { integratorId: maker.integratorId, firmId: world.firmId };
    expect(await revokeBinding(world.db.sql, binding, Date.now(), stamp())).toBe(true);
    expect(await fallDue(old.id)).toBe("failed");
    await consent(maker.integratorId);
    expect(await fallDue(older.id)).toBe("failed");
    const fresh = await world.create({ ...maker, scheduledFor: later() });
    expect(await fallDue(fresh.id)).toBe("sending");
  });

  test("an integrator's item of a real firm leaves only while the integrator is authorized for production", async () => {
    const [right, wrong] = [await partner(), await partner(false)];
    await world.db.sql`update firm set sandbox = false where id = ${world.firmId}`;
    try {
      const leaves = await world.create({ ...right, scheduledFor: later() });
      const stays = await world.create({ ...wrong, scheduledFor: later() });
      expect(await fallDue(leaves.id)).toBe("sending");
      expect(await fallDue(stays.id)).toBe("failed");
    } finally {
      await world.db.sql`update firm set sandbox = true where id = ${world.firmId}`;
    }
  });
});

describe("leases of items that their node has lost", () => {
  test("an item whose claim was not answered is taken again long before its lease ends, one that is worked on is left alone", async () => {
    const node = `node-${randomUUID()}/1`;
    const [lost, known] = [await world.create(), await world.create()];
    expect((await world.claim(node)).length).toBeGreaterThanOrEqual(2);
    await world.db.sql`insert into dispatcher (owner, seen_at) values (${node}, now())`;
    // The answer to the claim was lost a while ago, and the lease lasts for an hour.
    await world.db.sql`
      update box_item set locked_at = locked_at - interval '1 minute', due_at = due_at + interval '1 hour'
      where lease_owner = ${node}`;
    const again = await world.claim("other/1");
    expect(again.map(({ id }) => id)).not.toContain(lost.id);
    const taken = await eventually("it is taken again", async () => {
      const found = (await world.claim(node, [known.id])).map(({ id }) => id);
      return found.length > 0 ? found : undefined;
    });
    expect(taken).toContain(lost.id);
    expect(taken).not.toContain(known.id);
  });
});
