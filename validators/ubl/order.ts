/** Says what is wrong with the children of an element, so that one misplaced element gives one finding. */
import { NONE } from "../xml/document.js";
import type { ElementId, XmlDocument } from "../xml/document.js";
import { prefixedName } from "../xml/names.js";
import type { Report } from "./findings.js";
import type { SequenceType } from "./grammar.js";

/** Names listed in one message. */
const NAMES_SHOWN_MAX = 8;

/**
 * Reports the faults of a parent that does not follow its sequence.
 *
 * The longest run of children that are in order is taken as right; the others are misplaced.
 * @param skip  called for children that have no place here; what they contain is not looked at
 */
export function explainSequence(
  document: XmlDocument,
  e: ElementId,
  type: SequenceType,
  report: Report,
  skip: (child: ElementId) => void,
): void {
  const places = new Map<number, number>();
  type.names.forEach((name, place) => places.set(name, place));
  const children: ElementId[] = [];
  const childPlaces: number[] = [];
  let last = -1;
  for (let c = document.first(e); c !== NONE; c = document.next(c)) {
    const place = places.get(document.name(c));
    if (place === undefined) {
      skip(c);
      report(
        "UBL-GRAMMAR-UNEXPECTED",
        c,
        `${document.prefixed(document.name(c))} is not allowed in ${document.prefixed(document.name(e))}. ${expected(type, last)}`,
      );
    } else {
      children.push(c);
      childPlaces.push(place);
      last = place;
    }
  }
  reportMisplaced(document, type, { children, places: childPlaces }, report);
  const present = new Set(childPlaces);
  for (let place = 0; place <= type.lastRequired; place++) {
    if (type.required[place] === 1 && !present.has(place))
      report("UBL-GRAMMAR-MISSING", e, lacks(document, e, type, place));
  }
}

/** What could stand behind the child at `place`. */
function expected(type: SequenceType, place: number): string {
  const names: string[] = [];
  let more = false;
  for (let p = place < 0 || type.repeatable[place] === 1 ? Math.max(place, 0) : place + 1; p < type.names.length; p++) {
    if (names.length === NAMES_SHOWN_MAX) {
      more = true;
      break;
    }
    names.push(nameAt(type, p));
    if (type.required[p] === 1 && p > place) break;
  }
  if (names.length === 0) return "Remove it: nothing more can stand here.";
  return `Remove it, or use one of these here: ${names.join(", ")}${more ? ", …" : ""}.`;
}

function reportMisplaced(
  document: XmlDocument,
  type: SequenceType,
  { children, places }: { readonly children: readonly ElementId[]; readonly places: readonly number[] },
  report: Report,
): void {
  const inOrder = longestRun(places);
  const placed = new Set<number>();
  for (let i = 0; i < children.length; i++) {
    const place = places[i] ?? 0;
    if (inOrder[i] === 1 && (type.repeatable[place] === 1 || !placed.has(place))) {
      placed.add(place);
      continue;
    }
    const child = children[i] ?? NONE;
    const name = document.prefixed(document.name(child));
    const parent = document.prefixed(document.name(document.parent(child)));
    if (type.repeatable[place] === 0 && (placed.has(place) || hasRun(places, inOrder, place, i))) {
      report("UBL-GRAMMAR-REPEATED", child, `${name} must occur only once in ${parent}. Keep one of them.`);
    } else {
      placed.add(place);
      report(
        "UBL-GRAMMAR-ORDER",
        child,
        `${name} is in the wrong place in ${parent}. ${whereTo(type, places, inOrder, place)}`,
      );
    }
  }
}

/** Whether a later child of the same place is part of the run. */
function hasRun(places: readonly number[], inOrder: Uint8Array, place: number, from: number): boolean {
  for (let i = from + 1; i < places.length; i++) if (inOrder[i] === 1 && places[i] === place) return true;
  return false;
}

/** Neighbours between which a misplaced child belongs. */
function whereTo(type: SequenceType, places: readonly number[], inOrder: Uint8Array, place: number): string {
  let before = -1;
  let after = -1;
  for (let i = 0; i < places.length; i++) {
    const p = places[i] ?? 0;
    if (inOrder[i] !== 1) continue;
    if (p <= place) before = p;
    else {
      after = p;
      break;
    }
  }
  if (before >= 0)
    return `Move it behind ${nameAt(type, before)}${after >= 0 ? ` and before ${nameAt(type, after)}` : ""}.`;
  return after >= 0 ? `Move it before ${nameAt(type, after)}.` : "Move it to its place in the sequence.";
}

/** What an element lacks, and where it belongs. */
function lacks(document: XmlDocument, e: ElementId, type: SequenceType, place: number): string {
  let before = NONE;
  for (let c = document.first(e); c !== NONE; c = document.next(c)) {
    const at = type.names.indexOf(document.name(c));
    if (at >= 0 && at < place) before = c;
  }
  const where = before === NONE ? "as its first element" : `behind ${document.prefixed(document.name(before))}`;
  return `${document.prefixed(document.name(e))} lacks ${nameAt(type, place)}. Add it ${where}.`;
}

const nameAt = (type: SequenceType, place: number): string => prefixedName(type.names[place] ?? 0);

/** Marks (1) a longest non-decreasing run; n log n, so a million children are no way to make a worker busy. */
function longestRun(places: readonly number[]): Uint8Array {
  const tails: number[] = [];
  const previous = new Int32Array(places.length).fill(-1);
  for (let i = 0; i < places.length; i++) {
    const place = places[i] ?? 0;
    let low = 0;
    let high = tails.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((places[tails[middle] ?? 0] ?? 0) <= place) low = middle + 1;
      else high = middle;
    }
    if (low > 0) previous[i] = tails[low - 1] ?? -1;
    tails[low] = i;
  }
  const marked = new Uint8Array(places.length);
  for (let i = tails[tails.length - 1] ?? -1; i >= 0; i = previous[i] ?? -1) marked[i] = 1;
  return marked;
}
