/** Goal: however much small messages hold, those of one batch are never unpacked all at once. */
import { randomUUID } from "node:crypto";
import { expect, test } from "vitest";

import type { ParticipantId } from "../../../../engine/base/ids.js";
import { arrivalJob } from "../../../../engine/documents/inbound/arrival-job.js";
import { EXCHANGE_KINDS } from "../../../../engine/documents/inbound/exchange-kinds.js";
import { Unpacked } from "../../../../engine/documents/inbound/unpacked.js";
import type { ArrivedMessage } from "../../../../engine/peppol/as4/arrival.js";
import { buildDeparture } from "../../../../engine/peppol/as4/departure.js";
import type { As4Crypto } from "../../../../engine/peppol/as4/messages.js";
import { BILLING_CAPABILITIES } from "../../../../engine/peppol/envelope/identifiers.js";
import { createRunner } from "../../../../validators/batches.js";
import type { Job } from "../../../../validators/protocol.js";
import { octetsUnpacked, signatureTasks } from "../../../../validators/signature.js";
import { compress } from "../../../../validators/wss/coding/gzip.js";
import { accessPoint } from "../../../support/as4/as4-keys.js";
import { inThread, plainOf, userMessage } from "../../../support/as4/as4.js";

const [TYPE, PROCESS] = [BILLING_CAPABILITIES[0]?.documentTypeId ?? "", BILLING_CAPABILITIES[0]?.processId ?? ""];
const [alice, bob] = [accessPoint("PSK000001"), accessPoint("PSK000002")];
const [sender, receiver] = ["0245:2020202020", "0245:1234567890"] as ParticipantId[] as [ParticipantId, ParticipantId];
const [LONG, BOUND] = [500_000, 1_200_000];

/** A document that is long, in a message that is short. */
const documentOf = (blanks: number): Buffer =>
  Buffer.from(
    `<Invoice xmlns="urn:oasis:names:specification:ubl:schema:xsd:Invoice-2">${" ".repeat(blanks)}</Invoice>`,
  );
const longDocument = (of: number): Buffer => documentOf(LONG + of);

const counting =
  (unpacked: (octets: number) => void): As4Crypto =>
  (kind, input) => {
    const output = signatureTasks[kind](input);
    unpacked(octetsUnpacked(output));
    return Promise.resolve(output);
  };

async function arrivalOf(payload: Buffer, unpackedBytesMax = BOUND): Promise<Job> {
  const built = await buildDeparture(
    {
      sbd: {
        sender,
        receiver,
        documentType: TYPE,
        process: PROCESS,
        instanceId: randomUUID(),
        createdAt: Date.parse("2026-11-20T10:00:00Z"),
        countryC1: "SK",
        payload,
      },
      message: userMessage(alice, bob, { action: `busdox-docid-qns::${TYPE}` }),
      id: randomUUID(),
      signer: alice,
      recipient: bob.certificate,
    },
    inThread,
  );
  if (built.kind === "refused") throw new Error(built.fault);
  return {
    kind: "as4.arrival",
    input: {
      bytes: built.body,
      contentType: built.contentType,
      keys: [bob],
      payloadBytesMax: 1_000_000,
      receipt: { id: randomUUID(), signer: bob, messageId: "r@x", timestamp: "2026-11-20T10:00:00Z" },
      work: { bytesMax: 16_384, elementsMax: 1_000, gzipLevel: 6, unpackedBytesMax },
    },
  };
}

test.each([
  ["alone", 0],
  ["behind as many short ones", 9],
])(
  "long documents in short messages that come together %s are unpacked no further than a bound and one, and all are taken in",
  async (_how, short) => {
    const documents = [
      ...Array.from({ length: short }, (_, i) => documentOf(i)),
      ...Array.from({ length: 9 }, (_, i) => longDocument(i)),
    ];
    const unpacked = new Unpacked();
    const held: number[] = [];
    const job = arrivalJob(
      (count) => (kind, input) => {
        // What is open at this moment, before this message is.
        if (kind === "as4.open") held.push(unpacked.held);
        return counting(count)(kind, input);
      },
      { validate: () => Promise.reject(new Error("not asked")), octetsBesideFiles: () => undefined, compress },
      unpacked,
    );
    const run = await createRunner({ "as4.arrival": () => Promise.resolve(job) }, EXCHANGE_KINDS);
    const jobs = await Promise.all(documents.map((one) => arrivalOf(one)));
    const outcomes = await run({ jobs, progress: new Int32Array(new SharedArrayBuffer(8)) });
    outcomes.forEach((outcome, i) => {
      if (outcome.kind === "failed") throw new Error(outcome.message);
      const { content } = outcome.output as ArrivedMessage;
      if (content === undefined || "kind" in content) throw new Error("nothing was taken in");
      expect(plainOf(content.payload).equals(documents[i] ?? Buffer.alloc(0))).toBe(true);
    });
    expect(held).toHaveLength(documents.length);
    // Three long ones are opened at once, so that the bound is what holds the fourth back.
    expect(held.slice(short, short + 3).every((octets, i) => octets >= i * LONG)).toBe(true);
    expect(Math.max(...held)).toBeLessThanOrEqual(BOUND);
    expect(unpacked.held).toBe(0);
  },
);

test("a message that cannot be opened leaves its room to the next", async () => {
  const unpacked = new Unpacked();
  const job = arrivalJob(
    counting,
    { validate: () => Promise.reject(new Error("not asked")), octetsBesideFiles: () => undefined, compress },
    unpacked,
  );
  const { input } = await arrivalOf(longDocument(0), 0);
  const good = input as Parameters<typeof job>[0];
  const bad = { ...good, keys: [alice] };
  const outcomes = await Promise.all([good, bad, good].map((one) => job(one)));
  expect(outcomes.map(({ kind }) => kind)).toEqual(["arrived", "refused", "arrived"]);
  expect(unpacked.held).toBe(0);
});
