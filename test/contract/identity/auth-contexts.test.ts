/**
 * For whom a call may be made, as the two specifications write it, over HTTP on both forms of the server with real tokens.
 * @source spec/sapi.md, Authentication and Errors; spec/enterprise.md, conventions and Authentication; design/reliability.md, A-08, A-09
 */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { z } from "zod";

import { bindFirm } from "../../../engine/identity/firms.js";
import type { Identity } from "../../../engine/identity/identity.js";
import type { CreatedKey } from "../../../engine/identity/keys.js";
import { createAuthPorts } from "../../../gateway/request/auth.js";
import { route } from "../../../gateway/contract/route.js";
import type { Route } from "../../../gateway/contract/route.js";
import { fakeClock } from "../../support/fake-clock.js";
import { serverForms, startGateway, wire } from "../../support/engines/gateway.js";
import type { TestGateway } from "../../support/engines/gateway.js";
import {
  bind,
  login,
  makeFirm,
  makeIntegrator,
  makeKey,
  newParticipantId,
  startNode,
} from "../../support/callers/identity.js";
import type { TestFirm, TestIntegrator } from "../../support/callers/identity.js";
import { freshDatabase } from "../../support/database/postgres.js";
import type { TestDatabase } from "../../support/database/postgres.js";

const shown = z.object({ firmId: z.string(), participantId: z.string().nullable(), scopes: z.array(z.string()) });
const ok = { 200: { description: "For whom the call was made.", schema: shown } } as const;
const bearer = {
  credential: "bearer",
  errors: [],
  summary: "A row of this test",
  method: "GET",
  responses: ok,
} as const;

/** One row for each kind of context. */
const rows: readonly Route[] = [
  route({
    ...bearer,
    operation: "sapiProbe",
    path: "/probe",
    mounts: ["/sapi/v1"],
    family: "sapi",
    context: "participant",
    scopes: ["documents:read"],
    handler: ({ participant }) => ({
      status: 200,
      body: { firmId: participant.firmId, participantId: participant.participantId, scopes: [...participant.scopes] },
    }),
  }),
  route({
    ...bearer,
    operation: "firmProbe",
    path: "/probe",
    mounts: ["/api/v1"],
    family: "enterprise",
    context: "firm",
    scopes: ["documents:read"],
    handler: ({ firm }) => ({
      status: 200,
      body: { firmId: firm.firmId, participantId: null, scopes: [...firm.scopes] },
    }),
  }),
  route({
    ...bearer,
    credential: "partner_unrestricted",
    operation: "partnerProbe",
    path: "/partner-probe",
    mounts: ["/api/v1"],
    family: "enterprise",
    context: "forbidden",
    scopes: ["firms:manage"],
    handler: ({ caller }) => ({ status: 200, body: { firmId: "", participantId: null, scopes: [...caller.scopes] } }),
  }),
];

interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly body: Record<string, unknown>;
}

