/** What a client does with secrets and documents, each of them marked, in one go: done, told of, and refused. */
import { randomUUID } from "node:crypto";

import type { Sandbox } from "../../../engine/identity/sandbox.js";
import { WORDS } from "./canaries.js";
import { connectorCalls, connectorInvoice } from "../callers/connector.js";
import { accessToken, http, invoiceXml, send, sendParts } from "../engines/engine.js";
import type { HttpAnswer } from "../engines/engine.js";
import { eventually } from "../eventually.js";
import { api } from "../callers/partners.js";
import type { Receiver } from "../webhooks/receiver.js";

/** A document with every word that an invoice has a place for. */
export function markedInvoice({ sender, receiver }: Sandbox, number: string): string {
  return invoiceXml(sender.participantId, receiver.participantId, { number, lines: 97 })
    .replace("Thank you for your order.", WORDS.note)
    .replace("Purchasing 4100", WORDS.buyer)
    .replace(/<cac:OrderReference><cbc:ID>[^<]*/, `<cac:OrderReference><cbc:ID>${WORDS.order}`)
    .replace(
      /(<\/cac:OrderReference>)/,
      `$1<cac:BillingReference><cac:InvoiceDocumentReference><cbc:ID>${WORDS.preceding}</cbc:ID></cac:InvoiceDocumentReference></cac:BillingReference>`,
    );
}

/** The secrets of a story that are known when it has been told, and what was refused in it. */
export interface CanaryStory {
  readonly secrets: Readonly<Record<string, string>>;
  readonly refusals: Readonly<Record<string, HttpAnswer>>;
}

const WRONG = "CANARY-WRONG-SECRET-4730";
const FORGED = "CANARY-FORGED-TOKEN-4731";

/** Requests that are refused, each with something in it that nobody else may see. */
async function refused(sandbox: Sandbox, token: string): Promise<Readonly<Record<string, HttpAnswer>>> {
  const { sender, receiver, sapiBaseUrl, baseUrl, adminUrl } = sandbox;
  const mailbox = { participantId: sender.participantId, token };
  const parts = (xml: string): unknown => sendParts(sender.participantId, receiver.participantId, xml);
  const marked = markedInvoice(sandbox, WORDS.refused);
  const login = { grant_type: "client_credentials", client_id: sender.clientId, client_secret: WRONG };
  const json = { "content-type": "application/json" };
  const connector = connectorCalls(sandbox, await accessToken(sandbox, sandbox.integrator));
  const dic = receiver.participantId.replace(/^0245:/, "");
  return {
    "a login with a wrong secret": await http("POST", `${sapiBaseUrl}/auth/token`, json, JSON.stringify(login)),
    "a login in a body that breaks off": await http("POST", `${sapiBaseUrl}/auth/token`, json, `{"a":"${WRONG}`),
    "a forged token": await api({ sandbox }, FORGED, "GET /documents/outbox"),
    "a forged admin token": await http("GET", `${adminUrl}/admin/nodes`, { authorization: `Bearer ${FORGED}` }),
    "a document without its currency": await send(
      sandbox,
      mailbox,
      parts(marked.replace(/<cbc:DocumentCurrencyCode>.*?<\/cbc:DocumentCurrencyCode>/, "")),
    ),
    "a document that breaks off": await send(sandbox, mailbox, parts(marked.slice(0, -20))),
    "a document with another name as its amount": await send(
      sandbox,
      mailbox,
      parts(marked.replace(/(<cbc:PayableAmount[^>]*>)[^<]*/, `$1${WORDS.refused}`)),
    ),
    "a send in a body that breaks off": await http(
      "POST",
      `${sapiBaseUrl}/document/send`,
      { ...json, authorization: `Bearer ${token}`, "x-peppol-participant-id": mailbox.participantId },
      `{"payload":"${WORDS.refused}`,
    ),
    "an invoice of the Connector without a price": await connector(
      "POST",
      "/documents",
      connectorInvoice(dic, { number: WORDS.refused, lines: [{ description: WORDS.refused }] }),
    ),
    "a message that is none": await http(
      "POST",
      `${new URL(baseUrl).origin}/as4`,
      { "content-type": "application/soap+xml" },
      `<a>${WORDS.refused}</a>`,
    ),
  };
}

/**
 * Logs in, subscribes to events, sends a document over AS4 to a firm that answers it, sends one through the Connector,
 * and is refused in many ways.
 */
export async function tellCanaryStory(sandbox: Sandbox, hook: Receiver): Promise<CanaryStory> {
  const t = { sandbox };
  const [from, to] = [sandbox.sender.participantId, sandbox.receiver.participantId];
  const token = await accessToken(sandbox, sandbox.sender);
  const receiverToken = await accessToken(sandbox, sandbox.receiver);
  const subscription = await api(t, token, "POST /webhooks", { body: { url: `${hook.origin}/in` } });
  const integrator = await accessToken(sandbox, sandbox.integrator);
  const connector = connectorCalls(sandbox, integrator);

  const number = `${WORDS.number}-told`;
  const xml = markedInvoice(sandbox, number);
  const sent = await send(sandbox, { participantId: from, token }, sendParts(from, to, xml));
  const created = await connector(
    "POST",
    "/documents",
    connectorInvoice(to.replace(/^0245:/, ""), { externalId: randomUUID(), number: WORDS.staged }),
  );
  const failed = [subscription, sent, created].find(({ status }) => status >= 300);
  if (failed !== undefined) throw new Error(`the story has no beginning: ${failed.status} ${failed.text}`);
  const received = await eventually("the document is received", async () => {
    const { json } = await api(t, receiverToken, "GET /documents/inbox");
    const documents = (json["documents"] ?? []) as readonly Readonly<Record<"documentId" | "documentNumber", string>>[];
    return documents.find(({ documentNumber }) => documentNumber === number)?.documentId;
  });
  const body = { status: "UQ", note: WORDS.answer };
  const answered = await api(t, receiverToken, `POST /documents/${received}/respond`, { body });
  if (answered.status !== 200) throw new Error(`no answer: ${answered.status} ${answered.text}`);
  await eventually("the sender is told of the answer", () =>
    hook.calls.some(({ json }) => JSON.stringify(json).includes("document.response_received")),
  );
  return {
    secrets: {
      "secret of the sender": sandbox.sender.clientSecret,
      "secret of the receiver": sandbox.receiver.clientSecret,
      "secret of the integrator": sandbox.integrator.clientSecret,
      "token of the sender": token,
      "token of the receiver": receiverToken,
      "token of the integrator": integrator,
      "secret of the webhook": String(subscription.json["secret"]),
      "wrong secret": WRONG,
      "forged token": FORGED,
    },
    refusals: await refused(sandbox, token),
  };
}
