/** The text of an invoice, as people send it or as a PDF gives it: labels, blocks of parties, a table of lines. */
import { LIMITS } from "../../../base/limits.js";
import type { PartyRole } from "../fields.js";
import { CERTAINTY, partyHeading } from "../names.js";
import type { Meaning } from "../names.js";
import { countryOf } from "../words.js";
import { placeOf } from "./path.js";
import { foundAt } from "./reading.js";
import type { Dictionary, FoundValue, Reading } from "./reading.js";
import { labelsOf, segmentsOf } from "./text-labels.js";
import type { Labelled, Segment } from "./text-labels.js";
import { rowAt, tableAt } from "./text-table.js";
import type { TextTable } from "./text-table.js";
import { UnreadableSource } from "./unreadable.js";

/** A label in text is sure enough where its value is one of its kind. */
const LABELLED = 0.85;
/** Lines of a block without labels: the first is a name, one with a postal code is a place. */
const IN_BLOCK = 0.85;
const PLACE = /^(?:[A-Z]{1,2}[- ])?(\d{3} ?\d{2}|\d{4,5})\s+(\D{2,60})$/u;
const TAB = "    ";

export function readText(source: string, dictionary: Dictionary): Reading {
  if (Buffer.byteLength(source, "utf8") > LIMITS.mapper_text_bytes_max)
    throw new UnreadableSource("MAPPER-SIZE", `A text has at most ${LIMITS.mapper_text_bytes_max} octets.`);
  const lines = source.replaceAll("\t", TAB).split(/\r\n?|\n|\f/u);
  if (lines.length > LIMITS.mapper_rows_max)
    throw new UnreadableSource("MAPPER-ROWS", `A text has at most ${LIMITS.mapper_rows_max} lines; send one invoice.`);
  const reader = new TextReader(dictionary);
  for (const line of lines) reader.readLine(line.trimEnd());
  return reader.reading();
}

/** The block of a party: from its heading to the next empty line or heading. */
interface Block {
  readonly role: PartyRole;
  /** Where its heading stands in its line. */
  readonly start: number;
}

class TextReader {
  readonly #dictionary: Dictionary;
  // Each of these is bounded by the lines of one source.
  readonly #head: FoundValue[] = [];
  // Bounded by the same.
  readonly #lines: FoundValue[][] = [];
  // Bounded by the same.
  readonly #unmapped = new Set<string>();
  /** Members that lines of blocks have given: the second free line is no second name. Bounded by the members. */
  readonly #inBlocks = new Set<string>();
  #blocks: readonly Block[] = [];
  #blockHasValues = false;
  #table: TextTable | undefined;
  /** A label whose value must stand in the next line. */
  #waiting: Labelled | undefined;

  constructor(dictionary: Dictionary) {
    this.#dictionary = dictionary;
  }

