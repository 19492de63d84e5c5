/** A memory of one answer, against work that grows with the square of a document. */
import type { ElementId, XmlDocument } from "../../../xml/document.js";
import { remembered } from "../../walks.js";

/**
 * The answer for the last element asked about. Siblings ask about their parent one after the other, and a document may
 * have any number of them: without this, 20,000 cac:TaxCategory of one allowance took 17 s. Where two parents take
 * turns, as one inside the other does, the document remembers what took a long walk.
 */
export class LastAnswer<T> {
  readonly #work: (doc: XmlDocument, e: ElementId) => T;
  #e: ElementId | undefined;
  #answer: T | undefined;

  constructor(work: (doc: XmlDocument, e: ElementId) => T) {
    this.#work = remembered(work);
  }

  forget(): void {
    this.#e = this.#answer = undefined;
  }

  /** Errors are not remembered. */
  of(doc: XmlDocument, e: ElementId): T {
    if (this.#e === e && this.#answer !== undefined) return this.#answer;
    const answer = this.#work(doc, e);
    this.#e = e;
    this.#answer = answer;
    return answer;
  }
}
