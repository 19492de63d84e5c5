// Goal: what happens to a document reaches every receiver that asked for it, at least once, signed, in order per
// document, whatever the receiver answers and whoever else is slow.
// Method: real rows, a real deliverer, a receiver on this machine that answers as scripted; waits are ended by hand.
import { createHmac, randomUUID, timingSafeEqual } from "node:crypto";
import { Resolver } from "node:dns/promises";
import { createServer } from "node:net";
import type { AddressInfo, Socket } from "node:net";
import { afterEach, beforeEach, describe, expect, test } from "vitest";

import { LIMITS } from "../../../engine/base/limits.js";
import type { FirmId } from "../../../engine/base/ids.js";
import { startDnsServer } from "../../support/peppol/dns-server.js";
import { eventually } from "../../support/eventually.js";
import { startReceiver, status } from "../../support/webhooks/receiver.js";
import type { ReceivedCall, Receiver } from "../../support/webhooks/receiver.js";
import { openTransaction } from "../../support/database/transactions.js";
import { VERIFIERS } from "../../support/webhooks/verifiers.js";
import { webhookWorld } from "../../support/webhooks/webhook-world.js";
import type { DeliveryState, WebhookWorld } from "../../support/webhooks/webhook-world.js";

let world: WebhookWorld;
let receiver: Receiver;
let firm: FirmId;
beforeEach(async () => {
  [world, receiver] = await Promise.all([webhookWorld(), startReceiver()]);
  firm = await world.firm();
});
afterEach(async () => {
  await world.end();
  await receiver.close();
});

const hook = (path: string): string => `${receiver.origin}${path}`;

/** Waits until every delivery of a subscription has ended, letting time pass. */
async function ended(subscriptionId: string, count: number): Promise<DeliveryState[]> {
  return eventually("every delivery has ended", async () => {
    await world.passTime();
    const states = await world.states(subscriptionId);
    const over = states.filter((state) => state.status === "SUCCESS" || state.status === "FAILED");
    return over.length === count && states.length === count ? states : undefined;
  });
}

/** Waits until a delivery has been attempted once. */
const attempted = (subscriptionId: string): Promise<DeliveryState> =>
  eventually("the delivery was attempted", async () => {
    const [state] = await world.states(subscriptionId);
    return state !== undefined && state.attempts > 0 && !state.leased ? state : undefined;
  });

