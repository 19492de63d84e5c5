/**
 * Our service metadata publisher: what our participants take, signed once and kept as long as nothing in it changes.
 */
import { createHash } from "node:crypto";

import { BoundedMap } from "../../base/bounded.js";
import { PARTICIPANT_SCHEME } from "../../base/ids.js";
import { LIMITS } from "../../base/limits.js";
import { errorFields } from "../../base/log.js";
import type { Log } from "../../base/log.js";
import type { As4Crypto } from "../as4/messages.js";
import { DOCUMENT_TYPE_SCHEME } from "../envelope/identifiers.js";
import type { OwnIdentity } from "../pki/own-keys.js";
import { BUSY } from "./remembering.js";
import { FAULT } from "./routing.js";
import { pathSegment, serviceGroupXml, serviceMetadataXml } from "./smp-document.js";

/** One of our participants and what it takes. */
export interface PublishedParticipant {
  readonly capabilities: readonly { readonly documentTypeId: string; readonly processId: string }[];
  /** Where documents for it go, and the certificate of who takes them there, DER. @default our own access point */
  readonly endpoint?: { readonly url: string; readonly certificate: Buffer };
}

interface SmpServerOptions {
  /**
   * One of our participants by its key, undefined when it is not registered here. May throw; then the answer is
   * "failed".
   */
  readonly find: (participantKey: string) => Promise<PublishedParticipant | undefined>;
  readonly crypto: As4Crypto;
  readonly keys: { ap(): OwnIdentity; smp(): OwnIdentity | undefined };
  /** Where access points deliver: `https://…/as4`. */
  readonly endpointUrl: string;
  /** Address of this SMP, without a slash at its end: `https://…/smp`. */
  readonly baseUrl: string;
  /** Whoever asks may ask often; see oncePerSecond. */
  readonly log: Pick<Log, "error">;
}

/** What our SMP answers to one question. */
export type SmpServerAnswer =
  | { readonly kind: "document"; readonly body: Buffer; readonly etag: string; readonly url: string }
  | { readonly kind: "no_participant" }
  | { readonly kind: "no_document" }
  | { readonly kind: "failed"; readonly reason: string };

/** Our own SMP: the metadata of our participants, signed. */
export interface SmpServer {
  /** The signed metadata of a participant (short form, any case) for a document type without scheme. Never throws. */
  metadata(participant: string, documentType: string): Promise<SmpServerAnswer>;
  /** The list of what a participant takes; not signed, as its schema has no place for a signature. Never throws. */
  group(participant: string): Promise<SmpServerAnswer>;
}

/** Makes our SMP. A document is signed once and remembered until what it says changes. */
export function createSmpServer({ find, crypto, keys, endpointUrl, baseUrl, log }: SmpServerOptions): SmpServer {
  /** Content → signed document. */
  const signed = new BoundedMap<string, Promise<Buffer>>(LIMITS.smp_server_documents_max);
  let underWay = 0;

  /**
   * Signs a document, or finds the one that was signed before: RSA signatures are the same for the same bytes.
   * @returns undefined when too many are being signed: anybody may ask for any document of ours
   */
  function sign(document: string, signer: OwnIdentity): Promise<Buffer> | undefined {
    const key = `${signer.fingerprint} ${digestOf(document)}`;
    const known = signed.get(key);
    if (known !== undefined) return known;
    if (underWay >= LIMITS.smp_signatures_at_once_max) return undefined;
    underWay += 1;
    const signing = crypto("enveloped.sign", {
      document: Buffer.from(document),
      signer: { certificate: signer.certificate, key: signer.key },
    })
      .then((bytes) => Buffer.from(bytes))
      .finally(() => {
        underWay -= 1;
      });
    // A failure is not kept.
    void signing.catch(() => {
      if (signed.get(key) === signing) signed.delete(key);
    });
    return signed.keep(key, signing);
  }

  async function metadata(participant: string, documentType: string): Promise<SmpServerAnswer> {
    const own = await find(participant);
    if (own === undefined) return { kind: "no_participant" };
    const processes = own.capabilities
      .filter(({ documentTypeId }) => documentTypeId === documentType)
      .map(({ processId }) => processId)
      .sort();
    if (processes.length === 0) return { kind: "no_document" };
    const signer = keys.smp();
    if (signer === undefined) return { kind: "failed", reason: "no_smp_key" };
    const { certificate, notBefore, notAfter } = keys.ap();
    const endpoint = own.endpoint ?? { url: endpointUrl, certificate };
    const document = serviceMetadataXml({
      participant,
      documentType,
      processes,
      ...endpoint,
      activation: notBefore,
      expiration: notAfter,
      contact: baseUrl,
    });
    const signing = sign(document, signer);
    if (signing === undefined) return { kind: "failed", reason: BUSY };
    const body = await signing;
    const url = `${baseUrl}/${pathSegment(PARTICIPANT_SCHEME, participant)}/services/${pathSegment(DOCUMENT_TYPE_SCHEME, documentType)}`;
    return { kind: "document", body, etag: `"${digestOf(body)}"`, url };
  }

  async function group(participant: string): Promise<SmpServerAnswer> {
    const own = await find(participant);
    if (own === undefined) return { kind: "no_participant" };
    const types = [...new Set(own.capabilities.map(({ documentTypeId }) => documentTypeId))].sort();
    const body = Buffer.from(serviceGroupXml(participant, types, baseUrl));
    return {
      kind: "document",
      body,
      etag: `"${digestOf(body)}"`,
      url: `${baseUrl}/${pathSegment(PARTICIPANT_SCHEME, participant)}`,
    };
  }

  const guarded = async (answer: Promise<SmpServerAnswer>): Promise<SmpServerAnswer> => {
    try {
      return await answer;
    } catch (error) {
      log.error("smp.answer_failed", errorFields(error));
      return { kind: "failed", reason: FAULT };
    }
  };

  return {
    metadata: (participant, documentType) => guarded(metadata(participant.toLowerCase(), documentType)),
    group: (participant) => guarded(group(participant.toLowerCase())),
  };
}

const digestOf = (content: string | Buffer): string =>
  createHash("sha256").update(content).digest("base64url").slice(0, 32);
