/** Children compared with the sequence of their parent's type: a pointer that only moves forward. */
import { NONE } from "../xml/document.js";
import type { ElementId, XmlDocument } from "../xml/document.js";
import type { SequenceType } from "./grammar.js";

/** Whether the children of e are what the sequence asks for. */
export function followsSequence(document: XmlDocument, e: ElementId, type: SequenceType): boolean {
  const { names, required, repeatable } = type;
  const length = names.length;
  let at = -1;
  for (let c = document.firsts[e] ?? NONE; c !== NONE; c = document.nexts[c] ?? NONE) {
    const name = document.names[c];
    if (at >= 0 && names[at] === name) {
      if (repeatable[at] === 0) return false;
      continue;
    }
    do {
      at++;
      if (at === length || (names[at] !== name && required[at] === 1)) return false;
    } while (names[at] !== name);
  }
  return at >= type.lastRequired;
}
