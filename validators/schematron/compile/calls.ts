/** Translates function calls: the functions of XPath 2.0 that rules use, as one table, and those the source defines. */
import {
  arrayCode,
  atomTypeOf,
  booleanCode,
  emptyCode,
  isExactType,
  isNodeType,
  itemOf,
  nativeCode,
  oneItem,
  stringCode,
  valueCode,
} from "./code.js";
import type { Code } from "./code.js";
import { constructorCall, isCastTarget } from "./casts.js";
import {
  arrayOf,
  atomOf,
  atomsOf,
  boxed,
  boxedAtom,
  castStringOf,
  countOf,
  doubleOf,
  existsOf,
  requiredDouble,
  singleOf,
  stringOf,
  toDouble,
  truthOf,
} from "./derive.js";
import { keyCall } from "./keys.js";
import { unsupported } from "./environment.js";
import type { Env } from "./environment.js";
import { translateRegex } from "../runtime/regex.js";
import { tokenize } from "../runtime/strings.js";
import { RuleError } from "../../rules/rule.js";
import { FN, XS } from "../xpath/ast.js";
import type { Expr } from "../xpath/ast.js";

type Call = { readonly env: Env; readonly args: readonly Code[]; readonly exprs: readonly Expr[] };
type Row = { readonly least: number; readonly most: number; readonly code: (call: Call) => Code };

const row = (least: number, most: number, code: (call: Call) => Code): Row => ({ least, most, code });

/** Translates a call of an XPath or schema function. @throws Unsupported for a function that is not known */
export function translateCall(expr: Expr & { readonly kind: "call" }, env: Env): Code {
  const { name, args } = expr;
  if (name.namespace === XS) {
    const type = `xs:${name.local}`;
    return isCastTarget(type)
      ? constructorCall(
          env,
          type,
          args.map((arg) => env.translate(arg, env)),
        )
      : unsupported(`the function ${name.written}`);
  }
  if (name.namespace !== FN) {
    const user = env.functions(name);
    if (user === undefined) return unsupported(`the function ${name.written}`);
    if (user.parameters.length !== args.length) return unsupported(`${name.written} with ${args.length} arguments`);
    return user.call(args.map((arg) => env.translate(arg, env)));
  }
  const known = Object.hasOwn(FUNCTIONS, name.local) ? FUNCTIONS[name.local] : undefined;
  if (known === undefined) return unsupported(`the function ${name.written}`);
  if (args.length < known.least || args.length > known.most)
    return unsupported(`${name.written} with ${args.length} arguments`);
  return known.code({ env, args: args.map((arg) => env.translate(arg, env)), exprs: args });
}

/** The n-th argument; the table has checked that it is there. */
function arg(call: Call, index: number): Code {
  return call.args[index] ?? emptyCode;
}

/** The first argument, or the context item. */
function argOrContext(call: Call): Code {
  const { context } = call.env;
  if (call.args.length > 0) return arg(call, 0);
  return context === undefined
    ? unsupported("a function of the context item where there is none (XPDY0002)")
    : oneItem(context);
}

const text = (call: Call, index: number): string => stringOf(call.env.m, arg(call, index));
const textOrContext = (call: Call): string =>
  call.args.length > 0 ? text(call, 0) : castStringOf(call.env.m, argOrContext(call));

/** A function of strings only, named in the run-time table. */
const ofTexts = (count: number, name: string, make: (m: Env["m"], code: string) => Code): Row =>
  row(count, count, (call) =>
    make(call.env.m, `R.${name}(${call.args.map((_, index) => text(call, index)).join(", ")})`),
  );

/** `contains` and the like with a method of JavaScript strings. */
const ofMethod = (method: string): Row =>
  row(2, 2, (call) => booleanCode(call.env.m, `${text(call, 0)}.${method}(${text(call, 1)})`));

