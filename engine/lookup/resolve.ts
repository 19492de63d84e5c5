/**
 * From what is known of a company to the participant under which it takes invoices, and what to do where there is none.
 * @source spec/shapes.md, section 6 (resolve)
 */
import { Refusal } from "../base/errors.js";
import { parseParticipantId } from "../base/ids.js";
import type { KeyId, ParticipantId } from "../base/ids.js";
import type { RoutingStatus } from "../peppol/discovery/routing.js";
import type { CompanyKey } from "../storage/identity/directory.js";
import type { Directory, DirectoryEntry } from "./directory.js";
import type { ParticipantFound, ParticipantLookups } from "./participants.js";

/** Who is looked for, and what is to be sent. */
export interface ResolveAsked {
  readonly company: CompanyKey;
  readonly documentTypeId: string | undefined;
  readonly processId: string | undefined;
}

/** What is known; undefined where nothing is. */
export interface Resolved {
  readonly company: DirectoryEntry | undefined;
  readonly participant: ParticipantFound | undefined;
  /** A sentence; undefined where an invoice can be sent now. */
  readonly nextAction: string | undefined;
}

const NO_PARTICIPANT =
  "The directory knows no company with this id; look it up by its tax id (DIČ) or by its participant id.";

const AGAIN = "The network did not answer; repeat the look-up in a minute.";
const BROKEN = "The access point of the recipient has a fault of its own; tell the recipient, and try again later.";

/** What to do about each finding. */
const NEXT_ACTIONS: Readonly<Record<RoutingStatus, string | undefined>> = {
  ready: undefined,
  participant_not_found:
    "The company is not registered on the network under this id; ask it for its participant id, or reach it otherwise.",
  document_type_not_supported: "The recipient does not take this document type; send one of supportedDocumentTypes.",
  process_not_supported: "The recipient does not take this document type in this process; leave out processId.",
  endpoint_not_found: BROKEN,
  certificate_invalid: BROKEN,
  certificate_expired: BROKEN,
  lookup_failed: AGAIN,
};

/** Without a process of the sender's choice it was asked about that of an ordinary invoice. */
const OTHER_PROCESS =
  "The recipient does not take this document type in the process of an ordinary invoice; name the one that it takes as processId.";

/** The tax id is the participant's identifier in Slovakia, whether the directory lists it or not. */
function participantBy({ by, value }: CompanyKey): ParticipantId | undefined {
  if (by === "participant") return value;
  return by === "ico" ? undefined : parseParticipantId(`0245:${value.replace(/^SK/, "")}`);
}

/** @returns undefined where the directory does not answer and is not needed */
async function companyOf(directory: Directory, key: CompanyKey): Promise<DirectoryEntry | undefined> {
  try {
    return await directory.find(key);
  } catch (error) {
    if (key.by !== "ico" && error instanceof Refusal && error.reason === "TEMPORARY") return undefined;
    throw error;
  }
}

/**
 * Resolves a company.
 * @throws Refusal RATE_LIMITED when the key's budget is used up; TEMPORARY
 */
export async function resolveRecipient(
  { directory, participants }: { readonly directory: Directory; readonly participants: ParticipantLookups },
  key: KeyId,
  { company: named, documentTypeId, processId }: ResolveAsked,
): Promise<Resolved> {
  const company = await companyOf(directory, named);
  const id = company?.participantId ?? participantBy(named);
  if (id === undefined) return { company, participant: undefined, nextAction: NO_PARTICIPANT };
  const participant = await participants.one(key, {
    participant: id,
    ...(documentTypeId === undefined ? {} : { documentTypes: [{ documentTypeId }] }),
    ...(processId === undefined ? {} : { processId }),
  });
  const { routingStatus } = participant;
  const isOwnProcess = routingStatus === "process_not_supported" && processId === undefined;
  return { company, participant, nextAction: isOwnProcess ? OTHER_PROCESS : NEXT_ACTIONS[routingStatus] };
}
