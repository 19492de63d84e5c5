/** Who is calling, and for whom: what the gateway knows of a request after its token was believed. */
import type { Instant } from "../base/clock.js";
import { Refusal } from "../base/errors.js";
import type { FirmId, IntegratorId, KeyId, ParticipantId } from "../base/ids.js";
import type { Scope } from "../base/scopes.js";

/** The kinds of key, named by the beginning of their secret. @source spec/enterprise.md, Authentication */
export const KEY_TYPES = ["sk_live", "sk_int"] as const;
/** Whether a key is a firm's or an integrator's, as the beginning of its secret says. */
export type KeyType = (typeof KEY_TYPES)[number];

/** An authenticated access token together with the present state of its key. */
export interface Caller {
  readonly keyId: KeyId;
  readonly kind: "firm" | "integrator";
  readonly keyType: KeyType;
  /** The firm of a firm key. */
  readonly firmId?: FirmId;
  /** The integrator of an integrator's key. */
  readonly integratorId?: IntegratorId;
  /** The only firm for which this integrator's key may act; absent on a central key. */
  readonly scopedFirmId?: FirmId;
  /** What the token and the key allow together; a context may cut further. */
  readonly scopes: ReadonlySet<Scope>;
  /** Addresses from which the key may be used; empty means any. */
  readonly ipAllowlist: readonly string[];
  /** `jti` of the token. */
  readonly tokenId: string;
  readonly issuedAt: Instant;
  readonly expiresAt: Instant;
  /** Generation of the key; a token of an older one is refused. */
  readonly generation: number;
  /** How many bindings the integrator had lost when the token was born; 0 for firm keys. */
  readonly bindingGeneration: number;
  /** Whether the integrator may act for firms in production; true for firm keys. */
  readonly productionAuthorized: boolean;
  /** The scopes named in the token itself. */
  readonly tokenScope: readonly Scope[];
}

/** The integrator of a caller whom the pipeline let pass as one. @throws Refusal CREDENTIAL_CLASS for any other */
export function integratorOf(caller: Caller): IntegratorId {
  if (caller.integratorId === undefined) throw new Refusal("CREDENTIAL_CLASS");
  return caller.integratorId;
}

/** The firm for which a call is made, and what may be done for it. */
export interface FirmContext {
  readonly firmId: FirmId;
  /** Scopes of key, token and consent together. */
  readonly scopes: ReadonlySet<Scope>;
}

/** The firm for which a Connector call is made. */
export interface CustomerContext extends FirmContext {
  /** The integrator's own name for the firm. */
  readonly customerRef: string;
}

/** The participant for which a SAPI call is made. */
export interface ParticipantContext extends FirmContext {
  /** The participant as it is registered, which may be written in other letters than the caller wrote it. */
  readonly participantId: ParticipantId;
}
