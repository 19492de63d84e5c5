/** From the configuration to the locator that we ask, and the registry that we write to. */
import type { Clock } from "../../base/clock.js";
import { ConfigError } from "../../base/config.js";
import type { Config } from "../../base/config.js";
import { participantKey } from "../../base/ids.js";
import { LIMITS } from "../../base/limits.js";
import type { Sealer } from "../../storage/sealer.js";
import type { Sql } from "../../storage/sql.js";
import { createResolveNaptr, parseDnsServer } from "../network/dns.js";
import type { DnsServer } from "../network/dns.js";
import type { OwnKeys } from "../pki/own-keys.js";
import { publishedParticipants } from "./published.js";
import type { NetworkRegistrationPorts } from "./registrations.js";
import { createSmlRegistry, SML_MANAGEMENT_URLS } from "./sml-registry.js";
import { createSml, SML_ZONES } from "./sml.js";
import type { Sml } from "./sml.js";

/** The servers that DNS_SERVERS names; none: those of the system. @throws ConfigError */
export function dnsServersOf({ DNS_SERVERS }: Pick<Config, "DNS_SERVERS">): readonly DnsServer[] {
  const servers = DNS_SERVERS.map(parseDnsServer).filter((server) => server !== undefined);
  if (servers.length < DNS_SERVERS.length)
    throw new ConfigError(["DNS_SERVERS must be addresses, such as 192.0.2.1 or [2001:db8::1]:5353."]);
  return servers;
}

/**
 * Opens the locator that SML_ZONE and DNS_SERVERS configure.
 * @throws ConfigError
 */
export function openSml(config: Pick<Config, "DNS_SERVERS" | "SML_ZONE" | "ENVIRONMENT">, clock: Clock): Sml {
  const servers = dnsServersOf(config);
  const resolveNaptr = createResolveNaptr(servers.length === 0 ? {} : { servers });
  return createSml({
    zone: config.SML_ZONE ?? (config.ENVIRONMENT === "production" ? SML_ZONES.production : SML_ZONES.test),
    resolveNaptr,
    clock,
  });
}

/** Whether a participant of a new firm is to be found in the network at once. */
export const registersNewFirms = (config: Pick<Config, "SML_SMP_ID" | "SMP_MODE">): boolean =>
  config.SML_SMP_ID !== undefined && config.SMP_MODE === "sml";

interface RegistrationSetup {
  readonly config: Pick<Config, "SML_SMP_ID" | "SML_URL" | "PUBLIC_URL" | "DNS_SERVERS" | "SML_ZONE" | "ENVIRONMENT">;
  readonly sql: Sql;
  readonly sealer: Sealer;
  readonly keys: OwnKeys;
  readonly clock: Clock;
}

/**
 * Opens what registering participants needs.
 * @returns undefined where SML_SMP_ID is empty, which means that we do not register
 * @throws ConfigError where we could not
 */
export function openRegistrationPorts({
  config,
  sql,
  sealer,
  keys,
  clock,
}: RegistrationSetup): NetworkRegistrationPorts | undefined {
  const { SML_SMP_ID: smpId, PUBLIC_URL: publicUrl } = config;
  if (smpId === undefined) return undefined;
  if (publicUrl === undefined)
    throw new ConfigError(["PUBLIC_URL must be set when SML_SMP_ID is: the network finds our SMP by it."]);
  const identity = (): NonNullable<ReturnType<OwnKeys["smp"]>> => {
    const smp = keys.smp();
    if (smp === undefined)
      throw new ConfigError([
        "AS4_KEYSTORE must hold the key of our SMP when SML_SMP_ID is set: the SML knows us by it.",
      ]);
    return smp;
  };
  identity();
  const published = publishedParticipants(sql, keys, clock);
  return {
    sql,
    sealer,
    clock,
    smpId,
    smpUrl: `${publicUrl.replace(/\/+$/, "")}/smp`,
    sml: openSml(config, clock),
    registry: createSmlRegistry({
      url: config.SML_URL ?? SML_MANAGEMENT_URLS[config.ENVIRONMENT === "production" ? "production" : "test"],
      smpId,
      identity,
      timeout_ms: LIMITS.registration_sml_ms,
    }),
    isPublished: async (participant) => (await published(participantKey(participant))) !== undefined,
  };
}
