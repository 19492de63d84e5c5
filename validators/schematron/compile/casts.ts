/**
 * Casts, castable, constructor functions (`xs:decimal(.)`) and the conversion of arguments and results to declared
 * types.
 */
import { arrayCode, atomTypeOf, booleanCode, emptyCode, isExactType, isNodeType, valueCode } from "./code.js";
import type { Code, ItemType } from "./code.js";
import { arrayOf, atomOf, atomsOf, boxed, singleOf, toDouble } from "./derive.js";
import type { Value } from "./derive.js";
import { unsupported } from "./environment.js";
import type { Env } from "./environment.js";
import type { SequenceType } from "../xpath/ast.js";

/** Simple types a cast may name, and the bounds of those derived from xs:integer (empty = none). */
const TARGETS: Readonly<
  Record<string, { readonly base: ItemType; readonly lowest?: string; readonly highest?: string }>
> = {
  "xs:string": { base: "string" },
  "xs:anyURI": { base: "string" },
  "xs:untypedAtomic": { base: "untyped" },
  "xs:boolean": { base: "boolean" },
  "xs:decimal": { base: "decimal" },
  "xs:double": { base: "double" },
  "xs:date": { base: "date" },
  "xs:time": { base: "time" },
  "xs:dateTime": { base: "dateTime" },
  "xs:integer": { base: "integer" },
  "xs:nonNegativeInteger": { base: "integer", lowest: "0" },
  "xs:positiveInteger": { base: "integer", lowest: "1" },
  "xs:nonPositiveInteger": { base: "integer", highest: "0" },
  "xs:negativeInteger": { base: "integer", highest: "-1" },
  "xs:long": { base: "integer", lowest: "-9223372036854775808", highest: "9223372036854775807" },
  "xs:int": { base: "integer", lowest: "-2147483648", highest: "2147483647" },
  "xs:short": { base: "integer", lowest: "-32768", highest: "32767" },
  "xs:byte": { base: "integer", lowest: "-128", highest: "127" },
  "xs:unsignedLong": { base: "integer", lowest: "0", highest: "18446744073709551615" },
  "xs:unsignedInt": { base: "integer", lowest: "0", highest: "4294967295" },
  "xs:unsignedShort": { base: "integer", lowest: "0", highest: "65535" },
  "xs:unsignedByte": { base: "integer", lowest: "0", highest: "255" },
};

/** Whether a type name can stand behind `cast as`. */
export const isCastTarget = (type: string): boolean => Object.hasOwn(TARGETS, type);

function targetOf(type: SequenceType): { readonly base: ItemType; readonly lowest: string; readonly highest: string } {
  const target = TARGETS[type.item];
  if (target === undefined) return unsupported(`a cast to ${type.item}`);
  if (type.occurrence === "*" || type.occurrence === "+")
    return unsupported(`a cast to ${type.item}${type.occurrence}`);
  return { lowest: "", highest: "", ...target };
}

/**
 * `cast as T` and `T(…)`; without "?" an empty operand is an error of `cast as`, which constructor functions do not
 * have.
 */
export function castCode(env: Env, operand: Code, type: SequenceType): Code {
  const { m } = env;
  const { base, lowest, highest } = targetOf(type);
  if (operand.card === "none")
    return type.occurrence === "?" ? emptyCode : valueCode(m, base, "one", 'R.fail("XPTY0004")');
  if (operand.native !== undefined && base === "integer" && lowest === "" && highest === "") return operand;
  const value = atomOf(m, operand);
  const isRequired = type.occurrence === "" && value.optional;
  const cast = castValue(env, value, base);
  const inBounds =
    lowest === "" && highest === ""
      ? cast
      : `R.bounded(${cast}, ${JSON.stringify(lowest)}, ${JSON.stringify(highest)})`;
  return valueCode(
    m,
    base,
    value.optional && !isRequired ? "opt" : "one",
    isRequired ? `R.required(${inBounds})` : inBounds,
  );
}

function castValue(env: Env, value: Value, base: ItemType): string {
  const { m } = env;
  const isText = value.type === "string" || value.type === "untyped";
  if (value.type === base || (base === "decimal" && value.type === "integer")) return value.code;
  if (isText && (base === "string" || base === "untyped")) return value.code;
  if (isText && base === "decimal") return `R.decimalOf(${value.code})`;
  if (isText && base === "integer") return `R.integerOf(${value.code})`;
  if (base === "double" && (isExactType(value.type) || value.type === "untyped")) return toDouble(m, value);
  const cast = `R.castOrFail(${boxed(m, value)}, ${JSON.stringify(base)})`;
  return base === "double" || base === "untyped" ? unwrap(env, cast) : cast;
}

/** Boxed double or untyped value → its static form. */
function unwrap(env: Env, code: string): string {
  const local = env.m.local();
  return env.m.helper(`const ${local} = ${code}; return ${local} === undefined ? undefined : ${local}.value;`);
}

