/**
 * Our own keys: the one that signs and is published now, and those that senders may still encrypt to. A new key is
 * taken up without a restart.
 */
import type { KeyObject } from "node:crypto";

import type { Clock, Instant } from "../../base/clock.js";
import { ConfigError } from "../../base/config.js";
import { LIMITS } from "../../base/limits.js";
import { errorFields } from "../../base/log.js";
import type { Log } from "../../base/log.js";
import { every } from "../../base/waiting/every.js";
import { wrapPrivateKey } from "../../../validators/wss/keys.js";
import type { OwnKey } from "../../../validators/wss/protocol.js";
import { readCertificate } from "./certificate.js";
import type { Certificate } from "./certificate.js";
import type { LoadedKey } from "./key-store.js";
import { findPaths, pathAt, USAGES } from "./trust.js";
import type { TrustStore, Usage } from "./trust.js";

/** One of our keys; fits wherever an OwnKey is wanted. */
export interface OwnIdentity extends OwnKey {
  readonly usage: Usage;
  /** Subject common name: our PartyId. */
  readonly seat: string;
  readonly certificate: Buffer;
  /** DER of the issuers up to the root, as of now where one was renewed with its key. */
  readonly chain: readonly Buffer[];
  readonly privateKey: KeyObject;
  readonly fingerprint: string;
  readonly notBefore: Instant;
  readonly notAfter: Instant;
}

/** When a certificate of ours ends, for the metrics and the warnings. */
export interface Expiry {
  /** Label of the metric cert_expiry_timestamp_seconds. */
  readonly usage: "ap" | "smp" | "ap_ca" | "smp_ca" | "root";
  readonly name: string;
  readonly notBefore: Instant;
  readonly notAfter: Instant;
  /** SHA-256 of the certificate, hex. */
  readonly fingerprint: string;
  /**
   * False for a key of ours or an authority that another one has replaced, and for a key that has not begun: its end
   * needs no care.
   */
  readonly isInUse: boolean;
}

/** Our own identities. They are asked for at each use, so that a roll-over needs no restart. */
export interface OwnKeys {
  /** The access point's current identity: of the valid ones the one that began last. */
  ap(): OwnIdentity;
  /** Everything a sender may still have encrypted to, the current one first. */
  apKeys(): OwnIdentity[];
  /** What signs our SMP's answers; undefined when we have no SMP key. */
  smp(): OwnIdentity | undefined;
  /**
   * Reads the keys again. @returns whether something changed; a store that cannot be used changes nothing and is logged
   */
  reload(): Promise<boolean>;
  /** Reloads every LIMITS.keystore_poll_ms until stopped. */
  watch(): { stop(): void };
  /** Our certificates and the authorities that we trust. */
  expiries(): Expiry[];
}

interface OwnKeysOptions {
  /** @throws ConfigError when the keys cannot be used */
  readonly load: () => Promise<readonly LoadedKey[]>;
  readonly store: TrustStore;
  readonly clock: Clock;
  readonly log: Log;
}

/**
 * Reads our keys and keeps them current.
 * @throws ConfigError when there is no key of an access point
 */
