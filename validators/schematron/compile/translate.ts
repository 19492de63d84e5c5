/** Translates XPath expressions. Paths, comparisons and function calls have files of their own. */
import {
  arrayCode,
  booleanCode,
  convert,
  emptyCode,
  isExactType,
  isNodeType,
  itemOf,
  joinTypes,
  nativeCode,
  oneItem,
  textCode,
  valueCode,
} from "./code.js";
import type { Card, Code, Item, ItemType, Need } from "./code.js";
import { translateCall } from "./calls.js";
import { castCode, castableCode } from "./casts.js";
import { translateComparison } from "./comparison.js";
import { arrayOf, atomOf, boxed, boxedAtom, memoised, singleOf, toDouble, truthOf } from "./derive.js";
import type { Value } from "./derive.js";
import { isConstant, unsupported, withVariable } from "./environment.js";
import type { Env } from "./environment.js";
import { filter, translatePath } from "./path.js";
import { dependenceOf } from "../xpath/ast.js";
import type { Arithmetic, Binding, Expr } from "../xpath/ast.js";

/** Kinds worth evaluating once per document when nothing in them varies. */
const HEAVY: ReadonlySet<Expr["kind"]> = new Set([
  "path",
  "call",
  "compare",
  "set",
  "for",
  "quantified",
  "arith",
  "filter",
]);

/** Translates any expression to JavaScript. @throws Unsupported naming the construct */
export function translate(expr: Expr, env: Env): Code {
  if (
    env.memoised ||
    !HEAVY.has(expr.kind) ||
    !isConstant(expr, env) ||
    !JSON.stringify(expr).includes('"kind":"path"')
  )
    return translateKind(expr, env);
  if (expr.kind === "call" && PASSED_ON.has(expr.name.local)) return translateKind(expr, env);
  return memoised(env.m, translateKind(expr, { ...env, memoised: true }));
}

/** Functions that cost nothing themselves: their argument is evaluated once instead, and shared. */
const PASSED_ON: ReadonlySet<string> = new Set(["not", "exists", "empty", "boolean", "count"]);

function translateKind(expr: Expr, env: Env): Code {
  const { m } = env;
  switch (expr.kind) {
    case "string":
      return textCode(m, expr.value);
    case "integer":
      return integerLiteral(expr.text, env);
    case "decimal":
      return valueCode(m, "decimal", "one", m.constant(`R.decimal(${JSON.stringify(expr.text)})`));
    case "double":
      return valueCode(m, "double", "one", `${Number(expr.text)}`);
    case "variable":
      return variable(expr.name, env);
    case "context":
      return env.context === undefined
        ? unsupported("the context item where there is none (XPDY0002)")
        : oneItem(env.context);
    case "sequence":
      return sequence(expr.items, env);
    case "or":
      return booleanCode(m, `(${expr.items.map((item) => truthOf(m, translate(item, env))).join(" || ")})`);
    case "and":
      return booleanCode(m, `(${expr.items.map((item) => truthOf(m, translate(item, env))).join(" && ")})`);
    case "compare":
      return translateComparison(expr, env);
    case "nodeCompare":
      return nodeComparison(expr, env);
    case "arith":
      return arithmetic(expr.op, translate(expr.left, env), translate(expr.right, env), env);
    case "negate":
      return negation(translate(expr.operand, env), env);
    case "range":
      return range(expr, env);
    case "set":
      return expr.op === "union" ? union(expr, env) : selection(expr, env);
    case "cast":
      return castCode(env, translate(expr.operand, env), expr.type);
    case "castable":
      return castableCode(env, translate(expr.operand, env), expr.type);
    case "instance":
      return unsupported("instance of");
    case "treat":
      return unsupported("treat as");
    case "if":
      return conditional(expr, env);
    case "for":
      return forLoop(expr.bindings, expr.body, env);
    case "quantified":
      return quantified(expr, env);
    case "call":
      return translateCall(expr, env);
    case "path":
      return translatePath(expr, env);
    case "filter":
      return filter(translate(expr.primary, env), expr.predicates, env);
  }
}

function integerLiteral(text: string, env: Env): Code {
  if (text.length <= 15) {
    const native = String(Number(text));
    return valueCode(env.m, "integer", "one", env.m.constant(`R.fromInt(${native})`), { native });
  }
  return valueCode(env.m, "integer", "one", env.m.constant(`R.decimal(${JSON.stringify(text)})`));
}

function variable(name: string, env: Env): Code {
  const known = env.variables.get(name);
  return known === undefined ? unsupported(`the undeclared variable $${name}`) : known.code();
}

/** Text that is repeated for each item of a short sequence may have this many characters in all. */
const REPEATED_MAX = 4000;

