/** Everything that support needs to know of a document, and nothing of what it says. */
import { isoInstant, isoOrNull } from "../../base/clock.js";
import type { Clock } from "../../base/clock.js";
import type { DocumentId, FirmId } from "../../base/ids.js";
import { LIMITS } from "../../base/limits.js";
import { findDocument, listDocumentEvents } from "../../storage/documents/documents.js";
import { findFirmReceived } from "../../storage/documents/firm-received.js";
import { listSentAttempts } from "../../storage/documents/firm-sent.js";
import { listMarks } from "../../storage/documents/marks.js";
import { orTemporary } from "../../storage/sql.js";
import type { Json } from "../../storage/sql.js";
import { readDocumentEvidence } from "./evidence.js";
import { statusRecord } from "./lifecycle-reads.js";

type Marking = Awaited<ReturnType<typeof listMarks>>[number];
type PacketPorts = Parameters<typeof readDocumentEvidence>[0] & { readonly clock: Clock };

/** What happened, without the words of others and without values of the document. */
interface PacketEvent {
  readonly eventType: string;
  readonly actor: "system" | "user" | "api";
  /** Of a status, a response or a mark. */
  readonly code: string | null;
  readonly occurredAt: string;
}

const CODE = /^[A-Za-z0-9:._-]{1,40}$/u;

/** A member of an event that is a code; what else there is may be text of somebody else. */
function codeIn(meta: Json): string | null {
  if (typeof meta !== "object" || meta === null || Array.isArray(meta)) return null;
  const members = meta as Readonly<Record<string, Json>>;
  const code = members["mls"] ?? members["response"] ?? members["mark"];
  return typeof code === "string" && CODE.test(code) ? code : null;
}

/** By which rules a verdict was made: each set with its version. */
const ruleSetsOf = (validation: Json): string[] => {
  const text = (validation as { readonly ruleSet?: Json } | null)?.ruleSet;
  return typeof text === "string" ? text.split(", ") : [];
};

/** What of a finding is ours: its rule, its place and our sentence. */
const FINDING_MEMBERS = ["ruleId", "location", "message"] as const;
type Finding = Partial<Record<(typeof FINDING_MEMBERS)[number], string>>;

const findingOf = (stored: Json): Finding => {
  const members = typeof stored === "object" && stored !== null ? (stored as Readonly<Record<string, Json>>) : {};
  return Object.fromEntries(
    FINDING_MEMBERS.flatMap((name) => (typeof members[name] === "string" ? [[name, members[name]]] : [])),
  );
};
const verdictOf = (stored: ReturnType<typeof statusRecord>["validationResult"]) =>
  stored === null ? null : { errors: stored.errors.map(findingOf), warnings: stored.warnings.map(findingOf) };

/** What is known of a sent document beside its evidence. */
async function sentParts({ sql }: PacketPorts, firmId: FirmId, id: DocumentId) {
  const [record, events, attempts] = await orTemporary(
    Promise.all([
      findDocument(sql, firmId, id),
      listDocumentEvents(sql, firmId, id, { after: "0", limit: LIMITS.support_packet_entries_max }),
      listSentAttempts(sql, id, LIMITS.support_packet_entries_max),
    ]),
  );
  if (record === undefined) return undefined;
  return {
    direction: "outbound" as const,
    status: statusRecord(record).status as string,
    validation: verdictOf(statusRecord(record).validationResult),
    versions: { ruleSets: ruleSetsOf(record.validationResult) },
    timeline: (events ?? []).map(({ kind, actor, meta, occurredAt }): PacketEvent => ({
      eventType: kind,
      actor,
      code: codeIn(meta),
      occurredAt: isoInstant(occurredAt),
    })),
    attempts: attempts.map(({ startedAt, finishedAt, ...attempt }) => ({
      ...attempt,
      startedAt: isoInstant(startedAt),
      finishedAt: isoOrNull(finishedAt),
    })),
  };
}

/** What is known of a received document beside its evidence. */
async function receivedParts(
  { sql }: PacketPorts,
  { firmId, id, marks }: { readonly firmId: FirmId; readonly id: string; readonly marks: readonly Marking[] },
) {
  const row = await orTemporary(findFirmReceived(sql, firmId, id));
  const happened = [
    ["document.received", "system", null, row?.receivedAt],
    ["document.shown", "api", null, row?.apiReceivedAt],
    ["document.acknowledged", "api", null, row?.acknowledgedAt],
    ...marks.map(({ state, markedAt }) => ["document.marked", "api", state, markedAt] as const),
  ] as const;
  return {
    direction: "inbound" as const,
    status: row?.status.toLowerCase() ?? "held",
    validation: null,
    versions: { ruleSets: [] as string[] },
    timeline: happened
      .flatMap(([eventType, actor, code, at]): PacketEvent[] =>
        at === null || at === undefined ? [] : [{ eventType, actor, code, occurredAt: isoInstant(at) }],
      )
      .sort((a, b) => (a.occurredAt < b.occurredAt ? -1 : a.occurredAt > b.occurredAt ? 1 : 0)),
    attempts: [],
  };
}

/**
 * The packet of a document, sent or received.
 * @throws Refusal NOT_FOUND, TEMPORARY
 * @source spec/rulings.md, section 11: evidence, redacted timeline, attempts, validation report and versions
 */
export async function readSupportPacket(ports: PacketPorts, firmId: FirmId, id: string) {
  const evidence = await readDocumentEvidence(ports, firmId, id);
  const marks = await orTemporary(listMarks(ports.sql, firmId, id));
  const parts =
    (await sentParts(ports, firmId, id as DocumentId)) ?? (await receivedParts(ports, { firmId, id, marks }));
  return {
    documentId: id,
    generatedAt: isoInstant(ports.clock.now()),
    ...parts,
    evidence,
    marks: marks.map(({ state, markedAt }) => ({ state, markedAt: isoInstant(markedAt) })),
  };
}
