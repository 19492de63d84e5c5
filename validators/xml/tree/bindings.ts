/**
 * Namespaces in force while a tree is built or walked: one map for all of it, and a log by which an element that ends
 * takes back what it declared. An element costs its own declarations, not those around it.
 */
import type { NamespaceDeclaration } from "./nodes.js";

/** Prefix → namespace, with undo. */
export class Bindings {
  readonly #bound = new Map<string, string>();
  /** What each binding has covered, the latest last. */
  // Bounded by the declarations of the document, of which XmlTreeLimits allows so many.
  readonly #covered: (readonly [prefix: string, ns: string | undefined])[] = [];

  /** Bindings made and not taken back; `undo` takes back those that come after. */
  get mark(): number {
    return this.#covered.length;
  }

  get(prefix: string): string | undefined {
    return this.#bound.get(prefix);
  }

  has(prefix: string): boolean {
    return this.#bound.has(prefix);
  }

  prefixes(): IterableIterator<string> {
    return this.#bound.keys();
  }

  bind(prefix: string, ns: string): void {
    this.#covered.push([prefix, this.#bound.get(prefix)]);
    this.#bound.set(prefix, ns);
  }

  declare(declarations: readonly NamespaceDeclaration[]): void {
    for (const { prefix, ns } of declarations) this.bind(prefix, ns);
  }

  /** Takes back what was bound since `mark` was read. */
  undo(mark: number): void {
    for (let covered = this.#last(mark); covered !== undefined; covered = this.#last(mark)) {
      const [prefix, ns] = covered;
      if (ns === undefined) this.#bound.delete(prefix);
      else this.#bound.set(prefix, ns);
    }
  }

  #last(mark: number): readonly [prefix: string, ns: string | undefined] | undefined {
    return this.#covered.length > mark ? this.#covered.pop() : undefined;
  }
}
