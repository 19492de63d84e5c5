/**
 * The official unit tests of rule releases (`testSet`, namespace http://difi.no/xsd/vefa/validator/1.0): a document per
 * test and what it says about rules.
 * @source design/validation.md, section 5
 */
import { elementsOf, parseSource, textOf } from "./source-xml.js";
import type { SourceElement } from "./source-xml.js";

/**
 * What a test says about one rule: it fires (`error`, `warning`; exactly `number` times if given) or it does not
 * (`success`).
 */
export type Mark = { readonly kind: "success" | "error" | "warning"; readonly rule: string; readonly number?: number };

export type EmbeddedTest = {
  /** From 1, in the order of the file. */
  readonly position: number;
  /** "tc434-ubl" = EN 16931 alone, "peppolbis-en16931-base-3.0-ubl" = the Peppol file alone. */
  readonly configuration: string;
  readonly marks: readonly Mark[];
  /** The embedded document as a document of its own, UTF-8, with the namespaces that were in scope. */
  readonly document: Buffer;
};

/**
 * The tests of one file; a file whose tests are commented out has none.
 * @throws SourceError when the file is not well-formed or a test has no document
 */
export function readTests(text: string, file: string): EmbeddedTest[] {
  // White space before an XML declaration occurs in the official files.
  const trimmed = text.trimStart();
  const set = parseSource(trimmed, file);
  const configuration = set.attributes.get("configuration") ?? "";
  return elementsOf(set)
    .filter((child) => child.local === "test")
    .flatMap((test, index) => {
      const assert = elementsOf(test).find((child) => child.local === "assert");
      const embedded = elementsOf(test).at(-1);
      if (assert === undefined || embedded === undefined || embedded === assert) return [];
      return [
        {
          position: index + 1,
          configuration,
          marks: elementsOf(assert).flatMap(markOf),
          document: standalone(trimmed, embedded),
        },
      ];
    });
}

/** Whether a file is a testSet, judged by its beginning. */
export const isTestSet = (text: string): boolean => /<(?:\w+:)?testSet[\s>]/.test(text.slice(0, 4096));

function markOf(element: SourceElement): Mark[] {
  const { local } = element;
  if (local !== "success" && local !== "error" && local !== "warning") return [];
  const number = element.attributes.get("number");
  return [{ kind: local, rule: textOf(element).trim(), ...(number === undefined ? {} : { number: Number(number) }) }];
}

/** The element's own text, with the declarations it inherits written into its start tag. */
function standalone(text: string, element: SourceElement): Buffer {
  const inherited = [...element.scope]
    .filter(([prefix]) => !element.declared.has(prefix))
    .map(([prefix, uri]) => ` xmlns${prefix === "" ? "" : `:${prefix}`}="${escapeAttribute(uri)}"`)
    .join("");
  return Buffer.from(text.slice(element.start, element.nameEnd) + inherited + text.slice(element.nameEnd, element.end));
}

const escapeAttribute = (value: string): string =>
  value.replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/"/g, "&quot;");

/** The marks that `failed` disagrees with, as sentences: empty when the test passes. Other ids may fire freely. */
export function marksBroken(marks: readonly Mark[], failed: readonly string[]): string[] {
  return marks.flatMap((mark) => {
    const times = failed.filter((id) => id === mark.rule).length;
    // On `success` the number counts evaluations that held; only absence can be checked.
    if (mark.kind === "success") return times === 0 ? [] : [`${mark.rule} fired ${times} times and should not`];
    if (times === 0) return [`${mark.rule} did not fire`];
    return mark.number === undefined || mark.number === times
      ? []
      : [`${mark.rule} fired ${times} times, not ${mark.number}`];
  });
}
