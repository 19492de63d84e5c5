/** Turns what the PKI and the look-up say into what an exchange and its evidence need. */
import { LIMITS } from "../../base/limits.js";
import type { EvidenceArchive } from "../../storage/evidence/archive.js";
import type { EvidencePart, ExchangeFacts } from "../../storage/evidence/record.js";
import type { Endpoints, PeerTrust, PeerVerdict, SignedMetadata } from "./ports.js";
import type { Pki, RevocationAnswer, RevocationMode } from "../pki/pki.js";
import type { SmpLookup } from "../discovery/smp.js";

const revocationOf = ({ status, source }: RevocationAnswer): "good" | "unknown" | "not_checked" =>
  status === "good" ? "good" : source === "off" || source === "none" ? "not_checked" : "unknown";

type Trusted = Extract<PeerVerdict, { readonly kind: "trusted" }>;

const trusted = (revocation: RevocationAnswer, issuers: readonly Uint8Array[], policy: RevocationMode): Trusted => ({
  kind: "trusted",
  revocation: revocationOf(revocation),
  policy,
  issuers,
  ...(revocation.answer === undefined ? {} : { revocationAnswer: revocation.answer }),
});

/** Judges other access points by the PKI. */
export const peerTrust = (pki: Pick<Pki, "check" | "mode">): PeerTrust => ({
  judge: async (certificate) => {
    const verdict = await pki.check(certificate, { usage: "ap" });
    if (verdict.kind === "refused")
      return { kind: "refused", fault: verdict.reason, passing: verdict.reason === "revocation_unknown" };
    return trusted(verdict.revocation, verdict.chain, pki.mode);
  },
});

/**
 * Finds recipients through the look-up.
 * @param policy under which the look-up judges certificates
 */
export const smpEndpoints = (lookup: Pick<SmpLookup, "lookup" | "forget">, policy: RevocationMode): Endpoints => ({
  find: async ({ receiver, documentTypeId, processId }) => {
    const answer = await lookup.lookup({ participant: receiver, documentType: documentTypeId, process: processId });
    if (answer.status !== "ready") return { kind: "none", status: answer.status, reason: answer.reason };
    const {
      endpoint: { url, target, certificate, revocation, chain },
      evidence,
    } = answer;
    return {
      kind: "endpoint",
      url,
      target,
      certificate,
      verdict: trusted(revocation, chain, policy),
      ...(evidence === undefined ? {} : { metadata: evidence }),
    };
  },
  forget: (receiver) => {
    lookup.forget(receiver);
  },
});

/** What the evidence keeps of a judgement: parts of the record, or a reference where the authority's answer is long. */
export async function trustEvidence(
  evidence: EvidenceArchive,
  { revocation, policy, revocationAnswer, issuers }: Trusted,
): Promise<{
  readonly facts: Pick<ExchangeFacts, "revocation" | "revocationPolicy" | "revocationObject">;
  readonly parts: readonly EvidencePart[];
}> {
  const isLong = revocationAnswer !== undefined && revocationAnswer.length > LIMITS.evidence_part_shared_bytes;
  return {
    facts: {
      revocation,
      ...(policy === undefined ? {} : { revocationPolicy: policy }),
      ...(isLong ? { revocationObject: await evidence.share(Buffer.from(revocationAnswer)) } : {}),
    },
    parts: [
      ...(issuers === undefined ? [] : [{ name: "issuers" as const, bytes: Buffer.concat(issuers) }]),
      ...(revocationAnswer === undefined || isLong ? [] : [{ name: "revocation" as const, bytes: revocationAnswer }]),
    ],
  };
}

/** What the evidence keeps of the metadata that named the endpoint. */
export const metadataEvidence = (
  metadata: SignedMetadata | undefined,
): { readonly facts: Pick<ExchangeFacts, "smp">; readonly parts: readonly EvidencePart[] } => {
  if (metadata === undefined) return { facts: {}, parts: [] };
  const { document, issuers, url, dnsName, fetchedAt } = metadata;
  return {
    facts: { smp: { url, fetchedAt, ...(dnsName === undefined ? {} : { dnsName }) } },
    parts: [
      { name: "smp", bytes: document },
      { name: "smp-issuers", bytes: Buffer.concat(issuers) },
    ],
  };
};
