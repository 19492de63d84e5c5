/**
 * Onboarding of firms that only send, on a whole engine: the request, what vouches for it, the firm that comes of it and
 * what that firm may not do. The rows of the specification are quoted where they are tested.
 */
import { createHmac, randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "vitest";

import { LIMITS } from "../../../engine/base/limits.js";
import {
  accessToken,
  http,
  INVOICE_TYPE,
  invoiceXml,
  sendParts,
  startTestEngine,
} from "../../support/engines/engine.js";
import type { HttpAnswer, TestEngine } from "../../support/engines/engine.js";
import { fakeClock } from "../../support/fake-clock.js";
import { serverForms } from "../../support/engines/gateway.js";

const SECRET = "a secret of the tax authority";

describe.each(serverForms)("the %s form", (form) => {
  let running: TestEngine;
  let token: string;
  let companies = 0;
  const newDic = (): string => `21300${String(10_000 + (companies += 1))}`;

  beforeAll(async () => {
    running = await startTestEngine({ form, config: { ONBOARDING_PREVIEW: "on", PFS_WEBHOOK_SECRET: SECRET } });
    token = await accessToken(running.sandbox, running.sandbox.integrator);
  });
  afterAll(() => running.stop());

  const api = (
    method: string,
    path: string,
    headers: Record<string, string> = {},
    body?: unknown,
  ): Promise<HttpAnswer> =>
    http(
      method,
      `${running.sandbox.baseUrl}${path}`,
      {
        authorization: `Bearer ${token}`,
        ...(body === undefined ? {} : { "content-type": "application/json" }),
        ...headers,
      },
      body === undefined ? undefined : JSON.stringify(body),
    );
  const wish = (changes: Record<string, unknown> = {}): Record<string, unknown> => ({
    serviceMode: "send_only",
    customerRef: `ref-${randomUUID()}`,
    dic: newDic(),
    contactEmail: "uctaren@firma.example",
    ...changes,
  });
  const create = (body: unknown, key: string = randomUUID()): Promise<HttpAnswer> =>
    api("POST", "/onboarding-requests", { "idempotency-key": key }, body);
  const read = async (id: unknown): Promise<Record<string, unknown>> =>
    (await api("GET", `/onboarding-requests/${String(id)}`)).json;
  const confirm = (body: unknown, changes: { readonly signature?: string; readonly raw?: string } = {}) => {
    const raw = changes.raw ?? JSON.stringify(body);
    const signature = changes.signature ?? createHmac("sha256", SECRET).update(raw).digest("hex");
    return http("POST", `${running.sandbox.baseUrl}/webhooks/pfs`, { "x-pfs-signature": signature }, raw);
  };
  const confirmation = (dic: unknown): Record<string, unknown> => ({
    verification_token: randomUUID(),
    dic,
    legalName: "Nová firma s. r. o.",
    company_email: "konatel@firma.example",
    company_phone: "+421900000000",
    created: "2026-11-20T09:00:00Z",
  });
  const decide = (id: unknown, decision: string, body?: unknown): Promise<HttpAnswer> =>
    http(
      "POST",
      `${running.sandbox.adminUrl}/admin/onboarding-requests/${String(id)}/${decision}`,
      {
        authorization: `Bearer ${running.sandbox.admin.token}`,
        ...(body === undefined ? {} : { "content-type": "application/json" }),
      },
      body === undefined ? undefined : JSON.stringify(body),
    );

  test("a request waits for the tax authority, is active after its confirmation, and tells how a key is made", async () => {
    const body = wish();
    const made = await create(body);
    expect(made.status).toBe(202);
    expect(made.json).toEqual({
      id: expect.stringMatching(/^[0-9a-f-]{36}$/),
      customerRef: body["customerRef"],
      serviceMode: "send_only",
      status: "awaiting_pfs",
      firmId: null,
      nextAction: expect.any(String),
      relationshipMode: "technical_delegation",
      payerMode: "firm_billed",
      keyCreation: null,
      createdAt: expect.any(String),
      updatedAt: expect.any(String),
    });
    expect((await confirm(confirmation(body["dic"]))).json).toEqual({ received: true });
    const active = await read(made.json["id"]);
    expect(active).toMatchObject({
      status: "active",
      nextAction: null,
      keyCreation: {
        method: "POST",
        path: "/api/v1/integrator/keys",
        scopedFirmId: active["firmId"],
        scopes: ["documents:send", "documents:read"],
      },
    });
    const [firm] = await running.db.sql`select name, dic, sends_only from firm where id = ${String(active["firmId"])}`;
    expect(firm).toEqual({ name: "Nová firma s. r. o.", dic: body["dic"], sends_only: true });
  });

  test("the firm sends, reads what became of it, and receives nothing", async () => {
    const body = wish();
    const made = await create(body);
    await confirm(confirmation(body["dic"]));
    const { firmId } = await read(made.json["id"]);
    const participant = `0245:${String(body["dic"])}`;
    const sapi = (method: string, path: string, more: Record<string, string> = {}, text?: string) =>
      http(
        method,
        `${running.sandbox.sapiBaseUrl}${path}`,
        {
          authorization: `Bearer ${token}`,
          "x-peppol-participant-id": participant,
          "content-type": "application/json",
          ...more,
        },
        text,
      );
    const parts = sendParts(
      participant,
      running.sandbox.receiver.participantId,
      invoiceXml(participant, running.sandbox.receiver.participantId),
      { documentTypeId: INVOICE_TYPE },
    );
    const sent = await sapi("POST", "/document/send", { "idempotency-key": randomUUID() }, JSON.stringify(parts));
    expect([sent.status, sent.text]).toEqual([202, expect.any(String)]);
    const status = await api("GET", `/documents/${String(sent.json["providerDocumentId"])}/status`, {
      "x-firm-id": String(firmId),
    });
    expect(status.status).toBe(200);
    for (const [method, path] of [
      ["GET", "/document/receive"],
      ["GET", `/document/receive/${randomUUID()}`],
    ] as const) {
      const answer = await sapi(method, path);
      expect([answer.status, (answer.json["error"] as { code: string }).code]).toEqual([403, "FORBIDDEN"]);
    }
    const connector = await api(
      "POST",
      `/connector/documents/${randomUUID()}/respond?customerRef=${String(body["customerRef"])}`,
      {},
      { status: "accepted" },
    );
    expect(connector.status).toBe(403);
  });

  test("a repeat under the same key answers the request as it is now; another body under it is a conflict", async () => {
    const key = randomUUID();
    const body = wish();
    const first = await create(body, key);
    await confirm(confirmation(body["dic"]));
    const repeat = await create(body, key);
    expect([repeat.status, repeat.json["id"], repeat.json["status"]]).toEqual([202, first.json["id"], "active"]);
    const other = await create({ ...body, contactEmail: "jana@firma.example" }, key);
    expect([other.status, other.json["error"]]).toMatchObject([
      409,
      { code: "IDEMPOTENCY_CONFLICT", field: "Idempotency-Key" },
    ]);
  });

  test("a customerRef stands for one company and a company for one customerRef", async () => {
    const body = wish();
    await create(body);
    for (const changed of [{ dic: newDic() }, { customerRef: "another" }]) {
      const answer = await create({ ...body, ...changed });
      expect([answer.status, (answer.json["error"] as { code: string }).code]).toEqual([409, "CUSTOMER_REF_CONFLICT"]);
    }
    const taken = await create(wish({ customerRef: "demo-sender" }));
    expect(taken.status).toBe(409);
  });

  test("a request has no other name for a White Label customer, and no other company under its name", async () => {
    const body = wish();
    const { dic, customerRef, contactEmail: companyEmail } = body;
    const customer = { ...{ dic, customerRef, companyEmail }, relationship: "represented", customerAuthorization: "7" };
    expect((await api("POST", "/customers", { "idempotency-key": randomUUID() }, customer)).status).toBe(201);
    for (const changed of [{ dic: newDic() }, { customerRef: "its other name" }]) {
      const answer = await create({ ...body, ...changed });
      expect([answer.status, answer.json["error"]]).toMatchObject([
        409,
        { code: "CUSTOMER_REF_CONFLICT", field: "customerRef" },
      ]);
    }
    expect((await create(body)).status).toBe(202);
  });

  test("many creations at once under one key make one request, which all of them see", async () => {
    const key = randomUUID();
    const body = wish();
    const answers = await Promise.all(Array.from({ length: 8 }, () => create(body, key)));
    expect(new Set(answers.map(({ status, json }) => `${status} ${String(json["id"])}`)).size).toBe(1);
    const different = await Promise.all(Array.from({ length: 8 }, () => create(body)));
    expect(new Set(different.map(({ status }) => status))).toEqual(new Set([409]));
  });

  test("a firm that is bound in the same way already is active at once", async () => {
    const dic = running.sandbox.sender.participantId.slice(5);
    const answer = await create(wish({ dic, customerRef: "demo-sender" }));
    expect([answer.status, answer.json["status"], answer.json["firmId"]]).toEqual([
      202,
      "active",
      running.sandbox.sender.firmId,
    ]);
    const [firm] = await running.db.sql`select sends_only from firm where id = ${running.sandbox.sender.firmId}`;
    expect(firm).toEqual({ sends_only: false });
  });

  test.each([
    ["without a key", {}, 400],
    ["with a short key", { "idempotency-key": "1234567" }, 400],
    ["with a key of other characters", { "idempotency-key": "with space" }, 400],
    ["with X-Firm-Id", { "idempotency-key": "k".repeat(8), "x-firm-id": randomUUID() }, 400],
  ])("a creation %s is %s", async (_, headers, status) => {
    expect((await api("POST", "/onboarding-requests", headers, wish())).status).toBe(status);
  });

  test.each([
    ["serviceMode", "full"],
    ["serviceMode", undefined],
    ["customerRef", ""],
    ["customerRef", "x".repeat(129)],
    ["dic", "123456789"],
    ["dic", "SK2120000033"],
    ["contactEmail", "nobody"],
    ["contactEmail", `${"a".repeat(250)}@b.example`],
    ["relationshipMode", "other"],
    ["status", "active"],
  ])("a body whose %s is %j is 400 and names it", async (member, value) => {
    const answer = await create(wish({ [member]: value }));
    expect([answer.status, (answer.json["error"] as { code: string }).code]).toEqual([400, "VALIDATION_ERROR"]);
    expect(answer.text).toContain(member);
  });

  test("only the partner that asked can read a request; foreign and missing ids are answered alike", async () => {
    const made = await create(wish());
    const other = await http(
      "POST",
      `${running.sandbox.adminUrl}/admin/integrators`,
      { authorization: `Bearer ${running.sandbox.admin.token}`, "content-type": "application/json" },
      JSON.stringify({ name: "Another" }),
    );
    const key = other.json as { clientId: string; clientSecret: string };
    const theirs = { authorization: `Bearer ${await accessToken(running.sandbox, key)}` };
    const foreign = await api("GET", `/onboarding-requests/${String(made.json["id"])}`, theirs);
    const missing = await api("GET", `/onboarding-requests/${randomUUID()}`, theirs);
    const bare = ({ error }: Record<string, unknown>) => ({ ...(error as object), requestId: "" });
    expect([foreign.status, bare(foreign.json)]).toEqual([404, bare(missing.json)]);
    const firm = { authorization: `Bearer ${await accessToken(running.sandbox, running.sandbox.sender)}` };
    expect((await api("GET", `/onboarding-requests/${String(made.json["id"])}`, firm)).status).toBe(403);
  });

  test("a managed service needs a signed billing account, begins as activating, and is active once somebody vouches", async () => {
    const body = wish({ relationshipMode: "managed_service" });
    const refused = await create(body);
    expect([refused.status, (refused.json["error"] as { code: string }).code]).toEqual([403, "PARTNER_NOT_AUTHORIZED"]);
    await running.db
      .sql`update integrator set managed_billing = true where id = ${running.sandbox.integrator.integratorId}`;
    const made = await create(body);
    expect(made.json).toMatchObject({
      status: "activating",
      payerMode: "integrator_billed",
      nextAction: null,
      firmId: null,
    });
    expect((await decide(made.json["id"], "approve")).json["status"]).toBe("active");
  });

  test("an operator returns, resumes, approves, refuses and revokes; what the state does not allow is 409", async () => {
    const made = await create(wish());
    const { id } = made.json;
    expect((await decide(id, "return", { words: "Ask the company to name us." })).json["status"]).toBe(
      "action_required",
    );
    expect((await read(id))["nextAction"]).toBe("Ask the company to name us.");
    for (const wrong of ["approve", "refuse", "return"]) expect((await decide(id, wrong)).status).toBe(409);
    expect((await decide(id, "resume")).json["status"]).toBe("awaiting_pfs");
    expect((await decide(id, "approve")).json["status"]).toBe("active");
    for (const wrong of ["approve", "refuse", "return", "resume"]) expect((await decide(id, wrong)).status).toBe(409);
    const { firmId } = await read(id);
    expect((await decide(id, "revoke")).json["status"]).toBe("revoked");
    expect(await read(id)).toMatchObject({ status: "revoked", firmId: null, keyCreation: null });
    const after = await api("GET", `/documents/${randomUUID()}/status`, { "x-firm-id": String(firmId) });
    expect(after.status).toBe(403);
    const refusedOne = await create(wish());
    expect((await decide(refusedOne.json["id"], "refuse")).json["status"]).toBe("blocked");
    expect((await decide(randomUUID(), "approve")).status).toBe(404);
  });

  test("a company that has a mailbox here and has not agreed is not taken over: the request is blocked", async () => {
    const participantId = `0245:${newDic()}`;
    await http(
      "POST",
      `${running.sandbox.adminUrl}/admin/firms`,
      { authorization: `Bearer ${running.sandbox.admin.token}`, "content-type": "application/json" },
      JSON.stringify({ name: "Has a mailbox", participantId }),
    );
    const made = await create(wish({ dic: participantId.slice(5) }));
    expect(made.json["status"]).toBe("awaiting_pfs");
    expect((await confirm(confirmation(participantId.slice(5)))).status).toBe(200);
    expect((await read(made.json["id"]))["status"]).toBe("blocked");
  });

  test("two integrators that wait for one company: a confirmation vouches for neither", async () => {
    const body = wish();
    const mine = await create(body);
    const other = await http(
      "POST",
      `${running.sandbox.adminUrl}/admin/integrators`,
      { authorization: `Bearer ${running.sandbox.admin.token}`, "content-type": "application/json" },
      JSON.stringify({ name: "Rival" }),
    );
    const rival = await accessToken(running.sandbox, other.json as { clientId: string; clientSecret: string });
    await api(
      "POST",
      "/onboarding-requests",
      { "idempotency-key": randomUUID(), authorization: `Bearer ${rival}` },
      body,
    );
    expect((await confirm(confirmation(body["dic"]))).status).toBe(200);
    expect((await read(mine.json["id"]))["status"]).toBe("awaiting_pfs");
  });

  test("a confirmation counts once: its replay vouches for no later request", async () => {
    const body = wish();
    const first = await create(body);
    const word = confirmation(body["dic"]);
    await confirm(word);
    await decide(first.json["id"], "revoke");
    const second = await create({ ...body, customerRef: "later" });
    expect(second.json["status"]).toBe("awaiting_pfs");
    expect((await confirm(word)).json).toEqual({ received: true });
    expect((await read(second.json["id"]))["status"]).toBe("awaiting_pfs");
  });

  test.each([
    ["no signature", { signature: "" }],
    ["another secret's signature", { signature: createHmac("sha256", "x").update("{}").digest("hex") }],
    ["an upper-case signature", { upper: true }],
    ["a signature of other bytes", { signature: createHmac("sha256", SECRET).update("{}").digest("hex") }],
  ])("a confirmation with %s is 401 and changes nothing", async (_, how) => {
    const body = wish();
    const made = await create(body);
    const raw = JSON.stringify(confirmation(body["dic"]));
    const right = createHmac("sha256", SECRET).update(raw).digest("hex");
    const signature = "upper" in how ? right.toUpperCase() : how.signature;
    const answer = await confirm(undefined, { raw, signature });
    expect(answer.status).toBe(401);
    expect((await read(made.json["id"]))["status"]).toBe("awaiting_pfs");
  });

  test.each([["not json"], ["[]"], ['{"dic":"1"}'], ['{"dic":"2130099999"}'], ["\u00ff"]])(
    "signed bytes %j that are no confirmation are 400",
    async (raw) => {
      expect((await confirm(undefined, { raw })).status).toBe(400);
    },
  );

  test.each(["two\nlines", "no\0thing", "\u001b[31mred"])(
    "a confirmation whose legal name is %j is 400, names the member, and confirms nothing",
    async (legalName) => {
      const body = wish();
      const made = await create(body);
      const answer = await confirm({ ...confirmation(body["dic"]), legalName });
      expect([answer.status, answer.json["error"]]).toMatchObject([400, { field: "legalName" }]);
      expect((await read(made.json["id"]))["status"]).toBe("awaiting_pfs");
    },
  );

  test("a confirmation of more than 64 KiB is 413, one with a content coding 415", async () => {
    const raw = JSON.stringify({ ...confirmation(newDic()), filler: "x".repeat(LIMITS.pfs_body_bytes_max) });
    expect((await confirm(undefined, { raw })).status).toBe(413);
    const coded = await http(
      "POST",
      `${running.sandbox.baseUrl}/webhooks/pfs`,
      { "content-encoding": "gzip", "x-pfs-signature": "0".repeat(64) },
      "{}",
    );
    expect(coded.status).toBe(415);
  });

  test("nothing of the tax authority's token stands in the database", async () => {
    const word = confirmation(newDic());
    await confirm(word);
    const rows = JSON.stringify(await running.db.sql`select * from pfs_confirmation`);
    expect(rows).not.toContain(String(word["verification_token"]));
  });
});

test("while the preview is off every operation of onboarding is 503 PREVIEW_DISABLED and nothing is written", async () => {
  const running = await startTestEngine({ clock: fakeClock() });
  try {
    const token = await accessToken(running.sandbox, running.sandbox.integrator);
    const headers = {
      authorization: `Bearer ${token}`,
      "content-type": "application/json",
      "idempotency-key": "12345678",
    };
    const body = JSON.stringify({
      serviceMode: "send_only",
      customerRef: "a",
      dic: "2130099999",
      contactEmail: "a@b.example",
    });
    const answers = [
      await http("POST", `${running.sandbox.baseUrl}/onboarding-requests`, headers, body),
      await http("GET", `${running.sandbox.baseUrl}/onboarding-requests/${randomUUID()}`, {
        authorization: `Bearer ${token}`,
      }),
      await http("POST", `${running.sandbox.baseUrl}/webhooks/pfs`, { "x-pfs-signature": "0".repeat(64) }, "{}"),
    ];
    for (const { status, json, headers: given } of answers) {
      expect([status, (json["error"] as { code: string }).code]).toEqual([503, "PREVIEW_DISABLED"]);
      expect(given.get("retry-after")).toBeNull();
    }
    expect(await running.db.sql`select id from onboarding_request`).toEqual([]);
  } finally {
    await running.stop();
  }
});
