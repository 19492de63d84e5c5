/** Statements of the evidence index: append to the chain, find, walk. */
import { isoInstant, isoOrNull } from "../../base/clock.js";
import type { Instant } from "../../base/clock.js";
import { LIMITS } from "../../base/limits.js";
import { batched, CHAIN_SLOTS } from "../batched.js";
import { sha256Hex } from "./record.js";
import type { EvidenceDirection } from "./record.js";
import type { EvidenceRef } from "./store.js";
import type { Json, Sql } from "../sql.js";

/** What is known of a record before it has its place in the chain. Digests are hex. */
export interface NewEvidence {
  readonly direction: EvidenceDirection;
  readonly outcome: string;
  readonly documentId: string;
  readonly firmId: string | undefined;
  readonly messageId: string;
  readonly referencesSha256: string;
  readonly object: EvidenceRef;
  readonly offset: number;
  readonly length: number;
  readonly recordSha256: string;
  readonly envelopeSha256: string;
  readonly envelopeBytes: number;
  readonly envelopeContentType: string;
  readonly answerSha256: string | undefined;
  readonly requestAt: Instant;
  readonly answerAt: Instant | undefined;
  readonly storedAt: Instant;
}

/** An entry's place. @source spec/rulings.md, section 11: chain */
export interface ChainPlace {
  readonly index: number;
  readonly hash: string;
  readonly previousHash: string;
}

export type EvidenceEntry = NewEvidence & ChainPlace;

/** Whether any record of this database is in a store. */
export async function hasEvidence(sql: Sql): Promise<boolean> {
  const [row] = await sql<{ readonly any: boolean }[]>`select exists (select 1 from evidence) as any`;
  return row?.any ?? false;
}

/** A record as append_evidence takes it, and every function that appends one. */
export const evidenceJson = (entry: NewEvidence): Json => ({
  direction: entry.direction,
  outcome: entry.outcome,
  document_id: entry.documentId,
  firm_id: entry.firmId ?? null,
  message_id: entry.messageId,
  references_sha256: entry.referencesSha256,
  object: entry.object,
  byte_offset: entry.offset,
  byte_length: entry.length,
  record_sha256: entry.recordSha256,
  envelope_sha256: entry.envelopeSha256,
  envelope_bytes: entry.envelopeBytes,
  envelope_content_type: entry.envelopeContentType,
  answer_sha256: entry.answerSha256 ?? null,
  request_at: isoInstant(entry.requestAt),
  answer_at: isoOrNull(entry.answerAt),
  stored_at: isoInstant(entry.storedAt),
});

/**
 * Appends a record to the chain; calls that come together share a statement.
 * @returns its place; a record that is there already keeps its own
 */
export const chainEvidence = batched<NewEvidence, ChainPlace>(
  async (sql, entries) => {
    const rows = await sql<
      { readonly n: string; readonly index: string; readonly hash: string; readonly previous_hash: string }[]
    >`
    select n, index, hash, previous_hash
    from append_evidence(${JSON.stringify(entries.map(evidenceJson))}::text::jsonb) order by n`;
    return rows.map(({ index, hash, previous_hash }) => ({ index: Number(index), hash, previousHash: previous_hash }));
  },
  { slots: CHAIN_SLOTS, max: LIMITS.evidence_batch, pace_ms: LIMITS.statement_pace_ms },
);

interface Row {
  readonly index: string;
  readonly hash: string;
  readonly previous_hash: string;
  readonly direction: EvidenceDirection;
  readonly outcome: string;
  readonly document_id: string;
  readonly firm_id: string | null;
  readonly message_id: string;
  readonly references_sha256: string;
  readonly object: string;
  readonly byte_offset: number;
  readonly byte_length: number;
  readonly record_sha256: string;
  readonly envelope_sha256: string;
  readonly envelope_bytes: number;
  readonly envelope_content_type: string;
  readonly answer_sha256: string | null;
  readonly request_at: Date;
  readonly answer_at: Date | null;
  readonly stored_at: Date;
}

const columns = (sql: Sql) => sql`
  index, encode(hash, 'hex') as hash, encode(previous_hash, 'hex') as previous_hash, direction, outcome, document_id,
  firm_id, message_id, references_sha256,
  object, byte_offset, byte_length, record_sha256, envelope_sha256, envelope_bytes, envelope_content_type,
    answer_sha256, request_at, answer_at, stored_at`;

