/** A page of the API reference, written from one OpenAPI document: what it says is what the server's rows say. */
import { ERRORS } from "../../../engine/base/errors.js";
import { html } from "../pages/html.js";
import type { Fragment, Html } from "../pages/html.js";
import { operationsIn, parametersOf } from "./openapi-types.js";
import type { OpenApi, Parameter, PlacedOperation } from "./openapi-types.js";
import { exampleBody, samplesOf } from "./samples.js";
import { parameterTable, schemaTable } from "./schema-table.js";
import { described, inLine } from "./words.js";

/** One of the reference's pages. */
interface ReferencePage {
  readonly title: string;
  /** Path of the page and of its document. */
  readonly path: string;
  readonly documentPath: string;
  readonly document: OpenApi;
  /** The other pages: title and path. */
  readonly tabs: readonly (readonly [title: string, path: string])[];
  /** Where tokens of this interface are made. */
  readonly tokenPath: string;
  /** The column of the error catalogue that this interface's errors carry. */
  readonly codes: "sapi" | "enterprise";
}

const AUTHENTICATION = "Authentication";

/** Operations by their heading, in the order of the document; Authentication comes first. */
function chapters(document: OpenApi): readonly (readonly [name: string, operations: readonly PlacedOperation[]])[] {
  const names = [AUTHENTICATION, ...(document.tags ?? []).map(({ name }) => name)];
  return [...new Set(names)].map((name) => [
    name,
    operationsIn(document).filter(({ operation }) => operation.tags?.[0] === name),
  ]);
}

const anchorOf = (name: string): string => name.toLowerCase().replace(/[^a-z0-9]+/g, "-");

/** The way to a token: in words, and as a form that fills in every operation of the page. */
const tokenForm = (page: ReferencePage): Html =>
  html`<form class="token" data-token-path="${page.tokenPath}">
    <p>
      Exchange a key's id and secret for an access token; the operations of this page then use it. The sandbox prints
      demo credentials when it starts, and keeps them in <code>sandbox.json</code>.
    </p>
    <label>Client id <input name="client_id" autocomplete="off" required maxlength="128" /></label>
    <label
      >Client secret <input name="client_secret" type="password" autocomplete="off" required maxlength="256"
    /></label>
    <button>Get a token</button>
    <output role="status"></output>
  </form>`;

function field({ name, required, example, schema }: Parameter, place: string): Html {
  return html`<label
    ><code>${name}</code>
    <input
      name="${name}"
      data-place="${place}"
      ${required === true && html`required`}
      ${name === "Idempotency-Key" && html`data-fresh="uuid"`}
      placeholder="${String(example ?? schema?.format ?? "")}"
  /></label>`;
}

/** Sends the operation from the page itself. */
function tryIt(page: ReferencePage, placed: PlacedOperation): Html {
  const { method, path, operation } = placed;
  const body = exampleBody(page.document, placed);
  const fields = parametersOf(page.document, operation).filter(({ name }) => name !== "X-Request-Id");
  return html`<details class="try">
    <summary>Try it</summary>
    <form
      data-method="${method}"
      data-path="${path}"
      data-secured="${(operation.security ?? []).length > 0 ? "yes" : "no"}"
      ${body !== undefined && html`data-type="${body.type}" data-example="${body.text}"`}
    >
      ${fields.map((parameter) => field(parameter, parameter.in))}
      ${
        body !== undefined &&
        html`<label>Body <textarea name="body" rows="8" spellcheck="false" data-place="body"></textarea></label>
          <button type="button" class="second" data-fill>Fill example</button>`
      }
      <button>Send</button>
      <pre tabindex="0" aria-live="polite" hidden></pre>
    </form>
  </details>`;
}

const samples = (page: ReferencePage, placed: PlacedOperation): Html =>
  html`<details class="samples">
    <summary>Samples</summary>
    ${Object.entries(samplesOf(page.document, placed)).map(
      ([language, text]) =>
        html`<h4>${language}</h4>
          <pre tabindex="0"><code>${text}</code></pre>`,
    )}
  </details>`;

function answers(page: ReferencePage, { operation }: PlacedOperation): Html {
  return html`<h4>Answers</h4>
    ${Object.entries(operation.responses).map(([status, { description, content }]) => {
      const schema = Number(status) < 300 ? Object.values(content ?? {})[0]?.schema : undefined;
      return html`<div class="answer">
          <strong>${status}</strong>
          <div>${described(description)}</div>
        </div>
        ${schemaTable(page.document, `Answer ${status}`, schema)}`;
    })}`;
}

