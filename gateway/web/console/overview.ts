/** The heartbeat as a page: figures above, tables below. */
import { html } from "../pages/html.js";
import type { Html } from "../pages/html.js";
import { drawSection, toneClass, toneWord } from "./draw.js";
import { instantText } from "./cells.js";
import { figuresOf, sectionsOf } from "./heartbeat.js";
import type { Heartbeat } from "./heartbeat.js";

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
    <div class="sections">${sectionsOf(beat).map((section) => drawSection(section))}</div>`;
