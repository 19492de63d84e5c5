/** `as4`: how many messages a node takes at /as4, opened, stored, archived with fsync and receipted, against what its RSA keys allow. */
import { randomUUID } from "node:crypto";
import { createPrivateKey, constants, privateDecrypt, publicEncrypt, randomBytes, sign, verify, X509Certificate } from "node:crypto";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { systemClock } from "../engine/clock.js";
import { sampleInvoice } from "../engine/documents/sample-invoice.js";
import { newId, type ParticipantId } from "../engine/ids.js";
import { type As4Crypto, buildReceipt, buildUserMessage, type BuiltMessage, commonName, openUserMessage, readAnswer } from "../engine/peppol/as4.js";
import { BILLING_CAPABILITIES } from "../engine/peppol/identifiers.js";
import { ensureDevelopmentPki, loadDevelopmentKeys } from "../engine/peppol/pki/development.js";
import { wrapDocument } from "../engine/peppol/sbd-bytes.js";
import { createEvidenceJournal } from "../engine/storage/evidence-journal.js";
import { openFileEvidence } from "../engine/storage/evidence-store-file.js";
import { signatureTasks } from "../validators/signature.js";
import { wrapPrivateKey } from "../validators/wss/keys.js";
import { type BenchEngine, makeFirms, startBenchEngine } from "./engine.js";
import { runLoad } from "./load.js";
import type { Bench, BenchOptions, Figure } from "./runner.js";

const CONNECTIONS = 32;
/** Lines that make an invoice of about 12 KB. */
const LINES = 6;
/** Receivers, so that turns of one participant are not what is measured. */
const RECEIVERS = 50;
/** More than any node takes a second: how many messages are made before the run. */
const RATE_CEILING = 1_200;
const SENDER = "0245:7000000000" as ParticipantId;
const TYPE = BILLING_CAPABILITIES[0]?.documentTypeId ?? "";
const PROCESS = BILLING_CAPABILITIES[0]?.processId ?? "";

const here: As4Crypto = (kind, input) => Promise.resolve(signatureTasks[kind](input));

interface Key {
  readonly certificate: Buffer;
  readonly key: ReturnType<typeof wrapPrivateKey>;
  readonly pem: string;
}

/** A key of an access point from a development PKI. */
async function accessPointKey(folder: string): Promise<Key> {
  const [leaf] = await loadDevelopmentKeys(folder);
  if (leaf === undefined) throw new Error("the development PKI has no access point key");
  return { certificate: Buffer.from(leaf.certificate), key: wrapPrivateKey(leaf.privateKey), pem: leaf.privateKey.export({ type: "pkcs8", format: "pem" }).toString() };
}

interface Prepared extends BuiltMessage {
  readonly messageId: string;
}

async function makeMessage(from: Key, to: Key, receiver: ParticipantId): Promise<Prepared> {
  const payload = Buffer.from(sampleInvoice({ sender: SENDER, receiver, senderName: "Bench s. r. o.", receiverName: "Príjemca a. s.", number: `B-${randomUUID()}`, issueDate: "2026-11-20", lines: LINES }));
  const sbd = wrapDocument({ sender: SENDER, receiver, documentType: TYPE, process: PROCESS, instanceId: randomUUID(), createdAt: systemClock.now(), countryC1: "SK", payload });
  if (sbd.kind === "refused") throw new Error(sbd.fault);
  const messageId = `${randomUUID()}@bench`;
  const message = {
    messageId, timestamp: "2026-11-20T10:00:00.000Z", fromParty: commonName(from.certificate) ?? "", toParty: commonName(to.certificate) ?? "", service: PROCESS, serviceType: "cenbii-procid-ubl",
    action: `busdox-docid-qns::${TYPE}`, conversationId: "1", originalSender: SENDER, finalRecipient: receiver,
  };
  return { messageId, ...await buildUserMessage({ message, payload: sbd.bytes, id: randomUUID(), signer: from, recipient: to.certificate }, here) };
}

/** Runs a step for so long and says how many a second. */
async function rate(seconds: number, step: () => Promise<unknown> | void): Promise<number> {
  const start = systemClock.monotonic();
  let count = 0;
  while (systemClock.monotonic() - start < seconds * 1_000) {
    await step();
    count += 1;
  }
  return count / ((systemClock.monotonic() - start) / 1_000);
}

