/**
 * Translates the regular expressions of XPath 2.0 (XML Schema's, with anchors, reluctant quantifiers and
 * back-references) to those of JavaScript, flag `v`. Differences that matter: \d \w \s follow Unicode categories and
 * XML white space, `.` excludes line ends, `^` and `$` know only the line feed, classes can be subtracted, an unknown
 * escape is an error.
 *
 * Time: JavaScript backtracks; a hostile pattern comes from an operator's pack only, and the kill timer of the worker
 * bounds every match.
 *
 * @source W3C XPath and XQuery Functions and Operators (2.0), 7.6; XML Schema part 2, appendix F
 */
import { RuleError } from "../../rules/rule.js";

const NAME_START =
  ":_A-Za-z\\u{c0}-\\u{d6}\\u{d8}-\\u{f6}\\u{f8}-\\u{2ff}\\u{370}-\\u{37d}\\u{37f}-\\u{1fff}\\u{200c}\\u{200d}\\u{2070}-\\u{218f}\\u{2c00}-\\u{2fef}\\u{3001}-\\u{d7ff}\\u{f900}-\\u{fdcf}\\u{fdf0}-\\u{fffd}\\u{10000}-\\u{effff}";
const NAME_CHAR = `${NAME_START}\\-.0-9\\u{b7}\\u{300}-\\u{36f}\\u{203f}\\u{2040}`;

/** Multi-character escapes as contents of a class. The upper-case letter is the complement. */
const CLASSES: Readonly<Record<string, string>> = { d: "\\p{Nd}", s: " \\t\\n\\r", i: NAME_START, c: NAME_CHAR };
/** XML Schema defines \w as everything but punctuation, separators and others. */
const WORD = "[^\\p{P}\\p{Z}\\p{C}]";
const NOT_WORD = "[\\p{P}\\p{Z}\\p{C}]";
const SINGLE_ESCAPES = "\\|.-^?*+{}()[]$";
/** The Unicode blocks that occur in practice; JavaScript knows no blocks. */
const BLOCKS: Readonly<Record<string, string>> = {
  IsBasicLatin: "\\u{0}-\\u{7f}",
  "IsLatin-1Supplement": "\\u{80}-\\u{ff}",
  "IsLatinExtended-A": "\\u{100}-\\u{17f}",
  "IsLatinExtended-B": "\\u{180}-\\u{24f}",
  IsGreek: "\\u{370}-\\u{3ff}",
  IsCyrillic: "\\u{400}-\\u{4ff}",
};
const CATEGORY = /^(?:L[ultmo]?|M[nce]?|N[dlo]?|P[cdseifo]?|Z[slp]?|S[mcko]?|C[cfon]?)$/;
const LENGTH_MAX = 65_536;

/**
 * @param flags  of `s`, `m`, `i`, `x`
 * @throws RuleError FORX0001 for an unknown flag, FORX0002 for an invalid pattern
 */
export function translateRegex(pattern: string, flags: string): RegExp {
  if (!/^[smix]*$/.test(flags)) throw new RuleError("FORX0001");
  if (pattern.length > LENGTH_MAX) throw new RuleError("FORX0002");
  const source = new Translator(flags.includes("x") ? stripSpace(pattern) : pattern, flags).translate();
  try {
    return new RegExp(source, flags.includes("i") ? "vi" : "v");
  } catch {
    throw new RuleError("FORX0002");
  }
}

/** Flag x removes white space outside of classes. */
function stripSpace(pattern: string): string {
  let depth = 0;
  let kept = "";
  for (let i = 0; i < pattern.length; i++) {
    const c = pattern.charAt(i);
    if (c === "\\") {
      kept += c + pattern.charAt(++i);
      continue;
    }
    if (c === "[") depth++;
    if (c === "]") depth--;
    if (depth > 0 || !/[ \t\n\r]/.test(c)) kept += c;
  }
  return kept;
}

/** One code point as a literal that means nothing else anywhere in a pattern. */
const literal = (char: string): string =>
  /^[A-Za-z0-9 ]$/.test(char) ? char : `\\u{${(char.codePointAt(0) ?? 0).toString(16)}}`;

class Translator {
  readonly #chars: readonly string[];
  readonly #flags: string;
  #at = 0;
  #groups = 0;
  readonly #closed = new Set<number>();
  readonly #open: number[] = [];

  constructor(pattern: string, flags: string) {
    this.#chars = [...pattern];
    this.#flags = flags;
  }

  translate(): string {
    let out = "";
    while (this.#at < this.#chars.length) out += this.#piece();
    if (this.#open.length > 0) this.#fail();
    return out;
  }

  get #char(): string {
    return this.#chars[this.#at] ?? "";
  }

  #fail(): never {
    throw new RuleError("FORX0002");
  }

