/** What surrounds an expression while it is translated. */
import type { Code, Item } from "./code.js";
import type { Module } from "./module.js";
import type { Expr, Name, SequenceType } from "../xpath/ast.js";
import { dependenceOf } from "../xpath/ast.js";

export type Variable = {
  /** The translated value; asked for when the variable is used. */
  readonly code: () => Code;
  /** Whether the value depends on nothing but the document. */
  readonly constant: boolean;
};

/** A function that the source defines. */
export type UserFunction = {
  readonly parameters: readonly { readonly name: string; readonly type: SequenceType | undefined }[];
  /** Translates a call. */
  readonly call: (args: readonly Code[]) => Code;
};

export type Env = {
  readonly m: Module;
  /** The context item; undefined where there is none (functions). */
  readonly context: Item | undefined;
  /** fn:current(): the context item of the whole expression. */
  readonly current: Item | undefined;
  /** fn:position() and fn:last() as plain numbers. */
  readonly position?: string | undefined;
  readonly size?: string | undefined;
  readonly variables: ReadonlyMap<string, Variable>;
  readonly functions: (name: Name) => UserFunction | undefined;
  /** JavaScript that yields the index of an `xsl:key`; undefined when none has the name. */
  readonly keys: (name: string) => string | undefined;
  /** Translates any expression: the files that translate one kind of it reach the others through this. */
  readonly translate: (expr: Expr, env: Env) => Code;
  /** True inside an expression that is evaluated once anyway. */
  readonly memoised: boolean;
};

/** A construct that the compiler does not translate. The caller adds file and line. */
export class Unsupported extends Error {
  constructor(construct: string) {
    super(construct);
    this.name = "Unsupported";
  }
}

/** Ends the compilation: the construct is not supported. The caller adds file and line. */
export function unsupported(construct: string): never {
  throw new Unsupported(construct);
}

/** The environment of a predicate or step: another context item, unknown position. */
export const withContext = (env: Env, context: Item, position?: string, size?: string): Env => ({
  ...env,
  context,
  position,
  size,
});

/** The environment with one more variable in scope. */
export const withVariable = (env: Env, name: string, variable: Variable): Env => ({
  ...env,
  variables: new Map([...env.variables, [name, variable]]),
});

/** Whether an expression has one value per document wherever it stands. */
export function isConstant(expr: Expr, env: Env): boolean {
  const { context, position, variables } = dependenceOf(expr);
  return !context && !position && [...variables].every((name) => env.variables.get(name)?.constant === true);
}
