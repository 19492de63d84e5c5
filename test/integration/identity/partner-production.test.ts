/**
 * Consent and keys in production, and at the edges of time: what an operator has not allowed is refused, and an
 * invitation lives for exactly fourteen days.
 * @source spec/enterprise.md, Consent offers; Key management rules; spec/rulings.md, section 8
 */
import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, expect, test } from "vitest";

import type { FirmId, IntegratorId } from "../../../engine/base/ids.js";
import { SCOPES } from "../../../engine/base/scopes.js";
import { OPERATOR } from "../../../engine/identity/audit.js";
import type { Actor } from "../../../engine/identity/audit.js";
import type { Caller } from "../../../engine/identity/caller.js";
import { createFirm, createIntegrator } from "../../../engine/identity/firms.js";
import type { Identity } from "../../../engine/identity/identity.js";
import { openChannel } from "../../../engine/storage/channel.js";
import { integratorCommands } from "../../../gateway/commands/people/integrators.js";
import { fakeClock } from "../../support/fake-clock.js";
import { hearCommand } from "../../support/engines/heard-command.js";
import { ADDRESS, bind, callerOf, login, makeKey, refusalOf, startNode } from "../../support/callers/identity.js";
import { freshDatabase } from "../../support/database/postgres.js";
import type { TestDatabase } from "../../support/database/postgres.js";

const ACTOR: Actor = { type: "api_key", id: null, address: ADDRESS, userAgent: null };
const OWNER: Actor = { type: "user", id: "018f6a3e-0000-7000-8000-00000000aaaa", address: ADDRESS, userAgent: null };
const HTTPS = "https://ap.example.com";
const DAY_MS = 86_400_000;
const clock = fakeClock();
let db: TestDatabase;
let node: Identity;

beforeAll(async () => {
  db = await freshDatabase();
  node = await startNode(db, { clock, environment: "production", publicUrl: HTTPS });
});
afterAll(async () => {
  await node.stop();
  await db.drop();
});

const wish = {
  targetIdentifier: "31333333",
  customerReference: undefined,
  relationshipMode: "technical_delegation",
  requestedInterface: "all",
  requestedScopes: ["documents:send"],
} as const;

/** An integrator's caller in production. */
async function partner(on: Identity = node, productionAuthorized = true) {
  const integratorId = await createIntegrator({ sql: db.sql, clock }, { name: "Partner", productionAuthorized });
  const key = await makeKey(db, clock, { owner: { integratorId }, scopes: SCOPES }, "production");
  const token = (await login(on, key, clock)).accessToken;
  const caller: Caller = await callerOf(on, token, clock);
  return { integratorId, caller, token };
}

let companies = 40_000_000;
const company = async (): Promise<{ readonly ico: string; readonly firmId: FirmId }> => {
  const ico = String((companies += 1));
  return { ico, firmId: await createFirm({ sql: db.sql, clock }, { name: "Company", ico, sandbox: false }) };
};
const answerOf = (offerId: string, firmId: FirmId) => ({ offerId, firmId, personId: OWNER.id ?? "", actor: OWNER });

test("a company that is not here yet can be invited in production", async () => {
  const { caller } = await partner();
  const offer = await node.offerConsent(caller, wish, ACTOR);
  expect(offer.consentUrl).toMatch(/^https:\/\/ap\.example\.com\/consent\/[A-Za-z0-9_-]{43}$/);
});

test("an integrator that is not authorized for production invites nobody", async () => {
  const { caller } = await partner(node, false);
  expect(await refusalOf(() => node.offerConsent(caller, wish, ACTOR))).toBe("PARTNER_OFFER_UNAVAILABLE");
});

// enterprise.md: "PARTNER_OFFER_CONFIGURATION_ERROR | 503 on create consent offer"
test("a deployment whose links would not be https makes none in production", async () => {
  const plain = await startNode(db, { clock, environment: "production", publicUrl: "http://ap.example.com" });
  try {
    const { caller } = await partner(plain);
    expect(await refusalOf(() => plain.offerConsent(caller, wish, ACTOR))).toBe("PARTNER_OFFER_CONFIGURATION_ERROR");
  } finally {
    await plain.stop();
  }
});

test("an invitation cannot be accepted once its integrator has lost its authorization, and can when it has it again", async () => {
  const { integratorId, caller } = await partner();
  const { ico, firmId } = await company();
  const { id } = await node.offerConsent(caller, { ...wish, targetIdentifier: ico }, ACTOR);
  await node.decideProduction({ id: integratorId, isAuthorized: false }, OPERATOR);
  expect(await node.acceptConsentOffer(answerOf(id, firmId))).toBe("unavailable");
  await node.decideProduction({ id: integratorId, isAuthorized: true }, OPERATOR);
  expect(await node.acceptConsentOffer(answerOf(id, firmId))).toBe("accepted");
});