function operationSection(page: ReferencePage, placed: PlacedOperation): Html {
  const { method, path, operation } = placed;
  const media = Object.values(operation.requestBody?.content ?? {})[0];
  return html`<section class="operation" id="${operation.operationId}">
    <h3><a href="#${operation.operationId}">${operation.summary}</a></h3>
    <p class="call"><span class="method ${method.toLowerCase()}">${method}</span> <code>${path}</code></p>
    ${described(operation.description)} ${parameterTable("Parameters", parametersOf(page.document, operation))}
    ${schemaTable(page.document, "Members of the body", media?.schema)} ${answers(page, placed)}
    ${samples(page, placed)} ${tryIt(page, placed)}
  </section>`;
}

/** Every code that this interface's errors can carry. */
function errorCatalogue(codes: ReferencePage["codes"]): Html {
  const rows = new Map<string, Html>();
  for (const error of Object.values(ERRORS)) {
    const key = `${error[codes]} ${error.message}`;
    rows.set(
      key,
      html`<tr>
        <th scope="row"><code>${error[codes]}</code></th>
        <td>${error.status}</td>
        <td>${(codes === "sapi" ? error.sapiRetryable : error.retryable) ? "yes" : "no"}</td>
        <td>${error.message}</td>
      </tr>`,
    );
  }
  return html`<section id="errors">
    <h2>Errors</h2>
    <p>
      Every error is an object <code>error</code> with a stable <code>code</code> and a sentence. A repeat of the same
      request helps only where the catalogue says so; <code>Retry-After</code> then says when.
    </p>
    <div class="table" tabindex="0" role="group" aria-label="Error catalogue">
      <table>
        <caption>
          Error catalogue
        </caption>
        <thead>
          <tr>
            <th scope="col">Code</th>
            <th scope="col">Status</th>
            <th scope="col">Repeat</th>
            <th scope="col">Meaning</th>
          </tr>
        </thead>
        <tbody>
          ${[...rows].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, row]) => row)}
        </tbody>
      </table>
    </div>
  </section>`;
}

function menu(page: ReferencePage): Html {
  const link = ({ method, operation }: PlacedOperation): Fragment =>
    html`<li>
      <a href="#${operation.operationId}"
        ><span class="method ${method.toLowerCase()}">${method}</span> ${operation.summary}</a
      >
    </li>`;
  return html`<nav id="menu" aria-label="Operations">
    ${chapters(page.document).map(
      ([name, operations]) =>
        html`<p><a href="#${anchorOf(name)}">${name}</a></p>
          <ul>
            ${operations.map(link)}
          </ul>`,
    )}
    <p><a href="#errors">Errors</a></p>
  </nav>`;
}

function chapter(page: ReferencePage, name: string, operations: readonly PlacedOperation[]): Html {
  const words = page.document.tags?.find((tag) => tag.name === name)?.description;
  return html`<section id="${anchorOf(name)}">
    <h2>${name}</h2>
    ${described(words)} ${name === AUTHENTICATION && tokenForm(page)}
    ${operations.map((placed) => operationSection(page, placed))}
  </section>`;
}

/** The page as text. */
export function referencePage(page: ReferencePage): string {
  const { info } = page.document;
  const whole = html`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <meta name="color-scheme" content="light dark" />
        <title>${page.title} – API reference</title>
        <link rel="icon" href="/docs/assets/icon.svg" type="image/svg+xml" />
        <link rel="stylesheet" href="/docs/assets/docs.css" />
        <script src="/docs/assets/docs.js" defer></script>
      </head>
      <body>
        <a class="skip" href="#content">Skip to the content</a>
        <header>
          <a class="brand" href="/"
            ><img src="/docs/assets/icon.svg" alt="" width="28" height="28" /><span>Kurier</span></a
          >
          <nav aria-label="Interfaces">
            ${page.tabs.map(
              ([title, path]) =>
                html`<a href="${path}" ${path === page.path && html`aria-current="page"`}>${title}</a>`,
            )}
          </nav>
          <a class="source" href="${page.documentPath}">OpenAPI 3.0.3</a>
          <button class="menu" type="button" aria-controls="menu" aria-expanded="false">Menu</button>
        </header>
        <div class="columns">
          ${menu(page)}
          <main id="content">
            <h1>${info.title}</h1>
            <p class="version">Contract version ${inLine(info.version)}</p>
            ${described(info.description)}
            <p>
              Samples read the address of this server from <code>KURIER_URL</code> (here <code data-origin></code>) and
              the access token from <code>TOKEN</code>. Whole programs are in <a href="/docs/guide">the guide</a>; what
              is wrong with a document <a href="/validate">the validator</a> says without a token.
            </p>
            ${chapters(page.document).map(([name, operations]) => chapter(page, name, operations))}
            ${errorCatalogue(page.codes)}
          </main>
        </div>
      </body>
    </html>`;
  return whole.text;
}
