/**
 * What people at the other end wrote with their answer to a document of ours. It stands sealed in the document's
 * timeline, where lists, webhooks and pulls read it; the codes and days by which statements decide stay in clear.
 */
import type { TimelineKind } from "../../lifecycle/document.js";
import type { Sealer } from "../sealer.js";
import type { Json, Sql } from "../sql.js";
import { openedOr } from "./facts.js";

/** Events of a timeline whose words are sealed. */
export const SEALED_WORDS: readonly TimelineKind[] = ["document.response_received", "document.response_ignored"];

/** What stands beside an event: a sentence, and members of which `reasons` are words too. */
interface Words {
  readonly detail: string | null;
  readonly meta: Json;
}

/** What the words of an event are sealed for. */
const wordsContext = (eventId: string): string => `words ${eventId}`;

type Members = Readonly<Record<string, Json>>;
const membersOf = (value: unknown): Members =>
  typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Members) : {};

/**
 * Seals the words of an event.
 * @returns the members that are stored; no sentence is stored beside them
 */
export function sealWords(sealer: Sealer, eventId: string, { detail, meta }: Words): Json {
  const { reasons = null, ...beside } = membersOf(meta);
  const sealed = sealer.seal(Buffer.from(JSON.stringify({ detail, reasons })), wordsContext(eventId));
  return { ...beside, keyId: sealer.keyId, sealed: sealed.toString("base64") };
}

/** Words as they were before they were sealed. @throws Error when they are not those of this event, or do not open */
function unsealed(sealer: Sealer, eventId: string, members: Members): Words {
  const { keyId, sealed, ...beside } = members;
  const opened = sealer.open(String(keyId), Buffer.from(String(sealed), "base64"), wordsContext(eventId));
  const { detail, reasons = null } = membersOf(JSON.parse(opened.toString()));
  return { detail: typeof detail === "string" ? detail : null, meta: { ...beside, reasons } };
}

/** Whether the words of an event are sealed. */
const areSealed = (meta: Json): boolean => typeof membersOf(meta)["sealed"] === "string";

/** Words as they were before they were sealed; what was stored in clear is given back as it is. @throws Error */
export const openWords = (sealer: Sealer, eventId: string, stored: Words): Words =>
  areSealed(stored.meta) ? unsealed(sealer, eventId, membersOf(stored.meta)) : stored;

/** What is shown of an event's words; the codes alone where the words do not open. */
export function openedWords(sql: Sql, eventId: string, stored: Words): Words {
  if (!areSealed(stored.meta)) return stored;
  const beside = Object.entries(membersOf(stored.meta)).filter(([name]) => name !== "keyId" && name !== "sealed");
  return openedOr(sql, eventId, (sealer) => openWords(sealer, eventId, stored), {
    ...{ detail: null, meta: Object.fromEntries(beside) },
  });
}

/** Rows of events with their words in clear. */
export const withWords = <Row extends Words & { readonly id: string }>(sql: Sql, rows: readonly Row[]): Row[] =>
  rows.map((row) => ({ ...row, ...openedWords(sql, row.id, row) }));
