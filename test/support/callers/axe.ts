/** What axe-core has to say of a page, without judging the contrast of texts that look alike again and again. */
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import type { Page } from "playwright-core";

const AXE = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

interface Violation {
  readonly id: string;
  readonly nodes: readonly { readonly html: string }[];
}

/** Stands at the elements whose contrast is being judged. */
const MARK = "data-judged";

/** What a text and its ground look like, and what decides whether something lies between them. */
const STYLES = [
  ...["color", "backgroundColor", "backgroundImage", "opacity", "fontSize", "fontWeight", "textShadow"],
  ...["position", "zIndex", "filter", "mixBlendMode", "visibility"],
];

/** What is judged wherever it is: it may be disabled, which is judged by nobody, or have its text in no node of text. */
const CONTROLS = "button, input, label, option, select, textarea, fieldset, [aria-disabled]";

/**
 * For the page: judges the first, the middle and the last of texts that look alike, which is when their elements and all
 * that these lie in have the same names, classes and styles. Where axe-core can say nothing of these, as they are cut
 * off, disabled, signs and no words, or in details that are closed, it judges all that look like them.
 */
const JUDGE_CONTRAST = `(async () => {
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
    if (!(hasText || isControl) || element.getClientRects().length === 0) continue;
    const kind = isControl ? element : lookOf(element);
    alike.set(kind, [...(alike.get(kind) ?? []), element]);
  }
  const judge = async (elements) => {
    if (elements.length === 0) return { violations: [], passes: [] };
    for (const element of elements) element.setAttribute("${MARK}", "");
    const options = { runOnly: ["color-contrast"], resultTypes: ["violations", "passes"], selectors: false };
    const results = await axe.run("[${MARK}]", { ...options, elementRef: true });
    for (const element of elements) element.removeAttribute("${MARK}");
    return results;
  };
  const nodesOf = (rules) => rules.flatMap(({ nodes }) => nodes);
  const groups = [...alike.values()];
  const some = await judge(
    groups.flatMap((elements) => [0, elements.length >> 1, elements.length - 1].map((at) => elements[at])),
  );
  const judged = new Set(nodesOf([...some.violations, ...some.passes]).map(({ element }) => element));
  const others = await judge(groups.filter((elements) => !elements.some((one) => judged.has(one))).flat());
  return [some, others].flatMap(({ violations }) =>
    violations.map(({ id, nodes }) => ({ id, nodes: nodes.map(({ html }) => ({ html })) })),
  );
})()`;

/**
 * The rules that a page breaks, with the elements. The elements that keep them, which are nearly all, are neither named
 * nor described. Contrast alone takes three quarters of the time on a page of 25,000 elements.
 */
export async function violations(page: Page): Promise<readonly string[]> {
  await page.evaluate(AXE);
  // Sizes of what is clicked are a rule of WCAG 2.2, and those of that edition axe-core asks for by name only.
  const rules = `rules: { "target-size": { enabled: true }, "color-contrast": { enabled: false } }`;
  const options = `{ resultTypes: ["violations"], selectors: false, ${rules} }`;
  const found = [
    ...((await page.evaluate(`axe.run(${options}).then(({ violations }) => violations)`)) as readonly Violation[]),
    ...((await page.evaluate(JUDGE_CONTRAST)) as readonly Violation[]),
  ];
  return found.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html).join(" ")}`);
}
