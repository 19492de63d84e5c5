/**
 * A message on its way out, from a document to the octets that are posted: the envelope of the network around the
 * document, signed, encrypted, in MIME. Proportional to the document, so it is one job of a worker.
 */
import { referencesDigest, sha256Hex } from "../../storage/evidence/record.js";
import type { NewSbd } from "../envelope/build.js";
import { wrapDocument } from "../envelope/byte-exact.js";
import type { SbdhFault } from "../envelope/read.js";
import { buildUserMessage } from "./messages.js";
import type { As4Crypto, BuildOptions, BuiltMessage } from "./messages.js";

/** What a message is made of: its header, its envelope, and whose keys it is made with. */
export interface DepartureInput extends Omit<BuildOptions, "payload"> {
  readonly sbd: NewSbd;
}

/** A message that is ready to be posted, with the digests that its evidence needs. */
export interface ReadyMessage extends Omit<BuiltMessage, "soap"> {
  readonly kind: "ready";
  /** Of the references of its signature, hex. */
  readonly referencesSha256: string;
  /** Of the body, hex. */
  readonly sha256: string;
  /** Of the octets that the signature covers, hex. */
  readonly compressedSha256: string;
}

/** The network has no form for the document. */
interface Unwrappable {
  readonly kind: "refused";
  readonly fault: SbdhFault | "encoding";
}

/** Builds the message of one attempt. @throws Error when the certificate or a key of ours cannot be used */
export async function buildDeparture(
  { sbd, ...options }: DepartureInput,
  crypto: As4Crypto,
): Promise<ReadyMessage | Unwrappable> {
  const wrapped = wrapDocument(sbd);
  if (wrapped.kind === "refused") return wrapped;
  const { soap: _, ...built } = await buildUserMessage({ ...options, payload: wrapped.bytes }, crypto);
  return {
    kind: "ready",
    ...built,
    referencesSha256: referencesDigest(built.references),
    sha256: sha256Hex(built.body),
    compressedSha256: sha256Hex(built.compressed),
  };
}