describe("a receiver that answers 2xx", () => {
  test("an event arrives once, and its envelope and headers are those of the rulings", async () => {
    const subscription = await world.subscribe(firm, hook("/in"));
    world.deliver();
    const documentId = randomUUID();
    const eventId = await world.happen(firm, "document.delivered", documentId);
    await ended(subscription.id, 1);
    const [call, ...more] = receiver.at("/in");
    expect(more).toEqual([]);
    expect(call?.json).toEqual({
      event: "document.delivered",
      event_version: "1",
      webhook_id: subscription.id,
      webhook_event_id: eventId,
      timestamp: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
      data: {
        document_id: documentId,
        direction: "outbound",
        doctype_key: "other",
        status: "delivered",
        previous_status: "sent",
        delivered_at: expect.stringMatching(/Z$/),
        as4_message_id: null,
      },
    });
    expect(call?.headers).toMatchObject({
      "content-type": "application/json; charset=utf-8",
      "x-webhook-event-id": eventId,
      "x-webhook-attempt": "1",
      "x-webhook-max-attempts": "10",
      "x-webhook-id": (await world.states(subscription.id))[0]?.id,
    });
    expect(call?.headers["x-webhook-signature-previous"]).toBeUndefined();
  });

  /**
   * Written from the documentation: HMAC-SHA256 over X-Webhook-Timestamp, a dot and the raw body, hex in lower case
   * behind "sha256=", accepted within 300 seconds and compared in constant time.
   */
  function isGenuine(call: ReceivedCall, secret: string, header = "x-webhook-signature"): boolean {
    const timestamp = call.headers["x-webhook-timestamp"] ?? "";
    if (!/^\d+$/.test(timestamp) || Math.abs(Date.now() / 1000 - Number(timestamp)) > 300) return false;
    const given = /^sha256=([0-9a-f]{64})$/.exec(call.headers[header] ?? "")?.[1] ?? "";
    const own = createHmac("sha256", Buffer.from(secret, "utf8"))
      .update(Buffer.concat([Buffer.from(`${timestamp}.`), call.body]))
      .digest();
    const other = Buffer.from(given, "hex");
    return own.length === other.length && timingSafeEqual(own, other);
  }

  test("the signature is verified by code that knows nothing but the documentation", async () => {
    const subscription = await world.subscribe(firm, hook("/in"));
    world.deliver();
    await world.happen(firm);
    await ended(subscription.id, 1);
    const [call] = receiver.at("/in");
    if (call === undefined) throw new Error("nothing came");
    expect(isGenuine(call, subscription.secret)).toBe(true);
    expect(isGenuine(call, `${subscription.secret}x`)).toBe(false);
    expect(isGenuine({ ...call, body: Buffer.concat([call.body, Buffer.from(" ")]) }, subscription.secret)).toBe(false);
  });

  test("the checks that the guide prints, each in its language, and openssl tell a call from one that was changed", async () => {
    const subscription = await world.subscribe(firm, hook("/in"));
    world.deliver();
    await world.happen(firm);
    await ended(subscription.id, 1);
    const [call] = receiver.at("/in");
    if (call === undefined) throw new Error("nothing came");
    const { "x-webhook-timestamp": timestamp = "", "x-webhook-signature": signature = "" } = call.headers;
    const claim = {
      timestamp,
      signature,
      bodies: [call.body, Buffer.concat([call.body, Buffer.from(" ")]), Buffer.alloc(0)],
    };
    const here = VERIFIERS.filter(({ isHere }) => isHere);
    expect(here.map(({ name }) => name)).toContain("ts");
    for (const { name, verify } of here) {
      expect(verify({ ...claim, secret: subscription.secret }), name).toEqual([true, false, false]);
      expect(verify({ ...claim, secret: `${subscription.secret}x` }), name).toEqual([false, false, false]);
    }
  });

  test("after a rotation both secrets sign, the new one in the header of the specification, and later the new one alone", async () => {
    const subscription = await world.subscribe(firm, hook("/in"));
    const fresh = await world.rotate(firm, subscription.id);
    world.deliver();
    await world.happen(firm);
    await ended(subscription.id, 1);
    await world.db.sql`update webhook_subscription set old_secret_until = now() - interval '1 second'`;
    await world.happen(firm);
    await ended(subscription.id, 2);
    const [during, after] = receiver.at("/in");
    if (during === undefined || after === undefined) throw new Error("two events are missing");
    expect(isGenuine(during, fresh)).toBe(true);
    expect(isGenuine(during, subscription.secret, "x-webhook-signature-previous")).toBe(true);
    expect(isGenuine(after, fresh)).toBe(true);
    expect(after.headers["x-webhook-signature-previous"]).toBeUndefined();
  });

  test("an answer that is longer than 16 KB counts by its status, and only its beginning is kept", async () => {
    receiver.script("/in", status(200, {}, "x".repeat(100_000)));
    const subscription = await world.subscribe(firm, hook("/in"));
    world.deliver();
    await world.happen(firm);
    expect((await ended(subscription.id, 1))[0]).toMatchObject({ status: "SUCCESS", attempts: 1 });
    const [row] = await world.db.sql`select char_length(response_body) as n from webhook_delivery`;
    expect(row?.["n"]).toBe(LIMITS.webhook_answer_chars_kept);
  });

  test("16 KB of an answer that never ends are read, and the event is taken at once", async () => {
    receiver.script("/in", (response) => {
      response.writeHead(200).write("x".repeat(LIMITS.webhook_answer_bytes_max + 1));
    });
    const subscription = await world.subscribe(firm, hook("/in"));
    world.deliver();
    await world.happen(firm);
    expect(await attempted(subscription.id)).toMatchObject({ status: "SUCCESS", responseStatus: 200, cause: null });
  });
});