const entryOf = (row: Row): EvidenceEntry => ({
  index: Number(row.index),
  hash: row.hash,
  previousHash: row.previous_hash,
  direction: row.direction,
  outcome: row.outcome,
  documentId: row.document_id,
  firmId: row.firm_id ?? undefined,
  messageId: row.message_id,
  referencesSha256: row.references_sha256,
  object: row.object,
  offset: row.byte_offset,
  length: row.byte_length,
  recordSha256: row.record_sha256,
  envelopeSha256: row.envelope_sha256,
  envelopeBytes: row.envelope_bytes,
  envelopeContentType: row.envelope_content_type,
  answerSha256: row.answer_sha256 ?? undefined,
  requestAt: row.request_at.getTime(),
  answerAt: row.answer_at?.getTime(),
  storedAt: row.stored_at.getTime(),
});

/** The hash that an entry must have by its columns: the same text as evidence_text in SQL. */
export function chainHash(entry: EvidenceEntry): string {
  const text = [
    "kurier-evidence-1",
    entry.index,
    entry.previousHash,
    entry.direction,
    entry.outcome,
    entry.documentId,
    entry.firmId ?? "",
    entry.messageId,
    entry.referencesSha256,
    entry.object,
    entry.offset,
    entry.length,
    entry.recordSha256,
    entry.envelopeSha256,
    entry.envelopeBytes,
    entry.envelopeContentType,
    entry.answerSha256 ?? "",
    entry.requestAt,
    entry.answerAt ?? "",
    entry.storedAt,
  ].join("\n");
  return sha256Hex(text);
}

/** `previousHash` of the first entry. */
export const CHAIN_START = sha256Hex("kurier-evidence-1");

/** Outcomes that prove something, best first; of several records of a document the best and newest is shown. */
const PROOFS = ["receipt", "stored", "already_handed_over", "duplicate"];

/** The record that says most about a document of a firm; undefined when there is none. */
export async function findEvidence(sql: Sql, firmId: string, documentId: string): Promise<EvidenceEntry | undefined> {
  const [row] = await sql<Row[]>`
    select ${columns(sql)} from evidence
    where document_id = ${documentId} and firm_id = ${firmId}
    order by coalesce(array_position(${PROOFS}::text[], outcome), 99), index desc limit 1`;
  return row === undefined ? undefined : entryOf(row);
}

/** The record of an inbound message that came with this very signature before. */
export async function findRepeatedEvidence(
  sql: Sql,
  messageId: string,
  referencesSha256: string,
): Promise<EvidenceEntry | undefined> {
  const [row] = await sql<Row[]>`
    select ${columns(sql)} from evidence
    where direction = 'inbound' and message_id = ${messageId} and references_sha256 = ${referencesSha256}
    order by index limit 1`;
  return row === undefined ? undefined : entryOf(row);
}

/** Entries behind an index, in order. */
export async function listEvidence(
  sql: Sql,
  page: { readonly after: number; readonly limit: number },
): Promise<EvidenceEntry[]> {
  const rows = await sql<Row[]>`
    select ${columns(sql)} from evidence where index > ${page.after} order by index limit ${page.limit}`;
  return rows.map(entryOf);
}

/** The first and the last entry behind an index and stored between two instants; undefined when there is none. */
export async function evidenceRange(
  sql: Sql,
  after: number,
  stored: { readonly from: Instant | undefined; readonly to: Instant | undefined },
): Promise<{ readonly first: number; readonly last: number } | undefined> {
  const from = stored.from === undefined ? null : new Date(stored.from);
  const to = stored.to === undefined ? null : new Date(stored.to);
  const [row] = await sql<{ readonly first: string | null; readonly last: string | null }[]>`
    select min(index) as first, max(index) as last from evidence
    where index > ${after} and (${from}::timestamptz is null or stored_at >= ${from})
      and (${to}::timestamptz is null or stored_at <= ${to})`;
  return row?.first == null || row.last == null ? undefined : { first: Number(row.first), last: Number(row.last) };
}

/** The last place of the chain. */
export async function evidenceHead(sql: Sql): Promise<{ readonly index: number; readonly hash: string }> {
  const [row] = await sql<
    { readonly index: string; readonly hash: string }[]
  >`select index, encode(hash, 'hex') as hash from evidence_head`;
  if (row === undefined) throw new Error("the evidence chain has no head");
  return { index: Number(row.index), hash: row.hash };
}