/** The RSA of one inbound message and nothing else: decrypt its key, verify its signature, sign its receipt. */
function rsaLimit(seconds: number, own: Key): Promise<number> {
  const key = createPrivateKey(own.pem);
  const { publicKey } = new X509Certificate(own.certificate);
  const octets = randomBytes(1_024);
  const padding = { padding: constants.RSA_PKCS1_OAEP_PADDING, oaepHash: "sha256" };
  const wrapped = publicEncrypt({ key: publicKey, ...padding }, randomBytes(16));
  const signature = sign("sha256", octets, key);
  return rate(seconds, () => {
    privateDecrypt({ key, ...padding }, wrapped);
    if (!verify("sha256", octets, publicKey, signature)) throw new Error("the signature does not hold");
    sign("sha256", octets, key);
  });
}

async function protocolFigures(options: BenchOptions, from: Key, to: Key): Promise<Figure[]> {
  const seconds = options.tiny ? 0.1 : 3;
  const receiver = "0245:7000000001" as ParticipantId;
  const message = await makeMessage(from, to, receiver);
  const limit = await rsaLimit(seconds, to);
  const inbound = await rate(seconds, async () => {
    const opened = await openUserMessage(message.body, message.contentType, { keys: [to], payloadBytesMax: 1_000_000 }, here);
    if (opened.kind !== "message") throw new Error(opened.reason);
    await buildReceipt({ id: randomUUID(), signer: to, messageId: "r@bench", timestamp: "2026-11-20T10:00:00Z", refToMessageId: message.messageId }, opened.references, here);
  });
  const receipt = await buildReceipt({ id: "r", signer: to, messageId: "r@bench", timestamp: "2026-11-20T10:00:00Z", refToMessageId: message.messageId }, message.references, here);
  const outbound = await rate(seconds, async () => {
    const made = await makeMessage(from, to, receiver);
    const answer = await readAnswer(Buffer.from(receipt.body), receipt.contentType, { messageId: message.messageId, references: message.references, recipient: to.certificate }, here);
    if (answer.kind !== "receipt" || made.body.length === 0) throw new Error(answer.kind);
  });
  return [
    { name: "RSA limit, inbound", value: limit, unit: "/s", note: "decrypt + verify + sign, RSA-2048, one core" },
    { name: "open + receipt", value: inbound, unit: "/s", note: `one core, ${message.body.length} octets a message` },
    { name: "build + check receipt", value: outbound, unit: "/s", note: "one core, the invoice written anew each time" },
    { name: "open + receipt ÷ RSA limit", value: inbound / limit, unit: "ratio" },
  ];
}

/** Evidence alone: exchanges of ordinary size, 64 under way, on this disk and in this Postgres. */
async function evidenceFigure(options: BenchOptions, engine: BenchEngine): Promise<Figure> {
  const root = mkdtempSync(join(tmpdir(), "kurier-bench-evidence-"));
  const journal = createEvidenceJournal({ sql: engine.sql, store: openFileEvidence(root), clock: systemClock });
  const [envelope, payload, receipt, rest] = [randomBytes(12_700), randomBytes(2_300), randomBytes(6_100), randomBytes(8_000)];
  const one = (): Promise<unknown> => journal.store({
    referencesSha256: "0".repeat(64),
    record: {
      facts: {
        direction: "inbound", id: randomUUID(), outcome: "stored", documentId: newId(systemClock), messageId: randomUUID(), instanceId: randomUUID(), sender: SENDER, receiver: SENDER,
        documentTypeId: TYPE, processId: PROCESS, requestAt: systemClock.now(), answerAt: systemClock.now(), requestContentType: "multipart/related",
      },
      parts: [{ name: "request", bytes: envelope }, { name: "payload", bytes: payload }, { name: "answer", bytes: receipt }, { name: "smp", bytes: rest }],
    },
  });
  try {
    const value = await rate(options.tiny ? 0.1 : 3, () => Promise.all(Array.from({ length: 64 }, one)));
    return { name: "evidence alone", value: value * 64, unit: "/s", note: "29 KB a record, 64 under way, fsync of every file, directory and commit" };
  } finally {
    rmSync(root, { recursive: true, force: true });
  }
}