  #piece(): string {
    const c = this.#char;
    switch (c) {
      case "[":
        return this.#charClass();
      case "\\":
        return this.#escape();
      case ".":
        this.#at++;
        return this.#flags.includes("s") ? "[\\s\\S]" : "[^\\n\\r]";
      case "^":
        this.#at++;
        return this.#flags.includes("m") ? "(?<![^\\n])" : "^";
      case "$":
        this.#at++;
        return this.#flags.includes("m") ? "(?![^\\n])" : "$";
      case "(":
        return this.#openGroup();
      case ")":
        return this.#closeGroup();
      case "{":
      case "}":
      case "*":
      case "+":
      case "?":
        return this.#quantifier();
      case "]":
        return this.#fail();
      default:
        this.#at++;
        return c === "|" ? c : literal(c);
    }
  }

  /** `(?` is no group in XPath 2.0. */
  #openGroup(): string {
    this.#at++;
    if (this.#char === "?") this.#fail();
    this.#groups++;
    this.#open.push(this.#groups);
    return "(";
  }

  #closeGroup(): string {
    this.#at++;
    const group = this.#open.pop();
    if (group === undefined) this.#fail();
    this.#closed.add(group);
    return ")";
  }

  #quantifier(): string {
    const rest = this.#chars.slice(this.#at, this.#at + 24).join("");
    const match = /^(?:[*+?]|\{[0-9]{1,9}(?:,[0-9]{0,9})?\})\??/.exec(rest);
    if (match === null) this.#fail();
    this.#at += match[0].length;
    return match[0];
  }

  #escape(): string {
    const next = this.#chars[this.#at + 1] ?? "";
    if (/[1-9]/.test(next)) return this.#backReference();
    const members = this.#classEscape();
    return members === undefined ? this.#singleEscape() : members.startsWith("[") ? members : `[${members}]`;
  }

  /** Digits are taken while the group exists and is closed. */
  #backReference(): string {
    this.#at++;
    let number = Number(this.#char);
    this.#at++;
    while (/[0-9]/.test(this.#char) && this.#closed.has(number * 10 + Number(this.#char))) {
      number = number * 10 + Number(this.#char);
      this.#at++;
    }
    if (!this.#closed.has(number)) this.#fail();
    return `(?:\\${number})`;
  }

  #singleEscape(): string {
    const c = this.#chars[this.#at + 1] ?? "";
    this.#at += 2;
    if (c === "n" || c === "r" || c === "t") return `\\${c}`;
    if (c === "" || !SINGLE_ESCAPES.includes(c)) this.#fail();
    return literal(c);
  }

  /** \d \p{L} …: members of a class, or a class of their own; undefined when the escape is a single character. */
  #classEscape(): string | undefined {
    const c = this.#chars[this.#at + 1] ?? "";
    if (c === "w" || c === "W") {
      this.#at += 2;
      return c === "w" ? WORD : NOT_WORD;
    }
    const members = CLASSES[c.toLowerCase()];
    if (members !== undefined) {
      this.#at += 2;
      return c === c.toLowerCase() ? members : `[^${members}]`;
    }
    if (c !== "p" && c !== "P") return undefined;
    const match = /^\{([A-Za-z0-9-]{1,40})\}/.exec(this.#chars.slice(this.#at + 2, this.#at + 46).join(""));
    const property = match?.[1];
    if (match === null || property === undefined) this.#fail();
    this.#at += 2 + match[0].length;
    const block = BLOCKS[property];
    if (block !== undefined) return c === "p" ? block : `[^${block}]`;
    if (!CATEGORY.test(property)) this.#fail();
    return `\\${c}{${property}}`;
  }

  /** `[^a-z\d-[aeiou]]` → `[[^a-z\p{Nd}]--[aeiou]]`. */
  #charClass(): string {
    this.#at++;
    const negated = this.#char === "^";
    if (negated) this.#at++;
    let members = "";
    let first = true;
    while (this.#char !== "]") {
      if (this.#at >= this.#chars.length) this.#fail();
      if (this.#char === "-" && this.#chars[this.#at + 1] === "[") return this.#subtraction(members, negated);
      members += this.#member(first);
      first = false;
    }
    if (members === "") this.#fail();
    this.#at++;
    return `[${negated ? "^" : ""}${members}]`;
  }

  #subtraction(members: string, negated: boolean): string {
    this.#at++;
    const taken = this.#charClass();
    if (this.#char !== "]" || members === "") this.#fail();
    this.#at++;
    return `[[${negated ? "^" : ""}${members}]--${taken}]`;
  }

  #member(first: boolean): string {
    const escaped = this.#char === "\\" ? this.#classEscape() : undefined;
    if (escaped !== undefined) return escaped;
    const from = this.#classChar(first);
    const next = this.#chars[this.#at + 1] ?? "";
    if (this.#char !== "-" || next === "]" || next === "[") return from;
    this.#at++;
    return `${from}-${this.#classChar(false)}`;
  }

  #classChar(first: boolean): string {
    if (this.#char === "\\") return this.#singleEscape();
    const c = this.#char;
    if (c === "" || c === "[" || (c === "]" && !first)) this.#fail();
    this.#at++;
    return literal(c);
  }
}
