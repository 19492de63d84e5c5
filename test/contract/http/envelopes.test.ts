/**
 * Which answer a request gets when several things are wrong with it, and what the answer looks like in each family.
 * @source spec/rulings.md, sections 2 and 3; spec/sapi.md, Errors; spec/enterprise.md, Errors
 */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { z } from "zod";

import { systemClock } from "../../../engine/base/clock.js";
import { ERRORS, Refusal } from "../../../engine/base/errors.js";
import type { ErrorName } from "../../../engine/base/errors.js";
import type { Caller } from "../../../engine/identity/caller.js";
import { parseIntegratorId, parseKeyId } from "../../../engine/base/ids.js";
import type { Log } from "../../../engine/base/log.js";
import { silentLog } from "../../../engine/base/log.js";
import { createRateLimiter } from "../../../gateway/request/rate-limit.js";
import { route } from "../../../gateway/contract/route.js";
import type { Family, Route } from "../../../gateway/contract/route.js";
import { serverForms, startGateway, testCaller, wire } from "../../support/engines/gateway.js";
import type { TestGateway } from "../../support/engines/gateway.js";

const required = <T>(value: T | undefined): T => {
  if (value === undefined) throw new Error("test value");
  return value;
};
const keyId = (n: number) => required(parseKeyId(`018f6a3e-0000-7000-8000-0000000000${n}`));
const integratorId = required(parseIntegratorId("018f6a3e-0000-7000-8000-0000000000ff"));
const central = (changes: Partial<Caller> = {}): Caller => {
  const { firmId, ...rest } = testCaller({
    kind: "integrator",
    keyType: "sk_int",
    integratorId,
    keyId: keyId(11),
    ...changes,
  });
  expect(firmId).toBeDefined();
  return rest;
};
const FIRM = "018f6a3e-0000-7000-8000-0000000000f1";

const CALLERS: Readonly<Record<string, Caller>> = {
  good: testCaller({ keyId: keyId(10) }),
  central: central(),
  scoped: central({ keyId: keyId(12), scopedFirmId: required(testCaller().firmId) }),
  elsewhere: testCaller({ keyId: keyId(13), ipAllowlist: ["192.0.2.0/24"] }),
  unreadable: testCaller({ keyId: keyId(14), ipAllowlist: ["not an address"] }),
  here: testCaller({ keyId: keyId(15), ipAllowlist: ["2001:db8::/32", "127.0.0.0/8"] }),
  reader: testCaller({ keyId: keyId(16), scopes: new Set(["documents:read"] as const) }),
  busy: testCaller({ keyId: keyId(17) }),
  busyReader: testCaller({ keyId: keyId(18), scopes: new Set() }),
};

const thrower = (family: Family): readonly Route[] =>
  (Object.keys(ERRORS) as ErrorName[]).map((name) =>
    route({
      operation: `throw_${family}_${name}`,
      method: "GET",
      path: `/throw/${family}/${name}`,
      mounts: [""],
      family,
      summary: "Refuses",
      credential: "none",
      errors: [name],
      responses: { 200: { description: "never" } },
      handler: () => {
        throw new Refusal(name, [], name === "SCOPE_MISSING" ? { requiredScope: "documents:send" } : {});
      },
    }),
  );

