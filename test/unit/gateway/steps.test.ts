/**
 * The column `refuses` of the pipeline's steps is what the OpenAPI documents say of every operation. Each refusal in it is
 * provoked here, step by step, and a step that answers anything else is caught: promise and behaviour are one list.
 */
import { gzipSync } from "node:zlib";
import { describe, expect, test } from "vitest";
import { z } from "zod";

import { LIMITS } from "../../../engine/base/limits.js";
import { Refusal } from "../../../engine/base/errors.js";
import type { ErrorName } from "../../../engine/base/errors.js";
import { refusalsOf } from "../../../gateway/contract/openapi-operation.js";
import { route } from "../../../gateway/contract/route.js";
import type { Route } from "../../../gateway/contract/route.js";
import { HeaderList } from "../../../gateway/http/headers.js";
import type { Head } from "../../../gateway/http/conversation.js";
import { createInflater } from "../../../gateway/request/inflate.js";
import type { Step } from "../../../gateway/request/plan.js";
import { createPipeline } from "../../../gateway/request/pipeline.js";
import type { PipelinePorts } from "../../../gateway/request/ports.js";
import { RoutedRequest } from "../../../gateway/request/request.js";
import { refusalsOfColumns, SERVER_REFUSALS, STEPS } from "../../../gateway/request/steps.js";
import { TEST_FIRM, testCaller, testPorts } from "../../support/engines/gateway.js";
import { publishedRows } from "../../support/engines/published-rows.js";
import { fakeClock } from "../../support/fake-clock.js";

const ROW = {
  operation: "test",
  method: "POST",
  path: "/things/{thing}",
  mounts: [""],
  family: "enterprise",
  summary: "A thing",
  errors: [],
  credential: "bearer",
  responses: { 200: { description: "A thing" } },
  handler: () => ({ status: 200 as const }),
} as const;
const BODY = { body: z.object({ name: z.string() }) };

interface Provocation {
  readonly row: Route;
  readonly headers?: Readonly<Record<string, string>>;
  readonly query?: string;
  readonly thing?: string;
  readonly body?: string | Buffer;
  readonly ports?: Partial<PipelinePorts>;
  /** Steps, beside the one of the credential, whose findings the step needs. */
  readonly after?: readonly string[];
}

/** Whoever asks for room has it. */
const ROOM = { take: () => Promise.resolve(), line: () => Promise.resolve(), ownBody: () => true };
const refusing = (reason: ErrorName) => () => {
  throw new Refusal(reason);
};
const full = { allowed: false, limit: 1, remaining: 0, resetAt: 0, retryAfter_s: 1 } as const;
const JSON_HEADERS = { "content-type": "application/json" };
const NAMED = {
  "x-firm-id": "018f6a3e-0000-7000-8000-000000000001",
  "x-peppol-participant-id": "0245:2020202020",
};
const integrator = testCaller({ kind: "integrator", keyType: "sk_int" });

const firm = route({ ...ROW, context: "firm" });
const customer = route({ ...ROW, context: "customer" });
const customerOfBody = route({ ...ROW, context: "customer_body", request: BODY });
const participant = route({ ...ROW, context: "participant" });
const json = route({ ...ROW, request: BODY });

