/** Templates of HTML: whatever is put into one is escaped, unless it was made by a template itself. */

/** Markup that a template made. */
export class Html {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

/** What may stand in a template; nothing is shown for undefined and false, lists are joined. */
export type Fragment = string | number | Html | undefined | false | readonly Fragment[];

const ESCAPES: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&#39;",
};

/** Text as it may stand between tags and inside quoted attributes. */
const escape = (text: string): string => text.replace(/[&<>"']/g, (character) => ESCAPES[character] ?? "");

function textOf(fragment: Fragment): string {
  if (fragment === undefined || fragment === false) return "";
  if (fragment instanceof Html) return fragment.text;
  if (typeof fragment === "string" || typeof fragment === "number") return escape(String(fragment));
  return fragment.map(textOf).join("");
}

/** A template: `html\`<p>${name}</p>\`` with every value escaped. Attributes must be quoted. */
export const html = (strings: TemplateStringsArray, ...values: readonly Fragment[]): Html =>
  new Html(strings.map((part, index) => (index === 0 ? part : textOf(values[index - 1]) + part)).join(""));