const reply = {
  responses: { 200: { description: "it", schema: z.record(z.string(), z.unknown()) } },
  errors: [],
} as const;
const rows: readonly Route[] = [
  ...(["sapi", "auth", "enterprise", "oauth", "connector"] as const).flatMap(thrower),
  route({
    ...reply,
    operation: "send",
    method: "POST",
    path: "/document/send",
    mounts: ["/sapi/v1", "/sapi"],
    family: "sapi",
    summary: "Sends",
    credential: "bearer",
    context: "participant",
    scopes: ["documents:send"],
    rate: "sapi_send",
    idempotency: "uuid",
    request: {
      body: z.object({
        metadata: z.object({ documentId: z.string().min(1).max(255), kind: z.enum(["A", "B"]).optional() }),
        count: z.number().int().max(3).optional(),
        tags: z.array(z.string()).max(2).optional(),
      }),
      query: z.object({ q: z.string().max(3).optional() }),
    },
    handler: ({ idempotencyKey, participant, body }) => ({
      status: 200,
      body: { key: idempotencyKey, participant: participant.participantId, documentId: body.metadata.documentId },
    }),
  }),
  route({
    ...reply,
    operation: "firmRead",
    method: "GET",
    path: "/firm",
    mounts: ["/api/v1"],
    family: "enterprise",
    summary: "Reads",
    credential: "bearer",
    context: "firm",
    scopes: ["documents:read"],
    handler: ({ firm, caller }) => ({ status: 200, body: { firmId: firm.firmId, keyId: caller.keyId } }),
  }),
  route({
    ...reply,
    operation: "partnerOnly",
    method: "GET",
    path: "/partner",
    mounts: ["/api/v1"],
    family: "enterprise",
    summary: "Partners",
    credential: "partner",
    context: "forbidden",
    handler: () => ({ status: 200, body: {} }),
  }),
  route({
    ...reply,
    operation: "partnerMain",
    method: "GET",
    path: "/partner-main",
    mounts: ["/api/v1"],
    family: "enterprise",
    summary: "Main keys",
    credential: "partner_unrestricted",
    rate: "enterprise",
    handler: () => ({ status: 200, body: {} }),
  }),
  route({
    ...reply,
    operation: "token",
    method: "POST",
    path: "/auth/token",
    mounts: ["/api/v1"],
    family: "auth",
    summary: "Tokens",
    credential: "none",
    rate: "token",
    request: { body: z.object({ grant_type: z.string(), client_id: z.string() }), accepts: ["json", "form"] },
    handler: ({ body, address }) => ({ status: 200, body: { ...body, address } }),
  }),
  route({
    ...reply,
    operation: "strict",
    method: "POST",
    path: "/strict",
    mounts: ["/api/v1"],
    family: "enterprise",
    summary: "No extra members",
    credential: "none",
    request: { body: z.strictObject({ a: z.string() }) },
    handler: () => ({ status: 200, body: {} }),
  }),
  route({
    ...reply,
    operation: "noBody",
    method: "POST",
    path: "/no-body",
    mounts: ["/api/v1"],
    family: "enterprise",
    summary: "No body",
    credential: "none",
    handler: () => ({ status: 200, body: {} }),
  }),
  route({
    ...reply,
    operation: "optionalBody",
    method: "POST",
    path: "/optional",
    mounts: ["/api/v1"],
    family: "enterprise",
    summary: "Optional body",
    credential: "none",
    request: { body: z.object({ name: z.string() }).optional() },
    handler: ({ body }) => ({ status: 200, body: { name: body?.name ?? null } }),
  }),
  route({
    ...reply,
    operation: "xml",
    method: "POST",
    path: "/xml",
    mounts: ["/api/v1"],
    family: "public",
    summary: "XML",
    credential: "none",
    request: { body: z.unknown(), accepts: ["xml"] },
    handler: ({ body }) => ({ status: 200, body: { bytes: (body as Buffer).length } }),
  }),
  route({
    ...reply,
    operation: "adminRead",
    method: "GET",
    path: "/admin/x",
    mounts: [""],
    family: "admin",
    summary: "Operators",
    credential: "admin",
    handler: () => ({ status: 200, body: {} }),
  }),
];

interface ErrorBody {
  readonly error: {
    readonly code: string;
    readonly message: string;
    readonly requestId?: string;
    readonly correlation_id?: string;
    readonly details?: readonly { field?: string; message: string }[];
  } & Record<string, unknown>;
}

