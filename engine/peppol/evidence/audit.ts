/**
 * Evidence checked again, years later and offline: the chain, the objects, the records, the signatures and the
 * receipts, and whether the other side was to be believed on that day.
 * Nothing of it needs a private key of the access point; the master key opens the sealed payloads.
 * @source design/as4.md section 15; spec/sapi.md, Limits: archive retention
 */
import { isDeepStrictEqual } from "node:util";

import type { Audited } from "../../../validators/wss/protocol.js";
import type { Instant } from "../../base/clock.js";
import { LIMITS } from "../../base/limits.js";
import { chainHash, evidenceHead, evidenceRange, listEvidence } from "../../storage/evidence/evidence.js";
import type { ChainPlace, EvidenceEntry } from "../../storage/evidence/evidence.js";
import { evidenceFloor } from "../../storage/evidence/tombstones.js";
import type { EvidenceArchive } from "../../storage/evidence/archive.js";
import { EvidenceDamaged, readEvidence, referencesDigest, sha256Hex } from "../../storage/evidence/record.js";
import type { Manifest, ReadEvidence } from "../../storage/evidence/record.js";
import { digestOf, EvidenceMissing, isEvidenceRef, retainedUntil } from "../../storage/evidence/store.js";
import type { EvidenceStore } from "../../storage/evidence/store.js";
import type { Sql } from "../../storage/sql.js";
import { readAnswer } from "../as4/messages.js";
import type { As4Crypto } from "../as4/messages.js";
import { readUserMessage } from "../as4/user-message.js";
import type { UserMessage } from "../as4/user-message.js";
import { tombstoneFaults } from "./tombstones.js";
import { createTrustAudit, TRUST_AUDIT_FAULTS } from "./trust.js";
import type { AuditedRoot, TrustAudit } from "./trust.js";
import { readMultipart } from "../as4/mime.js";
import type { TrustStore } from "../pki/trust.js";

/** Every way in which the evidence can be found damaged. */
export const AUDIT_FAULTS = [
  "chain",
  "gap",
  "head",
  "object_missing",
  "object",
  "record",
  "index_differs",
  "payload",
  "signature",
  "signer",
  "references",
  "message_id",
  "header",
  "receipt",
  "shared_object",
  "tombstone",
  ...TRUST_AUDIT_FAULTS,
] as const;

/** One thing that is not as it was stored, or that should not have been believed when it was stored. */
export interface AuditFault {
  /** The entry's place in the chain; undefined where the fault is that of the chain's head. */
  readonly index: number | undefined;
  readonly fault: (typeof AUDIT_FAULTS)[number];
  /** The fault in a sentence of ours. */
  readonly detail: string;
}

/** What an audit is made with. */
export interface AuditPorts {
  readonly sql: Sql;
  readonly store: EvidenceStore;
  readonly archive: Pick<EvidenceArchive, "unseal">;
  readonly crypto: As4Crypto;
  readonly now: Instant;
  /** Authorities of the auditor. @default the roots that the records keep */
  readonly trust?: TrustStore;
  /**
   * Whether objects must be there that are past their retention: who is about to remove them proves them first, and a
   * store that is not mounted has none. @default they may have been removed
   */
  readonly whole?: boolean;
  /** Called after every page of entries. */
  readonly progress?: (done: number, all: number) => void;
  /** Called for every entry, and for every object beside its own that its record refers to. */
  readonly seen?: { readonly entry: (entry: EvidenceEntry) => void; readonly shared: (object: string) => void };
}

/** What an audit has looked at, and what it has found. */
export interface AuditResult {
  readonly entries: number;
  readonly objects: number;
  /** Entries whose objects were removed after their retention. */
  readonly expired: number;
  /** Entries that were removed themselves, and of which tombstones tell. */
  readonly removed: number;
  readonly faults: readonly AuditFault[];
  /** Where the trust in the other access points and SMPs ends. */
  readonly roots: readonly AuditedRoot[];
}

/** Entries by when they were stored, both included, and the index of the last one. All that there are by default. */
interface AuditedRange {
  readonly from?: Instant;
  readonly to?: Instant;
  readonly last?: number;
}

/**
 * Walks the chain from the first entry of a range to the last; it begins behind what was removed. Where it finds faults
 * while another process removes what is old, it walks again behind that.
 */