/** Step → refusal → a request that provokes it. */
const PROVOCATIONS: Readonly<Record<string, Partial<Record<ErrorName, Provocation>>>> = {
  "credential (401)": { TOKEN_INVALID: { row: route(ROW) } },
  "IP allowlist (403)": {
    IP_NOT_ALLOWED: { row: route(ROW), ports: { authenticate: () => testCaller({ ipAllowlist: ["203.0.113.0/24"] }) } },
  },
  "rate limit by key or address (429)": {
    RATE_LIMITED: { row: route({ ...ROW, rate: "enterprise" }), ports: { admit: () => full } },
  },
  "rate limit of logins by address (429)": {
    RATE_LIMITED: { row: route({ ...ROW, rate: "token" }), ports: { admit: () => full } },
  },
  "coding of the body (415), its form (400) and size (413)": {
    MEDIA_TYPE: { row: json, headers: { "content-encoding": "br" }, body: "{}" },
    BODY_MALFORMED: { row: json, headers: { "content-encoding": "gzip" }, body: "{}" },
    BODY_TOO_LARGE: {
      row: route({ ...ROW, request: { ...BODY, body_bytes_max: 10 } }),
      headers: { "content-encoding": "gzip" },
      body: gzipSync("x".repeat(11)),
    },
  },
  "rate limit by client (429)": {
    RATE_LIMITED: { row: route({ ...ROW, rate: "token", request: BODY }), ports: { admit: () => full } },
  },
  "kind of credential (403)": { CREDENTIAL_CLASS: { row: route({ ...ROW, credential: "partner" }) } },
  "firm context (400) and binding (403)": {
    FIRM_CONTEXT_FORBIDDEN: { row: firm, headers: NAMED },
    FIRM_CONTEXT_REQUIRED: { row: firm, ports: { authenticate: () => integrator } },
    FIRM_FORBIDDEN: { row: firm, ports: { firmContext: refusing("FIRM_FORBIDDEN") } },
  },
  "no firm context (400)": {
    FIRM_CONTEXT_FORBIDDEN: { row: route({ ...ROW, context: "forbidden" }), headers: NAMED },
  },
  "customer (400, 404) and binding (403)": {
    REQUEST_INVALID: { row: customer },
    NOT_FOUND: { row: customer, query: "customerRef=a", ports: { customerContext: refusing("NOT_FOUND") } },
    FIRM_FORBIDDEN: { row: customer, query: "customerRef=a", ports: { customerContext: refusing("FIRM_FORBIDDEN") } },
  },
  "customer of the body (400, 404) and binding (403)": {
    MEDIA_TYPE: { row: customerOfBody, headers: { "content-type": "text/plain" }, body: "{}" },
    BODY_MALFORMED: { row: customerOfBody, headers: JSON_HEADERS, body: "{" },
    REQUEST_INVALID: { row: customerOfBody, headers: JSON_HEADERS, body: "{}" },
    NOT_FOUND: {
      row: customerOfBody,
      headers: JSON_HEADERS,
      body: '{"customerRef":"a"}',
      ports: { customerContext: refusing("NOT_FOUND") },
    },
    FIRM_FORBIDDEN: {
      row: customerOfBody,
      headers: JSON_HEADERS,
      body: '{"customerRef":"a"}',
      ports: { customerContext: refusing("FIRM_FORBIDDEN") },
    },
  },
  "participant (400) and binding (403)": {
    PARTICIPANT_REQUIRED: { row: participant },
    PARTICIPANT_FORBIDDEN: {
      row: participant,
      headers: NAMED,
      ports: { participantContext: refusing("PARTICIPANT_FORBIDDEN") },
    },
  },
  "scope (403)": {
    SCOPE_MISSING: {
      row: route({ ...ROW, scopes: ["documents:send"] }),
      ports: { authenticate: () => testCaller({ scopes: new Set() }) },
    },
  },
  "mailbox of the firm (403)": {
    RECEIVING_FORBIDDEN: {
      row: route({ ...ROW, context: "firm", receives: true }),
      ports: { mayReceive: () => Promise.resolve(false) },
      after: ["firm context (400) and binding (403)"],
    },
  },
  "idempotency key (400)": { IDEMPOTENCY_KEY: { row: route({ ...ROW, idempotency: "uuid" }) } },
  "path (404)": {
    NOT_FOUND: { row: route({ ...ROW, request: { params: z.object({ thing: z.uuid() }) } }), thing: "none" },
  },
  "query (400)": {
    REQUEST_INVALID: { row: route({ ...ROW, request: { query: z.object({ a: z.string() }) } }), query: "b=1" },
  },
  "content type (415)": { MEDIA_TYPE: { row: json, headers: { "content-type": "text/plain" }, body: "{}" } },
  "members of the body (400)": {
    BODY_MALFORMED: { row: json, headers: JSON_HEADERS, body: "{" },
    REQUEST_INVALID: { row: json, headers: JSON_HEADERS, body: "{}" },
  },
  "bytes of the body": {},
  "line of the key's long answers": {},
  "room for the answer": {},
};

