/** The operations on items of the Box over HTTP. Test names quote spec/enterprise.md, Box, and spec/rulings.md, §7. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";

import type { FirmId, ParticipantId } from "../../../engine/base/ids.js";
import { CANCELLED_IN_BOX } from "../../../engine/documents/box/operate.js";
import { boxClient, boxInvoice, brokenInvoice, fromNow } from "../../support/callers/box.js";
import type { BoxClient, Item } from "../../support/callers/box.js";
import { accessToken, startTestEngine } from "../../support/engines/engine.js";
import type { TestEngine } from "../../support/engines/engine.js";
import { eventually } from "../../support/eventually.js";
import {
  api,
  bindClient,
  faultOf,
  newClient,
  newFirmKey,
  newPartner,
  tokenOf,
  withdraw,
} from "../../support/callers/partners.js";

const HOUR_MS = 3_600_000;
/** In nobody's directory: documents to it are tried again and again. */
const NOBODY = "0245:2999999999";

describe("operations of the Box", () => {
  let t: TestEngine;
  let box: BoxClient;
  /** A recipient that is registered and takes nothing. */
  let deaf: ParticipantId;

  beforeAll(async () => {
    t = await startTestEngine();
    box = await boxClient(t);
    deaf = (await newClient(t)).participantId;
    await t.db.sql`delete from participant_capability where participant_key = ${deaf}`;
  });
  afterAll(() => t.stop());

  /** How an item of each state is made; those that nothing leads to here are written as the database has them. */
  const makers: Readonly<Record<string, () => Promise<Item>>> = {
    scheduled: () => box.made({ scheduledFor: fromNow(HOUR_MS) }),
    retrying: async () => {
      const { boxItemId } = await box.made({ payloadXml: boxInvoice(t, NOBODY) });
      return box.reaches(boxItemId, "retrying");
    },
    sent: async () => box.reaches((await box.made())["boxItemId"], "sent"),
    needs_repair: async () =>
      box.reaches((await box.made({ payloadXml: brokenInvoice(t) }))["boxItemId"], "needs_repair"),
    failed: async () => box.reaches((await box.made({ payloadXml: boxInvoice(t, deaf) }))["boxItemId"], "failed"),
    cancelled: async () => {
      const { boxItemId } = await box.made({ scheduledFor: fromNow(HOUR_MS) });
      return (await box.call(`POST /box/items/${String(boxItemId)}/cancel`)).json;
    },
    expired: async () => {
      const { boxItemId } = (await makers["cancelled"]?.()) ?? {};
      await t.db.sql`update box_item set status = 'expired' where id = ${String(boxItemId)}`;
      return box.read(boxItemId);
    },
  };
  const make = (state: string): Promise<Item> => {
    const maker = makers[state];
    if (maker === undefined) throw new Error(`no item is made ${state}`);
    return maker();
  };
  const operate = (id: unknown, operation: string) =>
    box.call(
      `POST /box/items/${String(id)}/${operation}`,
      operation === "schedule" ? { scheduledFor: fromNow(HOUR_MS) } : undefined,
    );

  const STATE = [409, "BOX_ITEM_STATE"];
  const NO_POINTER = [409, "BOX_DISPATCH_UNAVAILABLE"];
  test.each([
    ["scheduled", { schedule: "scheduled", "send-now": "sent", retry: STATE, cancel: "cancelled" }],
    ["retrying", { schedule: STATE, "send-now": STATE, retry: "retrying", cancel: "cancelled" }],
    ["sent", { schedule: NO_POINTER, "send-now": NO_POINTER, retry: NO_POINTER, cancel: STATE }],
    ["needs_repair", { schedule: "scheduled", "send-now": "needs_repair", retry: "needs_repair", cancel: "cancelled" }],
    ["failed", { schedule: "scheduled", "send-now": "failed", retry: "failed", cancel: "cancelled" }],
    ["cancelled", { schedule: NO_POINTER, "send-now": NO_POINTER, retry: NO_POINTER, cancel: STATE }],
    ["expired", { schedule: NO_POINTER, "send-now": NO_POINTER, retry: NO_POINTER, cancel: STATE }],
  ] as const)("an item that is %s takes operations as the ruling says: %j", async (state, expected) => {
    for (const [operation, outcome] of Object.entries(expected)) {
      const { boxItemId, status } = await make(state);
      expect(status).toBe(state);
      const answer = await operate(boxItemId, operation);
      if (typeof outcome === "string") {
        expect([operation, answer.status]).toEqual([operation, 200]);
        await box.reaches(boxItemId, outcome);
      } else {
        expect([operation, ...faultOf(answer)]).toEqual([operation, ...outcome]);
        expect(answer.text).toContain('"field":"itemId"');
        expect((await box.read(boxItemId))["status"]).toBe(state);
      }
    }
  });

  test("what was received has no pointer to dispatch: schedule, send-now and retry are 409, and so is cancel", async () => {
    await make("sent");
    const receiver = await boxClient(t, await accessToken(t.sandbox, t.sandbox.receiver));
    const [received] = (await receiver.call("GET /box/items?status=received")).json["items"] as Item[];
    const self = `POST /box/items/${String(received?.["boxItemId"])}`;
    expect(faultOf(await receiver.call(`${self}/send-now`))).toEqual(NO_POINTER);
    expect(faultOf(await receiver.call(`${self}/retry`))).toEqual(NO_POINTER);
    expect(faultOf(await receiver.call(`${self}/schedule`, { scheduledFor: fromNow(HOUR_MS) }))).toEqual(NO_POINTER);
    expect(faultOf(await receiver.call(`${self}/cancel`))).toEqual(STATE);
  });

  test("POST /box/items/{itemId}/schedule: scheduledFor (required; date-time, future): 400 without, 422 in the past", async () => {
    const { boxItemId } = await make("scheduled");
    const path = `POST /box/items/${String(boxItemId)}/schedule`;
    expect(faultOf(await box.call(path, {}))).toEqual([400, "VALIDATION_ERROR"]);
    expect(faultOf(await box.call(path, { scheduledFor: fromNow(-1_000) }))).toEqual([422, "BOX_SCHEDULE_IN_PAST"]);
    const scheduledFor = fromNow(1_200);
    expect((await box.call(path, { scheduledFor })).json).toMatchObject({ status: "scheduled", scheduledFor });
    expect(await box.reaches(boxItemId, "sent")).toMatchObject({ scheduledFor });
  });

  test("POST /box/items/{itemId}/send-now: 200 dispatch attempted: the answer says what became of it", async () => {
    const { boxItemId } = await make("scheduled");
    const answer = await operate(boxItemId, "send-now");
    expect([answer.status, ["sending", "sent"].includes(String(answer.json["status"]))]).toEqual([200, true]);
    expect(answer.json["documentId"]).toBe(boxItemId);
    await box.reaches(boxItemId, "sent");
  });

  test("POST /box/items/{itemId}/retry: a failed item, of which no document was made, is sent once its cause is gone", async () => {
    const client = await newClient(t);
    const payloadXml = boxInvoice(t).replaceAll(t.sandbox.sender.participantId.slice(5), client.dic);
    const own = await boxClient(t, (await newFirmKey(t, client.firmId)).token);
    const { boxItemId } = await own.made({ payloadXml, scheduledFor: fromNow(HOUR_MS) });
    const { firmId: elsewhere } = await newClient(t);
    await t.db.sql`update participant set firm_id = ${elsewhere} where key = ${client.participantId}`;
    await own.call(`POST /box/items/${String(boxItemId)}/send-now`);
    expect(await own.reaches(boxItemId, "failed")).toMatchObject({ documentId: null, lastError: { status: 403 } });
    await t.db.sql`update participant set firm_id = ${client.firmId} where key = ${client.participantId}`;
    expect((await own.call(`POST /box/items/${String(boxItemId)}/retry`)).status).toBe(200);
    expect(await own.reaches(boxItemId, "sent")).toMatchObject({ documentId: boxItemId, lastError: null });
  });

  test("an item that needs repair and is tried again gets a new document; the first stays as it ended", async () => {
    const { boxItemId, documentId } = await make("needs_repair");
    expect(documentId).toBe(boxItemId);
    await operate(boxItemId, "retry");
    const again = await box.reaches(boxItemId, "needs_repair");
    expect(again["documentId"]).not.toBe(documentId);
    const states = await t.db.sql<{ status: string }[]>`
      select status from document where id = any(${[String(documentId), String(again["documentId"])]}::uuid[])`;
    expect(states.map(({ status }) => status)).toEqual(["validation_failed", "validation_failed"]);
  });

  test("what was transmitted and never confirmed is failed, and is not sent a second time by any operation", async () => {
    const { boxItemId } = await make("sent");
    await t.db.sql`update document set status = 'delivery_failed' where id = ${String(boxItemId)}`;
    expect(await box.read(boxItemId)).toMatchObject({
      status: "failed",
      lastError: { code: "DELIVERY_FAILED", retryable: false },
    });
    for (const operation of ["schedule", "send-now", "retry"])
      expect(faultOf(await operate(boxItemId, operation))).toEqual(STATE);
    expect((await operate(boxItemId, "cancel")).json).toMatchObject({ status: "cancelled" });
  });

  test("an item whose document may have arrived by an attempt that was cut is not cancelled while it waits, and not sent a second time when it has failed", async () => {
    const { boxItemId, documentId } = await make("retrying");
    const id = String(documentId);
    await t.db.sql`update document_attempt set outcome = 'cut', code = null where document_id = ${id}`;
    expect(faultOf(await operate(boxItemId, "cancel"))).toEqual(STATE);
    expect(await box.read(boxItemId)).toMatchObject({ status: "retrying" });
    await t.db.sql`
      update document set status = 'send_failed', next_attempt_at = null, lease_owner = null, lease_until = null
      where id = ${id}`;
    for (const operation of ["schedule", "send-now", "retry"])
      expect(faultOf(await operate(boxItemId, operation))).toEqual(STATE);
    expect((await operate(boxItemId, "cancel")).json).toMatchObject({ status: "cancelled" });
  });

  test("cancel of an item whose document waits for its next attempt ends the document, and nothing is sent any more", async () => {
    const { boxItemId, documentId, nextAttemptAt } = await make("retrying");
    expect(nextAttemptAt).toMatch(/Z$/);
    const cancelled = (await operate(boxItemId, "cancel")).json;
    expect(cancelled).toMatchObject({ status: "cancelled", nextAttemptAt: null });
    expect(cancelled["cancelledAt"]).toMatch(/Z$/);
    const document = (await box.call(`GET /documents/${String(documentId)}/status`)).json;
    expect(document["status"]).toBe("send_failed");
    const [row] = await t.db.sql<{ due: Date | null }[]>`
      select next_attempt_at as due from document where id = ${String(documentId)}`;
    expect(row?.due).toBeNull();
  });

  test("the event of a document that was cancelled with its item says the states that the document itself says", async () => {
    const subscribed = await box.call("POST /webhooks", { url: null, events: ["document.delivery_failed"] });
    expect(subscribed.status).toBe(201);
    const { boxItemId, documentId } = await make("retrying");
    await operate(boxItemId, "cancel");
    const data = await eventually("the event can be pulled", async () => {
      const { events } = (await box.call("GET /events/pull?limit=100")).json as {
        readonly events: readonly { readonly payload: { readonly data: Item } }[];
      };
      return events.map(({ payload }) => payload.data).find((told) => told["document_id"] === documentId);
    });
    const { status } = (await box.call(`GET /documents/${String(documentId)}/status`)).json;
    expect(status).toBe("send_failed");
    expect(data).toMatchObject({ status, previous_status: "queued", failure_reason: CANCELLED_IN_BOX });
  });

  test("retry of an item that is retrying makes its next attempt now; said again, it is one transition", async () => {
    const { boxItemId } = await make("retrying");
    await t.db.sql`update document set next_attempt_at = now() + interval '1 hour' where id = ${String(boxItemId)}`;
    await operate(boxItemId, "retry");
    expect(await box.reaches(boxItemId, "retrying")).toMatchObject({ status: "retrying" });
    const item = await box.reaches(boxItemId, "retrying");
    expect(Number(item["attemptCount"])).toBeGreaterThanOrEqual(1);
  });

  test("the timeline names every operation with the key that asked for it, and the audit of the firm too", async () => {
    const { boxItemId } = await make("scheduled");
    const scheduledFor = fromNow(2 * HOUR_MS);
    await box.call(`POST /box/items/${String(boxItemId)}/schedule`, { scheduledFor });
    await operate(boxItemId, "cancel");
    const { timeline } = (await box.read(boxItemId)) as { readonly timeline: readonly Item[] };
    const actor = { type: "api_key", id: t.sandbox.sender.clientId };
    expect(timeline).toMatchObject([
      { event: "box.created", status: "scheduled", actor },
      { event: "box.schedule", status: "scheduled", actor, detail: scheduledFor },
      { event: "box.cancel", status: "cancelled", actor },
    ]);
    const audit = (await box.call("GET /audit?limit=2")).json["rows"] as Item[];
    expect(audit).toMatchObject([
      { event: "box.cancelled", actor_id: actor.id, target_type: "box_item", target_id: boxItemId },
      { event: "box.scheduled", actor_id: actor.id, target_id: boxItemId },
    ]);
  });

  test("an item of an integrator whose consent was withdrawn meanwhile is not sent", async () => {
    const [partner, client] = [await newPartner(t), await newClient(t)];
    await bindClient(t, partner, client);
    const payloadXml = boxInvoice(t).replaceAll(t.sandbox.sender.participantId.slice(5), client.dic);
    const headers = { "x-firm-id": client.firmId as FirmId };
    const body = { payloadXml, scheduledFor: fromNow(1_500) };
    const made = await api(t, await tokenOf(t, partner.key), "POST /box/items", { body, headers });
    expect([made.status, made.json["integratorId"]]).toEqual([201, partner.integratorId]);
    await withdraw(t, partner, client);
    const own = await boxClient(t, (await newFirmKey(t, client.firmId)).token);
    expect(await own.reaches(made.json["boxItemId"], "failed")).toMatchObject({
      documentId: null,
      lastError: { status: 403, code: "FORBIDDEN" },
    });
  });
});
