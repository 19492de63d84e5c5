/**
 * What long walks over siblings have found, kept for as long as their document: a rule of many elements may ask each
 * time for something that is looked for among the same siblings, and the way past them is to be paid once.
 */

/** Siblings that are walked past, again whenever one is asked for; what lies behind more of them is remembered. */
export const NEAR_SIBLINGS = 64;
/** Rules have no more different walks from one element; a walk that is no constant of its module must not fill this. */
const WALKS_MAX = 64;

/** What a function of a module is given, beside the element, to look for: compared one by one, by identity. */
export type Given = readonly unknown[];

/** A walk from an element, and what it came to. */
interface LongWalk {
  /** A function of a module. */
  readonly walk: unknown;
  readonly given: Given;
  /** What was found, unless the search ended in an error. */
  readonly found?: unknown;
  readonly error?: Error;
}

/** Memory of one document. */
export class LongWalks {
  /** By the element that they begin at. Each stands for a long walk that was made: fewer than one for 64 steps. */
  readonly #known = new Map<number, LongWalk[]>();

  /** True for ordinary documents, which need not look further. */
  get isEmpty(): boolean {
    return this.#known.size === 0;
  }

  /** The same walk from the same element, if it was long. */
  recall(e: number, walk: unknown, given: Given): LongWalk | undefined {
    return this.#known.get(e)?.find((known) => known.walk === walk && isSame(known.given, given));
  }

  keep(e: number, walk: LongWalk): void {
    const known = this.#known.get(e);
    if (known === undefined) this.#known.set(e, [walk]);
    else if (known.length < WALKS_MAX) known.push(walk);
  }

  clear(): void {
    if (this.#known.size > 0) this.#known.clear();
  }
}

const isSame = (known: Given, given: Given): boolean =>
  known.length === given.length && known.every((one, i) => one === given[i]);
