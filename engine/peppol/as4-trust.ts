/** The PKI's judgement of a peer as an exchange and its evidence need it. */
import { LIMITS } from "../limits.js";
import type { EvidenceArchive } from "../storage/evidence-archive.js";
import type { EvidencePart, ExchangeFacts } from "../storage/evidence-record.js";
import type { PeerTrust, PeerVerdict } from "./as4-ports.js";
import type { Pki, RevocationAnswer } from "./pki.js";

const revocationOf = ({ status, source }: RevocationAnswer): "good" | "unknown" | "not_checked" =>
  status === "good" ? "good" : source === "off" || source === "none" ? "not_checked" : "unknown";

/** Access points, judged by the PKI. */
export const peerTrust = (pki: Pick<Pki, "check">): PeerTrust => ({
  judge: async (certificate) => {
    const verdict = await pki.check(certificate, { usage: "ap" });
    if (verdict.kind === "refused") return { kind: "refused", fault: verdict.reason, passing: verdict.reason === "revocation_unknown" };
    const { answer } = verdict.revocation;
    return { kind: "trusted", revocation: revocationOf(verdict.revocation), issuers: verdict.chain, ...(answer === undefined ? {} : { revocationAnswer: answer }) };
  },
});

/** What the evidence keeps of a judgement: parts of the record, and a reference where the authority's answer is long. */
export async function trustEvidence(
  evidence: EvidenceArchive, { revocation, revocationAnswer, issuers }: Extract<PeerVerdict, { kind: "trusted" }>,
): Promise<{ readonly facts: Pick<ExchangeFacts, "revocation" | "revocationObject">; readonly parts: readonly EvidencePart[] }> {
  const isLong = revocationAnswer !== undefined && revocationAnswer.length > LIMITS.evidence_part_shared_bytes;
  return {
    facts: { revocation, ...(isLong ? { revocationObject: await evidence.share(Buffer.from(revocationAnswer)) } : {}) },
    parts: [
      ...(issuers === undefined ? [] : [{ name: "issuers" as const, bytes: Buffer.concat(issuers) }]),
      ...(revocationAnswer === undefined || isLong ? [] : [{ name: "revocation" as const, bytes: revocationAnswer }]),
    ],
  };
}
