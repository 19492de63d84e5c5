/**
 * Whether a recipient is on the network and takes a document type in a process: asked before a 202, so answered from a
 * cache.
 */
import { BoundedMap } from "../../base/bounded.js";
import type { Clock, Instant } from "../../base/clock.js";
import { participantKey } from "../../base/ids.js";
import type { ParticipantId } from "../../base/ids.js";
import { LIMITS } from "../../base/limits.js";
import { ROUTING } from "./routing.js";
import type { Capability, RoutingStatus } from "./routing.js";

/** What a look-up has found of a recipient, and what that means for a document that is offered to it. */
export interface Recipient {
  readonly status: RoutingStatus;
  readonly capability: Capability;
}

/** Answers before a 202 whether a recipient takes a document. */
export interface Recipients {
  recipient(
    receiver: ParticipantId,
    offered: { readonly documentTypeId: string; readonly processId: string },
  ): Promise<Recipient>;
  /** Forgets what is known of a participant: its registration has changed here. */
  forget(receiver: string): void;
}

/** What a participant accepts; undefined when it is not registered. */
type FindAccepted = (
  receiverKey: string,
) => Promise<readonly { readonly documentTypeId: string; readonly processId: string }[] | undefined>;

interface Known {
  /** Document type → processes in which it is accepted. */
  readonly types: ReadonlyMap<string, ReadonlySet<string>> | undefined;
  readonly until: Instant;
}

function byType(accepted: NonNullable<Awaited<ReturnType<FindAccepted>>>): Map<string, Set<string>> {
  const types = new Map<string, Set<string>>();
  for (const { documentTypeId, processId } of accepted)
    types.set(documentTypeId, (types.get(documentTypeId) ?? new Set()).add(processId));
  return types;
}

/** What a finding means where nothing else is known. */
export const recipientFound = (status: RoutingStatus): Recipient => ({
  status,
  capability: ROUTING[status].capability,
});

/** Remembers answers for LIMITS.recipient_cache_ms, at most LIMITS.recipient_cache_entries of them. */
export function createRecipients(find: FindAccepted, clock: Clock): Recipients {
  const known = new BoundedMap<string, Known>(LIMITS.recipient_cache_entries);

  async function lookUp(key: string): Promise<Known> {
    const accepted = await find(key);
    const answer = {
      types: accepted === undefined ? undefined : byType(accepted),
      until: clock.monotonic() + LIMITS.recipient_cache_ms,
    };
    return known.keep(key, answer);
  }

  return {
    recipient: async (receiver, { documentTypeId, processId }) => {
      const key = participantKey(receiver);
      const remembered = known.get(key);
      const { types } =
        remembered !== undefined && remembered.until > clock.monotonic() ? remembered : await lookUp(key);
      if (types === undefined) return recipientFound("participant_not_found");
      const processes = types.get(documentTypeId);
      if (processes === undefined) return recipientFound("document_type_not_supported");
      return recipientFound(processes.has(processId) ? "ready" : "process_not_supported");
    },
    forget: (receiver) => {
      known.delete(receiver.toLowerCase());
    },
  };
}
