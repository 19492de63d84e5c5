/** What the AS4 exchange asks of its surroundings: who we are, whom we trust, where a recipient is. */
import type { OwnKey } from "../../../validators/wss/protocol.js";
import type { Instant } from "../../base/clock.js";
import type { ParticipantId } from "../../base/ids.js";
import type { RoutingFailure } from "../discovery/routing.js";
import type { OutboundUrl } from "../network/outbound-address.js";

/** Our own access point. Asked anew for every message, so that a roll-over of the key needs no restart. */
export interface OwnAccessPoint {
  /** What we sign with. */
  current(): OwnKey;
  /** Every key that a sender may still have been told of, the current one first. */
  all(): readonly OwnKey[];
}

/** What the PKI says of another access point's certificate, now. */
export type PeerVerdict =
  | {
      readonly kind: "trusted";
      /** `unknown` is trusted only where the operator's policy is soft; `not_checked` where it is off. */
      readonly revocation: "good" | "unknown" | "not_checked";
      /** What "unknown" means to the operator; for the evidence. */
      readonly policy?: "off" | "soft" | "hard";
      /** The signed answer of the authority, for the evidence. */
      readonly revocationAnswer?: Uint8Array;
      /** DER of the issuers up to the root, for the evidence. */
      readonly issuers?: readonly Uint8Array[];
    }
  /**
   * `passing` means that nobody could say whether it is revoked and the policy is hard, so that asking again may help.
   */
  | { readonly kind: "refused"; readonly fault: string; readonly passing: boolean };

/** Judges the certificates of other access points. */
export interface PeerTrust {
  /** Never throws. @param certificate DER */
  judge(certificate: Uint8Array, signal?: AbortSignal): Promise<PeerVerdict>;
}

/** An SMP's answer with what it is believed for. */
export interface SignedMetadata {
  readonly document: Uint8Array;
  /** DER of the issuers of its signer up to the root. */
  readonly issuers: readonly Uint8Array[];
  readonly url: string;
  readonly dnsName?: string;
  readonly fetchedAt: Instant;
}

/** Where documents of one type go for one recipient. */
export type EndpointFound =
  | {
      readonly kind: "endpoint";
      readonly url: string;
      /** The URL when it has been checked already. */
      readonly target?: OutboundUrl;
      /** DER. */
      readonly certificate: Uint8Array;
      /** What the PKI has said of the certificate a moment ago; where it is absent, the PKI is asked. */
      readonly verdict?: Extract<PeerVerdict, { readonly kind: "trusted" }>;
      /** The signed metadata that named the endpoint, for the evidence; absent where the operator's own routes did. */
      readonly metadata?: SignedMetadata;
    }
  /** `reason`: short, from a closed set. */
  | { readonly kind: "none"; readonly status: RoutingFailure; readonly reason: string };

/** Finds the access point of a recipient. */
export interface Endpoints {
  /** Never throws. */
  find(
    wanted: { readonly receiver: ParticipantId; readonly documentTypeId: string; readonly processId: string },
    signal: AbortSignal,
  ): Promise<EndpointFound>;
  /** Forgets a recipient, because what was remembered of it has turned out wrong. */
  forget(receiver: ParticipantId): void;
}
