/**
 * The trust decision: is this the certificate of an access point, or of an SMP, of our network, now?
 *
 * Chain and form first, then time, then the name, then revocation. Every refusal has a reason of a closed list.
 * @source design/as4.md section 13; design/reliability.md, X-08
 */
import { BoundedMap } from "../../base/bounded.js";
import type { Clock, Instant } from "../../base/clock.js";
import type { REVOCATION_MODES } from "../../base/config.js";
import { LIMITS } from "../../base/limits.js";
import { errorFields } from "../../base/log.js";
import type { Log, LogFields } from "../../base/log.js";
import type { Certificate } from "./certificate.js";
import type { Revocation, RevocationAnswer } from "./revocation.js";
import { createPathJudge } from "./paths.js";
import type { Path, TrustFault, TrustStore, Usage } from "./trust.js";

export type { Certificate } from "./certificate.js";
export type { RevocationAnswer } from "./revocation.js";
export type { TrustFault, TrustStore, Usage } from "./trust.js";

/** The operator's policy where nobody can say whether a certificate is revoked: do not ask, believe, or refuse. */
export type RevocationMode = (typeof REVOCATION_MODES)[number];

interface CheckRequest {
  readonly usage: Usage;
  /** The seat that the certificate must belong to: PartyId of the message. @default any */
  readonly seat?: string;
  /** When it must be valid. @default now */
  readonly at?: Instant;
}

/** Whether a certificate is trusted, with what the evidence needs to prove it later. */
export type Verdict =
  | {
      readonly kind: "trusted";
      /** Subject common name: `PSK000001`. */
      readonly seat: string;
      readonly certificate: Certificate;
      /** DER of the issuers up to the root; evidence. */
      readonly chain: readonly Buffer[];
      /** Of the certificate itself; evidence. */
      readonly revocation: RevocationAnswer;
    }
  | { readonly kind: "refused"; readonly reason: TrustFault };

/** Judges the certificates of others by our trust store and the operator's policy. */
export interface Pki {
  /** Judges a certificate. Never throws. */
  check(certificate: Uint8Array, request: CheckRequest): Promise<Verdict>;
  /** The same without asking about revocation: for what only must come from the right authority. */
  checkPath(certificate: Uint8Array, request: CheckRequest): Path | TrustFault;
  readonly store: TrustStore;
  readonly mode: RevocationMode;
}

interface PkiOptions {
  readonly store: TrustStore;
  /** `soft` believes a certificate whose revocation nobody answers for, and says so in the log. */
  readonly mode: RevocationMode;
  readonly revocation: Revocation;
  readonly clock: Clock;
  readonly log: Log;
}

/** Makes the judge. Signatures of a chain are checked once; time and revocation at every question. */
export function createPki({ store, mode, revocation, clock, log }: PkiOptions): Pki {
  const judge = createPathJudge(store);
  const checkPath = (der: Uint8Array, request: CheckRequest): Path | TrustFault =>
    judge(der, { ...request, at: request.at ?? clock.now() });

  /** Says once an hour for each certificate what an operator must know once. */
  const warnedAt = new BoundedMap<string, number>(LIMITS.revocation_warnings_max);
  function complain(fingerprint: string, fields: LogFields): void {
    const now = clock.monotonic();
    if (now - (warnedAt.get(fingerprint) ?? -Infinity) < LIMITS.revocation_warning_ms) return;
    warnedAt.set(fingerprint, now);
    log.warn("pki.revocation_unknown", fields);
  }

  /** Asks for every certificate of the path but the root; an authority that names no service is not asked about. */
  async function revocationOf(path: Path): Promise<RevocationAnswer | TrustFault> {
    if (mode === "off") return { status: "unknown", source: "off", checkedAt: clock.now() };
    const pairs = path.flatMap((certificate, i) => {
      const issuer = path[i + 1];
      const isAsked = i === 0 || certificate.ocspUrls.length + certificate.crlUrls.length > 0;
      return issuer === undefined || !isAsked ? [] : [{ certificate, issuer }];
    });
    const answers = await Promise.all(pairs.map(({ certificate, issuer }) => revocation.ask(certificate, issuer)));
    const [leaf] = answers;
    if (answers.some(({ status }) => status === "revoked")) return "revoked";
    const unknown = answers.find(({ status }) => status === "unknown");
    if (unknown !== undefined) {
      complain(path[0].fingerprint, {
        component: path[0].commonName ?? "",
        code: unknown.code ?? "",
        outcome: mode === "hard" ? "refused" : "believed",
      });
      if (mode === "hard") return "revocation_unknown";
    }
    return leaf ?? { status: "unknown", source: "none", checkedAt: clock.now() };
  }

  return {
    store,
    mode,
    checkPath,
    check: async (der, request) => {
      const path = checkPath(der, request);
      if (typeof path === "string") return { kind: "refused", reason: path };
      try {
        const answer = await revocationOf(path);
        if (typeof answer === "string") return { kind: "refused", reason: answer };
        const [certificate, ...issuers] = path;
        return {
          kind: "trusted",
          seat: certificate.commonName ?? "",
          certificate,
          chain: issuers.map((issuer) => issuer.der),
          revocation: answer,
        };
      } catch (error) {
        log.error("pki.revocation_failed", errorFields(error));
        return { kind: "refused", reason: "revocation_unknown" };
      }
    },
  };
}
