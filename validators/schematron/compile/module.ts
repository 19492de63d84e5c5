/**
 * The JavaScript module that the compiler writes. Every identifier is generated: `n` names, `s` texts, `k` constants,
 * `h` functions, `v…_` locals; nothing of a source file reaches the code except as a JSON literal in a table above it.
 *
 * Each function takes the document `d` and the state of the run `g`, then the locals it uses. Functions with the same
 * body are written once, so the same sub-expression in two rules costs one function and, when it only depends on the
 * document, one evaluation per run.
 */

/** Slots of `g` that are not memos: the index of attributes, the sink of findings, the assert that is being judged. */
export const STATE = { attributes: 0, sink: 1, assert: 2, firstMemo: 3 } as const;

const LOCAL = /\bv\d+_/g;
const DECLARED = /\b(?:const|let) (v\d+_)/g;

export class Module {
  readonly #texts = new Map<string, string>();
  readonly #names = new Map<string, string>();
  readonly #constants = new Map<string, string>();
  readonly #functions = new Map<string, string>();
  readonly #memos = new Map<string, string>();
  readonly #recursive: string[] = [];
  #counter = 0;
  #slots: number = STATE.firstMemo;

  /** A fresh local identifier. */
  local(): string {
    return `v${this.#counter++}_`;
  }

  /** A string literal. */
  text(value: string): string {
    return intern(this.#texts, JSON.stringify(value), "s");
  }

  /** The id of an expanded name. */
  name(namespace: string, local: string): string {
    return intern(this.#names, `R.internName(${JSON.stringify(namespace)}, ${JSON.stringify(local)})`, "n");
  }

  /** A value that is made once, when the module is loaded. `initial` must be built from JSON literals and `R`. */
  constant(initial: string): string {
    return intern(this.#constants, initial, "k");
  }

  /**
   * A function with that body; returns the call. Locals that the body uses and does not declare become parameters.
   */
  helper(body: string): string {
    const declared = new Set(Array.from(body.matchAll(DECLARED), (match) => match[1]));
    const order = [...new Set(body.match(LOCAL) ?? [])];
    const free = order.filter((local) => !declared.has(local));
    const renamed = new Map(order.map((local, index) => [local, `v${index}_`]));
    const rename = (text: string): string => text.replace(LOCAL, (local) => renamed.get(local) ?? local);
    const parameters = ["d", "g", ...free.map(rename)].join(", ");
    const name = intern(this.#functions, `(${parameters}) { ${rename(body)} }`, "h");
    return `${name}(${["d", "g", ...free].join(", ")})`;
  }

  /** Evaluates `call` (which uses no local) once per run. */
  memo(call: string): string {
    const known = this.#memos.get(call);
    if (known !== undefined) return known;
    const slot = this.#slots++;
    const memo = this.helper(
      `let v0_ = g[${slot}]; if (v0_ !== U) return v0_; v0_ = ${call}; g[${slot}] = v0_; return v0_;`,
    );
    this.#memos.set(call, memo);
    return memo;
  }

  /** A slot for a lazily evaluated value in a frame (an array local): returns the expression that reads it. */
  lazy(frame: string, slot: number, value: string): string {
    const local = this.local();
    return this.helper(
      `let ${local} = ${frame}[${slot}]; if (${local} !== U) return ${local}; ${local} = ${value}; ${frame}[${slot}] = ${local}; return ${local};`,
    );
  }

  /** Reserves a name for a function that may call itself. */
  reserveFunction(): string {
    return `f${this.#counter++}`;
  }

  /** Writes the function of a reserved name; `frame` is its parameter besides d and g. */
  defineFunction(name: string, frame: string, body: string): void {
    this.#recursive.push(`function ${name}(d, g, ${frame}) { ${body} }`);
  }

  /** The whole text. `result` is the expression that the module returns. */
  print(result: string): string {
    const table = (map: ReadonlyMap<string, string>): string[] =>
      Array.from(map, ([value, name]) => `const ${name} = ${value};`);
    return [
      '"use strict";',
      "const U = R.UNSET;",
      ...table(this.#texts),
      ...table(this.#names),
      ...table(this.#constants),
      ...Array.from(this.#functions, ([text, name]) => `function ${name}${text}`),
      ...this.#recursive,
      `return { slots: ${this.#slots}, rules: ${result} };`,
      "",
    ].join("\n");
  }
}

function intern(table: Map<string, string>, key: string, prefix: string): string {
  const known = table.get(key);
  if (known !== undefined) return known;
  const name = `${prefix}${table.size}`;
  table.set(key, name);
  return name;
}
