/**
 * What is pushed, pulled, repeated and tested, on a whole engine behind both forms of the server: documents go the whole
 * way, and a receiver on this machine reads what it is told. Each test quotes the line it holds.
 * @source spec/enterprise.md, Events; spec/rulings.md, section 10; spec/shapes.md, section 5
 */
import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "vitest";

import { FEED_KINDS } from "../../../engine/lifecycle/feed.js";
import { accessToken, invoiceXml, send, sendParts, startTestEngine } from "../../support/engines/engine.js";
import type { HttpAnswer, TestEngine } from "../../support/engines/engine.js";
import { eventually } from "../../support/eventually.js";
import { serverForms } from "../../support/engines/gateway.js";
import {
  api,
  bindClient,
  faultOf,
  newClient,
  newFirmKey,
  newPartner,
  withdraw,
} from "../../support/callers/partners.js";
import type { Client } from "../../support/callers/partners.js";
import { startReceiver, status } from "../../support/webhooks/receiver.js";
import type { Receiver } from "../../support/webhooks/receiver.js";

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;
const INSTANT = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{3}Z$/;

interface Pulled {
  readonly event_id: string;
  readonly event: string;
  readonly firm_id: string;
  readonly created_at: string;
  readonly payload: Record<string, unknown> & { readonly data: Record<string, unknown> };
}

