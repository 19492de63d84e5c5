/**
 * The sandbox's participants with a fate, on a whole engine: what a sender sees of each, over AS4 there and back, with the
 * evidence of what was exchanged; and documents that come to a firm from outside.
 */
import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, expect, test } from "vitest";

import { systemClock } from "../../../engine/base/clock.js";
import { LIMITS } from "../../../engine/base/limits.js";
import type { ParticipantId } from "../../../engine/base/ids.js";
import { FATES } from "../../../engine/sandbox/fates.js";
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
import { freshDatabase } from "../../support/database/postgres.js";

let running: TestEngine;
let sender: string;
let receiver: string;
/** How far the engine's clock is ahead of the machine's. */
let ahead_ms = 0;

beforeAll(async () => {
  running = await startTestEngine({
    transport: "as4",
    clock: { now: () => systemClock.now() + ahead_ms, monotonic: () => systemClock.monotonic() + ahead_ms },
  });
  const { sandbox } = running;
  [sender, receiver] = await Promise.all([
    accessToken(sandbox, sandbox.sender),
    accessToken(sandbox, sandbox.receiver),
  ]);
});
afterAll(() => running.stop());

const idOf = (name: string): ParticipantId => {
  const [id] = [...FATES].find(([, fate]) => fate.name === name) ?? [];
  if (id === undefined) throw new Error(`no fate ${name}`);
  return id;
};
const send = (fate: string): Promise<HttpAnswer> => {
  const from = running.sandbox.sender.participantId;
  const to = idOf(fate);
  return http(
    "POST",
    `${running.sandbox.sapiBaseUrl}/document/send`,
    {
      authorization: `Bearer ${sender}`,
      "x-peppol-participant-id": from,
      "idempotency-key": randomUUID(),
      "content-type": "application/json",
    },
    JSON.stringify(sendParts(from, to, invoiceXml(from, to), { documentTypeId: INVOICE_TYPE })),
  );
};
/** @returns the id of the accepted document */
const accepted = async (fate: string): Promise<string> => {
  const sent = await send(fate);
  expect([fate, sent.status, sent.text]).toEqual([fate, 202, expect.any(String)]);
  return String(sent.json["providerDocumentId"]);
};
const read = (path: string): Promise<HttpAnswer> =>
  http("GET", `${running.sandbox.baseUrl}/documents/${path}`, { authorization: `Bearer ${sender}` });
/**
 * The document when a row of the database says that it is so far. Asking the API again and again would use up what a
 * client may ask in a minute, and the rest of the minute would be waited for.
 */
const when = async (id: string, what: string, rows: () => Promise<readonly unknown[]>): Promise<HttpAnswer> => {
  await eventually(`${id} is ${what}`, async () => (await rows()).length > 0);
  return read(`${id}/status`);
};
const reaches = (id: string, status: string): Promise<HttpAnswer> =>
  when(id, status, () => running.db.sql`select 1 from document where id = ${id} and status = ${status}`);
/** What operators see of the attempts when one has ended so. */
const tried = async (id: string, outcome: string): Promise<readonly { readonly outcome: string | null }[]> => {
  const attempts = (): Promise<readonly unknown[]> =>
    running.db.sql`select 1 from document_attempt where document_id = ${id} and outcome = ${outcome}`;
  await eventually(`an attempt of ${id} ends as ${outcome}`, async () => (await attempts()).length > 0);
  const { json } = await http("GET", `${running.engine.adminUrl}/admin/documents/${id}`, {
    authorization: `Bearer ${running.sandbox.admin.token}`,
  });
  return json["attemptList"] as readonly { readonly outcome: string | null }[];
};
const admin = (method: string, path: string, body?: unknown): Promise<HttpAnswer> =>
  http(
    method,
    `${running.engine.adminUrl}/admin/sandbox/${path}`,
    {
      authorization: `Bearer ${running.sandbox.admin.token}`,
      ...(body === undefined ? {} : { "content-type": "application/json" }),
    },
    body === undefined ? undefined : JSON.stringify(body),
  );

test("operators and the reference list every participant with what becomes of a document", async () => {
  const { json } = await admin("GET", "participants");
  expect(json["participants"]).toEqual(
    [...FATES].map(([participantId, { name, description }]) => ({ participantId, fate: name, description })),
  );
  const reference = await (await fetch(`${running.engine.publicUrl}/docs`)).text();
  for (const id of FATES.keys()) expect(reference).toContain(id);
});