describe.each(serverForms)("the %s form", (form) => {
  let db: TestDatabase;
  let node: Identity;
  /** A second node, which can wait until the first has heard of a change that this test made by SQL. */
  let observer: Identity;
  let gateway: TestGateway;
  let firm: TestFirm;
  let foreign: TestFirm;
  let partner: TestIntegrator;
  const clock = fakeClock();

  beforeAll(async () => {
    db = await freshDatabase();
    node = await startNode(db, { clock });
    observer = await startNode(db, { clock });
    gateway = await startGateway(form, rows, { ports: { ...createAuthPorts(node, undefined), clock } });
    [firm, foreign, partner] = [await makeFirm(db, clock), await makeFirm(db, clock), await makeIntegrator(db, clock)];
    await bind(db, clock, partner.integratorId, firm.firmId, ["documents:send", "documents:read"]);
  });
  afterAll(async () => {
    await gateway.stop();
    await Promise.all([node.stop(), observer.stop()]);
    await db.drop();
  });

  const tokenOf = async (key: CreatedKey, scope?: string): Promise<string> =>
    (await login(node, key, clock, scope)).accessToken;
  const get = async (path: string, token: string, headers: Record<string, string> = {}): Promise<Answer> => {
    const response = await fetch(`${gateway.origin}${path}`, {
      headers: { authorization: `Bearer ${token}`, ...headers },
    });
    return {
      status: response.status,
      headers: response.headers,
      body: (await response.json()) as Record<string, unknown>,
    };
  };
  const sapi = (token: string, participant: string, more: Record<string, string> = {}): Promise<Answer> =>
    get("/sapi/v1/probe", token, { "x-peppol-participant-id": participant, ...more });
  const enterprise = (token: string, firmId?: string, more: Record<string, string> = {}): Promise<Answer> =>
    get("/api/v1/probe", token, { ...(firmId === undefined ? {} : { "x-firm-id": firmId }), ...more });
  const error = (answer: Answer): Record<string, unknown> => ({ ...(answer.body["error"] as Record<string, unknown>) });
  const fault = (answer: Answer): [number, unknown] => [answer.status, error(answer)["code"]];
  const anonymous = (answer: Answer): unknown => ({ ...error(answer), requestId: "", correlation_id: "" });

  describe("X-Peppol-Participant-Id", () => {
    // sapi.md: "firm sk_live_* (bound to a single firm)"; "Each request selects the firm with X-Peppol-Participant-Id."
    test("a firm key and a bound central key act for the participant, in both spellings of its id", async () => {
      for (const key of [firm.key, partner.key]) {
        for (const spelling of [firm.participantId, `iso6523-actorid-upis::${firm.participantId}`]) {
          expect((await sapi(await tokenOf(key), spelling)).body).toMatchObject({
            firmId: firm.firmId,
            participantId: firm.participantId,
          });
        }
      }
    });

    // sapi.md, Errors: "403 | FORBIDDEN | token does not own the participant in X-Peppol-Participant-Id"
    test("403, with one body for a foreign and an unknown participant", async () => {
      for (const key of [firm.key, partner.key]) {
        const answers = [
          await sapi(await tokenOf(key), foreign.participantId),
          await sapi(await tokenOf(key), newParticipantId()),
        ];
        for (const answer of answers) expect(fault(answer)).toEqual([403, "FORBIDDEN"]);
        expect(anonymous(answers[0] as Answer)).toEqual(anonymous(answers[1] as Answer));
      }
    });

    test("400 when X-Peppol-Participant-Id is missing, malformed or sent twice", async () => {
      const token = await tokenOf(firm.key);
      expect(fault(await get("/sapi/v1/probe", token))).toEqual([400, "VALIDATION"]);
      for (const id of ["x", "0245", "0245:", ":1", "0245:1 2"])
        expect(fault(await sapi(token, id))).toEqual([400, "VALIDATION"]);
      const twice = await wire(
        gateway.port,
        `GET /sapi/v1/probe HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${token}\r\nX-Peppol-Participant-Id: ${firm.participantId}\r\nx-peppol-participant-id: ${firm.participantId}\r\n\r\n`,
      );
      expect(twice?.status).toBe(400);
    });

    // sapi.md: "For a partner token the server checks: an active assignment …, an unrevoked firm consent, …, and the required scope in the token."
    test("a partner is refused when the consent does not name SAPI, is pending, or lacks the scope", async () => {
      const token = await tokenOf(partner.key);
      const other = await makeFirm(db, clock);
      const consent = { integratorId: partner.integratorId, firmId: other.firmId, scopes: ["documents:read"] } as const;
      const put = async (changes: Partial<Parameters<typeof bindFirm>[1]>): Promise<void> => {
        await bindFirm({ sql: db.sql, clock }, { ...consent, interfaces: ["sapi"], ...changes });
        await observer.settled();
      };
      await put({ interfaces: ["enterprise", "connector"] });
      expect(fault(await sapi(token, other.participantId))).toEqual([403, "FORBIDDEN"]);
      await put({ state: "pending" });
      expect(fault(await sapi(token, other.participantId))).toEqual([403, "FORBIDDEN"]);
      await put({ scopes: ["documents:send"] });
      expect(fault(await sapi(token, other.participantId))).toEqual([403, "FORBIDDEN"]);
      await put({});
      expect((await sapi(token, other.participantId)).status).toBe(200);
    });

    // sapi.md, Errors: 403 FORBIDDEN "required scope missing"; rulings.md §3: header WWW-Authenticate names the scope
    test("403 when the token lacks the scope", async () => {
      const answer = await sapi(await tokenOf(firm.key, "documents:send"), firm.participantId);
      expect(fault(answer)).toEqual([403, "FORBIDDEN"]);
      expect(answer.headers.get("www-authenticate")).toBe('Bearer error="insufficient_scope" scope="documents:read"');
    });

    // rulings.md §1: "X-Firm-Id on SAPI calls and X-Peppol-Participant-Id on Enterprise calls are ignored."
    test("X-Firm-Id is ignored on SAPI, X-Peppol-Participant-Id on Enterprise", async () => {
      const token = await tokenOf(firm.key);
      for (const value of [foreign.firmId, "nonsense"])
        expect((await sapi(token, firm.participantId, { "x-firm-id": value })).status).toBe(200);
      for (const value of [foreign.participantId, "nonsense"])
        expect((await enterprise(token, undefined, { "x-peppol-participant-id": value })).status).toBe(200);
    });
  });

  describe("X-Firm-Id", () => {
    // enterprise.md: "With a central sk_int_* send X-Firm-Id (uuid) on firm-scoped Enterprise calls. With sk_live_* do not send it."
    test("a firm key works without X-Firm-Id and is 400 FIRM_CONTEXT_FORBIDDEN with it", async () => {
      const token = await tokenOf(firm.key);
      expect((await enterprise(token)).body).toMatchObject({ firmId: firm.firmId });
      for (const id of [firm.firmId, foreign.firmId, "nonsense", ""])
        expect([id, ...fault(await enterprise(token, id))]).toEqual([id, 400, "FIRM_CONTEXT_FORBIDDEN"]);
    });

    // rulings.md §1: "missing where required: 400 FIRM_CONTEXT_REQUIRED whose message names the header"
    test("a central key needs X-Firm-Id: 400 FIRM_CONTEXT_REQUIRED names the header", async () => {
      const token = await tokenOf(partner.key);
      for (const answer of [
        await enterprise(token),
        await enterprise(token, "nonsense"),
        await enterprise(token, `${firm.firmId},${firm.firmId}`),
      ]) {
        expect(fault(answer)).toEqual([400, "FIRM_CONTEXT_REQUIRED"]);
        expect(error(answer)["message"]).toContain("X-Firm-Id");
      }
      const twice = await wire(
        gateway.port,
        `GET /api/v1/probe HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${token}\r\nX-Firm-Id: ${firm.firmId}\r\nX-FIRM-ID: ${firm.firmId}\r\n\r\n`,
      );
      expect(twice?.status).toBe(400);
    });

    // enterprise.md: "Effective permissions are always cut down to the scopes of the firm's consent."
    test("a central key acts for a bound firm, with the scopes that the firm has consented to, in any case of letters", async () => {
      for (const id of [firm.firmId, firm.firmId.toUpperCase()]) {
        expect((await enterprise(await tokenOf(partner.key), id)).body).toEqual({
          firmId: firm.firmId,
          participantId: null,
          scopes: ["documents:send", "documents:read"],
        });
      }
      expect(
        (await enterprise(await tokenOf(partner.key, "documents:read keys:manage"), firm.firmId)).body["scopes"],
      ).toEqual(["documents:read"]);
    });

    test("403 with one body for a foreign, an unbound and an unknown firm", async () => {
      const token = await tokenOf(partner.key);
      const answers = [
        await enterprise(token, foreign.firmId),
        await enterprise(token, "018f6a3e-0000-7000-8000-00000000dead"),
      ];
      for (const answer of answers) expect(fault(answer)).toEqual([403, "FORBIDDEN"]);
      expect(anonymous(answers[0] as Answer)).toEqual(anonymous(answers[1] as Answer));
    });

    test("a scoped key implies its firm and accepts no other", async () => {
      const scoped = await makeKey(db, clock, {
        owner: { integratorId: partner.integratorId, scopedFirmId: firm.firmId },
        scopes: ["documents:read"],
      });
      const token = await tokenOf(scoped);
      for (const id of [undefined, firm.firmId])
        expect((await enterprise(token, id)).body).toMatchObject({ firmId: firm.firmId });
      expect(fault(await enterprise(token, foreign.firmId))).toEqual([403, "FORBIDDEN"]);
      expect((await sapi(token, firm.participantId)).status).toBe(200);
      expect(fault(await sapi(token, foreign.participantId))).toEqual([403, "FORBIDDEN"]);
    });

    // rulings.md §1: "X-Firm-Id on Connector, White Label or integrator-level calls is 400 FIRM_CONTEXT_FORBIDDEN"
    test("on an integrator-level operation X-Firm-Id is 400, and only a central partner key may call", async () => {
      const token = await tokenOf(partner.key);
      expect((await get("/api/v1/partner-probe", token)).status).toBe(200);
      expect(fault(await get("/api/v1/partner-probe", token, { "x-firm-id": firm.firmId }))).toEqual([
        400,
        "FIRM_CONTEXT_FORBIDDEN",
      ]);
      expect((await get("/api/v1/partner-probe", await tokenOf(firm.key))).status).toBe(403);
      const scoped = await makeKey(db, clock, {
        owner: { integratorId: partner.integratorId, scopedFirmId: firm.firmId },
        scopes: ["documents:read", "firms:manage"],
      });
      expect((await get("/api/v1/partner-probe", await tokenOf(scoped))).status).toBe(403);
    });

    // "firms:manage alone on documents" → 403
    test("firms:manage alone opens no documents", async () => {
      expect(fault(await enterprise(await tokenOf(partner.key, "firms:manage"), firm.firmId))).toEqual([
        403,
        "INSUFFICIENT_SCOPE",
      ]);
    });

    // "after consent revoked"; enterprise.md: "partner access to that firm ends at once"
    test("after the consent was withdrawn the next request is refused on both interfaces", async () => {
      const leaving = await makeFirm(db, clock);
      await bind(db, clock, partner.integratorId, leaving.firmId);
      const token = await tokenOf(partner.key);
      expect((await enterprise(token, leaving.firmId)).status).toBe(200);
      await node.revokeConsent(partner.integratorId, leaving.firmId);
      expect(fault(await enterprise(token, leaving.firmId))).toEqual([403, "FORBIDDEN"]);
      expect(fault(await sapi(token, leaving.participantId))).toEqual([403, "FORBIDDEN"]);
    });
  });
});
