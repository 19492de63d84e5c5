/** Whether a recipient is on the network and takes a document type: asked before a 202, so answered from a cache. */
import type { Clock, Instant } from "../../base/clock.js";
import { participantKey } from "../../base/ids.js";
import type { ParticipantId } from "../../base/ids.js";
import { LIMITS } from "../../base/limits.js";

/** `unknown`: the look-up failed; the document is accepted and its attempts look again. */
export type Capability = "accepts" | "not_accepted" | "unregistered" | "unknown";

export interface Recipients {
  capability(receiver: ParticipantId, documentTypeId: string): Promise<Capability>;
  /** Forgets what is known of a participant: its registration has changed here. */
  forget(receiver: string): void;
}

/** The document types a participant accepts; undefined when it is not registered. */
export type FindDocumentTypes = (receiverKey: string) => Promise<readonly string[] | undefined>;

interface Known {
  readonly types: ReadonlySet<string> | undefined;
  readonly until: Instant;
}

/** Remembers answers for LIMITS.recipient_cache_ms, at most LIMITS.recipient_cache_entries of them. */
export function createRecipients(find: FindDocumentTypes, clock: Clock): Recipients {
  const known = new Map<string, Known>();

  async function lookUp(key: string): Promise<Known> {
    const types = await find(key);
    const answer = {
      types: types === undefined ? undefined : new Set(types),
      until: clock.monotonic() + LIMITS.recipient_cache_ms,
    };
    known.delete(key);
    known.set(key, answer);
    const [oldest] = known.keys();
    if (known.size > LIMITS.recipient_cache_entries && oldest !== undefined) known.delete(oldest);
    return answer;
  }

  return {
    capability: async (receiver, documentTypeId) => {
      const key = participantKey(receiver);
      const remembered = known.get(key);
      const { types } =
        remembered !== undefined && remembered.until > clock.monotonic() ? remembered : await lookUp(key);
      if (types === undefined) return "unregistered";
      return types.has(documentTypeId) ? "accepts" : "not_accepted";
    },
    forget: (receiver) => {
      known.delete(receiver.toLowerCase());
    },
  };
}