function headOf({ headers = {}, query = "" }: Provocation): Head {
  const list = new HeaderList();
  for (const [name, value] of Object.entries(headers)) list.add(name, value);
  return { method: "POST", path: "/things/a", query, headers: list, peer: new Uint8Array([127, 0, 0, 1]) };
}

/** Runs one step alone. @returns the names of the refusals that it threw */
async function reasonsOf(step: Step, provocation: Provocation): Promise<string[]> {
  const { row, thing = "a", body = "", ports } = provocation;
  const seen: string[] = [];
  const watched: Step = {
    ...step,
    run: async (request, of) => {
      try {
        await step.run(request, of);
      } catch (error) {
        seen.push(error instanceof Refusal ? error.reason : "not a refusal");
        throw error;
      }
    },
  };
  const headers = step.name.startsWith("credential (401)") ? {} : { authorization: "Bearer good" };
  const head = headOf({ ...provocation, headers: { ...headers, ...provocation.headers } });
  // What the steps before would have found out: who calls, and for whom.
  const needed = ["credential (401)", ...(provocation.after ?? [])];
  const before = STEPS.filter((other) => needed.includes(other.name) && other !== step);
  const plan = {
    row,
    family: row.family,
    label: "",
    method: "POST",
    share: "api" as const,
    head: before,
    body: [watched],
    ends: [],
    lateBody: [],
  };
  const all = testPorts({ authenticate: () => testCaller(), ...ports });
  const request = new RoutedRequest(
    { ports: all, often: all, trustedProxies: [], inflater: createInflater() },
    plan,
    head,
    {
      names: ["thing"],
      values: [thing],
    },
  );
  await request.begin();
  await request.finish(Buffer.from(body));
  return seen;
}

describe("the column `refuses`", () => {
  test("the column `refuses` has a request here for each refusal of each step, and no other", () => {
    const promised = Object.fromEntries(STEPS.map((step) => [step.name, [...step.refuses].sort()]));
    const provoked = Object.fromEntries(
      Object.entries(PROVOCATIONS).map(([name, requests]) => [name, Object.keys(requests).sort()]),
    );
    expect(provoked).toEqual(promised);
  });

  test.each(
    STEPS.flatMap((step) =>
      Object.entries(PROVOCATIONS[step.name] ?? {}).map(([reason, provocation]) => ({
        name: step.name,
        reason,
        step,
        provocation,
      })),
    ),
  )("the column `refuses` is true of $name: it refuses with $reason", async ({ reason, step, provocation }) => {
    expect(step.applies(provocation.row)).toBe(true);
    expect(await reasonsOf(step, provocation)).toEqual([reason]);
  });

  test("the column `refuses` is what the OpenAPI writer says of every published operation, beside the handler's own refusals", () => {
    expect(publishedRows.length).toBeGreaterThan(15);
    for (const row of publishedRows) {
      const steps = [...STEPS, ...SERVER_REFUSALS].filter((step) => step.applies(row));
      const expected = new Set([...row.errors, ...steps.flatMap((step) => step.refuses)]);
      expect(new Set(refusalsOf(row)), row.operation).toEqual(expected);
      expect(refusalsOfColumns(row), row.operation).toEqual(expect.arrayContaining(["TEMPORARY", "INTERNAL"]));
    }
  });
});