describe.each(serverForms)("the %s form", (form) => {
  let gateway: TestGateway;
  const logged: string[] = [];
  const log: Log = {
    ...silentLog,
    error: (event) => {
      logged.push(event);
    },
  };
  beforeAll(async () => {
    // Time that passes gives places back: on a busy machine sixty requests took more than the second of one of them.
    const [now, monotonic] = [systemClock.now(), systemClock.monotonic()];
    const limiter = createRateLimiter({ clock: { ...systemClock, now: () => now, monotonic: () => monotonic } });
    for (const key of [17, 18])
      for (let i = 0; i < 300; i++)
        for (const row of ["sapi_send", "enterprise"] as const) void limiter.admit(row, keyId(key));
    gateway = await startGateway(form, rows, {
      ports: {
        log,
        admit: (row, key) => limiter.admit(row, key),
        authenticate: async (token) => {
          const caller = CALLERS[token];
          if (caller === undefined) throw new Refusal("TOKEN_INVALID");
          return caller;
        },
        participantContext: async (caller, participantId) => {
          if (participantId.endsWith("9")) throw new Refusal("PARTICIPANT_FORBIDDEN");
          return { firmId: required(testCaller().firmId), participantId, scopes: caller.scopes };
        },
        firmContext: (caller, firmId) => {
          if (firmId?.endsWith("f9") === true) throw new Refusal("FIRM_FORBIDDEN");
          return { firmId: firmId ?? required(caller.firmId ?? caller.scopedFirmId), scopes: caller.scopes };
        },
      },
    });
  });
  afterAll(async () => {
    await gateway.stop();
  });

  const call = async (
    method: string,
    path: string,
    headers: Record<string, string> = {},
    body?: string | Uint8Array,
  ): Promise<{ status: number; headers: Headers; body: ErrorBody }> => {
    const response = await fetch(gateway.origin + path, { method, headers, ...(body === undefined ? {} : { body }) });
    return { status: response.status, headers: response.headers, body: (await response.json()) as ErrorBody };
  };

  describe("the first of several faults answers", () => {
    /** Every fault at once; each line repairs one more. */
    const faulty = {
      Authorization: "Bearer wrong",
      "X-Peppol-Participant-Id": "nonsense",
      "Idempotency-Key": "no uuid",
      "Content-Type": "application/json",
    };
    const uuid = "018f6a3e-1111-7222-8333-444455556666";
    test.each([
      ["an unknown path", "/sapi/v1/document/sent", {}, 404, "NOT_FOUND"],
      ["no credential", "/sapi/v1/document/send", { Authorization: "" }, 401, "AUTH"],
      ["a wrong credential", "/sapi/v1/document/send", {}, 401, "AUTH"],
      ["a wrong scheme", "/sapi/v1/document/send", { Authorization: "Basic Z29vZA==" }, 401, "AUTH"],
      [
        "an address that the key does not allow",
        "/sapi/v1/document/send",
        { Authorization: "Bearer elsewhere" },
        403,
        "FORBIDDEN",
      ],
      [
        "an allowlist that cannot be read allows nobody",
        "/sapi/v1/document/send",
        { Authorization: "Bearer unreadable" },
        403,
        "FORBIDDEN",
      ],
      ["too many requests", "/sapi/v1/document/send", { Authorization: "Bearer busyReader" }, 429, "RATE_LIMITED"],
      ["a participant that is none", "/sapi/v1/document/send", { Authorization: "Bearer reader" }, 400, "VALIDATION"],
      [
        "a participant of somebody else",
        "/sapi/v1/document/send",
        { Authorization: "Bearer reader", "X-Peppol-Participant-Id": "0245:9" },
        403,
        "FORBIDDEN",
      ],
      [
        "a missing scope",
        "/sapi/v1/document/send",
        { Authorization: "Bearer reader", "X-Peppol-Participant-Id": "0245:1" },
        403,
        "FORBIDDEN",
      ],
      [
        "an idempotency key that is none",
        "/sapi/v1/document/send",
        { Authorization: "Bearer good", "X-Peppol-Participant-Id": "0245:1" },
        400,
        "VALIDATION",
      ],
      [
        "a body that is none",
        "/sapi/v1/document/send",
        { Authorization: "Bearer good", "X-Peppol-Participant-Id": "0245:1", "Idempotency-Key": uuid },
        400,
        "VALIDATION",
      ],
    ] as const)("the first of several faults answers: %s", async (_name, path, repaired, status, code) => {
      const answer = await call("POST", path, { ...faulty, ...repaired }, "{]");
      expect(answer.status).toBe(status);
      expect(answer.body.error.code).toBe(code);
    });

    test("without a fault the handler gets what was checked, under both base paths", async () => {
      for (const base of ["/sapi/v1", "/sapi"]) {
        const answer = await call(
          "POST",
          `${base}/document/send`,
          {
            Authorization: "bearer here",
            "X-Peppol-Participant-Id": "iso6523-actorid-upis::0245:1",
            "Idempotency-Key": uuid.toUpperCase(),
            "Content-Type": "application/json; charset=UTF-8",
            "X-Firm-Id": "ignored on SAPI",
          },
          '{"metadata":{"documentId":"d"},"unknown":true}',
        );
        expect(answer.status).toBe(200);
        expect(answer.body).toEqual({ key: uuid, participant: "0245:1", documentId: "d" });
      }
    });
  });

  describe("envelopes", () => {
    const names = Object.keys(ERRORS) as ErrorName[];
    test.each(names)(
      "SAPI: {category, code, message, retryable, correlation_id, requestId, details?} (%s)",
      async (name) => {
        const answer = await call("GET", `/throw/sapi/${name}`);
        const row = ERRORS[name];
        const id = answer.headers.get("x-request-id");
        expect(answer.status).toBe(row.status);
        const { details, ...rest } = answer.body.error;
        expect(rest).toEqual({
          category: expect.stringMatching(/^(VALIDATION|AUTH|PROCESSING|TEMPORARY)$/),
          code: row.sapi,
          message: row.message,
          retryable: row.sapiRetryable,
          correlation_id: id,
          requestId: id,
        });
        if (name.startsWith("SAPI-") && row.sapi === "CONFLICT") expect(details?.[0]).toMatchObject({ code: name });
        if (name === "SAPI-DOC-024") expect(details?.[0]).toMatchObject({ issue: "duplicate_payload" });
        if (name === "SAPI-DOC-027" || name === "SAPI-DOC-028")
          expect(details?.[0]).toMatchObject({ issue: "handoff_date_mismatch" });
        if (row.status === 401) expect(answer.headers.get("www-authenticate")).toMatch(/^Bearer/);
        // What no repetition mends, as a preview that is switched off, names no time for one.
        const waits = row.status === 503 && row.retryable;
        if (waits) expect(Number(answer.headers.get("retry-after"))).toBeGreaterThan(0);
        else if (row.status === 503) expect(answer.headers.get("retry-after")).toBeNull();
      },
    );

    test.each([
      [400, "VALIDATION"],
      [404, "VALIDATION"],
      [422, "VALIDATION"],
      [401, "AUTH"],
      [403, "AUTH"],
      [423, "AUTH"],
      [409, "PROCESSING"],
      [500, "PROCESSING"],
      [429, "TEMPORARY"],
      [503, "TEMPORARY"],
    ] as const)("SAPI: every %i has the category %s", async (status, category) => {
      const name = required(names.find((candidate) => ERRORS[candidate].status === status));
      expect((await call("GET", `/throw/sapi/${name}`)).body.error["category"]).toBe(category);
    });

    test("auth family: {category, code, message, retryable, correlation_id} and no requestId", async () => {
      const answer = await call("GET", "/throw/auth/CREDENTIALS_INVALID");
      expect(answer.status).toBe(401);
      expect(answer.body).toEqual({
        error: {
          category: "AUTH",
          code: "INVALID_CREDENTIALS",
          message: ERRORS.CREDENTIALS_INVALID.message,
          retryable: false,
          correlation_id: answer.headers.get("x-request-id"),
        },
      });
    });

    // sapi.md, Errors: "409 | CONFLICT | … | yes"; the other tables have no such column: what cannot succeed is not repeated.
    test.each([
      ["SAPI-PROC-002", "IDEMPOTENCY_IN_FLIGHT", true],
      ["SAPI-PROC-003", "IDEMPOTENCY_CONFLICT", false],
      ["SAPI-DOC-018", "DOCUMENT_ID_CONFLICT", false],
      ["SAPI-DOC-024", "DUPLICATE_PAYLOAD", false],
    ] as const)(
      "the conflict %s is retryable on SAPI; as %s of Enterprise and Connector it is only where the same request can succeed",
      async (name, code, retryable) => {
        expect((await call("GET", `/throw/sapi/${name}`)).body.error).toMatchObject({
          code: "CONFLICT",
          retryable: true,
        });
        for (const family of ["enterprise", "connector"])
          expect((await call("GET", `/throw/${family}/${name}`)).body.error).toMatchObject({ code, retryable });
      },
    );

    test("OAuth: RFC 6749", async () => {
      expect((await call("GET", "/throw/oauth/CREDENTIALS_INVALID")).body).toEqual({
        error: "invalid_client",
        error_description: ERRORS.CREDENTIALS_INVALID.message,
      });
      expect((await call("GET", "/throw/oauth/GRANT_TYPE")).body).toMatchObject({ error: "unsupported_grant_type" });
      expect((await call("GET", "/throw/oauth/REQUEST_INVALID")).body).toMatchObject({ error: "invalid_request" });
    });

    test("other Enterprise operations: a missing scope names it in the body and in WWW-Authenticate", async () => {
      const answer = await call("GET", "/throw/enterprise/SCOPE_MISSING");
      expect(answer.status).toBe(403);
      expect(answer.headers.get("www-authenticate")).toBe('Bearer error="insufficient_scope" scope="documents:send"');
      expect(answer.body.error).toMatchObject({
        code: "INSUFFICIENT_SCOPE",
        required_scope: "documents:send",
        requestId: answer.headers.get("x-request-id"),
        fix_hint: expect.stringContaining("documents:send") as string,
      });
    });

    test("a path that no row has answers in the family of its prefix", async () => {
      expect((await call("GET", "/sapi/v1/x")).body.error["category"]).toBe("VALIDATION");
      expect((await call("GET", "/api/v1/auth/x")).body.error.correlation_id).toBeDefined();
      expect((await call("GET", "/oauth/x")).body.error).toBe("invalid_request");
      expect((await call("GET", "/api/v1/x")).body.error).toMatchObject({
        code: "NOT_FOUND",
        requestId: expect.any(String) as string,
      });
    });

    test("an invalid token says so in WWW-Authenticate, a missing one only names the scheme", async () => {
      expect(
        (await call("GET", "/api/v1/firm", { Authorization: "Bearer wrong" })).headers.get("www-authenticate"),
      ).toBe('Bearer error="invalid_token"');
      expect((await call("GET", "/api/v1/firm")).headers.get("www-authenticate")).toBe("Bearer");
    });
  });

  describe("firm context", () => {
    const firm = (token: string, headers: Record<string, string> = {}) =>
      call("GET", "/api/v1/firm", { Authorization: `Bearer ${token}`, ...headers });
    test("a firm's key needs no X-Firm-Id and may not send one", async () => {
      expect((await firm("good")).status).toBe(200);
      expect(await firm("good", { "X-Firm-Id": FIRM })).toMatchObject({
        status: 400,
        body: { error: { code: "FIRM_CONTEXT_FORBIDDEN" } },
      });
    });
    test("a central key must name the firm, once, as a UUID in any case", async () => {
      const missing = await firm("central");
      expect(missing).toMatchObject({ status: 400, body: { error: { code: "FIRM_CONTEXT_REQUIRED" } } });
      expect(missing.body.error.message).toContain("X-Firm-Id");
      expect((await firm("central", { "X-Firm-Id": "nonsense" })).body.error.code).toBe("FIRM_CONTEXT_REQUIRED");
      expect((await firm("central", { "X-Firm-Id": `${FIRM}, ${FIRM}` })).body.error.code).toBe(
        "FIRM_CONTEXT_REQUIRED",
      );
      expect((await firm("central", { "x-FIRM-id": FIRM.toUpperCase() })).body).toMatchObject({ firmId: FIRM });
      expect((await firm("central", { "X-Firm-Id": FIRM.replace(/f1$/, "f9") })).status).toBe(403);
    });
    test("a key scoped to a firm may leave X-Firm-Id out", async () => expect((await firm("scoped")).status).toBe(200));
    test("integrator-level operations refuse X-Firm-Id, and keys of firms", async () => {
      expect(
        (await call("GET", "/api/v1/partner", { Authorization: "Bearer central", "X-Firm-Id": FIRM })).body.error.code,
      ).toBe("FIRM_CONTEXT_FORBIDDEN");
      expect((await call("GET", "/api/v1/partner", { Authorization: "Bearer scoped" })).status).toBe(200);
      expect((await call("GET", "/api/v1/partner", { Authorization: "Bearer good" })).status).toBe(403);
      expect((await call("GET", "/api/v1/partner-main", { Authorization: "Bearer scoped" })).status).toBe(403);
    });
  });

  describe("rate-limit headers", () => {
    test("SAPI: on 429 only, with Retry-After", async () => {
      const refused = await call("POST", "/sapi/v1/document/send", { Authorization: "Bearer busy" });
      expect(refused.status).toBe(429);
      expect(refused.headers.get("x-ratelimit-limit")).toBe("150");
      expect(refused.headers.get("x-ratelimit-remaining")).toBe("0");
      const reset = Number(refused.headers.get("x-ratelimit-reset"));
      expect(reset).toBeGreaterThan(1.7e9);
      const retryAfter = Number(refused.headers.get("retry-after"));
      expect(retryAfter).toBeGreaterThan(0);
      expect(retryAfter).toBeLessThanOrEqual(60);
      const passed = await call("POST", "/sapi/v1/document/send", { Authorization: "Bearer good" });
      expect(passed.headers.get("x-ratelimit-limit")).toBeNull();
    });
    test("Enterprise account and key operations: on every answer", async () => {
      const answer = await call("GET", "/api/v1/partner-main", { Authorization: "Bearer central" });
      expect(answer.status).toBe(200);
      expect(answer.headers.get("x-ratelimit-limit")).toBe("300");
      expect(Number(answer.headers.get("x-ratelimit-remaining"))).toBeGreaterThan(0);
    });
    test("the token endpoint counts by client and address: another client is not refused", async () => {
      const ask = (client: string) =>
        call(
          "POST",
          "/api/v1/auth/token",
          { "Content-Type": "application/x-www-form-urlencoded" },
          `grant_type=client_credentials&client_id=${client}`,
        );
      for (let i = 0; i < 60; i++) expect((await ask("one")).status).toBe(200);
      const refused = await ask("one");
      expect(refused).toMatchObject({ status: 429, body: { error: { code: "RATE_LIMITED", category: "TEMPORARY" } } });
      const other = await ask("two");
      expect(other.status).toBe(200);
      expect(other.headers.get("x-ratelimit-remaining")).toBe("59");
    });
  });

  describe("bodies", () => {
    const send = (body: string | Uint8Array, headers: Record<string, string> = {}) =>
      call(
        "POST",
        "/sapi/v1/document/send",
        {
          Authorization: "Bearer good",
          "X-Peppol-Participant-Id": "0245:1",
          "Idempotency-Key": "018f6a3e-1111-7222-8333-444455556666",
          "Content-Type": "application/json",
          ...headers,
        },
        body,
      );
    test.each([
      ["200,000 levels", "[".repeat(200_000)],
      ["a member twice", '{"metadata":{"documentId":"a","documentId":"b"}}'],
      ["invalid UTF-8", Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d])],
      ["an array", "[]"],
      ["half of JSON", '{"metadata":'],
    ])("a JSON body that is %s is 400", async (_name, body) =>
      expect(await send(body)).toMatchObject({
        status: 400,
        body: { error: { code: "VALIDATION", category: "VALIDATION" } },
      }),
    );

    test.each([
      "text/plain",
      "application/xml",
      "application/x-www-form-urlencoded",
      "multipart/form-data; boundary=x",
      "application/json; charset=utf-16",
      "application/json; charset=iso-8859-2",
      "json",
      "application/json, text/plain",
      "application/jsonx",
    ])("Content-Type %s on a JSON operation: 415", async (type) =>
      expect((await send('{"metadata":{"documentId":"d"}}', { "Content-Type": type })).status).toBe(415),
    );

    test("a body without Content-Type is refused where a body is read; a POST without both is accepted where none is", async () => {
      expect((await call("POST", "/api/v1/strict", {}, Buffer.from('{"a":"x"}'))).status).toBe(415);
      expect((await call("POST", "/api/v1/no-body")).status).toBe(200);
      expect((await call("POST", "/api/v1/no-body", { "Content-Type": "text/plain" }, "ignored")).status).toBe(200);
      expect((await call("POST", "/api/v1/optional")).body).toEqual({ name: null });
      expect((await call("POST", "/api/v1/strict")).status).toBe(400);
    });

    test("each wrong member is named in our words, and no value is repeated", async () => {
      const answer = await send(
        JSON.stringify({ metadata: { kind: "canary-value" }, count: 7, tags: ["a", "b", "c"] }),
      );
      expect(answer.status).toBe(400);
      expect(answer.body.error.details).toEqual([
        { field: "metadata.documentId", message: "metadata.documentId is missing." },
        { field: "metadata.kind", message: "metadata.kind must be one of: A, B." },
        { field: "count", message: "count must be at most 3." },
        { field: "tags", message: "tags must have at most 2 items." },
      ]);
      expect(JSON.stringify(answer.body)).not.toContain("canary");
    });

    test("a member too many is refused where the row is strict, ignored elsewhere", async () => {
      const answer = await call(
        "POST",
        "/api/v1/strict",
        { "Content-Type": "application/json" },
        '{"a":"x","<img>":1,"b":2}',
      );
      expect(answer.body.error.details).toEqual([
        { field: "(unnamed)", message: "(unnamed) is not a member of this request." },
        { field: "b", message: "b is not a member of this request." },
      ]);
    });

    test("a query value that its schema refuses, or that comes twice: 400", async () => {
      const query = (text: string) =>
        call(
          "POST",
          `/sapi/v1/document/send?${text}`,
          {
            Authorization: "Bearer good",
            "X-Peppol-Participant-Id": "0245:1",
            "Idempotency-Key": "018f6a3e-1111-7222-8333-444455556666",
            "Content-Type": "application/json",
          },
          '{"metadata":{"documentId":"d"}}',
        );
      expect((await query("q=abc&other=1")).status).toBe(200);
      expect(await query("q=abcd")).toMatchObject({
        status: 400,
        body: { error: { details: [{ field: "q", message: "q must have at most 3 characters." }] } },
      });
      expect((await query("q=a&q=b")).status).toBe(400);
      expect((await query("q=%")).status).toBe(400);
    });

    test("a form is read where the row takes one; a field that comes twice: 400", async () => {
      const form = { "Content-Type": "application/x-www-form-urlencoded" };
      expect(
        (await call("POST", "/api/v1/auth/token", form, "grant_type=client_credentials&client_id=a%2Bb+c")).body,
      ).toEqual({ grant_type: "client_credentials", client_id: "a+b c", address: "127.0.0.1" });
      expect(
        (await call("POST", "/api/v1/auth/token", form, "grant_type=a&grant_type=b&client_id=c")).body.error.code,
      ).toBe("INVALID_REQUEST");
    });

    test("XML arrives byte for byte", async () => {
      expect(
        (
          await call(
            "POST",
            "/api/v1/xml",
            { "Content-Type": "text/xml; charset=windows-1250" },
            Buffer.from([0x3c, 0xff]),
          )
        ).body,
      ).toEqual({ bytes: 2 });
      expect((await call("POST", "/api/v1/xml", { "Content-Type": "application/json" }, "{}")).status).toBe(415);
    });
  });

  test.each([
    ["Authorization", "Bearer good", 401],
    ["X-Peppol-Participant-Id", "0245:1", 400],
    ["Idempotency-Key", "018f6a3e-1111-7222-8333-444455556666", 400],
    ["Content-Type", "application/json", 415],
  ] as const)(
    "the header %s sent twice, even with one value, is refused: two readers could take different ones",
    async (name, value, status) => {
      const body = '{"metadata":{"documentId":"d"}}';
      const all = {
        Host: "x",
        Authorization: "Bearer good",
        "X-Peppol-Participant-Id": "0245:1",
        "Idempotency-Key": "018f6a3e-1111-7222-8333-444455556666",
        "Content-Type": "application/json",
        "Content-Length": String(body.length),
      };
      const request = (more: string): string =>
        `POST /sapi/v1/document/send HTTP/1.1\r\n${Object.entries(all)
          .map(([header, text]) => `${header}: ${text}\r\n`)
          .join("")}${more}\r\n${body}`;
      expect((await wire(gateway.port, request("")))?.status).toBe(200);
      expect((await wire(gateway.port, request(`${name.toUpperCase()}: ${value}\r\n`)))?.status).toBe(status);
    },
  );

  test("X-Firm-Id sent twice is refused", async () => {
    const answer = await wire(
      gateway.port,
      `GET /api/v1/firm HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer central\r\nX-Firm-Id: ${FIRM}\r\nx-firm-id: ${FIRM}\r\n\r\n`,
    );
    expect(answer?.status).toBe(400);
    expect(answer?.body).toContain("FIRM_CONTEXT_REQUIRED");
  });

  test("operators' rows take the admin token and nothing else", async () => {
    expect((await call("GET", "/admin/x", { Authorization: "Bearer admin" })).status).toBe(200);
    for (const token of ["good", "admin2", "Admin"])
      expect((await call("GET", "/admin/x", { Authorization: `Bearer ${token}` })).status).toBe(401);
    expect((await call("GET", "/admin/x")).status).toBe(401);
  });

  test("none of this was a bug", () => expect(logged).toEqual([]));
});
