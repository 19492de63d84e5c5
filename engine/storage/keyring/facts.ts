/**
 * Facts of a document beside its sealed text. What names it to people or tells of money is sealed in them; where the
 * database must find a document by it, a keyed digest stands in its place. A pool knows its sealer, so that whoever
 * lists documents need not.
 */
import { BoundedMap } from "../../base/bounded.js";
import { Refusal } from "../../base/errors.js";
import { LIMITS } from "../../base/limits.js";
import { mapInSlices } from "../../base/memory/slices.js";
import { FIRM_KEY_PREFIX, KeyMissing } from "../sealer.js";
import type { Sealer } from "../sealer.js";
import type { Json, Sql } from "../sql.js";
import { FirmKeyGone } from "./firm-key-files.js";

type Facts = Readonly<Record<string, unknown>>;

/** Members that are sealed; all but the amount leave a digest, by which statements compare and find. */
const SEALED_FACTS = [
  "documentNumber",
  "payableAmount",
  "buyerReference",
  "orderReference",
  "precedingInvoiceIds",
] as const;
const LEAVES_NOTHING: ReadonlySet<string> = new Set(["payableAmount"] satisfies (typeof SEALED_FACTS)[number][]);

/** Whose facts they are: a document by its id, and who sent it. */
export interface FactsOwner {
  readonly id: string;
  /** A participant, in any letter case. */
  readonly sender: string;
}

const contextOf = (id: string): string => `facts ${id}`;

/** The digests by which documents of a sender are found; they are the same after a change of the master key. */
export const factDigests = (sealer: Sealer, sender: string, texts: readonly string[]): string[] =>
  texts.map((text) => sealer.digest(text, `facts of ${sender.toLowerCase()}`));

/**
 * Seals what is secret among the facts of a document.
 * @returns facts as they are stored; members that are undefined are left out
 */
export function sealFacts(sealer: Sealer, { id, sender }: FactsOwner, facts: Facts): Json {
  const digested = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(digested);
    return typeof value === "string" ? factDigests(sealer, sender, [value])[0] : value;
  };
  const secret = Object.fromEntries(SEALED_FACTS.map((name) => [name, facts[name]]));
  const stored: Record<string, unknown> = { ...facts };
  for (const name of SEALED_FACTS) {
    stored[name] = LEAVES_NOTHING.has(name) ? undefined : digested(facts[name]);
  }
  const sealed = sealer.seal(Buffer.from(JSON.stringify(secret)), contextOf(id)).toString("base64");
  return { ...stored, keyId: sealer.keyId, sealed } as Json;
}

const isFacts = (value: unknown): value is Facts =>
  typeof value === "object" && value !== null && !Array.isArray(value);
const factsIn = (value: unknown): Facts => (isFacts(value) ? value : {});

/**
 * What was opened; undefined where the firm was erased. A database that was restored from before its erasure still
 * lists its rows: they must not take the page with them on which others stand.
 */
function unlessGone<T>(open: () => T): T | undefined {
  try {
    return open();
  } catch (error) {
    if (error instanceof FirmKeyGone) return undefined;
    throw error;
  }
}

/** The members that are sealed; none of them where the firm was erased. @throws Error as openFacts does */
function secretOf(sealer: Sealer, keyId: string, sealed: string, id: string): Facts {
  const opened = unlessGone(() => sealer.open(keyId, Buffer.from(sealed, "base64"), contextOf(id)).toString());
  return factsIn(opened === undefined ? undefined : JSON.parse(opened));
}

/**
 * The facts of a document as they were before they were sealed.
 * @param facts  as they are stored; what was stored before facts were sealed is given back as it is; those of an erased
 *   firm come back without what was sealed
 * @throws Error when they are not those of this document, or no key of the sealer opens them
 */
export function openFacts(sealer: Sealer, id: string, facts: unknown): Facts {
  const { keyId, sealed, ...stored } = factsIn(facts);
  if (typeof keyId !== "string" || typeof sealed !== "string") return stored;
  const secret = secretOf(sealer, keyId, sealed, id);
  return { ...stored, ...Object.fromEntries(SEALED_FACTS.map((name) => [name, secret[name]])) };
}

/** Hears of a sealed value that does not open: the row that it lies beside, and why. */
export type OnUnopened = (id: string, error: unknown) => void;

interface FactsReader {
  readonly sealer: Sealer;
  readonly onUnopened: OnUnopened;
  /** Whether keys that are missing here are registered, as those are that another engine seals with. */
  readonly registered: BoundedMap<string, boolean>;
}
const readers = new WeakMap<Sql, FactsReader>();

/** Tells a pool who opens the facts that its rows have, and who hears of those that do not open. */
export function useFactsSealer(sql: Sql, sealer: Sealer, onUnopened: OnUnopened): void {
  readers.set(sql, { sealer, onUnopened, registered: new BoundedMap(LIMITS.missing_keys_max) });
}

/** Looks whether a key is registered. What cannot be told now is asked again with the next value. */
async function lookUp(sql: Sql, { registered }: FactsReader, keyId: string): Promise<void> {
  try {
    const rows = await sql`select 1 from master_key where key_id = ${keyId}`;
    registered.set(keyId, rows.length > 0);
  } catch {
    registered.delete(keyId);
  }
}

/**
 * Whether a key that is missing here is one that others seal with. So it is said of a key of which nothing is known
 * yet, which is looked up.
 */
function isOfOthers(sql: Sql, reader: FactsReader, keyId: string): boolean {
  if (keyId.startsWith(FIRM_KEY_PREFIX)) return true;
  const known = reader.registered.use(keyId);
  if (known !== undefined) return known;
  reader.registered.set(keyId, true);
  void lookUp(sql, reader, keyId);
  return true;
}

