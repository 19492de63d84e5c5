/** Goal: each step of an exchange of messages is one job of the engine's workers, from which facts come back. */
import { randomBytes, randomUUID } from "node:crypto";
import { afterAll, beforeAll, expect, test } from "vitest";

import { createMetrics } from "../../../../engine/base/metrics.js";
import type { ParticipantId } from "../../../../engine/base/ids.js";
import { LIMITS } from "../../../../engine/base/limits.js";
import { as4Workers } from "../../../../engine/documents/inbound/arrival-workers.js";
import type { ArrivedMessage } from "../../../../engine/peppol/as4/arrival.js";
import type { ReadyMessage } from "../../../../engine/peppol/as4/departure.js";
import type { As4Jobs } from "../../../../engine/peppol/as4/jobs.js";
import { BILLING_CAPABILITIES } from "../../../../engine/peppol/envelope/identifiers.js";
import type { InboundExchange } from "../../../../engine/peppol/transport.js";
import { sha256Hex } from "../../../../engine/storage/evidence/record.js";
import { createRunner } from "../../../../validators/batches.js";
import { createPool, JobQuarantined } from "../../../../validators/pool.js";
import type { ValidatorPool } from "../../../../validators/pool.js";
import { PROGRESS } from "../../../../validators/protocol.js";
import { hashOf } from "../../../../validators/lanes/quarantine.js";
import { plainOf, userMessage } from "../../../support/as4/as4.js";
import { accessPoint } from "../../../support/as4/as4-keys.js";
import { invoiceOf } from "../../../support/as4/outgoing.js";
import { fakeClock } from "../../../support/fake-clock.js";
import { bundleWorker } from "../../../support/validators/worker-bundle.js";
import type { WorkerBundle } from "../../../support/validators/worker-bundle.js";

const [TYPE, PROCESS] = [BILLING_CAPABILITIES[0]?.documentTypeId ?? "", BILLING_CAPABILITIES[0]?.processId ?? ""];
const [alice, bob] = [accessPoint("PSK000001"), accessPoint("PSK000002")];
const [sender, receiver] = ["0245:2020202020", "0245:1234567890"] as ParticipantId[] as [ParticipantId, ParticipantId];

let bundle: WorkerBundle;
let pool: ValidatorPool;
let asked: string[] = [];
const judged: number[] = [];

beforeAll(async () => {
  bundle = await bundleWorker("../gateway/start/worker.ts");
  pool = createPool({
    threads: { small: 1, large: 1 },
    queueMax: 100,
    queueBytesMax: 100_000_000,
    jobTimeoutMs: 20_000,
    workerFile: bundle.file,
  });
});
afterAll(async () => {
  await pool.stop();
  await bundle.remove();
});

const workers = (ask: ValidatorPool["ask"] = (kind, input, options) => pool.ask(kind, input, options)): As4Jobs =>
  as4Workers({
    pool: {
      ask: (kind, input, options) => {
        asked.push(kind);
        return ask(kind, input, options);
      },
    },
    clock: fakeClock(),
    metrics: createMetrics(),
    onJudged: (took_ms) => judged.push(took_ms),
  });

const invoice = (lines = 3): Buffer => invoiceOf({ lines });

async function ready(payload: Buffer, jobs = workers()): Promise<ReadyMessage> {
  const built = await jobs.build({
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
  });
  if (built.kind === "refused") throw new Error(built.fault);
  return built;
}

async function arrived(message: ReadyMessage, jobs = workers()): Promise<ArrivedMessage> {
  const opened = await jobs.open(
    {
      bytes: message.body,
      contentType: message.contentType,
      keys: [bob],
      payloadBytesMax: LIMITS.as4_payload_bytes_max,
      receipt: { id: randomUUID(), signer: bob, messageId: "r@x", timestamp: "2026-11-20T10:00:00Z" },
    },
    "192.0.2.1",
  );
  if (opened.kind === "refused") throw new Error(opened.reason);
  return opened;
}

function contentOf({ content }: ArrivedMessage): InboundExchange {
  if (content === undefined || "kind" in content) throw new Error("nothing was taken in");
  return content;
}

test("an exchange is three jobs: a message built, taken in with its verdict and its receipt, and the answer judged", async () => {
  asked = [];
  const payload = invoice();
  const message = await ready(payload);
  const opened = await arrived(message);
  expect(opened.sha256).toBe(sha256Hex(message.body));
  expect(message.sha256).toBe(opened.sha256);
  expect(message.compressedSha256).toBe(sha256Hex(Buffer.from(message.compressed)));
  expect(opened.signedPayloadSha256).toBe(message.compressedSha256);
  expect(opened.referencesSha256).toBe(message.referencesSha256);
  expect(Buffer.from(opened.signedPayload ?? []).equals(Buffer.from(message.compressed))).toBe(true);
  const content = contentOf(opened);
  expect(content).toMatchObject({ sender, receiver, documentTypeId: TYPE, processId: PROCESS });
  expect(content.payload).toMatchObject({ sha256: sha256Hex(payload), length: payload.length });
  expect(plainOf(content.payload).equals(payload)).toBe(true);
  expect(content.judged?.report).toMatchObject({ valid: true, payloadSha256: sha256Hex(payload) });
  expect(judged).toHaveLength(1);
  const sent = { messageId: opened.message.messageId, references: message.references, recipient: bob.certificate };
  expect(
    await workers().judge({ bytes: opened.receipt.body, contentType: opened.receipt.contentType, sent }),
  ).toMatchObject({ kind: "receipt", sameCertificate: true });
  expect(asked).toEqual(["as4.departure", "as4.arrival", "as4.answer"]);
});

