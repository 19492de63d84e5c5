/** The little Markdown of descriptions: paragraphs, lists, code. Everything else is text. */
import { Html, html } from "../pages/html.js";

/** `code` inside a line. `&lt;` stands in descriptions for the sign itself. */
const inline = (text: string): Html[] =>
  text
    .replaceAll("&lt;", "<")
    .split(/(`[^`]+`)/)
    .map((part) => (part.startsWith("`") && part.length > 2 ? html`<code>${part.slice(1, -1)}</code>` : html`${part}`));

const ITEM = /^(?:\d+\.|-) /;

/** A description as markup. */
export const described = (text: string | undefined): Html[] =>
  (text ?? "").split("\n\n").map((block) => {
    const lines = block.split("\n").filter((line) => line !== "");
    if (lines.length === 0) return new Html("");
    if (!lines.every((line) => ITEM.test(line))) return html`<p>${inline(lines.join(" "))}</p>`;
    const items = lines.map((line) => html`<li>${inline(line.replace(ITEM, ""))}</li>`);
    return /^\d/.test(lines[0] ?? "")
      ? html`<ol>
          ${items}
        </ol>`
      : html`<ul>
          ${items}
        </ul>`;
  });

/** A description that stands within a line. */
export const inLine = (text: string | undefined): Html[] => inline(text ?? "");