  reading(): Reading {
    return { head: this.#head, lines: this.#lines, unmapped: [...this.#unmapped], issues: [] };
  }

  readLine(line: string): void {
    // No line of an invoice is that long, and looking for labels takes longer the longer it is.
    if (line.length > LIMITS.mapper_text_line_chars_max) {
      this.#unmapped.add(placeOf(line));
      return;
    }
    if (line.trim() === "") {
      if (this.#blockHasValues) this.#blocks = [];
      return;
    }
    if (this.#table !== undefined && this.#readRow(line, this.#table)) return;
    const table = tableAt(line, this.#dictionary);
    if (table !== undefined) {
      this.#table = table;
      this.#blocks = [];
      return;
    }
    const segments = segmentsOf(line);
    if (!this.#readHeadings(segments)) this.#readSegments(segments);
  }

  /** @returns false where the line ends the table */
  #readRow(line: string, table: TextTable): boolean {
    const row = rowAt(line, table);
    const [first] = segmentsOf(line);
    const isLabel = first !== undefined && labelsOf(first.text, this.#dictionary, undefined).labels.length > 0;
    if (row !== undefined && !isLabel) {
      this.#lines.push([...row]);
      return true;
    }
    if (isLabel || segmentsOf(line).length !== 1) {
      this.#table = isLabel ? undefined : table;
      return false;
    }
    return this.#continueDescription(line.trim());
  }

  /** A line of words below a row goes on with its description. */
  #continueDescription(words: string): boolean {
    const row = this.#lines.at(-1);
    const at = row?.findIndex(({ target }) => target === "description") ?? -1;
    const description = row?.[at];
    if (row === undefined || description === undefined || !/\p{L}/u.test(words)) return false;
    row[at] = { ...description, value: `${String(description.value)} ${words}` };
    return true;
  }

  /** `Dodávateľ:        Odberateľ:` */
  #readHeadings(segments: readonly Segment[]): boolean {
    const blocks = segments.flatMap(({ text, start }) => {
      const role = partyHeading(text);
      return role === undefined ? [] : [{ role, start }];
    });
    if (blocks.length === 0 || blocks.length !== segments.length) return false;
    this.#blocks = blocks;
    this.#blockHasValues = false;
    return true;
  }

  /** The party in whose column a piece of a line stands. */
  #roleAt(start: number): PartyRole | undefined {
    const [nearest] = [...this.#blocks].sort((a, b) => Math.abs(a.start - start) - Math.abs(b.start - start));
    return nearest?.role;
  }

  #readSegments(segments: readonly Segment[]): void {
    for (let at = 0; at < segments.length; at++) {
      const segment = segments[at];
      if (segment === undefined) continue;
      const role = this.#roleAt(segment.start);
      const { before, labels } = labelsOf(segment.text, this.#dictionary, role);
      if (before !== "" && !this.#takeWaiting(before)) this.#readFree(before, role);
      for (const [index, labelled] of labels.entries()) {
        const next = segments[at + 1];
        const isLast = index === labels.length - 1;
        if (labelled.value !== "" || !isLast) this.#take(labelled, labelled.value);
        else if (next !== undefined && labelsOf(next.text, this.#dictionary, role).labels.length === 0) {
          this.#take(labelled, next.text);
          at++;
        } else this.#waiting = labelled;
      }
    }
  }

  #takeWaiting(value: string): boolean {
    const waiting = this.#waiting;
    this.#waiting = undefined;
    if (waiting === undefined) return false;
    this.#take(waiting, value);
    return true;
  }

  #take({ label, meaning }: Labelled, value: string): void {
    this.#waiting = undefined;
    if (value === "") return;
    // `Odberateľ: Prijemca, a. s.` opens the block as well.
    const role = partyHeading(label);
    if (role !== undefined) this.#blocks = [{ role, start: 0 }];
    else if (this.#blocks.length === 1 && !meaning.target.includes(".")) this.#blocks = [];
    this.#blockHasValues = true;
    this.#push(meaning, label, value);
    this.#inBlocks.add(meaning.target);
  }

  #push(meaning: Meaning, place: string, value: string): void {
    const certainty = meaning.certainty === CERTAINTY.stated ? CERTAINTY.stated : Math.min(meaning.certainty, LABELLED);
    this.#head.push(foundAt({ ...meaning, certainty }, place, value));
  }

  /** A line without a label: in a block it is name, street, place or country, elsewhere nobody knows. */
  #readFree(text: string, role: PartyRole | undefined): void {
    if (role === undefined) {
      this.#unmapped.add(placeOf(text));
      return;
    }
    this.#blockHasValues = true;
    const place = PLACE.exec(text);
    const free = (member: string): boolean => !this.#inBlocks.has(`${role}.${member}`);
    if (place !== null && free("postalCode")) {
      this.#give(role, "postalCode", place[1] ?? "");
      this.#give(role, "city", place[2] ?? "");
    } else if (free("name")) this.#give(role, "name", text);
    else if (countryOf(text) !== undefined && free("country")) this.#give(role, "country", text);
    else if (free("street")) this.#give(role, "street", text);
    else this.#unmapped.add(placeOf(text));
  }

  #give(role: PartyRole, member: string, value: string): void {
    const kind = member === "country" ? "country" : "text";
    this.#inBlocks.add(`${role}.${member}`);
    this.#head.push(foundAt({ target: `${role}.${member}`, kind, certainty: IN_BLOCK }, `${role}: ${value}`, value));
  }
}
