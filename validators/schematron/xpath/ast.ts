/** The tree of an XPath 2.0 expression as the parser builds it, and what can be said about it without types. */

export const AXES = [
  "child",
  "descendant",
  "attribute",
  "self",
  "descendant-or-self",
  "following-sibling",
  "following",
  "parent",
  "ancestor",
  "preceding-sibling",
  "preceding",
  "ancestor-or-self",
] as const;
export type Axis = (typeof AXES)[number];

/** A node test. An undefined namespace or local name stands for `*`. */
export type NodeTest =
  | { readonly kind: "name"; readonly namespace: string | undefined; readonly local: string | undefined }
  | { readonly kind: "node" | "text" | "element" | "document" | "comment" | "processing-instruction" };

export type AxisStep = {
  readonly kind: "axis";
  readonly axis: Axis;
  readonly test: NodeTest;
  readonly predicates: readonly Expr[];
};
/** A step that is no axis step: `a/xs:decimal(.)`, `a/(b|c)[1]`. */
export type ExprStep = { readonly kind: "expr"; readonly expr: Expr; readonly predicates: readonly Expr[] };
export type Step = AxisStep | ExprStep;

/** An expanded name, written as in the source for messages. */
export type Name = { readonly namespace: string; readonly local: string; readonly written: string };

export const OCCURRENCES = ["", "?", "*", "+"] as const;
export type Occurrence = (typeof OCCURRENCES)[number];
/** `xs:string?`, `item()*`, `element()`; "empty" is `empty-sequence()`. */
export type SequenceType = { readonly item: string; readonly occurrence: Occurrence };

export const COMPARISONS = ["=", "!=", "<", "<=", ">", ">="] as const;
export type Comparison = (typeof COMPARISONS)[number];
export type Arithmetic = "+" | "-" | "*" | "div" | "idiv" | "mod";

export type Binding = { readonly name: string; readonly value: Expr };

export type Expr =
  | { readonly kind: "string"; readonly value: string }
  | { readonly kind: "integer" | "decimal" | "double"; readonly text: string }
  | { readonly kind: "variable"; readonly name: string }
  | { readonly kind: "context" }
  | { readonly kind: "sequence"; readonly items: readonly Expr[] }
  | { readonly kind: "or" | "and"; readonly items: readonly Expr[] }
  | {
      readonly kind: "compare";
      readonly op: Comparison;
      readonly general: boolean;
      readonly left: Expr;
      readonly right: Expr;
    }
  | { readonly kind: "nodeCompare"; readonly op: "is" | "<<" | ">>"; readonly left: Expr; readonly right: Expr }
  | { readonly kind: "arith"; readonly op: Arithmetic; readonly left: Expr; readonly right: Expr }
  | { readonly kind: "negate"; readonly operand: Expr }
  | { readonly kind: "range"; readonly from: Expr; readonly to: Expr }
  | { readonly kind: "set"; readonly op: "union" | "intersect" | "except"; readonly left: Expr; readonly right: Expr }
  | { readonly kind: "cast" | "castable"; readonly type: SequenceType; readonly operand: Expr }
  | { readonly kind: "instance" | "treat"; readonly type: SequenceType; readonly operand: Expr }
  | { readonly kind: "if"; readonly test: Expr; readonly then: Expr; readonly otherwise: Expr }
  | { readonly kind: "for"; readonly bindings: readonly Binding[]; readonly body: Expr }
  | { readonly kind: "quantified"; readonly every: boolean; readonly bindings: readonly Binding[]; readonly test: Expr }
  | { readonly kind: "call"; readonly name: Name; readonly args: readonly Expr[] }
  | { readonly kind: "path"; readonly rooted: boolean; readonly steps: readonly Step[] }
  | { readonly kind: "filter"; readonly primary: Expr; readonly predicates: readonly Expr[] };

export const FN = "http://www.w3.org/2005/xpath-functions";
export const XS = "http://www.w3.org/2001/XMLSchema";

/** Functions that read the context item when they have no argument. */
const IMPLICIT_CONTEXT = new Set([
  "string",
  "normalize-space",
  "string-length",
  "number",
  "name",
  "local-name",
  "namespace-uri",
  "root",
]);

/** Functions whose result is never a number, so that a predicate made of them cannot be a position. */
const NOT_NUMERIC = new Set([
  "not",
  "exists",
  "empty",
  "boolean",
  "true",
  "false",
  "contains",
  "starts-with",
  "ends-with",
  "matches",
  "string",
  "normalize-space",
  "concat",
  "substring",
  "substring-before",
  "substring-after",
  "translate",
  "upper-case",
  "lower-case",
  "string-join",
  "replace",
  "name",
  "local-name",
]);

