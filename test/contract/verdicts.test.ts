/** What a firm and an operator see of a received document, over HTTP. @source spec/sapi.md, Endpoints, receive; design/interface.md, Admin JSON */
import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, expect, test } from "vitest";

import { systemClock } from "../../engine/base/clock.js";
import { createInbound } from "../../engine/documents/inbound/receive.js";
import { provider } from "../../engine/documents/provider.js";
import type { ParticipantId } from "../../engine/base/ids.js";
import { createMetrics } from "../../engine/base/metrics.js";
import { BILLING_PROCESS } from "../../engine/peppol/envelope/identifiers.js";
import type { Receive } from "../../engine/peppol/transport.js";
import { createSealer } from "../../engine/storage/sealer.js";
import { accessToken, http, invoiceXml, INVOICE_TYPE, sapi, startTestEngine } from "../support/engine.js";
import type { HttpAnswer, Mailbox, TestEngine } from "../support/engine.js";
import { eventually } from "../support/eventually.js";

const SELLER = "0245:7777777777" as ParticipantId;
let t: TestEngine;
let receiver: Mailbox;
let receive: Receive;

beforeAll(async () => {
  t = await startTestEngine();
  receiver = {
    participantId: t.sandbox.receiver.participantId,
    token: await accessToken(t.sandbox, t.sandbox.receiver),
  };
  // Another node of the same deployment, which stores what another provider hands over.
  receive = createInbound({
    sql: t.db.sql,
    sealer: createSealer([Buffer.alloc(32, 7)]),
    clock: systemClock,
    metrics: createMetrics(),
    provider: provider("PSK000000", "SK"),
    poke: () => undefined,
  });
});
afterAll(() => t.stop());

const arrives = async (payload: string): Promise<string> => {
  const outcome = await receive({
    sender: SELLER,
    receiver: receiver.participantId as ParticipantId,
    documentTypeId: INVOICE_TYPE,
    processId: BILLING_PROCESS,
    as4MessageId: `${randomUUID()}@peer`,
    sbdhInstanceId: randomUUID(),
    createdAt: systemClock.now(),
    payload: Buffer.from(payload),
    envelope: { mls: { type: "FAILURE_ONLY", to: undefined }, countryC1: "AT", peerSeat: "POP000777" },
  });
  if (outcome.kind !== "stored") throw new Error(outcome.kind);
  return outcome.id;
};
const good = (): string => invoiceXml(SELLER, receiver.participantId);
const bad = (): string => good().replace(/<cbc:PayableAmount([^>]*)>[^<]*</u, "<cbc:PayableAmount$1>1.00<");
const admin = (query: string): Promise<HttpAnswer> =>
  http("GET", `${t.sandbox.adminUrl}/admin/documents${query}`, { authorization: `Bearer ${t.sandbox.admin.token}` });
const idsOf = (answer: HttpAnswer): string[] =>
  (answer.json["documents"] as { id?: string; documentId?: string }[]).map(
    ({ id, documentId }) => id ?? documentId ?? "",
  );
const judged = (id: string): Promise<unknown> =>
  eventually("the document is judged", async () => {
    const { json } = await admin(`/${id}`);
    return json["status"] !== "HELD" && json["status"];
  });

test("a document that breaks the rules is in no list of its firm, cannot be read or acknowledged, and its ids are as unknown ones", async () => {
  const [refused, shown] = [await arrives(bad()), await arrives(good())];
  expect([await judged(refused), await judged(shown)]).toEqual(["REFUSED", "RECEIVED"]);
  for (const status of ["RECEIVED", "ACKNOWLEDGED"]) {
    expect(
      idsOf(await sapi(t.sandbox, receiver, "GET", `/document/receive?limit=100&status=${status}`)).includes(shown),
    ).toBe(status === "RECEIVED");
    expect(idsOf(await sapi(t.sandbox, receiver, "GET", `/document/receive?limit=100&status=${status}`))).not.toContain(
      refused,
    );
  }
  const unknown = randomUUID();
  for (const [method, path] of [
    ["GET", ""],
    ["POST", "/acknowledge"],
  ] as const) {
    const [answer, expected] = [
      await sapi(t.sandbox, receiver, method, `/document/receive/${refused}${path}`),
      await sapi(t.sandbox, receiver, method, `/document/receive/${unknown}${path}`),
    ];
    expect(answer.status).toBe(404);
    expect({ ...(answer.json["error"] as object), correlation_id: "", requestId: "" }).toEqual({
      ...(expected.json["error"] as object),
      correlation_id: "",
      requestId: "",
    });
  }
  for (const status of ["HELD", "REFUSED"])
    expect((await sapi(t.sandbox, receiver, "GET", `/document/receive?status=${status}`)).status).toBe(400);
});

test("operators list received documents by direction and by each status, and see why one was refused", async () => {
  const [refused, shown] = [await arrives(bad()), await arrives(good())];
  await Promise.all([judged(refused), judged(shown)]);
  expect(idsOf(await admin("?direction=received"))).toEqual(expect.arrayContaining([refused, shown]));
  expect(idsOf(await admin(`?status=REFUSED&participant=${SELLER}`))).toEqual(expect.arrayContaining([refused]));
  expect(idsOf(await admin("?status=REFUSED"))).not.toContain(shown);
  expect(idsOf(await admin(""))).not.toContain(shown);
  expect((await admin("?direction=sent&status=REFUSED")).status).toBe(400);
  const { json } = await admin(`/${refused}`);
  expect(json).toMatchObject({
    id: refused,
    direction: "received",
    status: "REFUSED",
    sender: SELLER,
    acknowledgedAt: null,
  });
  expect(json["findings"]).toContainEqual(expect.objectContaining({ ruleId: "BR-CO-16", severity: "fatal" }));
  expect((await admin(`/${shown}`)).json).toMatchObject({ status: "RECEIVED", findings: null });
  expect((await admin(`/${randomUUID()}`)).status).toBe(404);
});

test("a list that is asked for while a document is judged waits a moment for it", async () => {
  const id = await arrives(good());
  const list = sapi(t.sandbox, receiver, "GET", "/document/receive?limit=100");
  // Two answers of the same server later the list has looked, and found the document held.
  await admin("?direction=received");
  await admin(`/${id}`);
  await t.db.sql`update received_document set status = 'RECEIVED' where id = ${id} and status = 'HELD'`;
  expect(idsOf(await list)).toContain(id);
});
