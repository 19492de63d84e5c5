/**
 * Who may call what: every row of the published contract against every kind of token. What is expected is computed from
 * the row's columns by the tables below, which must know each credential and each context: a new kind fails to compile,
 * and a new row is judged without anybody naming it.
 * @source design/reliability.md, T-01, A-08, A-09; spec/enterprise.md, Authentication
 */
import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "vitest";

import { systemClock } from "../../../engine/base/clock.js";
import type { Scope } from "../../../engine/base/scopes.js";
import { SCOPES } from "../../../engine/base/scopes.js";
import { silentLog } from "../../../engine/base/log.js";
import { FIRM_KEY_SCOPES } from "../../../engine/identity/scopes.js";
import { signAccessToken } from "../../../engine/identity/tokens/access-tokens.js";
import { createSigningKeys } from "../../../engine/identity/tokens/signing-keys.js";
import { createSealer } from "../../../engine/storage/sealer.js";
import { probe, targetOf } from "../../../gateway/commands/probe/probe.js";
import type { Route } from "../../../gateway/contract/route.js";
import { accessToken, http, invoiceXml, sapi, send, sendParts, startTestEngine } from "../../support/engines/engine.js";
import type { HttpAnswer, TestEngine } from "../../support/engines/engine.js";
import { eventually } from "../../support/eventually.js";
import { serverForms } from "../../support/engines/gateway.js";
import {
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
import type { Client, Partner, TestKey } from "../../support/callers/partners.js";
import { publishedRows } from "../../support/engines/published-rows.js";

/** Kinds of caller. `own` is a firm that the caller may act for, `foreign` one of somebody else, `gone` one that has withdrawn. */
const CALLERS = [
  "no token",
  "a token that is none",
  "an expired token",
  "a token of the other environment",
  "a firm key",
  "a firm key with X-Firm-Id",
  "a central key without a firm",
  "a central key for its firm",
  "a central key for a foreign firm",
  "a central key for a firm that is missing",
  "a central key for a firm that has withdrawn",
  "a central key for a firm that only sends",
  "a key for one firm",
  "a key for one firm, for another firm",
  "a central key that lacks the scopes",
] as const;
type CallerName = (typeof CALLERS)[number];

/** How far a request comes: the status of the step that stops it, or "in" when the handler's own checks begin. */
type Verdict = 401 | "403 class" | 400 | 403 | 404 | "403 scope" | "403 mailbox" | "in";

interface CallerKind {
  readonly token: "missing" | "bad" | "firm" | "central" | "scoped";
  /** Which firm the headers and the query name. */
  readonly names: "nothing" | "own" | "foreign";
  readonly lacksScopes?: true;
  readonly onlySends?: true;
}
const KINDS: Readonly<Record<CallerName, CallerKind>> = {
  "no token": { token: "missing", names: "own" },
  "a token that is none": { token: "bad", names: "own" },
  "an expired token": { token: "bad", names: "own" },
  "a token of the other environment": { token: "bad", names: "own" },
  "a firm key": { token: "firm", names: "nothing" },
  "a firm key with X-Firm-Id": { token: "firm", names: "own" },
  "a central key without a firm": { token: "central", names: "nothing" },
  "a central key for its firm": { token: "central", names: "own" },
  "a central key for a foreign firm": { token: "central", names: "foreign" },
  "a central key for a firm that is missing": { token: "central", names: "foreign" },
  "a central key for a firm that has withdrawn": { token: "central", names: "foreign" },
  "a central key for a firm that only sends": { token: "central", names: "own", onlySends: true },
  "a key for one firm": { token: "scoped", names: "nothing" },
  "a key for one firm, for another firm": { token: "scoped", names: "foreign" },
  "a central key that lacks the scopes": { token: "central", names: "own", lacksScopes: true },
};

/** Tokens that a credential lets in. */
const ADMITS: Readonly<Record<Exclude<Route["credential"], "admin">, readonly CallerKind["token"][]>> = {
  none: ["missing", "bad", "firm", "central", "scoped"],
  bearer: ["firm", "central", "scoped"],
  partner: ["central", "scoped"],
  partner_unrestricted: ["central"],
};

/**
 * What a context says to whoever names a firm so. A caller sends X-Firm-Id where it names a firm, except where the row
 * would refuse the header for a reason that is not the firm: there the firm is named as the row wants it.
 */
const CONTEXTS: Readonly<Record<Route["context"], (kind: CallerKind) => Verdict>> = {
  none: () => "in",
  forbidden: ({ names }) => (names === "nothing" ? "in" : 400),
  firm: ({ token, names }) => {
    if (token === "firm") return names === "nothing" ? "in" : 400;
    if (names === "nothing") return token === "scoped" ? "in" : 400;
    return names === "own" ? "in" : 403;
  },
  customer: ({ names }) => (names === "nothing" ? 400 : names === "own" ? "in" : 404),
  customer_body: ({ names }) => (names === "nothing" ? 400 : names === "own" ? "in" : 404),
  participant: ({ names }) => (names === "nothing" ? 400 : names === "own" ? "in" : 403),
};

function expectedOf(row: Route, kind: CallerKind): Verdict {
  if (row.credential === "admin") throw new Error(`${row.operation} is not for the public listener`);
  if (row.credential === "none") return "in";
  if (kind.token === "missing" || kind.token === "bad") return 401;
  if (!ADMITS[row.credential].includes(kind.token)) return "403 class";
  const context = CONTEXTS[row.context](kind);
  if (context !== "in") return context;
  if (kind.lacksScopes === true && row.scopes.length > 0) return "403 scope";
  return kind.onlySends === true && row.receives === true ? "403 mailbox" : "in";
}

/** Contexts in which the firm is named by something else than X-Firm-Id. */
const NAMED_OTHERWISE: readonly Route["context"][] = ["participant", "customer", "customer_body"];

/** Rows whose firm is called by its integrator's name for it. */
const isCustomers = ({ context }: Route): boolean => context === "customer" || context === "customer_body";

/** Codes of the steps before the handler. */
const CONTEXT_CODES = /^(FIRM_CONTEXT_(FORBIDDEN|REQUIRED))$/;

function verdictOf(row: Route, status: number, error: Readonly<Record<string, unknown>>): Verdict {
  const text = JSON.stringify(error);
  // A signature belongs to the bytes of a request, not to who calls.
  if (status === 401) return error["code"] === "SIGNATURE_INVALID" ? "in" : 401;
  if (status === 403 && error["code"] === "PARTNER_NOT_AUTHORIZED") return "403 class";
  if (status === 403 && (error["required_scope"] !== undefined || text.includes("lacks the scope"))) return "403 scope";
  if (status === 403 && text.includes("This firm only sends")) return "403 mailbox";
  if (status === 403 && /no active binding|does not cover the Connector|does not own the participant/.test(text))
    return 403;
  if (status === 400 && (CONTEXT_CODES.test(String(error["code"])) || text.includes("X-Peppol-Participant-Id")))
    return 400;
  if (isCustomers(row) && status === 400 && text.includes("customerRef")) return 400;
  if (isCustomers(row) && status === 404) return 404;
  return "in";
}

/** What the rows of onboarding say to whom they let in: with the preview on, and off. */
const ONBOARDING: Readonly<Record<string, Readonly<Record<"on" | "off", readonly [number, string | undefined]>>>> = {
  createOnboardingRequest: { on: [202, undefined], off: [503, "PREVIEW_DISABLED"] },
  getOnboardingRequest: { on: [404, "NOT_FOUND"], off: [503, "PREVIEW_DISABLED"] },
  pfsConfirmation: { on: [401, "SIGNATURE_INVALID"], off: [503, "PREVIEW_DISABLED"] },
};
const onboardingRows = publishedRows.filter(({ tag }) => tag === "Onboarding");

let companies = 0;

/** A call of a row of onboarding that nothing but the caller can stop. */
const callOnboarding = (base: string, row: Route, headers: Readonly<Record<string, string>>): Promise<HttpAnswer> => {
  companies += 1;
  const [ref, dic] = [`matrix-${companies}`, String(2_160_000_000 + companies)];
  return http(
    row.method,
    `${base}${row.path.replace(/\{\w+\}/g, () => randomUUID())}`,
    { ...headers, ...(row.method === "GET" ? {} : { "content-type": "application/json", "idempotency-key": ref }) },
    row.method === "GET"
      ? undefined
      : JSON.stringify({ serviceMode: "send_only", customerRef: ref, dic, contactEmail: "firma@firma.example" }),
  );
};

const scopesWithout = (row: Route): readonly Scope[] => SCOPES.filter((scope) => !row.scopes.includes(scope));

describe.each(serverForms)("the %s form", (form) => {
  let t: TestEngine;
  let partner: Partner;
  let firms: Readonly<Record<"own" | "foreign" | "gone" | "sender", Client>>;
  let tokens: Readonly<Record<CallerName, string | undefined>>;
  /** Central keys of the one partner: its calls are spread over them, so that no rate limit answers in place of a row. */
  let keys: readonly TestKey[];
  let turn = 0;
  const nextKey = (): TestKey => keys[(turn += 1) % keys.length] ?? partner.key;

  beforeAll(async () => {
    t = await startTestEngine({ form, config: { ONBOARDING_PREVIEW: "on", PFS_WEBHOOK_SECRET: "a secret" } });
    partner = await newPartner(t);
    const [own, foreign] = [await newClient(t), await newClient(t)];
    firms = { own, foreign, gone: await newClient(t), sender: await newClient(t) };
    for (const name of ["own", "gone", "sender"] as const)
      await bindClient(t, partner, firms[name], { customerRef: name });
    await t.db.sql`update firm set sends_only = true where id = ${firms.sender.firmId}`;
    await withdraw(t, partner, firms.gone);
    keys = [partner.key];
    for (let more = 0; more < 4; more += 1) keys = [...keys, await newKey(t, { integratorId: partner.integratorId })];
    const [central = "", second, third, fourth] = keys.map(({ token }) => token);
    const firmKey = await newFirmKey(t, own.firmId, SCOPES);
    const ofFirm = SCOPES.filter((scope) => scope !== "keys:manage");
    const scoped = await newKey(t, { integratorId: partner.integratorId, scopedFirmId: own.firmId }, ofFirm);
    const minted = await mint();
    tokens = {
      "no token": undefined,
      "a token that is none": "eyJhbGciOiJub25lIn0.e30.",
      "an expired token": minted.expired,
      "a token of the other environment": minted.elsewhere,
      "a firm key": firmKey.token,
      "a firm key with X-Firm-Id": firmKey.token,
      "a central key without a firm": central,
      "a central key for its firm": second,
      "a central key for a foreign firm": third,
      "a central key for a firm that is missing": fourth,
      "a central key for a firm that has withdrawn": central,
      "a central key for a firm that only sends": second,
      "a key for one firm": scoped.token,
      "a key for one firm, for another firm": scoped.token,
      "a central key that lacks the scopes": central,
    };
    await eventually("the node hears of the withdrawal", async () => {
      const headers = { authorization: `Bearer ${central}`, "x-firm-id": firms.gone.firmId };
      return (await http("GET", `${t.sandbox.baseUrl}/documents/${randomUUID()}`, headers)).status === 403;
    });
  });
  afterAll(() => t.stop());

  /** Tokens with a true signature that are good no more, or for another deployment. */
  async function mint(): Promise<{ readonly expired: string; readonly elsewhere: string }> {
    const sealer = createSealer([Buffer.alloc(32, 7)]);
    const keys = createSigningKeys({ sql: t.db.sql, sealer, clock: systemClock, log: silentLog, isFresh: () => true });
    await keys.reload();
    const claims = {
      keyId: partner.key.id,
      firmId: null,
      integratorId: partner.integratorId,
      scopes: SCOPES,
      generation: 0,
      bindingGeneration: 0,
    };
    const { publicUrl } = t.engine;
    const now = systemClock.now();
    return {
      expired: await signAccessToken(keys, { publicUrl, environment: "sandbox" }, claims, now - 3_600_000),
      elsewhere: await signAccessToken(keys, { publicUrl, environment: "production" }, claims, now),
    };
  }

  /** The firm that a caller names. */
  const firmOf = (name: CallerName): Pick<Client, "firmId" | "participantId"> & { readonly customerRef: string } => {
    if (name === "a central key for a firm that is missing")
      return {
        firmId: randomUUID() as Client["firmId"],
        participantId: "0245:1999999999" as Client["participantId"],
        customerRef: "none",
      };
    // A withdrawn firm is known by its name, and its consent does not cover the call any more.
    if (name === "a central key for a firm that has withdrawn") return { ...firms.gone, customerRef: "gone" };
    if (KINDS[name].onlySends === true) return { ...firms.sender, customerRef: "sender" };
    return KINDS[name].names === "foreign"
      ? { ...firms.foreign, customerRef: "theirs" }
      : { ...firms.own, customerRef: "own" };
  };

  /** @param key  whose token is used instead of the caller's */
  const ask = async (row: Route, name: CallerName, key?: TestKey) => {
    const kind = KINDS[name];
    const firm = firmOf(name);
    const token =
      kind.lacksScopes === true && row.scopes.length > 0
        ? await tokenOf(t, nextKey(), scopesWithout(row).join(" "))
        : row.operation === "authRotateSecret" && kind.token === "firm"
          ? (await newFirmKey(t, firms.own.firmId)).token
          : (key?.token ?? tokens[name]);
    const names = kind.names !== "nothing";
    if (row.tag === "Onboarding")
      return callOnboarding(t.sandbox.baseUrl, row, {
        ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
        ...(names ? { "x-firm-id": firm.firmId } : {}),
      });
    const path = row.path.replace(/\{\w+\}/g, () => randomUUID());
    const query = names && row.context === "customer" ? `?customerRef=${firm.customerRef}` : "";
    const named =
      names && row.context === "customer_body" ? JSON.stringify({ customerRef: firm.customerRef }) : undefined;
    return http(
      row.method,
      `${t.engine.publicUrl}${row.mounts[0] ?? ""}${path}${query}`,
      {
        ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
        ...(names && row.context === "participant" ? { "x-peppol-participant-id": firm.participantId } : {}),
        ...(names && !NAMED_OTHERWISE.includes(row.context) ? { "x-firm-id": firm.firmId } : {}),
        ...(named === undefined ? {} : { "content-type": "application/json" }),
      },
      named,
    );
  };

  test.each(publishedRows.map((row) => [`${row.method} ${row.mounts[0] ?? ""}${row.path}`, row] as const))(
    "%s stops each caller where its row says",
    async (_, row) => {
      const seen: Record<string, Verdict> = {};
      const expected: Record<string, Verdict> = {};
      for (const name of CALLERS) {
        const { status, json } = await ask(row, name);
        expect(status, name).not.toBe(429);
        seen[name] = verdictOf(row, status, (json["error"] ?? {}) as Record<string, unknown>);
        expected[name] = expectedOf(row, KINDS[name]);
        // A customer that is unknown and a document that is have one answer; rows without a document tell them apart.
        if (row.context === "customer" && row.path.includes("{") && expected[name] === "in" && seen[name] === 404)
          seen[name] = "in";
        // The integrator knows this customer; what it may not do any more is 403, as the Connector's table has it.
        if (isCustomers(row) && name === "a central key for a firm that has withdrawn") expected[name] = 403;
      }
      expect(seen).toEqual(expected);
    },
  );

  test.each(onboardingRows.map((row) => [row.operation, row] as const))(
    "with the preview on, %s answers whom it lets in as its table says",
    async (operation, row) => {
      const answer = await ask(row, "a central key without a firm");
      expect(faultOf(answer)).toEqual(ONBOARDING[operation]?.on);
    },
  );

  // spec/rulings.md, section 4: what a firm's key can do unless its maker says otherwise
  test("the keys of the demo firms read evidence and events beside what every firm's key can do", async () => {
    const more = ["evidence:read", "events:read"] as const;
    for (const firm of [t.sandbox.sender, t.sandbox.receiver]) {
      const answer = await api(t, await accessToken(t.sandbox, firm), "GET /auth/status");
      const { permissions } = answer.json["key"] as { readonly permissions: readonly string[] };
      expect([...permissions].sort()).toEqual([...FIRM_KEY_SCOPES, ...more].sort());
      for (const scope of more) expect(String(answer.json["scope"]).split(" ")).toContain(scope);
    }
  });

  test("an id in a path that is somebody else's and one that never was are answered with the same words", async () => {
    const other = await newPartner(t);
    await bindClient(t, other, firms.foreign, { customerRef: "theirs" });
    // A reader of its own, so that no rate limit answers in place of a row.
    const reader = await newPartner(t);
    await bindClient(t, reader, firms.own, { customerRef: "own" });
    const readers = [reader.key, await newKey(t, { integratorId: reader.integratorId })];
    let read = 0;
    const made = async (line: string, body: unknown): Promise<string> => {
      const answer = await api(t, other.key.token, line, { body, headers: { "idempotency-key": randomUUID() } });
      expect([answer.status, answer.text]).toEqual([expect.toSatisfy((n) => n === 201 || n === 202), answer.text]);
      return String(answer.json["id"]);
    };
    const { sender, receiver } = t.sandbox;
    // Logins have a rate of their own, which a wait would use up.
    const [senderToken, receiverToken] = [await accessToken(t.sandbox, sender), await accessToken(t.sandbox, receiver)];
    const subscription = await api(t, senderToken, "POST /webhooks", { body: { url: null } });
    const parts = sendParts(
      sender.participantId,
      receiver.participantId,
      invoiceXml(sender.participantId, receiver.participantId),
    );
    const sent = await send(t.sandbox, { ...sender, token: senderToken }, parts);
    const document = String(sent.json["providerDocumentId"]);
    const received = await eventually("the document arrives", async () => {
      const inbox = await sapi(t.sandbox, { ...receiver, token: receiverToken }, "GET", "/document/receive");
      return (inbox.json["documents"] as readonly { readonly documentId: string }[])[0]?.documentId;
    });
    const event = await eventually("an event is there to be pulled", async () => {
      const { json } = await api(t, senderToken, "GET /events/pull");
      return (json["events"] as readonly { readonly event_id: string }[])[0]?.event_id;
    });
    const scheduledFor = new Date(Date.now() + 3_600_000).toISOString();
    const boxItem = async (): Promise<string> => {
      const payloadXml = invoiceXml(sender.participantId, receiver.participantId);
      return String(
        (await api(t, senderToken, "POST /box/items", { body: { payloadXml, scheduledFor } })).json["boxItemId"],
      );
    };
    const offer = {
      targetIdentifier: firms.foreign.ico,
      requestedInterface: "enterprise_api",
      requestedScopes: ["documents:read"],
    };
    const wish = {
      serviceMode: "send_only",
      customerRef: "path",
      dic: "2169999999",
      contactEmail: "firma@firma.example",
    };
    const registration = await api(t, other.key.token, "POST /white-label/participants/registrations", {
      body: { customerRef: "wl", dic: "2169999998", companyEmail: "firma@firma.example", verificationToken: "token" },
      headers: { "idempotency-key": randomUUID() },
    });
    expect([registration.status, registration.text]).toEqual([201, registration.text]);
    await api(t, other.key.token, "PUT /connector/webhook", { body: { url: "http://127.0.0.1:9/" } });
    const suite = { customerRef: "theirs", scenarios: ["success"] };
    const tested = await api(t, other.key.token, "POST /connector/webhook/test", { body: suite });
    /** By the beginning of a path: an id that is there and belongs to others. */
    const ids: readonly (readonly [RegExp, string])[] = [
      [/^\/(document\/receive|documents\/inbox|inbound\/documents|connector\/documents)\//, received],
      [/^\/(outbound\/)?documents\//, document],
      [/^\/box\/items\//, await boxItem()],
      [/^\/webhooks\//, String(subscription.json["id"])],
      [/^\/connector\/webhook\/deliveries\//, String(tested.json["deliveryId"])],
      [/^\/connector\/webhook\/test-suite\//, await made("POST /connector/webhook/test-suite", suite)],
      [/^\/events\//, event],
      [/^\/firms\//, firms.foreign.firmId],
      [/^\/integrator\/keys\//, other.key.id],
      [/^\/consent-offers\//, await made("POST /consent-offers", offer)],
      [/^\/onboarding-requests\//, await made("POST /onboarding-requests", wish)],
      [/^\/white-label\/operations\//, String(registration.json["id"])],
      [/^\/white-label\/participants\//, String(registration.json["participantId"])],
    ];
    // Participants and companies are no tenant's, templates are named by each tenant alike; of dead letters, whose ids
    // take long to make, their own test promises the same.
    const OTHERWISE = /^\/(peppol|company|connector\/mapper\/templates|webhook-dead-letter)\//;
    for (const row of publishedRows.filter(({ path }) => path.includes("{") && !OTHERWISE.test(path))) {
      const [, theirs = ""] = ids.find(([path]) => path.test(row.path)) ?? [];
      expect(theirs, row.path).not.toBe("");
      const at = async (id: string): Promise<unknown> => {
        const { status, json } = await http(
          row.method,
          `${t.engine.publicUrl}${row.mounts[0] ?? ""}${row.path.replace(/\{\w+\}/, id)}${row.context === "customer" ? "?customerRef=own" : ""}`,
          {
            authorization: `Bearer ${readers[(read += 1) % readers.length]?.token ?? ""}`,
            ...(row.context === "participant" ? { "x-peppol-participant-id": firms.own.participantId } : {}),
            ...(row.context === "firm" ? { "x-firm-id": firms.own.firmId } : {}),
            ...(row.request.body === undefined ? {} : { "content-type": "application/json" }),
            ...(row.idempotency === "none" ? {} : { "idempotency-key": randomUUID() }),
          },
          row.request.body === undefined
            ? undefined
            : JSON.stringify({
                status: row.context === "customer" ? "accepted" : "AP",
                state: "read",
                scheme: "0245",
                identifier: "2120000017",
                scheduledFor,
              }),
        );
        return { status, ...(json["error"] as object), requestId: "", correlation_id: "" };
      };
      const [foreign, missing] = [await at(theirs), await at(randomUUID())];
      expect(foreign, row.operation).toEqual(missing);
      expect(foreign, row.operation).toMatchObject({ status: 404 });
    }
  });

  test("a foreign firm, one that has withdrawn and one that never was are answered with the same words", async () => {
    // A partner of its own, so that no rate limit answers in place of a row.
    const visitor = await newPartner(t);
    await bindClient(t, visitor, firms.gone, { customerRef: "gone" });
    await withdraw(t, visitor, firms.gone);
    const visitors = [visitor.key, await newKey(t, { integratorId: visitor.integratorId })];
    let visit = 0;
    for (const row of publishedRows.filter(({ context }) => context === "firm" || context === "participant")) {
      const bodies: string[] = [];
      const named = CALLERS.filter((name) => KINDS[name].token === "central" && KINDS[name].names === "foreign");
      for (const name of named) {
        const { status, json } = await ask(row, name, visitors[(visit += 1) % visitors.length]);
        expect(status, row.operation).not.toBe(429);
        const error = json["error"] as Record<string, unknown>;
        bodies.push(JSON.stringify({ status, ...error, requestId: "", correlation_id: "" }));
      }
      expect(bodies).toHaveLength(3);
      expect(new Set(bodies).size, row.operation).toBe(1);
    }
  });
});

describe.each(serverForms)("the %s form with the preview of onboarding off", (form) => {
  let t: TestEngine;
  let partner: Partner;

  beforeAll(async () => {
    t = await startTestEngine({ form });
    partner = await newPartner(t);
  });
  afterAll(() => t.stop());

  test.each(onboardingRows.map((row) => [row.operation, row] as const))(
    "with the preview off, %s says so to whom it would let in, and nothing to others",
    async (operation, row) => {
      const as = (token: string): Readonly<Record<string, string>> => ({ authorization: `Bearer ${token}` });
      const ask = (headers: Readonly<Record<string, string>>) => callOnboarding(t.sandbox.baseUrl, row, headers);
      const off = ONBOARDING[operation]?.off;
      expect(off).toBeDefined();
      expect(faultOf(await ask(as(partner.key.token)))).toEqual(off);
      const isOpen = row.credential === "none";
      const lacking = await tokenOf(t, partner.key, scopesWithout(row).join(" "));
      expect((await ask({})).status).toBe(isOpen ? 503 : 401);
      expect((await ask(as(lacking))).status).toBe(isOpen ? 503 : 403);
    },
  );

  test("kurier probe finds every hostile request answered as it must be", async () => {
    const verdicts = await probe(targetOf(new URL(t.sandbox.baseUrl).origin), true);
    const failed = verdicts.filter(({ holds }) => !holds);
    expect(failed.map(({ case: { name }, seen }) => [name, seen.answers, seen.isEnded])).toEqual([]);
    expect(verdicts.length).toBeGreaterThan(40);
  });
});

test("a row about received documents says that it is: a firm that only sends has none", () => {
  const about = publishedRows.filter(({ path }) => /receive|inbox|acknowledge|respond/.test(path));
  expect(about.length).toBeGreaterThan(3);
  expect(about.filter(({ receives }) => receives !== true).map(({ operation }) => operation)).toEqual([]);
});
