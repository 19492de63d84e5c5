/** Goal: AS4 work done in worker threads gives what it gives in this thread, with keys that travel wrapped. */
import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, expect, test } from "vitest";
import { buildReceipt, buildUserMessage, openUserMessage, readAnswer } from "../../../../engine/peppol/as4/messages.js";
import type { As4Crypto } from "../../../../engine/peppol/as4/messages.js";
import { createPool } from "../../../../validators/pool.js";
import type { ValidatorPool } from "../../../../validators/pool.js";
import { invoiceBytes, userMessage } from "../../../support/as4/as4.js";
import { accessPoint } from "../../../support/as4/as4-keys.js";
import { bundleWorker } from "../../../support/validators/worker-bundle.js";
import type { WorkerBundle } from "../../../support/validators/worker-bundle.js";

let bundle: WorkerBundle;
let pool: ValidatorPool;
beforeAll(async () => {
  bundle = await bundleWorker("../validators/worker.ts");
  pool = createPool({
    threads: { small: 1, large: 1 },
    queueMax: 100,
    queueBytesMax: 100_000_000,
    jobTimeoutMs: 10_000,
    workerFile: bundle.file,
  });
});
afterAll(async () => {
  await pool.stop();
  await bundle.remove();
});

test("a message goes out and in through the pool, its receipt comes back, and keys made after the pool's start work too", async () => {
  const crypto: As4Crypto = (kind, input) => pool.run(kind, input);
  const alice = accessPoint("PSK000001");
  const bob = accessPoint("PSK000002");
  const sent = await buildUserMessage(
    {
      message: userMessage(alice, bob),
      payload: invoiceBytes,
      id: randomUUID(),
      signer: alice,
      recipient: bob.certificate,
    },
    crypto,
  );
  const opened = await openUserMessage(sent.body, sent.contentType, { keys: [bob], payloadBytesMax: 1e6 }, crypto);
  if (opened.kind === "refused") throw new Error(opened.reason);
  expect(Buffer.from(opened.payload ?? []).equals(invoiceBytes)).toBe(true);
  const signal = {
    id: randomUUID(),
    signer: bob,
    messageId: "r@x",
    timestamp: "2026-11-20T10:00:00Z",
    refToMessageId: opened.message.messageId,
  };
  const receipt = await buildReceipt(signal, opened.references, crypto);
  const expected = { messageId: opened.message.messageId, references: sent.references, recipient: bob.certificate };
  expect(await readAnswer(Buffer.from(receipt.body), receipt.contentType, expected, crypto)).toMatchObject({
    kind: "receipt",
    sameCertificate: true,
  });
});
