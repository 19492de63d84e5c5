/** Checks a received signal (receipt or error): unsigned is a fact to report, badly signed is a refusal. */
import { childrenNamed } from "../xml/tree.js";
import { readEnvelope, refused, withClaimedId } from "./envelope.js";
import type { Envelope } from "./envelope.js";
import { NS, PEPPOL_SIGNATURE } from "./names.js";
import { headerSignatureFault } from "./open.js";
import type { Checked, CheckInput, SecurityReason, SecurityRefused } from "./protocol.js";
import { readMessageSignature, referenceValues, signedSet } from "./verify.js";

/** @returns the signal's header, and its signer when a signature was there and held. */
export function checkSignal(input: CheckInput): Checked | SecurityRefused {
  const envelope = readEnvelope(input.soap);
  if ("kind" in envelope) return envelope;
  const result = check(envelope);
  return typeof result === "string" ? withClaimedId(refused(result), envelope.messaging) : result;
}

function check(envelope: Envelope): Checked | SecurityReason {
  const { security, messaging } = envelope;
  if (security === undefined || childrenNamed(security, NS.ds, "Signature").length === 0) {
    return { kind: "checked", messaging, references: [] };
  }
  const signature = readMessageSignature(envelope, security, PEPPOL_SIGNATURE);
  if (signature.kind === "fault") return signature.reason;
  const signed = signedSet(envelope, signature.info.references, []);
  if (typeof signed === "string") return signed;
  const fault = headerSignatureFault(envelope, signature, signed);
  if (fault !== undefined) return fault;
  return {
    kind: "checked",
    messaging,
    signer: signature.signer.der,
    references: referenceValues(signature.info.references),
  };
}
