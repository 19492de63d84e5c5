/** Translates general (`=`) and value (`eq`) comparisons by the static types of their sides. */
import { atomTypeOf, booleanCode, convert, emptyCode, isExactType, isNumberType, valueCode } from "./code.js";
import type { Code, Item, ItemType } from "./code.js";
import { atomOf, atomsOf, boxedAtom } from "./derive.js";
import type { Value } from "./derive.js";
import type { Env } from "./environment.js";
import type { Comparison, Expr } from "../xpath/ast.js";

/** How a pair is compared; "dynamic" when a type is unknown, or the pair is a type error to be raised at run time. */
type Way = "text" | "boolean" | "exact" | "double" | "dynamic";

const MIRROR: Readonly<Record<Comparison, Comparison>> = {
  "=": "=",
  "!=": "!=",
  "<": ">",
  "<=": ">=",
  ">": "<",
  ">=": "<=",
};

/** Translates general (`=`), value (`eq`) and node (`is`) comparisons. */
export function translateComparison(expr: Expr & { readonly kind: "compare" }, env: Env): Code {
  const [left, right] = [env.translate(expr.left, env), env.translate(expr.right, env)];
  if (left.native !== undefined && right.native !== undefined) {
    return booleanCode(env.m, `(${left.native} ${jsOperator(expr.op)} ${right.native})`);
  }
  if (!expr.general) return valueComparison(expr.op, left, right, env);
  if (left.card === "none" || right.card === "none") return booleanCode(env.m, "false");
  return booleanCode(env.m, generalComparison(expr.op, left, right, env));
}

/** Untyped values count as strings; an empty side makes the result empty. */
function valueComparison(op: Comparison, left: Code, right: Code, env: Env): Code {
  if (left.card === "none" || right.card === "none") return emptyCode;
  const { m } = env;
  const first = m.local();
  const compared = `R.compareValue(${JSON.stringify(op)}, ${first}, ${boxedAtom(m, right)})`;
  return valueCode(
    m,
    "boolean",
    "opt",
    m.helper(`const ${first} = ${boxedAtom(m, left)}; return ${first} === undefined ? undefined : ${compared};`),
  );
}

function wayOf(a: ItemType, b: ItemType): Way {
  const isText = (type: ItemType): boolean => type === "string" || type === "untyped";
  if (isText(a) && isText(b)) return "text";
  if ((a === "boolean" || a === "untyped") && (b === "boolean" || b === "untyped")) return "boolean";
  if (isExactType(a) && isExactType(b)) return "exact";
  const isDouble = (type: ItemType): boolean => isNumberType(type) || type === "untyped";
  return isDouble(a) && isDouble(b) ? "double" : "dynamic";
}

/** JavaScript that compares two present values. */
function pair(way: Way, op: Comparison, a: Value, b: Value): string {
  switch (way) {
    case "text":
      return op === "=" || op === "!="
        ? `${a.code} ${jsOperator(op)} ${b.code}`
        : `R.compareText(${a.code}, ${b.code}) ${op} 0`;
    case "exact":
      return op === "="
        ? `R.eq(${a.code}, ${b.code})`
        : op === "!="
          ? `!R.eq(${a.code}, ${b.code})`
          : `R.cmp(${a.code}, ${b.code}) ${op} 0`;
    case "boolean":
      return `${asBoolean(a)} ${jsOperator(op)} ${asBoolean(b)}`;
    case "double":
      return `${asDouble(a)} ${jsOperator(op)} ${asDouble(b)}`;
    case "dynamic":
      return `R.compareGeneral(${JSON.stringify(op)}, ${convert(a.code, a.type, "any")}, ${convert(b.code, b.type, "any")})`;
  }
}

const jsOperator = (op: Comparison): string => (op === "=" ? "===" : op === "!=" ? "!==" : op);
const asBoolean = (value: Value): string => (value.type === "untyped" ? `R.booleanOf(${value.code})` : value.code);
const asDouble = (value: Value): string =>
  value.type === "untyped"
    ? `R.doubleOf(${value.code})`
    : value.type === "double"
      ? value.code
      : `R.toDouble(${value.code})`;

/** What is compared, and as what. */
interface Operator {
  readonly op: Comparison;
  readonly way: Way;
}

/** True when some pair satisfies the operator. */
function generalComparison(op: Comparison, left: Code, right: Code, env: Env): string {
  if (weight(left) < weight(right)) return generalComparison(MIRROR[op], right, left, env);
  const { m } = env;
  const way = wayOf(atomTypeOf(left.type), atomTypeOf(right.type));
  const value = (item: Item): Value => ({ code: item.atom, type: item.atomType, optional: false });
  if (op === "=" && way === "text" && right.strings !== undefined && right.strings.length > 1) {
    const set = m.constant(`new Set(${JSON.stringify(right.strings)})`);
    return m.helper(`${left.each("any", (item) => `if (${set}.has(${item.atom})) return true;`)} return false;`);
  }
  if (right.card === "many") return manyToMany({ op, way }, left, right, env);
  const other = atomOf(m, right);
  if (left.card !== "many" && left.native === undefined && left.strings === undefined)
    return oneToOne({ op, way }, atomOf(m, left), other, env);
  if (right.strings !== undefined || right.native !== undefined) {
    return m.helper(
      `${left.each("any", (item) => `if (${pair(way, op, value(item), other)}) return true;`)} return false;`,
    );
  }
  const local = m.local();
  const named: Value = { code: local, type: other.type, optional: false };
  const loop = `${left.each("any", (item) => `if (${pair(way, op, value(item), named)}) return true;`)}`;
  const guarded = other.optional ? `if (${local} !== undefined) { ${loop} }` : loop;
  return m.helper(`const ${local} = ${other.code}; ${guarded} return false;`);
}

/**
 * Two single values: the left one first, errors included; when it is absent the right one is not evaluated, as in
 * Saxon, which makes a value comparison of it.
 */
function oneToOne({ op, way }: Operator, left: Value, right: Value, env: Env): string {
  const { m } = env;
  const [a, b] = [m.local(), m.local()];
  const absent = (value: Value, local: string): string =>
    value.optional ? ` if (${local} === undefined) return false;` : "";
  const test = pair(way, op, { ...left, code: a, optional: false }, { ...right, code: b, optional: false });
  return m.helper(
    `const ${a} = ${left.code};${absent(left, a)} const ${b} = ${right.code};${absent(right, b)} return ${test};`,
  );
}

/** The cheaper side is evaluated once, the other one is the loop. */
function weight(code: Code): number {
  if (code.strings !== undefined || code.native !== undefined) return 0;
  return code.card === "many" ? 2 : 1;
}

/** Two sequences: text equality through a set, so that the cost is their sum and not their product. */
function manyToMany({ op, way }: Operator, left: Code, right: Code, env: Env): string {
  const { m } = env;
  const [list, other] = [m.local(), m.local()];
  const type = atomTypeOf(right.type);
  const atoms = atomsOf(m, right);
  if (op === "=" && way === "text") {
    const loop = left.each("any", (item) => `if (${list}.has(${item.atom})) return true;`);
    return m.helper(`const ${list} = new Set(${atoms.code}); if (${list}.size > 0) { ${loop} } return false;`);
  }
  const test = (item: Item): string =>
    pair(way, op, { code: item.atom, type: item.atomType, optional: false }, { code: other, type, optional: false });
  const loop = left.each("any", (item) => `for (const ${other} of ${list}) if (${test(item)}) return true;`);
  return m.helper(`const ${list} = ${atoms.code}; if (${list}.length > 0) { ${loop} } return false;`);
}
