/** Whom our SMP answers for: the participants of our firms, and we ourselves as a provider, where statuses arrive. */
import type { Clock } from "../../base/clock.js";
import { isBeingRegistered } from "../../storage/identity/white-label.js";
import { findOwnParticipant } from "../../storage/documents/received.js";
import { untilBack } from "../../storage/sql.js";
import type { Sql } from "../../storage/sql.js";
import { PARTICIPANT_CAPABILITIES } from "./capabilities.js";
import { MLS_DOCUMENT_TYPE, MLS_PROCESS } from "../responses/mls.js";
import type { OwnKeys } from "../pki/own-keys.js";
import { providerOfSeat } from "../seats.js";
import type { PublishedParticipant } from "./smp-server.js";

/**
 * Makes the search for the participants that our SMP answers for. A sender that is told of a failure rests for a wait
 * of its plan, so that a Postgres that is started again is waited for.
 * @returns a look-up by the participant's id in lower case
 */
export const publishedParticipants =
  (sql: Sql, keys: Pick<OwnKeys, "ap">, clock: Pick<Clock, "monotonic">) =>
  (key: string): Promise<PublishedParticipant | undefined> =>
    key === providerOfSeat(keys.ap().seat)
      ? Promise.resolve({ capabilities: [{ documentTypeId: MLS_DOCUMENT_TYPE, processId: MLS_PROCESS }] })
      : untilBack(clock, () => findOwnOrComing(sql, key));

/** A participant that is being registered is published first: the network asks our SMP as soon as it hears of it. */
async function findOwnOrComing(sql: Sql, key: string): Promise<PublishedParticipant | undefined> {
  const own = await findOwnParticipant(sql, key);
  if (own !== undefined || !(await isBeingRegistered(sql, key))) return own;
  return { capabilities: PARTICIPANT_CAPABILITIES };
}
