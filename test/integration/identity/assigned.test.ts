/**
 * Operators of a sandbox say which firms an integrator may invite there.
 * @source spec/enterprise.md, POST /consent-offers: "In sandbox the call targets only an already assigned synthetic company"
 */
import { randomUUID } from "node:crypto";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";

import { integratorCommands } from "../../../gateway/commands/people/integrators.js";
import { answerOffer, api, bindClient, newClient, newPartner, withdraw } from "../../support/callers/partners.js";
import type { Client, Partner } from "../../support/callers/partners.js";
import { signIn, Visitor } from "../../support/callers/visitor.js";
import type { PageAnswer } from "../../support/callers/visitor.js";
import { openTransaction } from "../../support/database/transactions.js";
import { http, startTestEngine } from "../../support/engines/engine.js";
import type { TestEngine } from "../../support/engines/engine.js";
import { hearCommand } from "../../support/engines/heard-command.js";
import { eventually } from "../../support/eventually.js";

let t: TestEngine;
beforeAll(async () => {
  t = await startTestEngine();
});
afterAll(() => t.stop());

const assign = (integrator: string, firm: string) =>
  hearCommand({
    commands: integratorCommands,
    name: "integrators assign",
    databaseUrl: t.db.url,
    args: [integrator, "--firm", firm],
  });
const invite = (partner: Partner, client: Client) =>
  api(t, partner.key.token, "POST /consent-offers", {
    body: { targetIdentifier: client.ico, requestedScopes: ["documents:send"] },
  });
const bindingOf = ({ integratorId }: Partner, { firmId }: Client) =>
  t.db.sql`select state, scopes from firm_binding where integrator_id = ${integratorId} and firm_id = ${firmId}`;

test("an integrator invites a firm of the sandbox once it is assigned to it, and acts for it once the firm has agreed", async () => {
  const [partner, client] = [await newPartner(t), await newClient(t)];
  expect((await invite(partner, client)).status).toBe(403);
  for (const said of [
    await assign(partner.integratorId, client.firmId),
    await assign(partner.integratorId, client.firmId),
  ])
    expect(said).toEqual({
      code: 0,
      said: `${partner.integratorId}  ${client.firmId}  required\nThe integrator may invite it now: POST /consent-offers.\n`,
    });
  const audit = await t.db.sql`
    select event, actor_type, metadata from audit_entry
    where integrator_id = ${partner.integratorId} and firm_id = ${client.firmId}`;
  expect(audit).toEqual([{ event: "firm.assigned", actor_type: "operator", metadata: { state: "required" } }]);
  const asked = await api(t, partner.key.token, "GET /documents/outbox", { headers: { "x-firm-id": client.firmId } });
  expect(asked.status).toBe(403);
  const offer = await invite(partner, client);
  expect(offer.status).toBe(201);
  expect(await answerOffer(t, String(offer.json["id"]), client.firmId)).toBe("accepted");
  expect(await bindingOf(partner, client)).toEqual([{ state: "active", scopes: ["documents:send"] }]);
});

test("a binding that there is stays as it is when its firm is assigned, and the command says which it is", async () => {
  const [partner, client] = [await newPartner(t), await newClient(t)];
  await bindClient(t, partner, client);
  const before = await bindingOf(partner, client);
  expect((await assign(partner.integratorId, client.firmId)).said).toContain(
    "active\nThe integrator acts for it already.",
  );
  expect(await bindingOf(partner, client)).toEqual(before);
  await withdraw(t, partner, client);
  expect((await assign(partner.integratorId, client.firmId)).said).toContain("revoked\nThe firm has withdrawn;");
  expect(await bindingOf(partner, client)).toMatchObject([{ state: "revoked" }]);
});

test("an integrator or a firm that is not there is named when a firm is assigned, and nothing is written", async () => {
  const [partner, client] = [await newPartner(t), await newClient(t)];
  expect(await assign(randomUUID(), client.firmId)).toEqual({ code: 1, said: "There is no integrator of this id.\n" });
  expect(await assign(partner.integratorId, randomUUID())).toEqual({
    code: 1,
    said: "There is no firm of this id in the sandbox.\n",
  });
  const erased = await newClient(t);
  await t.db.sql`update firm set erased_at = now() where id = ${erased.firmId}`;
  expect((await assign(partner.integratorId, erased.firmId)).code).toBe(1);
  expect(await t.db.sql`select 1 from firm_binding where integrator_id = ${partner.integratorId}`).toEqual([]);
});

/** The page of a firm as somebody sees it who was made its owner. */
async function pageForOwner({ firmId }: Client): Promise<() => Promise<PageAnswer>> {
  const email = "majitel@pekaren.example";
  const { adminUrl, admin } = t.sandbox;
  const headers = { authorization: `Bearer ${admin.token}`, "content-type": "application/json" };
  const office = JSON.stringify({ email, firmId, role: "owner" });
  expect((await http("POST", `${adminUrl}/admin/people`, headers, office)).status).toBe(201);
  const owner = new Visitor(t.engine.publicUrl);
  await signIn(owner, join(t.dataDir, "mail"), email);
  return () => owner.get(`/firm/${firmId}`);
}

test("a firm that is only assigned has agreed to nothing: its owner's page names nobody, and its status no interface", async () => {
  const [partner, client] = [await newPartner(t), await newClient(t)];
  await assign(partner.integratorId, client.firmId);
  const page = await pageForOwner(client);
  const nobody = await page();
  expect([nobody.status, nobody.text]).toEqual([200, expect.stringContaining("Nobody may act for your firm")]);
  expect(nobody.text).not.toContain("Účtovníctvo Plus");
  const status = () => api(t, partner.key.token, `GET /firms/consent-status?firmId=${client.firmId}`);
  expect((await status()).json).toMatchObject({ state: "required", interface: null, scopes: [] });
  const offer = await invite(partner, client);
  expect((await status()).json).toMatchObject({ interface: null, scopes: [] });
  expect(await answerOffer(t, String(offer.json["id"]), client.firmId)).toBe("accepted");
  expect((await page()).text).toContain("Účtovníctvo Plus");
});

test.each([
  [
    "is erased",
    "update firm set erased_at = now() where id = '$firm'",
    1,
    "There is no firm of this id in the sandbox.",
  ],
  [
    "is bound",
    "select put_firm_binding('$integrator', '$firm', null, 'active', '{documents:send}', '{enterprise}', now(), null)",
    0,
    "active\nThe integrator acts for it already.",
  ],
])("a firm that %s while it is assigned is called what it is then", async (_, statement, code, words) => {
  const [partner, client] = [await newPartner(t), await newClient(t)];
  const other = await openTransaction(t.db.url);
  await other.run(`select 1 from firm where id = '${client.firmId}' for update`);
  await other.run(statement.replaceAll("$firm", client.firmId).replaceAll("$integrator", partner.integratorId));
  const said = assign(partner.integratorId, client.firmId);
  await eventually("the command waits for it", async () => {
    const [row] = await t.db.sql<{ readonly waits: boolean }[]>`
      select exists (
        select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'
      ) as waits`;
    return row?.waits === true;
  });
  await other.commit();
  expect(await said).toMatchObject({ code, said: expect.stringContaining(words) as string });
});
