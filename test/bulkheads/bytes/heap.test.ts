/**
 * Goal: a process with little heap turns away what it cannot hold, and never dies of it.
 * Method: the engine as a process of its own with a small heap, and more large invoices at once than fit into it; the
 * long form, with more of both, is test/faults/loads/memory.test.ts.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";

import { accessToken } from "../../support/engines/engine.js";
import type { Mailbox } from "../../support/engines/engine.js";
import { eventually } from "../../support/eventually.js";
import { sendLarge } from "../../support/documents/large-invoice.js";
import { killEverythingOn, startEngineProcess } from "../../support/engines/process.js";
import type { EngineProcess } from "../../support/engines/process.js";

let dataDir: string;
let engine: EngineProcess;
let sender: Mailbox;
beforeAll(async () => {
  dataDir = mkdtempSync(join(tmpdir(), "kurier-heap-"));
  engine = await startEngineProcess({
    dataDir,
    env: { NODE_OPTIONS: "--max-old-space-size=160", NATS_URL: "embedded", VALIDATOR_THREADS: "1" },
  });
  const { participantId } = engine.sandbox.sender;
  sender = { participantId, token: await accessToken(engine.sandbox, engine.sandbox.sender) };
});
afterAll(async () => {
  await engine.kill();
  killEverythingOn(dataDir);
  rmSync(dataDir, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 });
});

test("sixteen invoices of 10 MB at once with 160 MB of heap are each accepted or told to come again, and the engine lives", async () => {
  const { sandbox } = engine;
  const post = (): ReturnType<typeof sendLarge> =>
    sendLarge(sandbox, sender, sandbox.receiver.participantId, 10_000_000);
  const answers = await Promise.all(Array.from({ length: 16 }, post));
  expect(answers.filter(({ status }) => status !== 202 && status !== 503)).toEqual([]);
  expect(answers.map(({ status }) => status)).toContain(202);
  expect(engine.ended()).toBe(false);
  // What was told to come again is accepted when it does, once those before it have given back what they held.
  await eventually("one more is accepted", async () => (await post()).status === 202);
});