/** Translates `castable as`: true when the cast would not fail. */
export function castableCode(env: Env, operand: Code, type: SequenceType): Code {
  const { m } = env;
  const { base, lowest, highest } = targetOf(type);
  const whenEmpty = type.occurrence === "?";
  if (operand.card === "none") return booleanCode(m, String(whenEmpty));
  const list = m.local();
  const bounds =
    lowest === "" && highest === ""
      ? ""
      : ` && R.withinBounds(R.castOrFail(${list}[0], ${JSON.stringify(base)}), ${JSON.stringify(lowest)}, ${JSON.stringify(highest)})`;
  return booleanCode(
    m,
    m.helper(
      `const ${list} = ${atomsOf(m, operand, "any").code}; if (${list}.length === 0) return ${whenEmpty}; ` +
        `return ${list}.length === 1 && R.isCastable(${list}[0], ${JSON.stringify(base)})${bounds};`,
    ),
  );
}

/** `xs:decimal(…)`: a constructor function takes an empty argument. */
export function constructorCall(env: Env, type: string, args: readonly Code[]): Code {
  const [arg, ...others] = args;
  if (arg === undefined || others.length > 0) return unsupported(`${type} with ${args.length} arguments`);
  if (type === "xs:string")
    return arg.card === "none" ? emptyCode : castCode(env, arg, { item: type, occurrence: "?" });
  return castCode(env, arg, { item: type, occurrence: "?" });
}

const NODE_KINDS: ReadonlySet<string> = new Set([
  "item()",
  "node()",
  "element()",
  "attribute()",
  "document-node()",
  "text()",
]);

/**
 * The function conversion rules: an argument or result is brought to its declared type. Untyped values are cast,
 * numbers promoted; anything else of the wrong type, or too many or too few items, is XPTY0004.
 */
export function converted(env: Env, code: Code, type: SequenceType): Code {
  if (NODE_KINDS.has(type.item)) {
    if (code.card !== "none" && type.item !== "item()" && !isNodeType(code.type))
      return unsupported(`a value that is no node where ${type.item} is declared`);
    return withCard(env, code, type.occurrence);
  }
  if (type.item === "xs:anyAtomicType" || type.item === "xs:untypedAtomic")
    return withCard(env, atomised(env, code), type.occurrence);
  const { base, lowest, highest } = targetOf({ item: type.item, occurrence: "" });
  if (lowest !== "" || highest !== "") return unsupported(`the declared type ${type.item}`);
  if (code.native !== undefined && (base === "integer" || base === "decimal")) return code;
  return withCard(env, typed(env, code, base), type.occurrence);
}

function atomised(env: Env, code: Code): Code {
  if (code.card === "none" || (!isNodeType(code.type) && code.type !== "any")) return code;
  const { m } = env;
  const atoms = atomsOf(m, code);
  return code.card === "many"
    ? arrayCode(m, atoms.type, atoms.code)
    : valueCode(m, atomOf(m, code).type, code.card, atomOf(m, code).code);
}

function typed(env: Env, code: Code, base: ItemType): Code {
  const { m } = env;
  if (code.card === "none") return code;
  const from = atomTypeOf(code.type);
  const isSame = from === base || (base === "decimal" && from === "integer");
  if (isSame && !isNodeType(code.type)) return { ...code, type: base };
  if (from !== "untyped" && from !== "any" && !isSame && !(base === "double" && isExactType(from))) {
    return valueCode(m, base, "one", 'R.fail("XPTY0004")');
  }
  if (code.card !== "many") {
    const value = atomOf(m, code);
    const cast =
      value.type === "any" ? `R.convertTo(${value.code}, ${JSON.stringify(base)})` : castValue(env, value, base);
    const isBoxed = value.type === "any" && (base === "double" || base === "untyped");
    return valueCode(m, base, code.card, isBoxed ? unwrap(env, cast) : cast);
  }
  const [list, local] = [m.local(), m.local()];
  const unboxed = base === "double" || base === "untyped" ? ".value" : "";
  const push = `for (const ${local} of ${atomsOf(m, code, "any").code}) ${list}.push(R.convertTo(${local}, ${JSON.stringify(base)})${unboxed});`;
  return arrayCode(m, base, m.helper(`const ${list} = []; ${push} return ${list};`));
}

/** Checks how many items there are. */
function withCard(env: Env, code: Code, occurrence: SequenceType["occurrence"]): Code {
  const { m } = env;
  if (occurrence === "*") return code;
  if (occurrence === "+") {
    if (code.card === "one") return code;
    return arrayCode(m, code.type, `R.atLeastOne(${arrayOf(m, code).code})`);
  }
  if (code.card === "one" || (code.card !== "many" && occurrence === "?")) return code;
  if (code.card === "none") return valueCode(m, "string", "one", 'R.fail("XPTY0004")');
  const value = singleOf(m, code);
  return occurrence === "?"
    ? valueCode(m, code.type, "opt", value.code)
    : valueCode(m, code.type, "one", `R.required(${value.code})`);
}