describe("a receiver that does not take an event", () => {
  // rulings.md §10: "Retried: network errors, 408, 425, 429, 502, 503, 504; anything else but 2xx is terminal"
  test.each([408, 425, 429, 502, 503, 504])(
    "after %i the event is sent again with its id and a fresh signature",
    async (code) => {
      receiver.script("/in", (response, call, nth) => {
        status(nth === 1 ? code : 204)(response, call, nth);
      });
      const subscription = await world.subscribe(firm, hook("/in"));
      world.deliver();
      const eventId = await world.happen(firm);
      const waiting = await attempted(subscription.id);
      expect(waiting).toMatchObject({ status: "RETRYING", responseStatus: code, cause: `status_${code}` });
      const [first = 0] = LIMITS.webhook_plan_ms;
      expect(waiting.wait_s).toBeGreaterThan((first * 0.8) / 1000 - 0.1);
      expect(waiting.wait_s).toBeLessThan((first * 1.2) / 1000 + 30);
      expect((await ended(subscription.id, 1))[0]).toMatchObject({ status: "SUCCESS", attempts: 2 });
      const calls = receiver.at("/in");
      expect(calls.map(({ headers }) => headers["x-webhook-event-id"])).toEqual([eventId, eventId]);
      expect(calls.map(({ headers }) => headers["x-webhook-attempt"])).toEqual(["1", "2"]);
      expect(calls[0]?.body.equals(calls[1]?.body ?? Buffer.alloc(0))).toBe(true);
    },
  );

  test.each([400, 401, 404, 409, 422, 500, 501, 301, 302])(
    "after %i the event is a dead letter at once",
    async (code) => {
      receiver.script("/in", status(code, { location: hook("/elsewhere") }));
      const subscription = await world.subscribe(firm, hook("/in"));
      world.deliver();
      await world.happen(firm);
      expect((await ended(subscription.id, 1))[0]).toMatchObject({
        status: "FAILED",
        attempts: 1,
        responseStatus: code,
      });
      // spec/rulings.md, section 10: redirects are not followed.
      expect(receiver.at("/elsewhere")).toEqual([]);
    },
  );

  test("ten attempts are made over about 44 hours, and then the event is a dead letter", async () => {
    receiver.script("/in", status(503));
    const subscription = await world.subscribe(firm, hook("/in"));
    world.deliver();
    await world.happen(firm);
    expect((await ended(subscription.id, 1))[0]).toMatchObject({ status: "FAILED", attempts: 10, cause: "status_503" });
    expect(receiver.at("/in")).toHaveLength(10);
    const hours = LIMITS.webhook_plan_ms.reduce((sum, wait) => sum + wait, 0) / 3_600_000;
    expect(hours).toBeGreaterThan(44);
    expect(hours).toBeLessThan(45);
  });

  test.each([
    ["seconds", () => "7200", 7_200],
    ["a date", () => new Date(Date.now() + 7_200_000).toUTCString(), 7_200],
    ["more than a day", () => "999999", 86_400],
  ])("Retry-After in %s is honoured, up to a day", async (_, header, seconds) => {
    receiver.script("/in", status(429, { "retry-after": header() }));
    const subscription = await world.subscribe(firm, hook("/in"));
    world.deliver();
    await world.happen(firm);
    const { wait_s } = await attempted(subscription.id);
    expect(wait_s).toBeGreaterThan(seconds - 30);
    expect(wait_s).toBeLessThan(seconds + 60);
  });

  test("410 switches the subscription off; what still waited is a dead letter, and the audit tells why", async () => {
    receiver.script("/in", status(410));
    const subscription = await world.subscribe(firm, hook("/in"));
    const documentId = randomUUID();
    for (const kind of ["document.sent", "document.delivered"] as const) await world.happen(firm, kind, documentId);
    world.deliver();
    const states = await ended(subscription.id, 2);
    expect(states.map(({ status: of, cause }) => [of, cause])).toEqual([
      ["FAILED", "status_410"],
      ["FAILED", "subscription_disabled"],
    ]);
    await world.happen(firm);
    expect(receiver.at("/in")).toHaveLength(1);
    const rows = await world.db.sql`
      select s.active, s.disabled_reason, a.actor_type from webhook_subscription as s
      join audit_entry as a on a.target_id = s.id::text and a.event = 'webhook.disabled'`;
    expect(rows).toEqual([{ active: false, disabled_reason: "gone", actor_type: "system" }]);
  });

  test("a receiver that resets connections, and one that is not there, are tried again", async () => {
    receiver.script("/in", (response) => {
      response.socket?.destroy();
    });
    const subscription = await world.subscribe(firm, hook("/in"));
    const nobody = await world.subscribe(firm, "http://127.0.0.1:9/in");
    world.deliver();
    await world.happen(firm);
    expect(await attempted(subscription.id)).toMatchObject({ status: "RETRYING", cause: "reset" });
    expect(await attempted(nobody.id)).toMatchObject({ status: "RETRYING", cause: "connect_refused" });
  });

  // design/reliability.md, S-01: a name that answers differently the second time gains nothing.
  test("a name that leads to a private address when it is called is not connected to", async () => {
    const subscription = await world.subscribe(firm, "https://changes.example.com/in");
    world.deliver({ resolve: () => Promise.resolve(["10.0.0.7"]) });
    await world.happen(firm);
    expect((await ended(subscription.id, 1))[0]).toMatchObject({ status: "FAILED", cause: "url_blocked", attempts: 1 });
  });
});

