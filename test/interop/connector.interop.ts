/**
 * An integrator's whole round through the Connector with a recipient behind phase4: create, AS4, the delivery told by the
 * webhook, the buyer's answer in the document, and an answer of ours to what phase4 sends. What phase4 answers is written
 * here, for it has no words for it; test/integration/access-points/as4-two-engines-connector.test.ts has a Connector on either side.
 */
import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, expect, test } from "vitest";

import type { ParticipantId } from "../../engine/base/ids.js";
import {
  buildInvoiceResponse,
  INVOICE_RESPONSE_DOCUMENT_TYPE,
  INVOICE_RESPONSE_PROFILE,
} from "../../engine/peppol/responses/invoice-response.js";
import { connectorCalls, connectorInvoice, SELLER } from "../support/callers/connector.js";
import type { ConnectorCall } from "../support/callers/connector.js";
import { accessToken, invoiceXml } from "../support/engines/engine.js";
import { hear } from "../support/callers/connector-receiver.js";
import type { Hearing } from "../support/callers/connector-receiver.js";
import { eventually } from "../support/eventually.js";
import { invoiceResponseIn } from "../support/as4/responses.js";
import { payloadIn, startPair, THEIRS } from "./peers/pair.js";
import type { Pair } from "./peers/pair.js";

type Json = Readonly<Record<string, unknown>>;

let pair: Pair;
let call: ConnectorCall;
let hearing: Hearing;

beforeAll(async () => {
  pair = await startPair();
  const { sandbox } = pair.us;
  const token = await accessToken(sandbox, sandbox.integrator);
  call = connectorCalls(sandbox, token);
  hearing = await hear(sandbox, token, sandbox.sender.firmId);
});
afterAll(async () => {
  await pair.stop();
  await hearing.close();
});

const QUERY = `customerRef=${SELLER}`;
const detail = async (id: string): Promise<Json> => (await call("GET", `/documents/${id}?${QUERY}`)).json;

test("what the Connector creates is delivered to phase4, the signed webhook tells it, and the answer of phase4's customer is pushed and shown", async () => {
  const invoice = connectorInvoice("", {
    delivery: "stage",
    issueDate: "2026-11-20",
    recipient: { country: "SK", name: "Buyer", networkId: THEIRS },
  });
  const created = await call("POST", "/documents", invoice);
  expect(created.status, created.text).toBe(201);
  const id = String(created.json["id"]);
  expect((await call("POST", `/documents/${id}/send?${QUERY}`)).status).toBe(200);
  const { as4_message_id: messageId } = await pair.reaches(id, "delivered");
  const ubl = (await call("GET", `/documents/${id}/ubl?${QUERY}`)).text;
  expect((await pair.takenAs(messageId)).map(({ file }) => payloadIn(file))).toEqual([ubl]);
  expect(await hearing.told("document.delivered", id)).toMatchObject({
    customerRef: SELLER,
    state: "delivered",
    data: { direction: "outbound", type: "invoice", number: invoice["number"], response: null },
  });
  const { json: evidence } = await call("GET", `/documents/${id}/evidence?${QUERY}`);
  expect(evidence).toMatchObject({ documentId: id, as4MessageId: messageId, receipt: { sha256: expect.any(String) } });

  const response = buildInvoiceResponse({
    id: randomUUID(),
    issuedAt: Date.parse("2026-11-20T12:00:00Z"),
    code: "AP",
    note: undefined,
    sender: { participant: THEIRS as ParticipantId, name: "Buyer" },
    receiver: { participant: pair.firm.participantId as ParticipantId, name: "Seller" },
    invoice: { number: String(invoice["number"]), issueDate: "2026-11-20", typeCode: "380" },
  });
  const about = { doctype: INVOICE_RESPONSE_DOCUMENT_TYPE, process: INVOICE_RESPONSE_PROFILE };
  expect(await pair.theySend(response, about)).toMatchObject({ result: "SUCCESS", receipt: ["matches"] });
  expect(await hearing.answered(id)).toMatchObject({ data: { response_code: "AP", responder: "buyer" } });
  expect(await detail(id)).toMatchObject({
    state: "delivered",
    response: { status: "accepted", direction: "received" },
  });
  expect(hearing.types(id)).toEqual(["document.queued", "document.delivered"]);
});

test("what phase4 sends is listed, acknowledged and answered through the Connector, and phase4 has the answer", async () => {
  const number = `CR-${randomUUID()}`;
  await pair.theySend(invoiceXml(THEIRS, pair.firm.participantId, { number }));
  const received = await eventually("it is listed", async () => {
    const { json } = await call("GET", `/documents?${QUERY}&direction=inbound&limit=100`);
    return (json["documents"] as Json[]).find((each) => each["number"] === number);
  });
  const id = String(received["id"]);
  const acknowledged = await call("POST", `/documents/${id}/acknowledge?${QUERY}`, { reference: "erp-1" });
  expect(acknowledged.json).toMatchObject({ id, state: "processed", reference: "erp-1" });
  const answer = await call("POST", `/documents/${id}/respond?${QUERY}`, { status: "rejected", note: "Not ours." });
  expect([answer.status, answer.json["response"]]).toMatchObject([200, { status: "rejected", direction: "sent" }]);
  const taken = await eventually("phase4 has the answer", async () =>
    (await pair.phase4.inbox()).find(
      ({ doctype, file }) => doctype === INVOICE_RESPONSE_DOCUMENT_TYPE && payloadIn(file).includes(number),
    ),
  );
  expect(invoiceResponseIn(Buffer.from(payloadIn(taken.file)))).toMatchObject({
    code: "RE",
    sender: pair.firm.participantId,
    receiver: THEIRS,
    invoice: { number },
  });
  expect(await detail(id)).toMatchObject({ response: { status: "rejected", direction: "sent" } });
});
