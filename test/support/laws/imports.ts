/** Who may import whom: the table that CONTRIBUTING.md prints, and what breaks it. */
import ts from "typescript";

import { fileOfSpecifier } from "../sources.js";
import type { Source } from "../sources.js";

interface Area {
  readonly area: string;
  /** How CONTRIBUTING.md names it. */
  readonly title: string;
  readonly pattern: RegExp;
  /** Areas that it may import beside itself. */
  readonly may: readonly string[];
  /** Single files of other areas, and why these. */
  readonly files?: readonly (readonly [path: string, why: string])[];
  /** Files of others from which it may import types, and why. */
  readonly types?: readonly (readonly [path: string, why: string])[];
  /** Its files know nothing of each other. */
  readonly apart?: true;
}

const ENGINE = [
  "base",
  "lifecycle",
  "storage",
  "peppol",
  "events",
  "documents",
  "invoices",
  "sandbox",
  "identity",
  "lookup",
  "billing",
];

/** The first pattern that fits names the area of a file. */
export const IMPORT_LAW: readonly Area[] = [
  {
    area: "validators",
    title: "validators",
    pattern: /^validators\//,
    may: [],
    files: [
      ["engine/invoices/mapper/map.ts", "a source as large as its sender likes is mapped in a worker"],
      ["engine/invoices/mapper/as-json.ts", "so is UBL that becomes JSON, by the mapper's reader"],
    ],
    types: [
      ["engine/invoices/mapper/protocol.ts", "what the mapper is asked and answers"],
      ["engine/invoices/draft.ts", "the firm that would send an invoice"],
      ["engine/invoices/problems.ts", "what JSON cannot say is told in the words of the builder"],
    ],
  },
  { area: "base", title: "engine/base", pattern: /^engine\/base\//, may: [] },
  { area: "lifecycle", title: "engine/lifecycle", pattern: /^engine\/lifecycle\//, may: [] },
  { area: "storage", title: "engine/storage", pattern: /^engine\/storage\//, may: ["base", "lifecycle"] },
  {
    area: "events",
    title: "engine/events",
    pattern: /^engine\/events\//,
    may: ["base", "lifecycle", "storage"],
    files: [
      ["engine/peppol/network/outbound-address.ts", "where receivers of events may be is judged by the one guard"],
      ["engine/peppol/network/http.ts", "receivers are called by the one guarded client"],
      ["engine/peppol/envelope/identifiers.ts", "an event has a word for the type of its document"],
      ["engine/identity/audit.ts", "who changed a subscription is recorded like every other change"],
    ],
  },
  {
    area: "peppol",
    title: "engine/peppol",
    pattern: /^engine\/peppol\//,
    may: ["base", "lifecycle", "storage"],
    files: [
      ["validators/xml/tree.ts", "small signed documents (SOAP, SMP, SBDH) are read by one parser everywhere"],
      ["validators/xml/c14n.ts", "what is signed here and verified in a worker must be the same octets"],
      ["validators/wss/protocol.ts", "what a worker is asked to seal or open"],
      ["validators/pool.ts", "a message whose job killed a worker is told from one that cannot be opened"],
      ["validators/wss/keys.ts", "a key is handed to a worker in the form in which it is kept there"],
    ],
    types: [
      ["validators/responses.ts", "what a worker reads of a status or response is judged here"],
      ["validators/report.ts", "a worker that opens a message judges the document in it"],
    ],
  },
  {
    area: "documents",
    title: "engine/documents",
    pattern: /^engine\/documents\//,
    may: ["base", "lifecycle", "storage", "peppol", "events", "invoices"],
    files: [
      ["validators/pool.ts", "documents are judged in worker threads"],
      ["validators/protocol.ts", "what a worker is asked and answers"],
    ],
  },
  {
    area: "sandbox",
    title: "engine/sandbox",
    pattern: /^engine\/sandbox\//,
    may: ["base", "lifecycle", "peppol", "invoices"],
    types: [["validators/wss/protocol.ts", "a key as the workers take it"]],
  },
  {
    area: "invoices",
    title: "engine/invoices",
    pattern: /^engine\/invoices\//,
    may: ["base"],
    files: [["validators/xml/tree.ts", "the mapper's XML is read by the same parser"]],
  },
  {
    area: "identity",
    title: "engine/identity",
    pattern: /^engine\/identity\//,
    may: ["base", "lifecycle", "storage", "peppol"],
    files: [
      ["engine/billing/plans.ts", "a key and an account tell the firm's plan"],
      ["engine/billing/months.ts", "an account tells the usage of the month that is billed"],
    ],
  },
  {
    area: "lookup",
    title: "engine/lookup",
    pattern: /^engine\/lookup\//,
    may: ["base", "storage", "peppol"],
  },
  {
    area: "billing",
    title: "engine/billing",
    pattern: /^engine\/billing\//,
    may: ["base", "storage"],
  },
  { area: "embedded", title: "engine/embedded", pattern: /^engine\/embedded\//, may: ["base"] },
  {
    area: "actors",
    title: "actors",
    pattern: /^actors\//,
    may: ["base", "peppol", "events", "documents", "identity"],
    files: [
      ["engine/storage/sealer.ts", "a turn that lacks a key is told by the error of the sealer"],
      ["engine/storage/sql.ts", "a turn whose version was stale is told by the error of storage"],
    ],
  },
  {
    area: "routes",
    title: "gateway/routes",
    pattern: /^gateway\/routes\//,
    may: ["base", "lifecycle", "peppol", "events", "documents", "invoices", "sandbox", "identity", "lookup", "billing"],
    files: [
      ["gateway/contract/route.ts", "a route is a row"],
      ["gateway/contract/query.ts", "numbers, instants and ids of a request are read in one way"],
      ["gateway/contract/openapi.ts", "the documentation page shows what the rows say"],
      ["gateway/web/docs/reference.ts", "the documentation page is written by one renderer"],
      ["gateway/web/pages/desk.ts", "pages share one frame"],
      ["gateway/web/pages/languages.ts", "the language of a reader is found in one way"],
      ["gateway/web/pages/html.ts", "markup is made by escaping templates only"],
      ["gateway/web/pages/page.ts", "forms carry the same fields"],
      ["gateway/web/pages/presses.ts", "a form that is pressed twice is answered once"],
      ["gateway/web/pages/scopes.ts", "pages say scopes in words"],
      ["gateway/web/pages/visitor.ts", "a sign-in leads on to our own pages only"],
      ["gateway/web/console/cookie.ts", "operators' browsers have one cookie"],
      ["gateway/web/console/desk.ts", "pages of the console share one desk"],
      ["gateway/web/console/document.ts", "a document is shown to operators in one way"],
      ["gateway/web/console/draw.ts", "tables and forms of the console are drawn in one way"],
      ["gateway/web/console/frame.ts", "pages of the console share one frame"],
      ["gateway/web/console/mask.ts", "what operators see of an invoice is masked in one place"],
      ["gateway/web/console/overview.ts", "the heartbeat is drawn in one way"],
      ["validators/report.ts", "an answer carries findings, whose severities are a closed list"],
      ["validators/view/style.ts", "an invoice is shown under the policy that its style needs"],
    ],
    types: [
      ["gateway/web/pages/texts.ts", "a page names what it says"],
      ["gateway/web/docs/openapi-types.ts", "the documents as the renderer reads them"],
      ["gateway/web/console/heartbeat.ts", "the heartbeat as it is gathered and shown"],
      ["gateway/web/console/sections.ts", "tables of the console as they are gathered and shown"],
      ["engine/storage/documents/operations.ts", "operators see rows as storage gives them"],
      ["engine/storage/documents/received.ts", "a client sees items of the inbox as storage gives them"],
    ],
    apart: true,
  },
  {
    area: "root",
    title: "gateway/{main,cli}, gateway/{commands,start}",
    pattern: /^gateway\/((main|cli)\.ts$|(commands|start)\/)/,
    may: [...ENGINE, "embedded", "actors", "gateway", "routes", "validators", "bench"],
  },
  {
    area: "gateway",
    title: "gateway (what is left: http, request, contract, web)",
    pattern: /^gateway\//,
    may: ["base"],
    files: [
      ["engine/identity/caller.ts", "who calls"],
      ["engine/identity/identity.ts", "tokens are verified in the pipeline"],
      ["engine/lifecycle/document.ts", "a published error names the states of a document as the rows do"],
      ["validators/view/markup.ts", "pages and invoices are drawn by the same escaping templates"],
    ],
  },
  {
    area: "bench",
    title: "bench",
    pattern: /^bench\//,
    may: [...ENGINE, "embedded", "actors", "gateway", "routes", "validators", "root"],
  },
];

/** @returns the area of a file; undefined when no row of the law knows it. */
export const areaOf = (path: string): string | undefined => IMPORT_LAW.find(({ pattern }) => pattern.test(path))?.area;

/** The files from which `source` imports nothing but types. */
export function typeOnlyImports(source: Source): ReadonlySet<string> {
  const types = new Set<string>();
  const values = new Set<string>();
  for (const statement of source.file.statements) {
    if (!ts.isImportDeclaration(statement) || !ts.isStringLiteral(statement.moduleSpecifier)) continue;
    const target = fileOfSpecifier(source.path, statement.moduleSpecifier.text);
    (statement.importClause?.isTypeOnly === true ? types : values).add(target);
  }
  return new Set([...types].filter((target) => !values.has(target)));
}

/** What allows the import of `target`: `area`, `file <path>`, `types <path>`; undefined when nothing does. */
function allowanceOf(law: Area, source: Source, target: string): string | undefined {
  const other = areaOf(target);
  if (other === law.area && law.apart !== true) return "itself";
  if (other !== undefined && law.may.includes(other)) return other;
  if (law.files?.some(([path]) => path === target) === true) return target;
  const asTypes = law.types?.some(([path]) => path === target) === true && typeOnlyImports(source).has(target);
  return asTypes ? target : undefined;
}

/** Imports that the law does not allow. */
export function forbiddenImports(source: Source): string[] {
  const law = IMPORT_LAW.find(({ pattern }) => pattern.test(source.path));
  if (law === undefined) return [`${source.path}: no area of the import table`];
  return source.imports
    .filter((target) => allowanceOf(law, source, target) === undefined)
    .map((target) => `${source.path} (${law.area}) imports ${target} (${areaOf(target) ?? "no area"})`);
}

/** What the law allows and nobody needs. The areas that compose the others may import whatever there is. */
export function unusedAllowances(sources: readonly Source[]): string[] {
  return IMPORT_LAW.filter(({ area }) => area !== "root" && area !== "bench").flatMap((law) => {
    const used = new Set(
      sources
        .filter(({ path }) => areaOf(path) === law.area)
        .flatMap((source) => source.imports.map((target) => allowanceOf(law, source, target))),
    );
    const allowed = [...law.may, ...[...(law.files ?? []), ...(law.types ?? [])].map(([path]) => path)];
    return allowed.filter((what) => !used.has(what)).map((what) => `${law.area} may import ${what}, and does not`);
  });
}

/** The law as CONTRIBUTING.md shows it. */
export function importTable(): string {
  const titleOf = (area: string): string =>
    area === "root" ? "the parts that compose" : (IMPORT_LAW.find((law) => law.area === area)?.title ?? area);
  const rows = IMPORT_LAW.map((law) => {
    const single = (law.files ?? []).map(([path, why]) => `\`${path}\` (${why})`);
    const types = (law.types ?? []).map(([path, why]) => `types of \`${path}\` (${why})`);
    const areas = law.area === "root" || law.area === "bench" ? ["everything"] : law.may.map(titleOf);
    const cells = [...areas, ...single, ...types].join(", ");
    return `| ${law.title} | ${cells === "" ? "nothing of ours" : cells} | ${law.apart === true ? "no" : "yes"} |`;
  });
  return ["| From | May import | Its own files each other |", "|---|---|---|", ...rows].join("\n");
}

/** Chains of imports that lead back to where they began, type-only ones included. */
export function cycles(all: readonly Source[]): string[] {
  const graph = new Map(all.map((source) => [source.path, source.imports]));
  const state = new Map<string, "open" | "done">();
  const found: string[] = [];
  const visit = (path: string, trail: readonly string[]): void => {
    if (state.get(path) === "done") return;
    if (state.get(path) === "open") {
      found.push([...trail.slice(trail.indexOf(path)), path].join(" → "));
      return;
    }
    state.set(path, "open");
    for (const next of graph.get(path) ?? []) visit(next, [...trail, path]);
    state.set(path, "done");
  };
  for (const path of graph.keys()) visit(path, []);
  return found;
}
