/**
 * What lies in the database and in the archive and is damaged there is an error with an alert, never wrong bytes: one bit, a
 * missing file, a row of another document. What is whole beside it is given out as before. @source design/reliability.md, F-19
 */
import { chmodSync, readdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { constants, gunzipSync } from "node:zlib";
import { afterAll, beforeAll, expect, test } from "vitest";

import { sealPayload } from "../../../engine/storage/payloads/payloads.js";
import { createSealer } from "../../../engine/storage/sealer.js";
import { accessToken, http, invoiceXml, sapi, send, sendParts, startTestEngine } from "../../support/engines/engine.js";
import type { HttpAnswer, Mailbox, TestEngine } from "../../support/engines/engine.js";
import { eventually } from "../../support/eventually.js";

const MASTER_KEY = Buffer.alloc(32, 9);
let engine: TestEngine;
let sender: Mailbox;
let receiver: Mailbox;
beforeAll(async () => {
  engine = await startTestEngine({ transport: "as4", config: { MASTER_KEY } });
  const { sandbox } = engine;
  sender = { participantId: sandbox.sender.participantId, token: await accessToken(sandbox, sandbox.sender) };
  receiver = { participantId: sandbox.receiver.participantId, token: await accessToken(sandbox, sandbox.receiver) };
});
afterAll(async () => {
  await engine.stop();
});

interface Delivered {
  readonly sentId: string;
  readonly receivedId: string;
  readonly payload: string;
}

/** A document that has gone through our own /as4. */
async function delivered(): Promise<Delivered> {
  const { db } = engine;
  const payload = invoiceXml(sender.participantId, receiver.participantId);
  const answer = await send(engine.sandbox, sender, sendParts(sender.participantId, receiver.participantId, payload));
  expect(answer.status, answer.text).toBe(202);
  const id = String(answer.json["providerDocumentId"]);
  const found = await eventually(
    "it is delivered",
    async () =>
      (
        await db.sql<{ sent: string; received: string }[]>`
    select document.id as sent, received_document.id as received from document join received_document using (as4_message_id)
    where document.id = ${id} and document.status = 'delivered' and received_document.status <> 'HELD'`
      )[0],
  );
  return { sentId: found.sent, receivedId: found.received, payload };
}

const detail = (id: string): Promise<HttpAnswer> => sapi(engine.sandbox, receiver, "GET", `/document/receive/${id}`);
const envelope = async (id: string): Promise<HttpAnswer> =>
  http("GET", `${engine.sandbox.baseUrl}/documents/${id}/envelope`, {
    authorization: `Bearer ${await accessToken(engine.sandbox, engine.sandbox.integrator)}`,
    "x-firm-id": engine.sandbox.sender.firmId,
  });
const alerts = (): number => engine.lines.filter((line) => line.includes('"level":"error"')).length;

/** An error that says nothing, and one more line that an operator is woken by. */
async function isRefused(ask: () => Promise<HttpAnswer>, secret: string): Promise<void> {
  const before = alerts();
  const answer = await ask();
  expect([500, 503]).toContain(answer.status);
  expect(answer.text).not.toContain(secret);
  expect(alerts()).toBeGreaterThan(before);
}

test("a received document of which a bit has flipped, or whose bytes are another document's, is not given out; the one beside it is", async () => {
  const { sql } = engine.db;
  const [one, other] = [await delivered(), await delivered()];
  expect((await detail(one.receivedId)).json["payload"]).toBe(one.payload);
  const [row] = await sql<
    { sealed: Buffer; key_id: string }[]
  >`select sealed, key_id from payload where document_id = ${one.receivedId}`;
  if (row === undefined) throw new Error("no payload");
  const [foreign] = await sql<{ sealed: Buffer }[]>`select sealed from payload where document_id = ${other.receivedId}`;
  const flipped = Buffer.from(row.sealed);
  flipped.writeUInt8(flipped.readUInt8(flipped.length >> 1) ^ 1, flipped.length >> 1);
  // The last has the right key and place, and the content of another document.
  const exchanged = await sealPayload(createSealer([MASTER_KEY]), one.receivedId, Buffer.from(other.payload));
  for (const sealed of [flipped, flipped.subarray(0, 20), foreign?.sealed ?? flipped, exchanged]) {
    await sql`update payload set sealed = ${sealed} where document_id = ${one.receivedId}`;
    await isRefused(() => detail(one.receivedId), "<Invoice");
    expect((await detail(other.receivedId)).json["payload"]).toBe(other.payload);
  }
  await sql`update payload set sealed = ${row.sealed} where document_id = ${one.receivedId}`;
  expect((await detail(one.receivedId)).json["payload"]).toBe(one.payload);
});

test("an envelope of which a bit has flipped in the archive, or whose file is gone, is not given out", async () => {
  const { sentId } = await delivered();
  const whole = await envelope(sentId);
  expect(whole.status).toBe(200);
  const [place] = await engine.db.sql<
    { object: string; offset: number; length: number }[]
  >`select object, byte_offset as "offset", byte_length as length from evidence where document_id = ${sentId} order by index desc limit 1`;
  if (place === undefined) throw new Error("no evidence");
  const folder = join(engine.dataDir, "evidence");
  const name = readdirSync(folder, { recursive: true, encoding: "utf8" }).find((path) => path.endsWith(place.object));
  const file = join(folder, name ?? "");
  const bytes = readFileSync(file);
  chmodSync(file, 0o600);
  for (const at of [place.offset, place.offset + (place.length >> 1), place.offset + place.length - 1]) {
    const flipped = Buffer.from(bytes);
    flipped.writeUInt8(flipped.readUInt8(at) ^ 1, at);
    writeFileSync(file, flipped);
    await isRefused(() => envelope(sentId), "multipart");
  }
  writeFileSync(file, bytes);
  renameSync(file, `${file}.away`);
  await isRefused(() => envelope(sentId), "multipart");
  renameSync(`${file}.away`, file);
  expect((await envelope(sentId)).text).toBe(whole.text);
});

/** Whatever unpacks at any place of the bytes, as text, with the bytes themselves. */
function readable(bytes: Buffer): string {
  const texts = [bytes.toString("latin1")];
  for (let at = bytes.indexOf("1f8b08", 0, "hex"); at >= 0; at = bytes.indexOf("1f8b08", at + 1, "hex")) {
    try {
      texts.push(gunzipSync(bytes.subarray(at), { finishFlush: constants.Z_SYNC_FLUSH }).toString("latin1"));
    } catch {
      // Three octets that only look like the beginning of a gzip.
    }
  }
  return texts.join("\n");
}

test("at rest nobody reads a document without the master key: not in the archive, not in the database", async () => {
  const { payload, sentId } = await delivered();
  const number = /<cbc:ID>(T-[^<]+)</.exec(payload)?.[1] ?? expect.fail("a number");
  const folder = join(engine.dataDir, "evidence");
  const files = readdirSync(folder, { recursive: true, encoding: "utf8", withFileTypes: true }).filter((entry) =>
    entry.isFile(),
  );
  expect(files.length).toBeGreaterThan(0);
  let exchanges = 0;
  for (const { parentPath, name } of files) {
    const text = readable(readFileSync(join(parentPath, name)));
    if (text.includes(sentId)) exchanges += 1;
    expect(text).not.toContain(number);
  }
  expect(exchanges).toBeGreaterThan(0);
  const payloads = await engine.db.sql<{ sealed: Buffer }[]>`select sealed from payload`;
  expect(payloads.length).toBeGreaterThan(1);
  for (const { sealed } of payloads) expect(readable(sealed)).not.toContain(number);
});
