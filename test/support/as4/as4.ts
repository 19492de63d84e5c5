/** AS4 tests: the signature handlers in this thread, and one message to start from. */
import { gunzipSync } from "node:zlib";
import { randomUUID } from "node:crypto";
import { buildUserMessage, openUserMessage } from "../../../engine/peppol/as4/messages.js";
import type { As4Crypto, BuiltMessage, OpenedMessage, RefusedMessage } from "../../../engine/peppol/as4/messages.js";
import type { UserMessage } from "../../../engine/peppol/as4/user-message.js";
import { signatureTasks } from "../../../validators/signature.js";
import type { AccessPoint } from "./as4-keys.js";
import type { InboundExchange } from "../../../engine/peppol/transport.js";

export const inThread: As4Crypto = async (kind, input) => signatureTasks[kind](input);

export const PAYLOAD_BYTES_MAX = 1_000_000;

export const userMessage = (from: AccessPoint, to: AccessPoint, overrides: Partial<UserMessage> = {}): UserMessage => ({
  messageId: `${randomUUID()}@kurier.test`,
  timestamp: "2026-11-20T10:00:00.000Z",
  fromParty: from.seat,
  toParty: to.seat,
  service: "urn:fdc:peppol.eu:2017:poacc:billing:01:1.0",
  serviceType: "cenbii-procid-ubl",
  action:
    "busdox-docid-qns::urn:oasis:names:specification:ubl:schema:xsd:Invoice-2::Invoice##urn:cen.eu:en16931:2017#compliant#urn:fdc:peppol.eu:2017:poacc:billing:3.0::2.1",
  conversationId: "1",
  originalSender: "0245:2020202020",
  finalRecipient: "0245:1234567890",
  ...overrides,
});

/** About 12 KB of XML, the size of an ordinary invoice. */
export const invoiceBytes = Buffer.from(
  `<?xml version="1.0" encoding="UTF-8"?><Invoice xmlns="urn:example">${Array.from(
    { length: 120 },
    (_, index) =>
      `<Line><ID>${index}</ID><Amount currency="EUR">${(index * 37.19).toFixed(2)}</Amount><Name>Čerešňový džem ${index * 7919}</Name></Line>`,
  ).join("")}</Invoice>`,
);

export const build = (
  from: AccessPoint,
  to: AccessPoint,
  overrides: Partial<UserMessage> = {},
  payload: Uint8Array = invoiceBytes,
): Promise<BuiltMessage> =>
  buildUserMessage(
    { message: userMessage(from, to, overrides), payload, id: randomUUID(), signer: from, recipient: to.certificate },
    inThread,
  );

export const open = (
  to: AccessPoint,
  message: { body: Buffer; contentType: string },
): Promise<OpenedMessage | RefusedMessage> =>
  openUserMessage(message.body, message.contentType, { keys: [to], payloadBytesMax: PAYLOAD_BYTES_MAX }, inThread);

/** The exact bytes of a payload that arrived, however far it was made ready for the store. */
export const plainOf = (payload: InboundExchange["payload"]): Buffer =>
  Buffer.isBuffer(payload) ? payload : gunzipSync(payload.compressed);
