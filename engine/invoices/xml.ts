/** UBL elements as text; an element without content is left out, as Peppol asks. */
import { centsText } from "./exact.js";
import type { Cents } from "./exact.js";

const ESCAPES: Readonly<Record<string, string>> = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" };
const escaped = (text: string): string => text.replace(/[&<>"]/gu, (character) => ESCAPES[character] ?? "");

type Attributes = Readonly<Record<string, string | undefined>>;

/** A leaf; none for a value that is not there. */
export function leaf(name: string, value: string | undefined, attributes: Attributes = {}): string {
  if (value === undefined || value === "") return "";
  const written = Object.entries(attributes).map(([key, text]) =>
    text === undefined ? "" : ` ${key}="${escaped(text)}"`,
  );
  return `<cbc:${name}${written.join("")}>${escaped(value)}</cbc:${name}>`;
}

/** An element with children; none when all of them are none. */
export function tree(name: string, ...children: readonly string[]): string {
  const content = children.join("");
  return content === "" ? "" : `<cac:${name}>${content}</cac:${name}>`;
}

export const money = (name: string, cents: Cents, currencyID: string): string =>
  leaf(name, centsText(cents), { currencyID });
