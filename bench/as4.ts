/**
 * `as4`: exchanges a second of the protocol alone, and messages a second that a node takes at /as4, opened, stored,
 * archived with fsync and receipted, against what RSA keys allow.
 */
import { randomBytes, randomUUID } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:http";
import { availableParallelism, tmpdir } from "node:os";
import { join } from "node:path";

import { systemClock } from "../engine/base/clock.js";
import { sampleInvoice } from "../engine/invoices/sample-invoice.js";
import { newId } from "../engine/base/ids.js";
import type { ParticipantId } from "../engine/base/ids.js";
import { LIMITS } from "../engine/base/limits.js";
import {
  buildReceipt,
  buildUserMessage,
  commonName,
  openUserMessage,
  readAnswer,
} from "../engine/peppol/as4/messages.js";
import type { As4Crypto, BuiltMessage } from "../engine/peppol/as4/messages.js";
import { createHttpClient } from "../engine/peppol/network/http.js";
import { BILLING_CAPABILITIES } from "../engine/peppol/envelope/identifiers.js";
import { ensureDevelopmentPki } from "../engine/peppol/pki/development.js";
import { wrapDocument } from "../engine/peppol/envelope/byte-exact.js";
import { createEvidenceJournal } from "../engine/storage/evidence/journal.js";
import { openFileEvidence } from "../engine/storage/evidence/store-file.js";
import { createPool } from "../validators/pool.js";
import { signatureTasks } from "../validators/signature.js";
import { perUnit, processorTime } from "./cpu.js";
import { freePort, makeFirms, startBenchEngine } from "./engine.js";
import type { BenchEngine } from "./engine.js";
import { rateFigure, runLoad } from "./load.js";
import { accessPointKey, besideRsaLimit, rate } from "./rsa.js";
import type { AccessPointKey } from "./rsa.js";
import type { Bench, BenchOptions, Figure } from "./runner.js";
import { originOf } from "./send-requests.js";

const CONNECTIONS = 96;
/** Lines that make an invoice of about 12 KB. */
const LINES = 6;
/** Receivers, so that turns of one participant are not what is measured. */
const RECEIVERS = 500;
/** Messages before the measured ones: as many as it takes until the code is compiled. */
const WARM_UP = 3_000;
/** More messages than any node takes in a second; it decides how many are made before the run. */
const RATE_CEILING = 1_200;
const SENDER = "0245:7000000000" as ParticipantId;
const TYPE = BILLING_CAPABILITIES[0]?.documentTypeId ?? "";
const PROCESS = BILLING_CAPABILITIES[0]?.processId ?? "";

const here: As4Crypto = (kind, input) => Promise.resolve(signatureTasks[kind](input));

interface Prepared extends BuiltMessage {
  readonly messageId: string;
}

/** A standard business document around an invoice of about 12 KB. */
function sbdOf(receiver: ParticipantId): Buffer {
  const payload = Buffer.from(
    sampleInvoice({
      sender: SENDER,
      receiver,
      senderName: "Bench s. r. o.",
      receiverName: "Príjemca a. s.",
      number: `B-${randomUUID()}`,
      issueDate: "2026-11-20",
      lines: LINES,
    }),
  );
  const sbd = wrapDocument({
    sender: SENDER,
    receiver,
    documentType: TYPE,
    process: PROCESS,
    instanceId: randomUUID(),
    createdAt: systemClock.now(),
    countryC1: "SK",
    payload,
  });
  if (sbd.kind === "refused") throw new Error(sbd.fault);
  return sbd.bytes;
}

async function seal(
  { from, to }: { readonly from: AccessPointKey; readonly to: AccessPointKey },
  receiver: ParticipantId,
  payload: Buffer,
  crypto: As4Crypto,
): Promise<Prepared> {
  const messageId = `${randomUUID()}@bench`;
  const message = {
    messageId,
    timestamp: "2026-11-20T10:00:00.000Z",
    fromParty: commonName(from.certificate) ?? "",
    toParty: commonName(to.certificate) ?? "",
    service: PROCESS,
    serviceType: "cenbii-procid-ubl",
    action: `busdox-docid-qns::${TYPE}`,
    conversationId: "1",
    originalSender: SENDER,
    finalRecipient: receiver,
  };
  return {
    messageId,
    ...(await buildUserMessage(
      { message, payload, id: randomUUID(), signer: from, recipient: to.certificate },
      crypto,
    )),
  };
}

