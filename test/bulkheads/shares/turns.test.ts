/**
 * Goal: a document as large as it may be is taken in, sealed, proved and handed on while others are served.
 * Method: what is counted are turns of the event loop, in each of which everybody else has his; no clock is read. The long
 * form, with readers beside twenty invoices of 18 MB, is test/faults/loads/reads.test.ts.
 */
import { randomBytes } from "node:crypto";
import { Writable } from "node:stream";
import { expect, test } from "vitest";

import { LIMITS } from "../../../engine/base/limits.js";
import { joinInSlices, mapInSlices, sha256InSlices, utf8InSlices } from "../../../engine/base/memory/slices.js";
import { ownTurn } from "../../../engine/base/memory/turns.js";
import { writeEvidence } from "../../../engine/storage/evidence/record.js";
import type { ExchangeFacts } from "../../../engine/storage/evidence/record.js";
import { nameOctets, writingLong } from "../../../engine/storage/driver/long-parameters.js";
import { createSealer } from "../../../engine/storage/sealer.js";
import { parseLargeJsonObject } from "../../../gateway/request/large-json.js";
import { copyForTransfer } from "../../../validators/plain.js";
import { turnsDuring } from "../../support/turns.js";

const SLICES = 6;
const text = randomBytes((SLICES * LIMITS.payload_slice_bytes * 3) / 4).toString("base64");
const octets = Buffer.from(text);
const body = Buffer.from(JSON.stringify({ payload: text, payloadFormat: "XML" }));
const sealer = createSealer([Buffer.alloc(32, 1)]);
const ID = "0197b2f0-0000-7000-8000-000000000001";
const sealed = sealer.seal(octets, ID);

const pieces = (bytes: Buffer): readonly Buffer[] =>
  Array.from({ length: SLICES }, (_, at) =>
    bytes.subarray(at * LIMITS.payload_slice_bytes, (at + 1) * LIMITS.payload_slice_bytes),
  );

const facts: ExchangeFacts = {
  ...{ direction: "inbound", id: ID, outcome: "stored", documentId: ID, messageId: "m", instanceId: "i" },
  ...{ sender: "s", receiver: "r", documentTypeId: "d", processId: "p", requestAt: 0, requestContentType: "x" },
};

/** Writes octets as the one parameter of a message to a server that takes everything. */
async function writeAsParameter(bytes: Buffer): Promise<void> {
  const taken = new Writable({ write: (_, __, done) => done() });
  const { name, end } = nameOctets(bytes);
  const message = Buffer.from(`B........${name}`);
  message.writeUInt32BE(message.length - 1, 1);
  message.writeUInt32BE(name.length, 5);
  await new Promise<void>((resolve) => writingLong(taken).write(message, () => resolve()));
  end();
}

/** What is done on the event loop with a large document, and how often at least it turns meanwhile. */
const WORK: Readonly<Record<string, readonly [turns: number, work: () => Promise<unknown>]>> = {
  "its body is put together": [SLICES - 1, () => joinInSlices(pieces(octets))],
  "its JSON is read": [SLICES - 1, () => parseLargeJsonObject(body)],
  "its JSON is read as octets": [SLICES - 1, () => parseLargeJsonObject(body, "payload")],
  "its text becomes octets": [2 * (SLICES - 1), () => utf8InSlices(text)],
  "it is hashed": [SLICES - 1, () => sha256InSlices(octets)],
  "it is copied for a worker": [SLICES - 1, () => copyForTransfer({ bytes: octets }, [], ownTurn)],
  "it is sealed": [SLICES - 1, () => sealer.sealInSlices(octets, ID)],
  "it is opened": [SLICES - 1, () => sealer.openInSlices(sealer.keyId, sealed, ID)],
  "it is written to Postgres": [SLICES - 1, () => writeAsParameter(octets)],
  "its exchange becomes a record of evidence": [
    2 * (SLICES - 1),
    () => writeEvidence({ facts, parts: [{ name: "request", bytes: octets }] }),
  ],
};

test.each(Object.entries(WORK))("others have their turn while of a large document %s", async (_, [turns, work]) => {
  await work();
  expect(await turnsDuring(work)).toBeGreaterThanOrEqual(turns);
});

test.each(Object.entries(WORK))("three large documents never share a turn while %s", async (_, [turns, work]) => {
  await work();
  expect(await turnsDuring(() => Promise.all([work(), work(), work()]))).toBeGreaterThanOrEqual(3 * turns);
});

test("a long list is made in order, and others have their turn behind every slice of it", async () => {
  const items = Array.from({ length: SLICES * LIMITS.listed_slice_items }, (_, at) => at);
  let made: readonly number[] = [];
  const turns = await turnsDuring(async () => {
    made = await mapInSlices(items, (item) => -item);
  });
  expect(made).toEqual(items.map((item) => -item));
  expect(turns).toBeGreaterThanOrEqual(SLICES);
});

test("a list that is no longer than a slice waits for no turn", async () => {
  let hasTurned = false;
  setImmediate(() => {
    hasTurned = true;
  });
  const items = Array.from({ length: LIMITS.listed_slice_items }, (_, at) => at);
  expect(await mapInSlices(items, (item) => item)).toEqual(items);
  expect(hasTurned).toBe(false);
});

test("slices of one line have their turns in the order in which they came, each for itself", async () => {
  const order: number[] = [];
  const turns = await turnsDuring(() => Promise.all([0, 1, 2, 3].map((at) => ownTurn().then(() => order.push(at)))));
  expect(order).toEqual([0, 1, 2, 3]);
  expect(turns).toBeGreaterThanOrEqual(4);
});

test("work that was taken in has every other turn, however many bodies wait to be read", async () => {
  const order: string[] = [];
  await ownTurn("reading");
  const bodies = Array.from({ length: 100 }, () => ownTurn("reading").then(() => order.push("body")));
  for (let slice = 0; slice < 3; slice += 1) {
    await ownTurn();
    order.push("slice");
  }
  expect(order.length).toBeLessThanOrEqual(8);
  await Promise.all(bodies);
  expect(order.filter((what) => what === "body")).toHaveLength(100);
});

test("bodies have every other turn, however much is worked on", async () => {
  const order: string[] = [];
  await ownTurn("working");
  const slices = Array.from({ length: 100 }, () => ownTurn().then(() => order.push("slice")));
  for (let body = 0; body < 3; body += 1) {
    await ownTurn("reading");
    order.push("body");
  }
  expect(order.length).toBeLessThanOrEqual(8);
  await Promise.all(slices);
  expect(order.filter((what) => what === "slice")).toHaveLength(100);
});

test("a text becomes the octets that it has, also where a slice would end within a character", async () => {
  const pair = "😀";
  for (const before of ["", "a", "š"]) {
    const long = before + "x".repeat(LIMITS.payload_slice_bytes - 1 - before.length) + pair.repeat(3) + text;
    expect((await utf8InSlices(long)).equals(Buffer.from(long))).toBe(true);
  }
  expect([...(await utf8InSlices("")), ...(await utf8InSlices("š"))]).toEqual([0xc5, 0xa1]);
});