/** Runs `body` for the items of several codes in turn; through an array when the body would be repeated too much. */
function inTurn(
  m: Env["m"],
  codes: readonly Code[],
  { type, need }: { readonly type: ItemType; readonly need: Need },
  body: (item: Item) => string,
): string {
  const widen = (item: Item): Item =>
    item.type === type || (isNodeType(type) && isNodeType(item.type))
      ? item
      : itemOf(type, convert(item.code, item.type, type));
  const trial = body(itemOf(type, m.local()));
  if (trial.length * codes.length <= REPEATED_MAX) {
    return codes
      .map((code) => code.each(need, (item) => (type === "any" ? bound(m, widen(item), body) : body(widen(item)))))
      .join(" ");
  }
  const [list, local] = [m.local(), m.local()];
  const filled = codes.map((code) => code.each(need, (item) => `${list}.push(${widen(item).code});`)).join(" ");
  return `{ const ${list} = []; ${filled} for (const ${local} of ${list}) { ${body(itemOf(type, local))} } }`;
}

function bound(m: Env["m"], item: Item, body: (item: Item) => string): string {
  const local = m.local();
  return `{ const ${local} = ${item.code}; ${body(itemOf(item.type, local))} }`;
}

const sequence = (items: readonly Expr[], env: Env): Code =>
  sequenceCode(
    env.m,
    items.map((item) => translate(item, env)),
  );

/** The items of several codes in turn. */
export function sequenceCode(m: Env["m"], all: readonly Code[]): Code {
  const codes = all.filter((code) => code.card !== "none");
  const [first, ...rest] = codes;
  if (first === undefined) return emptyCode;
  if (rest.length === 0) return first;
  const type = rest.reduce((joined, code) => joinTypes(joined, code.type), first.type);
  const strings = codes.every((code) => code.strings !== undefined)
    ? codes.flatMap((code) => code.strings ?? [])
    : undefined;
  if (strings !== undefined) return { ...arrayCode(m, "string", m.constant(JSON.stringify(strings))), strings };
  const truth = isNodeType(first.type) ? `(${codes.map((code) => truthOf(m, code)).join(" || ")})` : undefined;
  return {
    type,
    card: "many",
    each: (need, body) => inTurn(m, codes, { type, need }, body),
    ...(isNodeType(type) ? { truth } : {}),
  };
}

function nodeComparison(expr: Expr & { readonly kind: "nodeCompare" }, env: Env): Code {
  const { m } = env;
  const [left, right] = [translate(expr.left, env), translate(expr.right, env)];
  if (![left, right].every((code) => isNodeType(code.type) || code.card === "none"))
    return unsupported(`${expr.op} between values that are no nodes`);
  const [a, b] = [m.local(), m.local()];
  const test =
    expr.op === "is" ? `R.sameNode(${a}, ${b})` : `R.nodeOrder(${a}, ${b}) ${expr.op === "<<" ? "<" : ">"} 0`;
  const call = m.helper(
    `const ${a} = ${singleOf(m, left).code}; const ${b} = ${singleOf(m, right).code}; ` +
      `return ${a} === undefined || ${b} === undefined ? undefined : ${test};`,
  );
  return valueCode(m, "boolean", "opt", call, { truth: `(${call} === true)` });
}

const NATIVE_OPERATORS: ReadonlySet<Arithmetic> = new Set(["+", "-"]);

function arithmetic(op: Arithmetic, left: Code, right: Code, env: Env): Code {
  const { m } = env;
  if (left.card === "none" || right.card === "none") return emptyCode;
  if (left.native !== undefined && right.native !== undefined) {
    if (NATIVE_OPERATORS.has(op)) return nativeCode(m, `(${left.native} ${op} ${right.native})`);
    if (op === "mod" && /^[1-9]\d*$/.test(right.native)) return nativeCode(m, `(${left.native} % ${right.native} + 0)`);
  }
  const [a, b] = [atomOf(m, left), atomOf(m, right)];
  const card = a.optional || b.optional ? "opt" : "one";
  if (isExactType(a.type) && isExactType(b.type)) {
    const type: ItemType = op === "idiv" ? "integer" : op === "div" || a.type !== b.type ? "decimal" : a.type;
    const direct: Partial<Record<Arithmetic, string>> = { "+": "R.add", "-": "R.sub", "*": "R.mul" };
    return valueCode(
      m,
      type,
      card,
      operation(m, a, b, (x, y) =>
        direct[op] === undefined ? `R.arithExact(${JSON.stringify(op)}, ${x}, ${y})` : `${direct[op]}(${x}, ${y})`,
      ),
    );
  }
  const isNumeric = (value: Value): boolean =>
    isExactType(value.type) || value.type === "double" || value.type === "untyped";
  const inForm = (value: Value, code: string): Value => ({ ...value, code });
  if (!isNumeric(a) || !isNumeric(b)) {
    const [x, y] = [inForm(a, boxed(m, a)), inForm(b, boxed(m, b))];
    return valueCode(
      m,
      "any",
      "opt",
      operation(m, x, y, (left, right) => `R.arithAny(${JSON.stringify(op)}, ${left}, ${right})`),
    );
  }
  const [x, y] = [inForm(a, toDouble(m, a)), inForm(b, toDouble(m, b))];
  if (op === "idiv")
    return valueCode(
      m,
      "integer",
      card,
      operation(m, x, y, (left, right) => `R.idivDouble(${left}, ${right})`),
    );
  const symbol = { "+": "+", "-": "-", "*": "*", div: "/", mod: "%" }[op];
  return valueCode(
    m,
    "double",
    card,
    operation(m, x, y, (left, right) => `(${left} ${symbol} ${right})`),
  );
}

