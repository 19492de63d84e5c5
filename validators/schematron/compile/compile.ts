/** Compiles a Schematron schema to JavaScript: one function per rule, one test per context, asserts in order. */
import type { AssertFacts } from "../../rules/rule.js";
import { arrayCode, itemOf, nativeCode, valueCode } from "./code.js";
import type { Code } from "./code.js";
import { arrayOf, atomsOf, memoised, singleOf, truthOf } from "./derive.js";
import { isConstant, Unsupported, withVariable } from "./environment.js";
import type { Env, UserFunction, Variable } from "./environment.js";
import { userFunctions } from "./functions.js";
import { keyIndex } from "./keys.js";
import { translateContext } from "./match.js";
import type { Match } from "./match.js";
import type { Let, MessagePart, Place, Schema, SourceAssert, SourceKey, SourcePattern, SourceRule } from "./model.js";
import { Module, STATE } from "./module.js";
import { SourceError } from "../release/source-xml.js";
import { pathLimitOf, SURVEYED_MIN, trieConstant } from "../runtime/survey.js";
import { translate } from "./translate.js";
import type { Expr, Name } from "../xpath/ast.js";
import { XPathError } from "../xpath/lexer.js";
import { parseXPath } from "../xpath/parser.js";

/** Changes whenever the compiler's output does: compiled packs of another version are not loaded. */
export const COMPILER_VERSION = "5";

export type Compiled = {
  /** Body of a function of one parameter, R (runtime.ts); returns what pack.ts runs, the asserts included. */
  readonly code: string;
  readonly asserts: readonly AssertFacts[];
  readonly patterns: number;
  readonly rules: number;
};

/** Asserts judged by one generated function; longer functions are not optimised by V8. */
const ASSERTS_PER_FUNCTION = 24;

/** @throws SourceError naming file, line and construct */
export function compileSchema(schema: Schema): Compiled {
  return new Compiler(schema).compile();
}

class Compiler {
  readonly #schema: Schema;
  readonly #m = new Module();
  readonly #asserts: AssertFacts[] = [];
  #functions: (name: Name) => UserFunction | undefined = () => undefined;
  #keys: (name: string) => string | undefined = () => undefined;

  constructor(schema: Schema) {
    this.#schema = schema;
  }

  compile(): Compiled {
    const schema = this.#schema;
    const globals = this.#globalLets([...schema.lets, ...sharedLets(schema)], new Map());
    this.#functions = userFunctions(schema.functions, schema.namespaces, this.#env(globals));
    this.#keys = this.#keyTable(globals);
    const patterns = schema.patterns.map((pattern) => this.#pattern(pattern, globals));
    this.#checkLets();
    return {
      code: this.#m.print(
        `{ asserts: ${JSON.stringify(this.#asserts)},\npatterns: [${patterns.map((rules) => `[${rules.join(", ")}]`).join(",\n")}] }`,
      ),
      asserts: this.#asserts,
      patterns: schema.patterns.length,
      rules: schema.patterns.reduce((sum, pattern) => sum + pattern.rules.length, 0),
    };
  }

