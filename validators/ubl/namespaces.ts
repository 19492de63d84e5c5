/** A whole document in the wrong namespaces: one finding that shows found and expected, instead of one an element. */
import { NONE } from "../xml/document.js";
import type { XmlDocument } from "../xml/document.js";
import { cac, cbc, NS } from "../xml/names.js";
import { ELEMENT_TYPES } from "./grammar.js";

/** Children of the root with a known name in an unknown namespace from which on the namespace itself is the mistake. */
const MISPLACED_MIN = 2;

/** Namespaces of the root's children that are wrong as such, each with one of its elements and what it should be. */
interface WrongNamespace {
  readonly element: number;
  readonly message: string;
}

/** @returns nothing for a document whose root and components are in the namespaces of UBL 2.1 */
export function wrongNamespaces(document: XmlDocument): WrongNamespace[] {
  const strangers = new Map<string, { readonly element: number; readonly local: string; readonly count: number }>();
  for (let e = document.first(0); e !== NONE; e = document.next(e)) {
    if (ELEMENT_TYPES[document.name(e)] !== undefined) continue;
    const { namespace, local } = document.expanded(document.name(e));
    if (expectedNamespace(local) === undefined || expectedNamespace(local) === namespace) continue;
    const known = strangers.get(namespace);
    if (known === undefined) strangers.set(namespace, { element: e, local, count: 1 });
    else strangers.set(namespace, { ...known, count: known.count + 1 });
  }
  return Array.from(strangers)
    .filter(([, { count }]) => count >= MISPLACED_MIN)
    .map(([namespace, { element, local }]) => ({
      element,
      message: `${local} is in ${namespace === "" ? "no namespace" : `the namespace ${namespace}`}; UBL 2.1 has it in ${expectedNamespace(local) ?? ""}. Declare that namespace for it and for the others like it.`,
    }));
}

/** The namespace that UBL has a component of this local name in. */
const expectedNamespace = (local: string): string | undefined =>
  Object.hasOwn(cbc, local) ? NS.cbc : Object.hasOwn(cac, local) ? NS.cac : undefined;
