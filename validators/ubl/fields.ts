/** Reads values of a document by paths of names: what is missing is null, what is there is its own text. */
import { NONE } from "../xml/document.js";
import type { ElementId, XmlDocument } from "../xml/document.js";
import type { NameId } from "../xml/names.js";

/** Values of one document. Valid as long as the document is. */
export class Fields {
  readonly #document: XmlDocument;
  readonly #shown: (text: string) => string;

  /** @param shown  what is told of a value, which may be as long as the document */
  constructor(document: XmlDocument, shown: (text: string) => string) {
    this.#document = document;
    this.#shown = shown;
  }

  /** The element at the end of a path of first children, or NONE. */
  at(from: ElementId, ...path: readonly NameId[]): ElementId {
    return path.reduce((e, name) => (e === NONE ? NONE : this.#document.child(e, name)), from);
  }

  /** Text of the element at the end of a path, without white space around it; null when there is none. */
  text(from: ElementId, ...path: readonly NameId[]): string | null {
    const e = this.at(from, ...path);
    return e === NONE ? null : this.#value(this.#document.text(e));
  }

  /** Whether the element at the end of a path says yes; XML Schema has two words for it. */
  isTrue(from: ElementId, ...path: readonly NameId[]): boolean {
    const text = this.text(from, ...path);
    return text === "true" || text === "1";
  }

  /** An attribute of an element. */
  attribute(e: ElementId, name: NameId): string | null {
    return e === NONE ? null : this.#value(this.#document.attr(e, name));
  }

  /** What `take` makes of the children of that name, the first `max` of them. */
  each<T>(parent: ElementId, name: NameId, max: number, take: (e: ElementId) => T): T[] {
    const taken: T[] = [];
    for (
      let e = parent === NONE ? NONE : this.#document.child(parent, name);
      e !== NONE && taken.length < max;
      e = this.#document.nextSame(e)
    )
      taken.push(take(e));
    return taken;
  }

  /** How many children of that name there are. */
  count(parent: ElementId, name: NameId): number {
    return parent === NONE ? 0 : this.#document.countChildren(parent, name);
  }

  #value(text: string | undefined): string | null {
    const shown = this.#shown(text?.trim() ?? "");
    return shown === "" ? null : shown;
  }
}
