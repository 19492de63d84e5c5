/** Forms of a translated expression: as a truth value, one value, a string, a number, an array. */
import { arrayCode, atomTypeOf, convert, isExactType, isNodeType, valueCode } from "./code.js";
import type { Code, Item, ItemType } from "./code.js";
import type { Module } from "./module.js";

/** A value in one expression; undefined at run time when `optional`. */
export type Value = { readonly code: string; readonly type: ItemType; readonly optional: boolean };

/** The effective boolean value. */
export function truthOf(m: Module, code: Code): string {
  if (code.truth !== undefined) return code.truth;
  if (code.card === "none") return "false";
  if (code.native !== undefined) return `(${code.native} !== 0)`;
  if (isNodeType(code.type))
    return code.card === "one" ? "true" : m.helper(`${code.each("any", () => "return true;")} return false;`);
  if (code.card === "many") return `R.booleanOfItems(${arrayOf(m, code, "any").code})`;
  const value = singleOf(m, code);
  if (value.type === "boolean") return value.optional ? `(${value.code} === true)` : value.code;
  if (value.type === "string" || value.type === "untyped")
    return value.optional ? `((${value.code} ?? "") !== "")` : `(${value.code} !== "")`;
  return `R.booleanOfAtomic(${boxed(m, value)})`;
}

/** Whether there is at least one item. */
export function existsOf(m: Module, code: Code): string {
  if (code.card === "one") return "true";
  if (code.card === "none") return "false";
  if (isNodeType(code.type)) return truthOf(m, code);
  return m.helper(`${code.each("any", () => "return true;")} return false;`);
}

/** The number of items as a plain number. */
export function countOf(m: Module, code: Code): string {
  if (code.card === "one") return "1";
  if (code.card === "none") return "0";
  const counter = m.local();
  return m.helper(`let ${counter} = 0; ${code.each("set", () => `${counter}++;`)} return ${counter};`);
}

/** The item, or undefined; more than one is the error XPTY0004. */
export const singleOf = (m: Module, code: Code): Value =>
  onlyOne(m, code, { single: code.single, pick: (item) => item.code, type: code.type });

/** The typed value of the item, or undefined; more than one is the error XPTY0004. */
export const atomOf = (m: Module, code: Code): Value =>
  onlyOne(m, code, {
    single: isNodeType(code.type) || code.type === "any" ? undefined : code.single,
    pick: (item) => item.atom,
    type: atomTypeOf(code.type),
  });

function onlyOne(
  m: Module,
  code: Code,
  form: {
    readonly single: string | undefined;
    readonly pick: (item: Item) => string;
    readonly type: ItemType;
  },
): Value {
  const { single, pick, type } = form;
  const optional = code.card !== "one";
  if (single !== undefined) return { code: single, type, optional };
  if (code.card === "none") return { code: "undefined", type, optional };
  const local = m.local();
  const guard = code.card === "many" ? `if (${local} !== undefined) R.fail("XPTY0004"); ` : "";
  return {
    code: m.helper(`let ${local}; ${code.each("set", (item) => `${guard}${local} = ${pick(item)};`)} return ${local};`),
    type,
    optional,
  };
}

/** A value in the form of type "any", undefined kept. */
export function boxed(m: Module, value: Value): string {
  const converted = convert(value.code, value.type, "any");
  if (converted === value.code || !value.optional) return converted;
  const local = m.local();
  return m.helper(
    `const ${local} = ${value.code}; return ${local} === undefined ? undefined : ${convert(local, value.type, "any")};`,
  );
}

/** Typed value in the form "any". */
export const boxedAtom = (m: Module, code: Code): string => boxed(m, atomOf(m, code));

/** An array of the items, in the form of `type` or of their own. */
export function arrayOf(
  m: Module,
  code: Code,
  type: ItemType = code.type,
): { readonly code: string; readonly type: ItemType } {
  const local = m.local();
  const push = (item: Item): string => `${local}.push(${convert(item.code, item.type, type)});`;
  return { code: m.helper(`const ${local} = []; ${code.each("sequence", push)} return ${local};`), type };
}

/** An array of the typed values of the items. */
export function atomsOf(
  m: Module,
  code: Code,
  type: ItemType = atomTypeOf(code.type),
): { readonly code: string; readonly type: ItemType } {
  const local = m.local();
  const push = (item: Item): string => `${local}.push(${convert(item.atom, item.atomType, type)});`;
  return { code: m.helper(`const ${local} = []; ${code.each("sequence", push)} return ${local};`), type };
}

/** A parameter of type xs:string?: the empty sequence becomes "". */
export function stringOf(m: Module, code: Code): string {
  if (code.card === "none") return m.text("");
  const atomType = atomTypeOf(code.type);
  if (atomType !== "string" && atomType !== "untyped") return `R.stringParameter(d, ${boxed(m, singleOf(m, code))})`;
  const value = atomOf(m, code);
  return value.optional ? `(${value.code} ?? "")` : value.code;
}

/** fn:string of at most one item, numbers and booleans included. */
export function castStringOf(m: Module, code: Code): string {
  const atomType = atomTypeOf(code.type);
  return atomType === "string" || atomType === "untyped" || code.card === "none"
    ? stringOf(m, code)
    : `R.stringOf(d, ${boxed(m, singleOf(m, code))})`;
}

/** At most one number as xs:double: untyped values are cast, strings are type errors. */
export function doubleOf(m: Module, code: Code): { readonly code: string; readonly optional: boolean } {
  if (code.native !== undefined) return { code: code.native, optional: false };
  return { code: toDouble(m, atomOf(m, code)), optional: code.card !== "one" };
}

/** A value as xs:double; undefined stays. */
export function toDouble(m: Module, value: Value): string {
  if (value.type === "double") return value.code;
  const change = (code: string): string =>
    isExactType(value.type)
      ? `R.toDouble(${code})`
      : value.type === "untyped"
        ? `R.doubleOf(${code})`
        : `R.numberOf(R.numeric(${convert(code, value.type, "any")}))`;
  return value.optional ? mapPresent(m, value.code, change) : change(value.code);
}

/** Applies `change` unless the value is undefined. */
function mapPresent(m: Module, code: string, change: (code: string) => string): string {
  const local = m.local();
  return m.helper(`const ${local} = ${code}; return ${local} === undefined ? undefined : ${change(local)};`);
}

/** A double that must be there. */
export function requiredDouble(m: Module, code: Code): string {
  const value = doubleOf(m, code);
  return value.optional ? `R.required(${value.code})` : value.code;
}

/** A translated expression evaluated once per run; `code` must depend on nothing but the document. */
export function memoised(m: Module, code: Code): Code {
  if (code.card === "none" || code.strings !== undefined || code.native?.match(/^\d+$/)) return code;
  if (code.card === "many") {
    const array = (): Code => arrayCode(m, code.type, m.memo(arrayOf(m, code).code));
    return {
      type: code.type,
      card: "many",
      names: code.names,
      each: (need, body) => array().each(need, body),
      get truth() {
        return isNodeType(code.type) ? m.memo(truthOf(m, code)) : undefined;
      },
    };
  }
  const { card, native } = code;
  const once = (): Code => valueCode(m, code.type, card, m.memo(singleOf(m, code).code));
  return {
    type: code.type,
    card,
    each: (need, body) => once().each(need, body),
    native: native === undefined ? undefined : m.memo(native),
    get single() {
      return once().single;
    },
    get truth() {
      return m.memo(truthOf(m, code));
    },
  };
}
