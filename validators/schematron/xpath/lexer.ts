/** Cuts an XPath 2.0 expression into tokens. Which name is an operator is the parser's question, by position. */

export type Token = {
  readonly kind: "name" | "number" | "string" | "variable" | "symbol" | "end";
  /** The name as written, the symbol, the number's text or the string's value. */
  readonly text: string;
  readonly offset: number;
};

/** An expression that is not XPath 2.0, or uses what the compiler does not support. `offset` counts characters. */
export class XPathError extends Error {
  readonly offset: number;

  constructor(problem: string, offset: number) {
    super(problem);
    this.name = "XPathError";
    this.offset = offset;
  }
}

const NCNAME = "[\\p{L}_][\\p{L}\\p{N}\\p{M}_.\\u00b7-]*";
const SPACE = /[ \t\r\n]+/uy;
const QNAME = new RegExp(`(?:\\*:${NCNAME}|${NCNAME}:\\*|${NCNAME}:${NCNAME}|${NCNAME})`, "uy");
const VARIABLE = new RegExp(`\\$[ \\t\\r\\n]*(${NCNAME}(?::${NCNAME})?)`, "uy");
const NUMBER = /(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][+-]?[0-9]+)?/uy;
const SYMBOL = /<<|>>|<=|>=|!=|\/\/|::|\.\.|[()[\].@,/|+\-*=<>?]/uy;
const LENGTH_MAX = 1_000_000;

/** @throws XPathError at a character that begins no token, an open string or an open comment */
export function tokenize(text: string): Token[] {
  if (text.length > LENGTH_MAX) throw new XPathError("the expression is too long", 0);
  const tokens: Token[] = [];
  let at = 0;
  while (at < text.length) {
    const end = skipBlank(text, at);
    if (end > at) {
      at = end;
      continue;
    }
    const token = readToken(text, at);
    tokens.push(token.value);
    at = token.end;
  }
  tokens.push({ kind: "end", text: "the end of the expression", offset: text.length });
  return tokens;
}

function skipBlank(text: string, from: number): number {
  SPACE.lastIndex = from;
  const at = SPACE.test(text) ? SPACE.lastIndex : from;
  return text.startsWith("(:", at) ? skipComment(text, at) : at;
}

/** Skips a comment with those inside it: XPath lets comments nest. */
function skipComment(text: string, from: number): number {
  let depth = 0;
  for (let at = from; at < text.length; at++) {
    if (text.startsWith("(:", at)) depth++;
    else if (text.startsWith(":)", at)) depth--;
    else continue;
    at++;
    if (depth === 0) return at + 1;
  }
  throw new XPathError("a comment is not closed", from);
}

function readToken(text: string, at: number): { readonly value: Token; readonly end: number } {
  const first = text.charAt(at);
  if (first === '"' || first === "'") return readString(text, at, first);
  const tries: readonly [RegExp, Token["kind"]][] = [
    [VARIABLE, "variable"],
    [NUMBER, "number"],
    [QNAME, "name"],
    [SYMBOL, "symbol"],
  ];
  for (const [pattern, kind] of tries) {
    pattern.lastIndex = at;
    const match = pattern.exec(text);
    if (match === null) continue;
    // "child::a" is an axis and not the name "child:" + ":a".
    const written =
      kind === "name" && text.startsWith("::", at + match[0].indexOf(":"))
        ? match[0].slice(0, match[0].indexOf(":"))
        : match[0];
    return {
      value: { kind, text: kind === "variable" ? (match[1] ?? "") : written, offset: at },
      end: at + written.length,
    };
  }
  throw new XPathError(`unexpected character ${JSON.stringify(first)}`, at);
}

/** Reads a string literal, in which a doubled quote stands for one. */
function readString(text: string, from: number, quote: string): { readonly value: Token; readonly end: number } {
  let value = "";
  let at = from + 1;
  for (;;) {
    const end = text.indexOf(quote, at);
    if (end < 0) throw new XPathError("a string is not closed", from);
    value += text.slice(at, end);
    if (text.charAt(end + 1) !== quote) return { value: { kind: "string", text: value, offset: from }, end: end + 1 };
    value += quote;
    at = end + 2;
  }
}
