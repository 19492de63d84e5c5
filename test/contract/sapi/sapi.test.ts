/**
 * spec/sapi.md and spec/rulings.md §2, §3 and §6, row by row, over HTTP, on both forms of the server.
 * Test names quote the rows. Time is injected; each test has a window of the rate limits of its own.
 */
import { createHash, randomUUID } from "node:crypto";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";

import type { Clock } from "../../../engine/base/clock.js";
import { LIMITS } from "../../../engine/base/limits.js";
import type { Sql } from "../../../engine/storage/sql.js";
import { createKey } from "../../../engine/identity/keys.js";
import { makeFirm } from "../../../engine/identity/registration.js";
import { parseFirmId } from "../../../engine/base/ids.js";
import type { ParticipantId } from "../../../engine/base/ids.js";
import { BILLING_PROCESS } from "../../../engine/peppol/envelope/identifiers.js";
import {
  buildInvoiceResponse,
  INVOICE_RESPONSE_DOCUMENT_TYPE,
  INVOICE_RESPONSE_PROFILE,
} from "../../../engine/peppol/responses/invoice-response.js";
import type { Scope } from "../../../engine/base/scopes.js";
import {
  accessToken,
  CREDIT_NOTE_TYPE,
  http,
  invoiceXml,
  INVOICE_TYPE,
  sapi,
  send,
  sendParts,
  startTestEngine,
} from "../../support/engines/engine.js";
import type { HttpAnswer, Mailbox, TestEngine } from "../../support/engines/engine.js";
import { serverForms } from "../../support/engines/gateway.js";
import { eventually } from "../../support/eventually.js";

interface ErrorBody {
  category: string;
  code: string;
  message: string;
  retryable: boolean;
  correlation_id: string;
  requestId: string;
  details?: { code?: string; issue?: string; field?: string; message: string; ruleId?: string }[];
}
const errorOf = (answer: HttpAnswer): ErrorBody => answer.json["error"] as ErrorBody;
const codes = (answer: HttpAnswer): unknown[] => [
  answer.status,
  errorOf(answer).code,
  errorOf(answer).details?.[0]?.code ?? errorOf(answer).details?.[0]?.field,
];

/** How many rows each table has, and the youngest transaction that wrote one of them; nodes write theirs all the time. */
async function rowsOf(sql: Sql): Promise<ReadonlyMap<string, string>> {
  const tables = await sql<{ readonly name: string }[]>`
    select relname as name from pg_stat_user_tables where relname not in ('node', 'dispatcher')`;
  const rows = await Promise.all(
    tables.map(async ({ name }) => {
      const [row] = await sql<{ readonly rows: string }[]>`
        select count(*) || ' ' || coalesce(max(xmin::text::bigint), 0) as rows from ${sql(name)}`;
      return [name, row?.rows ?? ""] as const;
    }),
  );
  return new Map(rows);
}

