/** Message Level Statuses that cost whoever reads them as much as their octets allow, sealed as a peer would. */
import { randomUUID } from "node:crypto";

import { systemClock } from "../../engine/base/clock.js";
import { buildUserMessage, commonName } from "../../engine/peppol/as4/messages.js";
import type { As4Crypto, BuiltMessage } from "../../engine/peppol/as4/messages.js";
import { wrapDocument } from "../../engine/peppol/envelope/byte-exact.js";
import { MLS_DOCUMENT_TYPE, MLS_PROCESS } from "../../engine/peppol/responses/mls.js";
import { providerOfSeat } from "../../engine/peppol/seats.js";
import { signatureTasks } from "../../validators/signature.js";
import type { AccessPointKey } from "../rsa.js";

const here: As4Crypto = (kind, input) => Promise.resolve(signatureTasks[kind](input));

const UBL = "urn:oasis:names:specification:ubl:schema:xsd";
const LINE = `<cac:LineResponse xmlns:cac="${UBL}:CommonAggregateComponents-2"/>`;
/** Octets of a status: nearly as many as one may have. */
const STATUS_BYTES = 332_000;
const PREFIXES = 30;

const around = (inner: string): Buffer => {
  const prefixes = Array.from({ length: PREFIXES }, (_, i) => ` xmlns:p${i}="urn:p"`).join("");
  return Buffer.from(
    `<ApplicationResponse xmlns="${UBL}:ApplicationResponse-2"${prefixes}>` +
      `<cac:DocumentResponse xmlns:cac="urn:other">${inner}</cac:DocumentResponse></ApplicationResponse>`,
  );
};

/** Thousands of declarations, text that looks like thousands of prefixes, elements as deep as they may be. */
const STATUSES: readonly Buffer[] = [
  around(LINE.repeat(Math.floor(STATUS_BYTES / LINE.length))),
  around(`${"p".repeat(20)}:`.repeat(Math.floor(STATUS_BYTES / 21))),
  around(`${"<a>".repeat(60)}${"</a>".repeat(60)}`.repeat(Math.floor(STATUS_BYTES / 420))),
];

/** Makes the next hostile status, which a peer of the network has signed. */
export function hostileStatuses(from: AccessPointKey, to: AccessPointKey): () => Promise<BuiltMessage> {
  const [fromParty, toParty] = [commonName(from.certificate) ?? "", commonName(to.certificate) ?? ""];
  const [sender, receiver] = [providerOfSeat(fromParty), providerOfSeat(toParty)];
  if (sender === undefined || receiver === undefined) throw new Error("a seat is none");
  let n = 0;
  return () => {
    const sbd = wrapDocument({
      sender,
      receiver,
      documentType: MLS_DOCUMENT_TYPE,
      process: MLS_PROCESS,
      instanceId: randomUUID(),
      createdAt: systemClock.now(),
      countryC1: "SK",
      payload: STATUSES[n++ % STATUSES.length] as Buffer,
    });
    if (sbd.kind === "refused") throw new Error(sbd.fault);
    const message = {
      messageId: `${randomUUID()}@bench`,
      timestamp: new Date(systemClock.now()).toISOString(),
      fromParty,
      toParty,
      service: MLS_PROCESS,
      serviceType: "cenbii-procid-ubl",
      action: `busdox-docid-qns::${MLS_DOCUMENT_TYPE}`,
      conversationId: "1",
      originalSender: sender,
      finalRecipient: receiver,
    };
    return buildUserMessage(
      { message, payload: sbd.bytes, id: randomUUID(), signer: from, recipient: to.certificate },
      here,
    );
  };
}