describe("a body that was long in coming", () => {
  const withdrawn = refusing("TOKEN_INVALID");
  const unbound = refusing("FIRM_FORBIDDEN");
  const byQuery = { query: "customerRef=a" };
  /** What ends while the body arrives, the row it is asked for, and what the request is answered. */
  const ENDS: Readonly<Record<string, { ends: Partial<PipelinePorts>; row: Route; status: number; query?: string }>> = {
    "the key, at a firm's door": { ends: { authenticate: withdrawn }, row: firm, status: 401 },
    "the key, where the body names the customer": {
      ends: { authenticate: withdrawn },
      row: customerOfBody,
      status: 401,
    },
    "the address": {
      ends: { authenticate: () => testCaller({ ipAllowlist: ["203.0.113.0/24"] }) },
      row: json,
      status: 403,
    },
    "the firm's consent": { ends: { firmContext: unbound }, row: firm, status: 403 },
    "the customer's consent": { ends: { customerContext: unbound }, row: customer, status: 403, ...byQuery },
    "the participant's consent": {
      ends: { participantContext: refusing("PARTICIPANT_FORBIDDEN") },
      row: participant,
      status: 403,
    },
    "the scope": {
      ends: { firmContext: (_, firmId) => ({ firmId: firmId ?? TEST_FIRM, scopes: new Set() }) },
      row: route({ ...ROW, context: "firm", scopes: ["documents:send"] }),
      status: 403,
    },
    "the mailbox": {
      ends: { mayReceive: () => Promise.resolve(false) },
      row: route({ ...ROW, context: "firm", receives: true }),
      status: 403,
    },
  };

  /** Sends the head, lets the right end, and sends the body after so long. */
  async function answerAfter(name: string, ms: number): Promise<{ status: number; handled: number }> {
    const { ends = {}, row = json, query = "" } = ENDS[name] ?? {};
    const clock = fakeClock();
    const asked: Partial<PipelinePorts> = {};
    let handled = 0;
    const counted = { ...row, handler: () => ({ status: 200 as const, body: { handled: ++handled } }) };
    const ports = testPorts({ clock, authenticate: () => integrator });
    const changing = new Proxy(ports, { get: (of, port) => ({ ...of, ...asked })[port as keyof PipelinePorts] });
    const named = row.context.startsWith("customer") ? {} : NAMED;
    const head = headOf({ row, query, headers: { ...JSON_HEADERS, ...named, authorization: "Bearer good" } });
    const request = createPipeline({ rows: [counted], ports: changing })(head);
    expect(await request.begin(ROOM)).toBeUndefined();
    Object.assign(asked, ends);
    clock.advance(ms);
    const { status } = await request.finish(Buffer.from('{"name":"a","customerRef":"a"}'));
    return { status, handled };
  }

  test.each(Object.keys(ENDS))("a request whose right ends while its body arrives does nothing: %s", async (name) => {
    expect(await answerAfter(name, LIMITS.authority_believed_ms + 1)).toEqual({
      status: ENDS[name]?.status,
      handled: 0,
    });
  });

  test("a token is asked for as of the moment at which the body is whole: one that has expired meanwhile does nothing", async () => {
    const clock = fakeClock();
    const asked: number[] = [];
    const ports = testPorts({
      clock,
      authenticate: (_, at) => {
        asked.push(at);
        return testCaller();
      },
    });
    const head = headOf({ row: json, headers: { ...JSON_HEADERS, authorization: "Bearer good" } });
    const request = createPipeline({ rows: [json], ports })(head);
    const startedAt = clock.now();
    await request.begin(ROOM);
    clock.advance(LIMITS.authority_believed_ms + 1);
    await request.finish(Buffer.from('{"name":"a"}'));
    expect(asked).toEqual([startedAt, startedAt + LIMITS.authority_believed_ms + 1]);
  });

  test("a request without a body asks a slow database once who may do it, not again because that took long", async () => {
    const clock = fakeClock();
    let asked = 0;
    const ports = testPorts({
      clock,
      authenticate: () => integrator,
      customerContext: (_, customerRef) => {
        asked += 1;
        return Promise.resolve().then(() => {
          clock.advance(LIMITS.authority_believed_ms + 1);
          return { firmId: TEST_FIRM, customerRef, scopes: new Set() };
        });
      },
    });
    const head = headOf({ row: customer, query: "customerRef=a", headers: { authorization: "Bearer good" } });
    const request = createPipeline({ rows: [customer], ports })(head);
    const begun = request.begin(ROOM);
    const { status } = await request.finish(Buffer.alloc(0));
    expect(await begun).toBeUndefined();
    expect({ status, asked }).toEqual({ status: 200, asked: 1 });
  });

  test("a request whose body came with its head is asked once who makes it", async () => {
    expect(await answerAfter("the key, at a firm's door", LIMITS.authority_believed_ms)).toEqual({
      status: 200,
      handled: 1,
    });
  });
});
