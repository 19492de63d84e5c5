/**
 * What operators do about deliveries that failed for good, on a whole engine: they are sent again from the page of their
 * webhook, those of a firm's subscription and those of the Connector's webhook by the same form and under the same rules.
 */
import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "vitest";

import { pruneDeliveries } from "../../../engine/storage/events/repairs.js";
import { BUYER, connectorCalls, connectorInvoice } from "../../support/callers/connector.js";
import type { ConnectorCall } from "../../support/callers/connector.js";
import { memberOf, passTime } from "../../support/callers/connector-receiver.js";
import { accessToken, startTestEngine } from "../../support/engines/engine.js";
import type { TestEngine } from "../../support/engines/engine.js";
import { eventually } from "../../support/eventually.js";
import { api } from "../../support/callers/partners.js";
import { startReceiver, status } from "../../support/webhooks/receiver.js";
import type { Receiver } from "../../support/webhooks/receiver.js";
import { formOf, Visitor } from "../../support/callers/visitor.js";
import type { PageAnswer } from "../../support/callers/visitor.js";

/** A subscription whose receiver has a path that nobody else is to see. */
interface Hook {
  readonly id: string;
  readonly path: string;
  readonly secret: string;
  /** Switches it off or on, as its owner does. */
  turn(isOn: boolean): Promise<unknown>;
}
const KINDS = ["a firm's subscription", "the Connector's webhook"] as const;
const REPLAY = "/console/actions/replay-delivery";

let t: TestEngine;
let receiver: Receiver;
let visitor: Visitor;
let connector: ConnectorCall;
let hooks: Readonly<Record<(typeof KINDS)[number], Hook>>;

beforeAll(async () => {
  [t, receiver] = await Promise.all([startTestEngine(), startReceiver()]);
  visitor = new Visitor(t.engine.adminUrl);
  const signIn = formOf(await visitor.get("/console/sign-in"), "/console/sign-in");
  await visitor.submit(signIn, { token: t.sandbox.admin.token });
  connector = connectorCalls(t.sandbox, await accessToken(t.sandbox, t.sandbox.integrator));
  const [firm, account] = [`/firm/${randomUUID()}`, `/account/${randomUUID()}`];
  const token = await accessToken(t.sandbox, t.sandbox.sender);
  const events = ["document.delivered"];
  const made = await api(t, token, "POST /webhooks", { body: { url: receiver.origin + firm, events } });
  const put = (active: boolean) => connector("PUT", "/webhook", { url: receiver.origin + account, events, active });
  const first = await put(true);
  const id = memberOf(made, "id");
  hooks = {
    "a firm's subscription": {
      id,
      path: firm,
      secret: memberOf(made, "secret"),
      turn: (isActive) => api(t, token, `PATCH /webhooks/${id}`, { body: { isActive } }),
    },
    "the Connector's webhook": {
      id: (first.json["webhook"] as { readonly id: string }).id,
      path: account,
      secret: memberOf(first, "secret"),
      turn: put,
    },
  };
});
afterAll(async () => {
  await t.stop();
  await receiver.close();
});

interface Row {
  readonly id: string;
  readonly eventId: string;
  readonly documentId: string;
  readonly status: string;
  readonly replayOf: string | null;
}
/** Deliveries of one webhook, newest first. */
const deliveriesOf = (hook: Hook): PromiseLike<Row[]> => t.db.sql<Row[]>`
  select id, event_id as "eventId", document_id as "documentId", status, replay_of as "replayOf"
  from webhook_delivery where subscription_id = ${hook.id} order by position desc`;
const settled = (hook: Hook, isIt: (row: Row) => boolean): Promise<Row> =>
  eventually("the delivery has ended", async () => {
    await passTime(t);
    return (await deliveriesOf(hook)).find((row) => isIt(row) && ["SUCCESS", "FAILED"].includes(row.status));
  });

/** An event that its receiver refuses for good, and the number of the invoice that it is about. */
const dead = (hook: Hook): ReturnType<typeof told> => told(hook, 422);

/** An event that its receiver answers so. */
async function told(hook: Hook, answer: number): Promise<Row & { readonly number: string }> {
  receiver.script(hook.path, status(answer));
  const invoice = connectorInvoice(t.sandbox.receiver.participantId.replace(/^0245:/, ""));
  const id = memberOf(await connector("POST", "/documents", invoice), "id");
  return { ...(await settled(hook, ({ documentId }) => documentId === id)), number: String(invoice["number"]) };
}
const sheetOf = (hook: Hook): Promise<PageAnswer> => visitor.get(`/console/webhooks/${hook.id}`);
/** The form that sends one delivery again, as it stands in the page. */
async function formFor(hook: Hook, id: string): Promise<ReturnType<typeof formOf>> {
  const page = await sheetOf(hook);
  expect([id, page.text.includes(`Reason to send delivery ${id} again`)]).toEqual([id, true]);
  const { action, fields } = formOf(page, REPLAY);
  return { action, fields: { ...fields, id } };
}
const repeatsOf = async (hook: Hook, id: string): Promise<readonly Row[]> =>
  (await deliveriesOf(hook)).filter(({ replayOf }) => replayOf === id);