/**
 * Applies an operator to two values: the left one first; when it is empty the right one is not evaluated, as in Saxon.
 */
function operation(m: Env["m"], a: Value, b: Value, apply: (left: string, right: string) => string): string {
  if (!a.optional && !b.optional) return apply(a.code, b.code);
  const [left, right] = [m.local(), m.local()];
  const absent = (value: Value, local: string): string =>
    value.optional ? `if (${local} === undefined) return undefined; ` : "";
  return m.helper(
    `const ${left} = ${a.code}; ${absent(a, left)}const ${right} = ${b.code}; ${absent(b, right)}return ${apply(left, right)};`,
  );
}

function negation(operand: Code, env: Env): Code {
  const { m } = env;
  if (operand.card === "none") return emptyCode;
  if (operand.native !== undefined) return nativeCode(m, `(0 - ${operand.native})`);
  const value = atomOf(m, operand);
  const card = value.optional ? "opt" : "one";
  if (isExactType(value.type) && !value.optional) return valueCode(m, value.type, "one", `R.neg(${value.code})`);
  if (value.type === "double" && !value.optional) return valueCode(m, "double", "one", `(-${value.code})`);
  return valueCode(m, "any", card, `R.negateAny(${boxed(m, value)})`);
}

function range(expr: Expr & { readonly kind: "range" }, env: Env): Code {
  const { m } = env;
  const [from, to] = [translate(expr.from, env), translate(expr.to, env)];
  const bounds = [from, to].map((code) =>
    isExactType(code.type) ? singleOf(m, code).code : `R.castOrFail(${boxedAtom(m, code)}, "integer")`,
  );
  return arrayCode(m, "integer", `R.range(${bounds.join(", ")})`);
}

function union(expr: Expr & { readonly kind: "set" }, env: Env): Code {
  const { m } = env;
  const codes = branchesOf(expr)
    .map((branch) => translate(branch, env))
    .filter((code) => code.card !== "none");
  const [first, ...rest] = codes;
  if (first === undefined) return emptyCode;
  if (!codes.every((code) => isNodeType(code.type))) return unsupported("a union of values that are no nodes");
  const type = rest.reduce((joined, code) => joinTypes(joined, code.type), first.type);
  const disjoint = areDisjoint(codes);
  return {
    type,
    card: "many",
    downward: codes.every((code) => code.downward === true),
    names: codes.every((code) => code.names !== undefined)
      ? new Set(codes.flatMap((code) => [...(code.names ?? [])]))
      : undefined,
    get truth() {
      return `(${codes.map((code) => truthOf(m, code)).join(" || ")})`;
    },
    each: (need, body) => {
      if (need === "any" || (need === "set" && disjoint)) return inTurn(m, codes, { type, need }, body);
      const [list, local] = [m.local(), m.local()];
      const filled = codes.map((code) => code.each("any", (item) => `${list}.push(${item.code});`)).join(" ");
      return `{ const ${list} = []; ${filled} for (const ${local} of R.sortUnique(${list})) { ${body(itemOf(type, local))} } }`;
    },
  };
}

const branchesOf = (expr: Expr): Expr[] =>
  expr.kind === "set" && expr.op === "union" ? [...branchesOf(expr.left), ...branchesOf(expr.right)] : [expr];

/** Whether no two of them can yield the same element, because they ask for different names. */
function areDisjoint(codes: readonly Code[]): boolean {
  const seen = new Set<string>();
  for (const code of codes) {
    if (code.names === undefined || code.type !== "element") return false;
    for (const name of code.names) if (seen.has(name)) return false;
    for (const name of code.names) seen.add(name);
  }
  return true;
}

