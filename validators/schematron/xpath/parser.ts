/**
 * Parses XPath 2.0 (W3C Recommendation, appendix A) into the tree of xpath-ast.ts. Names are expanded with the
 * namespaces given; what the grammar has and the compiler does not is refused here, by name.
 */
import { AXES, FN, mayBePositional, XS } from "./ast.js";
import type {
  Arithmetic,
  Axis,
  AxisStep,
  Binding,
  Comparison,
  Expr,
  Name,
  NodeTest,
  Occurrence,
  SequenceType,
  Step,
} from "./ast.js";
import { tokenize, XPathError } from "./lexer.js";
import type { Token } from "./lexer.js";

/** Prefix → namespace URI; "" names the default element namespace. */
export type Namespaces = ReadonlyMap<string, string>;

/** Nesting that an expression may have; the deepest of the known packs is below 40. */
const DEPTH_MAX = 400;

/**
 * @throws XPathError when the text is no XPath 2.0 expression or uses a construct that is not supported
 */
export function parseXPath(text: string, namespaces: Namespaces): Expr {
  return new Parser(tokenize(text), namespaces).parse();
}

const VALUE_COMPARISONS: Readonly<Record<string, Comparison>> = {
  eq: "=",
  ne: "!=",
  lt: "<",
  le: "<=",
  gt: ">",
  ge: ">=",
};
const GENERAL_COMPARISONS: ReadonlySet<string> = new Set(["=", "!=", "<", "<=", ">", ">="]);
const KIND_TESTS: ReadonlySet<string> = new Set([
  "node",
  "text",
  "element",
  "document-node",
  "comment",
  "processing-instruction",
  "attribute",
  "schema-element",
  "schema-attribute",
]);
const DESCENDANTS: AxisStep = { kind: "axis", axis: "descendant-or-self", test: { kind: "node" }, predicates: [] };

class Parser {
  readonly #tokens: readonly Token[];
  readonly #namespaces: Namespaces;
  #at = 0;
  #depth = 0;

  constructor(tokens: readonly Token[], namespaces: Namespaces) {
    this.#tokens = tokens;
    this.#namespaces = namespaces;
  }

  parse(): Expr {
    const expr = this.#expr();
    if (this.#token.kind !== "end") this.#fail(`unexpected ${JSON.stringify(this.#token.text)}`);
    return expr;
  }

  get #token(): Token {
    return this.#tokens[this.#at] ?? { kind: "end", text: "", offset: 0 };
  }