test.each([
  ["is accepted in its last millisecond", -1, "accepted"],
  ["has ended when its fourteen days are over", 0, "expired"],
] as const)("an invitation %s", async (_, late_ms, outcome) => {
  const { caller } = await partner();
  const { ico, firmId } = await company();
  const offer = await node.offerConsent(caller, { ...wish, targetIdentifier: ico }, ACTOR);
  clock.advance(14 * DAY_MS + late_ms);
  expect(await node.acceptConsentOffer(answerOf(offer.id, firmId))).toBe(outcome);
});

test("a link shows its offer, notes that it was opened, and is unknown when a character differs", async () => {
  const { caller } = await partner();
  const { consentUrl, id } = await node.offerConsent(caller, wish, ACTOR);
  const token = consentUrl.split("/").at(-1) ?? "";
  for (let i = 0; i < 2; i += 1)
    expect(await node.openConsentOffer(token)).toMatchObject({ id, status: "viewed", integratorName: "Partner" });
  expect(await node.openConsentOffer(token.replace(/.$/, (last) => (last === "A" ? "Q" : "A")))).toBeUndefined();
  expect(await node.openConsentOffer("")).toBeUndefined();
});

// enterprise.md, rule 4: "Issuance of scoped keys must be enabled by the operator."
test("keys for single firms are not made in production unless the operator says so", async () => {
  const { integratorId, caller } = await partner();
  const { firmId } = await company();
  await bind(db, clock, integratorId, firmId);
  const scoped = { name: undefined, scopes: undefined, ipAllowlist: undefined, scopedFirmId: firmId };
  expect(await refusalOf(() => node.issueKey(caller, scoped, ACTOR))).toBe("FIRM_KEY_ISSUANCE_DISABLED");
});

/** What an integrator finds in its audit about its approval. */
const audited = (integratorId: IntegratorId) => db.sql`
  select event, actor_type as actor, metadata from audit_entry
  where integrator_id = ${integratorId} and event in ('integrator.approved', 'integrator.withdrawn') order by position`;

test("an approval and its end stand in the integrator's audit once each, however often they are said", async () => {
  const { integratorId } = await partner();
  const decide = (isAuthorized: boolean) => node.decideProduction({ id: integratorId, isAuthorized }, OPERATOR);
  const all = [await decide(true), ...(await Promise.all([decide(false), decide(false)])).sort(), await decide(true)];
  expect(all).toEqual(["already", "already", "changed", "changed"]);
  expect(await audited(integratorId)).toEqual([
    { event: "integrator.withdrawn", actor: "operator", metadata: {} },
    { event: "integrator.approved", actor: "operator", metadata: {} },
  ]);
  const nobody = { id: randomUUID() as IntegratorId, isAuthorized: true };
  expect(await node.decideProduction(nobody, OPERATOR)).toBe("unknown");
});

test("an integrator without its approval keeps its keys, reaches no firm with them, and makes none for a firm", async () => {
  const allowing = await startNode(db, { clock, environment: "production", publicUrl: HTTPS, firmKeyIssuance: true });
  try {
    const { integratorId, caller, token } = await partner(allowing);
    const { firmId } = await company();
    await bind(db, clock, integratorId, firmId);
    expect((await allowing.firmContext(caller, firmId)).firmId).toBe(firmId);
    await allowing.decideProduction({ id: integratorId, isAuthorized: false }, OPERATOR);
    const now = await allowing.authenticate(token, clock.now());
    const scoped = { name: undefined, scopes: undefined, ipAllowlist: undefined, scopedFirmId: firmId };
    expect([
      await refusalOf(async () => allowing.firmContext(now, firmId)),
      await refusalOf(() => allowing.issueKey(now, scoped, ACTOR)),
    ]).toEqual(["FIRM_FORBIDDEN", "FIRM_FORBIDDEN"]);
    await allowing.decideProduction({ id: integratorId, isAuthorized: true }, OPERATOR);
    const again = await allowing.authenticate(token, clock.now());
    expect((await allowing.firmContext(again, firmId)).firmId).toBe(firmId);
    expect((await allowing.issueKey(again, scoped, ACTOR)).scopedFirmId).toBe(firmId);
  } finally {
    await allowing.stop();
  }
});

/** A command of `kurier integrators`, in the form of the sandbox. */
const integrators = (name: string, ...args: readonly string[]) =>
  hearCommand({ commands: integratorCommands, name: `integrators${name}`, databaseUrl: db.url, args });

