/** What axe-core has to say of a page, without judging the contrast of texts that look alike again and again. */
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import type { Page } from "playwright-core";

const AXE = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

interface Violation {
  readonly id: string;
  readonly html: readonly string[];
}

/** Of an element that breaks a rule: enough to find it by. */
const SHOWN_CHARS = 300;

/** Stands at the elements whose contrast is being judged. */
const MARK = "data-judged";

/** What a text and its ground look like, and what decides whether something lies between them. */
const STYLES = [
  ...["color", "backgroundColor", "backgroundImage", "opacity", "fontSize", "fontWeight", "textShadow"],
  ...["position", "zIndex", "filter", "mixBlendMode", "visibility"],
];

/** What is judged wherever it is: it may be disabled, which is judged by nobody, or have its text in no node of text. */
const CONTROLS = "button, input, label, option, select, textarea, fieldset, [aria-disabled]";

/** Contrast is asked of what is marked and of all that lies in it. */
const MARKED = `[${MARK}], [${MARK}] *`;

/**
 * For the page: judges all rules, and contrast at the first, the middle and the last of texts that look alike, which is
 * when their elements and all that these lie in have the same names, classes and styles. Where axe-core can say nothing
 * of these, as they are cut off, disabled, or signs and no words, it judges the others that look like them. What lies in
 * details that are closed is judged by nobody. Contrast and all else are one run, as each copies the whole page first.
 */
const JUDGE = `(async () => {
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
    const hasText = [...element.childNodes].some((node) => node.nodeType === Node.TEXT_NODE && node.nodeValue.trim());
    const isControl = element.matches("${CONTROLS}");
    if (!(hasText || isControl) || element.getClientRects().length === 0 || !element.checkVisibility()) continue;
    const kind = isControl ? element : lookOf(element);
    alike.set(kind, [...(alike.get(kind) ?? []), element]);
  }
  // What the rules say is taken as it is: nearly all elements keep them, and need neither a name nor a description.
  axe.configure({ noHtml: true, rules: [{ id: "color-contrast", selector: "${MARKED}" }] });
  const reporter = (results, _, done) => done(results);
  const judge = async (elements, options) => {
    for (const element of elements) element.setAttribute("${MARK}", "");
    const results = await axe.run(document, { reporter, selectors: false, ...options });
    for (const element of elements) element.removeAttribute("${MARK}");
    return results;
  };
  const elementsOf = (nodes) => nodes.map(({ node }) => node.element);
  const groups = [...alike.values()];
  // Sizes of what is clicked are a rule of WCAG 2.2, and those of that edition axe-core asks for by name only.
  const asked = new Set(
    groups.flatMap((elements) => [0, elements.length >> 1, elements.length - 1].map((at) => elements[at])),
  );
  const all = await judge(asked, { rules: { "target-size": { enabled: true } } });
  const contrast = all.find(({ id }) => id === "color-contrast");
  const judged = new Set([...contrast.violations, ...contrast.passes].flatMap((node) => elementsOf([node])));
  const unjudged = groups.filter((elements) => !elements.some((one) => judged.has(one))).flat();
  const left = unjudged.filter((element) => !asked.has(element));
  const others = left.length === 0 ? [] : await judge(left, { runOnly: ["color-contrast"] });
  return [...all, ...others]
    .filter(({ violations }) => violations.length > 0)
    .map(({ id, violations }) => ({ id, html: elementsOf(violations).map((element) => element.outerHTML) }));
})()`;

/** The rules that a page breaks, with the elements. Contrast of each text alone would take three quarters of the time. */
export async function violations(page: Page): Promise<readonly string[]> {
  await page.evaluate(AXE);
  const found = (await page.evaluate(JUDGE)) as readonly Violation[];
  return found.map(({ id, html }) => `${id}: ${html.map((text) => text.slice(0, SHOWN_CHARS)).join(" ")}`);
}
