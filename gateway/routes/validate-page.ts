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
import { html } from "../web/pages/html.js";
import type { Fragment, Html } from "../web/pages/html.js";

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

/** Fills the frame of a page. @param frame  markup of ours, with names in double braces */
function framed(frame: string, title: string, content: Html, current?: Html): string {
  const values: Readonly<Record<string, Fragment>> = { title, content, current };
  return frame.replace(/\{\{(\w+)\}\}/gu, (_, key: string) => html`${values[key]}`.text);
}

const hrefOf = (id: string): string => `/validate/rules/${encodeURIComponent(id)}`;

const NO_EXAMPLE = html`<p>
  There is no example of this rule: it takes more than a change in one place of an invoice to break it alone, or it is
  about the file as a whole.
</p>`;

function ruleContent({ id, of, severity, terms, en, sk, fails, passes }: RulePage): Html {
  const facts = [
    ["Rules", of],
    ["Severity", severity],
    ...(terms.length === 0 ? [] : [["Business terms", terms.join(", ")]]),
  ].map(
    ([name, value]) =>
      html`<dt>${name}</dt>
        <dd>${value}</dd>`,
  );
  const examples =
    fails === undefined || passes === undefined
      ? NO_EXAMPLE
      : html`<h2>A document that breaks it</h2>
          <pre class="fails" tabindex="0"><code>${fails}</code></pre>
          <h2>The same, correct</h2>
          <pre class="passes" tabindex="0"><code>${passes}</code></pre>`;
  return html`<h1>${id}</h1>
    <p>${en}</p>
    <p lang="sk">${sk}</p>
    <div id="reading"><dl>${facts}</dl></div>
    ${examples}`;
}

/** All rules, by the specification that has them. */
function listContent(rules: readonly RulePage[]): Html {
  const groups = [...new Set(rules.map(({ of }) => of))].map((of) => {
    const own = rules.filter((rule) => rule.of === of);
    const rows = own.map(
      ({ id, en }) =>
        html`<tr>
          <td><a href="${hrefOf(id)}">${id}</a></td>
          <td>${en}</td>
        </tr>`,
    );
    return html`<details>
      <summary>${of} (${own.length})</summary>
      <div class="scroll">
        <table>
          <tbody>
            ${rows}
          </tbody>
        </table>
      </div>
    </details>`;
  });
  return html`<h1>Rules</h1>
    <p>${rules.length} rules, in our own words.</p>
    ${groups}`;
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
  const list = framed(frame, "Rules", listContent(rules), html`aria-current="page"`);
  return [
    file("validatePage", "/validate", web("validate.html"), HTML),
    file("validateStyle", "/validate/assets/validate.css", web("validate.css"), "text/css; charset=utf-8"),
    file("validateScript", "/validate/assets/validate.js", web("validate.js"), "text/javascript; charset=utf-8"),
    file("rulesPage", "/validate/rules", list.replace(/\n\s+/g, "\n"), HTML),
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
            ? html`<h1>${id}</h1>
                <p>This rule is none of the built-in ones: it comes from an imported pack, or does not exist.</p>`
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