const FUNCTIONS: Readonly<Record<string, Row>> = {
  true: row(0, 0, ({ env }) => booleanCode(env.m, "true")),
  false: row(0, 0, ({ env }) => booleanCode(env.m, "false")),
  not: row(1, 1, (call) => booleanCode(call.env.m, `!${truthOf(call.env.m, arg(call, 0))}`)),
  boolean: row(1, 1, (call) => booleanCode(call.env.m, truthOf(call.env.m, arg(call, 0)))),
  exists: row(1, 1, (call) => booleanCode(call.env.m, existsOf(call.env.m, arg(call, 0)))),
  empty: row(1, 1, (call) => booleanCode(call.env.m, `!${existsOf(call.env.m, arg(call, 0))}`)),
  count: row(1, 1, (call) => nativeCode(call.env.m, countOf(call.env.m, arg(call, 0)))),
  position: row(0, 0, ({ env }) => nativeCode(env.m, env.position ?? unsupported("position() outside of a predicate"))),
  last: row(0, 0, ({ env }) => nativeCode(env.m, env.size ?? unsupported("last() outside of a predicate"))),
  current: row(0, 0, ({ env }) =>
    env.current === undefined ? unsupported("current() where there is no context item") : oneItem(env.current),
  ),

  key: row(2, 2, ({ env, args, exprs }) => keyCall(exprs[0], args[1] ?? emptyCode, env)),

  string: row(0, 1, (call) => stringCode(call.env.m, castStringOf(call.env.m, argOrContext(call)))),
  "normalize-space": row(0, 1, (call) => stringCode(call.env.m, `R.normalizeSpace(${textOrContext(call)})`)),
  "string-length": row(0, 1, (call) => nativeCode(call.env.m, `R.stringLength(${textOrContext(call)})`)),
  "upper-case": row(1, 1, (call) => stringCode(call.env.m, `${text(call, 0)}.toUpperCase()`)),
  "lower-case": row(1, 1, (call) => stringCode(call.env.m, `${text(call, 0)}.toLowerCase()`)),
  concat: row(2, 64, (call) =>
    stringCode(call.env.m, `(${call.args.map((code) => castStringOf(call.env.m, code)).join(" + ")})`),
  ),
  contains: row(2, 2, contains),
  "starts-with": ofMethod("startsWith"),
  "ends-with": row(2, 2, endsWith),
  "substring-before": ofTexts(2, "substringBefore", stringCode),
  "substring-after": ofTexts(2, "substringAfter", stringCode),
  translate: ofTexts(3, "translate", stringCode),
  substring: row(2, 3, substring),
  "string-join": row(2, 2, (call) => stringCode(call.env.m, `${textsOf(call, 0)}.join(${text(call, 1)})`)),
  "string-to-codepoints": row(1, 1, (call) =>
    arrayCode(call.env.m, "integer", `R.stringToCodepoints(${text(call, 0)})`),
  ),
  "codepoints-to-string": row(1, 1, (call) => stringCode(call.env.m, `R.codepointsToString(${exactsOf(call, 0)})`)),
  matches: row(2, 3, (call) => booleanCode(call.env.m, `R.matches(${text(call, 0)}, ${pattern(call, 1, 2)})`)),
  tokenize: row(2, 3, tokenizeCall),
  replace: row(3, 4, (call) =>
    stringCode(call.env.m, `R.replace(${text(call, 0)}, ${pattern(call, 1, 3)}, ${text(call, 2)})`),
  ),
  compare: row(2, 2, (call) => optionalNative(call, `Math.sign(R.compareText(${text(call, 0)}, ${text(call, 1)}))`)),

  number: row(0, 1, number),
  sum: row(1, 1, sum),
  min: row(1, 1, (call) => aggregate(call, "min")),
  max: row(1, 1, (call) => aggregate(call, "max")),
  avg: row(1, 1, (call) => aggregate(call, "avg")),
  round: row(1, 1, (call) => rounding(call, "round", "R.roundDouble")),
  floor: row(1, 1, (call) => rounding(call, "floor", "Math.floor")),
  ceiling: row(1, 1, (call) => rounding(call, "ceiling", "Math.ceil")),
  abs: row(1, 1, (call) => rounding(call, "abs", "Math.abs")),

  name: row(0, 1, (call) => nodeName(call, "name")),
  "local-name": row(0, 1, (call) => nodeName(call, "local-name")),
  "namespace-uri": row(0, 1, (call) => nodeName(call, "namespace-uri")),
  data: row(1, 1, data),
  "distinct-values": row(1, 1, (call) =>
    arrayCode(call.env.m, "any", `R.distinctValues(${atomsOf(call.env.m, arg(call, 0), "any").code})`),
  ),
  "index-of": row(2, 2, (call) =>
    arrayCode(
      call.env.m,
      "integer",
      `R.positionsOf(${atomsOf(call.env.m, arg(call, 0), "any").code}, ${boxedAtom(call.env.m, arg(call, 1))})`,
    ),
  ),
  reverse: row(1, 1, (call) => ofArray(call, (list) => `${list}.reverse()`)),
  subsequence: row(2, 3, subsequence),
  "zero-or-one": row(1, 1, (call) => ofCard(call, "opt")),
  "exactly-one": row(1, 1, (call) => ofCard(call, "one")),
  "one-or-more": row(1, 1, (call) => ofArray(call, (list) => `R.atLeastOne(${list})`)),
};

