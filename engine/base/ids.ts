/**
 * Identifiers: branded, made only by their parser or by `newId`. And the glossary: a word of the project is in the
 * specifications or here, and means the same everywhere.
 *
 * Who. *Participant*: a mailbox on the Peppol network, `<scheme>:<id>`. *Firm*: the company that owns participants.
 * *Integrator*: a partner that acts for firms through *bindings*. *Key*: an API credential of a firm or an integrator.
 * *Operator*: whoever runs this engine. *Peer*: another access point. *Seat*: the name of an access point in the
 * network, `POP000123`, which is the common name of its certificate. *Provider*: we ourselves, as the access point of
 * our firms and as a participant that statuses are addressed to.
 *
 * What is sent. *Document*: an outbound invoice with a life of its own; an *attempt* is one try to deliver it; a *move*
 * is one legal change of its state. *Received document*: what a peer sent to one of our participants. It is *held*
 * until its *verdict*, which rules give; its firm sees it afterwards, or never. *Payload*: the UBL text of a document;
 * *envelope*: the standard business document (SBD) around it. *Exchange*: one AS4 message with its answer. *Service
 * message*: what the provider itself sends: statuses, responses, reports. *Evidence*: what is kept to prove an
 * exchange.
 * *Door*: the interface through which a document came in: SAPI, Enterprise, Box, Connector.
 *
 * What is answered. *Message Level Status* (MLS): a peer's word on whether a document was taken. *Invoice response*:
 * the buyer's. *Duty*: that a received document still needs its Message Level Status from us. *Response* without a word
 * in front is the buyer's; *answer* is what comes back on the same connection.
 *
 * *Status* as a member of a document is its state as the API shows it (`OutboundState`, `ReceivedState`). *A status*,
 * where files and functions deal in them (`statuses.ts`, `followStatus`), is a Message Level Status or an invoice
 * response that we received: it has a kind and an outcome. The others never go without their first word: HTTP status,
 * routing status (what the look-up of a recipient found).
 *
 * What happens again. *Repeat*: the same document or message that came once before; it is answered like the first and
 * changes nothing. *Precedent*: an accepted document that a send with the same key, id or payload is compared with.
 * *Replay*: the stored reply to such a send. *Conflict*: the same name for something else.
 *
 * How work is found. *Due*: its time has come. *Lease*: who works on it now, and until when others leave it alone; a
 * *claim* takes a lease. *Poke*: to tell a loop that waits that there may be work; nothing is lost with a poke, because
 * what is due is looked for now and then. *Lane*: places of workers or consumers that others cannot use up. *Turn*:
 * what an actor does for one command. *Node*: one process of the engine among several on one database.
 */
import { randomFillSync, randomUUID } from "node:crypto";

import type { Clock, Instant } from "./clock.js";
import { LIMITS } from "./limits.js";
import { isLonger } from "./text.js";

declare const brand: unique symbol;
type Branded<Name extends string> = string & { readonly [brand]: Name };

export type DocumentId = Branded<"DocumentId">;
export type ReceivedDocumentId = Branded<"ReceivedDocumentId">;
export type BoxItemId = Branded<"BoxItemId">;
export type FirmId = Branded<"FirmId">;
export type IntegratorId = Branded<"IntegratorId">;
export type KeyId = Branded<"KeyId">;
export type PersonId = Branded<"PersonId">;
export type OnboardingId = Branded<"OnboardingId">;
/** A program that asks integrators for keys with OAuth. */
export type OAuthClientId = Branded<"OAuthClientId">;
/** An e-mail address in lower case, in a form that names one mailbox and nothing else. */
export type Email = Branded<"Email">;
/** `0245:2020202020`, as written by whoever named it; compare with `participantKey`. */
export type ParticipantId = Branded<"ParticipantId">;
export type RequestId = Branded<"RequestId">;
/** ebMS MessageId: an RFC 2822 msg-id without angle brackets. */
type MessageId = Branded<"MessageId">;