// spec/rulings.md, section 13: routingStatus certificate_expired, process_not_supported, … on every surface
test("a preflight and a look-up say the same of every participant", async () => {
  const from = running.sandbox.sender.participantId;
  const asked = (method: string, path: string, body?: unknown): Promise<HttpAnswer> =>
    http(
      method,
      `${running.sandbox.baseUrl}${path}`,
      { authorization: `Bearer ${sender}`, ...(body === undefined ? {} : { "content-type": "application/json" }) },
      body === undefined ? undefined : JSON.stringify(body),
    );
  for (const [id, { name }] of FATES) {
    const looked = await asked("GET", `/peppol/participants/${id.replace(":", "/")}`);
    const { found, accepts, routingStatus } = looked.json;
    const body = { receiverPeppolId: id, xml: invoiceXml(from, id) };
    const preflight = await asked("POST", "/documents/preflight", body);
    expect([name, preflight.json["recipient"]]).toEqual([name, { found, accepts, routingStatus }]);
  }
});

test("`delivered at once`: the receipt is of another access point, and its evidence is kept", async () => {
  const id = await accepted("delivered");
  await reaches(id, "delivered");
  const evidence = await read(`${id}/evidence`);
  expect(evidence.json).toMatchObject({
    state: "delivered",
    receipt: { receivedAt: expect.any(String) as string },
    chain: { index: expect.any(Number) as number },
  });
  expect(await running.db.sql`select c3_seat from exchange where c3_seat = 'PSK000900'`).not.toHaveLength(0);
});

test.each(["AB", "IP", "AP", "RE", "PD"])(
  "`delivered and answered %s`: an Invoice Response comes back",
  async (code) => {
    const id = await accepted(`answered_${code.toLowerCase()}`);
    const answer = await when(
      id,
      `answered ${code}`,
      () => running.db.sql`select 1 from document where id = ${id} and invoice_response_status = ${code}`,
    );
    expect(answer.json).toMatchObject({ status: "delivered", invoiceResponseStatus: code });
  },
);

test("an answer that is promised when its process ends is sent before it does", async () => {
  const db = await freshDatabase();
  const other = await startTestEngine({ transport: "as4", db });
  try {
    const { sandbox } = other;
    const [from, to] = [sandbox.sender.participantId, idOf("answered_ap")];
    const sent = await http(
      "POST",
      `${sandbox.sapiBaseUrl}/document/send`,
      {
        authorization: `Bearer ${await accessToken(sandbox, sandbox.sender)}`,
        "x-peppol-participant-id": from,
        "idempotency-key": randomUUID(),
        "content-type": "application/json",
      },
      JSON.stringify(sendParts(from, to, invoiceXml(from, to), { documentTypeId: INVOICE_TYPE })),
    );
    expect([sent.status, sent.text]).toEqual([202, sent.text]);
    await eventually("the receipt", async () => {
      const rows = await db.sql`select 1 from document where status = 'delivered'`;
      return rows.length > 0;
    });
  } finally {
    await other.stop();
  }
  expect(await db.sql`select kind from inbound_status`).toEqual([{ kind: "invoice_response" }]);
  await db.drop();
});

test("`MLS RE with a rule`: a delivered document becomes rejected, and its evidence names the status", async () => {
  const id = await accepted("mls_re");
  const { json } = await reaches(id, "rejected");
  expect(JSON.stringify(json)).toContain("rejected");
  const evidence = await read(`${id}/evidence`);
  expect(evidence.json["mls"]).toMatchObject({ direction: "received", code: "RE", reasonCodes: ["BV"] });
});

test.each([
  ["type_not_accepted", 422],
  ["process_not_accepted", 422],
])("`%s`: the send is refused before anything is accepted", async (fate, status) => {
  const answer = await send(fate);
  expect([answer.status, answer.text]).toEqual([status, expect.any(String)]);
});

test("`not registered`: accepted, and send_failed when its short plan is used up", async () => {
  const id = await accepted("not_registered");
  await reaches(id, "send_failed");
});

test("`refuses for good`: the document becomes rejected at its first attempt", async () => {
  const id = await accepted("refused");
  await reaches(id, "rejected");
});

