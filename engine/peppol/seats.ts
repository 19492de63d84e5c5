/**
 * Service providers: the seat in an access point's certificate, and the participant under which the provider itself is
 * reached.
 */
import { parseParticipantId } from "../base/ids.js";
import type { ParticipantId } from "../base/ids.js";

/** The common name of an access point's certificate, `POP000123`. */
const SEAT = /^P[A-Z]{2}([0-9]{6})$/;
/** @source design/as4.md, section 9, MLS_TO */
const PROVIDER = /^[0-9]{6}(?:-[0-9A-Z_]{3,12}(?:\.[0-9A-Z._~-]{3,24})?)?$/i;

/** Scheme of service provider identifiers. */
export const PROVIDER_SCHEME = "0242";

/** `0242:987654` for seat `POP987654`; undefined for what is no seat. */
export function providerOfSeat(seat: string): ParticipantId | undefined {
  const digits = SEAT.exec(seat)?.[1];
  return digits === undefined ? undefined : parseParticipantId(`${PROVIDER_SCHEME}:${digits}`);
}

/** Whether a value without scheme is a service provider's, `987654` or `987654-UNIT`. */
export const isProviderValue = (value: string): boolean => PROVIDER.test(value);

/**
 * Whether a participant is a service provider as such, under which statuses are told to it. No firm is reached there.
 * @source spec/rulings.md, section 14: the provider's own participant id belongs to no firm
 */
export const isProviderParticipant = (id: ParticipantId): boolean => id.startsWith(`${PROVIDER_SCHEME}:`);

/** The six digits that a provider's seat and all its identifiers share; undefined for anything else. */
export function providerDigits(participantOrSeat: string): string | undefined {
  const seat = SEAT.exec(participantOrSeat)?.[1];
  if (seat !== undefined) return seat;
  const value = participantOrSeat.startsWith(`${PROVIDER_SCHEME}:`)
    ? participantOrSeat.slice(PROVIDER_SCHEME.length + 1)
    : participantOrSeat;
  return PROVIDER.test(value) ? value.slice(0, 6) : undefined;
}