/** What the operators' record has of one delivery, in its order. */
const entriesOf = async (id: string): Promise<readonly unknown[]> =>
  (
    await t.db.sql<{ readonly entry: string }[]>`
    select concat_ws(', ', event, target_type, metadata ->> 'reason', metadata ->> 'refusal') as entry
    from audit_entry where target_id = ${id} order by position`
  ).map(({ entry }) => entry);
const replayAsOwner = (id: string, confirmSuccessfulReplay = false) =>
  connector("POST", `/webhook/deliveries/${id}/replay`, { confirmSuccessfulReplay }, { "idempotency-key": id });

describe.each(KINDS)("dead deliveries of %s at the console", (kind) => {
  test("a dead delivery is sent again from its webhook's page for a reason, once however often the form is sent, and the record has it", async () => {
    const hook = hooks[kind];
    const gone = await dead(hook);
    const form = await formFor(hook, gone.id);
    const without = await visitor.submit(form, { reason: " " });
    expect([without.status, await repeatsOf(hook, gone.id), await entriesOf(gone.id)]).toEqual([400, [], []]);
    receiver.script(hook.path, status(200));
    const answers = await Promise.all([1, 2].map(() => visitor.submit(form, { reason: "its server is back" })));
    answers.push(await visitor.submit(form, { reason: "its server is back" }));
    const page = `/console/webhooks/${hook.id}?done=replay`;
    expect(answers.map((answer) => [answer.status, answer.location])).toEqual([1, 2, 3].map(() => [303, page]));
    const repeat = await settled(hook, ({ replayOf }) => replayOf === gone.id);
    expect([repeat.status, repeat.eventId]).toEqual(["SUCCESS", gone.eventId]);
    expect(await repeatsOf(hook, gone.id)).toHaveLength(1);
    const heard = receiver.at(hook.path).filter(({ headers }) => headers["x-webhook-event-id"] === gone.eventId);
    expect(heard.map(({ headers }) => headers["x-webhook-id"])).toEqual([gone.id, repeat.id]);
    const done = await visitor.get(page);
    expect([done.text.includes("Done: replay."), done.text.includes(gone.id)]).toEqual([true, false]);
    const entry = "operator.replayed, webhook_delivery, its server is back";
    expect(await entriesOf(gone.id)).toEqual([entry, entry, entry]);
    expect((await visitor.get("/console/record")).text).toContain(`webhook_delivery ${gone.id}`);
  });

  test("a dead delivery whose repeat has failed makes way for it, and the repeat is sent again as the first was", async () => {
    const hook = hooks[kind];
    const gone = await dead(hook);
    await visitor.submit(await formFor(hook, gone.id), { reason: "try it" });
    const repeat = await settled(hook, ({ replayOf }) => replayOf === gone.id);
    const form = await formFor(hook, repeat.id);
    expect([repeat.status, (await sheetOf(hook)).text.includes(gone.id)]).toEqual(["FAILED", false]);
    receiver.script(hook.path, status(200));
    expect((await visitor.submit(form, { reason: "try it again" })).status).toBe(303);
    expect((await settled(hook, ({ replayOf }) => replayOf === repeat.id)).status).toBe("SUCCESS");
  });

  test("a dead delivery is not sent again while its webhook is off: its page says so, and a form of before is refused and recorded", async () => {
    const hook = hooks[kind];
    const gone = await dead(hook);
    const form = await formFor(hook, gone.id);
    await hook.turn(false);
    const page = await sheetOf(hook);
    const refused = await visitor.submit(form, { reason: "too early" });
    await hook.turn(true);
    const words = "Nothing is sent again while this webhook is off; its owner switches it on.";
    const shown = [gone.id, words, REPLAY].map((text) => page.text.includes(text));
    expect([...shown, (await sheetOf(hook)).text.includes(words)]).toEqual([true, true, false, false]);
    expect([refused.status, await repeatsOf(hook, gone.id)]).toEqual([409, []]);
    expect(refused.text).toMatch(/switched (on|off)/);
    const [first, second] = await entriesOf(gone.id);
    expect(first).toBe("operator.replayed, webhook_delivery, too early");
    expect(second).toMatch(/^operator.failed, webhook_delivery, too early, (CONNECTOR_)?WEBHOOK_INACTIVE$/);
  });

  test("a dead delivery stays as it is when the form comes from another site, without its token, from nobody, or as a GET", async () => {
    const hook = hooks[kind];
    const gone = await dead(hook);
    const before = await deliveriesOf(hook);
    const form = await formFor(hook, gone.id);
    const given = { id: gone.id, reason: "why" };
    const answers = [
      await visitor.submit(form, given, { origin: "https://evil.example" }),
      await visitor.submit(form, given, { origin: "null" }),
      await visitor.submit(form, given, { "sec-fetch-site": "cross-site" }),
      await visitor.post(REPLAY, given),
      await new Visitor(t.engine.adminUrl).submit(form, given),
      await visitor.get(`${REPLAY}?${new URLSearchParams({ ...form.fields, ...given }).toString()}`),
    ];
    expect(answers.map((answer) => answer.status)).toEqual([403, 403, 403, 403, 403, 405]);
    expect([await deliveriesOf(hook), await entriesOf(gone.id)]).toEqual([before, []]);
  });

  test("a dead delivery is shown without what its document says, the path of its receiver and its secret", async () => {
    const hook = hooks[kind];
    const gone = await dead(hook);
    const form = await formFor(hook, gone.id);
    const answers = [await sheetOf(hook), await visitor.submit(form, { reason: "asked for" })];
    answers.push(await sheetOf(hook), await visitor.get("/console/record"), await visitor.get("/console/webhooks"));
    const texts = answers.map(({ text }) => text).join("\n");
    for (const shown of [gone.id, "422", receiver.origin, `/console/documents/${gone.documentId}`])
      expect(texts).toContain(shown);
    for (const hidden of [hook.path, hook.secret, gone.number, BUYER, "Paper", "23.90"])
      expect(texts).not.toContain(hidden);
  });
});

