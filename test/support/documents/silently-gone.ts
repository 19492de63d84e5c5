/** What a document says that another one built of it does not, and that nobody has named. */
import { childElements } from "../../../validators/xml/tree.js";
import type { XmlElement } from "../../../validators/xml/tree.js";

interface Value {
  readonly path: string;
  readonly value: string;
}

/** Attributes that are terms of their own. */
const TERMS: ReadonlySet<string> = new Set(["schemeID", "unitCode", "mimeCode", "filename", "name"]);

export function valuesOf(element: XmlElement, path = ""): readonly Value[] {
  const children = childElements(element);
  if (children.length > 0)
    return children.flatMap((child) => valuesOf(child, path === "" ? child.local : `${path}.${child.local}`));
  const text = element.children
    .map((child) => (child.kind === "text" ? child.value : ""))
    .join("")
    .trim();
  const attributes = element.attributes
    .filter(({ local }) => TERMS.has(local))
    .map(({ local, value }) => ({ path: `${path}@${local}`, value }));
  // 410 and 410.00 are the same amount.
  return text === ""
    ? attributes
    : [{ path, value: text.replace(/^(-?\d+)\.(\d*?)0*$/u, "$1.$2").replace(/\.$/u, "") }, ...attributes];
}

/** Which of several elements of a name is meant. */
const NUMBER = /\[\d+\]/gu;

/** What a mapper's answer says of a source. */
export interface Answer {
  readonly unmapped: readonly string[];
  readonly issues: readonly {
    readonly code: string;
    readonly severity: string;
    readonly field?: string | undefined;
    readonly source?: string | undefined;
  }[];
}

const keyOf = ({ path, value }: Value): string => `${path} = ${value}`;

/** The values of a source that its UBL does not have and the answer does not name; who names an element names all in it. */
export function silentlyGone(source: XmlElement, built: XmlElement, { unmapped, issues }: Answer): readonly Value[] {
  const left = new Map<string, number>();
  for (const value of valuesOf(built)) left.set(keyOf(value), (left.get(keyOf(value)) ?? 0) + 1);
  const named = new Set(
    [...unmapped, ...issues.map(({ source: place }) => place)].map((place) => place?.replace(NUMBER, "")),
  );
  const isNamed = (path: string): boolean =>
    named.has(path) ||
    path
      .replace(/@.*$/u, "")
      .split(".")
      .some((_, at, parts) => named.has(parts.slice(0, at + 1).join(".")));
  return valuesOf(source).filter((value) => {
    const count = left.get(keyOf(value)) ?? 0;
    left.set(keyOf(value), count - 1);
    return count <= 0 && !isNamed(value.path);
  });
}
