/** Both stories of the demo through the clients that @hey-api/openapi-ts writes. */
import { randomUUID } from "node:crypto";

import { client as connectorClient } from "../generated/hey-api/connector/client.gen.js";
import * as connector from "../generated/hey-api/connector/sdk.gen.js";
import { client as enterpriseClient } from "../generated/hey-api/enterprise/client.gen.js";
import * as enterprise from "../generated/hey-api/enterprise/sdk.gen.js";
import { client as sapiClient } from "../generated/hey-api/sapi/client.gen.js";
import * as sapi from "../generated/hey-api/sapi/sdk.gen.js";
import { baseUrl, BUYER, had, isOver, login, PARTICIPANTS, SELLER, SEND_BODY, staged, UBL, until } from "./invoice.mjs";

enterpriseClient.setConfig({ baseUrl });
sapiClient.setConfig({ baseUrl });

/** One integrator and two of its customers, in JSON. */
async function integrator() {
  const { access_token: auth } = had(await enterprise.authToken({ body: login("INTEGRATOR") }));
  connectorClient.setConfig({ baseUrl, auth });
  const at = (documentId: string, customerRef: string) => ({ path: { documentId }, query: { customerRef } });

  const invoice = staged();
  const created = had(await connector.connectorCreateDocument({ body: invoice }));
  const repeated = had(await connector.connectorCreateDocument({ body: invoice }));
  const mine = at(created.id, SELLER);
  const sent = had(await connector.connectorSendDocument(mine));
  const ended = await until("delivery", async () => {
    const document = had(await connector.connectorGetDocument(mine));
    return isOver(document.state) ? document : undefined;
  });
  let cursor: string | undefined;
  const told = await until("the event of the delivery", async () => {
    const query = { customerRef: SELLER, ...(cursor === undefined ? {} : { cursor }) };
    const page = had(await connector.connectorListEvents({ query }));
    cursor = page.nextCursor;
    return page.events.find(({ type, documentId }) => type === "document.delivered" && documentId === created.id);
  });

  const received = await until("receipt", async () => {
    const query = { customerRef: BUYER, direction: "inbound" as const, limit: 100 };
    const page = had(await connector.connectorListDocuments({ query }));
    return page.documents.find(({ number }) => number === invoice.number);
  });
  const theirs = at(received.id, BUYER);
  const acknowledged = had(await connector.connectorAcknowledge({ ...theirs, body: { reference: invoice.number } }));
  const responded = had(await connector.connectorRespond({ ...theirs, body: { status: "accepted" } }));
  const answered = await until("the answer", async () => {
    const document = had(await connector.connectorGetDocument(mine));
    return document.response ?? undefined;
  });

  const second = had(await connector.connectorCreateDocument({ body: staged() }));
  const cancelled = had(await connector.connectorCancelDocument(at(second.id, SELLER)));
  const refused = await connector.connectorCancelDocument(mine);
  return {
    total: created.amounts.total,
    replayed: [created.replayed, repeated.replayed, sent.replayed],
    ended: ended.state,
    told: told.data.number === invoice.number,
    acknowledged: [acknowledged.state, acknowledged.reference === invoice.number],
    responded: responded.response.direction,
    answered: answered.status,
    cancelled: cancelled.state,
    refused: refused.error?.error.code,
  };
}

/** Two firms with a key each, in UBL. */
async function firms() {
  const tokenOf = async (who: string) => had(await sapi.sapiToken({ body: login(who) })).access_token;
  const [sender, receiver] = [await tokenOf("SENDER"), await tokenOf("RECEIVER")];
  const sent = had(
    await sapi.sapiSend({
      auth: sender,
      headers: { "X-Peppol-Participant-Id": PARTICIPANTS.sender, "Idempotency-Key": randomUUID() },
      body: SEND_BODY,
    }),
  );
  const ended = await until("delivery", async () => {
    const record = had(await enterprise.getDocumentStatus({ auth: sender, path: { id: sent.providerDocumentId } }));
    return isOver(record.status) ? record : undefined;
  });
  const asReceiver = { auth: receiver, headers: { "X-Peppol-Participant-Id": PARTICIPANTS.receiver } };
  const received = await until("receipt", async () => {
    const page = had(await sapi.sapiReceiveList({ ...asReceiver, query: { limit: 100 } }));
    for (const { documentId } of page.documents) {
      const detail = had(await sapi.sapiReceiveDetail({ ...asReceiver, path: { documentId } }));
      if (detail.payload === UBL) return detail;
    }
    return undefined;
  });
  const acknowledged = had(await sapi.sapiAcknowledge({ ...asReceiver, path: { documentId: received.documentId } }));
  return { accepted: sent.status, ended: ended.status, acknowledged: acknowledged.status };
}

console.log(JSON.stringify({ integrator: await integrator(), firms: await firms() }));
