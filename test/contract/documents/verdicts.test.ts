/** What a firm and an operator see of a received document, over HTTP. @source spec/sapi.md, Endpoints, receive; design/interface.md, Admin JSON */
import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "vitest";

import { systemClock } from "../../../engine/base/clock.js";
import { inboundAtOnce } from "../../support/as4/inbound.js";
import { provider } from "../../../engine/documents/provider.js";
import type { ParticipantId } from "../../../engine/base/ids.js";
import { silentLog } from "../../../engine/base/log.js";
import { createMetrics } from "../../../engine/base/metrics.js";
import { BILLING_PROCESS } from "../../../engine/peppol/envelope/identifiers.js";
import type { Receive } from "../../../engine/peppol/transport.js";
import { createSealer } from "../../../engine/storage/sealer.js";
import {
  accessToken,
  http,
  invoiceXml,
  INVOICE_TYPE,
  sapi,
  send,
  sendParts,
  startTestEngine,
} from "../../support/engines/engine.js";
import type { HttpAnswer, Mailbox, TestEngine } from "../../support/engines/engine.js";
import { eventually } from "../../support/eventually.js";
import { seedFirm } from "../../support/database/seed.js";

const SELLER = "0245:7777777777" as ParticipantId;
const LATER = "0245:7878787878" as ParticipantId;
const OWN_SEAT = "PSK000000";
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
  receive = inboundAtOnce(nodePorts());
});
afterAll(() => t.stop());

const metrics = createMetrics();
const nodePorts = (): Parameters<typeof inboundAtOnce>[0] => ({
  sql: t.db.sql,
  sealer: createSealer([Buffer.alloc(32, 7)]),
  clock: systemClock,
  metrics,
  log: silentLog,
  provider: provider(OWN_SEAT, "SK"),
  poke: () => undefined,
});