// design/reliability.md, S-01: a name that answers differently the second time gains nothing.
test("a name that is public when it is judged and private when it is called is asked twice, and nobody is connected to", async () => {
  const answers = [["93.184.216.34"], ["127.0.0.1"]];
  const dns = await startDnsServer(() => ({ addresses: answers.shift() ?? ["127.0.0.1"] }));
  const connections: Socket[] = [];
  const inside = createServer((socket) => connections.push(socket));
  await new Promise<void>((resolve) => inside.listen(0, "127.0.0.1", resolve));
  try {
    const resolver = new Resolver();
    resolver.setServers([`${dns.host}:${dns.port}`]);
    const resolve = (host: string): Promise<string[]> => resolver.resolve4(host);
    const { port } = inside.address() as AddressInfo;
    const subscription = await world.subscribe(firm, `https://changes.example.com:${port}/in`, { resolve });
    expect(dns.asked).toEqual(["changes.example.com"]);
    world.deliver({ resolve });
    await world.happen(firm);
    expect((await ended(subscription.id, 1))[0]).toMatchObject({ status: "FAILED", cause: "url_blocked", attempts: 1 });
    expect(dns.asked).toEqual(["changes.example.com", "changes.example.com"]);
    expect(connections).toEqual([]);
    await expect(world.subscribe(firm, `https://changes.example.com:${port}/in`, { resolve })).rejects.toMatchObject({
      reason: "REQUEST_INVALID",
      details: [{ field: "url" }],
    });
  } finally {
    inside.close();
    await dns.close();
  }
});