  #peek(ahead: number): Token {
    return this.#tokens[this.#at + ahead] ?? { kind: "end", text: "", offset: 0 };
  }

  #fail(problem: string): never {
    throw new XPathError(problem, this.#token.offset);
  }

  #isSymbol(text: string): boolean {
    return this.#token.kind === "symbol" && this.#token.text === text;
  }

  #isName(text: string): boolean {
    return this.#token.kind === "name" && this.#token.text === text;
  }

  #takeSymbol(text: string): boolean {
    if (!this.#isSymbol(text)) return false;
    this.#at++;
    return true;
  }

  #expect(text: string): void {
    if (this.#token.text !== text || this.#token.kind === "string")
      this.#fail(`expected ${JSON.stringify(text)} and found ${JSON.stringify(this.#token.text)}`);
    this.#at++;
  }

  #expr(): Expr {
    const items = [this.#exprSingle()];
    while (this.#takeSymbol(",")) items.push(this.#exprSingle());
    const [first] = items;
    return items.length === 1 && first !== undefined ? first : { kind: "sequence", items };
  }

  #exprSingle(): Expr {
    this.#deepen();
    const expr = this.#keywordExpr() ?? this.#orExpr();
    this.#depth--;
    return expr;
  }

  #deepen(): void {
    if (++this.#depth > DEPTH_MAX) this.#fail("the expression is nested too deeply");
  }

  /** What `parse` has deepened ends with it: a chain whose members stand inside each other in the compiled code. */
  #chainOf<T>(parse: () => T): T {
    const depth = this.#depth;
    const parsed = parse();
    this.#depth = depth;
    return parsed;
  }

  #keywordExpr(): Expr | undefined {
    const next = this.#peek(1);
    if (this.#token.kind !== "name") return undefined;
    if (this.#token.text === "if" && next.kind === "symbol" && next.text === "(") return this.#ifExpr();
    if (next.kind !== "variable") return undefined;
    if (this.#token.text === "for") return this.#forExpr();
    if (this.#token.text === "some" || this.#token.text === "every") return this.#quantifiedExpr();
    return undefined;
  }

  #ifExpr(): Expr {
    this.#at += 2;
    const test = this.#expr();
    this.#expect(")");
    this.#expect("then");
    const then = this.#exprSingle();
    this.#expect("else");
    return { kind: "if", test, then, otherwise: this.#exprSingle() };
  }

  #bindings(): Binding[] {
    const bindings: Binding[] = [];
    do {
      if (this.#token.kind !== "variable") this.#fail("expected a variable");
      this.#deepen();
      const name = this.#token.text;
      this.#at++;
      this.#expect("in");
      bindings.push({ name, value: this.#exprSingle() });
    } while (this.#takeSymbol(","));
    return bindings;
  }

  #forExpr(): Expr {
    this.#at++;
    return this.#chainOf(() => {
      const bindings = this.#bindings();
      this.#expect("return");
      return { kind: "for", bindings, body: this.#exprSingle() };
    });
  }

  #quantifiedExpr(): Expr {
    const every = this.#token.text === "every";
    this.#at++;
    return this.#chainOf(() => {
      const bindings = this.#bindings();
      this.#expect("satisfies");
      return { kind: "quantified", every, bindings, test: this.#exprSingle() };
    });
  }

  #orExpr(): Expr {
    return this.#chain("or", () => this.#chain("and", () => this.#comparison()));
  }

  #chain(kind: "or" | "and", operand: () => Expr): Expr {
    const first = operand();
    if (!this.#isName(kind)) return first;
    const items = [first];
    while (this.#isName(kind)) {
      this.#at++;
      items.push(operand());
    }
    return { kind, items };
  }

  #comparison(): Expr {
    const left = this.#range();
    const { kind, text } = this.#token;
    if (kind === "symbol" && GENERAL_COMPARISONS.has(text)) {
      this.#at++;
      return { kind: "compare", op: text as Comparison, general: true, left, right: this.#range() };
    }
    const value = kind === "name" ? VALUE_COMPARISONS[text] : undefined;
    if (value !== undefined) {
      this.#at++;
      return { kind: "compare", op: value, general: false, left, right: this.#range() };
    }
    if ((kind === "name" && text === "is") || (kind === "symbol" && (text === "<<" || text === ">>"))) {
      this.#at++;
      return { kind: "nodeCompare", op: text as "is" | "<<" | ">>", left, right: this.#range() };
    }
    return left;
  }

  #range(): Expr {
    const from = this.#additive();
    if (!this.#isName("to")) return from;
    this.#at++;
    return { kind: "range", from, to: this.#additive() };
  }

  #additive(): Expr {
    return this.#chainOf(() => {
      let left = this.#multiplicative();
      while (this.#isSymbol("+") || this.#isSymbol("-")) {
        this.#deepen();
        const op = this.#token.text as Arithmetic;
        this.#at++;
        left = { kind: "arith", op, left, right: this.#multiplicative() };
      }
      return left;
    });
  }

  #multiplicative(): Expr {
    return this.#chainOf(() => {
      let left = this.#union();
      while (this.#isSymbol("*") || this.#isName("div") || this.#isName("idiv") || this.#isName("mod")) {
        this.#deepen();
        const op = this.#token.text as Arithmetic;
        this.#at++;
        left = { kind: "arith", op, left, right: this.#union() };
      }
      return left;
    });
  }

  #union(): Expr {
    return this.#chainOf(() => {
      let left = this.#intersect();
      while (this.#isSymbol("|") || this.#isName("union")) {
        this.#deepen();
        this.#at++;
        left = { kind: "set", op: "union", left, right: this.#intersect() };
      }
      return left;
    });
  }

  #intersect(): Expr {
    return this.#chainOf(() => {
      let left = this.#typed();
      while (this.#isName("intersect") || this.#isName("except")) {
        this.#deepen();
        const op = this.#token.text as "intersect" | "except";
        this.#at++;
        left = { kind: "set", op, left, right: this.#typed() };
      }
      return left;
    });
  }

  /** instance of, treat as, castable as, cast as: in this order of binding, loosest first. */
  #typed(): Expr {
    const operand = this.#unary();
    const words: readonly (readonly [string, string, "cast" | "castable" | "treat" | "instance"])[] = [
      ["cast", "as", "cast"],
      ["castable", "as", "castable"],
      ["treat", "as", "treat"],
      ["instance", "of", "instance"],
    ];
    let expr = operand;
    for (const [first, second, kind] of words) {
      if (!this.#isName(first) || this.#peek(1).kind !== "name" || this.#peek(1).text !== second) continue;
      this.#at += 2;
      expr = { kind, operand: expr, type: this.sequenceType() };
    }
    return expr;
  }

  /** A sequence type as written in `as` attributes is parsed by parseSequenceType. */
  sequenceType(): SequenceType {
    const token = this.#token;
    if (token.kind !== "name") this.#fail("expected a type");
    this.#at++;
    let item = token.text;
    if (this.#takeSymbol("(")) {
      if (!this.#takeSymbol(")")) this.#fail(`the type ${item}(…) with an argument is not supported`);
      item = `${item}()`;
    } else {
      const { namespace, local } = this.#expand(token.text, "");
      if (namespace !== XS) this.#fail(`the type ${token.text} is not supported`);
      item = `xs:${local}`;
    }
    const occurrence = (["?", "*", "+"] as const).find((mark) => this.#isSymbol(mark));
    // In "X cast as xs:integer * 2" the star is a product; casts take one item, so only "?" can follow.
    if (occurrence !== undefined) this.#at++;
    return { item, occurrence: occurrence ?? ("" satisfies Occurrence) };
  }

  atEnd(): boolean {
    return this.#token.kind === "end";
  }

  #unary(): Expr {
    let negative = false;
    let signed = false;
    while (this.#isSymbol("-") || this.#isSymbol("+")) {
      if (this.#token.text === "-") negative = !negative;
      signed = true;
      this.#at++;
    }
    const operand = this.#path();
    if (negative) return { kind: "negate", operand };
    return signed ? { kind: "negate", operand: { kind: "negate", operand } } : operand;
  }

  #path(): Expr {
    return this.#chainOf(() => this.#steps());
  }

  /** Each step becomes a loop inside the one before it, and the predicates of the last stand inside them all. */
  #steps(): Expr {
    const steps: Step[] = [];
    let rooted = false;
    if (this.#takeSymbol("//")) {
      rooted = true;
      steps.push(DESCENDANTS, this.#step());
    } else if (this.#takeSymbol("/")) {
      rooted = true;
      if (!this.#startsStep()) return { kind: "path", rooted, steps };
      steps.push(this.#step());
    } else {
      steps.push(this.#step());
    }
    while (this.#isSymbol("/") || this.#isSymbol("//")) {
      this.#deepen();
      if (this.#token.text === "//") steps.push(DESCENDANTS);
      this.#at++;
      steps.push(this.#step());
    }
    const [first] = steps;
    if (!rooted && steps.length === 1 && first !== undefined && first.kind === "expr") {
      return first.predicates.length === 0
        ? first.expr
        : { kind: "filter", primary: first.expr, predicates: first.predicates };
    }
    return { kind: "path", rooted, steps: mergeDescendants(steps) };
  }

  #startsStep(): boolean {
    const { kind, text } = this.#token;
    if (kind === "symbol") return ["@", ".", "..", "*", "("].includes(text);
    return kind !== "end";
  }

  #step(): Step {
    const axis = this.#axisStep();
    if (axis !== undefined) return { ...axis, predicates: this.#predicates() };
    return { kind: "expr", expr: this.#primary(), predicates: this.#predicates() };
  }

  #predicates(): Expr[] {
    const predicates: Expr[] = [];
    while (this.#takeSymbol("[")) {
      predicates.push(this.#expr());
      this.#expect("]");
    }
    return predicates;
  }

  #axisStep(): Omit<AxisStep, "predicates"> | undefined {
    const { kind, text } = this.#token;
    if (this.#takeSymbol("..")) return { kind: "axis", axis: "parent", test: { kind: "node" } };
    if (this.#takeSymbol("@")) return { kind: "axis", axis: "attribute", test: this.#nodeTest("attribute") };
    if (this.#isSymbol("*")) return { kind: "axis", axis: "child", test: this.#nodeTest("child") };
    if (kind !== "name") return undefined;
    const next = this.#peek(1);
    if (next.kind === "symbol" && next.text === "::") {
      const axis = AXES.find((known) => known === text);
      if (axis === undefined) this.#fail(`the axis ${text} is not supported`);
      this.#at += 2;
      return { kind: "axis", axis, test: this.#nodeTest(axis) };
    }
    const isCall = next.kind === "symbol" && next.text === "(";
    if (isCall && !KIND_TESTS.has(text)) return undefined;
    const axis: Axis = isCall && text === "attribute" ? "attribute" : "child";
    return { kind: "axis", axis, test: this.#nodeTest(axis) };
  }

  #nodeTest(axis: Axis): NodeTest {
    const { kind, text } = this.#token;
    if (kind !== "name" && !this.#isSymbol("*")) this.#fail("expected a node test");
    this.#at++;
    if (this.#isSymbol("(") && KIND_TESTS.has(text)) return this.#kindTest(text);
    if (text === "*") return { kind: "name", namespace: undefined, local: undefined };
    if (text.startsWith("*:")) return { kind: "name", namespace: undefined, local: text.slice(2) };
    if (text.endsWith(":*")) return { kind: "name", namespace: this.#namespace(text.slice(0, -2)), local: undefined };
    const name = this.#expand(text, axis === "attribute" ? "" : (this.#namespaces.get("") ?? ""));
    return { kind: "name", namespace: name.namespace, local: name.local };
  }

  #kindTest(text: string): NodeTest {
    this.#expect("(");
    if (!this.#takeSymbol(")")) this.#fail(`the node test ${text}(…) with an argument is not supported`);
    if (text === "document-node") return { kind: "document" };
    if (text === "attribute") return { kind: "name", namespace: undefined, local: undefined };
    if (
      text === "node" ||
      text === "text" ||
      text === "element" ||
      text === "comment" ||
      text === "processing-instruction"
    )
      return { kind: text };
    return this.#fail(`the node test ${text}() is not supported`);
  }

  #primary(): Expr {
    const token = this.#token;
    this.#at++;
    if (token.kind === "string") return { kind: "string", value: token.text };
    if (token.kind === "variable") return { kind: "variable", name: token.text };
    if (token.kind === "number") {
      return {
        kind: /[eE]/.test(token.text) ? "double" : token.text.includes(".") ? "decimal" : "integer",
        text: token.text,
      };
    }
    if (token.kind === "symbol" && token.text === ".") return { kind: "context" };
    if (token.kind === "symbol" && token.text === "(") return this.#parenthesised();
    if (token.kind === "name" && this.#isSymbol("(")) return this.#call(token);
    this.#at--;
    return this.#fail(`unexpected ${JSON.stringify(token.text)}`);
  }

  #parenthesised(): Expr {
    if (this.#takeSymbol(")")) return { kind: "sequence", items: [] };
    const inner = this.#expr();
    this.#expect(")");
    return inner;
  }

  #call(token: Token): Expr {
    const name = this.#expand(token.text, FN);
    this.#expect("(");
    const args: Expr[] = [];
    if (!this.#takeSymbol(")")) {
      do args.push(this.#exprSingle());
      while (this.#takeSymbol(","));
      this.#expect(")");
    }
    return { kind: "call", name, args };
  }

  #expand(written: string, unprefixed: string): Name {
    const colon = written.indexOf(":");
    if (colon < 0) return { namespace: unprefixed, local: written, written };
    return { namespace: this.#namespace(written.slice(0, colon)), local: written.slice(colon + 1), written };
  }

  #namespace(prefix: string): string {
    const uri = this.#namespaces.get(prefix);
    if (uri === undefined) this.#fail(`the prefix ${prefix} is not declared`);
    return uri;
  }
}

/** `as="xs:string?"` and the like. @throws XPathError when it is no supported type */
export function parseSequenceType(text: string, namespaces: Namespaces): SequenceType {
  const parser = new Parser(tokenize(text), namespaces);
  const type = parser.sequenceType();
  if (!parser.atEnd()) throw new XPathError(`the type ${text} is not supported`, 0);
  return type;
}

/**
 * `//a[…]` → `descendant::a[…]` and `//(a|b)` → `(descendant::a|descendant::b)`: the same nodes, unless a predicate
 * counts.
 */
function mergeDescendants(steps: readonly Step[]): Step[] {
  const merged: Step[] = [];
  for (const step of steps) {
    const widened = merged.at(-1) === DESCENDANTS ? widen(step) : undefined;
    if (widened === undefined) merged.push(step);
    else merged[merged.length - 1] = widened;
  }
  return merged;
}

function widen(step: Step): Step | undefined {
  if (step.predicates.some(mayBePositional)) return undefined;
  if (step.kind === "axis") return step.axis === "child" ? { ...step, axis: "descendant" } : undefined;
  const expr = widenExpr(step.expr);
  return expr === undefined ? undefined : { ...step, expr };
}

function widenExpr(expr: Expr): Expr | undefined {
  if (expr.kind === "set" && expr.op === "union") {
    const [left, right] = [widenExpr(expr.left), widenExpr(expr.right)];
    return left === undefined || right === undefined ? undefined : { ...expr, left, right };
  }
  if (expr.kind !== "path" || expr.rooted) return undefined;
  const [first, ...rest] = expr.steps;
  const widened = first === undefined || first.kind !== "axis" ? undefined : widen(first);
  return widened === undefined ? undefined : { ...expr, steps: [widened, ...rest] };
}
