/**
 * Two nodes of one engine, one database, one PUBLIC_URL: what the first sends to a participant of our own goes over the
 * network like everything else, to whichever node that address leads to, with evidence on both sides. The second node
 * has the role of a gateway, so that the first alone sends.
 */
import { cpSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";

import { systemClock } from "../../../engine/base/clock.js";
import type { DocumentId, FirmId, ParticipantId } from "../../../engine/base/ids.js";
import { ensureDevelopmentPki } from "../../../engine/peppol/pki/development.js";
import { acceptDocuments } from "../../../engine/storage/documents/documents.js";
import { createSealer } from "../../../engine/storage/sealer.js";
import { invoiceXml, startTestEngine } from "../../support/engines/engine.js";
import type { TestEngine } from "../../support/engines/engine.js";
import { eventually } from "../../support/eventually.js";
import { startFaultProxy } from "../../support/network/fault-proxy.js";
import type { FaultProxy } from "../../support/network/fault-proxy.js";
import { shortenLimits } from "../../support/engines/limits.js";
import { freePort } from "../../support/engines/process.js";
import { newDocumentRow, sealedDocumentRow } from "../../support/database/seed.js";

const MASTER_KEY = Buffer.alloc(32, 7);
let folder: string;
let proxy: FaultProxy;
let first: TestEngine;
let second: TestEngine;
let restore: () => void;

beforeAll(async () => {
  restore = shortenLimits({ retry_plan_ms: Array.from({ length: 9 }, () => 200), due_poll_ms: 100 });
  folder = mkdtempSync(join(tmpdir(), "kurier-nodes-"));
  const [one, other] = [join(folder, "first"), join(folder, "second")];
  await ensureDevelopmentPki({ folder: join(one, "pki"), clock: systemClock });
  cpSync(join(one, "pki"), join(other, "pki"), { recursive: true });
  const port = await freePort();
  proxy = await startFaultProxy(port);
  const common = { PUBLIC_URL: `http://127.0.0.1:${proxy.port}`, MASTER_KEY };
  first = await startTestEngine({ transport: "as4", config: { ...common, DATA_DIR: one } });
  second = await startTestEngine({
    transport: "as4",
    role: "gateway",
    config: { ...common, DATA_DIR: other, PORT: port },
    db: first.db,
  });
});
afterAll(async () => {
  await second.stop();
  await first.stop();
  await proxy.stop();
  rmSync(folder, { recursive: true, force: true });
  restore();
});

async function accept(): Promise<DocumentId> {
  const { sender, receiver } = first.sandbox;
  const row = await sealedDocumentRow(
    createSealer([MASTER_KEY]),
    newDocumentRow(sender.firmId as FirmId, sender.participantId, {
      receiver: receiver.participantId as ParticipantId,
      acceptedAt: systemClock.now(),
    }),
    Buffer.from(invoiceXml(sender.participantId, receiver.participantId, { lines: 1 })),
  );
  await acceptDocuments(first.db.sql, [row]);
  return row.id;
}

const delivered = (id: DocumentId): Promise<unknown> =>
  eventually(
    "it is delivered",
    async () => (await first.db.sql`select 1 from document where id = ${id} and status = 'delivered'`).length === 1,
  );

const outcomes = async (id: DocumentId): Promise<readonly string[]> =>
  (
    await first.db.sql<{ readonly outcome: string }[]>`
      select outcome from document_attempt where document_id = ${id} order by number`
  ).map(({ outcome }) => outcome);

test("while the way to the other node is cut, nothing is delivered inside the process: the attempt fails, and the next one over the network delivers it once", async () => {
  const cut = proxy.cut("request", "none", () => false);
  const id = await accept();
  await cut;
  await delivered(id);
  const [failed, ...later] = await outcomes(id);
  expect(["unconfirmed", "transport_failed"]).toContain(failed);
  expect(later).toEqual(["receipt"]);
  expect(
    await first.db.sql`
      select 1 from received_document as r join document as d on r.as4_message_id = d.as4_message_id where d.id = ${id}`,
  ).toHaveLength(1);
});

test("a document for a participant of our own crosses the network to the node that PUBLIC_URL leads to, and has evidence of both sides", async () => {
  const crossed = proxy.cut("request", "none", () => true);
  const id = await accept();
  await crossed;
  await delivered(id);
  expect(
    await first.db.sql`
      select e.direction, e.outcome from evidence as e join document as d on e.message_id = d.as4_message_id
      where d.id = ${id} order by e.direction`,
  ).toEqual([
    { direction: "inbound", outcome: "stored" },
    { direction: "outbound", outcome: "receipt" },
  ]);
});
