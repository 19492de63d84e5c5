/** Whom our SMP answers for: the participants of our firms, and we ourselves as a provider, where statuses arrive. */
import { findOwnParticipant } from "../../storage/documents/received.js";
import type { Sql } from "../../storage/sql.js";
import { MLS_DOCUMENT_TYPE, MLS_PROCESS } from "../responses/mls.js";
import type { OwnKeys } from "../pki/own-keys.js";
import { providerOfSeat } from "../seats.js";
import type { PublishedParticipant } from "./smp-server.js";

/**
 * Makes the search for the participants that our SMP answers for.
 * @returns a look-up by the participant's id in lower case
 */
export const publishedParticipants =
  (sql: Sql, keys: Pick<OwnKeys, "ap">) =>
  (key: string): Promise<PublishedParticipant | undefined> =>
    key === providerOfSeat(keys.ap().seat)
      ? Promise.resolve({ capabilities: [{ documentTypeId: MLS_DOCUMENT_TYPE, processId: MLS_PROCESS }] })
      : findOwnParticipant(sql, key);