const makeMessage = (from: AccessPointKey, to: AccessPointKey, receiver: ParticipantId): Promise<Prepared> =>
  seal({ from, to }, receiver, sbdOf(receiver), here);

/** One exchange after the other on one thread: what the protocol costs without workers and network. */
async function protocolFigures(seconds: number, from: AccessPointKey, to: AccessPointKey): Promise<Figure[]> {
  const receiver = "0245:7000000001" as ParticipantId;
  const message = await makeMessage(from, to, receiver);
  const inbound = await rate(seconds, async () => {
    const opened = await openUserMessage(
      message.body,
      message.contentType,
      { keys: [to], payloadBytesMax: 1_000_000 },
      here,
    );
    if (opened.kind !== "message") throw new Error(opened.reason);
    await buildReceipt(
      {
        id: randomUUID(),
        signer: to,
        messageId: "r@bench",
        timestamp: "2026-11-20T10:00:00Z",
        refToMessageId: message.messageId,
      },
      opened.references,
      here,
    );
  });
  return [
    { name: "open + receipt, one thread", value: inbound, unit: "/s", note: `${message.body.length} octets a message` },
  ];
}

/** An access point without a store: opens what is posted, and answers with a signed receipt. */
async function startStack(
  own: AccessPointKey,
  crypto: As4Crypto,
): Promise<{ readonly url: string; stop(): Promise<void> }> {
  const answer = async (
    body: Buffer,
    contentType: string,
  ): Promise<{ readonly contentType: string; readonly body: Uint8Array }> => {
    const opened = await openUserMessage(body, contentType, { keys: [own], payloadBytesMax: 1_000_000 }, crypto);
    if (opened.kind !== "message") throw new Error(opened.reason);
    return buildReceipt(
      {
        id: randomUUID(),
        signer: own,
        messageId: `${randomUUID()}@bench`,
        timestamp: "2026-11-20T10:00:00Z",
        refToMessageId: opened.message.messageId,
      },
      opened.references,
      crypto,
    );
  };
  const server = createServer((request, response) => {
    const pieces: Buffer[] = [];
    request.on("data", (piece: Buffer) => {
      pieces.push(piece);
    });
    request.on("end", () => {
      answer(Buffer.concat(pieces), request.headers["content-type"] ?? "").then(
        (receipt) => {
          response
            .writeHead(200, { "content-type": receipt.contentType, "content-length": receipt.body.length })
            .end(receipt.body);
        },
        () => {
          response.writeHead(500).end();
        },
      );
    });
  });
  const port = await freePort();
  await new Promise<void>((resolve) => server.listen(port, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${port}/as4`,
    stop: () =>
      new Promise<void>((resolve) => {
        server.close(() => {
          resolve();
        });
        server.closeAllConnections();
      }),
  };
}

/**
 * Whole exchanges over HTTP on this machine, the cryptography in worker threads, no store: sign, encrypt, post,
 * decrypt, verify, sign the receipt, verify it. Then the sender's half alone.
 */
async function stackFigures(
  options: BenchOptions,
  engine: BenchEngine,
  from: AccessPointKey,
  to: AccessPointKey,
): Promise<{ readonly figures: Figure[]; readonly whole: number; readonly limit: number }> {
  const seconds = options.tiny ? 0.2 : options.seconds;
  const pool = createPool({
    threads: { small: availableParallelism(), large: 1 },
    queueMax: LIMITS.validator_queue_max,
    queueBytesMax: LIMITS.validator_queue_bytes_max,
    jobTimeoutMs: LIMITS.validator_document_timeout_ms,
  });
  const crypto: As4Crypto = (kind, input) => pool.run(kind, input);
  const stack = await startStack(to, crypto);
  const http = createHttpClient({ policy: { allowLoopback: true, ownOrigins: [] } });
  const receiver = "0245:7000000001" as ParticipantId;
  const payload = sbdOf(receiver);
  const exchange = async (): Promise<Prepared> => {
    const sent = await seal({ from, to }, receiver, payload, crypto);
    const result = await http.request({
      method: "POST",
      use: "as4",
      url: stack.url,
      headers: { "content-type": sent.contentType },
      body: sent.body,
      bytes_max: LIMITS.as4_answer_bytes_max,
      timeout_ms: LIMITS.as4_exchange_timeout_ms,
    });
    if (result.kind !== "response") throw new Error(result.fault);
    const answer = await readAnswer(
      result.body,
      result.contentType,
      { messageId: sent.messageId, references: sent.references, recipient: to.certificate },
      crypto,
    );
    if (answer.kind !== "receipt") throw new Error(answer.kind);
    return sent;
  };
  const at = (step: () => Promise<unknown>): Promise<number> =>
    inParallel(seconds, options.tiny ? 2 : CONNECTIONS, step);
  try {
    options.say("the protocol over HTTP, no store …");
    if (!options.tiny) await inParallel(2, CONNECTIONS, exchange);
    const { result: whole, limit } = await besideRsaLimit(join(engine.dataDir, "pki"), "exchange", () => at(exchange));
    const outbound = await at(() => seal({ from, to }, receiver, payload, crypto));
    const figures: Figure[] = [
      {
        name: "exchanges, no store",
        value: whole,
        unit: "/s",
        note: "sealed, posted, opened, receipted, receipt checked; both sides in this process, RSA in workers",
      },
      { name: "sealed, outbound alone", value: outbound, unit: "/s", note: "signed and encrypted by workers" },
    ];
    return { figures, whole, limit };
  } finally {
    http.close();
    await stack.stop();
    await pool.stop();
  }
}

/** Runs `step` over and over, so many at once. @returns how many a second ended */
async function inParallel(seconds: number, concurrency: number, step: () => Promise<unknown>): Promise<number> {
  const start = systemClock.monotonic();
  let count = 0;
  await Promise.all(
    Array.from({ length: concurrency }, async () => {
      while (systemClock.monotonic() - start < seconds * 1_000) {
        await step();
        count += 1;
      }
    }),
  );
  return count / ((systemClock.monotonic() - start) / 1_000);
}

/** Measures the archive alone: exchanges of ordinary size, 64 at a time, on this disk and in this Postgres. */
async function evidenceFigure(options: BenchOptions, engine: BenchEngine): Promise<Figure> {
  const root = mkdtempSync(join(tmpdir(), "kurier-bench-evidence-"));
  const journal = createEvidenceJournal({ sql: engine.sql, store: openFileEvidence(root), clock: systemClock });
  const [envelope, payload, receipt, rest] = [
    randomBytes(12_700),
    randomBytes(2_300),
    randomBytes(6_100),
    randomBytes(8_000),
  ];
  const one = (): Promise<unknown> =>
    journal.store({
      referencesSha256: "0".repeat(64),
      record: {
        facts: {
          direction: "inbound",
          id: randomUUID(),
          outcome: "stored",
          documentId: newId(systemClock),
          messageId: randomUUID(),
          instanceId: randomUUID(),
          sender: SENDER,
          receiver: SENDER,
          documentTypeId: TYPE,
          processId: PROCESS,
          requestAt: systemClock.now(),
          answerAt: systemClock.now(),
          requestContentType: "multipart/related",
        },
        parts: [
          { name: "request", bytes: envelope },
          { name: "payload", bytes: payload },
          { name: "answer", bytes: receipt },
          { name: "smp", bytes: rest },
        ],
      },
    });
  try {
    const value = await rate(options.tiny ? 0.1 : 3, () => Promise.all(Array.from({ length: 64 }, one)));
    return {
      name: "evidence alone",
      value: value * 64,
      unit: "/s",
      note: "29 KB a record, 64 under way, fsync of every file, directory and commit",
    };
  } finally {
    rmSync(root, { recursive: true, force: true });
  }
}

/** Every answered message has exactly one document and one record of evidence. @throws Error otherwise */
async function checkRows(engine: BenchEngine, answered: number): Promise<void> {
  const [row] = await engine.sql<{ readonly documents: number; readonly evidence: number }[]>`
    select (select count(*)::integer from received_document) as documents, (select count(*)::integer from evidence
      where envelope_bytes > 0 and outcome = 'stored' and firm_id is not null) as evidence`;
  if (row?.documents !== answered || row.evidence !== answered)
    throw new Error(
      `${answered} messages answered, but ${row?.documents ?? 0} documents and ${row?.evidence ?? 0} records of evidence`,
    );
}

async function receiveFigure(
  options: BenchOptions,
  engine: BenchEngine,
  from: AccessPointKey,
  to: AccessPointKey,
): Promise<{ readonly figure: Figure; readonly limit: number }> {
  const firms = await makeFirms(engine, options.tiny ? 2 : RECEIVERS);
  const amount = options.tiny ? 40 : options.seconds * RATE_CEILING;
  const warmUp = options.tiny ? 4 : WARM_UP;
  options.say(`making ${amount + warmUp} messages …`);
  const messages: Prepared[] = [];
  for (let i = 0; i < amount + warmUp; i += 1)
    messages.push(await makeMessage(from, to, (firms[i % firms.length]?.participantId ?? "") as ParticipantId));
  let next = 0;
  const load = (count: number, connections: number) =>
    runLoad({
      url: originOf(engine.sandbox),
      connections,
      seconds: options.seconds,
      amount: count,
      next: () => {
        const message = messages[next++ % messages.length];
        return {
          method: "POST",
          path: "/as4",
          headers: { "content-type": message?.contentType ?? "" },
          body: message?.body ?? Buffer.alloc(0),
        };
      },
    });
  options.say("receiving …");
  await load(warmUp, 4);
  const before = processorTime(engine.pid);
  const { result, limit } = await besideRsaLimit(join(engine.dataDir, "pki"), "inbound", () =>
    load(amount, options.tiny ? 4 : CONNECTIONS),
  );
  options.say(`processor time per message, ms: ${perUnit(before, processorTime(engine.pid), amount)}`);
  await checkRows(engine, amount + warmUp);
  return {
    limit,
    figure: rateFigure(
      "kurier /as4",
      result,
      `${CONNECTIONS} connections; opened, stored, archived with fsync, receipted; client and Postgres share the cores`,
      200,
    ),
  };
}

/** Messages per second over AS4, and what each step of one costs. */
export const as4Bench: Bench = {
  name: "as4",
  question:
    "How many AS4 exchanges a second does the protocol make, and how many messages a node takes, stored and archived before each receipt, against what RSA allows?",
  seconds: 10,
  run: async (options) => {
    const engine = await startBenchEngine({ role: "gateway" });
    const folder = mkdtempSync(join(tmpdir(), "kurier-bench-pki-"));
    try {
      const ours = join(engine.dataDir, "pki");
      await ensureDevelopmentPki({ folder: join(folder, "pki"), clock: systemClock, seat: "PSK000002", from: ours });
      const [from, to] = [await accessPointKey(join(folder, "pki")), await accessPointKey(ours)];
      const stack = await stackFigures(options, engine, from, to);
      const received = await receiveFigure(options, engine, from, to);
      return [
        ...stack.figures,
        received.figure,
        ...(await protocolFigures(options.tiny ? 0.1 : 3, from, to)),
        await evidenceFigure(options, engine),
        {
          name: "RSA limit, exchange",
          value: stack.limit,
          unit: "/s",
          note: "sign + encrypt + decrypt + verify + sign + verify, RSA-2048, one core; by processor time, meanwhile",
        },
        {
          name: "RSA limit, inbound",
          value: received.limit,
          unit: "/s",
          note: "decrypt + verify + sign, RSA-2048, one core; by processor time, meanwhile",
        },
        { name: "exchanges ÷ RSA limit", value: stack.whole / stack.limit, unit: "ratio" },
        { name: "/as4 ÷ RSA limit", value: received.figure.value / received.limit, unit: "ratio" },
      ];
    } finally {
      await engine.stop();
      rmSync(folder, { recursive: true, force: true });
    }
  },
};
