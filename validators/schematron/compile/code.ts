/**
 * What the compiler knows about an expression it has translated: its type, how many items it yields, and how to emit
 * JavaScript for it. Sequences are loops and not arrays: `each` writes statements that run a body for every item.
 */
import type { Module } from "./module.js";

export const NODE_TYPES = ["element", "document", "tree", "attribute", "text", "node"] as const;
export const NUMBER_TYPES = ["integer", "decimal", "double"] as const;
/** "tree" = element or document, "node" = any node, "any" = a value whose type is only known at run time. */
export type ItemType =
  | (typeof NODE_TYPES)[number]
  | (typeof NUMBER_TYPES)[number]
  | "string"
  | "untyped"
  | "boolean"
  | "date"
  | "time"
  | "dateTime"
  | "any";
export type Card = "none" | "one" | "opt" | "many";

/** One item at run time: JavaScript that yields it in the form of its type (values.ts), and its typed value. */
export type Item = {
  readonly type: ItemType;
  readonly code: string;
  /** fn:data of the item, in the form of `atomType`. */
  readonly atom: string;
  readonly atomType: ItemType;
  /** The element of an attribute or text node. */
  readonly owner?: string;
};

/**
 * What a consumer needs of a sequence. "any": every item at least once, in any order (existence tests);
 * "set": every node once; "sequence": document order as well.
 */
export type Need = "any" | "set" | "sequence";

export type Code = {
  readonly type: ItemType;
  readonly card: Card;
  /** Statements that run `body` for the items. */
  readonly each: (need: Need, body: (item: Item) => string) => string;
  /** The value (undefined when there is none), if the card is "one" or "opt" and an expression can say it. */
  readonly single?: string | undefined;
  /** The effective boolean value, if there is a shorter way than by the items. */
  readonly truth?: string | undefined;
  /** A non-negative plain integer below 2^53 (count, string-length, literals and their sums). */
  readonly native?: string | undefined;
  /** All items, if they are string literals. */
  readonly strings?: readonly string[] | undefined;
  /** Local names of the elements it can yield, if they are known: two sequences without a common one are disjoint. */
  readonly names?: ReadonlySet<string> | undefined;
  /** Nodes reached from one context by child and attribute steps only. */
  readonly downward?: boolean | undefined;
};

/** Whether items of the type are nodes of the document. */
export const isNodeType = (type: ItemType): boolean => (NODE_TYPES as readonly string[]).includes(type);
/** Whether items of the type are exact numbers. */
export const isExactType = (type: ItemType): boolean => type === "integer" || type === "decimal";
/** Whether items of the type are numbers, exact or xs:double. */
export const isNumberType = (type: ItemType): boolean => isExactType(type) || type === "double";

/** The type of fn:data of an item of that type. */
export const atomTypeOf = (type: ItemType): ItemType => (isNodeType(type) ? "untyped" : type);

/** The most precise type that covers both. */
export function joinTypes(a: ItemType, b: ItemType): ItemType {
  if (a === b) return a;
  if (isExactType(a) && isExactType(b)) return "decimal";
  const trees = ["element", "document", "tree"];
  if (trees.includes(a) && trees.includes(b)) return "tree";
  return isNodeType(a) && isNodeType(b) ? "node" : "any";
}

/** JavaScript that changes the form of a present value from one type to a wider one. */
export function convert(code: string, from: ItemType, to: ItemType): string {
  if (from === to || to !== "any") return to === "double" && isExactType(from) ? `R.toDouble(${code})` : code;
  if (from === "double") return `new R.Double(${code})`;
  return from === "untyped" ? `new R.Untyped(${code})` : code;
}

/** An item in variable form: `code` names a value of that type. */
export function itemOf(type: ItemType, code: string): Item {
  if (type === "any") return { type, code, atom: `R.atomize(d, ${code})`, atomType: "any" };
  if (!isNodeType(type)) return { type, code, atom: code, atomType: type };
  if (type === "attribute" || type === "text") {
    return {
      type,
      code,
      atom: `${code}.value`,
      atomType: "untyped",
      owner: type === "attribute" ? `${code}.owner` : `${code}.parent`,
    };
  }
  return { type, code, atom: type === "element" ? `d.text(${code})` : `R.nodeText(d, ${code})`, atomType: "untyped" };
}

/** Code for one present item. */
export const oneItem = (item: Item): Code => ({
  type: item.type,
  card: "one",
  single: item.code,
  each: (_, body) => `{ ${body(item)} }`,
});

/** Code for a value that an expression says; with card "opt" it may be undefined. */
export function valueCode(
  m: Module,
  type: ItemType,
  card: "one" | "opt",
  single: string,
  more: Partial<Code> = {},
): Code {
  return {
    type,
    card,
    single,
    ...more,
    each: (_, body) => {
      const local = m.local();
      const guarded =
        card === "one" ? body(itemOf(type, local)) : `if (${local} !== undefined) { ${body(itemOf(type, local))} }`;
      return `{ const ${local} = ${single}; ${guarded} }`;
    },
  };
}

/** Code for an array that an expression says, its items in the form of `type`. */
export function arrayCode(m: Module, type: ItemType, array: string, more: Partial<Code> = {}): Code {
  return {
    type,
    card: "many",
    ...more,
    each: (_, body) => {
      const local = m.local();
      return `for (const ${local} of ${array}) { ${body(itemOf(type, local))} }`;
    },
  };
}

export const emptyCode: Code = { type: "any", card: "none", each: () => "", truth: "false" };

/** A whole number known as a plain JavaScript number. */
export const nativeCode = (m: Module, native: string): Code =>
  valueCode(m, "integer", "one", `R.fromInt(${native})`, { native });

/** Code of a single boolean, which is its own truth value. */
export const booleanCode = (m: Module, expression: string): Code =>
  valueCode(m, "boolean", "one", expression, { truth: expression });

/** Code of a single string. */
export const stringCode = (m: Module, expression: string): Code => valueCode(m, "string", "one", expression);

/** A string literal. */
export const textCode = (m: Module, text: string): Code =>
  valueCode(m, "string", "one", m.text(text), { strings: [text] });
