/**
 * The service metadata locator: from a participant to the address of its SMP, through DNS.
 * @source design/as4.md section 10
 */
import { createHash } from "node:crypto";

import { BoundedMap } from "../../base/bounded.js";
import type { Clock, Instant } from "../../base/clock.js";
import { PARTICIPANT_SCHEME } from "../../base/ids.js";
import { LIMITS } from "../../base/limits.js";
import type { DnsFailure, Naptr, ResolveNaptr } from "../network/dns.js";

/** DNS zones of the network. @source design/as4.md section 10: since March 2026 */
export const SML_ZONES = {
  production: "participant.sml.prod.tech.peppol.org",
  test: "participant.sml.test.tech.peppol.org",
} as const;

const BASE32 = "abcdefghijklmnopqrstuvwxyz234567";

/**
 * The DNS label of a participant: base32 of the SHA-256 of its value in lower case, without padding. @param participant
 * `0245:…`, without scheme
 */
export function smlLabel(participant: string): string {
  const digest = createHash("sha256").update(participant.toLowerCase(), "utf8").digest();
  let label = "";
  let bits = 0;
  let held = 0;
  for (const byte of digest) {
    held = (held << 8) | byte;
    bits += 8;
    while (bits >= 5) {
      bits -= 5;
      label += BASE32[(held >> bits) & 31] ?? "";
    }
    held &= (1 << bits) - 1;
  }
  return bits === 0 ? label : label + (BASE32[(held << (5 - bits)) & 31] ?? "");
}

/** The DNS name under which a participant's SMP is found. */
export const smlName = (participant: string, zone: string): string =>
  `${smlLabel(participant)}.${PARTICIPANT_SCHEME}.${zone}`;

type SmpLocation =
  /** Base address of the SMP, as the record gives it. */
  | { readonly kind: "found"; readonly url: string; readonly name: string }
  | { readonly kind: "unregistered"; readonly name: string }
  | { readonly kind: "failed"; readonly code: DnsFailure | "NO_METADATA_RECORD"; readonly name: string };

/** Finds the SMP of a participant through DNS. */
export interface Sml {
  /** @param participant `0245:…`, without scheme, any case. Never throws. */
  locate(participant: string): Promise<SmpLocation>;
  /** Forgets what is known of a participant. */
  forget(participant: string): void;
}

interface SmlOptions {
  readonly zone: string;
  readonly resolveNaptr: ResolveNaptr;
  readonly clock: Clock;
}

/**
 * The locator with its cache: records live as long as DNS says, within the bounds of LIMITS; failures are not
 * remembered.
 */
export function createSml({ zone, resolveNaptr, clock }: SmlOptions): Sml {
  const known = new BoundedMap<string, { readonly location: SmpLocation; readonly until: Instant }>(
    LIMITS.dns_cache_entries,
  );

  const keep = (name: string, location: SmpLocation, ttl_s: number | undefined): SmpLocation => {
    const longest = location.kind === "found" ? LIMITS.dns_ttl_max_ms : LIMITS.dns_ttl_negative_max_ms;
    const ttl_ms = Math.min(longest, Math.max(LIMITS.dns_ttl_min_ms, (ttl_s ?? 0) * 1_000));
    return known.keep(name, { location, until: clock.monotonic() + ttl_ms }).location;
  };

  return {
    locate: async (participant) => {
      const name = smlName(participant, zone);
      const remembered = known.get(name);
      if (remembered !== undefined && remembered.until > clock.monotonic()) return remembered.location;
      const result = await resolveNaptr(name);
      if (result.kind === "failed") return { kind: "failed", code: result.code, name };
      if (result.kind === "none") return keep(name, { kind: "unregistered", name }, result.ttl_s);
      const url = metadataUrl(result.records);
      return url === undefined
        ? { kind: "failed", code: "NO_METADATA_RECORD", name }
        : keep(name, { kind: "found", url, name }, result.ttl_s);
    },
    forget: (participant) => {
      known.delete(smlName(participant, zone));
    },
  };
}

/** `!^.*$!https://smp.example!`: any delimiter, and an expression that takes the whole name. */
const REGEXP = /^([^A-Za-z0-9\\])(?:\^?\.\*\$?)\1((?:(?!\1)[^\\])+)\1i?$/;

/**
 * The URL of the first usable U-NAPTR record. Records that lead to another name are passed over: the network has none,
 * and without following them there is no loop.
 */
export function metadataUrl(records: readonly Naptr[]): string | undefined {
  const sorted = [...records].sort((a, b) => a.order - b.order || a.preference - b.preference);
  for (const { flags, service, regexp } of sorted) {
    if (flags.toUpperCase() !== "U" || service.toLowerCase() !== "meta:smp") continue;
    const [, , url] = REGEXP.exec(regexp) ?? [];
    if (url !== undefined) return url;
  }
  return undefined;
}
