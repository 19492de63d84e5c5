/** Draws sections, and the forms by which operators do something about what they show. */
import { LIMITS } from "../../../engine/base/limits.js";
import { html } from "../pages/html.js";
import type { Fragment, Html } from "../pages/html.js";
import type { Cell, Section, Sheet, SheetAction, Tone } from "./sections.js";

/** What a reader hears who sees no colour. */
const TONE_WORDS: Readonly<Record<Tone, string | undefined>> = {
  well: undefined,
  late: "needs a look",
  bad: "needs a hand",
};

/** The class by which a tone is coloured. */
export const toneClass = (tone: Tone = "well"): string => `tone-${tone}`;

/** The words of a tone for readers who see no colour; none where all is well. */
export const toneWord = (tone: Tone = "well"): Html | undefined => {
  const word = TONE_WORDS[tone];
  return word === undefined ? undefined : html` <span class="tone-word">${word}</span>`;
};

const cellOf = (cell: Cell, column: string | undefined): Html =>
  html`<td
    role="cell"
    class="${cell.isNumber === true ? "number " : ""}${toneClass(cell.tone)}"
    data-label="${column ?? ""}"
  >
    ${cell.href === undefined ? cell.text : html`<a href="${cell.href}">${cell.text}</a>`}${toneWord(cell.tone)}
  </td>`;

/** A table of the console; on a phone each row stands as a card, and the roles say that it is a table all the same. */
export const drawSection = ({ id, title, columns, rows, empty }: Section): Html =>
  html`<section aria-labelledby="${id}">
    <h2 id="${id}">${title}</h2>
    ${
      rows.length === 0
        ? html`<p class="quiet">${empty}</p>`
        : html`<table role="table">
            <thead role="rowgroup">
              <tr role="row">
                ${columns.map((column) => html`<th scope="col" role="columnheader">${column}</th>`)}
              </tr>
            </thead>
            <tbody role="rowgroup">
              ${rows.map(
                (cells) =>
                  html`<tr role="row">
                    ${cells.map((cell, at) => cellOf(cell, columns[at]))}
                  </tr> `,
              )}
            </tbody>
          </table>`
    }
  </section>`;

/** Names and values, as they stand above the tables of a page. */
const drawFacts = (facts: readonly (readonly [name: string, value: Fragment])[]): Html =>
  html`<dl class="facts">
    ${facts.map(
      ([name, value]) =>
        html`<div>
          <dt>${name}</dt>
          <dd>${value}</dd>
        </div>`,
    )}
  </dl>`;

/** A form that asks for a reason. Its names are unlike those of every other form of the page. */
const drawAction = ({ path, id, words }: SheetAction, formTokenField: Fragment): Html => {
  const field = `reason-${path.replace(/[^a-z]+/g, "-")}-${id.replace(/[^A-Za-z0-9]+/g, "-")}`;
  return html`<form class="action" method="post" action="/console/${path}">
    ${formTokenField}<input type="hidden" name="id" value="${id}" />
    <label for="${field}">Reason to ${words}</label>
    <input id="${field}" name="reason" required maxlength="${LIMITS.console_reason_chars_max}" autocomplete="off" />
    <button class="second">${words.replace(/^./, (letter) => letter.toUpperCase())}</button>
  </form>`;
};

/** The form that narrows a list down. */
const drawSearch = ({ label, value, action }: NonNullable<Sheet["search"]>): Html =>
  html`<form class="narrow" method="get" action="${action}">
    <label for="narrow">${label}</label>
    <input id="narrow" name="q" type="search" value="${value}" maxlength="${LIMITS.console_search_chars_max}" />
    <button class="second">Search</button>
  </form>`;

/** @param done  what has just been done, in words */
export const drawSheet = (sheet: Sheet, formTokenField: Fragment, done: string | undefined): Html =>
  html`${done !== undefined && html`<p class="done" role="status">${done}</p>`}
  ${sheet.lead !== undefined && html`<p class="quiet">${sheet.lead}</p>`}
  ${sheet.search !== undefined && drawSearch(sheet.search)} ${sheet.facts !== undefined && drawFacts(sheet.facts)}
  ${sheet.sections.map((section) => drawSection(section))}
  ${sheet.next !== undefined && html`<p class="next"><a href="${sheet.next}" rel="next">Next page</a></p>`}
  ${
    sheet.actions.length > 0 &&
    html`<section aria-labelledby="actions">
      <h2 id="actions">Actions</h2>
      ${sheet.actions.map((action) => drawAction(action, formTokenField))}
    </section>`
  }`;
