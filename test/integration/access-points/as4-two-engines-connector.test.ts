/**
 * The Connector's round between two access points, without a look at a list: one integrator stages and sends, the other is
 * told by its webhook, acknowledges and answers, and the sender is told that it was delivered and what was answered.
 */
import { afterAll, beforeAll, expect, test } from "vitest";

import { buildIfNeeded } from "../../../deploy/build.mjs";
import { BUYER, connectorCalls, connectorInvoice, SELLER } from "../../support/callers/connector.js";
import type { ConnectorCall } from "../../support/callers/connector.js";
import { hear } from "../../support/callers/connector-receiver.js";
import type { Hearing } from "../../support/callers/connector-receiver.js";
import { accessToken } from "../../support/engines/engine.js";
import { settled, startSide } from "../../support/engines/side.js";
import type { Side } from "../../support/engines/side.js";
import { prepareTwo } from "../../support/engines/two-engines.js";
import type { Firm, TwoHomes } from "../../support/engines/two-engines.js";

type Json = Readonly<Record<string, unknown>>;

let homes: TwoHomes;
let a: Side;
let b: Side;
let seller: ConnectorCall;
let buyer: ConnectorCall;
let heardByA: Hearing;
let heardByB: Hearing;

beforeAll(async () => {
  await buildIfNeeded();
  homes = await prepareTwo();
  [a, b] = await Promise.all([startSide(homes.a), startSide(homes.b)]);
  const of = async ({ sandbox }: Side, firm: Firm): Promise<[ConnectorCall, Hearing]> => {
    const token = await accessToken(sandbox, sandbox.integrator);
    return [connectorCalls(sandbox, token), await hear(sandbox, token, sandbox[firm].firmId)];
  };
  [[seller, heardByA], [buyer, heardByB]] = await Promise.all([of(a, "sender"), of(b, "receiver")]);
});
afterAll(async () => {
  await Promise.all([a.kill(), b.kill(), heardByA.close(), heardByB.close()]);
  await homes.remove();
});

test("staged and sent here, received, acknowledged and answered there: webhooks tell each side, the answer stands in the document", async () => {
  const dic = b.sandbox.receiver.participantId.replace(/^0245:/, "");
  const invoice = connectorInvoice(dic, { delivery: "stage" });
  const created = await seller("POST", "/documents", invoice);
  expect(created.status, created.text).toBe(201);
  const mine = String(created.json["id"]);
  expect((await seller("POST", `/documents/${mine}/send?customerRef=${SELLER}`)).status).toBe(200);

  const { documentId: theirs } = await heardByB.received(String(invoice["number"]));
  const at = (step = ""): string => `/documents/${String(theirs)}${step}?customerRef=${BUYER}`;
  expect((await buyer("GET", at())).json).toMatchObject({
    state: "received",
    number: invoice["number"],
    amounts: created.json["amounts"] as Json,
  });
  expect((await buyer("POST", at("/acknowledge"))).json).toMatchObject({ state: "processed" });
  expect(await heardByA.told("document.delivered", mine)).toMatchObject({ customerRef: SELLER, state: "delivered" });

  const answer = await buyer("POST", at("/respond"), { status: "conditionally_accepted", note: "Less 2 %." });
  expect(answer.status, answer.text).toBe(200);
  expect(await heardByA.answered(mine)).toMatchObject({ data: { response_code: "CA", response_reason: "Less 2 %." } });
  expect((await seller("GET", `/documents/${mine}?customerRef=${SELLER}`)).json).toMatchObject({
    state: "delivered",
    response: { status: "conditionally_accepted", direction: "received", reason: "Less 2 %." },
  });
  await settled(a, b);
  expect(heardByA.types(mine)).toEqual(["document.queued", "document.delivered"]);
  const { json } = await seller("GET", `/events?customerRef=${SELLER}&limit=100`);
  const told = (json["events"] as Json[]).filter(({ documentId }) => documentId === mine);
  expect(told.map(({ type }) => type)).toEqual(heardByA.types(mine));
});