test("`never confirms`: sent, and delivery_failed when its short plan is used up", async () => {
  const id = await accepted("never_confirmed");
  const { json } = await reaches(id, "delivery_failed");
  expect((json["statusHistory"] as readonly { readonly status: string }[]).map(({ status }) => status)).toEqual([
    "queued",
    "sent",
    "delivery_failed",
  ]);
});

test("`certificate expired`: nothing is sent, and the operator is told why", async () => {
  const id = await accepted("certificate_expired");
  expect(await tried(id, "certificate_rejected")).toContainEqual(
    expect.objectContaining({ outcome: "certificate_rejected" }),
  );
  expect((await read(`${id}/status`)).json["status"]).toBe("queued");
});

test("`slow`: delivered, but not before its access point has thought", async () => {
  const before = systemClock.monotonic();
  const id = await accepted("slow");
  await reaches(id, "delivered");
  expect(systemClock.monotonic() - before).toBeGreaterThanOrEqual(LIMITS.sandbox_slow_ms);
});

test("a firm receives an invoice and a credit note from outside, and sees neither twice", async () => {
  const { participantId } = running.sandbox.receiver;
  for (const kind of ["invoice", "credit_note"]) {
    const answer = await admin("POST", "receive", { to: participantId, kind, lines: 3 });
    expect([answer.status, answer.json]).toMatchObject([200, { outcome: "receipt", code: null }]);
  }
  const documents = await eventually("two documents", async () => {
    const list = await http("GET", `${running.sandbox.sapiBaseUrl}/document/receive`, {
      authorization: `Bearer ${receiver}`,
      "x-peppol-participant-id": participantId,
    });
    const found = list.json["documents"] as readonly { readonly documentId: string }[];
    return found.length >= 2 ? found : undefined;
  });
  expect(documents).toHaveLength(2);
  const page = await http(
    "GET",
    `${running.sandbox.baseUrl}/documents/${documents[1]?.documentId ?? ""}/html?lang=sk`,
    {
      authorization: `Bearer ${receiver}`,
    },
  );
  expect(page.text).toMatch(/Dobropis[^]*Skúšobná položka 3/u);
});

test("a broken document from outside is answered with a status that rejects it, and shown to nobody", async () => {
  const { participantId } = running.sandbox.receiver;
  const answer = await admin("POST", "receive", { to: participantId, kind: "broken" });
  expect(answer.json).toMatchObject({ outcome: "receipt" });
  const delivered = await eventually("the status is delivered to the other provider", async () => {
    const rows = await running.db.sql<{ readonly status: string }[]>`
      select status from service_message where receiver = '0242:000900' and status = 'delivered'`;
    return rows.length > 0 ? rows : undefined;
  });
  expect(delivered).not.toHaveLength(0);
});

test("an order for a participant that is not ours, of no kind, or of no lines is 400 and names its field", async () => {
  const cases = [
    [{ to: "0245:1111111111" }, "to"],
    [{ to: "nobody" }, "to"],
    [{ to: running.sandbox.receiver.participantId, kind: "order" }, "kind"],
    [{ to: running.sandbox.receiver.participantId, lines: 0 }, "lines"],
    [{ to: running.sandbox.receiver.participantId, lines: LIMITS.sandbox_lines_max + 1 }, "lines"],
  ] as const;
  for (const [body, field] of cases) {
    const answer = await admin("POST", "receive", body);
    expect([answer.status, answer.text]).toEqual([400, expect.stringContaining(field)]);
  }
});

test("what is posted to a participant without a signature is refused, and an unknown one is down", async () => {
  const knock = (participant: string): Promise<Response> =>
    fetch(`${running.engine.publicUrl}/sandbox/as4/${encodeURIComponent(participant)}`, {
      method: "POST",
      headers: { "content-type": "application/soap+xml" },
      body: "<a/>",
    });
  const refused = await knock(idOf("delivered"));
  expect([refused.status, await refused.text()]).toEqual([200, expect.stringContaining("eb:Error")]);
  expect((await knock("0245:1111111111")).status).toBe(503);
});

test("`receiver down for ten minutes, then up`: attempts fail until then, and a later one delivers", async () => {
  const id = await accepted("down_then_up");
  await tried(id, "peer_busy");
  ahead_ms += LIMITS.sandbox_down_ms + 1_000;
  await reaches(id, "delivered");
});
