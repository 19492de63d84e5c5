/** Sends what a client of the JSON interface has handed over, by the path on which every document is accepted. */
import type { Instant } from "../../base/clock.js";
import { Refusal } from "../../base/errors.js";
import type { Door } from "../../base/doors.js";
import type { ErrorDetail } from "../../base/errors.js";
import type { FirmId, KeyId } from "../../base/ids.js";
import type { Metrics } from "../../base/metrics.js";
import type { Sql } from "../../storage/sql.js";
import { preflight } from "../accept/preflight.js";
import type { PreflightPorts } from "../accept/preflight.js";
import { precedentOf, requestFingerprint } from "../accept/send.js";
import type { RecipientResolution, SendReply, SendRequest } from "../accept/request.js";
import { madeOf } from "./handed.js";
import type { Handed, Made, OwnParty } from "./handed.js";
import { inMembers } from "./members.js";

/** Who sends, when, and through which door. */
export interface SendFacts {
  /** @default enterprise */
  readonly door?: Extract<Door, "enterprise" | "connector">;
  /** What the client calls the document; at the door enterprise its number is its name. */
  readonly externalId?: string;
  readonly resolution?: RecipientResolution;
  /** @default false */
  readonly staged?: boolean;
  readonly firmId: FirmId;
  readonly keyId: KeyId;
  /** Optional: the document's number tells a repeat, too. */
  readonly idempotencyKey: string | undefined;
  readonly receivedAt: Instant;
}

interface HandOverPorts {
  readonly sql: Sql;
  readonly metrics: Metrics;
  /** The firm as a party of its invoices. @throws Refusal TEMPORARY */
  own(firmId: FirmId): Promise<OwnParty>;
  /** Gives the request to the sender's participant actor. @throws Refusal */
  accept(request: SendRequest): Promise<SendReply>;
}

/** What leaves a document valid. */
const HARMLESS: ReadonlySet<string | undefined> = new Set(["warning", "information"]);
const isFault = ({ severity }: ErrorDetail): boolean => !HARMLESS.has(severity);

/** A discount under a wrong name must not vanish in silence. */
export const warningOfUnread = (members: readonly string[]): string | undefined =>
  members.length === 0 ? undefined : `These members are not read: ${members.join(", ")}.`;

const warningOf = ({ problems }: Pick<Made, "problems">): string | undefined =>
  warningOfUnread(problems.filter((problem) => !isFault(problem)).map(({ field }) => field ?? ""));

/** The request by which a document is accepted. @throws Refusal SENDER_UNREGISTERED */
function requestOf(
  facts: SendFacts,
  made: Pick<Made, "meaning" | "problems">,
  { document, own }: { readonly document: NonNullable<Made["document"]>; readonly own: OwnParty },
): SendRequest {
  if (own.participant === undefined)
    throw new Refusal("SENDER_UNREGISTERED", [
      {
        field: facts.door === "connector" ? "customerRef" : "X-Firm-Id",
        message: "The firm for which the call is made has no participant id.",
      },
    ]);
  const { payload, receiver, processId } = document;
  const { externalId, ...others } = facts;
  return {
    door: "enterprise",
    ...others,
    sender: own.participant,
    receiver,
    erpDocumentId: externalId,
    documentTypeId: undefined,
    processId,
    creationDateTime: undefined,
    payload,
    checksum: undefined,
    meaning: made.meaning,
    warning: warningOf(made),
  };
}

/**
 * Accepts a document for sending. Safe to repeat: with the same key, or with the same content under its number.
 * @returns the stored reply of a repeat, otherwise the new acceptance
 * @throws Refusal of the door enterprise with findings in the client's members; SENDER_UNREGISTERED, BODY_TOO_LARGE,
 * REQUEST_INVALID, TEMPORARY
 * @source spec/shapes.md, section 6
 */
export async function sendHanded(ports: HandOverPorts, handed: Handed, facts: SendFacts): Promise<SendReply> {
  const own = await ports.own(facts.firmId);
  const made = madeOf(handed, own);
  if (made.document === undefined) return repeatOr(ports, facts, made);
  try {
    return await ports.accept(requestOf(facts, made, { document: made.document, own }));
  } catch (error) {
    throw error instanceof Refusal ? inMembers(error, made.renamed) : error;
  }
}

/** What was accepted once stays accepted, also when the firm's own data do not allow such an invoice any more. */
async function repeatOr(
  ports: Pick<HandOverPorts, "sql" | "metrics">,
  { door = "enterprise", firmId, idempotencyKey, externalId }: SendFacts,
  made: Made,
): Promise<SendReply> {
  const request = {
    door,
    firmId,
    idempotencyKey,
    erpDocumentId: externalId,
    requestSha256: requestFingerprint(made.meaning("")),
    // Neither counts at this door: a document is known by its key and its number.
    sender: "" as SendRequest["sender"],
    payloadSha256: "",
  } as const;
  const stored = idempotencyKey === undefined ? undefined : await precedentOf(ports, request, "key");
  if (stored !== undefined) return stored;
  throw new Refusal("DOCUMENT_INVALID", made.problems);
}

/** What would become of a document. @source spec/shapes.md, section 6, POST /documents/preflight */
interface HandedPreflight {
  readonly errors: readonly ErrorDetail[];
  readonly warnings: readonly ErrorDetail[];
  /** Undefined where nobody knows what to ask for: the document cannot be read. */
  readonly recipient: Awaited<ReturnType<typeof preflight>>["recipient"];
  /** What stands in its way, though it is valid: its number is taken, or its key. */
  readonly conflict: Refusal | undefined;
}

/** Judges what would be sent and asks the recipient; writes nothing. @throws Refusal as sendHanded, without findings */
export async function preflightHanded(
  ports: Pick<HandOverPorts, "own"> & PreflightPorts,
  handed: Handed,
  facts: SendFacts,
): Promise<HandedPreflight> {
  const own = await ports.own(facts.firmId);
  const made = madeOf(handed, own);
  const { document, problems, renamed } = made;
  const doubts = problems.filter((problem) => !isFault(problem));
  if (document === undefined)
    return { errors: problems.filter(isFault), warnings: doubts, recipient: undefined, conflict: undefined };
  const judged = await preflight(ports, requestOf(facts, made, { document, own }));
  const errors = judged.refusal === undefined ? [] : inMembers(judged.refusal, renamed).details.filter(isFault);
  return {
    errors,
    warnings: [...doubts, ...judged.warnings.map(renamed)],
    recipient: judged.recipient,
    conflict: judged.conflict,
  };
}
