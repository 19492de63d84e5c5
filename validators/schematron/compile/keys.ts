/** Translates `xsl:key` and key(): one index per key and document, made when something first asks for it. */
import { arrayCode, itemOf } from "./code.js";
import type { Code } from "./code.js";
import { atomOf, atomsOf } from "./derive.js";
import { unsupported, withContext } from "./environment.js";
import type { Env } from "./environment.js";
import { translateMatch } from "./match.js";
import type { Expr } from "../xpath/ast.js";

/** A key whose expressions have been read. */
type ParsedKey = { readonly match: Expr; readonly use: Expr };

/** Values are compared as text: XSLT compares untyped values so, and documents here have no others. */
const isText = (type: string): boolean => type === "string" || type === "untyped";

/** JavaScript that yields the index of all keys of one name, made once per document. */
export function keyIndex(keys: readonly ParsedKey[], env: Env): string {
  const { m } = env;
  const [index, e] = [m.local(), m.local()];
  const filled = keys.map(({ match, use }) => {
    const item = itemOf("element", e);
    const values = env.translate(use, { ...withContext(env, item), current: item });
    const put = values.each("any", ({ atom, atomType }) =>
      isText(atomType) ? `R.keyPut(${index}, ${atom}, ${e});` : unsupported("a key whose value is no text"),
    );
    return `if (${translateMatch(match, env, e)}) { ${put} }`;
  });
  return m.memo(
    m.helper(
      `const ${index} = R.keyMap(); for (let ${e} = 0; ${e} < d.count; ${e}++) { ${filled.join(" ")} } return ${index};`,
    ),
  );
}

/**
 * The elements that have any of the values. A number equals no text, so that it finds nothing, which is no error.
 * @source W3C XSLT 2.0, section 16.3.1
 */
export function keyCall(name: Expr | undefined, value: Code, env: Env): Code {
  const { m } = env;
  if (name?.kind !== "string") return unsupported("key() with a name that is no literal");
  const index = env.keys(name.value) ?? unsupported(`the undeclared key ${name.value}`);
  if (value.card === "many")
    return arrayCode(m, "element", `R.keyedByAny(${index}, R.textsOf(${atomsOf(m, value, "any").code}))`);
  const { code, type } = atomOf(m, value);
  return value.card === "none" || isText(type)
    ? arrayCode(m, "element", `R.keyed(${index}, ${code})`)
    : arrayCode(m, "element", `R.keyedByAny(${index}, R.textsOf([${code}]))`);
}