function selection(expr: Expr & { readonly kind: "set" }, env: Env): Code {
  const { m } = env;
  const [left, right] = [translate(expr.left, env), translate(expr.right, env)];
  if (left.card === "none") return emptyCode;
  if (!isNodeType(left.type) || (right.card !== "none" && !isNodeType(right.type)))
    return unsupported(`${expr.op} of values that are no nodes`);
  return arrayCode(
    m,
    left.type,
    `R.selectNodes(${arrayOf(m, left).code}, ${arrayOf(m, right).code}, ${expr.op === "intersect"})`,
  );
}

function conditional(expr: Expr & { readonly kind: "if" }, env: Env): Code {
  const { m } = env;
  return chooseCode(
    m,
    truthOf(m, translate(expr.test, env)),
    translate(expr.then, env),
    translate(expr.otherwise, env),
  );
}

/** One of two codes, by a condition. */
export function chooseCode(m: Env["m"], condition: string, then: Code, otherwise: Code): Code {
  const present = [then, otherwise].filter((code) => code.card !== "none");
  const type = present.length === 0 ? "any" : present.map((code) => code.type).reduce(joinTypes);
  const isMany = present.some((code) => code.card === "many");
  const card: Card = isMany
    ? "many"
    : present.length === 2 && present.every((code) => code.card === "one")
      ? "one"
      : "opt";
  const branch = (code: Code): string => {
    const value = singleOf(m, code);
    return value.optional && type === "any" ? boxed(m, value) : convert(value.code, value.type, type);
  };
  if (!isMany) {
    const isBoolean = type === "boolean" && card === "one";
    const natives =
      then.native !== undefined && otherwise.native !== undefined
        ? { native: `(${condition} ? ${then.native} : ${otherwise.native})` }
        : {};
    const single = `(${condition} ? ${branch(then)} : ${branch(otherwise)})`;
    return valueCode(m, type, card === "one" ? "one" : "opt", single, {
      ...natives,
      ...(isBoolean ? { truth: `(${condition} ? ${truthOf(m, then)} : ${truthOf(m, otherwise)})` } : {}),
    });
  }
  const side = (code: Code, need: Need, body: (item: Item) => string): string =>
    inTurn(m, [code], { type, need }, body);
  return {
    type,
    card,
    each: (need, body) => `if (${condition}) { ${side(then, need, body)} } else { ${side(otherwise, need, body)} }`,
  };
}

/** Binds the variables one inside the other and hands the environment to `inner`. */
function bindings(list: readonly Binding[], env: Env, need: Need, inner: (env: Env) => string): string {
  const [first, ...rest] = list;
  if (first === undefined) return inner(env);
  return translate(first.value, env).each(need, (item) => bindings(rest, withItem(env, first.name, item), need, inner));
}

/** `some $x in S satisfies E = $x` says `E = S`, which can be a look-up, as long as E does not read $x. */
function asComparison(list: readonly Binding[], test: Expr): Expr | undefined {
  const [binding, ...others] = list;
  if (binding === undefined || others.length > 0 || test.kind !== "compare" || !test.general || test.op !== "=")
    return undefined;
  const isVariable = (side: Expr): boolean => side.kind === "variable" && side.name === binding.name;
  const other = isVariable(test.right) ? test.left : isVariable(test.left) ? test.right : undefined;
  if (other === undefined || dependenceOf(other).variables.has(binding.name)) return undefined;
  return { ...test, left: other, right: binding.value };
}

const withItem = (env: Env, name: string, item: Item): Env =>
  withVariable(env, name, { constant: false, code: () => oneItem(item) });

function forLoop(list: readonly Binding[], body: Expr, env: Env): Code {
  const types: Code[] = [];
  bindings(list, env, "sequence", (inner) => {
    types.push(translate(body, inner));
    return "";
  });
  const present = types.filter((code) => code.card !== "none");
  if (present.length === 0) return emptyCode;
  const type = present.map((code) => code.type).reduce(joinTypes);
  return {
    type,
    card: "many",
    each: (_, run) =>
      bindings(list, env, "sequence", (inner) =>
        inTurn(env.m, [translate(body, inner)], { type, need: "sequence" }, run),
      ),
  };
}

function quantified(expr: Expr & { readonly kind: "quantified" }, env: Env): Code {
  const { m } = env;
  const plain = expr.every ? undefined : asComparison(expr.bindings, expr.test);
  if (plain !== undefined) return translate(plain, env);
  const [test, hit, end] = expr.every ? ["!", "false", "true"] : ["", "true", "false"];
  return booleanCode(
    m,
    m.helper(
      `${bindings(expr.bindings, env, "any", (inner) => `if (${test}${truthOf(m, translate(expr.test, inner))}) return ${hit};`)} return ${end};`,
    ),
  );
}
