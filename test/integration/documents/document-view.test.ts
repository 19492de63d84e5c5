/** Documents to be read on a whole engine: the sender's and the receiver's page are drawn from the bytes that travelled. */
import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, expect, test } from "vitest";

import {
  accessToken,
  http,
  INVOICE_TYPE,
  invoiceXml,
  sendParts,
  startTestEngine,
} from "../../support/engines/engine.js";
import type { HttpAnswer, TestEngine } from "../../support/engines/engine.js";
import { eventually } from "../../support/eventually.js";

let running: TestEngine;
let sender: string;
let receiver: string;
let sentId: string;
let receivedId: string;

beforeAll(async () => {
  running = await startTestEngine();
  const { sandbox } = running;
  [sender, receiver] = await Promise.all([
    accessToken(sandbox, sandbox.sender),
    accessToken(sandbox, sandbox.receiver),
  ]);
  const [from, to] = [sandbox.sender.participantId, sandbox.receiver.participantId];
  const sent = await http(
    "POST",
    `${sandbox.sapiBaseUrl}/document/send`,
    {
      authorization: `Bearer ${sender}`,
      "x-peppol-participant-id": from,
      "idempotency-key": randomUUID(),
      "content-type": "application/json",
    },
    JSON.stringify(sendParts(from, to, invoiceXml(from, to), { documentTypeId: INVOICE_TYPE })),
  );
  expect([sent.status, sent.text]).toEqual([202, expect.any(String)]);
  sentId = String(sent.json["providerDocumentId"]);
  receivedId = await eventually("the document in the inbox", async () => {
    const list = await http("GET", `${sandbox.sapiBaseUrl}/document/receive`, {
      authorization: `Bearer ${receiver}`,
      "x-peppol-participant-id": to,
    });
    const [first] = (list.json["documents"] ?? []) as readonly { readonly documentId: string }[];
    return first?.documentId;
  });
});
afterAll(() => running.stop());

const page = (token: string, id: string, query = ""): Promise<HttpAnswer> =>
  http("GET", `${running.sandbox.baseUrl}/documents/${id}/html${query}`, { authorization: `Bearer ${token}` });

test("sender and receiver see the same invoice, each under the id of their own document", async () => {
  const [sent, received] = await Promise.all([page(sender, sentId), page(receiver, receivedId)]);
  expect([sent.status, received.status]).toEqual([200, 200]);
  expect(received.text).toBe(sent.text);
  expect(sent.text).toMatch(/<h1><span>Invoice<\/span>[^<]+<\/h1>/u);
  expect((await page(sender, sentId, "?lang=sk")).text).toContain("<span>Faktúra</span>");
});

test.each(["html", "pdf"])(
  "a received document that is only looked at as %s has been received through an API",
  async (form) => {
    const shownAt = async (): Promise<Date | null | undefined> =>
      (
        await running.db.sql<{ readonly at: Date | null }[]>`
        select api_received_at as at from received_document where id = ${receivedId}`
      )[0]?.at;
    const look = (token: string): Promise<HttpAnswer> =>
      http("GET", `${running.sandbox.baseUrl}/documents/${receivedId}/${form}`, { authorization: `Bearer ${token}` });
    await running.db.sql`update received_document set api_received_at = null where id = ${receivedId}`;
    expect([(await look(sender)).status, await shownAt()]).toEqual([404, null]);
    expect((await look(receiver)).status).toBe(200);
    const first = await shownAt();
    expect(first).toBeInstanceOf(Date);
    expect((await look(receiver)).status).toBe(200);
    expect(await shownAt()).toEqual(first);
  },
);

test("a firm that has given its participant away neither sees nor answers what it received", async () => {
  const { sql } = running.db;
  const [to, other] = [running.sandbox.receiver, running.sandbox.sender];
  const belongTo = (firmId: string) =>
    sql`update participant set firm_id = ${firmId} where key = ${to.participantId.toLowerCase()}`;
  const statuses = async (): Promise<readonly number[]> => {
    const asked = ["html", "pdf", "ubl"].map((form) =>
      http("GET", `${running.sandbox.baseUrl}/documents/${receivedId}/${form}`, {
        authorization: `Bearer ${receiver}`,
      }),
    );
    return (await Promise.all(asked)).map(({ status }) => status);
  };
  const respond = (): Promise<HttpAnswer> =>
    http(
      "POST",
      `${running.sandbox.baseUrl}/documents/${receivedId}/respond`,
      { authorization: `Bearer ${receiver}`, "content-type": "application/json" },
      JSON.stringify({ status: "AP" }),
    );
  await belongTo(other.firmId);
  try {
    expect(await statuses()).toEqual([404, 404, 404]);
    // An answer would be in the name of a participant that is somebody else's by now.
    expect((await respond()).status).toBe(404);
  } finally {
    await belongTo(to.firmId);
  }
  expect(await statuses()).toEqual([200, 200, 200]);
  expect((await respond()).status).toBe(200);
});

test("both have the same file as PDF", async () => {
  const pdf = (token: string, id: string): Promise<HttpAnswer> =>
    http("GET", `${running.sandbox.baseUrl}/documents/${id}/pdf`, { authorization: `Bearer ${token}` });
  const [sent, received, foreign] = await Promise.all([
    pdf(sender, sentId),
    pdf(receiver, receivedId),
    pdf(sender, receivedId),
  ]);
  expect([sent.status, received.status, foreign.status]).toEqual([200, 200, 404]);
  expect(sent.headers.get("content-type")).toBe("application/pdf");
  expect(received.text).toBe(sent.text);
  expect(sent.text.startsWith("%PDF-1.7")).toBe(true);
});

test("a firm sees neither the other firm's document nor one that is not there", async () => {
  const answers = await Promise.all([page(receiver, sentId), page(sender, receivedId), page(sender, randomUUID())]);
  expect(answers.map(({ status }) => status)).toEqual([404, 404, 404]);
  const bodies = answers.map(({ text, json }) =>
    text.replaceAll(String((json["error"] as { readonly requestId?: string }).requestId), ""),
  );
  expect(new Set(bodies).size).toBe(1);
});

test("the page of a document that is not stored is drawn by a worker for anybody", async () => {
  const { sender: from, receiver: to } = running.sandbox;
  const xml = invoiceXml(from.participantId, to.participantId);
  const drawn = await http(
    "POST",
    `${running.engine.publicUrl}/validate/view?lang=sk`,
    { "content-type": "application/xml" },
    xml,
  );
  expect([drawn.status, drawn.headers.get("content-language")]).toEqual([200, "sk"]);
  const refused = await http(
    "POST",
    `${running.engine.publicUrl}/validate/view`,
    { "content-type": "application/xml" },
    "<a/>",
  );
  expect([refused.status, refused.text]).toEqual([422, expect.stringContaining("UBL-ROOT")]);
});