/** Milliseconds of processor time that a process has used; undefined where the system does not say. Independent of who else is running. */
function cpuOf(pid: number): number | undefined {
  const file = `/proc/${pid}/stat`;
  if (!existsSync(file)) return undefined;
  const fields = readFileSync(file, "utf8").split(") ")[1]?.split(" ") ?? [];
  const TICK_MS = 10;
  return (Number(fields[11]) + Number(fields[12])) * TICK_MS;
}

/** Every answered message has exactly one document and one record of evidence. @throws Error otherwise */
async function checkRows(engine: BenchEngine, answered: number): Promise<void> {
  const [row] = await engine.sql<{ documents: number; evidence: number }[]>`
    select (select count(*)::integer from received_document) as documents, (select count(*)::integer from evidence where envelope_bytes > 0 and outcome = 'stored' and firm_id is not null) as evidence`;
  if (row?.documents !== answered || row.evidence !== answered) throw new Error(`${answered} messages answered, but ${row?.documents ?? 0} documents and ${row?.evidence ?? 0} records of evidence`);
}

async function receiveFigure(options: BenchOptions, engine: BenchEngine, from: Key, to: Key): Promise<Figure[]> {
  const firms = await makeFirms(engine, options.tiny ? 2 : RECEIVERS);
  const amount = options.tiny ? 40 : options.seconds * RATE_CEILING;
  const warmUp = options.tiny ? 4 : 500;
  options.say(`making ${amount + warmUp} messages …`);
  const messages: Prepared[] = [];
  for (let i = 0; i < amount + warmUp; i += 1) messages.push(await makeMessage(from, to, (firms[i % firms.length]?.participantId ?? "") as ParticipantId));
  let next = 0;
  const load = (count: number, connections: number) => runLoad({
    url: engine.sandbox.baseUrl.replace("/api/v1", ""), connections, seconds: options.seconds, amount: count,
    next: () => {
      const message = messages[next++ % messages.length];
      return { method: "POST", path: "/as4", headers: { "content-type": message?.contentType ?? "" }, body: message?.body ?? Buffer.alloc(0) };
    },
  });
  options.say("receiving …");
  await load(warmUp, 4);
  const before = cpuOf(engine.pid);
  const result = await load(amount, options.tiny ? 4 : CONNECTIONS);
  const after = cpuOf(engine.pid);
  await checkRows(engine, amount + warmUp);
  const cpu: Figure[] = before === undefined || after === undefined ? [] : [{ name: "processor time a message", value: (after - before) / amount, unit: "ms", note: "of the engine's process with its workers, without Postgres" }];
  return [{
    name: "kurier /as4", value: result.perSecond, unit: "/s", p50_ms: result.p50_ms, p99_ms: result.p99_ms, p999_ms: result.p999_ms,
    errors: result.errors + [...result.statuses].reduce((sum, [status, count]) => sum + (status === 200 ? 0 : count), 0),
    note: `${CONNECTIONS} connections; opened, stored, archived with fsync, receipted; the client shares the cores`,
  }, ...cpu];
}

export const as4Bench: Bench = {
  name: "as4",
  question: "How many AS4 messages a second does a node take, stored and archived before each receipt, against its RSA limit?",
  seconds: 10,
  run: async (options) => {
    const engine = await startBenchEngine({ role: "gateway" });
    const folder = mkdtempSync(join(tmpdir(), "kurier-bench-pki-"));
    try {
      const ours = join(engine.dataDir, "pki");
      await ensureDevelopmentPki({ folder: join(folder, "pki"), clock: systemClock, seat: "PSK000002", from: ours });
      const [from, to] = [await accessPointKey(join(folder, "pki")), await accessPointKey(ours)];
      options.say("the protocol alone …");
      const protocol = await protocolFigures(options, from, to);
      const received = await receiveFigure(options, engine, from, to);
      const limit = protocol[0]?.value ?? 1;
      return [...received, ...protocol, { name: "/as4 ÷ RSA limit", value: (received[0]?.value ?? 0) / limit, unit: "ratio" }, await evidenceFigure(options, engine)];
    } finally {
      await engine.stop();
      rmSync(folder, { recursive: true, force: true });
    }
  },
};
