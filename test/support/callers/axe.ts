/** What axe-core has to say of a page, without judging the contrast of texts that look alike again and again. */
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import type { Page } from "playwright-core";

const AXE = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

interface AxeResults {
  readonly violations: readonly { readonly id: string; readonly nodes: readonly { readonly html: string }[] }[];
}

/** Stands at the elements whose contrast is judged. */
const MARK = "data-judged";

/** What a text and its ground look like, and what decides whether something lies between them. */
const STYLES = [
  ...["color", "backgroundColor", "backgroundImage", "opacity", "fontSize", "fontWeight", "textShadow"],
  ...["position", "zIndex", "filter", "mixBlendMode", "visibility"],
];

/**
 * For the page: marks the first, the middle and the last of texts that look alike, which is when their elements and all
 * that these lie in have the same names, classes and styles. What can be disabled, or belongs to what can, is marked
 * wherever it is, for axe-core leaves out what is; it judges no text of one character either.
 */
const MARK_TEXTS = `{
  const looks = new Map(), numbers = new Map(), alike = new Map();
  const lookOf = (element) => {
    if (element === null) return 0;
    if (!looks.has(element)) {
      const style = getComputedStyle(element);
      const own = ${JSON.stringify(STYLES)}.map((name) => style[name]);
      const look = JSON.stringify([lookOf(element.parentElement), element.localName, element.className, own]);
      if (!numbers.has(look)) numbers.set(look, numbers.size + 1);
      looks.set(element, numbers.get(look));
    }
    return looks.get(element);
  };
  for (const element of document.body.querySelectorAll("*")) {
    const texts = [...element.childNodes].filter((node) => node.nodeType === Node.TEXT_NODE);
    const length = texts.map((node) => node.nodeValue).join("").trim().length;
    if (length === 0 || element.getClientRects().length === 0) continue;
    const isControl = element.matches("button, input, label, option, select, textarea, fieldset, [aria-disabled]");
    const kind = isControl ? element : lookOf(element) + (length === 1 ? " character" : " text");
    alike.set(kind, [...(alike.get(kind) ?? []), element]);
  }
  for (const elements of alike.values())
    for (const at of [0, elements.length >> 1, elements.length - 1]) elements[at].setAttribute("${MARK}", "");
  alike.size;
}`;

/**
 * The rules that a page breaks, with the elements. The elements that keep them, which are nearly all, are neither named
 * nor described. Contrast alone takes three quarters of the time on a page of 25,000 elements.
 */
export async function violations(page: Page): Promise<readonly string[]> {
  const run = async (context: string, options: string): Promise<AxeResults> =>
    (await page.evaluate(
      `axe.run(${context}, { resultTypes: ["violations"], selectors: false, ${options} })`,
    )) as AxeResults;
  await page.evaluate(AXE);
  // Sizes of what is clicked are a rule of WCAG 2.2, and those of that edition axe-core asks for by name only.
  const rules = `rules: { "target-size": { enabled: true }, "color-contrast": { enabled: false } }`;
  const found = [await run("document", rules)];
  const kinds = await page.evaluate(MARK_TEXTS);
  if (kinds !== 0) found.push(await run(`"[${MARK}]"`, `runOnly: ["color-contrast"]`));
  return found
    .flatMap((results) => results.violations)
    .map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html).join(" ")}`);
}