const fileOf = (content: string): string =>
  `<cac:AdditionalDocumentReference><cbc:ID>1</cbc:ID><cac:Attachment><cbc:EmbeddedDocumentBinaryObject
    mimeCode="application/pdf" filename="1.pdf">${content}</cbc:EmbeddedDocumentBinaryObject></cac:Attachment></cac:AdditionalDocumentReference>`;
/** An invoice with a file of random octets, which no message makes smaller than they are. */
const withFile = (plain: Buffer, content = randomBytes(LIMITS.verdict_at_once_bytes_max).toString("base64")): Buffer =>
  Buffer.from(plain.toString().replace("<cac:AccountingSupplierParty>", `${fileOf(content)}$&`));

const LONG_TEXT = " ".repeat(LIMITS.verdict_at_once_bytes_max);
/** An invoice with something in the country of its seller. */
const filled = (text: string): Buffer =>
  Buffer.from(invoice().toString().replace("<cbc:IdentificationCode>", `$&${text}`));

test("a document that is long for its file alone is judged where its message is opened", async () => {
  const payload = withFile(invoice());
  const { judged: verdict, payload: stored } = contentOf(await arrived(await ready(payload)));
  expect(verdict?.report).toMatchObject({ valid: true, payloadSha256: sha256Hex(payload) });
  expect(plainOf(stored).equals(payload)).toBe(true);
});

test.each([
  ["has many lines", () => invoice(400)],
  ["has many lines and a file", () => withFile(invoice(400))],
  ["has many tags and a file", () => withFile(filled("<a/>".repeat(LIMITS.verdict_at_once_elements_max)))],
  ["has a long text and a file", () => withFile(filled(LONG_TEXT))],
  [
    "has a long text behind an empty file, and a file",
    () => withFile(filled(`<cbc:EmbeddedDocumentBinaryObject />${LONG_TEXT}`)),
  ],
  ["has files within the country of its seller", () => withFile(filled(fileOf(LONG_TEXT)))],
  ["has a file with elements in it, and a file", () => withFile(withFile(invoice(), `<cbc:ID>${LONG_TEXT}</cbc:ID>`))],
  ["is not well-formed, and has a file", () => withFile(filled(`<cbc:EmbeddedDocumentBinaryObject ${LONG_TEXT}`))],
])("a document that %s arrives byte for byte, packed, without a verdict", async (_what, make) => {
  const payload = make();
  expect(payload.length).toBeGreaterThan(LIMITS.verdict_at_once_bytes_max);
  const content = contentOf(await arrived(await ready(payload)));
  expect(content.payload).toMatchObject({ sha256: sha256Hex(payload), length: payload.length });
  expect(plainOf(content.payload).equals(payload)).toBe(true);
  expect(content.judged).toBeUndefined();
});

test("a message whose document kills the workers that judge it is still taken in, without a verdict", async () => {
  asked = [];
  const message = await ready(invoice());
  const opened = await arrived(
    message,
    workers((kind, input, options) =>
      kind === "as4.arrival" ? Promise.reject(new JobQuarantined("00")) : pool.ask(kind, input, options),
    ),
  );
  expect(contentOf(opened).judged).toBeUndefined();
  expect(plainOf(contentOf(opened).payload).equals(invoice())).toBe(true);
  expect(asked).toEqual(["as4.departure", "as4.arrival", "as4.unjudged"]);
});

test("a message that comes again is known to quarantine, although its receipt would be another", () => {
  const bytes = Buffer.from("the same message");
  const input = (id: string): object => ({ bytes, receipt: { id } });
  expect(hashOf("as4.arrival", input("1"))).toBe(hashOf("as4.arrival", input("2")));
  expect(hashOf("as4.arrival", input("1"))).not.toBe(hashOf("as4.unjudged", input("1")));
});

test("the jobs of a batch take each step together where their kind has several, and others run one after the other", async () => {
  const steps: string[] = [];
  const loader = () =>
    Promise.resolve(async (name: string) => {
      steps.push(`${name}1`);
      await Promise.resolve();
      steps.push(`${name}2`);
      if (name === "b") throw new Error("no");
      return name;
    });
  const run = await createRunner({ together: loader, alone: loader }, new Set(["together"]));
  const progress = new Int32Array(new SharedArrayBuffer(8));
  const jobs = [
    ["together", "a"],
    ["alone", "x"],
    ["together", "b"],
    ["alone", "y"],
  ].map(([kind = "", input]) => ({ kind, input }));
  const outcomes = await run({ jobs, progress });
  expect(steps).toEqual(["a1", "b1", "a2", "b2", "x1", "x2", "y1", "y2"]);
  expect(outcomes.map((one) => (one.kind === "done" ? one.output : one.message))).toEqual(["a", "x", "no", "y"]);
  expect(progress[PROGRESS.done]).toBe(jobs.length);
});

test("messages that come together are each taken in with their own document, verdict and receipt", async () => {
  const messages = await Promise.all(Array.from({ length: 12 }, (_, i) => ready(invoice(i + 1))));
  const all = await Promise.all(messages.map((message) => arrived(message)));
  all.forEach((opened, i) => {
    const content = contentOf(opened);
    expect(plainOf(content.payload).equals(invoice(i + 1))).toBe(true);
    expect(content.judged?.report.payloadSha256).toBe(sha256Hex(invoice(i + 1)));
    expect(opened.sha256).toBe(messages[i]?.sha256);
    expect(Buffer.from(opened.receipt.body).includes(opened.message.messageId)).toBe(true);
  });
});
