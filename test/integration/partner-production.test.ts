/**
 * Consent and keys in production, and at the edges of time: what an operator has not allowed is refused, and an
 * invitation lives for exactly fourteen days.
 * @source spec/enterprise.md, Consent offers; Key management rules; spec/rulings.md, section 8
 */
import { afterAll, beforeAll, expect, test } from "vitest";

import type { FirmId } from "../../engine/base/ids.js";
import { SCOPES } from "../../engine/base/scopes.js";
import type { Actor } from "../../engine/identity/audit.js";
import type { Caller } from "../../engine/identity/caller.js";
import { createFirm, createIntegrator } from "../../engine/identity/firms.js";
import type { Identity } from "../../engine/identity/identity.js";
import { setProductionAuthorized } from "../../engine/storage/identity/firms.js";
import { fakeClock } from "../support/fake-clock.js";
import { ADDRESS, bind, callerOf, login, makeKey, refusalOf, startNode } from "../support/identity.js";
import { freshDatabase } from "../support/postgres.js";
import type { TestDatabase } from "../support/postgres.js";

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
  const caller: Caller = await callerOf(on, (await login(on, key, clock)).accessToken, clock);
  return { integratorId, caller };
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
  await setProductionAuthorized(db.sql, integratorId, false);
  expect(await node.acceptConsentOffer(answerOf(id, firmId))).toBe("unavailable");
  await setProductionAuthorized(db.sql, integratorId, true);
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
