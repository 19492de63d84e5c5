/** `loop-block`: how long the engine's event loop stands still for one document of the largest size. */
import { randomBytes, randomUUID } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { bratislavaDay, systemClock } from "../../engine/base/clock.js";
import type { ParticipantId } from "../../engine/base/ids.js";
import { LIMITS } from "../../engine/base/limits.js";
import { sampleInvoice } from "../../engine/invoices/sample-invoice.js";
import { BILLING_CAPABILITIES } from "../../engine/peppol/envelope/identifiers.js";
import { makeFirms, startBenchEngine } from "../engine.js";
import type { BenchEngine, BenchFirm } from "../engine.js";
import type { Bench, BenchOptions, Figure } from "../runner.js";
import { loopProbe, readLoop, until } from "./probe.js";

const TINY_BYTES = 300_000;
/** Left free of the largest payload, so that what surrounds the filling fits. */
const MARGIN_BYTES = 200_000;
const LINE_BYTES = 800;

interface Probed {
  readonly engine: BenchEngine;
  readonly file: string;
}

/** The longest turn of the engine's loop since the last call, milliseconds. */
const longestBlock = async ({ engine, file }: Probed): Promise<number> => (await readLoop(engine.pid, file)).longest_ms;

/** Invoices of one size: many lines, which gzip shrinks to a twentieth, and one attachment, which it cannot shrink. */
const CONTENTS: Readonly<Record<string, (invoice: (lines: number) => string, bytes: number) => string>> = {
  "many lines": (invoice, bytes) => invoice(Math.floor(bytes / LINE_BYTES)),
  "an attachment": (invoice, bytes) => {
    const octets = randomBytes(Math.floor((bytes * 3) / 4)).toString("base64");
    return invoice(1).replace(
      "<cac:AccountingSupplierParty>",
      `<cac:AdditionalDocumentReference><cbc:ID>A1</cbc:ID><cac:Attachment><cbc:EmbeddedDocumentBinaryObject mimeCode="application/pdf" filename="a.pdf">${octets}</cbc:EmbeddedDocumentBinaryObject></cac:Attachment></cac:AdditionalDocumentReference><cac:AccountingSupplierParty>`,
    );
  },
};

interface Pair {
  readonly sender: BenchFirm;
  readonly receiver: BenchFirm;
}

const headersOf = (firm: BenchFirm): Record<string, string> => ({
  "content-type": "application/json",
  authorization: `Bearer ${firm.token}`,
  "x-peppol-participant-id": firm.participantId,
});

function bodyOf(
  name: string,
  { sender, receiver }: Pair,
  bytes: number,
): { readonly body: string; readonly payload: string } {
  const number = randomUUID().slice(0, 8);
  const payload = (CONTENTS[name] as (typeof CONTENTS)[string])(
    (lines) =>
      sampleInvoice({
        sender: sender.participantId as ParticipantId,
        receiver: receiver.participantId as ParticipantId,
        senderName: "Bench s. r. o.",
        receiverName: "Príjemca a. s.",
        number,
        issueDate: bratislavaDay(systemClock.now()),
        lines: Math.max(1, lines),
      }),
    bytes,
  );
  const metadata = {
    documentId: number,
    documentTypeId: BILLING_CAPABILITIES[0]?.documentTypeId,
    processId: BILLING_CAPABILITIES[0]?.processId,
    senderParticipantId: sender.participantId,
    receiverParticipantId: receiver.participantId,
  };
  return { payload, body: JSON.stringify({ metadata, payload, payloadFormat: "XML" }) };
}

/** Sends one document, waits until its receiver sees it, reads it. @throws Error when it is not the same text */
async function oneDocument(probed: Probed, name: string, pair: Pair, bytes: number): Promise<Figure[]> {
  const { engine } = probed;
  const { body, payload } = bodyOf(name, pair, bytes);
  const parse = systemClock.monotonic();
  JSON.parse(body);
  const parse_ms = systemClock.monotonic() - parse;
  const base = engine.sandbox.sapiBaseUrl;
  await longestBlock(probed);
  const answer = await fetch(`${base}/document/send`, {
    method: "POST",
    headers: { ...headersOf(pair.sender), "idempotency-key": randomUUID() },
    body,
  });
  if (answer.status !== 202) throw new Error(`${name}: the engine answered ${answer.status} ${await answer.text()}`);
  const { providerDocumentId } = (await answer.json()) as { readonly providerDocumentId: string };
  const send_ms = await longestBlock(probed);
  const arrived = async (): Promise<string | undefined> => {
    const [row] = await engine.sql<{ readonly id: string }[]>`
      select r.id from document as d join received_document as r on r.as4_message_id = d.as4_message_id
      where d.id = ${providerDocumentId} and d.status = 'delivered' and r.status = 'RECEIVED'`;
    return row?.id;
  };
  await until(async () => (await arrived()) !== undefined, `the delivery of ${name}`);
  const deliver_ms = await longestBlock(probed);
  const read = await fetch(`${base}/document/receive/${(await arrived()) ?? ""}`, {
    headers: headersOf(pair.receiver),
  });
  const received = (await read.json()) as { readonly payload?: string };
  if (received.payload !== payload) throw new Error(`${name}: what was read is not what was sent`);
  const read_ms = await longestBlock(probed);
  const size = `${(Buffer.byteLength(payload) / 1e6).toFixed(1)} MB, ${name}`;
  return [
    { name: `send, ${name}`, value: send_ms, unit: "ms", note: `${size}: from the request to its 202` },
    { name: `delivery, ${name}`, value: deliver_ms, unit: "ms", note: "AS4 out and in at one node, evidence, verdict" },
    { name: `inbox, ${name}`, value: read_ms, unit: "ms", note: "read by its receiver" },
    {
      name: `JSON.parse, ${name}`,
      value: parse_ms,
      unit: "ms",
      note: "of the request's text alone, in another process",
    },
    { name: `send ÷ JSON.parse, ${name}`, value: send_ms / parse_ms, unit: "ratio" },
  ];
}

/** The longest block of the event loop while a large document is sent and while one arrives. */
export const loopBlockBench: Bench = {
  name: "loop-block",
  question: "How long does the event loop stand still for one document of 20 MB: when it is sent, delivered and read?",
  seconds: 1,
  run: async (options: BenchOptions) => {
    const folder = mkdtempSync(join(tmpdir(), "kurier-loop-"));
    const file = join(folder, "delay");
    const engine = await startBenchEngine({ role: "all", nodeOptions: ["--import", loopProbe(file)] });
    try {
      const [sender, receiver] = await makeFirms(engine, 2);
      if (sender === undefined || receiver === undefined) throw new Error("no firms");
      const pair = { sender, receiver };
      const probed = { engine, file };
      const bytes = options.tiny ? TINY_BYTES : LIMITS.payload_bytes_max - MARGIN_BYTES;
      const figures: Figure[] = [];
      for (const name of Object.keys(CONTENTS)) {
        options.say(`warming up with ${name} …`);
        await oneDocument(probed, name, pair, TINY_BYTES);
        options.say(`${name} …`);
        figures.push(...(await oneDocument(probed, name, pair, bytes)));
      }
      return figures;
    } finally {
      await engine.stop();
      rmSync(folder, { recursive: true, force: true });
    }
  },
};
