/** The units in which limits are written: octets and milliseconds. */

export const KiB = 1024;
export const MiB = 1024 * KiB;
export const SECOND_MS = 1_000;
export const MINUTE_MS = 60 * SECOND_MS;
export const HOUR_MS = 60 * MINUTE_MS;