const arrives = async (payload: string, sender = SELLER, peerSeat = "POP000777"): Promise<string> => {
  const outcome = await receive({
    sender,
    receiver: receiver.participantId as ParticipantId,
    documentTypeId: INVOICE_TYPE,
    processId: BILLING_PROCESS,
    as4MessageId: `${randomUUID()}@peer`,
    sbdhInstanceId: randomUUID(),
    createdAt: systemClock.now(),
    payload: Buffer.from(payload),
    envelope: { mls: { type: "FAILURE_ONLY", to: undefined }, countryC1: "AT", peerSeat },
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

describe("POST /admin/documents/{id}/release", () => {
  const post = (id: string, headers: Record<string, string> = {}): Promise<HttpAnswer> =>
    http("POST", `${t.sandbox.adminUrl}/admin/documents/${id}/release`, {
      authorization: `Bearer ${t.sandbox.admin.token}`,
      ...headers,
    });
  const seen = async (id: string): Promise<boolean> =>
    (await sapi(t.sandbox, receiver, "GET", `/document/receive/${id}`)).status === 200;
  /** Arrives from a seat that can be told nothing, so that nobody judges it, and is held all the same. */
  const held = async (): Promise<string> => {
    const id = await arrives(bad(), SELLER, "no seat");
    await t.db.sql`update received_document set status = 'HELD' where id = ${id}`;
    return id;
  };

  test("a held document that an operator releases is in its firm's inbox, can be acknowledged, and is not held a second time", async () => {
    const id = await held();
    expect(idsOf(await admin("?status=HELD"))).toContain(id);
    expect(await seen(id)).toBe(false);
    const answer = await post(id);
    expect([answer.status, answer.json]).toEqual([200, { id, status: "RECEIVED" }]);
    expect(idsOf(await admin("?status=HELD"))).not.toContain(id);
    expect(await seen(id)).toBe(true);
    expect(idsOf(await sapi(t.sandbox, receiver, "GET", "/document/receive?limit=100"))).toContain(id);
    expect((await post(id)).status).toBe(404);
    expect((await sapi(t.sandbox, receiver, "POST", `/document/receive/${id}/acknowledge`)).status).toBe(200);
    expect((await admin(`/${id}`)).json).toMatchObject({ status: "ACKNOWLEDGED", findings: null });
  });

  test("a release of what is not held is 404 with the body of an unknown id, and changes nothing: received, refused, sent, unknown, no id", async () => {
    const [refused, shown] = [await arrives(bad()), await arrives(good())];
    await Promise.all([judged(refused), judged(shown)]);
    const sent = await send(
      t.sandbox,
      { participantId: t.sandbox.sender.participantId, token: await accessToken(t.sandbox, t.sandbox.sender) },
      sendParts(
        t.sandbox.sender.participantId,
        receiver.participantId,
        invoiceXml(t.sandbox.sender.participantId, receiver.participantId),
      ),
    );
    expect(sent.status).toBe(202);
    const anonymous = ({ status, json }: HttpAnswer): unknown => [
      status,
      { ...(json["error"] as object), correlation_id: "", requestId: "" },
    ];
    const expected = anonymous(await post(randomUUID()));
    expect(expected).toMatchObject([404, { code: "NOT_FOUND" }]);
    for (const id of [refused, shown, String(sent.json["providerDocumentId"]), "42"])
      expect(anonymous(await post(id))).toEqual(expected);
    expect([(await admin(`/${refused}`)).json["status"], (await admin(`/${shown}`)).json["status"]]).toEqual([
      "REFUSED",
      "RECEIVED",
    ]);
  });

  test("a release without the operators' token, or with a firm's, is 401, and the document stays held", async () => {
    const id = await held();
    for (const authorization of ["", "Bearer x", `Bearer ${receiver.token}`])
      expect((await post(id, { authorization })).status).toBe(401);
    expect((await admin(`/${id}`)).json["status"]).toBe("HELD");
    expect(await seen(id)).toBe(false);
  });
});

describe("rulings §14: a foreign access point signs for one of our participants as sender", () => {
  const ours = (): ParticipantId => t.sandbox.sender.participantId as ParticipantId;
  const counted = async (): Promise<number> => {
    const line = (await metrics.exposition())
      .split("\n")
      .find((text) => text.startsWith('kurier_signed_elsewhere_total{kind="business"}'));
    return Number(line?.split(" ").at(-1) ?? 0);
  };

  test("the document is taken like any other, counted, and shown to operators with the seat that signed it", async () => {
    const before = await counted();
    const id = await arrives(invoiceXml(ours(), receiver.participantId), ours());
    expect(await judged(id)).toBe("RECEIVED");
    expect(await counted()).toBe(before + 1);
    const told = { peerSeat: "POP000777", signedElsewhere: true };
    expect((await admin(`/${id}`)).json).toMatchObject(told);
    const { json } = await admin("?direction=received");
    expect(json["documents"]).toContainEqual(expect.objectContaining({ id, ...told }));
  });

  test("a document that our own access point signs for a participant of ours counts for nothing, and operators are told nothing of it", async () => {
    const before = await counted();
    const id = await arrives(invoiceXml(ours(), receiver.participantId), ours(), OWN_SEAT);
    expect(await judged(id)).toBe("RECEIVED");
    expect(await counted()).toBe(before);
    expect((await admin(`/${id}`)).json).toMatchObject({ peerSeat: OWN_SEAT, signedElsewhere: false });
  });

  test("a document of a participant that is not ours counts for nothing, and operators see its seat all the same", async () => {
    const before = await counted();
    const id = await arrives(good());
    expect(await counted()).toBe(before);
    expect((await admin(`/${id}`)).json).toMatchObject({ peerSeat: "POP000777", signedElsewhere: false });
  });

  test("a participant that comes to us later makes nothing of what others sent for it before", async () => {
    const id = await arrives(invoiceXml(LATER, receiver.participantId), LATER);
    await seedFirm(t.db.sql, LATER);
    expect((await admin(`/${id}`)).json).toMatchObject({ signedElsewhere: false });
  });
});
