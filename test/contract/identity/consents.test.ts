/**
 * Consent offers and firms as the tables of the specification write them, on a whole engine behind both forms of the
 * server. Each test quotes the line it holds.
 * @source spec/enterprise.md, Consent offers; States: firm and partner binding; spec/shapes.md, section 3
 */
import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "vitest";

import { systemClock } from "../../../engine/base/clock.js";
import { SCOPES } from "../../../engine/base/scopes.js";
import type { Scope } from "../../../engine/base/scopes.js";
import { createFirm } from "../../../engine/identity/firms.js";
import { accessToken, send, sendParts, invoiceXml, startTestEngine } from "../../support/engines/engine.js";
import type { HttpAnswer, TestEngine } from "../../support/engines/engine.js";
import { eventually } from "../../support/eventually.js";
import { serverForms } from "../../support/engines/gateway.js";
import {
  answerOffer,
  api,
  bindClient,
  faultOf,
  newClient,
  newFirmKey,
  newKey,
  newPartner,
  tokenOf,
  withdraw,
} from "../../support/callers/partners.js";
import type { Client, Partner } from "../../support/callers/partners.js";

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;
const INSTANT = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{3}Z$/;
const WISH: readonly Scope[] = ["documents:send", "documents:read"];

describe.each(serverForms)("the %s form", (form) => {
  let t: TestEngine;
  beforeAll(async () => {
    t = await startTestEngine({ form });
  });
  afterAll(() => t.stop());

  /** A partner with a client that is assigned to it and has not agreed to anything. */
  const assigned = async (): Promise<readonly [Partner, Client]> => {
    const [partner, client] = [await newPartner(t), await newClient(t)];
    await bindClient(t, partner, client, { state: "required", scopes: [], interfaces: [] });
    return [partner, client];
  };
  const offer = (partner: Partner, client: Client, changes: Record<string, unknown> = {}): Promise<HttpAnswer> =>
    api(t, partner.key.token, "POST /consent-offers", {
      body: { targetIdentifier: client.ico, requestedScopes: WISH, ...changes },
    });
  const statusOf = async (partner: Partner, client: Client): Promise<Record<string, unknown>> =>
    (await api(t, partner.key.token, `GET /firms/consent-status?firmId=${client.firmId}`)).json;
  const accepted = async (): Promise<readonly [Partner, Client]> => {
    const [partner, client] = await assigned();
    const made = await offer(partner, client, { requestedScopes: [...WISH, "firms:manage"] });
    expect(await answerOffer(t, String(made.json["id"]), client.firmId)).toBe("accepted");
    return [partner, client];
  };

  test("a call of the Connector for a firm whose consent does not cover it, or has been withdrawn, says what to do", async () => {
    const [partner, client] = await assigned();
    const made = await offer(partner, client, { customerReference: "K-77", requestedScopes: WISH });
    expect(await answerOffer(t, String(made.json["id"]), client.firmId)).toBe("accepted");
    const list = () => api(t, partner.key.token, "GET /connector/documents?customerRef=K-77");
    expect([(await list()).status, (await list()).json["error"]]).toEqual([
      403,
      expect.objectContaining({
        code: "FORBIDDEN",
        message: "The consent of this firm does not cover the Connector.",
        nextAction: expect.stringContaining("requestedInterface connector or all"),
      }),
    ]);
    await withdraw(t, partner, client);
    expect([(await list()).status, (await list()).json["error"]]).toEqual([
      403,
      expect.objectContaining({ nextAction: "Invite the firm with POST /consent-offers." }),
    ]);
  });

  describe("POST /consent-offers", () => {
    // enterprise.md: "201 with the id and the one-time consentUrl; header Cache-Control: no-store"
    // rulings.md §8: "{id, consentUrl, customerReference, relationshipMode, requestedInterface, requestedScopes, status, expiresAt, createdAt}", "Offers expire after 14 days"
    test("POST /consent-offers answers the invitation with its link", async () => {
      const [partner, client] = await assigned();
      const answer = await offer(partner, client, { customerReference: "K-1" });
      expect(answer.status).toBe(201);
      expect(answer.headers.get("cache-control")).toBe("no-store");
      expect(answer.json).toEqual({
        id: expect.stringMatching(UUID),
        consentUrl: expect.stringMatching(/^http:\/\/[^/]+\/consent\/[A-Za-z0-9_-]{43}$/),
        targetIdentifier: client.ico,
        customerReference: "K-1",
        relationshipMode: "technical_delegation",
        requestedInterface: "enterprise_api",
        requestedScopes: WISH,
        status: "issued",
        expiresAt: expect.stringMatching(INSTANT),
        createdAt: expect.stringMatching(INSTANT),
      });
      const { createdAt, expiresAt } = answer.json;
      expect(Date.parse(String(expiresAt)) - Date.parse(String(createdAt))).toBe(14 * 86_400_000);
    });

    // enterprise.md: "returned once on creation, never on read"; reliability.md A-14
    test("the secret of a link stands nowhere but in the answer that made it", async () => {
      const [partner, client] = await assigned();
      const { id, consentUrl } = (await offer(partner, client)).json;
      const secret = String(consentUrl).split("/consent/")[1] ?? "";
      const read = await api(t, partner.key.token, `GET /consent-offers/${String(id)}`);
      expect(read.text).not.toContain(secret);
      expect((await api(t, partner.key.token, "GET /audit")).text).not.toContain(secret);
      expect(t.lines.join("\n")).not.toContain(secret);
      const rows = await t.db.sql`select row_to_json(o)::text as row from consent_offer o`;
      expect(JSON.stringify(rows)).not.toContain(secret);
    });

    // enterprise.md: "POST is not idempotent"; customerReference "does not deduplicate requests"
    test("two equal invitations are two, each with a link of its own", async () => {
      const [partner, client] = await assigned();
      const [one, two] = [
        await offer(partner, client, { customerReference: "K-2" }),
        await offer(partner, client, { customerReference: "K-2" }),
      ];
      expect(one.json["id"]).not.toBe(two.json["id"]);
      expect(one.json["consentUrl"]).not.toBe(two.json["consentUrl"]);
    });

    // enterprise.md: "VALIDATION_ERROR | 400 on consent offers"
    test.each([
      ["no target", { targetIdentifier: undefined }],
      ["a target that is no id", { targetIdentifier: "123" }],
      ["no scopes", { requestedScopes: [] }],
      ["a scope that firms cannot give", { requestedScopes: ["keys:manage"] }],
      ["an unknown relationship", { relationshipMode: "friendship" }],
      ["an unknown interface", { requestedInterface: "soap" }],
      ["a reference of 129 characters", { customerReference: "x".repeat(129) }],
    ])("an invitation with %s is 400 VALIDATION_ERROR", async (_, changes) => {
      const [partner, client] = await assigned();
      const answer = await offer(partner, client, changes);
      expect(faultOf(answer)).toEqual([400, "VALIDATION_ERROR"]);
      expect(answer.headers.get("cache-control")).toBe("no-store");
    });

    // enterprise.md: "PARTNER_NOT_AUTHORIZED, INSUFFICIENT_SCOPE, PARTNER_OFFER_UNAVAILABLE | 403 on consent offers"
    test("keys of firms and for one firm are 403 PARTNER_NOT_AUTHORIZED", async () => {
      const [partner, client] = await accepted();
      const firmKey = await newFirmKey(t, client.firmId, SCOPES);
      const scoped = await newKey(t, { integratorId: partner.integratorId, scopedFirmId: client.firmId }, [
        "firms:manage",
      ]);
      for (const token of [firmKey.token, scoped.token]) {
        const answer = await api(t, token, "POST /consent-offers", { body: {} });
        expect(faultOf(answer)).toEqual([403, "PARTNER_NOT_AUTHORIZED"]);
        expect(answer.headers.get("cache-control")).toBe("no-store");
      }
    });

    // enterprise.md: "caller JWT and key both need scope firms:manage"; "scopes must be authorized by … key"
    test("a token without firms:manage, or one that has less than it asks for, is 403 INSUFFICIENT_SCOPE", async () => {
      const [partner, client] = await assigned();
      const body = { targetIdentifier: client.ico, requestedScopes: WISH };
      const without = await tokenOf(t, partner.key, "documents:send documents:read");
      expect(faultOf(await api(t, without, "POST /consent-offers", { body }))).toEqual([403, "INSUFFICIENT_SCOPE"]);
      const less = await tokenOf(t, partner.key, "firms:manage documents:read");
      const answer = await api(t, less, "POST /consent-offers", { body });
      expect(faultOf(answer)).toEqual([403, "INSUFFICIENT_SCOPE"]);
      expect(answer.json["error"]).toMatchObject({ field: "requestedScopes" });
    });

    // enterprise.md: "In sandbox the call targets only an already assigned synthetic company"
    test("a company that is unknown, not assigned, or not synthetic is 403 PARTNER_OFFER_UNAVAILABLE, each alike", async () => {
      const [partner, stranger] = [await newPartner(t), await newClient(t)];
      const real = await createFirm(
        { sql: t.db.sql, clock: systemClock },
        { name: "Skutočná a. s.", ico: "60000001", sandbox: false },
      );
      await bindClient(t, partner, { ...stranger, firmId: real }, { state: "required" });
      for (const target of ["99999999", stranger.ico, "60000001"]) {
        const answer = await offer(partner, stranger, { targetIdentifier: target });
        expect(faultOf(answer)).toEqual([403, "PARTNER_OFFER_UNAVAILABLE"]);
      }
    });

    // enterprise.md: "PAYLOAD_TOO_LARGE | 413 on create consent offer"
    test("an invitation of more than 1 MB is 413 PAYLOAD_TOO_LARGE", async () => {
      const [partner, client] = await assigned();
      const answer = await offer(partner, client, { note: "x".repeat(1_100_000) });
      expect(faultOf(answer)).toEqual([413, "PAYLOAD_TOO_LARGE"]);
      expect(answer.headers.get("cache-control")).toBe("no-store");
    });

    // enterprise.md: "No X-Firm-Id"
    test("an invitation with X-Firm-Id is 400", async () => {
      const [partner, client] = await assigned();
      const answer = await api(t, partner.key.token, "POST /consent-offers", {
        body: { targetIdentifier: client.ico, requestedScopes: WISH },
        headers: { "x-firm-id": client.firmId },
      });
      expect(faultOf(answer)).toEqual([400, "FIRM_CONTEXT_FORBIDDEN"]);
    });

    // enterprise.md, Limits: "Consent offer create | 30 per minute per partner key", "Consent offer read | 60 per minute per partner key"
    test("a key makes 30 invitations a minute and reads 60, and another key has its own", async () => {
      const partner = await newPartner(t);
      const other = await newKey(t, { integratorId: partner.integratorId });
      const create = (token: string): Promise<HttpAnswer> => api(t, token, "POST /consent-offers", { body: {} });
      const read = (token: string): Promise<HttpAnswer> => api(t, token, `GET /consent-offers/${randomUUID()}`);
      for (const [call, limit, usual] of [
        [create, 30, 400],
        [read, 60, 404],
      ] as const) {
        const answers = await Promise.all(Array.from({ length: limit }, () => call(partner.key.token)));
        expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([usual]));
        expect(answers[0]?.headers.get("x-ratelimit-limit")).toBe(String(limit));
        const refused = await call(partner.key.token);
        expect(faultOf(refused)).toEqual([429, "RATE_LIMITED"]);
        expect(refused.headers.get("retry-after")).toMatch(/^[1-9]\d*$/);
        expect((await call(other.token)).status).toBe(usual);
      }
    });
  });

  describe("GET /consent-offers/{offerId}", () => {
    // enterprise.md: "200 invitation status (not activation readiness); 404 for unknown or unowned ids"
    test("an invitation is read by its integrator and is unknown to any other", async () => {
      const [partner, client] = await assigned();
      const made = (await offer(partner, client)).json;
      const line = `GET /consent-offers/${String(made["id"])}`;
      const { consentUrl: _link, ...shown } = made;
      const read = await api(t, partner.key.token, line);
      expect([read.status, read.json]).toEqual([200, shown]);
      expect(read.headers.get("cache-control")).toBe("no-store");
      const other = await newPartner(t);
      for (const [token, foreign] of [
        [other.key.token, line],
        [partner.key.token, `GET /consent-offers/${randomUUID()}`],
        [partner.key.token, "GET /consent-offers/none"],
      ] as const) {
        const answer = await api(t, token, foreign);
        expect(faultOf(answer)).toEqual([404, "NOT_FOUND"]);
        expect(answer.headers.get("cache-control")).toBe("no-store");
      }
    });

    // rulings.md §8: "status: issued, viewed, accepted, declined, expired, withdrawn"
    test("an invitation shows what became of it", async () => {
      const [partner, client] = await assigned();
      const status = async (id: unknown): Promise<unknown> =>
        (await api(t, partner.key.token, `GET /consent-offers/${String(id)}`)).json["status"];
      const [yes, no, late, lost] = [
        (await offer(partner, client)).json["id"],
        (await offer(partner, client)).json["id"],
        (await offer(partner, client)).json["id"],
        (await offer(partner, client)).json["id"],
      ];
      await answerOffer(t, String(yes), client.firmId);
      await answerOffer(t, String(no), client.firmId, "decline");
      await t.db.sql`update consent_offer set created_at = created_at - interval '15 days',
        expires_at = expires_at - interval '15 days' where id = ${String(late)}`;
      expect([await status(yes), await status(no), await status(late), await status(lost)]).toEqual([
        "accepted",
        "declined",
        "expired",
        "issued",
      ]);
      const other = await newKey(t, { integratorId: partner.integratorId });
      await api(t, other.token, `DELETE /integrator/keys/${partner.key.id}`);
      const seen = await api(t, other.token, `GET /consent-offers/${String(lost)}`);
      expect(seen.json["status"]).toBe("withdrawn");
      expect(await answerOffer(t, String(lost), client.firmId)).toBe("withdrawn");
      expect(await answerOffer(t, String(late), client.firmId)).toBe("expired");
    });
  });

  describe("POST /firms/consent-link", () => {
    // shapes.md §3: "{dic | ico (exactly one), customer_reference? (<=120), scopes[]}" → "{id, consent_url, customer_reference, integration_path:"enterprise_api", requested_interfaces:["enterprise_api"], scopes, status:"issued", expires_at, created_at}"
    test.each(["ico", "dic"] as const)("POST /firms/consent-link by %s answers the older form", async (name) => {
      const [partner, client] = await assigned();
      const answer = await api(t, partner.key.token, "POST /firms/consent-link", {
        body: { [name]: client[name], customer_reference: "K-3", scopes: ["firms:manage", "documents:read"] },
      });
      expect(answer.status).toBe(201);
      expect(answer.json).toEqual({
        id: expect.stringMatching(UUID),
        consent_url: expect.stringMatching(/\/consent\/[A-Za-z0-9_-]{43}$/),
        customer_reference: "K-3",
        integration_path: "enterprise_api",
        requested_interfaces: ["enterprise_api"],
        scopes: ["firms:manage", "documents:read"],
        status: "issued",
        expires_at: expect.stringMatching(INSTANT),
        created_at: expect.stringMatching(INSTANT),
      });
      expect((await api(t, partner.key.token, `GET /consent-offers/${String(answer.json["id"])}`)).status).toBe(200);
    });

    // shapes.md §3: "scopes hold firms:manage and at least one documents:*", "exactly one", "<=120"
    test.each([
      ["both ids", { ico: "50000001", dic: "2050000001" }],
      ["no id", { ico: undefined }],
      ["no firms:manage", { scopes: ["documents:read"] }],
      ["no documents scope", { scopes: ["firms:manage", "account:read"] }],
      ["a reference of 121 characters", { customer_reference: "x".repeat(121) }],
    ])("POST /firms/consent-link with %s is 400", async (_, changes) => {
      const partner = await newPartner(t);
      const body = { ico: "50000001", scopes: ["firms:manage", "documents:read"], ...changes };
      expect(faultOf(await api(t, partner.key.token, "POST /firms/consent-link", { body }))).toEqual([
        400,
        "VALIDATION_ERROR",
      ]);
    });
  });

  describe("the answer of the company", () => {
    test("an accepted invitation lets the integrator's token act for the firm at once, with its scopes and no more", async () => {
      const [partner, client] = await assigned();
      const line = `GET /firms/${client.firmId}/documents`;
      expect((await api(t, partner.key.token, line)).status).toBe(404);
      const made = await offer(partner, client, { requestedScopes: ["documents:read"], customerReference: "K-4" });
      expect(await answerOffer(t, String(made.json["id"]), client.firmId)).toBe("accepted");
      expect((await api(t, partner.key.token, line)).status).toBe(200);
      expect(faultOf(await api(t, partner.key.token, `GET /firms/${client.firmId}`))).toEqual([
        403,
        "INSUFFICIENT_SCOPE",
      ]);
      expect(await statusOf(partner, client)).toMatchObject({
        state: "active",
        interface: "enterprise_api",
        scopes: ["documents:read"],
        customerReference: "K-4",
      });
    });

    // rulings.md §8: "accepting twice is one consent"
    test("accepting twice is one consent, and what was declined stays so", async () => {
      const [partner, client] = await assigned();
      const id = String((await offer(partner, client)).json["id"]);
      expect(await answerOffer(t, id, client.firmId)).toBe("accepted");
      expect(await answerOffer(t, id, client.firmId)).toBe("already");
      expect(await answerOffer(t, id, client.firmId, "decline")).toBe("accepted");
      const declined = String((await offer(partner, client)).json["id"]);
      expect(await answerOffer(t, declined, client.firmId, "decline")).toBe("declined");
      expect(await answerOffer(t, declined, client.firmId)).toBe("declined");
      const rows = await t.db
        .sql`select event from audit_entry where target_id in (${id}, ${declined}) order by position`;
      expect(rows.map(({ event }) => String(event))).toEqual([
        "consent_offer.created",
        "consent.accepted",
        "consent_offer.created",
        "consent.declined",
      ]);
    });

    // enterprise.md: targetIdentifier "binds the invitation to a company"
    test("another company cannot accept an invitation", async () => {
      const [partner, client] = await assigned();
      const id = String((await offer(partner, client)).json["id"]);
      const other = await newClient(t);
      expect(await answerOffer(t, id, other.firmId)).toBe("unknown");
      expect(await answerOffer(t, randomUUID(), client.firmId)).toBe("unknown");
      expect((await statusOf(partner, client))["state"]).toBe("pending");
    });

    // enterprise.md: "The issuing key and the requested scopes are rechecked at acceptance."
    test("an invitation whose key has lost a scope since cannot be accepted", async () => {
      const [partner, client] = await assigned();
      const id = String((await offer(partner, client)).json["id"]);
      await t.db.sql`update api_key set scopes = array['firms:manage', 'documents:read'] where id = ${partner.key.id}`;
      expect(await answerOffer(t, id, client.firmId)).toBe("withdrawn");
    });

    test("two firms under one reference keep it for the first, and the second has none", async () => {
      const [partner, one] = await assigned();
      const two = await newClient(t);
      await bindClient(t, partner, two, { state: "required", scopes: [], interfaces: [] });
      for (const client of [one, two]) {
        const made = await offer(partner, client, { customerReference: "K-5" });
        expect(await answerOffer(t, String(made.json["id"]), client.firmId)).toBe("accepted");
      }
      expect((await statusOf(partner, one))["customerReference"]).toBe("K-5");
      expect((await statusOf(partner, two))["customerReference"]).toBeNull();
    });
  });

  describe("GET /firms/consent-status", () => {
    // rulings.md §8: "{state: required|pending|active|revoked, interface, scopes[], customerReference, firmId|null, updatedAt}"
    test("consent is required, pending, active, revoked, and pending again", async () => {
      const [partner, client] = await assigned();
      expect(await statusOf(partner, client)).toMatchObject({ state: "required", scopes: [], firmId: client.firmId });
      const made = await offer(partner, client);
      expect(await statusOf(partner, client)).toMatchObject({ state: "pending", scopes: [] });
      await answerOffer(t, String(made.json["id"]), client.firmId);
      expect(await statusOf(partner, client)).toEqual({
        state: "active",
        interface: "enterprise_api",
        scopes: WISH,
        customerReference: null,
        firmId: client.firmId,
        updatedAt: expect.stringMatching(INSTANT),
      });
      // One more invitation that nobody has answered does not hide that the firm has withdrawn.
      await offer(partner, client, { requestedInterface: "sapi" });
      await withdraw(t, partner, client);
      expect(await statusOf(partner, client)).toMatchObject({ state: "revoked", scopes: [] });
      await offer(partner, client);
      expect((await statusOf(partner, client))["state"]).toBe("pending");
    });

    test("the consent of a firm is found by the integrator's own reference", async () => {
      const [partner, client] = await assigned();
      const made = await offer(partner, client, { customerReference: "K 6/ž" });
      const line = `GET /firms/consent-status?customerReference=${encodeURIComponent("K 6/ž")}`;
      expect((await api(t, partner.key.token, line)).json).toMatchObject({ state: "pending", firmId: null });
      await answerOffer(t, String(made.json["id"]), client.firmId);
      expect((await api(t, partner.key.token, line)).json).toMatchObject({ state: "active", firmId: client.firmId });
    });

    test("a firm that exists and one that does not are told alike to an integrator that has nothing to do with them", async () => {
      const [partner, stranger] = [await newPartner(t), await newClient(t)];
      const told = await Promise.all(
        [stranger.firmId, randomUUID()].map(async (firmId) => {
          const { json } = await api(t, partner.key.token, `GET /firms/consent-status?firmId=${firmId}`);
          return { ...json, firmId: json["firmId"] === firmId };
        }),
      );
      expect(told[0]).toEqual(told[1]);
      expect(told[0]).toMatchObject({ state: "required", scopes: [], updatedAt: null });
    });

    test.each(["", "?firmId=x", "?customerReference=", `?firmId=${randomUUID()}&customerReference=a`])(
      "consent-status with the query '%s' is 400",
      async (query) => {
        const partner = await newPartner(t);
        expect((await api(t, partner.key.token, `GET /firms/consent-status${query}`)).status).toBe(400);
      },
    );
  });

  describe("the withdrawal of consent", () => {
    // enterprise.md, States: "partner access to that firm ends at once; JWTs already issued for that firm stop working; keys for that firm are deactivated; the firm account and Peppol mailbox stay; a new consent does not revive old keys"
    test("a withdrawal ends the integrator's access at once, and a new consent revives neither keys nor tokens", async () => {
      const [partner, client] = await accepted();
      const made = (await api(t, partner.key.token, "POST /integrator/keys", { body: { scopedFirmId: client.firmId } }))
        .json;
      const scoped = await accessToken(t.sandbox, { clientId: String(made["id"]), clientSecret: String(made["key"]) });
      const old = await tokenOf(t, partner.key);
      const line = `GET /firms/${client.firmId}`;
      expect([(await api(t, scoped, line)).status, (await api(t, old, line)).status]).toEqual([200, 200]);
      expect(await withdraw(t, partner, client)).toBe(true);
      await eventually("the node hears of the withdrawal", async () => (await api(t, scoped, line)).status === 401);
      expect((await api(t, old, line)).status).toBe(404);
      await bindClient(t, partner, client);
      expect((await api(t, scoped, line)).status).toBe(401);
      expect((await api(t, old, line)).status).toBe(404);
      expect((await api(t, await tokenOf(t, partner.key), line)).status).toBe(200);
      await expect(
        accessToken(t.sandbox, { clientId: String(made["id"]), clientSecret: String(made["key"]) }),
      ).rejects.toThrow(/401/);
      const own = await newFirmKey(t, client.firmId);
      expect((await api(t, own.token, "GET /account")).json["firm"]).toMatchObject({ peppolId: client.participantId });
    });

    // enterprise.md, States: required is "not connected or needs a new invitation", pending is "an invitation … in progress"
    test("a withdrawal ends the open invitations of that integrator to that firm, and no other one", async () => {
      const [partner, client] = await accepted();
      const [other, ours] = [await newPartner(t), await newClient(t)];
      const unbound = { state: "required", scopes: [], interfaces: [] } as const;
      await bindClient(t, other, client, unbound);
      await bindClient(t, partner, ours, unbound);
      const made = async (by: Partner, to: Client, changes = {}): Promise<string> =>
        String((await offer(by, to, changes)).json["id"]);
      const ended = [
        await made(partner, client, { customerReference: "K-7" }),
        await made(partner, client, { targetIdentifier: client.dic }),
      ];
      const [theirs, another] = [await made(other, client), await made(partner, ours)];
      const named = async (): Promise<unknown> =>
        (await api(t, partner.key.token, "GET /firms/consent-status?customerReference=K-7")).json["state"];
      expect(await named()).toBe("pending");
      await withdraw(t, partner, client);
      expect(await named()).toBe("required");
      for (const id of ended) {
        expect((await api(t, partner.key.token, `GET /consent-offers/${id}`)).json["status"]).toBe("withdrawn");
        expect(await answerOffer(t, id, client.firmId)).toBe("withdrawn");
      }
      expect((await statusOf(partner, client))["state"]).toBe("revoked");
      expect(await answerOffer(t, theirs, client.firmId)).toBe("accepted");
      expect(await answerOffer(t, another, ours.firmId)).toBe("accepted");
      expect(await answerOffer(t, await made(partner, client), client.firmId)).toBe("accepted");
    });
  });

  describe("firms", () => {
    // shapes.md §3: "GET /firms → {firms[{id,name,ico,vatRegType|null,isVatPayer,peppolId,peppolStatus}]}"
    test("GET /firms lists the firms that have agreed, page by page", async () => {
      const partner = await newPartner(t);
      const clients = [await newClient(t), await newClient(t), await newClient(t)];
      for (const client of clients) await bindClient(t, partner, client);
      await bindClient(t, partner, await newClient(t), { state: "pending" });
      // Pages follow the ids, and ids of one millisecond come in no order.
      clients.sort((a, b) => (a.firmId < b.firmId ? -1 : 1));
      const answer = await api(t, partner.key.token, "GET /firms");
      expect(answer.json).toEqual({
        firms: clients.map(({ firmId, ico, participantId }) => ({
          id: firmId,
          name: "Pekáreň s. r. o.",
          ico,
          vatRegType: null,
          isVatPayer: true,
          peppolId: participantId,
          peppolStatus: "registered",
        })),
        nextCursor: null,
      });
      const first = (await api(t, partner.key.token, "GET /firms?limit=2")).json;
      const second = (await api(t, partner.key.token, `GET /firms?limit=2&cursor=${String(first["nextCursor"])}`)).json;
      expect([...(first["firms"] as unknown[]), ...(second["firms"] as unknown[])]).toEqual(answer.json["firms"]);
      expect(second["nextCursor"]).toBeNull();
      expect((await api(t, partner.key.token, "GET /firms?cursor=abc")).status).toBe(400);
    });

    test("a key for one firm lists and reads that firm alone", async () => {
      const [partner, mine, other] = [await newPartner(t), await newClient(t), await newClient(t)];
      await bindClient(t, partner, mine);
      await bindClient(t, partner, other);
      const scoped = await newKey(t, { integratorId: partner.integratorId, scopedFirmId: mine.firmId }, [
        "firms:manage",
      ]);
      const { firms } = (await api(t, scoped.token, "GET /firms")).json as { firms: { id: string }[] };
      expect(firms.map(({ id }) => id)).toEqual([mine.firmId]);
      expect((await api(t, scoped.token, `GET /firms/${other.firmId}`)).status).toBe(404);
    });

    // shapes.md §3: "GET /firms/{id} adds dic, icDph, address{street,city,zip}, plan, createdAt"
    test("GET /firms/{id} adds ids, address, plan and time", async () => {
      const [partner, client] = await accepted();
      expect((await api(t, partner.key.token, `GET /firms/${client.firmId}`)).json).toEqual({
        id: client.firmId,
        name: "Pekáreň s. r. o.",
        ico: client.ico,
        vatRegType: null,
        isVatPayer: true,
        peppolId: client.participantId,
        peppolStatus: "registered",
        dic: client.dic,
        icDph: `SK${client.dic}`,
        address: { street: "Hlavná 1", city: "Žilina", zip: "010 01" },
        plan: "Standard",
        createdAt: expect.stringMatching(INSTANT),
      });
    });

    test("a firm that does not exist, is not bound, or has withdrawn is one and the same 404", async () => {
      const [partner, stranger, gone] = [await newPartner(t), await newClient(t), await newClient(t)];
      await bindClient(t, partner, gone);
      await withdraw(t, partner, gone);
      const token = await tokenOf(t, partner.key);
      for (const path of ["", "/documents"])
        for (const id of [randomUUID(), stranger.firmId, gone.firmId, "x"])
          expect(faultOf(await api(t, token, `GET /firms/${id}${path}`))).toEqual([404, "NOT_FOUND"]);
    });

    // shapes.md §3: "GET /firms/{id}/documents?page&page_size&direction&status&from&to"
    test("GET /firms/{id}/documents shows what the firm sent and received, filtered and page by page", async () => {
      const [partner, one, two] = [await newPartner(t), await newClient(t), await newClient(t)];
      for (const client of [one, two]) await bindClient(t, partner, client);
      const sender = { participantId: one.participantId, token: (await newFirmKey(t, one.firmId)).token };
      const { receiver } = t.sandbox;
      const xml = invoiceXml(one.participantId, receiver.participantId, { number: "F-77" });
      const sent = await send(t.sandbox, sender, sendParts(one.participantId, receiver.participantId, xml));
      expect(sent.status).toBe(202);
      const list = async (client: Client, query = ""): Promise<HttpAnswer> =>
        api(t, partner.key.token, `GET /firms/${client.firmId}/documents${query}`);
      const answer = (await list(one)).json;
      expect(answer).toEqual({
        documents: [
          {
            id: expect.stringMatching(UUID),
            direction: "outbound",
            status: expect.stringMatching(/^(queued|sent|delivered)$/),
            documentType: expect.any(String),
            processId: expect.any(String),
            senderPeppolId: one.participantId,
            receiverPeppolId: receiver.participantId,
            number: "F-77",
            createdAt: expect.stringMatching(INSTANT),
          },
        ],
        pagination: { page: 1, page_size: 20, total: 1 },
      });
      for (const query of ["?direction=inbound", "?status=rejected", "?to=2001-01-01T00:00:00Z", "?page=2"])
        expect((await list(one, query)).json["documents"], query).toEqual([]);
      expect((await list(two)).json["pagination"]).toEqual({ page: 1, page_size: 20, total: 0 });
      for (const query of ["?page=0", "?page_size=101", "?direction=up", "?status=x", "?from=x"])
        expect((await list(one, query)).status, query).toBe(400);
    });

    // shapes.md §3: "POST /firms/assign {ico} → {firm{id,name,ico,peppol_id,peppol_status}, status:"active"}; 404 FIRM_NOT_REGISTERED, 403 CONSENT_REQUIRED, 409 ALREADY_LINKED"
    test("POST /firms/assign links a firm that has agreed, and says why it does not link any other", async () => {
      const [partner, client] = await accepted();
      const assign = (ico: unknown): Promise<HttpAnswer> =>
        api(t, partner.key.token, "POST /firms/assign", { body: { ico } });
      expect(faultOf(await assign(client.ico))).toEqual([409, "ALREADY_LINKED"]);
      await t.db.sql`update firm_binding set state = 'pending' where firm_id = ${client.firmId}`;
      const answer = await assign(client.ico);
      expect([answer.status, answer.json]).toEqual([
        200,
        {
          firm: {
            id: client.firmId,
            name: "Pekáreň s. r. o.",
            ico: client.ico,
            peppol_id: client.participantId,
            peppol_status: "registered",
          },
          status: "active",
        },
      ]);
      expect(faultOf(await assign("99999998"))).toEqual([404, "FIRM_NOT_REGISTERED"]);
      const stranger = await newClient(t);
      const refused = await assign(stranger.ico);
      expect(faultOf(refused)).toEqual([403, "CONSENT_REQUIRED"]);
      expect(refused.json["error"]).toMatchObject({ nextAction: expect.stringContaining("/consent-offers") });
      expect(faultOf(await assign("1"))).toEqual([400, "VALIDATION_ERROR"]);
    });

    // shapes.md §3: "POST /firms/assign/batch {icos[<=50]}"
    test("POST /firms/assign/batch gives each firm its own outcome", async () => {
      const [partner, client] = await accepted();
      await t.db.sql`update firm_binding set state = 'pending' where firm_id = ${client.firmId}`;
      const batch = (icos: unknown): Promise<HttpAnswer> =>
        api(t, partner.key.token, "POST /firms/assign/batch", { body: { icos } });
      const answer = await batch([client.ico, "99999997", client.ico]);
      expect(answer.json).toMatchObject({
        total: 3,
        succeeded: 1,
        failed: 2,
        results: [
          { ico: client.ico, status: "active", error: null, firm: { id: client.firmId } },
          { ico: "99999997", status: "failed", error: { code: "FIRM_NOT_REGISTERED" }, firm: null },
          { ico: client.ico, status: "failed", error: { code: "ALREADY_LINKED" }, firm: null },
        ],
      });
      expect((await batch(Array.from({ length: 51 }, () => client.ico))).status).toBe(400);
      expect((await batch([])).status).toBe(400);
    });

    // sapi.md, Rules, 4: "Outbound status after send is read from the Enterprise endpoints … using providerDocumentId as
    // id and scope documents:read (with X-Firm-Id for a central key)"
    test("who was allowed SAPI alone reads what became of what it sent, and nothing else of the Enterprise interface", async () => {
      const [partner, client] = await assigned();
      const made = await offer(partner, client, { requestedInterface: "sapi" });
      expect(await answerOffer(t, String(made.json["id"]), client.firmId)).toBe("accepted");
      const { participantId: to } = t.sandbox.receiver;
      const from = { participantId: client.participantId, token: partner.key.token };
      const parts = sendParts(from.participantId, to, invoiceXml(from.participantId, to));
      const sent = await send(t.sandbox, from, parts);
      expect(sent.status, sent.text).toBe(202);
      const read = (path: string, token = partner.key.token): Promise<HttpAnswer> =>
        api(t, token, `GET /documents/${path}`, { headers: { "x-firm-id": client.firmId } });
      const id = String(sent.json["providerDocumentId"]);
      for (const path of ["status", "events"]) expect((await read(`${id}/${path}`)).status).toBe(200);
      for (const path of [`${id}`, `${id}/ubl`, "inbox", "outbox"])
        expect(faultOf(await read(path))).toEqual([403, "FORBIDDEN"]);
      const sendOnly = await tokenOf(t, partner.key, "documents:send");
      expect(faultOf(await read(`${id}/status`, sendOnly))).toEqual([403, "INSUFFICIENT_SCOPE"]);
      const stranger = await newPartner(t);
      expect(faultOf(await read(`${id}/status`, stranger.key.token))).toEqual([403, "FORBIDDEN"]);
      await withdraw(t, partner, client);
      expect(faultOf(await read(`${id}/status`))).toEqual([403, "FORBIDDEN"]);
    });

    // shapes.md §3: "POST /firms/{id}/peppol-identifiers {scheme,identifier} → {peppolId, registrationStatus, message}"
    test("a firm gets its own tax id as identifier and no other", async () => {
      const partner = await newPartner(t);
      const ports = { sql: t.db.sql, clock: systemClock };
      const firmId = await createFirm(ports, { name: "Nová s. r. o.", dic: "2060000001", sandbox: true });
      const victim = await newClient(t);
      const client = { ...victim, firmId };
      await bindClient(t, partner, client);
      const add = (scheme: string, identifier: string): Promise<HttpAnswer> =>
        api(t, partner.key.token, `POST /firms/${firmId}/peppol-identifiers`, { body: { scheme, identifier } });
      for (const [scheme, identifier] of [
        ["0245", victim.dic],
        ["9950", "2060000001"],
        ["0242", "000123"],
      ] as const)
        expect(faultOf(await add(scheme, identifier))).toEqual([403, "IDENTIFIER_NOT_OWNED"]);
      for (const expected of ["The participant is registered.", "The participant was registered for this firm before."])
        expect((await add("0245", "2060000001")).json).toEqual({
          peppolId: "0245:2060000001",
          registrationStatus: "registered",
          message: expected,
        });
      expect((await api(t, partner.key.token, `GET /firms/${firmId}`)).json).toMatchObject({
        peppolId: "0245:2060000001",
        peppolStatus: "registered",
      });
    });
  });
});