/** `contains(' A B C ', concat(' ', $x, ' '))`: a code list, looked up in a Set. */
function contains(call: Call): Code {
  const { m } = call.env;
  const [list] = arg(call, 0).strings ?? [];
  const [, needle] = call.exprs;
  const isList = list !== undefined && arg(call, 0).strings?.length === 1 && list.startsWith(" ") && list.endsWith(" ");
  if (
    isList &&
    needle?.kind === "call" &&
    needle.name.namespace === FN &&
    needle.name.local === "concat" &&
    needle.args.length === 3
  ) {
    const [before, middle, after] = needle.args;
    const isBlank = (expr: Expr | undefined): boolean => expr?.kind === "string" && expr.value === " ";
    if (isBlank(before) && isBlank(after) && middle !== undefined) {
      const words = m.constant(`new Set(${JSON.stringify(list.split(" ").filter((word) => word !== ""))})`);
      return booleanCode(
        m,
        `R.listContains(${words}, ${m.text(list)}, ${castStringOf(m, call.env.translate(middle, call.env))})`,
      );
    }
  }
  return booleanCode(m, `${text(call, 0)}.includes(${text(call, 1)})`);
}

/**
 * `tokenize('A B C', '\\s')` is how rules write code lists: split now, so that a comparison with it becomes a look-up.
 */
function tokenizeCall(call: Call): Code {
  const { m } = call.env;
  const [list, source, flags] = call.args.map(constantText);
  if (list === undefined || source === undefined || call.args.length > 2 || flags !== undefined) {
    return arrayCode(m, "string", `R.tokenize(${text(call, 0)}, ${pattern(call, 1, 2)})`);
  }
  pattern(call, 1, 2);
  const compiled = translateRegex(source, "");
  if (compiled.test("")) return arrayCode(m, "string", 'R.fail("FORX0003")');
  const strings = tokenize(list, compiled);
  return { ...arrayCode(m, "string", m.constant(JSON.stringify(strings))), strings };
}

function substring(call: Call): Code {
  const { m } = call.env;
  const start = requiredDouble(m, arg(call, 1));
  if (call.args.length === 2) return stringCode(m, `R.substringFrom(${text(call, 0)}, ${start})`);
  return stringCode(m, `R.substring(${text(call, 0)}, ${start}, ${requiredDouble(m, arg(call, 2))})`);
}

/** An ending without a colon cannot reach the prefix: `ends-with(name(), 'Amount')` only needs the local name. */
function endsWith(call: Call): Code {
  const { m } = call.env;
  const [named] = call.exprs;
  const ending = constantText(arg(call, 1));
  const isName = named?.kind === "call" && named.name.namespace === FN && named.name.local === "name";
  if (isName && ending !== undefined && !ending.includes(":")) {
    const local = call.env.translate({ ...named, name: { ...named.name, local: "local-name" } }, call.env);
    return booleanCode(m, `${stringOf(m, local)}.endsWith(${m.text(ending)})`);
  }
  return booleanCode(m, `${text(call, 0)}.endsWith(${text(call, 1)})`);
}

/** Array of the strings of a parameter of type xs:string*. */
function textsOf(call: Call, index: number): string {
  const { m } = call.env;
  const code = arg(call, index);
  const type = atomTypeOf(code.type);
  if (code.card === "none") return "[]";
  const atoms = atomsOf(m, code);
  return type === "string" || type === "untyped" ? atoms.code : `R.stringsOf(${atomsOf(m, code, "any").code})`;
}

/** Array of the integers of a parameter of type xs:integer*. */
function exactsOf(call: Call, index: number): string {
  const code = arg(call, index);
  if (code.card === "none") return "[]";
  return isExactType(code.type)
    ? arrayOf(call.env.m, code).code
    : `R.integersOf(${atomsOf(call.env.m, code, "any").code})`;
}

/** The regular expression of a call: compiled at load when pattern and flags are constant. */
function pattern(call: Call, patternAt: number, flagsAt: number): string {
  const { m } = call.env;
  const flagsCode = call.args[flagsAt];
  const source = constantText(arg(call, patternAt));
  const flags = flagsCode === undefined ? "" : constantText(flagsCode);
  if (source === undefined || flags === undefined)
    return `R.regex(${text(call, patternAt)}, ${flagsCode === undefined ? m.text("") : text(call, flagsAt)})`;
  try {
    translateRegex(source, flags);
  } catch (error) {
    if (error instanceof RuleError)
      return unsupported(`the regular expression ${JSON.stringify(source)} (${error.code})`);
    throw error;
  }
  return m.constant(`R.translateRegex(${JSON.stringify(source)}, ${JSON.stringify(flags)})`);
}

const constantText = (code: Code): string | undefined => (code.strings?.length === 1 ? code.strings[0] : undefined);