test("the command line lists integrators with their approval, firms, keys and last use, goes on behind any of them, and refuses to behind none", async () => {
  const { integratorId } = await partner();
  await bind(db, clock, integratorId, (await company()).firmId);
  const rows = (await integrators("")).said.trimEnd().split("\n");
  expect(rows.find((row) => row.startsWith(integratorId))).toMatch(
    /^\S+ {2}Partner {2}sandbox {2}approved since \S+Z {2}firms 1 {2}keys 1 {2}last used \S+Z$/,
  );
  const behind = await integrators(" list", "--after", rows[0]?.split("  ")[0] ?? "");
  expect(behind.said).toBe(
    rows
      .slice(1)
      .map((row) => `${row}\n`)
      .join(""),
  );
  const last = await integrators(" list", "--after", rows.at(-1)?.split("  ")[0] ?? "");
  expect([last.code, last.said]).toEqual([0, ""]);
  const unknown = await integrators(" list", "--after", randomUUID());
  expect([unknown.code, unknown.said]).toEqual([1, "There is no integrator of this id.\n"]);
});

test("a name of an integrator that was stored with a new line and a colour is one line without a colour", async () => {
  const { integratorId } = await partner();
  await db.sql`update integrator set name = ${"Partner\n\u001b[31mapproved"} where id = ${integratorId}`;
  const { said } = await integrators("");
  expect(said).not.toMatch(/[^\P{Cc}\n]/u);
  expect(said.split("\n").find((row) => row.startsWith(integratorId))).toContain("  Partner··[31mapproved  sandbox  ");
});

test("the command line ends when every running engine has heard: one that hears late lets no withdrawn integrator act", async () => {
  const held: string[] = [];
  /** Hears of integrators no earlier than somebody asks whether it has. */
  const late = await startNode(db, {
    clock,
    environment: "production",
    publicUrl: HTTPS,
    openChannel: (options) =>
      openChannel({
        ...options,
        onMessage: (payload) => {
          if (payload.startsWith("integrator:")) held.push(payload);
          else {
            if (payload.startsWith("sync:")) for (const one of held.splice(0)) options.onMessage(one);
            options.onMessage(payload);
          }
        },
      }),
  });
  try {
    const { integratorId, token } = await partner(late);
    const { firmId } = await company();
    await bind(db, clock, integratorId, firmId);
    const answer = () => refusalOf(async () => late.firmContext(await late.authenticate(token, clock.now()), firmId));
    for (const [verb, expected] of [
      ["approve", "none"],
      ["withdraw", "FIRM_FORBIDDEN"],
      ["approve", "none"],
    ] as const) {
      expect((await integrators(` ${verb}`, integratorId, "--reason", "its contract")).code).toBe(0);
      expect([verb, await answer()]).toEqual([verb, expected]);
    }
  } finally {
    await late.stop();
  }
});

test("the command line approves and withdraws for a reason, which the operators' record has, and refuses what it cannot do", async () => {
  const { integratorId } = await partner();
  const withdrawn = await integrators(" withdraw", integratorId, "--reason", "it sent for firms that it had lost");
  expect([withdrawn.code, withdrawn.said]).toEqual([0, expect.stringMatching(/not approved since/)]);
  const approved = await integrators(" approve", integratorId, "--reason", "it has shown its contracts");
  expect([approved.code, approved.said]).toEqual([0, expect.stringMatching(/ {2}approved since/)]);
  const nobody = randomUUID();
  const unknown = await integrators(" approve", nobody, "--reason", "why");
  expect([unknown.code, unknown.said]).toEqual([1, "There is no integrator of this id.\n"]);
  const recorded = await db.sql`
    select event, metadata ->> 'reason' as reason, metadata ->> 'refusal' as refusal from audit_entry
    where target_id in (${integratorId}, ${nobody}) and event like 'operator.%' order by position`;
  expect(recorded).toEqual([
    { event: "operator.integrator_withdrawn", reason: "it sent for firms that it had lost", refusal: null },
    { event: "operator.integrator_approved", reason: "it has shown its contracts", refusal: null },
    { event: "operator.integrator_approved", reason: "why", refusal: null },
    { event: "operator.failed", reason: "why", refusal: "NOT_FOUND" },
  ]);
  expect((await audited(integratorId)).length).toBe(2);
  for (const args of [[], [integratorId], [integratorId, "--reason", " "], ["x", "--reason", "why"]])
    await expect(integrators(" withdraw", ...args)).rejects.toThrow(/reason|Name one/);
});