export async function createOwnKeys({ load, store, clock, log }: OwnKeysOptions): Promise<OwnKeys> {
  let held = identitiesOf(await load(), store, clock);

  const usable = (usage: Usage): OwnIdentity[] =>
    held.filter((identity) => identity.usage === usage && identity.notAfter >= clock.now());
  /**
   * Where every key has expired, the last one still signs: the peer's refusal tells the operator more than silence
   * would.
   */
  const currentOf = (usage: Usage): OwnIdentity | undefined => {
    const begun = usable(usage).filter(({ notBefore }) => notBefore <= clock.now());
    return begun.sort((a, b) => b.notBefore - a.notBefore)[0] ?? held.find((identity) => identity.usage === usage);
  };

  const reload = async (): Promise<boolean> => {
    try {
      const fresh = identitiesOf(await load(), store, clock);
      const known = new Set(held.map(({ fingerprint }) => fingerprint));
      if (fresh.length === known.size && fresh.every(({ fingerprint }) => known.has(fingerprint))) return false;
      const names = new Set(fresh.map(({ fingerprint }) => fingerprint));
      const previous = held.filter(({ fingerprint, notAfter }) => !names.has(fingerprint) && notAfter >= clock.now());
      held = [...fresh, ...previous].slice(0, LIMITS.own_keys_max * USAGES.length);
      log.info("pki.keys_renewed", { count: fresh.length });
      return true;
    } catch (error) {
      log.error("pki.keystore_unusable", errorFields(error));
      return false;
    }
  };

  return {
    ap: () => {
      const current = currentOf("ap");
      if (current === undefined) throw new Error("no access point key");
      return current;
    },
    apKeys: () => {
      const current = currentOf("ap");
      const others = usable("ap")
        .filter((identity) => identity !== current)
        .sort((a, b) => b.notBefore - a.notBefore);
      return [...(current === undefined ? [] : [current]), ...others].slice(0, LIMITS.own_keys_max);
    },
    smp: () => currentOf("smp"),
    reload,
    watch: () => ({ stop: every(LIMITS.keystore_poll_ms, reload) }),
    expiries: () => {
      const own = held.map((identity): Expiry => {
        const { usage, seat, notBefore, notAfter, fingerprint } = identity;
        return { usage, name: seat, notBefore, notAfter, fingerprint, isInUse: identity === currentOf(usage) };
      });
      const authorities = USAGES.flatMap((usage) =>
        store.issuers[usage].map((certificate) => ({ certificate, usage: `${usage}_ca` as const })),
      );
      const roots = store.roots.map((certificate) => ({ certificate, usage: "root" as const }));
      const others = [...authorities, ...roots];
      return [
        ...own,
        ...others.map(({ certificate, usage }): Expiry => {
          const { commonName, notBefore, notAfter, fingerprint } = certificate;
          const isReplaced = others.some(
            (other) => other.usage === usage && hasRenewed(other.certificate, certificate, clock.now()),
          );
          return { usage, name: commonName ?? "", notBefore, notAfter, fingerprint, isInUse: !isReplaced };
        }),
      ];
    },
  };
}

/** Whether what an authority has issued leads to a root by its younger certificate, too, which is valid by then. */
const hasRenewed = (young: Certificate, old: Certificate, now: Instant): boolean =>
  young.subjectName.equals(old.subjectName) &&
  young.keyBits.equals(old.keyBits) &&
  young.notBefore <= now &&
  young.notAfter > old.notAfter;

/**
 * Sorts keys by the authority that has issued their certificates. @throws ConfigError when none is an access point's
 */
function identitiesOf(keys: readonly LoadedKey[], store: TrustStore, clock: Clock): readonly OwnIdentity[] {
  const reasons = new Set<string>();
  const identities = keys.flatMap((key): OwnIdentity[] => {
    const usage = USAGES.find((name) => typeof findPaths(key.certificate, name, store) !== "string");
    const paths = findPaths(key.certificate, usage ?? "ap", store);
    const certificate = readCertificate(key.certificate);
    if (usage === undefined || typeof paths === "string" || certificate === undefined) {
      reasons.add(typeof paths === "string" ? paths.replaceAll("_", " ") : "malformed");
      return [];
    }
    const { commonName, fingerprint, notBefore, notAfter } = certificate;
    return [
      {
        usage,
        seat: commonName ?? "",
        certificate: certificate.der,
        // The key stays for years, and the first of its issuers may end meanwhile.
        get chain() {
          const [, ...issuers] = pathAt(paths, clock.now());
          return issuers.map(({ der }) => der);
        },
        privateKey: key.privateKey,
        key: wrapPrivateKey(key.privateKey),
        fingerprint,
        notBefore,
        notAfter,
      },
    ];
  });
  if (identities.some(({ usage }) => usage === "ap")) return identities;
  const why = reasons.size === 0 ? "" : ` (${[...reasons].join(", ")})`;
  throw new ConfigError([
    `AS4_KEYSTORE holds no key of an access point that the authorities of PEPPOL_TRUST_DIR have certified${why}.`,
  ]);
}
