/** Staged documents with two engines on one database: races, a create fifty times at once, and their end. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";

import { systemClock } from "../../../engine/base/clock.js";
import { createCursors } from "../../../engine/base/cursors.js";
import type { FirmId } from "../../../engine/base/ids.js";
import { LIMITS } from "../../../engine/base/limits.js";
import { createOctets } from "../../../engine/base/memory/octets.js";
import { readConnectorDocuments } from "../../../engine/documents/connector/reads.js";
import { pruneStaged } from "../../../engine/documents/connector/staged.js";
import { openKeyring } from "../../../engine/storage/keyring/keyring.js";
import { parseDocument } from "../../../validators/summary.js";
import { SCAN_LIMITS } from "../../../validators/xml/limits.js";
import { connectorError } from "../../support/callers/connector.js";
import { createAtOnce, CUSTOMER, startConnectorNodes } from "../../support/engines/connector-nodes.js";
import type { ConnectorNodes } from "../../support/engines/connector-nodes.js";
import { MASTER_KEY } from "../../support/engines/engine.js";
import { eventually } from "../../support/eventually.js";
import { startReceiver } from "../../support/webhooks/receiver.js";

let nodes: ConnectorNodes;

beforeAll(async () => {
  nodes = await startConnectorNodes(4);
});
afterAll(() => nodes.stop());

const sql: ConnectorNodes["sql"] = () => nodes.sql();
const call: ConnectorNodes["call"] = (n) => nodes.call(n);
const at = (id: string, step = ""): string => `/documents/${id}${step}?customerRef=${CUSTOMER}`;
async function staged(): Promise<string> {
  const answer = await call(0)("POST", "/documents", nodes.invoice("stage"));
  expect(answer.status, answer.text).toBe(201);
  return String(answer.json["id"]);
}

test("cancel races send on two nodes: one of them has its way, the other is told, and what is cancelled never leaves", async () => {
  for (let round = 0; round < 12; round += 1) {
    const id = await staged();
    const [sent, cancelled] = await Promise.all([
      call(round * 2)("POST", at(id, "/send")),
      call(round * 2 + 1)("POST", at(id, "/cancel")),
    ]);
    expect([round, ...[sent.status, cancelled.status].sort()]).toEqual([round, 200, 409]);
    const loser = sent.status === 409 ? sent : cancelled;
    expect(connectorError(loser)["code"]).toBe("DOCUMENT_STATE");
    const isSent = sent.status === 200;
    if (isSent)
      await eventually("it is delivered", async () => (await call(0)("GET", at(id))).json["state"] === "delivered");
    const [row] = await sql()`select staged, attempts from document where id = ${id}`;
    expect(row).toEqual(isSent ? { staged: "sent", attempts: 1 } : { staged: "cancelled", attempts: 0 });
  }
});

test("said twenty times at once on two nodes, send sends once", async () => {
  const id = await staged();
  const answers = await Promise.all(Array.from({ length: 20 }, (_, n) => call(n)("POST", at(id, "/send"))));
  const done = answers.filter(({ status }) => status === 200);
  expect(done.filter(({ json }) => json["replayed"] === false)).toHaveLength(1);
  // Whoever found the document changed three times in a row is told to come again.
  expect(answers.filter(({ status }) => status !== 200 && status !== 503)).toEqual([]);
  const entries = await sql()`select 1 from audit_entry where event = 'connector.sent' and target_id = ${id}`;
  expect(entries).toHaveLength(1);
});

test.each(["send", "stage"] as const)(
  "fifty identical creates at once on two nodes make one document to %s, and every other ends as its repeat",
  (delivery) => createAtOnce(nodes, nodes.invoice(delivery), 50),
);

test("the account's webhook is told that a staged document was queued and that it was cancelled", async () => {
  const receiver = await startReceiver();
  const put = await call(0)("PUT", "/webhook", { url: `${receiver.origin}/events` });
  expect([200, 201]).toContain(put.status);
  const id = await staged();
  await call(1)("POST", at(id, "/cancel"));
  const told = await eventually("both are told", () => {
    const events = receiver.at("/events").map(({ json }) => json as Readonly<Record<string, unknown>>);
    const mine = events.filter(({ documentId }) => documentId === id);
    return mine.length >= 2 ? mine : undefined;
  });
  expect(told).toMatchObject([
    { type: "document.queued", state: "queued", customerRef: CUSTOMER },
    { type: "document.cancelled", state: "cancelled", customerRef: CUSTOMER },
  ]);
  await call(0)("DELETE", "/webhook");
  await receiver.close();
});

test("a page of the list opens each group of documents in its share of the octets, and gives every one of them back", async () => {
  const ids = [await staged(), await staged(), await staged()];
  const [firm] = await sql()<{ firmId: FirmId }[]>`select firm_id as "firmId" from document where id = ${ids[0] ?? ""}`;
  if (firm === undefined) throw new Error("the document is there");
  // A list shows nothing that is newer than a transaction which is still open, be it one of another database.
  await eventually("all are listed", async () => {
    const { json } = await call(0)("GET", `/documents?customerRef=${CUSTOMER}&limit=${LIMITS.connector_page_max}`);
    const listed = (json["documents"] as readonly { readonly id: string }[]).map(({ id }) => id);
    return ids.every((id) => listed.includes(id));
  });
  const octets = createOctets(1, ids.length);
  const gone = new AbortController().signal;
  const waitedFor: unknown[] = [];
  const taken: number[] = [];
  const read: number[] = [];
  const held: number[] = [];
  const { documents } = await readConnectorDocuments(
    {
      sql: sql(),
      clock: systemClock,
      cursors: createCursors(MASTER_KEY),
      sealer: (await openKeyring(sql(), [MASTER_KEY], systemClock)).sealer,
      validators: {
        parse: (payload) => {
          read.push(payload.length * LIMITS.connector_read_copies);
          held.push(octets.taken());
          return Promise.resolve(parseDocument({ bytes: payload, limits: SCAN_LIMITS, linesMax: 1 }));
        },
      },
      room: {
        ...octets,
        take: (bytes, holder, signal) => {
          taken.push(bytes);
          waitedFor.push(signal);
          return octets.take(bytes, holder, signal);
        },
      },
    },
    { firmId: firm.firmId, customerRef: CUSTOMER },
    {
      ...{ direction: "outbound", state: undefined, type: undefined, createdAfter: undefined, cursor: undefined },
      limit: LIMITS.connector_page_max,
      gone,
    },
  );
  expect(waitedFor, "for as long as somebody waits for the page").toEqual(taken.map(() => gone));
  expect(documents.map(({ id }) => id)).toEqual(expect.arrayContaining(ids));
  expect(documents.every(({ amounts }) => amounts.total === "88.19")).toBe(true);
  expect(taken).toHaveLength(Math.ceil(documents.length / LIMITS.connector_group_documents_max));
  // There is room for no more than one at a time.
  expect(held.every((bytes) => taken.includes(bytes))).toBe(true);
  const sum = (bytes: readonly number[]): number => bytes.reduce((left, right) => left + right, 0);
  expect([read.length, sum(read)]).toEqual([documents.length, sum(taken)]);
  expect(octets.taken()).toBe(0);
});

describe("the end of what nobody sends", () => {
  const age = (id: string, days: number) =>
    sql()`update document set staged_at = staged_at - make_interval(days => ${days}) where id = ${id}`;
  const answerOf = (id: string) => call(0)("GET", at(id));

  test("staged and never sent, a document is cancelled after 90 days, and gone with its text and its timeline 90 days later", async () => {
    const id = await staged();
    await age(id, 89);
    await pruneStaged(sql());
    expect((await answerOf(id)).json["state"]).toBe("queued");
    await age(id, 2);
    await Promise.all([pruneStaged(sql()), pruneStaged(sql())]);
    expect((await answerOf(id)).json).toMatchObject({
      state: "cancelled",
      statusReason: "It was staged, and not sent within 90 days.",
    });
    const told = async (): Promise<unknown[]> => {
      const { json } = await call(0)("GET", `/events?customerRef=${CUSTOMER}&limit=100`);
      return (json["events"] as Readonly<Record<string, unknown>>[])
        .filter((event) => event["documentId"] === id)
        .map(({ type }) => type);
    };
    // The feed shows nothing that is newer than a transaction which is still open.
    await eventually("its end is told", async () => (await told()).includes("document.cancelled"));
    expect(await told()).toEqual(["document.queued", "document.cancelled"]);
    await age(id, 91);
    await pruneStaged(sql());
    expect((await answerOf(id)).status).toBe(404);
    for (const table of ["payload", "document_event", "document_history"])
      expect(await sql()`select 1 from ${sql()(table)} where document_id = ${id}`, table).toEqual([]);
  });

  test("what was staged long ago and is sent now is as old as its sending, and stays", async () => {
    const id = await staged();
    await sql()`
      update document set created_at = created_at - interval '80 days', staged_at = staged_at - interval '80 days'
      where id = ${id}`;
    const [attempt] = await sql()`
      with sent as materialized (
        select send_held(d.id, d.firm_id, d.version, null, null) as moved from document as d where d.id = ${id}
      )
      select sent.moved, now() - a.created_at < interval '1 minute' as is_fresh
      from sent cross join lateral take_attempt(${id}, 'nobody', 0) as a`;
    expect(attempt).toEqual({ moved: true, is_fresh: true });
    await eventually("it is delivered", async () => (await answerOf(id)).json["state"] === "delivered");
    await age(id, 1_000);
    await pruneStaged(sql());
    expect((await answerOf(id)).json["state"]).toBe("delivered");
  });
});
