/** The sentences of findings in the languages there are; English is what the rules are written in. */
import type { Finding, Language } from "../report.js";
import { SLOVAK } from "./slovak.js";
import { SLOVAK_PEPPOL } from "./slovak-peppol.js";
import type { TextRow } from "./text-row.js";

/** A row with parts: the fixed pieces of the English sentence, and those of the other in the order of the parts. */
interface Template {
  readonly pattern: RegExp;
  readonly other: string;
  /** Characters that are no part: of two templates that fit, that with more of its own is meant. */
  readonly fixed: number;
}

const PART = /\{\}/gu;
/** Parts of parts: a list within an expectation within a sentence. */
const DEPTH_MAX = 4;

class Translator {
  /** Bounded by the rows of the language. */
  readonly #exact = new Map<string, string>();
  /** By their first word, so that a sentence meets few patterns; bounded by the rows. */
  readonly #templates = new Map<string, Template[]>();

  constructor(rows: readonly TextRow[]) {
    for (const [english, other] of rows) {
      if (!english.includes("{}")) this.#exact.set(english, other);
      else {
        const key = beginning(english);
        const known = this.#templates.get(key) ?? [];
        this.#templates.set(key, [
          ...known,
          { pattern: patternOf(english), other, fixed: english.replace(PART, "").length },
        ]);
      }
    }
  }

  /** The sentence in the other language, or undefined when no row is for it. */
  sentence(text: string, depth = 0): string | undefined {
    const exact = this.#exact.get(text);
    if (exact !== undefined || depth > DEPTH_MAX) return exact;
    const known = [...(this.#templates.get(beginning(text)) ?? []), ...(this.#templates.get("") ?? [])];
    for (const { pattern, other } of known.sort((a, b) => b.fixed - a.fixed)) {
      const match = pattern.exec(text);
      if (match === null) continue;
      const parts = match.slice(1).map((part) => this.sentence(part, depth + 1) ?? part);
      let next = 0;
      return other.replace(/\{(\d?)\}/gu, (_, place: string) => parts[place === "" ? next++ : Number(place)] ?? "");
    }
    return undefined;
  }
}

/** What a template is found by: its words up to the first part; templates that begin with one have none. */
const beginning = (text: string): string => {
  const [first = ""] = text.split(" ", 1);
  return first.includes("{}") || /[:/]/u.test(first) ? "" : first;
};

const patternOf = (english: string): RegExp =>
  new RegExp(`^${english.split(PART).map(escapePattern).join("(.*?)")}$`, "su");

const escapePattern = (text: string): string => text.replace(/[.*+?^${}()|[\]\\]/gu, "\\$&");

let slovak: Translator | undefined;

/** The sentence in a language; English where there is none in it (those of imported packs are their own). */
export function inLanguage(message: string, language: Language): string {
  if (language === "en") return message;
  slovak ??= new Translator([...SLOVAK, ...SLOVAK_PEPPOL]);
  return slovak.sentence(message) ?? message;
}

/** Findings with their sentences in a language. */
export const findingsIn = (findings: readonly Finding[], language: Language): readonly Finding[] =>
  language === "en"
    ? findings
    : findings.map((finding) => ({ ...finding, message: inLanguage(finding.message, language) }));
