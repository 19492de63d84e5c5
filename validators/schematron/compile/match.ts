/**
 * Translates the context of a rule, which is a match pattern of XSLT: a function that says whether an element matches.
 * An error inside a predicate means that it does not (XSLT 2.0, 5.5.4).
 */
import { itemOf } from "./code.js";
import { truthOf } from "./derive.js";
import { unsupported, withContext } from "./environment.js";
import type { Env } from "./environment.js";
import { nameTest } from "./path.js";
import { mayBePositional } from "../xpath/ast.js";
import type { AxisStep, Expr, ExprStep, Step } from "../xpath/ast.js";

/** One alternative of a context. */
export type Match = {
  /** Name of the element itself; undefined when several names can match. "document" is the context `/`. */
  readonly name: { readonly namespace: string; readonly local: string } | "document" | undefined;
  /** JavaScript condition on the element `e`. */
  readonly condition: string;
};

/** A condition on the element `e`: that it matches any alternative of the pattern. */
export const translateMatch = (expr: Expr, env: Env, e: string): string =>
  disjunction(translateContext(expr, env, e), e, env);

/** @param e  local that holds the element */
export function translateContext(expr: Expr, env: Env, e: string): Match[] {
  return alternativesOf(expr).map((alternative) => matchOf(alternative, env, e));
}

function alternativesOf(expr: Expr): Expr[] {
  return expr.kind === "set" && expr.op === "union"
    ? [...alternativesOf(expr.left), ...alternativesOf(expr.right)]
    : [expr];
}

function matchOf(expr: Expr, env: Env, e: string): Match {
  if (expr.kind === "filter") {
    const inner = alternativesOf(expr.primary).map((alternative) => matchOf(alternative, env, e));
    const predicates = predicateTests(expr.predicates, undefined, env, e);
    return { name: commonName(inner), condition: conjunction([disjunction(inner, e, env), ...predicates]) };
  }
  if (expr.kind !== "path") return unsupported("a context that is no match pattern");
  if (expr.steps.length === 0) return { name: "document", condition: "true" };
  const last = expr.steps.at(-1);
  if (last === undefined || last.kind === "expr") return unsupported("a context whose last step is an expression");
  if (last.axis === "attribute") return unsupported("a context that is an attribute");
  if (last.test.kind !== "name" && last.test.kind !== "element" && last.test.kind !== "node")
    return unsupported(`a context that is ${last.test.kind}()`);
  const { namespace, local } = last.test.kind === "name" ? last.test : { namespace: undefined, local: undefined };
  return {
    name: namespace !== undefined && local !== undefined ? { namespace, local } : undefined,
    condition: stepsCondition(expr.steps, expr.rooted, env, e),
  };
}

function commonName(matches: readonly Match[]): Match["name"] {
  const [first] = matches;
  if (first === undefined || first.name === undefined || first.name === "document") return undefined;
  const { namespace, local } = first.name;
  const isSame = matches.every(
    ({ name }) => name !== undefined && name !== "document" && name.namespace === namespace && name.local === local,
  );
  return isSame ? first.name : undefined;
}

/** Any alternative, its name included. */
function disjunction(matches: readonly Match[], e: string, env: Env): string {
  return `(${matches
    .map(({ name, condition }) => {
      if (name === "document") return unsupported("/ inside a parenthesised context");
      const named = name === undefined ? "true" : nameTest(`d.name(${e})`, { kind: "name", ...name }, env);
      return conjunction([named, condition]);
    })
    .join(" || ")})`;
}

const conjunction = (tests: readonly string[]): string => {
  const real = tests.filter((test) => test !== "true");
  return real.length === 0 ? "true" : real.length === 1 ? (real[0] ?? "true") : `(${real.join(" && ")})`;
};