describe.each(serverForms)("SAPI over %s", (form) => {
  let t: TestEngine;
  let now = Date.parse("2026-11-20T09:00:00.000Z");
  let monotonic = 0;
  const clock: Clock = { now: () => now, monotonic: () => monotonic };
  let sender: Mailbox;
  let receiver: Mailbox;

  beforeAll(async () => {
    t = await startTestEngine({ form, clock });
  });
  afterAll(() => t.stop());

  const authenticate = async (): Promise<void> => {
    sender = { participantId: t.sandbox.sender.participantId, token: await accessToken(t.sandbox, t.sandbox.sender) };
    receiver = {
      participantId: t.sandbox.receiver.participantId,
      token: await accessToken(t.sandbox, t.sandbox.receiver),
    };
  };
  beforeEach(async () => {
    monotonic += 120_000;
    await authenticate();
  });

  const xml = (changes: Parameters<typeof invoiceXml>[2] = {}): string =>
    invoiceXml(sender.participantId, receiver.participantId, { issueDate: "2026-11-20", ...changes });
  const parts = (payload = xml(), metadata: Record<string, unknown> = {}) =>
    sendParts(sender.participantId, receiver.participantId, payload, metadata);
  const received = (answer: HttpAnswer): Promise<string> =>
    eventually("the document is received", async () => {
      const list = await sapi(t.sandbox, receiver, "GET", "/document/receive?limit=100");
      const documents = list.json["documents"] as { documentId: string; creationDateTime: string }[];
      for (const item of documents.toReversed()) {
        const detail = await sapi(t.sandbox, receiver, "GET", `/document/receive/${item.documentId}`);
        if (createHash("sha256").update(String(detail.json["payload"])).digest("hex") === answer.text)
          return item.documentId;
      }
      return undefined;
    });
  const sentAndReceived = async (): Promise<{ id: string; payload: string }> => {
    const payload = xml();
    expect((await send(t.sandbox, sender, parts(payload))).status).toBe(202);
    const digest = createHash("sha256").update(payload).digest("hex");
    return { id: await received({ text: digest } as HttpAnswer), payload };
  };
  const key = async (participantId: string, scopes?: readonly Scope[]): Promise<Mailbox> => {
    const made = await makeFirm(
      { sql: t.db.sql, clock, environment: "sandbox" },
      { name: participantId, participantId: participantId as ParticipantId },
    );
    if (typeof made === "string") throw new Error(made);
    if (scopes === undefined) return { participantId, token: await accessToken(t.sandbox, made) };
    const firmId = parseFirmId(made.firmId);
    if (firmId === undefined) throw new Error("no firm");
    const scoped = await createKey({ sql: t.db.sql, clock, environment: "sandbox" }, { owner: { firmId }, scopes });
    if (typeof scoped === "string") throw new Error(scoped);
    return { participantId, token: await accessToken(t.sandbox, { clientId: scoped.id, clientSecret: scoped.secret }) };
  };

  describe("Endpoints", () => {
    test("POST /sapi/v1/document/send: 202 send response {providerDocumentId, status ACCEPTED, receivedAt, timestamp}", async () => {
      const answer = await send(t.sandbox, sender, parts());
      expect(answer.status).toBe(202);
      expect(answer.json).toEqual({
        providerDocumentId: expect.stringMatching(/^[0-9a-f-]{36}$/) as string,
        status: "ACCEPTED",
        receivedAt: "2026-11-20T09:00:00.000Z",
        timestamp: "2026-11-20T09:00:00.000Z",
      });
      expect(answer.headers.get("content-type")).toBe("application/json; charset=utf-8");
      expect(answer.headers.get("x-request-id")).toMatch(/^[A-Za-z0-9._:-]{1,128}$/);
    });

    test("GET /sapi/v1/document/receive: list of {documentId, documentTypeId, processId, senderParticipantId, receiverParticipantId, creationDateTime}; ids as iso6523-actorid-upis::<scheme>:<id>", async () => {
      const { id } = await sentAndReceived();
      const list = await sapi(t.sandbox, receiver, "GET", "/document/receive?limit=100&status=RECEIVED");
      expect(list.status).toBe(200);
      expect((list.json["documents"] as { documentId: string }[]).find((item) => item.documentId === id)).toEqual({
        documentId: id,
        documentTypeId: INVOICE_TYPE,
        processId: BILLING_PROCESS,
        senderParticipantId: `iso6523-actorid-upis::${sender.participantId}`,
        receiverParticipantId: `iso6523-actorid-upis::${receiver.participantId}`,
        creationDateTime: "2026-11-20T09:00:00.000Z",
        status: "RECEIVED",
      });
    });

    test("GET /sapi/v1/document/receive/{documentId}: 200 detail with the full UBL and top-level documentId", async () => {
      const { id, payload } = await sentAndReceived();
      const detail = await sapi(t.sandbox, receiver, "GET", `/document/receive/${id}`);
      expect(detail.status).toBe(200);
      expect(detail.json).toMatchObject({
        documentId: id,
        payload,
        payloadFormat: "XML",
        metadata: { documentId: id, documentTypeId: INVOICE_TYPE, processId: BILLING_PROCESS },
      });
      expect(Object.keys(detail.json["metadata"] as object).sort()).toEqual([
        "creationDateTime",
        "documentId",
        "documentTypeId",
        "processId",
        "receiverParticipantId",
        "senderParticipantId",
      ]);
    });

    test("POST …/acknowledge: 200 {documentId, status ACKNOWLEDGED, acknowledgedDateTime}; no longer in the list with status=RECEIVED; idempotent", async () => {
      const { id } = await sentAndReceived();
      const first = await sapi(t.sandbox, receiver, "POST", `/document/receive/${id}/acknowledge`);
      expect([first.status, first.json]).toEqual([
        200,
        { documentId: id, status: "ACKNOWLEDGED", acknowledgedDateTime: "2026-11-20T09:00:00.000Z" },
      ]);
      now += 5_000;
      const second = await sapi(t.sandbox, receiver, "POST", `/document/receive/${id}/acknowledge`);
      expect([second.status, second.text]).toEqual([200, first.text]);
      const inbox = async (status: string): Promise<string[]> =>
        (
          (await sapi(t.sandbox, receiver, "GET", `/document/receive?limit=100${status}`)).json["documents"] as {
            documentId: string;
          }[]
        ).map((item) => item.documentId);
      expect(await inbox("&status=RECEIVED")).not.toContain(id);
      expect(await inbox("")).not.toContain(id);
      expect(await inbox("&status=ACKNOWLEDGED")).toContain(id);
      now -= 5_000;
    });

    test("SAPI is also mounted at /sapi/... without v1, same handlers", async () => {
      const bare = { sapiBaseUrl: t.sandbox.sapiBaseUrl.replace("/sapi/v1", "/sapi") };
      const mailbox = { participantId: sender.participantId, token: await accessToken(bare, t.sandbox.sender) };
      expect((await send(bare, mailbox, parts())).status).toBe(202);
      expect((await sapi(bare, receiver, "GET", "/document/receive")).status).toBe(200);
    });
  });

  describe("Rules", () => {
    test("1. the same Idempotency-Key and body returns the stored response, byte for byte, also later and over JSON that only looks different", async () => {
      const body = parts();
      const headers = { "idempotency-key": randomUUID() };
      const first = await send(t.sandbox, sender, body, headers);
      now += 86_400_000;
      await authenticate();
      expect(await send(t.sandbox, sender, body, headers)).toMatchObject({ status: 202, text: first.text });
      const reordered = {
        payloadFormat: body.payloadFormat,
        payload: body.payload,
        metadata: body.metadata,
        unknownMember: 1,
      };
      expect(
        await send(t.sandbox, sender, reordered, { "idempotency-key": headers["idempotency-key"].toUpperCase() }),
      ).toMatchObject({ status: 202, text: first.text });
      now -= 86_400_000;
    });

    test("2. the list starts from the oldest; while nextPageToken is present the caller continues with pageToken, stable under arrivals", async () => {
      const mailbox = await key("0245:7000000001");
      const sendTo = async (): Promise<void> => {
        const payload = invoiceXml(sender.participantId, mailbox.participantId, { issueDate: "2026-11-20" });
        expect(
          (await send(t.sandbox, sender, sendParts(sender.participantId, mailbox.participantId, payload))).status,
        ).toBe(202);
      };
      const count = async (): Promise<number> =>
        ((await sapi(t.sandbox, mailbox, "GET", "/document/receive?limit=100")).json["documents"] as unknown[]).length;
      for (let i = 0; i < 5; i += 1) await sendTo();
      await eventually("five arrived", async () => (await count()) === 5);
      const all = (
        (await sapi(t.sandbox, mailbox, "GET", "/document/receive?limit=100")).json["documents"] as {
          documentId: string;
        }[]
      ).map((item) => item.documentId);
      const pages: string[] = [];
      let token: string | undefined;
      for (let turn = 0; turn < 10; turn += 1) {
        const page = (
          await sapi(
            t.sandbox,
            mailbox,
            "GET",
            `/document/receive?limit=2${token === undefined ? "" : `&pageToken=${token}`}`,
          )
        ).json as { documents: { documentId: string }[]; nextPageToken: string | null };
        pages.push(...page.documents.map((item) => item.documentId));
        if (turn === 0) {
          await sendTo();
          await eventually("the sixth arrived", async () => (await count()) === 6);
        }
        if (page.nextPageToken === null) break;
        token = page.nextPageToken;
      }
      expect(pages.slice(0, 5)).toEqual(all);
      expect(new Set(pages).size).toBe(6);
    });

    test("4. outbound status is read from /api/v1/documents/{id}/status and /events with providerDocumentId", async () => {
      const sent = await send(t.sandbox, sender, parts());
      const id = String(sent.json["providerDocumentId"]);
      const read = (path: string): Promise<HttpAnswer> =>
        http("GET", `${t.sandbox.baseUrl}/documents/${id}${path}`, { authorization: `Bearer ${sender.token}` });
      await eventually("delivered", async () => (await read("/status")).json["status"] === "delivered");
      const status = await read("/status");
      expect(status.json).toMatchObject({
        id,
        status: "delivered",
        documentType: INVOICE_TYPE,
        senderPeppolId: sender.participantId,
        receiverPeppolId: receiver.participantId,
        invoiceResponseStatus: null,
        acknowledgedAt: null,
      });
      expect((status.json["statusHistory"] as { status: string }[]).map((entry) => entry.status)).toEqual([
        "queued",
        "delivered",
      ]);
      const events = await read("/events");
      expect(events.json).toMatchObject({
        documentId: id,
        pagination: { limit: 50, nextCursor: null, hasMore: false },
      });
      expect(
        (events.json["events"] as { eventType: string; actor: string }[]).map((event) => [
          event.eventType,
          event.actor,
        ]),
      ).toEqual([
        ["document.queued", "api"],
        ["document.sent", "system"],
        ["document.delivered", "system"],
      ]);
      const page = (await read("/events?limit=2")).json as { events: unknown[]; pagination: { nextCursor: string } };
      expect(page.events).toHaveLength(2);
      expect(
        (await read(`/events?limit=2&cursor=${page.pagination.nextCursor}`)).json["events"] as unknown[],
      ).toHaveLength(1);
      expect((await read("/events?cursor=forged")).status).toBe(400);
      expect(
        (
          await http("GET", `${t.sandbox.baseUrl}/documents/${id}/status`, {
            authorization: `Bearer ${receiver.token}`,
          })
        ).status,
      ).toBe(404);
    });
  });

  describe("Errors: 400 VALIDATION", () => {
    test.each(["metadata", "payload", "payloadFormat"])("a wrapper field is missing: %s", async (member) => {
      const answer = await send(t.sandbox, sender, { ...parts(), [member]: undefined });
      expect(codes(answer)).toEqual([400, "VALIDATION", member]);
    });

    test.each(["documentId", "documentTypeId", "processId", "senderParticipantId", "receiverParticipantId"])(
      "a wrapper field is missing: metadata.%s",
      async (member) => {
        expect(codes(await send(t.sandbox, sender, parts(xml(), { [member]: undefined })))).toEqual([
          400,
          "VALIDATION",
          `metadata.${member}`,
        ]);
      },
    );

    test("documentId longer than 255 characters; exactly 255 is accepted", async () => {
      expect(codes(await send(t.sandbox, sender, parts(xml(), { documentId: "x".repeat(256) })))).toEqual([
        400,
        "VALIDATION",
        "metadata.documentId",
      ]);
      expect(
        (await send(t.sandbox, sender, parts(xml(), { documentId: `${randomUUID()}${"é".repeat(219)}` }))).status,
      ).toBe(202);
    });

    test.each([
      ["nothing", ""],
      ["white space before it", " F-1"],
      ["white space behind it", "F-1\u00a0"],
      ["a line break", "F-1\nF-2"],
      ["a zero-width space", "F\u200b-1"],
      ["a soft hyphen", "F\u00ad-1"],
      ["a mark of direction", "\u202eF-1"],
      ["a byte order mark", "F-1\ufeff"],
      ["a variation selector", "F-1\ufe0f"],
      ["spaces alone", "   "],
      ["a blank of Braille alone", "\u2800"],
      ["an accent without a letter", "\u0301"],
      ["a filler of Hangul alone", "\u3164"],
    ])("rulings §14: a documentId with %s is refused", async (_, documentId) => {
      expect(codes(await send(t.sandbox, sender, parts(xml(), { documentId })))).toEqual([
        400,
        "VALIDATION",
        "metadata.documentId",
      ]);
    });

    test("rulings §14: documentIds are compared exactly: case, inner space and form of an accent tell them apart; 255 characters count as such", async () => {
      const run = randomUUID();
      const pair = (text: string): string => `${run} ${text}`;
      const ids = ["F-\u00e9", "F-e\u0301", "f-\u00e9", "F -\u00e9", "F  -\u00e9"].map(pair);
      for (const documentId of [...ids, `${run}${"😀".repeat(219)}`])
        expect((await send(t.sandbox, sender, parts(xml(), { documentId }))).status).toBe(202);
      for (const documentId of ids)
        expect(codes(await send(t.sandbox, sender, parts(xml(), { documentId })))[2]).toBe("SAPI-DOC-018");
    });

    test.each([
      "0000-01-01T00:00:00Z",
      "0001-01-01T00:00:00+14:00",
      "9999-12-31T23:59:59-14:00",
      "2026-11-20T00:00:00+23:59",
      "2026-02-30T00:00:00Z",
      "2026-02-30T00:00Z",
      "2026-11-20T09Z",
      "yesterday",
    ])("creationDateTime %s is none, or none that can be stored", async (creationDateTime) => {
      expect(codes(await send(t.sandbox, sender, parts(xml(), { creationDateTime })))).toEqual([
        400,
        "VALIDATION",
        "metadata.creationDateTime",
      ]);
    });

    // sapi.md, Send request: "ISO 8601 date-time"; rulings.md §1: "Time: ISO 8601 UTC"
    test.each([
      ["2026-11-20T09:00:00", "2026-11-20T09:00:00.000Z"],
      ["2026-11-20T09:00:00+01:00", "2026-11-20T08:00:00.000Z"],
      ["2026-07-20T09:00:00.123456", "2026-07-20T09:00:00.123Z"],
      // java.time writes no seconds where they are zero.
      ["2026-11-20T09:00", "2026-11-20T09:00:00.000Z"],
      ["2026-11-20T09:00Z", "2026-11-20T09:00:00.000Z"],
      ["2026-11-20T09:00+01:00", "2026-11-20T08:00:00.000Z"],
    ])("creationDateTime %s is kept as %s: without a zone it is UTC", async (creationDateTime, kept) => {
      const sent = await send(t.sandbox, sender, parts(xml(), { creationDateTime }));
      expect(sent.status, sent.text).toBe(202);
      const rows = await t.db.sql<{ readonly at: Date }[]>`
        select creation_date_time as at from document where id = ${String(sent.json["providerDocumentId"])}`;
      expect(rows[0]?.at.toISOString()).toBe(kept);
    });

    test("payloadFormat is not XML; payloadEncoding is not UTF-8; checksum is not the digest of the payload", async () => {
      expect(codes(await send(t.sandbox, sender, { ...parts(), payloadFormat: "JSON" }))).toEqual([
        400,
        "VALIDATION",
        "payloadFormat",
      ]);
      expect(codes(await send(t.sandbox, sender, { ...parts(), payloadEncoding: "ISO-8859-1" }))).toEqual([
        400,
        "VALIDATION",
        "payloadEncoding",
      ]);
      expect(codes(await send(t.sandbox, sender, { ...parts(), checksum: "0".repeat(64) }))).toEqual([
        400,
        "VALIDATION",
        "checksum",
      ]);
    });

    test("checksum is SHA-256 hex over the exact payload bytes, byte order mark included", async () => {
      const payload = `\uFEFF${xml()}`;
      const digest = createHash("sha256").update(payload, "utf8").digest("hex");
      expect(
        (await send(t.sandbox, sender, { ...parts(payload), checksum: digest.toUpperCase(), payloadEncoding: "utf-8" }))
          .status,
      ).toBe(202);
    });

    test("Idempotency-Key is required and a UUID", async () => {
      const body = JSON.stringify(parts());
      const headers = {
        "content-type": "application/json",
        authorization: `Bearer ${sender.token}`,
        "x-peppol-participant-id": sender.participantId,
      };
      expect(codes(await http("POST", `${t.sandbox.sapiBaseUrl}/document/send`, headers, body)).slice(0, 2)).toEqual([
        400,
        "VALIDATION",
      ]);
      expect(codes(await send(t.sandbox, sender, parts(), { "idempotency-key": "not-a-uuid" })).slice(0, 2)).toEqual([
        400,
        "VALIDATION",
      ]);
    });

    test("X-Peppol-Participant-Id is required and has the form <scheme>:<id>, with or without its scheme prefix", async () => {
      const list = (participant?: string): Promise<HttpAnswer> =>
        http("GET", `${t.sandbox.sapiBaseUrl}/document/receive`, {
          authorization: `Bearer ${receiver.token}`,
          ...(participant === undefined ? {} : { "x-peppol-participant-id": participant }),
        });
      expect((await list()).status).toBe(400);
      expect((await list("SK2020")).status).toBe(400);
      expect((await list(`iso6523-actorid-upis::${receiver.participantId}`)).status).toBe(200);
    });

    test.each([
      "limit=0",
      "limit=-1",
      "limit=101",
      "limit=1e2",
      "limit=NaN",
      "limit=%D9%A3",
      "limit=5&limit=6",
      "status=OPEN",
      "pageToken=forged",
      "pageToken=AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA",
    ])("400 for a receive with %s", async (query) => {
      expect(codes(await sapi(t.sandbox, receiver, "GET", `/document/receive?${query}`)).slice(0, 2)).toEqual([
        400,
        "VALIDATION",
      ]);
    });
  });

  describe("Errors: 401, 403, 404", () => {
    test("401 AUTH: token invalid, missing or expired", async () => {
      const bad = { ...receiver, token: `${receiver.token.slice(0, -4)}AAAA` };
      expect(codes(await sapi(t.sandbox, bad, "GET", "/document/receive")).slice(0, 2)).toEqual([401, "AUTH"]);
      expect(errorOf(await sapi(t.sandbox, bad, "GET", "/document/receive"))).toMatchObject({
        category: "AUTH",
        retryable: false,
      });
      expect(
        (
          await http("GET", `${t.sandbox.sapiBaseUrl}/document/receive`, {
            "x-peppol-participant-id": receiver.participantId,
          })
        ).status,
      ).toBe(401);
      now += 901_000 + 31_000;
      expect((await sapi(t.sandbox, receiver, "GET", "/document/receive")).status).toBe(401);
      now -= 901_000 + 31_000;
    });

    test("403 FORBIDDEN: token does not own the participant in X-Peppol-Participant-Id", async () => {
      expect(
        codes(
          await sapi(t.sandbox, { ...receiver, participantId: sender.participantId }, "GET", "/document/receive"),
        ).slice(0, 2),
      ).toEqual([403, "FORBIDDEN"]);
      expect(
        codes(
          await sapi(t.sandbox, { ...receiver, participantId: "0245:0000000000" }, "GET", "/document/receive"),
        ).slice(0, 2),
      ).toEqual([403, "FORBIDDEN"]);
    });

    test("403 FORBIDDEN: required scope missing; documents:send sends, documents:read lists, documents:write acknowledges", async () => {
      const sendOnly = await key("0245:7100000001", ["documents:send"]);
      const receiveOnly = await key("0245:7100000002", ["documents:read", "documents:write"]);
      const readOnly = await key("0245:7100000003", ["documents:read"]);
      expect((await sapi(t.sandbox, sendOnly, "GET", "/document/receive")).status).toBe(403);
      expect((await sapi(t.sandbox, receiveOnly, "GET", "/document/receive")).status).toBe(200);
      const body = sendParts(
        receiveOnly.participantId,
        receiver.participantId,
        invoiceXml(receiveOnly.participantId, receiver.participantId),
      );
      expect(codes(await send(t.sandbox, receiveOnly, body)).slice(0, 2)).toEqual([403, "FORBIDDEN"]);
      expect((await sapi(t.sandbox, readOnly, "POST", `/document/receive/${randomUUID()}/acknowledge`)).status).toBe(
        403,
      );
      expect((await sapi(t.sandbox, receiveOnly, "POST", `/document/receive/${randomUUID()}/acknowledge`)).status).toBe(
        404,
      );
    });

    test("404 NOT_FOUND: document missing or not owned by the calling firm, in the same words", async () => {
      const { id } = await sentAndReceived();
      const stranger = await key("0245:7200000001");
      const strip = (answer: HttpAnswer): string => answer.text.replaceAll(errorOf(answer).requestId, "ID");
      const foreign = await sapi(t.sandbox, stranger, "GET", `/document/receive/${id}`);
      const missing = await sapi(t.sandbox, stranger, "GET", `/document/receive/${randomUUID()}`);
      const malformed = await sapi(t.sandbox, stranger, "GET", "/document/receive/not-a-uuid");
      expect(codes(foreign).slice(0, 2)).toEqual([404, "NOT_FOUND"]);
      expect([strip(missing), strip(malformed)]).toEqual([strip(foreign), strip(foreign)]);
      expect((await sapi(t.sandbox, stranger, "POST", `/document/receive/${id}/acknowledge`)).status).toBe(404);
    });

    test("one central sk_int_* credential serves all assigned sandbox firms, selected by X-Peppol-Participant-Id", async () => {
      const token = await accessToken(t.sandbox, t.sandbox.integrator);
      for (const participantId of [sender.participantId, receiver.participantId])
        expect((await sapi(t.sandbox, { participantId, token }, "GET", "/document/receive")).status).toBe(200);
      expect(
        (
          await sapi(
            t.sandbox,
            { participantId: (await key("0245:7300000001")).participantId, token },
            "GET",
            "/document/receive",
          )
        ).status,
      ).toBe(403);
      const sent = await send(t.sandbox, { participantId: sender.participantId, token }, parts());
      expect(sent.status).toBe(202);
      const path = `${t.sandbox.baseUrl}/documents/${String(sent.json["providerDocumentId"])}/status`;
      expect((await http("GET", path, { authorization: `Bearer ${token}` })).status).toBe(400);
      expect(
        (await http("GET", path, { authorization: `Bearer ${token}`, "x-firm-id": t.sandbox.sender.firmId })).status,
      ).toBe(200);
      expect(
        (await http("GET", path, { authorization: `Bearer ${sender.token}`, "x-firm-id": t.sandbox.sender.firmId }))
          .status,
      ).toBe(400);
    });
  });

  describe("Errors: 409 CONFLICT, retryable", () => {
    test("SAPI-PROC-003: idempotency key reused with a different body", async () => {
      const headers = { "idempotency-key": randomUUID() };
      await send(t.sandbox, sender, parts(), headers);
      const answer = await send(t.sandbox, sender, parts(), headers);
      expect(codes(answer)).toEqual([409, "CONFLICT", "SAPI-PROC-003"]);
      expect(errorOf(answer)).toMatchObject({ retryable: true, category: "PROCESSING" });
    });

    test("SAPI-PROC-002: idempotency key still in flight; one of many wins, the others are told or get its answer", async () => {
      const body = parts();
      const headers = { "idempotency-key": randomUUID() };
      const answers = await Promise.all(Array.from({ length: 60 }, () => send(t.sandbox, sender, body, headers)));
      const won = answers.filter((answer) => answer.status === 202);
      expect(new Set(won.map((answer) => answer.text)).size).toBe(1);
      for (const answer of answers.filter((other) => other.status !== 202))
        expect(codes(answer)).toEqual([409, "CONFLICT", "SAPI-PROC-002"]);
      expect(answers.length - won.length).toBeGreaterThan(0);
      expect((await send(t.sandbox, sender, body, headers)).text).toBe(won[0]?.text);
    });

    test("SAPI-DOC-018: duplicate documentId", async () => {
      const documentId = randomUUID();
      expect((await send(t.sandbox, sender, parts(xml(), { documentId }))).status).toBe(202);
      expect(codes(await send(t.sandbox, sender, parts(xml(), { documentId })))).toEqual([
        409,
        "CONFLICT",
        "SAPI-DOC-018",
      ]);
    });

    test("SAPI-DOC-024: the same UBL payload under another key or documentId; details[].issue holds duplicate_payload", async () => {
      const payload = xml();
      expect((await send(t.sandbox, sender, parts(payload))).status).toBe(202);
      const answer = await send(t.sandbox, sender, parts(payload));
      expect(codes(answer)).toEqual([409, "CONFLICT", "SAPI-DOC-024"]);
      expect(errorOf(answer).details?.[0]?.issue).toBe("duplicate_payload");
    });
  });

  describe("Errors: 422", () => {
    test("VALIDATION: metadata.documentTypeId does not match the UBL root element, Invoice against CreditNote", async () => {
      expect(codes(await send(t.sandbox, sender, parts(xml(), { documentTypeId: CREDIT_NOTE_TYPE })))).toEqual([
        422,
        "VALIDATION",
        "metadata.documentTypeId",
      ]);
    });

    test("SAPI-DOC-025: supplier or customer EndpointID differs from metadata", async () => {
      const other = invoiceXml("0245:5555555555", receiver.participantId, { issueDate: "2026-11-20" });
      expect(codes(await send(t.sandbox, sender, parts(other))).slice(0, 2)).toEqual([422, "SAPI-DOC-025"]);
      expect(
        codes(await send(t.sandbox, sender, parts(xml(), { receiverParticipantId: "0245:5555555555" }))).slice(0, 2),
      ).toEqual([422, "SAPI-DOC-025"]);
    });

    test("SAPI-DOC-027 and SAPI-DOC-028: from 1 January 2027 in Europe/Bratislava; issue code handoff_date_mismatch", async () => {
      const before = now;
      now = Date.parse("2026-12-31T23:00:00Z");
      await authenticate();
      const early = await send(t.sandbox, sender, parts(xml({ issueDate: "2026-12-31" })));
      expect([codes(early), errorOf(early).details?.[0]?.issue]).toEqual([
        [422, "SAPI-DOC-027", "SAPI-DOC-027"],
        "handoff_date_mismatch",
      ]);
      expect((await send(t.sandbox, sender, parts(xml({ issueDate: "2027-01-01" })))).status).toBe(202);
      const late = xml({ issueDate: "2027-01-01" }).replace(
        "<cbc:ActualDeliveryDate>2027-01-01",
        "<cbc:ActualDeliveryDate>2026-12-01",
      );
      const deadline = await send(t.sandbox, sender, parts(late));
      expect([codes(deadline)[1], errorOf(deadline).details?.[0]?.issue]).toEqual([
        "SAPI-DOC-028",
        "handoff_date_mismatch",
      ]);
      now = before;
    });

    test("SAPI-DOC-029: a debit note (383) lacks the original invoice number (BT-25)", async () => {
      const note = xml().replace("<cbc:InvoiceTypeCode>380<", "<cbc:InvoiceTypeCode>383<");
      expect(codes(await send(t.sandbox, sender, parts(note))).slice(0, 2)).toEqual([422, "SAPI-DOC-029"]);
      const reference =
        "<cac:BillingReference><cac:InvoiceDocumentReference><cbc:ID>F-1</cbc:ID></cac:InvoiceDocumentReference></cac:BillingReference>";
      expect(
        (
          await send(
            t.sandbox,
            sender,
            parts(note.replace("</cac:OrderReference>", `</cac:OrderReference>${reference}`)),
          )
        ).status,
      ).toBe(202);
    });

    test("VALIDATION: UBL, EN 16931 and Peppol findings all at once in details[], each with its rule", async () => {
      const wrong = xml()
        .replace("<cbc:InvoiceTypeCode>380<", "<cbc:InvoiceTypeCode>999<")
        .replace(/<cbc:PayableAmount currencyID="EUR">[^<]*/, '<cbc:PayableAmount currencyID="EUR">1.00')
        .replace(
          "<cbc:BuyerReference>Purchasing 4100</cbc:BuyerReference>\n  <cac:OrderReference><cbc:ID>PO-2026-0815</cbc:ID></cac:OrderReference>",
          "",
        );
      const answer = await send(t.sandbox, sender, parts(wrong));
      expect([answer.status, errorOf(answer).code]).toEqual([422, "VALIDATION"]);
      const rules = errorOf(answer).details?.map((detail) => detail.ruleId);
      expect(rules).toEqual(expect.arrayContaining(["BR-CO-16", "BR-CL-01", "PEPPOL-EN16931-R003"]));
    });

    test.each(["", "not XML at all", "<Invoice", "<!DOCTYPE Invoice [<!ENTITY a 'b'>]><Invoice/>"])(
      "VALIDATION: a payload that is no UBL: %j",
      async (payload) => {
        const answer = await send(t.sandbox, sender, parts(payload));
        expect(answer.status).toBe(payload === "" ? 400 : 422);
        expect(errorOf(answer).code).toBe("VALIDATION");
      },
    );

    test("BUSINESS: registered recipient does not accept the document type", async () => {
      const narrow = await key("0245:7400000001");
      await t.db.sql`delete from participant_capability where participant_key = ${narrow.participantId}`;
      await t.db
        .sql`insert into participant_capability (participant_key, document_type_id, process_id) values (${narrow.participantId}, ${CREDIT_NOTE_TYPE}, ${BILLING_PROCESS})`;
      const payload = invoiceXml(sender.participantId, narrow.participantId, { issueDate: "2026-11-20" });
      expect(
        codes(await send(t.sandbox, sender, sendParts(sender.participantId, narrow.participantId, payload))).slice(
          0,
          2,
        ),
      ).toEqual([422, "BUSINESS"]);
    });

    test("BUSINESS: registered recipient takes the document type in another process", async () => {
      const other = await key("0245:7400000002");
      await t.db
        .sql`update participant_capability set process_id = 'urn:other' where participant_key = ${other.participantId}`;
      const payload = invoiceXml(sender.participantId, other.participantId, { issueDate: "2026-11-20" });
      expect(
        codes(await send(t.sandbox, sender, sendParts(sender.participantId, other.participantId, payload))),
      ).toEqual([422, "BUSINESS", "metadata.processId"]);
    });

    test("VALIDATION: metadata.processId is not the ProfileID of the payload", async () => {
      const payload = invoiceXml(sender.participantId, receiver.participantId, { issueDate: "2026-11-20" });
      const parts = sendParts(sender.participantId, receiver.participantId, payload, { processId: "urn:other" });
      expect(codes(await send(t.sandbox, sender, parts))).toEqual([422, "VALIDATION", "metadata.processId"]);
    });

    test("an unregistered recipient: the send is accepted and continues as a persistent attempt whose error is kept", async () => {
      const nobody = "0245:9999999999";
      const sent = await send(
        t.sandbox,
        sender,
        sendParts(sender.participantId, nobody, invoiceXml(sender.participantId, nobody, { issueDate: "2026-11-20" })),
      );
      expect(sent.status).toBe(202);
      const id = String(sent.json["providerDocumentId"]);
      const events = await eventually("the attempt is recorded", async () => {
        const list = (
          await http("GET", `${t.sandbox.baseUrl}/documents/${id}/events`, { authorization: `Bearer ${sender.token}` })
        ).json["events"] as { eventType: string; meta: { outcome?: string } | null }[];
        return list.length > 1 ? list : undefined;
      });
      expect(events[1]).toMatchObject({
        eventType: "document.attempt_failed",
        meta: { outcome: "recipient_unregistered" },
      });
      expect(
        (await http("GET", `${t.sandbox.baseUrl}/documents/${id}/status`, { authorization: `Bearer ${sender.token}` }))
          .json["status"],
      ).toBe("queued");
    });

    test("a refusal burns neither the key, nor the documentId, nor the payload", async () => {
      const headers = { "idempotency-key": randomUUID() };
      const documentId = randomUUID();
      const good = xml();
      const bad = good.replace("<cbc:InvoiceTypeCode>380<", "<cbc:InvoiceTypeCode>999<");
      expect((await send(t.sandbox, sender, parts(bad, { documentId }), headers)).status).toBe(422);
      expect(
        (await send(t.sandbox, sender, parts(good, { documentId, documentTypeId: CREDIT_NOTE_TYPE }), headers)).status,
      ).toBe(422);
      expect((await send(t.sandbox, sender, parts(good, { documentId }), headers)).status).toBe(202);
    });

    test.each([
      ["cbc:ID", (text: string, long: string) => text.replace(/<cbc:ID>T-[^<]*</u, `<cbc:ID>${long}<`)],
      ["BuyerReference", (text: string, long: string) => text.replace(/(<cbc:BuyerReference>)[^<]*/u, `$1${long}`)],
      [
        "BillingReference",
        (text: string, long: string) =>
          text.replace(
            "</cac:OrderReference>",
            `</cac:OrderReference><cac:BillingReference><cac:InvoiceDocumentReference><cbc:ID>${long}</cbc:ID></cac:InvoiceDocumentReference></cac:BillingReference>`,
          ),
      ],
    ] as const)(
      "an invoice whose %s is cut in the middle of a character beyond the first plane is accepted, and its repeat gets the same answer",
      async (_, lengthen) => {
        const headers = { "idempotency-key": randomUUID() };
        const payload = lengthen(xml(), `${"x".repeat(1_023)}😀`);
        expect(payload).toContain("😀");
        const body = parts(payload);
        const first = await send(t.sandbox, sender, body, headers);
        expect([first.status, first.text]).toEqual([202, (await send(t.sandbox, sender, body, headers)).text]);
      },
    );

    test("an invoice whose number is longer than an index takes, and cannot be compressed, is accepted, and its repeat gets the same answer", async () => {
      const headers = { "idempotency-key": randomUUID() };
      const number = Array.from({ length: 1_024 }, (_, i) =>
        String.fromCodePoint(0x20000 + ((i * 7_919) % 40_009)),
      ).join("");
      const body = parts(xml().replace(/<cbc:ID>T-[^<]*</u, `<cbc:ID>${number}<`));
      const first = await send(t.sandbox, sender, body, headers);
      expect([first.status, first.text]).toEqual([202, (await send(t.sandbox, sender, body, headers)).text]);
    });

    test("rulings §2: the stored reply and the key's conflict come before any finding about the document", async () => {
      const headers = { "idempotency-key": randomUUID() };
      await send(t.sandbox, sender, parts(), headers);
      expect(codes(await send(t.sandbox, sender, parts("<broken"), headers))).toEqual([
        409,
        "CONFLICT",
        "SAPI-PROC-003",
      ]);
    });
  });

  describe("an Invoice Response in a client's own UBL", () => {
    const answering = (number: string, changes: { readonly code?: "AP" | "RE" } = {}): string =>
      buildInvoiceResponse({
        id: randomUUID(),
        issuedAt: now,
        code: changes.code ?? "AP",
        note: undefined,
        invoice: { number, issueDate: undefined, typeCode: "380" },
        sender: { participant: receiver.participantId as ParticipantId, name: "Receiver" },
        receiver: { participant: sender.participantId as ParticipantId, name: "Sender" },
      }).toString();
    const responding = (payload: string, metadata: Record<string, unknown> = {}) =>
      sendParts(receiver.participantId, sender.participantId, payload, {
        documentTypeId: INVOICE_RESPONSE_DOCUMENT_TYPE,
        processId: INVOICE_RESPONSE_PROFILE,
        ...metadata,
      });

    // sapi.md: "full Peppol document type URN; must match the UBL root element"; the SenderParty is who answers
    test("an Invoice Response in a client's own UBL is sent like any document, and becomes the invoiceResponseStatus of the invoice that it answers", async () => {
      const payload = xml();
      const sent = await send(t.sandbox, sender, parts(payload));
      const number = /<cbc:ID>([^<]*)</.exec(payload)?.[1] ?? "";
      const answer = await send(t.sandbox, receiver, responding(answering(number)));
      expect([answer.status, answer.text]).toEqual([202, answer.text]);
      const status = `${t.sandbox.baseUrl}/documents/${String(sent.json["providerDocumentId"])}/status`;
      await eventually(
        "the seller knows of it",
        async () =>
          (await http("GET", status, { authorization: `Bearer ${sender.token}` })).json["invoiceResponseStatus"] ===
          "AP",
      );
      await eventually("the answer is delivered", async () => {
        const own = await http(
          "GET",
          `${t.sandbox.baseUrl}/documents/${String(answer.json["providerDocumentId"])}/status`,
          { authorization: `Bearer ${receiver.token}` },
        );
        return own.json["status"] === "delivered";
      });
    });

    test("an Invoice Response in a client's own UBL is held to its own rules, its parties and its root like any document", async () => {
      const good = answering("1");
      const unreasoned = answering("1", { code: "RE" }).replace(/<cac:Status>.*<\/cac:Status>/u, "");
      expect(codes(await send(t.sandbox, receiver, responding(unreasoned))).slice(0, 2)).toEqual([422, "VALIDATION"]);
      expect(codes(await send(t.sandbox, receiver, responding(good, { documentTypeId: INVOICE_TYPE })))).toEqual([
        422,
        "VALIDATION",
        "metadata.documentTypeId",
      ]);
      expect(
        codes(
          await send(
            t.sandbox,
            sender,
            sendParts(sender.participantId, receiver.participantId, good, {
              documentTypeId: INVOICE_RESPONSE_DOCUMENT_TYPE,
              processId: INVOICE_RESPONSE_PROFILE,
            }),
          ),
        ).slice(0, 2),
      ).toEqual([422, "SAPI-DOC-025"]);
    });
  });

  describe("Limits", () => {
    test("POST /document/send: 150 requests per 60 seconds per API key; standard endpoints 200; headers on HTTP 429 only", async () => {
      const mailbox = await key("0245:7500000001");
      const flood = async (count: number, request: () => Promise<HttpAnswer>): Promise<HttpAnswer[]> =>
        Promise.all(Array.from({ length: count }, request));
      const sends = await flood(151, () =>
        http(
          "POST",
          `${t.sandbox.sapiBaseUrl}/document/send`,
          {
            authorization: `Bearer ${mailbox.token}`,
            "x-peppol-participant-id": mailbox.participantId,
            "content-type": "application/json",
            "idempotency-key": randomUUID(),
          },
          "{}",
        ),
      );
      expect(sends.filter((answer) => answer.status === 429)).toHaveLength(1);
      const reads = await flood(201, () => sapi(t.sandbox, mailbox, "GET", "/document/receive"));
      const refused = reads.filter((answer) => answer.status === 429);
      expect(refused).toHaveLength(1);
      expect(refused[0]?.headers.get("x-ratelimit-limit")).toBe("200");
      expect(refused[0]?.headers.get("x-ratelimit-remaining")).toBe("0");
      expect(Number(refused[0]?.headers.get("x-ratelimit-reset"))).toBeGreaterThan(now / 1000);
      expect(refused[0]?.headers.get("retry-after")).toBe("60");
      expect(codes(refused[0] as HttpAnswer).slice(0, 2)).toEqual([429, "RATE_LIMITED"]);
      expect(errorOf(refused[0] as HttpAnswer)).toMatchObject({ category: "TEMPORARY", retryable: true });
      expect(reads.find((answer) => answer.status === 200)?.headers.get("x-ratelimit-limit")).toBeNull();
      monotonic += 60_001;
      expect((await sapi(t.sandbox, mailbox, "GET", "/document/receive")).status).toBe(200);
    });

    // design/reliability.md, R-07
    test("a send that is refused for its rate writes nothing, and burns nothing: it is accepted when it comes again in time", async () => {
      const mailbox = await key("0245:7500000002");
      const again = { "idempotency-key": randomUUID() };
      const payload = invoiceXml(mailbox.participantId, receiver.participantId, { issueDate: "2026-11-20" });
      const sendIt = () =>
        send(t.sandbox, mailbox, sendParts(mailbox.participantId, receiver.participantId, payload), again);
      for (let used = 0; used < LIMITS.rate_sapi_send; used += 25)
        await Promise.all(
          Array.from({ length: 25 }, () => send(t.sandbox, mailbox, {}, { "idempotency-key": randomUUID() })),
        );
      // What the engine writes by itself comes now and then; what a refusal wrote would be there each time.
      let written: readonly string[] = ["not asked yet"];
      for (let asked = 0; asked < 5 && written.length > 0; asked += 1) {
        const before = await rowsOf(t.db.sql);
        for (const answer of await Promise.all(Array.from({ length: 20 }, sendIt))) expect(answer.status).toBe(429);
        const after = await rowsOf(t.db.sql);
        written = [...after].filter(([table, rows]) => before.get(table) !== rows).map(([table]) => table);
      }
      expect(written).toEqual([]);
      monotonic += LIMITS.rate_window_ms + 1;
      expect((await sendIt()).status).toBe(202);
    });

    test("receive list limit: 1 to 100, default 20", async () => {
      for (const limit of [1, 100])
        expect((await sapi(t.sandbox, receiver, "GET", `/document/receive?limit=${limit}`)).status).toBe(200);
    });
  });

  describe("rulings §3: error body", () => {
    test("{error:{category, code, message, retryable, correlation_id, requestId, details?}}; both ids are the X-Request-Id header, a client's own when it is well-formed", async () => {
      const answer = await send(t.sandbox, sender, {}, { "x-request-id": "erp:42.a_b-c" });
      expect(errorOf(answer)).toMatchObject({
        category: "VALIDATION",
        code: "VALIDATION",
        retryable: false,
        correlation_id: "erp:42.a_b-c",
        requestId: "erp:42.a_b-c",
      });
      expect(answer.headers.get("x-request-id")).toBe("erp:42.a_b-c");
      const replaced = await send(t.sandbox, sender, {}, { "x-request-id": "x".repeat(129) });
      expect(replaced.headers.get("x-request-id")).toMatch(/^[0-9a-f-]{36}$/);
      expect(errorOf(replaced).requestId).toBe(replaced.headers.get("x-request-id"));
    });

    test("no text of an invoice and no token reaches the log", () => {
      const log = t.lines.join("");
      for (const canary of ["Obchodná", "eyJ", "sk_live", "rt_"]) expect(log).not.toContain(canary);
    });
  });
});