  #env(variables: ReadonlyMap<string, Variable>): Env {
    // The tables of functions and keys are asked when they are used, by when they are complete.
    return {
      m: this.#m,
      context: undefined,
      current: undefined,
      variables,
      functions: (name) => this.#functions(name),
      keys: (name) => this.#keys(name),
      translate,
      memoised: false,
    };
  }

  /** The index of each key, translated when it is first asked for; a key that asks for itself is refused. */
  #keyTable(globals: ReadonlyMap<string, Variable>): (name: string) => string | undefined {
    const declared = new Map<string, SourceKey[]>();
    for (const key of this.#schema.keys) declared.set(key.name, [...(declared.get(key.name) ?? []), key]);
    const made = new Map<string, string | "busy">();
    const indexOf = (name: string): string | undefined => {
      const keys = declared.get(name);
      const [first] = keys ?? [];
      if (keys === undefined || first === undefined) return undefined;
      const known = made.get(name);
      if (known === "busy") throw new Unsupported(`the key ${name} that needs itself`);
      if (known !== undefined) return known;
      made.set(name, "busy");
      const parsed = keys.map(({ match, use, place }) => ({
        match: this.#parse(match, place),
        use: this.#parse(use, place),
      }));
      const index = this.#at(first.place, () => keyIndex(parsed, this.#env(globals)));
      made.set(name, index);
      return index;
    };
    this.#later.push(...[...declared.keys()].map((name) => () => indexOf(name)));
    return indexOf;
  }

  /** Lets of schema and patterns: evaluated at most once per document, with the document node as context item. */
  #globalLets(lets: readonly Let[], outer: ReadonlyMap<string, Variable>): ReadonlyMap<string, Variable> {
    const variables = new Map(outer);
    const document = itemOf("document", "-1");
    for (const declared of lets) {
      const expr = this.#parse(declared.value, declared.place);
      // Lets see each other whatever their order; one that sees itself is refused.
      const state: { code?: Code; busy?: boolean } = {};
      variables.set(declared.name, {
        constant: true,
        code: () =>
          (state.code ??= this.#at(declared.place, () => {
            if (state.busy === true) throw new Unsupported(`the variable $${declared.name} that needs itself`);
            state.busy = true;
            return memoised(
              this.#m,
              translate(expr, { ...this.#env(variables), context: document, current: document, memoised: true }),
            );
          })),
      });
    }
    for (const declared of lets) {
      this.#later.push(() =>
        this.#at(declared.place, () => {
          const code = variables.get(declared.name)?.code();
          return code === undefined || code.card === "none" ? "" : code.each("any", () => "");
        }),
      );
    }
    return variables;
  }

  /** Lets that nothing uses are translated too, so that what they use is checked. */
  readonly #later: (() => unknown)[] = [];

  #checkLets(): void {
    for (const check of this.#later.splice(0)) check();
  }

  #pattern(pattern: SourcePattern, globals: ReadonlyMap<string, Variable>): string[] {
    const own = pattern.lets.filter(({ name, place }) => !isShared(this.#schema, name, place));
    const variables = own.length === 0 ? globals : this.#globalLets(own, globals);
    this.#checkLets();
    return pattern.rules.flatMap((rule) => this.#rule(rule, variables));
  }

  #rule(rule: SourceRule, variables: ReadonlyMap<string, Variable>): string[] {
    const e = this.#m.local();
    const env = this.#env(variables);
    const context = this.#parse(rule.context, rule.place);
    const matches = this.#at(rule.place, () => translateContext(context, env, e));
    const judge = this.#judge(
      rule,
      env,
      matches.some(({ name }) => name === "document"),
    );
    return matches.map((match) => this.#matchEntry(match, e, judge));
  }

  #matchEntry({ name, condition }: Match, e: string, judge: string): string {
    const names =
      name === undefined ? "undefined" : name === "document" ? '"document"' : this.#m.name(name.namespace, name.local);
    if (condition === "true") return `{ name: ${names}, matches: undefined, judge: ${judge} }`;
    const matches = this.#m.reserveFunction();
    this.#m.defineFunction(matches, e, `return ${condition};`);
    return `{ name: ${names}, matches: ${matches}, judge: ${judge} }`;
  }

  /** The function that judges one element; returns its name. */
  #judge(rule: SourceRule, env: Env, ofDocument: boolean): string {
    const m = this.#m;
    const name = m.reserveFunction();
    const frame = m.local();
    const item = itemOf(ofDocument ? "document" : "element", `${frame}[0]`);
    let inner: Env = { ...env, context: item, current: item };
    rule.lets.forEach((declared, index) => {
      inner = withVariable(inner, declared.name, this.#localLet(declared, inner, frame, index + 1));
    });
    const surveyed = this.#surveyed(rule, ofDocument);
    const counts = rule.lets.length + 1;
    const tests = rule.asserts.map((assert) =>
      this.#at(assert.place, () =>
        this.#assertStatement(assert, inner, frame, surveyed.tests.get(assert)?.(`${frame}[${counts}]`)),
      ),
    );
    const chunks: string[] = [];
    for (let i = 0; i < tests.length; i += ASSERTS_PER_FUNCTION) {
      const chunk = m.reserveFunction();
      m.defineFunction(chunk, frame, tests.slice(i, i + ASSERTS_PER_FUNCTION).join("\n"));
      chunks.push(`${chunk}(d, g, ${frame});`);
    }
    const e = m.local();
    const survey = surveyed.trie === undefined ? [] : [`R.survey(d, ${e}, ${surveyed.trie})`];
    m.defineFunction(
      name,
      e,
      `const ${frame} = [${[e, ...rule.lets.map(() => "U"), ...survey].join(", ")}]; ${chunks.join(" ")}`,
    );
    return name;
  }

  /** Asserts that one walk can judge together, each with its test over the counts of the walk. */
  #surveyed(
    rule: SourceRule,
    ofDocument: boolean,
  ): { readonly trie?: string; readonly tests: Map<SourceAssert, (counts: string) => string> } {
    const limits = rule.asserts.flatMap((assert) => {
      const limit =
        ofDocument || assert.kind === "report" ? undefined : pathLimitOf(this.#parse(assert.test, assert.place));
      return limit === undefined ? [] : [{ assert, limit }];
    });
    if (limits.length < SURVEYED_MIN) return { tests: new Map() };
    return {
      trie: trieConstant(
        this.#m,
        limits.map(({ limit }) => limit),
      ),
      tests: new Map(
        limits.map(({ assert, limit }, index) => [assert, (counts) => `(${counts}[${index}] <= ${limit.most})`]),
      ),
    };
  }

  /** A let of a rule: evaluated at most once per element, when something asks for it. */
  #localLet(declared: Let, env: Env, frame: string, slot: number): Variable {
    return this.#at(declared.place, () =>
      this.#localVariable(parseXPath(declared.value, this.#schema.namespaces), env, frame, slot),
    );
  }

  #localVariable(expr: Expr, env: Env, frame: string, slot: number): Variable {
    const m = this.#m;
    const code = translate(expr, env);
    if (code.strings !== undefined || code.card === "none" || isConstant(expr, env))
      return { constant: isConstant(expr, env), code: () => code };
    if (code.native !== undefined) {
      const native = m.lazy(frame, slot, code.native);
      return { constant: false, code: () => nativeCode(m, native) };
    }
    const lazy = m.lazy(
      frame,
      slot,
      code.card === "many"
        ? arrayOf(m, code).code
        : code.type === "boolean" && code.card === "one"
          ? truthOf(m, code)
          : singleOf(m, code).code,
    );
    const value =
      code.card === "many"
        ? arrayCode(m, code.type, lazy)
        : valueCode(m, code.type, code.card === "one" ? "one" : "opt", lazy);
    return { constant: false, code: () => value };
  }

  /** @param surveyed  the test, when a survey has judged it */
  #assertStatement(assert: SourceAssert, env: Env, frame: string, surveyed: string | undefined): string {
    const m = this.#m;
    const test = surveyed ?? truthOf(m, translate(this.#parse(assert.test, assert.place), env));
    const index = this.#asserts.length;
    const isConstantText = assert.message.every((part) => part.kind === "text");
    const written = assert.message
      .map((part) => (part.kind === "text" ? part.text : "…"))
      .join("")
      .replace(/\s+/g, " ")
      .trim();
    this.#asserts.push({ id: assert.id, severity: assert.severity, message: written, terms: termsOf(written) });
    const message = isConstantText
      ? ""
      : `, () => R.messageText(${assert.message.map((part) => this.#messagePart(part, assert.place, env)).join(", ")})`;
    const failed = `if (${assert.kind === "assert" ? `!${test}` : test}) g[${STATE.sink}](${index}, ${frame}[0]${message});`;
    // What has been counted already cannot end in an error, and there are hundreds of it.
    return surveyed === undefined ? `g[${STATE.assert}] = ${index}; ${failed}` : failed;
  }

  #messagePart(part: MessagePart, place: Place, env: Env): string {
    const m = this.#m;
    if (part.kind === "text") return m.text(part.text);
    const code = translate(this.#parse(part.kind === "name" ? `name(${part.select})` : part.select, place), env);
    return code.card === "none" ? m.text("") : `R.joinAtoms(${atomsOf(m, code, "any").code}, " ")`;
  }

  #parse(text: string, place: Place): Expr {
    return this.#at(place, () => parseXPath(text, this.#schema.namespaces));
  }

  /** Adds file and line to what goes wrong. */
  #at<T>(place: Place, make: () => T): T {
    try {
      return make();
    } catch (error) {
      if (error instanceof Unsupported)
        throw new SourceError(place.file, place.line, `not supported: ${error.message}`);
      if (error instanceof XPathError)
        throw new SourceError(place.file, place.line, `XPath: ${error.message} (character ${error.offset + 1})`);
      // A chain of thousands of operators is a tree as deep.
      if (error instanceof RangeError)
        throw new SourceError(place.file, place.line, "XPath: the expression is nested too deeply");
      throw error;
    }
  }
}

/**
 * Lets of patterns that every pattern sees: the reference implementation makes global variables of them. A name that
 * several patterns declare stays with each of them.
 */
const sharedLets = (schema: Schema): Let[] =>
  schema.patterns.flatMap(({ lets }) => lets.filter(({ name, place }) => isShared(schema, name, place)));

const isShared = (schema: Schema, name: string, place: Place): boolean =>
  !schema.lets.some((declared) => declared.name === name) &&
  schema.patterns.flatMap(({ lets }) => lets).every((declared) => declared.name !== name || declared.place === place);

/** Business terms that a message names: "BT-109", "BG-20". */
const termsOf = (message: string): string[] => [...new Set(message.match(/\bB[TG]-[0-9]+\b/g) ?? [])];
