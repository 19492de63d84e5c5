/** What leaves for another access point: a document, and the transport that takes it there. */
import { randomUUID } from "node:crypto";

import { systemClock } from "../../../engine/base/clock.js";
import type { DocumentId, FirmId, ParticipantId } from "../../../engine/base/ids.js";
import { silentLog } from "../../../engine/base/log.js";
import { sampleInvoice } from "../../../engine/invoices/sample-invoice.js";
import { createReceivers } from "../../../engine/peppol/as4/send-gate.js";
import { createAs4Transport } from "../../../engine/peppol/as4/send.js";
import { BILLING_CAPABILITIES, BILLING_PROCESS } from "../../../engine/peppol/envelope/identifiers.js";
import type { Exchange, Transport } from "../../../engine/peppol/transport.js";
import { inThread } from "./as4.js";
import type { AccessPoint } from "./as4-keys.js";
import { ownOf, trustIn } from "./as4-peer.js";
import { memoryArchive } from "./evidence.js";

const sender = "0245:2020202020" as ParticipantId;
const receiver = "0245:1234567890" as ParticipantId;
/** An invoice of one line from one participant to the other. */
export const invoiceOf = (changes: Partial<Parameters<typeof sampleInvoice>[0]> = {}): Buffer =>
  Buffer.from(
    sampleInvoice({
      ...{ sender, receiver, senderName: "A", receiverName: "B", number: "1", issueDate: "2026-11-20", lines: 1 },
      ...changes,
    }),
  );

/** The first attempt at an invoice. */
export const outgoing = (changes: Partial<Exchange> = {}): Exchange => ({
  documentId: randomUUID() as DocumentId,
  firmId: randomUUID() as FirmId,
  ...{ attempt: 1, answers: 0, sender, receiver },
  documentTypeId: BILLING_CAPABILITIES[0]?.documentTypeId ?? "",
  processId: BILLING_PROCESS,
  as4MessageId: `${randomUUID()}@kurier`,
  sbdhInstanceId: randomUUID(),
  createdAt: systemClock.now(),
  countryC1: "SK",
  payload: invoiceOf(),
  ...changes,
});

type Ports = Parameters<typeof createAs4Transport>[0];

/** The transport of an access point to the only other one that it knows. */
export const transportTo = (
  url: string,
  [us, them]: readonly [AccessPoint, AccessPoint],
  { clock = systemClock, ...more }: Pick<Ports, "http"> & Partial<Ports>,
): Transport =>
  createAs4Transport({
    endpoints: {
      find: () => Promise.resolve({ kind: "endpoint", url, certificate: them.certificate }),
      forget: () => undefined,
    },
    ...{ trust: trustIn(them), own: ownOf(us), crypto: inThread, receivers: createReceivers({ clock }) },
    ...{ evidence: memoryArchive(), clock, log: silentLog, ...more },
  });
