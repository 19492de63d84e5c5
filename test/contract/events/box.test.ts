/** The Box over HTTP, on both forms of the server. Test names quote spec/enterprise.md, Box, and spec/rulings.md, §7. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";

import { LIMITS } from "../../../engine/base/limits.js";
import { pruneBox } from "../../../engine/documents/box/retention.js";
import { boxClient, boxInvoice, brokenInvoice, fromNow, unknownId } from "../../support/callers/box.js";
import type { BoxClient, Item } from "../../support/callers/box.js";
import { accessToken, startTestEngine } from "../../support/engines/engine.js";
import type { TestEngine } from "../../support/engines/engine.js";
import { serverForms } from "../../support/engines/gateway.js";
import { faultOf } from "../../support/callers/partners.js";

/** spec/shapes.md, §2. */
const MEMBERS = [
  "boxItemId",
  "firmId",
  "integratorId",
  "direction",
  "status",
  "source",
  "invoiceId",
  "documentId",
  "externalId",
  "peppolMessageId",
  "documentTypeId",
  "processId",
  "scheduledFor",
  "nextAttemptAt",
  "lockedAt",
  "lockedBy",
  "attemptCount",
  "payloadSha256",
  "storageBytes",
  "retention",
  "sentAt",
  "receivedAt",
  "cancelledAt",
  "lastError",
  "createdAt",
  "updatedAt",
  "links",
];

