/**
 * The page /validate and a page for each rule. They are files of this process: no other host is asked, and what a
 * document says becomes no part of them.
 */
import { readFileSync } from "node:fs";
import { z } from "zod";

import { LIMITS } from "../../engine/base/limits.js";
import { STYLE_SOURCE } from "../../validators/view/style.js";
import { route } from "../contract/route.js";
import type { Route } from "../contract/route.js";

/** Scripts and styles of our files, and the style of a shown invoice, only; the script talks to this host only. */
const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  `style-src 'self' ${STYLE_SOURCE}`,
  "img-src 'self'",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join("; ");
const PAGE_HEADERS = {
  "Content-Security-Policy": POLICY,
  "X-Frame-Options": "DENY",
  "Cross-Origin-Opener-Policy": "same-origin",
  "Cache-Control": "no-cache",
} as const;
const HTML = "text/html; charset=utf-8";
const rulePage = z.object({
  id: z.string(),
  of: z.string(),
  severity: z.string(),
  terms: z.array(z.string()),
  en: z.string(),
  sk: z.string(),
  fails: z.string().optional(),
  passes: z.string().optional(),
});
type RulePage = z.infer<typeof rulePage>;

const web = (file: string): string =>
  readFileSync(new URL(`../web/validate/${file}`, import.meta.url)).toString("utf8");

const ESCAPES: Readonly<Record<string, string>> = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" };
const escaped = (text: string): string => text.replace(/[&<>"]/gu, (mark) => ESCAPES[mark] ?? mark);

/** Fills the frame of a page; `content` is markup. */
function framed(frame: string, title: string, content: string, current = ""): string {
  const values: Readonly<Record<string, string>> = { title: escaped(title), content, current };
  return frame.replace(/\{\{(\w+)\}\}/gu, (_, key: string) => values[key] ?? "");
}

const hrefOf = (id: string): string => `/validate/rules/${encodeURIComponent(id)}`;

function ruleContent({ id, of, severity, terms, en, sk, fails, passes }: RulePage): string {
  const rows = [
    ["Rules", of],
    ["Severity", severity],
    ...(terms.length === 0 ? [] : [["Business terms", terms.join(", ")]]),
  ];
  const facts = rows.map(([name = "", value = ""]) => `<dt>${name}</dt><dd>${escaped(value)}</dd>`).join("");
  const examples =
    fails === undefined || passes === undefined
      ? "<p>There is no example of this rule: it takes more than a change in one place of an invoice to break it alone, or it is about the file as a whole.</p>"
      : `<h2>A document that breaks it</h2><pre class="fails"><code>${escaped(fails)}</code></pre>
      <h2>The same, correct</h2><pre class="passes"><code>${escaped(passes)}</code></pre>`;
  return `<h1>${escaped(id)}</h1><p>${escaped(en)}</p><p lang="sk">${escaped(sk)}</p><div id="reading"><dl>${facts}</dl></div>${examples}`;
}

/** All rules, by the specification that has them. */
function listContent(rules: readonly RulePage[]): string {
  const groups = [...new Set(rules.map(({ of }) => of))].map((of) => {
    const own = rules.filter((rule) => rule.of === of);
    const rows = own.map(
      ({ id, en }) => `<tr><td><a href="${escaped(hrefOf(id))}">${escaped(id)}</a></td><td>${escaped(en)}</td></tr>`,
    );
    return `<details><summary>${escaped(of)} (${own.length})</summary><div class="scroll"><table><tbody>${rows.join("")}</tbody></table></div></details>`;
  });
  return `<h1>Rules</h1><p>${rules.length} rules, in our own words.</p>${groups.join("")}`;
}

const base = {
  method: "GET",
  mounts: [""],
  family: "public",
  credential: "none",
  hidden: true,
  tag: "Validation",
} as const;

const file = (operation: string, path: string, body: string, contentType: string): Route =>
  route({
    ...base,
    operation,
    path,
    errors: [],
    summary: `File ${path}`,
    responses: { 200: { description: "The file", contentType } },
    handler: () => ({
      status: 200,
      body: { raw: body },
      contentType,
      headers: contentType === HTML ? PAGE_HEADERS : { "Cache-Control": `public, max-age=${LIMITS.reference_cache_s}` },
    }),
  });

/** The rows of the page, its files and the pages of the rules. */
export function validatePageRoutes(): readonly Route[] {
  const rules = z.array(rulePage).parse(JSON.parse(web("rules.json")));
  const byId = new Map(rules.map((rule) => [rule.id, rule]));
  const frame = web("rule.html");
  return [
    file("validatePage", "/validate", web("validate.html"), HTML),
    file("validateStyle", "/validate/assets/validate.css", web("validate.css"), "text/css; charset=utf-8"),
    file("validateScript", "/validate/assets/validate.js", web("validate.js"), "text/javascript; charset=utf-8"),
    file("rulesPage", "/validate/rules", framed(frame, "Rules", listContent(rules), ' aria-current="page"'), HTML),
    route({
      ...base,
      operation: "rulePage",
      path: "/validate/rules/{id}",
      errors: ["NOT_FOUND"],
      summary: "What one rule checks",
      request: { params: z.object({ id: z.string().max(LIMITS.rule_id_chars_max) }) },
      responses: {
        200: { description: "The page", contentType: HTML },
        404: { description: "A rule that is none of the built-in ones", contentType: HTML },
      },
      handler: ({ params: { id } }) => {
        const rule = byId.get(id);
        const content =
          rule === undefined
            ? `<h1>${escaped(id)}</h1><p>This rule is none of the built-in ones: it comes from an imported pack, or does not exist.</p>`
            : ruleContent(rule);
        return {
          status: rule === undefined ? 404 : 200,
          body: { raw: framed(frame, id, content) },
          contentType: HTML,
          headers: PAGE_HEADERS,
        };
      },
    }),
  ];
}
