/** Elements of a UBL document by their names, and which of them nobody has taken. */
import { LIMITS } from "../../../base/limits.js";
import { childElements } from "../../../../validators/xml/tree.js";
import type { XmlElement } from "../../../../validators/xml/tree.js";
import { placeOf } from "./path.js";

const childrenCalled = (element: XmlElement, name: string): readonly XmlElement[] =>
  childElements(element).filter(({ local }) => local === name);

/** Attributes that say whose an identifier is, or name a code. */
const TERMS: ReadonlySet<string> = new Set(["schemeID", "name"]);

/** An element with its place among those of its name: `TaxTotal[2]`, without a number where it is alone. */
export interface Placed {
  readonly element: XmlElement;
  readonly place: string;
}

export const placed = (several: readonly XmlElement[]): readonly Placed[] =>
  several.map((element, at) => ({
    element,
    place: several.length > 1 ? `${element.local}[${at + 1}]` : element.local,
  }));

/** Finds elements and remembers what became of each. Names are enough: UBL has none twice in one place. */
export class TakenElements {
  // Bounded by the elements of one source.
  readonly #taken = new Set<XmlElement>();
  // Bounded by the same.
  readonly #schemes = new Map<XmlElement, string>();

  elements(from: XmlElement, name: string): readonly XmlElement[] {
    return childrenCalled(from, name);
  }

  /** The first of each name. */
  element(from: XmlElement, ...path: readonly string[]): XmlElement | undefined {
    return path.reduce<XmlElement | undefined>(
      (parent, name) => (parent === undefined ? undefined : childrenCalled(parent, name)[0]),
      from,
    );
  }

  has(from: XmlElement, ...path: readonly string[]): boolean {
    return this.element(from, ...path) !== undefined;
  }

  /** The text of an element that is not taken by that. */
  peek(element: XmlElement): string {
    return element.children
      .flatMap((child) => (child.kind === "text" ? [child.value] : []))
      .join("")
      .trim();
  }

  /** The text of an element, which is taken. */
  textOf(element: XmlElement): string {
    this.#taken.add(element);
    return this.peek(element);
  }

  /** Takes an element with everything in it. */
  take(element: XmlElement): void {
    this.#taken.add(element);
  }

  text(from: XmlElement, ...path: readonly string[]): string | undefined {
    const element = this.element(from, ...path);
    const text = element === undefined ? "" : this.textOf(element);
    return text === "" ? undefined : text;
  }

  /** Takes an element whose text is what will be written in its place. @returns whether it is */
  takeSame(element: XmlElement | undefined, written: string | undefined): boolean {
    const isSame = element !== undefined && written !== undefined && this.peek(element) === written;
    if (isSame) this.#taken.add(element);
    return isSame;
  }

  /** Tells which scheme will be written of an element that is taken; default: none, so that any other is named. */
  writesScheme(element: XmlElement | undefined, written: string | undefined): void {
    if (element !== undefined && written !== undefined) this.#schemes.set(element, written);
  }

  /**
   * The tax identifiers of a party, whether each is that of VAT, and whether its scheme will be written.
   * @param written  the schemes that will be
   */
  taxSchemes(
    party: XmlElement,
    written: readonly string[],
  ): readonly { readonly id: string; readonly isVat: boolean; readonly isWritten: boolean }[] {
    return childrenCalled(party, "PartyTaxScheme").flatMap((entry) => {
      const id = this.text(entry, "CompanyID");
      const scheme = this.element(entry, "TaxScheme", "ID");
      const name = scheme === undefined ? "VAT" : this.peek(scheme);
      const isWritten = written.includes(name);
      if (isWritten) this.takeSame(scheme, name);
      return id === undefined ? [] : [{ id, isVat: name === "VAT", isWritten }];
    });
  }

  /** Paths of values that nobody took, each once: `AccountingCustomerParty.Party.Contact.Name`, `…ID@schemeID`. */
  rest(root: XmlElement): readonly string[] {
    // Bounded by the elements of one source.
    const paths = new Set<string>();
    const walk = (element: XmlElement, path: string): void => {
      if (this.#taken.has(element)) {
        for (const { local, value } of element.attributes)
          if (TERMS.has(local) && this.#schemes.get(element) !== value) paths.add(placeOf(`${path}@${local}`));
        return;
      }
      const children = childElements(element);
      if (children.length === 0 && this.peek(element) !== "") paths.add(placeOf(path));
      for (const child of children) walk(child, path === "" ? child.local : `${path}.${child.local}`);
    };
    walk(root, "");
    return [...paths].filter((_, at) => at < LIMITS.mapper_unmapped_max * 2);
  }
}
