/**
 * Translates `xsl:function`: parameters, variables (lazy), sequence constructors, choose. A function is written once
 * for every combination of argument types it is called with, so that its body knows the types of its parameters.
 */
import { SourceError, elementsOf, textOf } from "../release/source-xml.js";
import type { SourceElement } from "../release/source-xml.js";
import { arrayCode, booleanCode, emptyCode, nativeCode, valueCode } from "./code.js";
import type { Code } from "./code.js";
import { converted } from "./casts.js";
import { arrayOf, atomsOf, singleOf, truthOf } from "./derive.js";
import { Unsupported, unsupported, withVariable } from "./environment.js";
import type { Env, UserFunction, Variable } from "./environment.js";
import type { Module } from "./module.js";
import type { SourceFunction } from "./model.js";
import { expandName, XSL } from "./read-schema.js";
import { chooseCode, sequenceCode, translate } from "./translate.js";
import type { Expr, Name, SequenceType } from "../xpath/ast.js";
import { parseSequenceType, parseXPath } from "../xpath/parser.js";
import type { Namespaces } from "../xpath/parser.js";
import { XPathError } from "../xpath/lexer.js";

/** Written forms one function may have; more means types that grow with each recursion. */
const FORMS_MAX = 64;

/** The functions of a schema, by expanded name. */
export function userFunctions(
  sources: readonly SourceFunction[],
  namespaces: Namespaces,
  env: Env,
): (name: Name) => UserFunction | undefined {
  const table = new Map<string, UserFunction>();
  const lookup = (name: Name): UserFunction | undefined => table.get(`${name.namespace} ${name.local}/`);
  const inner: Env = { ...env, context: undefined, current: undefined, functions: lookup };
  for (const source of sources) {
    const place = { file: source.file, line: source.element.line };
    const known = inScope(source, namespaces);
    const name = expandName(source.name, known, place);
    const key = `${name.namespace} ${name.local}/`;
    if (table.has(key)) throw new SourceError(place.file, place.line, `the function ${source.name} is declared twice`);
    table.set(key, new FunctionWriter(source, known, inner).define());
  }
  return lookup;
}

type Instruction = { readonly element: SourceElement } | { readonly text: string };

class FunctionWriter {
  readonly #source: SourceFunction;
  readonly #namespaces: Namespaces;
  readonly #env: Env;
  readonly #m: Module;
  readonly #forms = new Map<
    string,
    { readonly name: string; readonly result: () => Code; readonly card: Code["card"] }
  >();
  readonly #result: SequenceType | undefined;
  #slots = 0;
  /** Parsed once; a syntax error is found also when the function is never called. */
  readonly #parsed = new Map<SourceElement, Expr>();

  constructor(source: SourceFunction, namespaces: Namespaces, env: Env) {
    this.#source = source;
    this.#namespaces = namespaces;
    this.#env = env;
    this.#m = env.m;
    this.#result = this.#type(source.element);
    this.#parseAll(source.element);
  }