/** Whether an error says that something lies under a key that others seal with and this process was not given. */
export function isKeyOfOthers(sql: Sql, error: unknown): error is KeyMissing {
  const reader = readers.get(sql);
  return error instanceof KeyMissing && (reader === undefined || isOfOthers(sql, reader, error.keyId));
}

/**
 * What a sealed value says; `otherwise` where it does not open: a damaged row costs no other row of its page.
 * @throws KeyMissing where others have sealed it, under a key that this process was not given: it is whole, and what
 *   stood in its place would be taken for what it says. Refusal TEMPORARY while the key of its firm is away
 */
export function openedOr<T>(sql: Sql, id: string, open: (sealer: Sealer) => T, otherwise: T): T {
  const reader = readers.get(sql);
  if (reader === undefined) throw new Error("facts are sealed, and this process has not said with what");
  try {
    return open(reader.sealer);
  } catch (error) {
    // Keys that are away for a moment are no fault of the row, and those of an erased firm are meant to be.
    if (error instanceof Refusal) throw error;
    if (isKeyOfOthers(sql, error)) throw error;
    if (!(error instanceof FirmKeyGone)) reader.onUnopened(id, error);
    return otherwise;
  }
}

/** What the note of a service message is sealed for. */
export const noteContext = (messageId: string): string => `note ${messageId}`;

interface StoredNote {
  /** Of the message. */
  readonly id: string;
  readonly keyId: string;
  /** What was written before notes were sealed. */
  readonly clear: string | null;
  readonly sealed: Buffer | null;
}

/** A note in clear; null also where it does not open. @throws Error when it is sealed and the pool knows no sealer */
export function openedNote(sql: Sql, { id, keyId, clear, sealed }: StoredNote): string | null {
  if (sealed === null) return clear;
  return openedOr(sql, id, (sealer) => sealer.open(keyId, sealed, noteContext(id)).toString(), null);
}

/** What lists and events show of a document; null for what it does not say. */
export interface ShownFacts {
  /** BT-1. */
  readonly number: string | null;
  /** BT-2 and BT-9, `YYYY-MM-DD`. */
  readonly issueDate: string | null;
  readonly dueDate: string | null;
  readonly currency: string | null;
  /** BT-115, the exact decimal text. */
  readonly total: string | null;
}

const textOf = (value: unknown): string | null => (typeof value === "string" ? value : null);

const NO_FACTS: Facts = {};

/**
 * What is shown of stored facts; where the sealed ones do not open, those beside them.
 * @throws Error when they are sealed and the pool knows no sealer
 */
export function shownFacts(sql: Sql, id: string, stored: unknown): ShownFacts {
  const facts = factsIn(stored);
  const { keyId, sealed } = facts;
  const secret =
    typeof keyId === "string" && typeof sealed === "string"
      ? openedOr(sql, id, (sealer) => secretOf(sealer, keyId, sealed, id), NO_FACTS)
      : facts;
  return {
    number: textOf(secret["documentNumber"]),
    issueDate: textOf(facts["issueDate"]),
    dueDate: textOf(facts["dueDate"]),
    currency: textOf(facts["currency"]),
    total: textOf(secret["payableAmount"]),
  };
}

/** As shownFacts, for rows of which many are of one document: what stands in them alike is opened once. */
export function shownOnce(sql: Sql): (id: string, stored: unknown) => ShownFacts {
  // Bounded by the rows of a page.
  const known = new Map<string, { readonly sealed: unknown; readonly shown: ShownFacts }>();
  return (id, stored) => {
    const { sealed } = factsIn(stored);
    const before = known.get(id);
    if (before !== undefined && before.sealed === sealed) return before.shown;
    const shown = shownFacts(sql, id, stored);
    // What lies in clear costs nothing, and has nothing by which it is known to be the same.
    if (sealed !== undefined) known.set(id, { sealed, shown });
    return shown;
  };
}

/** A row as a statement gives it, with the facts as they are stored in the place of what they show. */
export type WithFacts<Row, Shown extends keyof ShownFacts = keyof ShownFacts> = Omit<Row, Shown> & {
  readonly facts: unknown;
};

/**
 * Puts what is shown into a row of a statement, which nobody else has, in the place of its facts. Of more than sixteen
 * columns postgres.js makes a row that V8 keeps as a dictionary: a copy of it takes as long as opening its facts.
 */
export const withShown = <Row extends { readonly facts: unknown }, Shown extends object>(
  row: Row,
  shown: Shown,
): Row & Shown => Object.assign(row, shown, { facts: undefined });

/** Rows with their number in the place of their facts; `id` is that of the document. */
export const numbered = <Row extends { readonly facts: unknown }>(
  sql: Sql,
  rows: readonly Row[],
  idOf: (row: Row) => string,
): (Omit<Row, "facts"> & Pick<ShownFacts, "number">)[] =>
  rows.map((row) => withShown(row, { number: shownFacts(sql, idOf(row), row.facts).number }));

/** Rows with all that is shown in the place of their facts. */
export const shownRows = <Row extends { readonly id: string; readonly facts: unknown }>(
  sql: Sql,
  rows: readonly Row[],
): (Omit<Row, "facts"> & ShownFacts)[] => rows.map((row) => withShown(row, shownFacts(sql, row.id, row.facts)));

/** The same of a list that can be long. */
export const shownList = <Row extends { readonly id: string; readonly facts: unknown }>(
  sql: Sql,
  rows: readonly Row[],
): Promise<(Omit<Row, "facts"> & ShownFacts)[]> =>
  mapInSlices(rows, (row) => withShown(row, shownFacts(sql, row.id, row.facts)));
