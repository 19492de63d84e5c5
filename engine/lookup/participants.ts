/**
 * Whether a participant is on the network and takes a document, asked by a client: over the SMP client with what it
 * remembers, within the budget of the client's key.
 * @source spec/rulings.md, section 13 (Peppol lookup); spec/shapes.md, section 6
 */
import { BoundedMap } from "../base/bounded.js";
import type { Clock, Instant } from "../base/clock.js";
import { Refusal } from "../base/errors.js";
import { participantKey } from "../base/ids.js";
import type { KeyId, ParticipantId } from "../base/ids.js";
import { LIMITS } from "../base/limits.js";
import { within } from "../base/waiting/wake.js";
import { NOT_ALLOWED } from "../peppol/discovery/remembering.js";
import type { RoutingStatus } from "../peppol/discovery/routing.js";
import { matchDocumentType } from "../peppol/discovery/wildcards.js";
import { BILLING_CAPABILITIES, canonicalDocumentTypeId, canonicalProcessId } from "../peppol/envelope/identifiers.js";
import { orTemporary } from "../storage/sql.js";
import type { LookupBudget } from "./budget.js";
import type { FoundAccessPoint, LookupSource, Network, NetworkAnswer } from "./network.js";

/** What is asked of a participant. */
interface ParticipantAsked {
  readonly participant: ParticipantId;
  /** The first that is taken counts. @default an invoice of Peppol BIS Billing, in its process */
  readonly documentTypes?: readonly AskedType[];
  /** With or without scheme; that of all types. @default what each type names */
  readonly processId?: string;
}

/** A document type that is asked about. */
export interface AskedType {
  /** With or without scheme. */
  readonly documentTypeId: string;
  /** @default any */
  readonly processId?: string;
}

/** What is known of a participant. */
export interface ParticipantFound {
  /** Whether it is registered; false also while nobody answers, see `temporaryFailure`. */
  readonly found: boolean;
  /** Whether it takes the document now. */
  readonly accepts: boolean;
  readonly routingStatus: RoutingStatus;
  readonly participantId: ParticipantId;
  readonly accessPoint: FoundAccessPoint | null;
  /** With their schemes. */
  readonly supportedDocumentTypes: string[];
  /** The published type, with its scheme, by which the document is taken. */
  readonly matchedDocumentType: string | null;
  /** The document type that the answer is about, without scheme. */
  readonly documentTypeId: string;
  readonly processId: string | null;
  /** Whether it is a participant of a firm of this engine. */
  readonly internal: boolean;
  readonly source: LookupSource;
  /** Whether a repeat may answer otherwise. */
  readonly temporaryFailure: boolean;
}

/** The look-ups of this node. */
export interface ParticipantLookups {
  /** @throws Refusal RATE_LIMITED when the key's budget is used up; TEMPORARY */
  one(key: KeyId, asked: ParticipantAsked): Promise<ParticipantFound>;
  /** In the order of the questions; those beyond the key's budget have failed for a time. @throws Refusal TEMPORARY */
  many(key: KeyId, asked: readonly ParticipantAsked[]): Promise<ParticipantFound[]>;
}

interface LookupPorts {
  readonly network: Network;
  /** Whether a participant, given in lower case, belongs to a firm of this engine. */
  readonly isOwn: (participantKey: string) => Promise<boolean>;
  readonly budget: LookupBudget;
  readonly clock: Pick<Clock, "monotonic">;
}

const [INVOICE = { documentTypeId: "", processId: "" }] = BILLING_CAPABILITIES;

interface Judged extends NetworkAnswer {
  readonly found: boolean;
  readonly documentTypeId: string;
  readonly supported: readonly string[];
  readonly matched: string | undefined;
  /** The process in which it was asked about; undefined for any. */
  readonly askedProcess: string | undefined;
}