  define(): UserFunction {
    const parameters = this.#parameters().map((element) => ({
      name: this.#attribute(element, "name"),
      type: this.#type(element),
    }));
    return { parameters, call: (args) => this.#call(parameters, args) };
  }

  #parameters(): SourceElement[] {
    return elementsOf(this.#source.element).filter((element) => element.namespace === XSL && element.local === "param");
  }

  #call(parameters: UserFunction["parameters"], args: readonly Code[]): Code {
    const values = args.map((arg, index) => {
      const type = parameters[index]?.type;
      return type === undefined ? arg : converted(this.#env, arg, type);
    });
    const key = values.map((value) => `${value.type} ${value.card}`).join(",");
    const form = this.#forms.get(key) ?? this.#at(this.#source.element, () => this.#write(key, parameters, values));
    const frame = [
      ...values.map((value) => (value.card === "many" ? arrayOf(this.#m, value).code : singleOf(this.#m, value).code)),
      ...Array<string>(this.#slots).fill("U"),
    ];
    return this.#typedResult(`${form.name}(d, g, [${frame.join(", ")}])`, form.result());
  }

  /** What a call yields, in the form of the type of `sample`. */
  #typedResult(call: string, sample: Code): Code {
    if (sample.card === "many") return arrayCode(this.#m, sample.type, call);
    if (sample.card === "none") return emptyCode;
    return sample.type === "boolean" && sample.card === "one"
      ? booleanCode(this.#m, call)
      : valueCode(this.#m, sample.type, sample.card, call);
  }

  #write(
    key: string,
    parameters: UserFunction["parameters"],
    values: readonly Code[],
  ): { readonly name: string; readonly result: () => Code; readonly card: Code["card"] } {
    if (this.#forms.size >= FORMS_MAX)
      throw new SourceError(
        this.#source.file,
        this.#source.element.line,
        `${this.#source.name} is called with too many combinations of types`,
      );
    const name = this.#m.reserveFunction();
    const frame = this.#m.local();
    this.#slots = 0;
    let env: Env = this.#env;
    values.forEach((value, index) => {
      const slot = `${frame}[${index}]`;
      const code =
        value.card === "many"
          ? arrayCode(this.#m, value.type, slot)
          : value.card === "none"
            ? emptyCode
            : valueCode(this.#m, value.type, value.card, slot);
      env = withVariable(env, parameters[index]?.name ?? "", { constant: false, code: () => code });
    });
    // A recursive call sees the declared type, since the body is not known yet.
    const declared = this.#result;
    let body: Code | undefined;
    const form = {
      name,
      card: "many" as const,
      result: (): Code =>
        body ??
        (declared === undefined
          ? unsupported(`the recursive function ${this.#source.name} without a declared type`)
          : this.#declaredCode(declared)),
    };
    this.#forms.set(key, form);
    const content = this.#constructorCode(this.#instructions(this.#source.element), env, frame, values.length);
    const result = declared === undefined ? content : converted(env, content, declared);
    body = result;
    this.#m.defineFunction(
      name,
      frame,
      `return ${result.card === "many" ? arrayOf(this.#m, result).code : singleOf(this.#m, result).code};`,
    );
    return form;
  }

  /** A code of the declared type; used for its type alone. */
  #declaredCode(type: SequenceType): Code {
    if (!type.item.startsWith("xs:"))
      return unsupported(`the recursive function ${this.#source.name} of type ${type.item}`);
    const item = type.item.slice(3) as Code["type"];
    return type.occurrence === "*" || type.occurrence === "+"
      ? arrayCode(this.#m, item, "[]")
      : valueCode(this.#m, item, type.occurrence === "?" ? "opt" : "one", "undefined");
  }

  /** Instructions after the parameters; white space between elements is nothing. */
  #instructions(parent: SourceElement): Instruction[] {
    return parent.children.flatMap((child): Instruction[] => {
      if (typeof child === "string") return child.trim() === "" ? [] : [{ text: child }];
      return child.namespace === XSL && child.local === "param" ? [] : [{ element: child }];
    });
  }

  /** A sequence constructor: variables are seen by what follows them. */
  #constructorCode(instructions: readonly Instruction[], env: Env, frame: string, base: number): Code {
    let inner = env;
    const codes: Code[] = [];
    for (const instruction of instructions) {
      if ("text" in instruction) codes.push(this.#textNode(this.#m.text(instruction.text)));
      else if (instruction.element.namespace === XSL && instruction.element.local === "variable")
        inner = this.#variable(instruction.element, inner, frame, base);
      else codes.push(this.#at(instruction.element, () => this.#instruction(instruction.element, inner, frame, base)));
    }
    return sequenceCode(this.#m, codes);
  }

  #textNode(text: string): Code {
    return valueCode(this.#m, "text", "one", `new R.TextNode(undefined, 0, ${text})`);
  }

  #variable(element: SourceElement, env: Env, frame: string, base: number): Env {
    return this.#at(element, () => this.#declared(element, env, frame, base));
  }

  #declared(element: SourceElement, env: Env, frame: string, base: number): Env {
    const slot = base + this.#slots++;
    const code = this.#variableCode(element, env, frame, base);
    const lazy = this.#m.lazy(
      frame,
      slot,
      code.native ?? (code.card === "many" ? arrayOf(this.#m, code).code : singleOf(this.#m, code).code),
    );
    const variable: Variable = {
      constant: false,
      code: () =>
        code.strings !== undefined || code.card === "none"
          ? code
          : code.native === undefined
            ? this.#typedResult(lazy, code)
            : nativeCode(this.#m, lazy),
    };
    return withVariable(env, this.#attribute(element, "name"), variable);
  }

  #variableCode(element: SourceElement, env: Env, frame: string, base: number): Code {
    const type = this.#type(element);
    const instructions = this.#instructions(element);
    if (element.attributes.has("select")) {
      if (instructions.length > 0) return unsupported("a variable with both select and content");
      const value = translate(this.#expression(element), env);
      return type === undefined ? value : converted(env, value, type);
    }
    const content = this.#constructorCode(instructions, env, frame, base);
    if (type !== undefined) return converted(env, content, type);
    const [only] = instructions;
    if (instructions.length === 1 && only !== undefined && "text" in only)
      return valueCode(this.#m, "untyped", "one", this.#m.text(only.text));
    return this.#textNode(
      content.card === "none" ? this.#m.text("") : `R.treeText(${arrayOf(this.#m, content, "any").code})`,
    );
  }

  #instruction(element: SourceElement, env: Env, frame: string, base: number): Code {
    if (element.namespace !== XSL) return unsupported(`<${element.tag}>`);
    switch (element.local) {
      case "sequence":
        return translate(this.#expression(element), env);
      case "value-of":
        return this.#valueOf(element, env);
      case "text":
        return this.#textNode(this.#m.text(textOf(element)));
      case "if":
        return chooseCode(
          this.#m,
          truthOf(this.#m, translate(this.#expression(element, "test"), env)),
          this.#constructorCode(this.#instructions(element), env, frame, base),
          emptyCode,
        );
      case "choose":
        return this.#choose(elementsOf(element), env, frame, base);
      default:
        return unsupported(`<${element.tag}>`);
    }
  }

  #choose(branches: readonly SourceElement[], env: Env, frame: string, base: number): Code {
    const [first, ...rest] = branches;
    if (first === undefined) return emptyCode;
    const content = this.#constructorCode(this.#instructions(first), env, frame, base);
    if (first.local === "otherwise") return content;
    if (first.local !== "when") return unsupported(`<${first.tag}>`);
    return chooseCode(
      this.#m,
      truthOf(this.#m, translate(this.#expression(first, "test"), env)),
      content,
      this.#choose(rest, env, frame, base),
    );
  }

  /** A text node: the values with a separator between, a blank by default. */
  #valueOf(element: SourceElement, env: Env): Code {
    const value = translate(this.#expression(element), env);
    const separator = element.attributes.get("separator") ?? " ";
    if (separator.includes("{")) return unsupported("a separator with an expression");
    if (value.card === "none") return this.#textNode(this.#m.text(""));
    return this.#textNode(`R.joinAtoms(${atomsOf(this.#m, value, "any").code}, ${this.#m.text(separator)})`);
  }

  #expression(element: SourceElement, attribute = "select"): Expr {
    const known = this.#parsed.get(element);
    if (known !== undefined) return known;
    return this.#at(element, () => unsupported(`<${element.tag}> without ${attribute}`));
  }

  #parseAll(element: SourceElement): void {
    for (const child of elementsOf(element)) {
      const written = child.attributes.get("select") ?? child.attributes.get("test");
      if (written !== undefined)
        this.#parsed.set(
          child,
          this.#at(child, () => parseXPath(written, this.#namespaces)),
        );
      this.#parseAll(child);
    }
  }

  #type(element: SourceElement): SequenceType | undefined {
    const written = element.attributes.get("as");
    return written === undefined ? undefined : this.#at(element, () => parseSequenceType(written, this.#namespaces));
  }

  #attribute(element: SourceElement, name: string): string {
    return element.attributes.get(name) ?? this.#at(element, () => unsupported(`<${element.tag}> without ${name}`));
  }

  /** Adds file and line to what goes wrong. */
  #at<T>(element: SourceElement, make: () => T): T {
    try {
      return make();
    } catch (error) {
      if (error instanceof Unsupported || error instanceof XPathError) {
        throw new SourceError(
          this.#source.file,
          element.line,
          `${error instanceof Unsupported ? "not supported: " : ""}${error.message}`,
        );
      }
      if (error instanceof RangeError)
        throw new SourceError(this.#source.file, element.line, "XPath: the expression is nested too deeply");
      throw error;
    }
  }
}

/** Prefixes of a function are those of the schema and those declared around it as XML; no prefix is no namespace. */
const inScope = ({ element }: SourceFunction, namespaces: Namespaces): Namespaces =>
  new Map([...namespaces, ...element.scope].filter(([prefix]) => prefix !== ""));