export async function auditEvidence(ports: AuditPorts, range: AuditedRange = {}): Promise<AuditResult> {
  for (;;) {
    const result = await walk(ports, range);
    if (result.faults.length === 0 || (await evidenceFloor(ports.sql)).index === result.removed) return result;
  }
}

async function walk(ports: AuditPorts, range: AuditedRange): Promise<AuditResult> {
  const floor = await evidenceFloor(ports.sql);
  // Engines go on meanwhile: the head from before is on the way, and the one from afterwards is not before its end.
  const isWhole = range.to === undefined && range.last === undefined;
  const before = isWhole ? await evidenceHead(ports.sql) : undefined;
  const found = await evidenceRange(ports.sql, floor.index, { from: range.from, to: range.to });
  const bounds = found === undefined ? undefined : { ...found, last: Math.min(found.last, range.last ?? found.last) };
  const faults: AuditFault[] = await tombstoneFaults(ports);
  const afterwards = isWhole ? await evidenceHead(ports.sql) : undefined;
  if (bounds === undefined) {
    if (
      before !== undefined &&
      range.from === undefined &&
      (before.index !== floor.index || before.hash !== floor.hash)
    )
      faults.push({ index: undefined, fault: "head", detail: "The chain has a head and no entries." });
    return { entries: 0, objects: 0, expired: 0, removed: floor.index, faults, roots: [] };
  }
  const readers: Readers = {
    objects: new ObjectReader(ports.store),
    shared: new ObjectReader(ports.store),
    trust: createTrustAudit(ports),
  };
  let entries = 0;
  let expired = 0;
  let last: Pick<ChainPlace, "index" | "hash"> | undefined =
    bounds.first === floor.index + 1
      ? floor
      : (await listEvidence(ports.sql, { after: bounds.first - 2, limit: 1 }))[0];
  let isOnTheWay = before === undefined || before.index === floor.index;
  for (let after = bounds.first - 1; after < bounds.last;) {
    const page = (await listEvidence(ports.sql, { after, limit: LIMITS.evidence_page })).filter(
      ({ index }) => index <= bounds.last,
    );
    for (const entry of page) {
      ports.seen?.entry(entry);
      const wrong = await entryFaults(ports, readers, entry);
      if (wrong === "expired") expired += 1;
      for (const fault of [...chainFaults(entry, last ?? floor), ...(wrong === "expired" ? [] : wrong)])
        if (faults.length < LIMITS.audit_faults_max) faults.push(fault);
      last = entry;
      isOnTheWay ||= entry.index === before?.index && entry.hash === before.hash;
      entries += 1;
    }
    after = page.at(-1)?.index ?? bounds.last;
    ports.progress?.(entries, bounds.last - bounds.first + 1);
  }
  if (!isOnTheWay || (afterwards !== undefined && afterwards.index < (last?.index ?? 0)))
    faults.push({
      index: undefined,
      fault: "head",
      detail: "The head of the chain is not its last entry: entries are missing at the end, or the head was changed.",
    });
  const { objects, trust } = readers;
  return { entries, expired, removed: floor.index, objects: objects.read, faults, roots: trust.roots() };
}

/** Checks that an entry follows from the one before it, and that its hash follows from its columns. */
function chainFaults(entry: EvidenceEntry, before: Pick<ChainPlace, "index" | "hash">): AuditFault[] {
  const { index } = entry;
  const faults: AuditFault[] = [];
  if (index !== before.index + 1) faults.push({ index, fault: "gap", detail: "Entries before this one are missing." });
  else if (entry.previousHash !== before.hash)
    faults.push({ index, fault: "chain", detail: "The entry does not continue the one before it." });
  if (chainHash(entry) !== entry.hash)
    faults.push({ index, fault: "chain", detail: "The entry is not what its hash was made of." });
  return faults;
}

/** Reads objects whole, for their digest covers the whole; keeps the last one, which holds the next record too. */
class ObjectReader {
  read = 0;
  readonly #store: EvidenceStore;
  #ref = "";
  #bytes: Buffer | EvidenceDamaged | EvidenceMissing = Buffer.alloc(0);

  constructor(store: EvidenceStore) {
    this.#store = store;
  }