/** Makes the look-ups. */
export function createParticipantLookups(ports: LookupPorts): ParticipantLookups {
  const { network, budget, clock } = ports;
  const owned = new BoundedMap<string, { readonly isOwn: boolean; readonly until: Instant }>(
    LIMITS.recipient_cache_entries,
  );

  async function isOwn(participant: ParticipantId): Promise<boolean> {
    const key = participantKey(participant);
    const known = owned.get(key);
    if (known !== undefined && known.until > clock.monotonic()) return known.isOwn;
    const found = await orTemporary(ports.isOwn(key));
    return owned.keep(key, { isOwn: found, until: clock.monotonic() + LIMITS.recipient_cache_ms }).isOwn;
  }

  async function lookUp(
    key: KeyId,
    asked: ParticipantAsked,
    wait_ms: number,
  ): Promise<{ readonly found: ParticipantFound; readonly isOverBudget: boolean }> {
    const [internal, judged] = await Promise.all([
      isOwn(asked.participant),
      // What was asked goes on and is remembered.
      within(
        judge(network, asked, () => budget.take(key)),
        wait_ms,
        unanswered(asked, "timeout"),
      ),
    ]);
    const found = foundOf(asked, judged, { internal, source: network.source });
    return { found, isOverBudget: judged.reason === NOT_ALLOWED };
  }

  return {
    one: async (key, asked) => {
      const { found, isOverBudget } = await lookUp(key, asked, LIMITS.lookup_wait_ms);
      if (isOverBudget) throw overBudget(budget.wait_s(key));
      return found;
    },
    many: async (key, asked) => {
      const ends = clock.monotonic() + LIMITS.lookup_batch_wait_ms;
      const answers: ParticipantFound[] = [];
      const places = [...asked.entries()];
      const worker = async (): Promise<void> => {
        for (let place = places.shift(); place !== undefined; place = places.shift()) {
          const wait_ms = Math.min(LIMITS.lookup_wait_ms, Math.max(0, ends - clock.monotonic()));
          answers[place[0]] = (await lookUp(key, place[1], wait_ms)).found;
        }
      };
      await Promise.all(Array.from({ length: LIMITS.lookups_at_once }, worker));
      return answers;
    },
  };
}

const overBudget = (retryAfter_s: number): Refusal =>
  new Refusal("RATE_LIMITED", [], {
    retryAfter_s,
    message: `A key may look up ${LIMITS.lookup_budget} participants a minute that are not remembered; repeat after the seconds that Retry-After names.`,
  });

/** What is known while nobody has answered. */
const unanswered = ({ documentTypes = [], processId }: ParticipantAsked, reason: string): Judged => ({
  found: false,
  status: "lookup_failed",
  reason,
  documentTypeId: canonicalDocumentTypeId((documentTypes[0] ?? INVOICE).documentTypeId),
  askedProcess: processId === undefined ? undefined : canonicalProcessId(processId),
  supported: [],
  matched: undefined,
  accessPoint: undefined,
  process: undefined,
});

/** Asks for what the participant has published, then for the signed word on the type that takes the document. */
async function judge(network: Network, asked: ParticipantAsked, mayAsk: () => boolean): Promise<Judged> {
  const { participant } = asked;
  const group = await network.documentTypes(participant, mayAsk);
  if (group.kind === "failed") return unanswered(asked, group.reason);
  if (group.kind === "no_participant")
    return { ...unanswered(asked, "not_registered"), status: "participant_not_found" };
  const wanted = (asked.documentTypes ?? [INVOICE]).map((type: AskedType) => {
    const process = asked.processId ?? type.processId;
    return {
      documentTypeId: canonicalDocumentTypeId(type.documentTypeId),
      askedProcess: process === undefined ? undefined : canonicalProcessId(process),
    };
  });
  const supported = [...group.documentTypes].sort();
  let last: Judged | undefined;
  for (const { documentTypeId, askedProcess } of wanted) {
    const match = matchDocumentType(supported, documentTypeId);
    const common = { found: true, documentTypeId, askedProcess, supported };
    const answer: NetworkAnswer =
      match === undefined
        ? { status: "document_type_not_supported", reason: "not_published", accessPoint: undefined, process: undefined }
        : await network.endpoint(
            {
              participant,
              documentType: match.value,
              documentTypeScheme: match.scheme,
              ...(askedProcess === undefined ? {} : { process: askedProcess }),
            },
            mayAsk,
          );
    const judged = {
      ...common,
      ...answer,
      matched: match === undefined ? undefined : `${match.scheme}::${match.value}`,
    };
    if (answer.status === "ready") return judged;
    // Of several types that are not taken, the first that is published says most.
    if (last === undefined || (last.matched === undefined && judged.matched !== undefined)) last = judged;
  }
  return last ?? unanswered(asked, "nothing_asked");
}

function foundOf(
  asked: ParticipantAsked,
  judged: Judged,
  { internal, source }: Pick<ParticipantFound, "internal" | "source">,
): ParticipantFound {
  const { accessPoint, status } = judged;
  const isGone = status === "participant_not_found";
  return {
    found: judged.found && !isGone,
    accepts: status === "ready",
    routingStatus: status,
    participantId: asked.participant,
    accessPoint: accessPoint ?? null,
    supportedDocumentTypes: [...judged.supported],
    matchedDocumentType: status === "ready" ? (judged.matched ?? null) : null,
    documentTypeId: judged.documentTypeId,
    processId: judged.process ?? judged.askedProcess ?? null,
    internal,
    source,
    temporaryFailure: status === "lookup_failed",
  };
}
