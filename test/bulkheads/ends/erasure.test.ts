/**
 * A firm is forgotten. Method: a real engine exchanges documents over AS4; one firm is erased; every column of every table that
 * can name a firm is looked at, and every text that can hold one of its names.
 */
import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, expect, test } from "vitest";

import { systemClock } from "../../../engine/base/clock.js";
import type { FirmId } from "../../../engine/base/ids.js";
import { eraseFirm } from "../../../engine/identity/erasure.js";
import { accessToken, http, invoiceXml, send, sendParts, startTestEngine } from "../../support/engines/engine.js";
import type { TestEngine } from "../../support/engines/engine.js";
import { eventually } from "../../support/eventually.js";
import { newDocumentRow } from "../../support/database/seed.js";
import { tablesWithText } from "../../support/truth/canaries.js";
import { acceptDocuments } from "../../../engine/storage/documents/documents.js";

/** What stays of a firm that is forgotten, and why. */
const KEPT: Readonly<Record<string, string>> = {
  firm: "its id, for what names it",
  api_key: "ended; swept after two years, as the audit is",
  audit_entry: "who changed what, for two years",
  evidence: "for ten years",
  metered_event: "what was billed",
  usage_month: "what was billed",
};

let engine: TestEngine;
let firmId: FirmId;
let other: FirmId;

beforeAll(async () => {
  engine = await startTestEngine({ transport: "as4" });
  const { sandbox, db } = engine;
  const from = sandbox.sender.participantId;
  const to = sandbox.receiver.participantId;
  const sender = { participantId: from, token: await accessToken(sandbox, sandbox.sender) };
  expect((await send(sandbox, sender, sendParts(from, to, invoiceXml(from, to)))).status).toBe(202);
  await eventually(
    "it is delivered and its status has gone",
    async () => (await db.sql`select 1 from document where status = 'delivered'`).length === 1,
  );
  firmId = sandbox.sender.firmId as FirmId;
  other = sandbox.receiver.firmId as FirmId;
});
afterAll(() => engine.stop());

/** Tables with rows of a firm. */
async function tablesWith(id: FirmId): Promise<string[]> {
  const { sql } = engine.db;
  const columns = await sql<{ readonly table: string; readonly column: string }[]>`
    select c.table_name as table, c.column_name as column from information_schema.columns as c
    join information_schema.tables as t on t.table_name = c.table_name and t.table_schema = c.table_schema
    where c.table_schema = 'public' and t.table_type = 'BASE TABLE' and c.data_type = 'uuid'`;
  const found = new Set<string>();
  for (const { table, column } of columns)
    if ((await sql`select 1 from ${sql(table)} where ${sql(column)} = ${id} limit 1`).length > 0) found.add(table);
  return [...found].sort();
}

const tablesSaying = (text: string): Promise<string[]> => tablesWithText(engine.db.sql, text);

test("a firm with a document under way is not forgotten, and nothing of it is touched", async () => {
  const { sql } = engine.db;
  const before = await tablesWith(firmId);
  const waiting = newDocumentRow(firmId, engine.sandbox.sender.participantId, { owner: "nobody/1" });
  await acceptDocuments(sql, [waiting]);
  expect(await eraseFirm({ sql, clock: systemClock }, firmId)).toEqual({ closure: "under_way", rows: 0 });
  expect(await tablesWith(firmId)).toEqual(expect.arrayContaining(before));
  await sql`
    update document set status = 'send_failed', next_attempt_at = null, lease_owner = null, lease_until = null
    where id = ${waiting.id}`;
});

test("a firm with an answer under way is not forgotten, for its key is needed until it has gone", async () => {
  const { sql } = engine.db;
  const [id, message] = [randomUUID(), randomUUID()];
  await sql`
    insert into service_message (id, kind, subject, firm_id, code, sender, receiver, document_type_id, process_id,
      as4_message_id, sbdh_instance_id, payload_key_id, payload_sealed, payload_sha256, status, version, attempts,
      next_attempt_at, lease_owner, lease_until, created_at)
    values (${id}, 'invoice_response', ${id}, ${firmId}, 'AP', 'a', 'b', 'c', 'd', ${message}, ${message}, 'k', '', '',
      'queued', 1, 0, now(), 'nobody/1', now() + interval '1 hour', now())`;
  expect(await eraseFirm({ sql, clock: systemClock }, firmId)).toEqual({ closure: "under_way", rows: 0 });
  expect(await sql`select 1 from firm where id = ${firmId} and erased_at is null`).toHaveLength(1);
  await sql`delete from service_message where id = ${id}`;
});

test("what stays of a firm that is forgotten is what the law asks for, and its texts say nothing of it", async () => {
  const { sandbox, db } = engine;
  const { participantId } = sandbox.sender;
  const [name] = await db.sql<{ readonly name: string }[]>`select name from firm where id = ${firmId}`;
  const evidence = await db.sql`select index from evidence where firm_id = ${firmId}`;
  expect(evidence.length).toBeGreaterThan(0);
  const { closure, rows } = await eraseFirm({ sql: db.sql, clock: systemClock }, firmId);
  expect([closure, rows > 0]).toEqual(["closed", true]);

  const left = await tablesWith(firmId);
  expect(left.filter((table) => KEPT[table] === undefined)).toEqual([]);
  expect(await tablesSaying(name?.name ?? "nobody")).toEqual([]);
  // Its partner has its own documents, which name whom they came from; they are its partner's.
  const saying = await tablesSaying(participantId);
  expect(saying.filter((table) => !["received_document", "inbound_status", "service_message"].includes(table))).toEqual(
    [],
  );
  expect(await db.sql`select index from evidence where firm_id = ${firmId}`).toHaveLength(evidence.length);
  expect(await tablesWith(other)).toEqual(expect.arrayContaining(["received_document", "participant", "exchange"]));
  const login = await http(
    "POST",
    `${sandbox.sapiBaseUrl}/auth/token`,
    { "content-type": "application/json" },
    JSON.stringify({
      ...{ grant_type: "client_credentials", client_id: sandbox.sender.clientId },
      client_secret: sandbox.sender.clientSecret,
    }),
  );
  expect(login.status).toBe(401);
});

test("a firm that is not there is not forgotten, and one that is forgotten may be forgotten again", async () => {
  const ports = { sql: engine.db.sql, clock: systemClock };
  expect(await eraseFirm(ports, "00000000-0000-7000-8000-000000000009" as FirmId)).toEqual({
    closure: "missing",
    rows: 0,
  });
  expect(await eraseFirm(ports, firmId)).toEqual({ closure: "closed", rows: 0 });
});