  /** @throws EvidenceStoreFailure when the store is away: that is no fault of the evidence */
  async get(ref: string): Promise<Buffer | EvidenceDamaged | EvidenceMissing> {
    if (!isEvidenceRef(ref)) return new EvidenceDamaged("The entry names no object.");
    if (ref === this.#ref) return this.#bytes;
    this.#ref = ref;
    this.read += 1;
    try {
      const bytes = await this.#store.get(ref);
      this.#bytes =
        sha256Hex(bytes) === digestOf(ref)
          ? bytes
          : new EvidenceDamaged(`The object ${ref} has other bytes than were stored.`);
    } catch (error) {
      if (!(error instanceof EvidenceMissing)) throw error;
      this.#bytes = error;
    }
    return this.#bytes;
  }
}

interface Readers {
  readonly objects: ObjectReader;
  /** Objects that many records refer to. */
  readonly shared: ObjectReader;
  readonly trust: TrustAudit;
}

/** @returns what is wrong with an entry; `expired` when its object may be gone, and is */
async function entryFaults(
  ports: AuditPorts,
  readers: Readers,
  entry: EvidenceEntry,
): Promise<AuditFault[] | "expired"> {
  const { index } = entry;
  const object = await readers.objects.get(entry.object);
  if (object instanceof EvidenceMissing) {
    if (ports.whole === true || ports.now < retainedUntil(entry.object))
      return [{ index, fault: "object_missing", detail: `The object ${entry.object} is missing.` }];
    return "expired";
  }
  if (object instanceof EvidenceDamaged) return [{ index, fault: "object", detail: object.message }];
  const segment = object.subarray(entry.offset, entry.offset + entry.length);
  if (sha256Hex(segment) !== entry.recordSha256)
    return [{ index, fault: "record", detail: "The record is not the one that the entry was made for." }];
  let record: ReadEvidence;
  try {
    record = readEvidence(segment);
  } catch (error) {
    if (!(error instanceof EvidenceDamaged)) throw error;
    return [{ index, fault: "record", detail: error.message }];
  }
  if (record.manifest.revocationObject !== undefined) ports.seen?.shared(record.manifest.revocationObject);
  const shared = await sharedObject(ports, readers.shared, record);
  const checks = [
    indexFaults(entry, record),
    await exchangeFaults(ports, readers.trust, { entry, record, shared: shared.bytes }),
    shared.faults,
  ];
  return checks.flat().map((fault) => ({ index, ...fault }));
}

type Fault = Omit<AuditFault, "index">;

/** Checks that the index says the same of a record as the record itself. */
function indexFaults(entry: EvidenceEntry, { manifest, parts }: ReadEvidence): Fault[] {
  const digest = (bytes: Buffer | undefined): string | undefined =>
    bytes === undefined ? undefined : sha256Hex(bytes);
  const inRecord = [
    manifest.direction,
    manifest.outcome,
    manifest.documentId,
    manifest.firmId,
    manifest.messageId,
    manifest.requestContentType,
    manifest.requestAt,
    manifest.answerAt,
    digest(parts.get("request")),
    digest(parts.get("answer")),
  ];
  const indexed = [
    entry.direction,
    entry.outcome,
    entry.documentId,
    entry.firmId,
    entry.messageId,
    entry.envelopeContentType,
    entry.requestAt,
    entry.answerAt,
    entry.envelopeSha256,
    entry.answerSha256,
  ];
  return isDeepStrictEqual(inRecord, indexed)
    ? []
    : [{ fault: "index_differs", detail: "The index says something else than the record." }];
}

/** Outcomes that rest on a receipt. */
const WITH_RECEIPT: ReadonlySet<string> = new Set(["receipt", "stored", "duplicate"]);

/** An entry with what its record and the store hold. */
interface Held {
  readonly entry: EvidenceEntry;
  readonly record: ReadEvidence;
  readonly shared: Shared["bytes"];
}

/** Checks the signatures of an exchange, and whether its other side could be believed. */
async function exchangeFaults(ports: AuditPorts, trust: TrustAudit, held: Held): Promise<Fault[]> {
  const {
    entry,
    record: { manifest, parts },
  } = held;
  const audited = await signedIn(ports, held.record);
  if ("fault" in audited) return [audited];
  const faults: Fault[] = [];
  if (referencesDigest(audited.references) !== entry.referencesSha256)
    faults.push({ fault: "references", detail: "The index names another signature." });
  if (!Buffer.from(audited.signer).equals(parts.get("signer") ?? Buffer.alloc(0)))
    faults.push({ fault: "signer", detail: "The message was signed with another certificate than is kept." });
  const read = readUserMessage(audited.messaging);
  if (read.kind === "refused" || read.message.messageId !== manifest.messageId)
    return [...faults, { fault: "message_id", detail: "The message has another id." }];
  const { message } = read;
  if (!isAboutTheSame(message, manifest))
    faults.push({
      fault: "header",
      detail: "The signed header names other participants, another document type or process than the record.",
    });
  const receipted = WITH_RECEIPT.has(manifest.outcome);
  if (receipted && !(await receiptHolds(ports.crypto, held.record, audited)))
    faults.push({ fault: "receipt", detail: "The receipt does not prove the message." });
  const revocationAnswer = parts.get("revocation") ?? held.shared;
  return [
    ...faults,
    ...(await trust.faults({
      manifest,
      parts,
      message,
      signer: audited.signer,
      recipient: audited.recipient,
      revocationAnswer,
      receipted,
    })),
  ];
}

/** Verifies the message's signature over what was sent and over the octets that are kept sealed. */
async function signedIn({ archive, crypto }: AuditPorts, { manifest, parts }: ReadEvidence): Promise<Audited | Fault> {
  const request = parts.get("request");
  const mime = request === undefined ? undefined : readMultipart(request, manifest.requestContentType);
  const [root, attachment] = mime?.kind === "multipart" ? mime.parts : [];
  if (root === undefined || attachment?.cid === undefined)
    return { fault: "signature", detail: "The envelope cannot be read." };
  const sealed = manifest.parts.find(({ name }) => name === "payload")?.sealed;
  const stored = parts.get("payload");
  if (sealed === undefined || stored === undefined) return { fault: "payload", detail: "The record has no payload." };
  let payload: Buffer;
  try {
    payload = archive.unseal(stored, sealed);
  } catch (error) {
    if (!(error instanceof EvidenceDamaged)) throw error;
    return { fault: "payload", detail: error.message };
  }
  const audited = await crypto("as4.audit", { soap: root.body, parts: [{ cid: attachment.cid, bytes: payload }] });
  return audited.kind === "refused"
    ? { fault: "signature", detail: `The message's signature does not hold (${audited.reason}).` }
    : audited;
}

const isAboutTheSame = (message: UserMessage, { sender, receiver, documentTypeId, processId }: Manifest): boolean =>
  message.originalSender.toLowerCase() === sender.toLowerCase() &&
  message.finalRecipient.toLowerCase() === receiver.toLowerCase() &&
  message.action.endsWith(`::${documentTypeId}`) &&
  message.service === processId;

/** The receipt's signer is compared with the certificate that is kept of it; inbound it is our own. */
async function receiptHolds(
  crypto: As4Crypto,
  { manifest, parts }: ReadEvidence,
  { references }: Audited,
): Promise<boolean> {
  const body = parts.get("answer") ?? Buffer.alloc(0);
  const recipient = parts.get("answer-signer") ?? (await signerOf(crypto, body));
  const answer = await readAnswer(
    body,
    manifest.answerContentType ?? "",
    { messageId: manifest.messageId, references, recipient },
    crypto,
  );
  return answer.kind === "receipt";
}

async function signerOf(crypto: As4Crypto, soap: Buffer): Promise<Uint8Array> {
  const checked = await crypto("as4.check", { soap });
  return checked.kind === "checked" ? (checked.signer ?? Buffer.alloc(0)) : Buffer.alloc(0);
}

interface Shared {
  /** `missing`: it should be there, or was removed after its retention. */
  readonly bytes: Buffer | "missing" | undefined;
  readonly faults: Fault[];
}

/** The authority's answer where it is an object of its own. */
async function sharedObject(
  { now, whole }: AuditPorts,
  reader: ObjectReader,
  { manifest: { revocationObject: ref } }: ReadEvidence,
): Promise<Shared> {
  if (ref === undefined) return { bytes: undefined, faults: [] };
  if (!isEvidenceRef(ref))
    return { bytes: "missing", faults: [{ fault: "shared_object", detail: "The record names no object." }] };
  const bytes = await reader.get(ref);
  if (bytes instanceof EvidenceDamaged)
    return { bytes: "missing", faults: [{ fault: "shared_object", detail: bytes.message }] };
  if (!(bytes instanceof EvidenceMissing)) return { bytes, faults: [] };
  const mayBeGone = whole !== true && now >= retainedUntil(ref);
  return {
    bytes: "missing",
    faults: mayBeGone ? [] : [{ fault: "object_missing", detail: `The object ${ref} is missing.` }],
  };
}