describe("order and fairness", () => {
  test("events of one document arrive in their order, each after the one before was taken", async () => {
    receiver.script("/in", (response, call, nth) => {
      status(nth === 1 ? 503 : 200)(response, call, nth);
    });
    const subscription = await world.subscribe(firm, hook("/in"), {
      events: ["document.sent", "document.delivered", "document.response_received"],
    });
    const documentId = randomUUID();
    const ids: string[] = [];
    for (const kind of ["document.sent", "document.delivered", "document.response_received"] as const)
      ids.push(await world.happen(firm, kind, documentId));
    world.deliver();
    const other = await world.happen(firm);
    await attempted(subscription.id);
    await ended(subscription.id, 4);
    const arrived = receiver.at("/in").map(({ headers }) => headers["x-webhook-event-id"]);
    expect(arrived.filter((id) => id !== other)).toEqual([ids[0], ...ids]);
    expect(arrived).toContain(other);
  });

  test("a receiver that hangs has four calls at once and delays nobody else", async () => {
    receiver.script("/slow", () => undefined);
    const slowFirm = await world.firm();
    await world.subscribe(slowFirm, hook("/slow"));
    const quick = await world.subscribe(firm, hook("/quick"));
    for (let n = 0; n < 30; n += 1) await world.happen(slowFirm);
    world.deliver();
    await eventually("the slow one is busy", () => receiver.busiest("/slow") >= LIMITS.webhook_per_endpoint);
    for (let n = 0; n < 20; n += 1) await world.happen(firm);
    await ended(quick.id, 20);
    expect(receiver.busiest("/slow")).toBe(LIMITS.webhook_per_endpoint);
    expect(receiver.at("/quick")).toHaveLength(20);
  });

  test("an owner whose receivers hang at many places keeps nobody else waiting", async () => {
    const hanging = await Promise.all(Array.from({ length: 18 }, () => startReceiver()));
    try {
      const slowFirm = await world.firm();
      for (const slow of hanging) {
        slow.script("/in", () => undefined);
        await world.subscribe(slowFirm, `${slow.origin}/in`);
      }
      const quick = await world.subscribe(firm, hook("/quick"));
      for (let n = 0; n < 4; n += 1) await world.happen(slowFirm);
      world.deliver();
      const calls = (): number => hanging.reduce((sum, slow) => sum + slow.calls.length, 0);
      await eventually("the owner has all its places", () => calls() >= LIMITS.webhook_per_owner);
      for (let n = 0; n < 20; n += 1) await world.happen(firm);
      await ended(quick.id, 20);
      expect(calls()).toBe(LIMITS.webhook_per_owner);
    } finally {
      await Promise.all(hanging.map((slow) => slow.close()));
    }
  });

  test("an endpoint that fails again and again rests, and one call tells whether it is back", async () => {
    receiver.script("/in", status(503));
    const subscription = await world.subscribe(firm, hook("/in"));
    world.deliver();
    for (let n = 0; n < 40; n += 1) await world.happen(firm);
    const failures = await eventually("the endpoint rests", async () => {
      const [row] = await world.db.sql`select failures, rest_until > now() as rests from webhook_endpoint`;
      return row?.["rests"] === true ? Number(row["failures"]) : undefined;
    });
    expect(failures).toBeGreaterThanOrEqual(LIMITS.webhook_breaker_failures);
    expect(receiver.at("/in").length).toBeLessThan(LIMITS.webhook_breaker_failures + LIMITS.webhook_per_endpoint + 1);
    receiver.script("/in", status(200));
    await ended(subscription.id, 40);
    const [row] = await world.db.sql`select failures, rest_until from webhook_endpoint`;
    expect(row).toEqual({ failures: 0, rest_until: null });
  });
});

describe("what is told to whom", () => {
  test("what had committed before a subscription is not told, and what commits later is, though it began before", async () => {
    const documentId = randomUUID();
    const early = await world.happen(firm);
    const open = await openTransaction(world.db.url);
    const late = randomUUID();
    await open.run(
      `insert into document_event (id, document_id, firm_id, kind, actor, feed, occurred_at)
       values ('${late}', '${documentId}', '${firm}', 'document.delivered', 'system', true, now())`,
    );
    const subscription = await world.subscribe(firm, hook("/in"));
    world.deliver();
    const after = await world.happen(firm);
    await open.commit();
    await ended(subscription.id, 2);
    const arrived = receiver.at("/in").map(({ headers }) => headers["x-webhook-event-id"]);
    expect([...arrived].sort()).toEqual([late, after].sort());
    expect(arrived).not.toContain(early);
  });

  test("events of other firms, and kinds that were not named, are not told", async () => {
    const subscription = await world.subscribe(firm, hook("/in"), { events: ["document.delivered"] });
    world.deliver();
    await world.happen(await world.firm());
    await world.happen(firm, "document.sent");
    const told = await world.happen(firm, "document.delivered");
    await ended(subscription.id, 1);
    expect(receiver.calls.map(({ headers }) => headers["x-webhook-event-id"])).toEqual([told]);
  });

  test("two processes at once tell each event once", async () => {
    const subscription = await world.subscribe(firm, hook("/in"));
    world.deliver({ owner: "one/1" });
    world.deliver({ owner: "two/1", sql: world.db.another() });
    const ids: string[] = [];
    for (let n = 0; n < 100; n += 1) ids.push(await world.happen(firm));
    await ended(subscription.id, 100);
    const arrived = receiver.at("/in").map(({ headers }) => headers["x-webhook-event-id"]);
    expect([...arrived].sort()).toEqual([...ids].sort());
  });
});