test("an operator sends no event of the Connector twice: one that is under way, and one that was taken, is refused with why, and what was taken is not listed", async () => {
  const hook = hooks["the Connector's webhook"];
  const gone = await dead(hook);
  const form = await formFor(hook, gone.id);
  receiver.script(hook.path, status(503));
  const repeat = memberOf(await replayAsOwner(gone.id), "deliveryId");
  for (const [words, code] of [
    ["still under way", "CONNECTOR_DELIVERY_PENDING"],
    ["took this event already", "CONNECTOR_REPLAY_UNCONFIRMED"],
  ] as const) {
    const refused = await visitor.submit(form, { reason: code.toLowerCase() });
    expect([code, refused.status, refused.text.includes(words)]).toEqual([code, 409, true]);
    expect((await entriesOf(gone.id)).at(-1)).toBe(`operator.failed, webhook_delivery, ${code.toLowerCase()}, ${code}`);
    receiver.script(hook.path, status(200));
    await settled(hook, ({ id }) => id === repeat);
  }
  expect(await repeatsOf(hook, gone.id)).toHaveLength(1);
  receiver.script(hook.path, status(422));
  const again = memberOf(await replayAsOwner(repeat, true), "deliveryId");
  expect((await settled(hook, ({ id }) => id === again)).status).toBe("FAILED");
  expect((await sheetOf(hook)).text).not.toContain(again);
});

test.each([
  ["what a repeat has delivered", [422, 200]],
  ["what was taken at once", [200, 422]],
  ["what a repeat of a dead delivery has delivered, and another not", [422, 200, 422]],
] as const)("%s is known as taken as long as a dead delivery of it is there", async (_what, [first, ...answers]) => {
  const hook = hooks["the Connector's webhook"];
  const { action, fields } = await formFor(hook, (await dead(hook)).id);
  const one = await told(hook, first);
  let last = one.id;
  for (const answer of answers) {
    receiver.script(hook.path, status(answer));
    const repeat = memberOf(await replayAsOwner(last, true), "deliveryId");
    await settled(hook, ({ id }) => id === repeat);
    last = repeat;
  }
  const known = async (): Promise<readonly Row[]> =>
    (await deliveriesOf(hook)).filter(({ eventId }) => eventId === one.eventId);
  const age = (days: number, statuses: readonly string[]): PromiseLike<unknown> =>
    t.db.sql`update webhook_delivery set created_at = now() - ${days} * interval '1 day',
        settled_at = now() - ${days} * interval '1 day'
      where event_id = ${one.eventId} and status = any (${[...statuses]}::text[])`;
  const form = { action, fields: { ...fields, id: last } };
  for (const [days, statuses] of [
    [8, ["SUCCESS", "FAILED"]],
    [31, ["SUCCESS"]],
  ] as const) {
    await age(days, statuses);
    await t.db.sql`update connector_request set created_at = now() - interval '8 days'`;
    await pruneDeliveries(t.db.sql);
    expect(await known()).toHaveLength(1 + answers.length);
    expect((await sheetOf(hook)).text).not.toContain(last);
    expect((await visitor.submit(form, { reason: "once more" })).text).toContain("took this event already");
  }
  await age(31, ["FAILED"]);
  await pruneDeliveries(t.db.sql);
  await pruneDeliveries(t.db.sql);
  expect(await known()).toEqual([]);
});

test("tests of a receiver, and repeats of them, are no dead deliveries to an operator", async () => {
  const hook = hooks["the Connector's webhook"];
  receiver.script(hook.path, status(422));
  const made = memberOf(await connector("POST", "/webhook/test", { customerRef: BUYER }), "deliveryId");
  await settled(hook, ({ id }) => id === made);
  const repeat = memberOf(await replayAsOwner(made), "deliveryId");
  expect((await settled(hook, ({ id }) => id === repeat)).status).toBe("FAILED");
  const { text } = await sheetOf(hook);
  expect([text.includes(made), text.includes(repeat)]).toEqual([false, false]);
});