/** Names up the tree first, then predicates: the cheap tests before the dear ones, since errors do not matter here. */
function stepsCondition(steps: readonly Step[], rooted: boolean, env: Env, e: string): string {
  const last = steps.at(-1);
  if (last === undefined) return "true";
  if (last.kind === "expr") return exprStepCondition(last, steps.length, env, e);
  const above = aboveCondition(steps, rooted, env, e);
  return conjunction([testOf(last, env, e), above, ...predicateTests(last.predicates, last, env, e)]);
}

const testOf = (step: AxisStep, env: Env, e: string): string => nameTest(`d.name(${e})`, step.test, env);

/** What must hold of the ancestors of `e`, which matches the last of the steps. */
function aboveCondition(steps: readonly Step[], rooted: boolean, env: Env, e: string): string {
  const { m } = env;
  const last = steps.at(-1);
  const before = steps.slice(0, -1);
  if (last === undefined || last.kind === "expr") return "true";
  const isDescendant =
    last.axis === "descendant" || (before.at(-1) === undefined && last.axis === "descendant-or-self");
  if (last.axis !== "child" && !isDescendant) return unsupported(`the axis ${last.axis} in a context`);
  if (before.length === 0) return rooted && !isDescendant ? `d.parent(${e}) === -1` : "true";
  const previous = before.at(-1);
  // a//b with a positional predicate keeps the explicit descendant step.
  if (previous?.kind === "axis" && previous.axis === "descendant-or-self") {
    return before.length === 1 ? "true" : ancestorCondition(before.slice(0, -1), rooted, env, e);
  }
  if (isDescendant) return ancestorCondition(before, rooted, env, e);
  const parent = m.local();
  return m.helper(
    `const ${parent} = d.parent(${e}); return ${parent} !== -1 && ${stepsCondition(before, rooted, env, parent)};`,
  );
}

function ancestorCondition(steps: readonly Step[], rooted: boolean, env: Env, e: string): string {
  const { m } = env;
  const ancestor = m.local();
  const matched = m.helper(`return ${stepsCondition(steps, rooted, env, ancestor)};`);
  return m.helper(
    `for (let ${ancestor} = d.parent(${e}); ${ancestor} !== -1; ${ancestor} = d.parent(${ancestor})) if (${matched}) return true; return false;`,
  );
}

/** `(a | b)/c`: a parenthesised first step. */
function exprStepCondition(step: ExprStep, length: number, env: Env, e: string): string {
  if (length !== 1) return unsupported("an expression inside a context");
  const inner = alternativesOf(step.expr).map((alternative) => matchOf(alternative, env, e));
  return conjunction([disjunction(inner, e, env), ...predicateTests(step.predicates, undefined, env, e)]);
}

/** `[$isCredit]`: a variable that is true or false asks for no position, whatever stands before it. */
const isTruthVariable = (predicate: Expr, env: Env): boolean => {
  if (predicate.kind !== "variable") return false;
  const code = env.variables.get(predicate.name)?.code();
  return code?.type === "boolean" && code.card === "one";
};

/** Each predicate with the element as context item; errors are misses. */
function predicateTests(predicates: readonly Expr[], step: AxisStep | undefined, env: Env, e: string): string[] {
  const { m } = env;
  return predicates.map((predicate, index) => {
    const item = itemOf("element", e);
    let inner: Env = { ...withContext(env, item), current: item };
    const positional = mayBePositional(predicate) && !isTruthVariable(predicate, inner);
    if (positional) {
      if (step === undefined || step.test.kind !== "name" || index > 0)
        return unsupported("a position in this context");
      const sameName = step.test.local !== undefined;
      inner = {
        ...inner,
        position: `R.positionOf(d, ${e}, ${sameName})`,
        size: `R.siblingCount(d, ${e}, ${sameName})`,
      };
    }
    const code = env.translate(predicate, inner);
    const test = positional && code.native !== undefined ? `${code.native} === ${inner.position}` : truthOf(m, code);
    return m.helper(`try { return ${test}; } catch (error) { if (R.isRuleError(error)) return false; throw error; }`);
  });
}
