/** Both stories of the demo through the types of openapi-typescript and the calls of openapi-fetch. */
import { randomUUID } from "node:crypto";
import createClient from "openapi-fetch";

import type { paths as Connector } from "../generated/openapi-fetch/connector.js";
import type { paths as Enterprise } from "../generated/openapi-fetch/enterprise.js";
import type { paths as Sapi } from "../generated/openapi-fetch/sapi.js";
import { baseUrl, BUYER, had, isOver, login, PARTICIPANTS, SELLER, SEND_BODY, staged, UBL, until } from "./invoice.mjs";

const enterprise = createClient<Enterprise>({ baseUrl });
const sapi = createClient<Sapi>({ baseUrl });
const bearer = (token: string) => ({ authorization: `Bearer ${token}` });

/** One integrator and two of its customers, in JSON. */
async function integrator() {
  const { access_token: token } = had(await enterprise.POST("/api/v1/auth/token", { body: login("INTEGRATOR") }));
  const connector = createClient<Connector>({ baseUrl, headers: bearer(token) });
  const at = (documentId: string, customerRef: string) => ({
    params: { path: { documentId }, query: { customerRef } },
  });

  const invoice = staged();
  const created = had(await connector.POST("/api/v1/connector/documents", { body: invoice }));
  const repeated = had(await connector.POST("/api/v1/connector/documents", { body: invoice }));
  const mine = at(created.id, SELLER);
  const sent = had(await connector.POST("/api/v1/connector/documents/{documentId}/send", mine));
  const ended = await until("delivery", async () => {
    const document = had(await connector.GET("/api/v1/connector/documents/{documentId}", mine));
    return isOver(document.state) ? document : undefined;
  });
  let cursor: string | undefined;
  const told = await until("the event of the delivery", async () => {
    const query = { customerRef: SELLER, ...(cursor === undefined ? {} : { cursor }) };
    const page = had(await connector.GET("/api/v1/connector/events", { params: { query } }));
    cursor = page.nextCursor;
    return page.events.find(({ type, documentId }) => type === "document.delivered" && documentId === created.id);
  });

  const received = await until("receipt", async () => {
    const query = { customerRef: BUYER, direction: "inbound" as const, limit: 100 };
    const page = had(await connector.GET("/api/v1/connector/documents", { params: { query } }));
    return page.documents.find(({ number }) => number === invoice.number);
  });
  const theirs = at(received.id, BUYER);
  const acknowledged = had(
    await connector.POST("/api/v1/connector/documents/{documentId}/acknowledge", {
      ...theirs,
      body: { reference: invoice.number },
    }),
  );
  const response = await connector.POST("/api/v1/connector/documents/{documentId}/respond", {
    ...theirs,
    body: { status: "accepted" },
  });
  const answered = await until("the answer", async () => {
    const document = had(await connector.GET("/api/v1/connector/documents/{documentId}", mine));
    return document.response ?? undefined;
  });

  const second = had(await connector.POST("/api/v1/connector/documents", { body: staged() }));
  const cancelled = had(await connector.POST("/api/v1/connector/documents/{documentId}/cancel", at(second.id, SELLER)));
  const refused = await connector.POST("/api/v1/connector/documents/{documentId}/cancel", mine);
  return {
    total: created.amounts.total,
    replayed: [created.replayed, repeated.replayed, sent.replayed],
    ended: ended.state,
    told: told.data.number === invoice.number,
    acknowledged: [acknowledged.state, acknowledged.reference === invoice.number],
    responded: had(response).response.direction,
    answered: answered.status,
    cancelled: cancelled.state,
    refused: refused.error?.error.code,
  };
}

/** Two firms with a key each, in UBL. */
async function firms() {
  const tokenOf = async (who: string) => had(await sapi.POST("/sapi/v1/auth/token", { body: login(who) })).access_token;
  const [sender, receiver] = [await tokenOf("SENDER"), await tokenOf("RECEIVER")];
  const sent = had(
    await sapi.POST("/sapi/v1/document/send", {
      headers: bearer(sender),
      params: { header: { "X-Peppol-Participant-Id": PARTICIPANTS.sender, "Idempotency-Key": randomUUID() } },
      body: SEND_BODY,
    }),
  );
  const ended = await until("delivery", async () => {
    const params = { path: { id: sent.providerDocumentId } };
    const record = had(await enterprise.GET("/api/v1/documents/{id}/status", { headers: bearer(sender), params }));
    return isOver(record.status) ? record : undefined;
  });
  const asReceiver = { headers: bearer(receiver) };
  const header = { "X-Peppol-Participant-Id": PARTICIPANTS.receiver };
  const received = await until("receipt", async () => {
    const page = had(
      await sapi.GET("/sapi/v1/document/receive", { ...asReceiver, params: { header, query: { limit: 100 } } }),
    );
    for (const { documentId } of page.documents) {
      const params = { header, path: { documentId } };
      const detail = had(await sapi.GET("/sapi/v1/document/receive/{documentId}", { ...asReceiver, params }));
      if (detail.payload === UBL) return detail;
    }
    return undefined;
  });
  const acknowledged = had(
    await sapi.POST("/sapi/v1/document/receive/{documentId}/acknowledge", {
      ...asReceiver,
      params: { header, path: { documentId: received.documentId } },
    }),
  );
  return { accepted: sent.status, ended: ended.status, acknowledged: acknowledged.status };
}

console.log(JSON.stringify({ integrator: await integrator(), firms: await firms() }));