/** What an expression reads from outside itself. */
class Dependence {
  context = false;
  position = false;
  readonly variables: Set<string>;

  constructor(variables = new Set<string>()) {
    this.variables = variables;
  }
}

/** Works out what `expr` reads: the context item, its position or size, and free variables. */
export function dependenceOf(expr: Expr): Dependence {
  const found = new Dependence();
  visit(expr, found, new Set());
  return found;
}

function visit(expr: Expr, found: Dependence, bound: ReadonlySet<string>): void {
  switch (expr.kind) {
    case "string":
    case "integer":
    case "decimal":
    case "double":
      return;
    case "variable":
      if (!bound.has(expr.name)) found.variables.add(expr.name);
      return;
    case "context":
      found.context = true;
      return;
    case "sequence":
    case "or":
    case "and":
      for (const item of expr.items) visit(item, found, bound);
      return;
    case "compare":
    case "nodeCompare":
    case "arith":
    case "set":
      visit(expr.left, found, bound);
      visit(expr.right, found, bound);
      return;
    case "negate":
    case "cast":
    case "castable":
    case "instance":
    case "treat":
      visit(expr.operand, found, bound);
      return;
    case "range":
      visit(expr.from, found, bound);
      visit(expr.to, found, bound);
      return;
    case "if":
      for (const part of [expr.test, expr.then, expr.otherwise]) visit(part, found, bound);
      return;
    case "for":
      visitBindings(expr.bindings, expr.body, found, bound);
      return;
    case "quantified":
      visitBindings(expr.bindings, expr.test, found, bound);
      return;
    case "call":
      visitCall(expr.name, expr.args, found, bound);
      return;
    case "filter":
      visit(expr.primary, found, bound);
      visitInner(expr.predicates, found, bound);
      return;
    case "path":
      visitPath(expr, found, bound);
  }
}

function visitBindings(bindings: readonly Binding[], body: Expr, found: Dependence, bound: ReadonlySet<string>): void {
  let inner = bound;
  for (const { name, value } of bindings) {
    visit(value, found, inner);
    inner = new Set([...inner, name]);
  }
  visit(body, found, inner);
}

function visitCall(name: Name, args: readonly Expr[], found: Dependence, bound: ReadonlySet<string>): void {
  for (const arg of args) visit(arg, found, bound);
  if (name.namespace !== FN) return;
  if (name.local === "position" || name.local === "last") found.position = true;
  if (name.local === "current") found.context = true;
  if (args.length === 0 && IMPLICIT_CONTEXT.has(name.local)) found.context = true;
}

function visitPath(path: Expr & { readonly kind: "path" }, found: Dependence, bound: ReadonlySet<string>): void {
  path.steps.forEach((step, index) => {
    const outermost = index === 0 && !path.rooted;
    if (step.kind === "expr") {
      if (outermost) visit(step.expr, found, bound);
      else visitInner([step.expr], found, bound);
    } else if (outermost) {
      found.context = true;
    }
    visitInner(step.predicates, found, bound);
  });
}

/** Expressions with a context of their own: only their variables are read from outside, and `current()`. */
function visitInner(exprs: readonly Expr[], found: Dependence, bound: ReadonlySet<string>): void {
  for (const expr of exprs) {
    const inner = new Dependence(found.variables);
    visit(expr, inner, bound);
    if (usesCurrent(expr)) found.context = true;
  }
}

const usesCurrent = (expr: Expr): boolean => JSON.stringify(expr).includes('"local":"current"');

/** Whether a predicate may select by position: it may be a number, or it reads position() or last(). */
export function mayBePositional(predicate: Expr): boolean {
  return mayBeNumeric(predicate) || dependenceOf(predicate).position;
}

function mayBeNumeric(expr: Expr): boolean {
  switch (expr.kind) {
    case "string":
    case "or":
    case "and":
    case "compare":
    case "nodeCompare":
    case "quantified":
    case "castable":
    case "instance":
    case "set":
      return false;
    case "path": {
      const last = expr.steps.at(-1);
      return last !== undefined && last.kind === "expr" && mayBeNumeric(last.expr);
    }
    case "call":
      return !(expr.name.namespace === FN && NOT_NUMERIC.has(expr.name.local));
    case "if":
      return mayBeNumeric(expr.then) || mayBeNumeric(expr.otherwise);
    default:
      return true;
  }
}
