/** Elements of a UBL document by their names, and which of them nobody has taken. */
import { LIMITS } from "../../../base/limits.js";
import { attributeOf, childElements } from "../../../../validators/xml/tree.js";
import type { XmlElement } from "../../../../validators/xml/tree.js";
import { placeOf } from "./reading.js";

const childrenCalled = (element: XmlElement, name: string): readonly XmlElement[] =>
  childElements(element).filter(({ local }) => local === name);

/** The name of one of the elements that have it; with its number where there are several: `TaxTotal[2]`. */
export const placeAmong = (several: readonly XmlElement[], one: XmlElement): string =>
  several.length > 1 ? `${one.local}[${several.indexOf(one) + 1}]` : one.local;

/** Finds elements and remembers what became of each. Names are enough: UBL has none twice in one place. */
export class TakenElements {
  // Bounded by the elements of one source.
  readonly #taken = new Set<XmlElement>();
  // Bounded by the same.
  readonly #dropped = new Map<XmlElement, string>();

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

  /** Names an attribute that will not be written of an element that is taken; one that will be is none. */
  drop(element: XmlElement | undefined, attribute: string, written?: string): void {
    const value = element === undefined ? undefined : attributeOf(element, attribute);
    if (element !== undefined && value !== undefined && value !== written) this.#dropped.set(element, attribute);
  }

  /** The tax identifiers of a party, each with its scheme. */
  taxSchemes(party: XmlElement): readonly { readonly scheme: string; readonly id: string }[] {
    return childrenCalled(party, "PartyTaxScheme").flatMap((entry) => {
      const id = this.text(entry, "CompanyID");
      const scheme = this.text(entry, "TaxScheme", "ID") ?? "VAT";
      return id === undefined ? [] : [{ scheme, id }];
    });
  }

  /** Paths of values that nobody took, each once: `AccountingCustomerParty.Party.Contact.Name`, `…ID@schemeID`. */
  rest(root: XmlElement): readonly string[] {
    // Bounded by the elements of one source.
    const paths = new Set<string>();
    const walk = (element: XmlElement, path: string): void => {
      const attribute = this.#dropped.get(element);
      if (this.#taken.has(element)) {
        if (attribute !== undefined) paths.add(placeOf(`${path}@${attribute}`));
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