const EMAIL =
  /^(?=.{3,254}$)(?=.{1,64}@)[a-z0-9!#$%&'*+/=?^_`{|}~-]+(?:\.[a-z0-9!#$%&'*+/=?^_`{|}~-]+)*@[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?(?:\.[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?)+$/;

/**
 * Reads an address as a person types it: spaces around it go, letters become small. Quoted names, comments, lists and
 * control characters are none: whatever is sent to an Email goes to that one mailbox.
 */
export function parseEmail(text: string): Email | undefined {
  const email = text.trim().toLowerCase();
  return EMAIL.test(email) ? (email as Email) : undefined;
}

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

/** Any UUID in its canonical text form, lower-cased; undefined for anything else. */
export const parseUuid = (text: string): string | undefined => (UUID.test(text) ? text.toLowerCase() : undefined);

export const parseDocumentId = (text: string): DocumentId | undefined => parseUuid(text) as DocumentId | undefined;
export const parseReceivedDocumentId = (text: string): ReceivedDocumentId | undefined =>
  parseUuid(text) as ReceivedDocumentId | undefined;
export const parseBoxItemId = (text: string): BoxItemId | undefined => parseUuid(text) as BoxItemId | undefined;
export const parseFirmId = (text: string): FirmId | undefined => parseUuid(text) as FirmId | undefined;
export const parseIntegratorId = (text: string): IntegratorId | undefined =>
  parseUuid(text) as IntegratorId | undefined;
export const parseKeyId = (text: string): KeyId | undefined => parseUuid(text) as KeyId | undefined;

export const parseOnboardingId = (text: string): OnboardingId | undefined =>
  parseUuid(text) as OnboardingId | undefined;

/** The scheme of participant identifiers on the wire. @source design/as4.md, section 2 */
export const PARTICIPANT_SCHEME = "iso6523-actorid-upis";
/** A participant id as text: in its short form, behind its scheme, and in either form. */
export const PARTICIPANT_FORMS = {
  short: /^[0-9]{4}:[A-Za-z0-9][A-Za-z0-9._~-]{0,129}$/,
  qualified: /^iso6523-actorid-upis::[0-9]{4}:[A-Za-z0-9][A-Za-z0-9._~-]{0,129}$/,
  either: /^(iso6523-actorid-upis::)?[0-9]{4}:[A-Za-z0-9][A-Za-z0-9._~-]{0,129}$/,
} as const;

/**
 * Reads a participant id in the short form or with its scheme (`iso6523-actorid-upis::0245:2020202020`).
 * @source spec/rulings.md, section 6: accepted in both forms as input
 */
export function parseParticipantId(text: string): ParticipantId | undefined {
  const prefix = `${PARTICIPANT_SCHEME}::`;
  const short = text.startsWith(prefix) ? text.slice(prefix.length) : text;
  return PARTICIPANT_FORMS.short.test(short) ? (short as ParticipantId) : undefined;
}

/** The form under which participants are compared and looked up: the network treats their letters without case. */
export const participantKey = (id: ParticipantId): string => id.toLowerCase();

/** The two parts of a participant id: `0245:2020202020` has the scheme `0245` and the value `2020202020`. */
export function participantParts(id: ParticipantId): { readonly scheme: string; readonly value: string } {
  const colon = id.indexOf(":");
  return { scheme: id.slice(0, colon), value: id.slice(colon + 1) };
}

/** `iso6523-actorid-upis::<scheme>:<id>`. @source spec/sapi.md, Received list item */
export const qualifiedParticipant = (id: string): string => `${PARTICIPANT_SCHEME}::${id}`;

/**
 * What no caller's id of a document holds: control characters, halves of surrogate pairs, line and paragraph marks, and
 * everything that has no width. Two ids that differ in one of them could not be told apart by whoever reads them.
 */
const UNREADABLE = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]/u;
const PADDED = /^\s|\s$/u;
/** A letter, digit, mark of punctuation or symbol; the blank of Braille counts as a symbol and shows nothing. */
const VISIBLE = /(?!\u2800)[\p{L}\p{N}\p{P}\p{S}\p{Co}]/u;

/**
 * Why a caller's own id of a document is refused; undefined when it may be used. Ids are compared exactly as they came:
 * nothing is trimmed, folded or normalised. @source spec/rulings.md, section 14, documentId
 */
export function whyExternalIdIsRefused(text: string): string | undefined {
  if (isLonger(text, LIMITS.document_id_chars_max))
    return `must have at most ${LIMITS.document_id_chars_max} characters`;
  if (UNREADABLE.test(text)) return whyUnreadable(text);
  if (PADDED.test(text)) return "must not begin or end with white space";
  return whyUnreadable(text);
}

/** Why a name of a document, but for its ends, cannot be told from others by a reader; undefined when it can. */
export function whyUnreadable(text: string): string | undefined {
  if (UNREADABLE.test(text)) return "must not contain control, format or zero-width characters";
  return VISIBLE.test(text) ? undefined : "must contain something visible";
}

const REQUEST_ID = /^[A-Za-z0-9._:-]{1,128}$/;

/** A client's `X-Request-Id` when it may be used. @source spec/rulings.md, section 1 */
export const parseRequestId = (text: string): RequestId | undefined =>
  REQUEST_ID.test(text) ? (text as RequestId) : undefined;
export const newRequestId = (): RequestId => randomUUID() as RequestId;

const POOL_BYTES = 8_192;
const pool = Buffer.alloc(POOL_BYTES);
let used = POOL_BYTES;

/**
 * Random bytes, each given out once. Fetched by the pool: a call of their own for every id was 5 % of an acceptance.
 */
export function randomOctets(count: number): Buffer {
  if (used + count > POOL_BYTES) {
    randomFillSync(pool);
    used = 0;
  }
  const octets = Buffer.from(pool.subarray(used, used + count));
  pool.fill(0, used, used + count);
  used += count;
  return octets;
}

/** UUID version 7 (RFC 9562, 5.7): sorts by the clock's millisecond, 74 random bits. */
export function newId(clock: Clock): string {
  const bytes = randomOctets(16);
  bytes.writeUIntBE(clock.now(), 0, 6);
  bytes[6] = ((bytes[6] ?? 0) & 0x0f) | 0x70;
  bytes[8] = ((bytes[8] ?? 0) & 0x3f) | 0x80;
  const hex = bytes.toString("hex");
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`;
}

/** An id that is no greater than any that newId makes from an instant on. */
export function firstIdAt(at: Instant): string {
  const hex = Math.max(0, Math.floor(at)).toString(16).padStart(12, "0");
  return `${hex.slice(0, 8)}-${hex.slice(8)}-0000-0000-000000000000`;
}

export const newDocumentId = (clock: Clock): DocumentId => newId(clock) as DocumentId;
export const newBoxItemId = (clock: Clock): BoxItemId => newId(clock) as BoxItemId;
export const newReceivedDocumentId = (clock: Clock): ReceivedDocumentId => newId(clock) as ReceivedDocumentId;

/** A fresh ebMS MessageId. @source design/as4.md, section 2: UUID left part */
export const newMessageId = (): MessageId => `${randomUUID()}@kurier` as MessageId;

/** A number from 0 (included) to 1 (excluded), for jitter. */
export const randomUnit = (): number => randomOctets(4).readUInt32BE() / 2 ** 32;