describe.each(serverForms)("the Box over %s", (form) => {
  let t: TestEngine;
  let box: BoxClient;

  beforeAll(async () => {
    t = await startTestEngine({ form });
    box = await boxClient(t);
  });
  afterAll(() => t.stop());

  const HOUR_MS = 3_600_000;

  describe("POST /box/items", () => {
    test("POST /box/items: payloadXml (required): 201 with every member of an item; it is sent at once", async () => {
      const answer = await box.create();
      expect(answer.status).toBe(201);
      expect(Object.keys(answer.json).sort()).toEqual([...MEMBERS].sort());
      expect(answer.json).toMatchObject({ direction: "outbound", source: "api", externalId: null, sentAt: null });
      expect(["ready", "sending", "sent"]).toContain(answer.json["status"]);
      const sent = await box.reaches(answer.json["boxItemId"], "sent");
      expect(sent).toMatchObject({ documentId: answer.json["boxItemId"], attemptCount: 1, lastError: null });
      expect(sent["sentAt"]).toMatch(/Z$/);
      expect(sent["peppolMessageId"]).toMatch(/@kurier$/);
    });

    test("POST /box/items: scheduledFor: a future dispatch time makes it scheduled, and nothing is sent before", async () => {
      const scheduledFor = fromNow(HOUR_MS);
      const item = await box.made({ scheduledFor });
      expect(item).toMatchObject({ status: "scheduled", scheduledFor, documentId: null, attemptCount: 0 });
    });

    test("an item that is scheduled leaves within a second of its time", async () => {
      const scheduledFor = fromNow(1_500);
      const { boxItemId } = await box.made({ scheduledFor });
      await box.reaches(boxItemId, "sent");
      const [row] = await t.db.sql<{ late: number }[]>`
        select extract(epoch from d.created_at - i.scheduled_for)::double precision as late
        from box_item as i join document as d on d.id = i.document_id where i.id = ${String(boxItemId)}`;
      expect(row?.late).toBeGreaterThanOrEqual(0);
      expect(row?.late).toBeLessThan(1);
    });

    test("externalId: the same one with the same payload is the item that there is (200), whatever else is said", async () => {
      const [payloadXml, externalId] = [boxInvoice(t), unknownId()];
      const first = await box.made({ payloadXml, externalId, scheduledFor: fromNow(HOUR_MS) });
      for (const scheduledFor of [undefined, fromNow(2 * HOUR_MS), fromNow(-HOUR_MS)]) {
        const again = await box.create({ payloadXml, externalId, scheduledFor });
        expect([again.status, again.json["boxItemId"]]).toEqual([200, first["boxItemId"]]);
        expect(again.json["scheduledFor"]).toBe(first["scheduledFor"]);
      }
    });

    test("externalId: another payload is 409 BOX_EXTERNAL_ID_CONFLICT and names externalId", async () => {
      const externalId = unknownId();
      await box.made({ externalId, scheduledFor: fromNow(HOUR_MS) });
      const other = await box.create({ externalId });
      expect(faultOf(other)).toEqual([409, "BOX_EXTERNAL_ID_CONFLICT"]);
      expect(other.text).toContain('"field":"externalId"');
    });

    test("externalId: free again when its item is gone, and what takes it then is sent, though the first one's document is kept", async () => {
      const externalId = unknownId();
      const { boxItemId: first } = await box.made({ externalId });
      await box.reaches(first, "sent");
      // Its ten years, and then those days in which it is only shown.
      for (let end = 0; end < 2; end += 1) {
        await t.db.sql`
          update box_item set status_since = status_since - interval '11 years' where id = ${String(first)}`;
        await pruneBox(t.db.sql);
      }
      expect((await box.call(`GET /box/items/${String(first)}`)).status).toBe(404);
      const payloadXml = boxInvoice(t);
      const { boxItemId: second } = await box.made({ externalId, payloadXml });
      expect(await box.reaches(second, "sent", "needs_repair")).toMatchObject({
        status: "sent",
        externalId,
        documentId: second,
        lastError: null,
      });
      const named = await t.db.sql<{ id: string }[]>`select id from document where erp_document_id = ${externalId}`;
      expect(named.map(({ id }) => id)).toEqual([first]);
      expect((await box.create({ externalId, payloadXml })).json["boxItemId"]).toBe(second);
      expect(faultOf(await box.create({ externalId }))).toEqual([409, "BOX_EXTERNAL_ID_CONFLICT"]);
    });

    test.each([
      ["a past scheduledFor", () => ({ scheduledFor: fromNow(-1_000) }), [422, "BOX_SCHEDULE_IN_PAST"]],
      [
        "a scheduledFor more than a year ahead",
        () => ({ scheduledFor: fromNow(LIMITS.box_schedule_ahead_max_ms + HOUR_MS) }),
        [422, "BOX_SCHEDULE_TOO_FAR"],
      ],
      ["a scheduledFor that is no date-time", () => ({ scheduledFor: "tomorrow" }), [400, "VALIDATION_ERROR"]],
      ["a payload that is no XML", () => ({ payloadXml: "<Invoice" }), [422, "VALIDATION_FAILED"]],
      ["a payload that is no invoice", () => ({ payloadXml: "<a/>" }), [422, "VALIDATION_FAILED"]],
      ["no payload", () => ({ payloadXml: undefined }), [400, "VALIDATION_ERROR"]],
      ["a payload that is no text", () => ({ payloadXml: 7 }), [400, "VALIDATION_ERROR"]],
      ["an externalId with nothing visible", () => ({ externalId: " " }), [400, "VALIDATION_ERROR"]],
      ["metadata that is no object", () => ({ metadata: [1] }), [400, "VALIDATION_ERROR"]],
      ["metadata that is too large", () => ({ metadata: { a: "x".repeat(20_000) } }), [400, "VALIDATION_ERROR"]],
    ] as const)("%s is refused, and the answer names the member", async (_, more, expected) => {
      const answer = await box.create(more());
      expect(faultOf(answer)).toEqual(expected);
      expect(answer.text).toMatch(/"field":"(payloadXml|scheduledFor|externalId|metadata)/);
    });

    test("a wrong date and time is one finding, so that error.field names its member", async () => {
      const { error } = (await box.create({ scheduledFor: "tomorrow" })).json as {
        readonly error: { readonly field?: string; readonly details: readonly unknown[] };
      };
      expect([error.field, error.details.length]).toEqual(["scheduledFor", 1]);
    });

    test("a document of somebody else's participant is refused with 422 and the place of its EndpointID", async () => {
      const foreign = boxInvoice(t)
        .replaceAll(t.sandbox.sender.participantId.slice(5), "2120000099")
        .replaceAll(t.sandbox.receiver.participantId.slice(5), "2120000017");
      const answer = await box.create({ payloadXml: foreign });
      expect(faultOf(answer)).toEqual([422, "ENDPOINT_MISMATCH"]);
      expect(answer.text).toContain("AccountingSupplierParty/cac:Party/cbc:EndpointID");
    });

    test("half of a surrogate pair is 400", async () => {
      expect((await box.create({ payloadXml: "\ud800" })).status).toBe(400);
    });

    test("a payload beyond 20 MB is 413", async () => {
      expect((await box.create({ payloadXml: "x".repeat(LIMITS.payload_bytes_max + 1) })).status).toBe(413);
    });

    test("what the rules refuse becomes needs_repair; its document is validation_failed and tells document.rejected", async () => {
      const { boxItemId } = await box.made({ payloadXml: brokenInvoice(t), externalId: unknownId() });
      const item = await box.reaches(boxItemId, "needs_repair");
      expect(item["lastError"]).toMatchObject({ status: 422, code: "VALIDATION_FAILED" });
      const document = (await box.call(`GET /documents/${String(item["documentId"])}/status`)).json;
      expect(document).toMatchObject({ status: "validation_failed" });
      const { errors } = document["validationResult"] as { readonly errors: readonly Item[] };
      expect(errors.map(({ ruleId }) => ruleId)).toContain("BR-05");
      const events = (await box.call(`GET /documents/${String(item["documentId"])}/events`)).json["events"];
      expect((events as Item[]).map(({ eventType }) => eventType)).toEqual(["document.queued", "document.rejected"]);
    });

    test("metadata and payload are kept sealed; the payload is shown nowhere, the metadata with its item alone", async () => {
      const metadata = { order: "canary-metadata-4711", nested: { n: 1 } };
      const { boxItemId } = await box.made({ metadata, scheduledFor: fromNow(HOUR_MS) });
      const detail = await box.call(`GET /box/items/${String(boxItemId)}`);
      expect(detail.json["metadata"]).toEqual(metadata);
      expect(detail.text).not.toContain("Invoice>");
      expect((await box.call("GET /box/items?limit=100")).text).not.toContain("canary-metadata");
      const [stored] = await t.db.sql<{ text: string }[]>`
        select i::text || p::text || encode(p.sealed, 'escape') || encode(p.metadata_sealed, 'escape') as text
        from box_item as i join box_payload as p on p.item_id = i.id where i.id = ${String(boxItemId)}`;
      expect(stored?.text).not.toContain("canary");
      expect(stored?.text).not.toContain("Sender s. r. o.");
    });
  });

  describe("GET /box/items", () => {
    test("GET /box/items: 200 {items,total,limit,offset}, newest first; status and direction choose", async () => {
      const { boxItemId } = await box.made({ scheduledFor: fromNow(HOUR_MS) });
      const page = (await box.call("GET /box/items?status=scheduled&direction=outbound&limit=1&offset=0")).json;
      expect(Object.keys(page).sort()).toEqual(["items", "limit", "offset", "total"]);
      expect(page).toMatchObject({ limit: 1, offset: 0, items: [{ boxItemId, status: "scheduled" }] });
      expect(Object.keys((page["items"] as Item[])[0] ?? {}).sort()).toEqual([...MEMBERS].sort());
      const next = (await box.call("GET /box/items?status=scheduled&limit=1&offset=1")).json;
      expect((next["items"] as Item[])[0]?.["boxItemId"]).not.toBe(boxItemId);
      expect((await box.call("GET /box/items?status=received&direction=outbound")).json).toMatchObject({
        items: [],
        total: 0,
      });
    });

    test("what was received is an item too: direction inbound, state received, no pointer to dispatch", async () => {
      const { boxItemId } = await box.made();
      await box.reaches(boxItemId, "sent");
      const receiver = await boxClient(t, await accessToken(t.sandbox, t.sandbox.receiver));
      const page = (await receiver.call("GET /box/items?direction=inbound&status=received")).json;
      const [received] = page["items"] as Item[];
      expect(received).toMatchObject({ direction: "inbound", status: "received", source: "peppol", sentAt: null });
      expect(Object.keys(received ?? {}).sort()).toEqual([...MEMBERS].sort());
      expect(received?.["receivedAt"]).toMatch(/Z$/);
      const detail = await receiver.read(received?.["boxItemId"]);
      expect(detail).toMatchObject({ boxItemId: received?.["boxItemId"], attempts: [], timeline: [] });
      expect((await box.call(`GET /box/items/${String(received?.["boxItemId"])}`)).status).toBe(404);
    });

    test.each([
      "limit=0",
      "limit=-1",
      "limit=1e3",
      "limit=101",
      "limit=NaN",
      "limit=٣",
      "offset=-1",
      "status=lost",
      "direction=up",
      "limit=1&limit=2",
    ])("GET /box/items?%s is 400", async (query) => {
      expect(faultOf(await box.call(`GET /box/items?${query}`))).toEqual([400, "VALIDATION_ERROR"]);
    });
  });

  describe("GET /box/items/{itemId}", () => {
    test("GET /box/items/{itemId}: 200 detail: storage, attempts and timeline beside the members of an item", async () => {
      const { boxItemId } = await box.made();
      await box.reaches(boxItemId, "sent");
      const detail = await box.read(boxItemId);
      expect(Object.keys(detail).sort()).toEqual([...MEMBERS, "attempts", "metadata", "storage", "timeline"].sort());
      expect(detail["attempts"]).toMatchObject([{ number: 1, outcome: "receipt", documentId: boxItemId }]);
      expect((detail["timeline"] as Item[]).map(({ event }) => event)).toEqual([
        "box.created",
        "document.queued",
        "document.sent",
        "document.delivered",
      ]);
      const [created] = detail["timeline"] as Item[];
      expect(created?.["actor"]).toEqual({ type: "api_key", id: t.sandbox.sender.clientId });
    });

    test("an unknown item, one of another firm and an id that is none are 404 alike", async () => {
      const { boxItemId } = await box.made({ scheduledFor: fromNow(HOUR_MS) });
      const stranger = await boxClient(t, await accessToken(t.sandbox, t.sandbox.receiver));
      const answers = [
        await stranger.call(`GET /box/items/${String(boxItemId)}`),
        await stranger.call(`GET /box/items/${unknownId()}`),
        await stranger.call("GET /box/items/none"),
      ];
      expect(answers.map(faultOf)).toEqual([
        [404, "NOT_FOUND"],
        [404, "NOT_FOUND"],
        [404, "NOT_FOUND"],
      ]);
    });
  });
});
