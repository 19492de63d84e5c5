/** The heartbeat as a page: figures above, tables below. */
import { html } from "../pages/html.js";
import type { Html } from "../pages/html.js";
import { figuresOf, instantText, sectionsOf } from "./heartbeat.js";
import type { Cell, Heartbeat, HeartbeatSection, Tone } from "./heartbeat.js";

/** What a reader hears who sees no colour. */
const TONE_WORDS: Readonly<Record<Tone, string | undefined>> = {
  well: undefined,
  late: "needs a look",
  bad: "needs a hand",
};

const toneClass = (tone: Tone = "well"): string => `tone-${tone}`;

const toneWord = (tone: Tone = "well"): Html | undefined => {
  const word = TONE_WORDS[tone];
  return word === undefined ? undefined : html` <span class="tone-word">${word}</span>`;
};

const cellOf = (cell: Cell, column: string | undefined): Html =>
  html`<td class="${cell.isNumber === true ? "number " : ""}${toneClass(cell.tone)}" data-label="${column ?? ""}">
    ${cell.text}${toneWord(cell.tone)}
  </td>`;

/** A table of the console; on a phone each row stands as a card. */
const sectionOf = ({ id, title, columns, rows, empty }: HeartbeatSection): Html =>
  html`<section aria-labelledby="${id}">
    <h2 id="${id}">${title}</h2>
    ${
      rows.length === 0
        ? html`<p class="quiet">${empty}</p>`
        : html`<table>
            <thead>
              <tr>
                ${columns.map((column) => html`<th scope="col">${column}</th>`)}
              </tr>
            </thead>
            <tbody>
              ${rows.map(
                (cells) =>
                  html`<tr>
                    ${cells.map((cell, at) => cellOf(cell, columns[at]))}
                  </tr> `,
              )}
            </tbody>
          </table>`
    }
  </section>`;

/** What of the overview changes with each heartbeat. */
export const overviewBody = (beat: Heartbeat): Html =>
  html`<p class="quiet">${beat.environment}, ${instantText(beat.at)}</p>
    <dl class="figures">
      ${figuresOf(beat).map(
        ({ name, ...cell }) =>
          html`<div class="${toneClass(cell.tone)}">
            <dt>${name}</dt>
            <dd>${cell.text}${toneWord(cell.tone)}</dd>
          </div>`,
      )}
    </dl>
    <div class="sections">${sectionsOf(beat).map(sectionOf)}</div>`;