describe.each(serverForms)("the %s form", (form) => {
  let t: TestEngine;
  let receiver: Receiver;
  beforeAll(async () => {
    [t, receiver] = await Promise.all([startTestEngine({ form }), startReceiver()]);
  });
  afterAll(async () => {
    await t.stop();
    await receiver.close();
  });

  /** A firm with a key of its own. */
  async function newFirm(): Promise<Client & { readonly token: string }> {
    const client = await newClient(t);
    return { ...client, token: (await newFirmKey(t, client.firmId)).token };
  }
  const subscribe = async (token: string, body: unknown, headers = {}): Promise<string> => {
    const answer = await api(t, token, "POST /webhooks", { body, headers });
    expect(answer.status).toBe(201);
    return String(answer.json["id"]);
  };
  /** Makes an event happen to a document of a firm. @returns its id */
  async function happen(firmId: string, kind = "document.delivered"): Promise<string> {
    const id = randomUUID();
    await t.db.sql`
      insert into document_event (id, document_id, firm_id, kind, actor, feed, occurred_at)
      values (${id}, ${randomUUID()}, ${firmId}, ${kind}, 'system', true, now())`;
    return id;
  }
  const eventsOf = (answer: HttpAnswer): Pulled[] => answer.json["events"] as Pulled[];
  const idsOf = (answer: HttpAnswer): string[] => eventsOf(answer).map(({ event_id: id }) => id);
  /** Waits until every event of now has become what it becomes, as the database says: calls meet their rate limit. */
  const fed = (): Promise<unknown> =>
    eventually(
      "the feed is read to its end",
      async () =>
        (
          await t.db.sql`
            select 1 from feed_consumer as c join document_event as e
              on e.feed and (e.transaction_id, e.position) > (c.transaction_id, c.position)
            where c.name = 'webhooks' limit 1`
        ).length === 0,
    );
  /** Waits until a delivery of an event is in a state. */
  const delivery = (eventId: string, state: string, count = 1): Promise<unknown> =>
    eventually(
      `the delivery is ${state}`,
      async () =>
        (await t.db.sql`select 1 from webhook_delivery where event_id = ${eventId} and status = ${state}`).length ===
        count,
    );
  /** Pulls when the feed is read, and expects so many events. */
  async function pulled(token: string, count: number, query = ""): Promise<HttpAnswer> {
    await fed();
    const answer = await api(t, token, `GET /events/pull${query}`);
    expect([answer.status, eventsOf(answer).length]).toEqual([200, count]);
    return answer;
  }

  describe("the whole way", () => {
    // enterprise.md: "A subscription for the sending firm also covers documents sent through the SAPI profile."
    // shapes.md §5: "data{document_id, document_number?, direction, doctype_key, status, previous_status|null, total_amount? (string), currency?, issue_date?, due_date?, sender_peppol_id?, receiver_peppol_id?; per event: …}"
    test("a document of SAPI is pushed to its sender in order, and pulled by its receiver", async () => {
      const { sender, receiver: buyer } = t.sandbox;
      const [token, buyerToken] = [await accessToken(t.sandbox, sender), await accessToken(t.sandbox, buyer)];
      const path = `/${randomUUID()}`;
      const webhookId = await subscribe(token, { url: `${receiver.origin}${path}`, events: [...FEED_KINDS] });
      await subscribe(buyerToken, { url: null, events: ["document.received"] });
      const number = `W-${randomUUID()}`;
      const payload = invoiceXml(sender.participantId, buyer.participantId, { number });
      const mailbox = { participantId: sender.participantId, token };
      const sent = await send(t.sandbox, mailbox, sendParts(sender.participantId, buyer.participantId, payload));
      expect(sent.status).toBe(202);
      await eventually("four events arrived", () => receiver.at(path).length === 4);
      const bodies = receiver.at(path).map(({ json }) => json);
      const documentId = String(bodies[0]?.data["document_id"]);
      const common = {
        document_id: documentId,
        document_number: number,
        direction: "outbound",
        doctype_key: "invoice",
        total_amount: expect.stringMatching(/^\d+\.\d\d$/),
        currency: "EUR",
        issue_date: expect.stringMatching(/^\d{4}-\d\d-\d\d$/),
        due_date: expect.stringMatching(/^\d{4}-\d\d-\d\d$/),
        sender_peppol_id: sender.participantId,
        receiver_peppol_id: buyer.participantId,
      };
      const [at, as4] = [expect.stringMatching(INSTANT), expect.any(String)];
      expect(bodies.map(({ event, data }) => ({ event, data }))).toEqual([
        { event: "document.created", data: { ...common, status: "queued", previous_status: null } },
        { event: "document.validated", data: { ...common, status: "queued", previous_status: "queued" } },
        {
          event: "document.sent",
          data: { ...common, status: "sent", previous_status: "queued", sent_at: at, as4_message_id: as4, attempts: 1 },
        },
        {
          event: "document.delivered",
          data: {
            ...common,
            status: "delivered",
            previous_status: "sent",
            delivered_at: at,
            as4_message_id: as4,
            attempts: 1,
          },
        },
      ]);
      expect(bodies.every((body) => body["event_version"] === "1" && body["webhook_id"] === webhookId)).toBe(true);
      await eventually(
        "the receiver is told",
        async () => (await t.db.sql`select 1 from webhook_delivery where event = 'document.received'`).length === 1,
      );
      const [event] = eventsOf(await pulled(buyerToken, 1));
      expect(event).toEqual({
        event_id: expect.stringMatching(UUID),
        firm_id: buyer.firmId,
        event: "document.received",
        created_at: at,
        payload: {
          event: "document.received",
          event_version: "1",
          webhook_id: expect.stringMatching(UUID),
          webhook_event_id: event?.event_id,
          timestamp: event?.created_at,
          data: {
            ...common,
            document_id: expect.stringMatching(UUID),
            direction: "inbound",
            status: "received",
            previous_status: null,
            received_at: at,
            as4_message_id: as4,
          },
        },
      });
      // Nothing of an invoice but its named members is in a body.
      const text = receiver.at(path).map(({ body }) => body.toString("utf8"));
      for (const words of ["s. r. o.", "<", "IBAN"]) expect(text.join("")).not.toContain(words);
    });
  });

  describe("pull", () => {
    // enterprise.md: "GET /events/pull | scope webhooks:read; limit max 100 | events plus has_more"; rulings.md §10: "Acked events are not shown again; unacked ones are, oldest first."
    test("unconfirmed events come again, oldest first, a page at a time and by kind; confirmed ones do not", async () => {
      const { firmId, token } = await newFirm();
      await subscribe(token, { url: null });
      const ids = [await happen(firmId), await happen(firmId, "document.sent"), await happen(firmId)];
      expect(idsOf(await pulled(token, 3))).toEqual(ids);
      const first = await pulled(token, 2, "?limit=2");
      expect([idsOf(first), first.json["has_more"]]).toEqual([ids.slice(0, 2), true]);
      const sent = await pulled(token, 1, "?event_type=document.sent");
      expect([idsOf(sent), sent.json["has_more"]]).toEqual([[ids[1]], false]);
      // shapes.md §5: "POST /events/{id}/ack → {acknowledged:true}"; §1.2: no body, no Content-Type
      for (let time = 0; time < 3; time += 1) {
        const ack = await api(t, token, `POST /events/${ids[0]}/ack`);
        expect([ack.status, ack.json]).toEqual([200, { acknowledged: true }]);
      }
      expect(idsOf(await pulled(token, 2))).toEqual(ids.slice(1));
      // shapes.md §5: "POST /events/batch-ack {event_ids[]} → {acknowledged:n}"
      const batch = await api(t, token, "POST /events/batch-ack", { body: { event_ids: [...ids, randomUUID()] } });
      expect([batch.status, batch.json]).toEqual([200, { acknowledged: 3 }]);
      expect(idsOf(await pulled(token, 0))).toEqual([]);
      for (const [query, field] of [
        ["?limit=101", "limit"],
        ["?limit=0", "limit"],
        ["?event_type=document.queued", "event_type"],
      ] as const) {
        const refused = await api(t, token, `GET /events/pull${query}`);
        expect([refused.status, JSON.stringify(refused.json).includes(field)], query).toEqual([400, true]);
      }
    });

    // design/reliability.md, C-18: "ack a foreign event; ack unknown: 404 without existence leak"
    test("an event of another firm is as unknown as none, and stays where it is", async () => {
      const [own, other] = [await newFirm(), await newFirm()];
      for (const { token } of [own, other]) await subscribe(token, { url: null });
      const id = await happen(other.firmId);
      await pulled(other.token, 1);
      const headers = { "x-request-id": "same" };
      const [foreign, none] = [
        await api(t, own.token, `POST /events/${id}/ack`, { headers }),
        await api(t, own.token, `POST /events/${randomUUID()}/ack`, { headers }),
      ];
      expect([foreign.status, foreign.json]).toEqual([404, none.json]);
      const batch = await api(t, own.token, "POST /events/batch-ack", { body: { event_ids: [id] } });
      expect(batch.json).toEqual({ acknowledged: 0 });
      expect(idsOf(await pulled(other.token, 1))).toEqual([id]);
    });

    test("an event that two subscriptions have is shown once and confirmed once", async () => {
      const { firmId, token } = await newFirm();
      for (let n = 0; n < 2; n += 1) await subscribe(token, { url: null });
      const ids = [await happen(firmId), await happen(firmId)];
      expect(idsOf(await pulled(token, 2))).toEqual(ids);
      await api(t, token, `POST /events/${ids[0]}/ack`);
      expect(idsOf(await pulled(token, 1))).toEqual([ids[1]]);
    });

    // shapes.md §5: "Over all firms of an integrator: GET /webhook-queue/all?limit(1–500)&since, POST /webhook-queue/all/batch-ack."
    test("an integrator pulls and confirms over all firms that consent, and over no other", async () => {
      const partner = await newPartner(t);
      const [one, two, gone] = [await newClient(t), await newClient(t), await newClient(t)];
      const { token } = partner.key;
      const ids: string[] = [];
      for (const client of [one, two, gone]) {
        await bindClient(t, partner, client);
        await subscribe(token, { url: null }, { "x-firm-id": client.firmId });
      }
      for (const client of [one, two, gone]) ids.push(await happen(client.firmId));
      const all = (query = ""): Promise<HttpAnswer> => api(t, token, `GET /webhook-queue/all${query}`);
      await fed();
      expect(idsOf(await all())).toEqual(ids);
      await withdraw(t, partner, gone);
      const answer = await all("?limit=500&since=2026-01-01T00:00:00Z");
      expect(idsOf(answer)).toEqual(ids.slice(0, 2));
      expect(eventsOf(answer).map(({ firm_id: id }) => id)).toEqual([one.firmId, two.firmId]);
      expect(idsOf(await all("?since=2999-01-01T00:00:00Z"))).toEqual([]);
      const acked = await api(t, token, "POST /webhook-queue/all/batch-ack", { body: { event_ids: ids } });
      expect([acked.status, acked.json]).toEqual([200, { acknowledged: 2 }]);
      expect(idsOf(await all())).toEqual([]);
      // rulings.md §1: "X-Firm-Id on … integrator-level calls is 400 FIRM_CONTEXT_FORBIDDEN"
      const refused = await api(t, token, "GET /webhook-queue/all", { headers: { "x-firm-id": one.firmId } });
      expect(faultOf(refused)).toEqual([400, "FIRM_CONTEXT_FORBIDDEN"]);
    });

    test("an integrator is told nothing of a firm that has withdrawn, also of what happened before", async () => {
      const partner = await newPartner(t);
      const client = await newClient(t);
      await bindClient(t, partner, client);
      const headers = { "x-firm-id": client.firmId };
      const path = `/${randomUUID()}`;
      receiver.script(path, status(503));
      const id = await subscribe(partner.key.token, { url: `${receiver.origin}${path}` }, headers);
      await happen(client.firmId);
      await eventually("it was tried once", () => receiver.at(path).length === 1);
      receiver.script(path, status(200));
      await withdraw(t, partner, client);
      await happen(client.firmId);
      await t.db.sql`update webhook_delivery set due_at = now() where subscription_id = ${id} and lease_owner is null`;
      const end = await eventually("the delivery has ended", async () => {
        const rows = await t.db.sql`select status, cause from webhook_delivery where subscription_id = ${id}`;
        return rows.length === 1 && rows[0]?.["status"] === "FAILED" ? rows[0] : undefined;
      });
      expect(end).toEqual({ status: "FAILED", cause: "consent_withdrawn" });
      expect(receiver.at(path)).toHaveLength(1);
    });
  });

  describe("tests of a receiver", () => {
    // shapes.md §5: "POST /webhooks/{id}/test?event&count&mode(direct|queued)"
    test("a direct test answers what the receiver said, one attempt each, and its data say that it is a test", async () => {
      const { token } = await newFirm();
      const path = `/${randomUUID()}`;
      receiver.script(path, (response, call, nth) => {
        status(nth === 1 ? 200 : 503, {}, "thanks")(response, call, nth);
      });
      const id = await subscribe(token, { url: `${receiver.origin}${path}` });
      const line = `POST /webhooks/${id}/test?event=document.rejected`;
      const [good, bad] = [await api(t, token, line), await api(t, token, `${line}&mode=direct`)];
      expect(good.json).toEqual({
        testRunId: expect.stringMatching(UUID),
        mode: "direct",
        event: "document.rejected",
        deliveries: [
          {
            deliveryId: expect.stringMatching(UUID),
            webhookEventId: receiver.at(path)[0]?.headers["x-webhook-event-id"],
            status: "SUCCESS",
            responseStatus: 200,
            error: null,
          },
        ],
      });
      expect(bad.json["deliveries"]).toMatchObject([{ status: "FAILED", responseStatus: 503, error: "status_503" }]);
      expect(receiver.at(path)[0]?.json.data).toMatchObject({ test: true, status: "rejected" });
      // A test is no dead letter.
      expect((await api(t, token, "GET /webhook-dead-letter")).json["data"]).toEqual([]);
      const run = String(good.json["testRunId"]);
      const listed = await api(t, token, `GET /webhooks/${id}/deliveries?testRunId=${run}&includeResponseBody=true`);
      expect(listed.json["data"]).toMatchObject([{ status: "SUCCESS", testRunId: run, responseBody: "thanks" }]);
    });

    test("a queued test goes the way of every delivery, and of a pull subscription it is pulled", async () => {
      const { token } = await newFirm();
      const path = `/${randomUUID()}`;
      const pushes = await subscribe(token, { url: `${receiver.origin}${path}` });
      const pulls = await subscribe(token, { url: null });
      const queued = await api(t, token, `POST /webhooks/${pushes}/test?mode=queued&count=3`);
      expect(queued.json["deliveries"]).toMatchObject([1, 2, 3].map(() => ({ status: "PENDING", error: null })));
      await eventually("three tests arrived", () => receiver.at(path).length === 3);
      await api(t, token, `POST /webhooks/${pulls}/test?mode=queued&event=document.sent`);
      expect(eventsOf(await pulled(token, 1))[0]?.payload).toMatchObject({
        event: "document.sent",
        data: { test: true },
      });
      const nowhere = await api(t, token, `POST /webhooks/${pulls}/test`);
      expect([nowhere.status, JSON.stringify(nowhere.json).includes('"mode"')]).toEqual([400, true]);
      expect((await api(t, token, `POST /webhooks/${pushes}/test?count=11`)).status).toBe(400);
    });

    test("a subscription that is off is tested before it is switched on, directly and queued", async () => {
      const { token } = await newFirm();
      const path = `/${randomUUID()}`;
      const id = await subscribe(token, { url: `${receiver.origin}${path}`, isActive: false });
      const direct = await api(t, token, `POST /webhooks/${id}/test`);
      expect(direct.json["deliveries"]).toMatchObject([{ status: "SUCCESS" }]);
      await api(t, token, `POST /webhooks/${id}/test?mode=queued`);
      await eventually("both tests arrived", () => receiver.at(path).length === 2);
      expect((await api(t, token, `GET /webhooks/${id}`)).json["isActive"]).toBe(false);
    });
  });

  describe("dead letters", () => {
    /** A firm with one dead letter at a path. */
    async function deadLetter(): Promise<{
      readonly token: string;
      readonly firmId: string;
      readonly path: string;
      readonly webhookId: string;
      readonly eventId: string;
      readonly letter: Record<string, unknown>;
    }> {
      const { firmId, token } = await newFirm();
      const path = `/${randomUUID()}`;
      receiver.script(path, status(500, {}, "no"));
      const webhookId = await subscribe(token, { url: `${receiver.origin}${path}` });
      const eventId = await happen(firmId);
      await delivery(eventId, "FAILED");
      const answer = await api(t, token, "GET /webhook-dead-letter?includeResponseBody=true");
      const [letter = {}] = answer.json["data"] as Record<string, unknown>[];
      return { token, firmId, path, webhookId, eventId, letter };
    }

    // shapes.md §5: "POST /webhook-dead-letter/{deliveryId}/replay → {replayedFrom,deliveryId,webhookId,webhookEventId}"
    test("a dead letter tells what happened, and its repeat brings the same event once", async () => {
      const { token, path, webhookId, eventId, letter } = await deadLetter();
      expect(letter).toMatchObject({
        webhookId,
        webhookEventId: eventId,
        event: "document.delivered",
        status: "FAILED",
        attempts: 1,
        maxAttempts: 10,
        responseStatus: 500,
        responseBody: "no",
        error: "status_500",
        nextAttemptAt: null,
        replayedFrom: null,
      });
      receiver.script(path, status(200));
      const line = `POST /webhook-dead-letter/${String(letter["id"])}/replay`;
      const [replay, again] = [await api(t, token, line), await api(t, token, line)];
      expect([replay.status, replay.json]).toEqual([
        200,
        {
          replayedFrom: letter["id"],
          deliveryId: expect.stringMatching(UUID),
          webhookId,
          webhookEventId: eventId,
        },
      ]);
      expect(again.json).toEqual(replay.json);
      await eventually("the event arrived", () => receiver.at(path).length === 2);
      expect(receiver.at(path).map(({ headers }) => headers["x-webhook-event-id"])).toEqual([eventId, eventId]);
      expect((await api(t, token, "GET /webhook-dead-letter")).json["data"]).toEqual([]);
      await delivery(eventId, "SUCCESS");
      const { json } = await api(t, token, `GET /webhooks/${webhookId}/deliveries?status=SUCCESS`);
      expect(json["data"]).toMatchObject([{ replayedFrom: letter["id"], webhookEventId: eventId, attempts: 1 }]);
    });

    // shapes.md §5: "…/resolve {reason?} → {resolved}"
    test("a dead letter that is resolved is listed no more and can still be repeated, but not while the subscription is off", async () => {
      const { token, webhookId, letter } = await deadLetter();
      const line = `POST /webhook-dead-letter/${String(letter["id"])}`;
      const resolved = await api(t, token, `${line}/resolve`, { body: { reason: "entered by hand" } });
      expect([resolved.status, resolved.json]).toEqual([200, { resolved: true }]);
      expect((await api(t, token, `${line}/resolve`)).json).toEqual({ resolved: true });
      expect((await api(t, token, "GET /webhook-dead-letter")).json["data"]).toEqual([]);
      await api(t, token, `PATCH /webhooks/${webhookId}`, { body: { isActive: false } });
      expect(faultOf(await api(t, token, `${line}/replay`))).toEqual([409, "WEBHOOK_INACTIVE"]);
    });

    test("a dead letter of somebody else is as unknown as none", async () => {
      const { letter } = await deadLetter();
      const { token } = await newFirm();
      for (const what of ["replay", "resolve"])
        for (const id of [String(letter["id"]), randomUUID()])
          expect(faultOf(await api(t, token, `POST /webhook-dead-letter/${id}/${what}`))).toEqual([404, "NOT_FOUND"]);
    });

    test("deliveries are paged by a cursor, newest first, and none is shown twice", async () => {
      const { firmId, token } = await newFirm();
      const path = `/${randomUUID()}`;
      const id = await subscribe(token, { url: `${receiver.origin}${path}` });
      const ids: string[] = [];
      for (let n = 0; n < 5; n += 1) ids.push(await happen(firmId));
      await eventually("five events arrived", () => receiver.at(path).length === 5);
      const seen: unknown[] = [];
      for (let cursor: unknown = ""; cursor !== null;) {
        const query = cursor === "" ? "" : `&cursor=${String(cursor)}`;
        const { json } = await api(t, token, `GET /webhooks/${id}/deliveries?limit=2${query}`);
        seen.push(...(json["data"] as { readonly webhookEventId: string }[]).map((row) => row.webhookEventId));
        cursor = (json["pagination"] as { readonly nextCursor: string | null }).nextCursor;
      }
      expect(seen).toEqual(ids.reverse());
      const one = await api(t, token, `GET /webhooks/${id}`);
      expect(one.json["deliveries"]).toHaveLength(5);
    });
  });
});
