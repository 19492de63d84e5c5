/**
 * The Connector's round between two access points: one integrator stages and sends, the other receives, acknowledges
 * and answers, and the sender reads the answer in its document.
 */
import { afterAll, beforeAll, expect, test } from "vitest";

import { buildIfNeeded } from "../../deploy/build.mjs";
import { BUYER, connectorCalls, connectorInvoice, SELLER } from "../support/connector.js";
import type { ConnectorCall } from "../support/connector.js";
import { accessToken } from "../support/engine.js";
import { eventually } from "../support/eventually.js";
import { settled, startSide } from "../support/side.js";
import type { Side } from "../support/side.js";
import { prepareTwo } from "../support/two-engines.js";
import type { TwoHomes } from "../support/two-engines.js";

type Json = Readonly<Record<string, unknown>>;

let homes: TwoHomes;
let a: Side;
let b: Side;
let seller: ConnectorCall;
let buyer: ConnectorCall;

beforeAll(async () => {
  await buildIfNeeded();
  homes = await prepareTwo();
  [a, b] = await Promise.all([startSide(homes.a), startSide(homes.b)]);
  const of = async ({ sandbox }: Side): Promise<ConnectorCall> =>
    connectorCalls(sandbox, await accessToken(sandbox, sandbox.integrator));
  [seller, buyer] = await Promise.all([of(a), of(b)]);
}, 120_000);
afterAll(async () => {
  await Promise.all([a.kill(), b.kill()]);
  await homes.remove();
});

test("staged and sent here, received, acknowledged and answered there: the answer stands in the sender's document", async () => {
  const dic = b.sandbox.receiver.participantId.replace(/^0245:/, "");
  const invoice = connectorInvoice(dic, { delivery: "stage" });
  const created = await seller("POST", "/documents", invoice);
  expect(created.status, created.text).toBe(201);
  const mine = `/documents/${String(created.json["id"])}`;
  const received = async (): Promise<Json | undefined> => {
    const { json } = await buyer("GET", `/documents?customerRef=${BUYER}&direction=inbound&limit=100`);
    return (json["documents"] as Json[]).find(({ number }) => number === invoice["number"]);
  };
  expect(await received()).toBeUndefined();

  expect((await seller("POST", `${mine}/send?customerRef=${SELLER}`)).status).toBe(200);
  const theirs = await eventually("it is received", received);
  expect(theirs).toMatchObject({ state: "received", amounts: created.json["amounts"] as Json });
  const at = (step: string): string => `/documents/${String(theirs["id"])}/${step}?customerRef=${BUYER}`;
  expect((await buyer("POST", at("acknowledge"))).json).toMatchObject({ state: "processed" });
  const answer = await buyer("POST", at("respond"), { status: "conditionally_accepted", note: "Less 2 %." });
  expect(answer.status, answer.text).toBe(200);
  await settled(a, b);
  expect((await seller("GET", `${mine}?customerRef=${SELLER}`)).json).toMatchObject({
    state: "delivered",
    response: { status: "conditionally_accepted", direction: "received", reason: "Less 2 %." },
  });
  const { json } = await seller("GET", `/events?customerRef=${SELLER}&limit=100`);
  const told = (json["events"] as Json[]).filter(({ documentId }) => documentId === created.json["id"]);
  expect(told.map(({ type }) => type)).toEqual(["document.queued", "document.delivered"]);
});