function number(call: Call): Code {
  const { m } = call.env;
  const code = argOrContext(call);
  if (code.native !== undefined) return valueCode(m, "double", "one", code.native);
  const value = atomOf(m, code);
  if (value.type === "string" || value.type === "untyped")
    return valueCode(m, "double", "one", `R.numberOfText(${value.code})`);
  if (isExactType(value.type) || value.type === "double")
    return valueCode(m, "double", "one", value.optional ? `(${toDouble(m, value)} ?? NaN)` : toDouble(m, value));
  return valueCode(m, "double", "one", `R.numberOfAny(${boxed(m, value)})`);
}

/** Exact as long as the values are; untyped values count as xs:double. */
function sum(call: Call): Code {
  const { m } = call.env;
  const code = arg(call, 0);
  const type = atomTypeOf(code.type);
  if (code.card === "none") return valueCode(m, "integer", "one", "R.ZERO", { native: "0" });
  const total = m.local();
  if (isExactType(type)) {
    return valueCode(
      m,
      type,
      "one",
      m.helper(
        `let ${total} = R.ZERO; ${code.each("set", (item) => `${total} = R.add(${total}, ${item.atom});`)} return ${total};`,
      ),
    );
  }
  return valueCode(m, "any", "one", `R.aggregate("sum", ${atomsOf(m, code, "any").code})`);
}

function aggregate(call: Call, kind: "min" | "max" | "avg"): Code {
  const { m } = call.env;
  return arg(call, 0).card === "none"
    ? emptyCode
    : valueCode(m, "any", "opt", `R.aggregate(${JSON.stringify(kind)}, ${atomsOf(m, arg(call, 0), "any").code})`);
}

function rounding(call: Call, kind: "round" | "floor" | "ceiling" | "abs", ofDouble: string): Code {
  const { m } = call.env;
  const code = arg(call, 0);
  if (code.card === "none") return emptyCode;
  if (code.native !== undefined && kind !== "abs") return code;
  const value = atomOf(m, code);
  const card = value.optional ? "opt" : "one";
  if (isExactType(value.type) && !value.optional) return valueCode(m, value.type, "one", `R.${kind}(${value.code})`);
  if (value.type === "double" && !value.optional) return valueCode(m, "double", "one", `${ofDouble}(${value.code})`);
  if (value.type === "untyped") {
    const double = doubleOf(m, code);
    const local = m.local();
    return valueCode(
      m,
      "double",
      card,
      m.helper(`const ${local} = ${double.code}; return ${local} === undefined ? undefined : ${ofDouble}(${local});`),
    );
  }
  return valueCode(m, "any", card, `R.roundAny(${JSON.stringify(kind)}, ${boxed(m, value)})`);
}

function nodeName(call: Call, part: string): Code {
  const { m } = call.env;
  const code = argOrContext(call);
  if (code.card === "none") return stringCode(m, m.text(""));
  if (!isNodeType(code.type) && code.type !== "any") return unsupported(`${part}() of a value that is no node`);
  return stringCode(m, `R.nodeName(d, ${singleOf(m, code).code}, ${JSON.stringify(part)})`);
}

function data(call: Call): Code {
  const { m } = call.env;
  const code = arg(call, 0);
  if (code.card === "none") return emptyCode;
  const type = atomTypeOf(code.type);
  return {
    type,
    card: code.card,
    each: (need, body) =>
      code.each(need === "any" ? "any" : "sequence", (item) => {
        const local = m.local();
        return `{ const ${local} = ${item.atom}; ${body(itemOf(type, local))} }`;
      }),
  };
}

function ofArray(call: Call, change: (list: string) => string): Code {
  const { m } = call.env;
  const code = arg(call, 0);
  if (code.card === "none") return emptyCode;
  const array = arrayOf(m, code);
  return arrayCode(m, array.type, change(array.code));
}

function ofCard(call: Call, card: "opt" | "one"): Code {
  const { m } = call.env;
  const code = arg(call, 0);
  if (code.card === "none") return card === "opt" ? emptyCode : valueCode(m, "any", "one", 'R.fail("FORG0005")');
  const value = singleOf(m, code);
  return valueCode(m, value.type, card, card === "one" && value.optional ? `R.required(${value.code})` : value.code);
}

function subsequence(call: Call): Code {
  const { m } = call.env;
  const length = call.args.length > 2 ? requiredDouble(m, arg(call, 2)) : "Infinity";
  return ofArray(call, (list) => `R.subsequence(${list}, ${requiredDouble(m, arg(call, 1))}, ${length})`);
}

/** An integer that is absent when an argument is. */
function optionalNative(call: Call, expression: string): Code {
  const { m } = call.env;
  if (call.args.some((code) => code.card !== "one")) return unsupported("compare() with an argument that may be empty");
  return valueCode(m, "integer", "one", `R.fromInt(${expression})`);
}
