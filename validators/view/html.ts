/** Draws a sheet as one page of HTML that needs nothing else: no script, no other file, no other host. */
import { Html, html } from "./markup.js";
import type { Fragment } from "./markup.js";
import type { Card, Cell, Column, Row, Sheet, Table } from "./sheet.js";
import { PAGE_POLICY, STYLE } from "./style.js";

/** @returns the page as text */
export function drawHtml(sheet: Sheet): string {
  const title = `${sheet.kind} ${sheet.number}`.trim();
  const page = html`<!DOCTYPE html>
    <html lang="${sheet.language}">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <meta http-equiv="Content-Security-Policy" content="${PAGE_POLICY}" />
        <title>${title}</title>
        ${STYLE_ELEMENT}
      </head>
      <body>
        <main>
          <div class="head">
            <h1><span>${sheet.kind}</span>${sheet.number}</h1>
            <dl>
              ${sheet.headline.map((row) => html`<div${mainClass(row)}><dt>${row.label}</dt><dd>${row.value}</dd></div>`)}
            </dl>
          </div>
          ${sheet.remark !== undefined && html`<p class="remark">${sheet.remark}</p>`}
          <div class="cards">${[...sheet.parties, sheet.details].map(drawCard)}</div>
          ${drawTable(sheet.lines, LEAD_OF_LINES)} ${sheet.allowances !== undefined && drawTable(sheet.allowances)}
          <div class="sums">${sheet.taxes !== undefined && drawTable(sheet.taxes)}${drawTotals(sheet)}</div>
          <div class="cards">
            ${[...sheet.payments, ...(sheet.notes === undefined ? [] : [sheet.notes])].map(drawCard)}
          </div>
          ${sheet.attachments !== undefined && drawTable(sheet.attachments)}
          <footer><p>${sheet.footer}</p></footer>
        </main>
      </body>
    </html> `;
  return page.text;
}

/** Exactly the text whose digest the policy names: white space of a template would be part of it. */
const STYLE_ELEMENT = new Html(`<style>${STYLE}</style>`);

/** The column that stands for a line where there is no room for columns: its description. */
const LEAD_OF_LINES = 1;

const mainClass = ({ isMain }: Row): Fragment => isMain === true && html` class="main"`;

const drawRows = (rows: readonly Row[]): Fragment =>
  rows.length > 0 &&
  html`<dl class="rows">
    ${rows.map(
      ({ label, value }) =>
        html`<dt>${label}</dt>
          <dd>${value}</dd>`,
    )}
  </dl>`;

const drawCard = ({ heading, name, text, rows }: Card): Fragment =>
  html`<section>
    <h2>${heading}</h2>
    ${name !== undefined && html`<p class="name">${name}</p>`} ${text.map((line) => html`<p class="text">${line}</p>`)}
    ${drawRows(rows)}
  </section> `;

const drawTotal = (row: Row): Fragment =>
  html`<div${mainClass(row)}><dt>${row.label}</dt><dd${shortClass(row)}>${row.value}</dd></div>`;

const drawTotals = ({ totals }: Sheet): Fragment =>
  html`<section class="totals">
    <h2>${totals.heading}</h2>
    <dl>${totals.rows.map(drawTotal)}</dl>
  </section>`;

/** @param lead  the column that heads a row on a narrow screen */
function drawTable({ heading, columns, rows, omitted }: Table, lead = 0): Fragment {
  return html`<section class="wide">
    <table>
      <caption>
        <h2>${heading}</h2>
      </caption>
      <thead>
        <tr>
          ${columns.map(({ label, isNumber }) => html`<th scope="col" ${numberClass(isNumber)}>${label}</th>`)}
        </tr>
      </thead>
      <tbody>
        ${rows.map(
          (cells) =>
            html`<tr>
              ${cells.map((cell, at) => drawCell(cell, columns[at], at === lead))}
            </tr> `,
        )}
      </tbody>
    </table>
    ${omitted !== undefined && html`<p class="remark">${omitted}</p>`}
  </section> `;
}

/** A number stays in one piece. What is too long for one is no number and may be broken anywhere. */
const NUMBER_CHARS_MAX = 24;
const shortClass = ({ value }: Row): Fragment => value.length <= NUMBER_CHARS_MAX && html` class="short"`;
const numberClass = (isNumber: boolean): Fragment => isNumber && html` class="number"`;

function drawCell({ text, more }: Cell, column: Column | undefined, isLead: boolean): Fragment {
  const classes = [
    column?.isNumber === true ? "number" : "",
    column?.isNumber === true && text.length <= NUMBER_CHARS_MAX ? "short" : "",
    isLead ? "lead" : "",
    text === "" && more.length === 0 ? "empty" : "",
  ].filter((name) => name !== "");
  const attributes = html`${classes.length > 0 && html` class="${classes.join(" ")}"`}
  data-label="${column?.label ?? ""}"`;
  return html`<td${attributes}><span>${text}${more.map((line) => html`<small>${line}</small>`)}</span></td>`;
}
