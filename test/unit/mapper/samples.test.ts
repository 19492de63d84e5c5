/**
 * Goal: sources as programs and people write them become the document that they mean, or the issue that says what is
 * doubtful. Method: samples in eight shapes, each folder with what is expected of its files.
 */
import { readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";

import { connectorCreateBody } from "../../../engine/invoices/connector/create-body.js";
import { mapSource } from "../../../engine/invoices/mapper/map.js";
import type { MapInput, SourceType } from "../../../engine/invoices/mapper/protocol.js";
import { OWN_FIRM } from "../../support/documents/json-invoices.js";

const SAMPLES = fileURLToPath(new URL("../../fixtures/mapper/", import.meta.url));
const SHAPES: Readonly<Record<string, SourceType>> = {
  "json-nested": "json",
  "json-flat": "json",
  "csv-rows": "csv",
  "csv-blocks": "csv",
  "xml-ubl": "xml",
  "xml-programs": "xml",
  text: "text",
  "pdf-text": "pdf_text",
};

interface Expected {
  readonly fieldMap?: MapInput["fieldMap"];
  readonly defaults?: MapInput["defaults"];
  /** The rule by which the source is refused. */
  readonly unreadable?: string;
  readonly ready?: boolean;
  readonly document?: unknown;
  /** Errors and warnings, `code field`. */
  readonly issues?: readonly string[];
  readonly unmapped?: readonly string[];
}

const read = (path: string): string => readFileSync(SAMPLES + path, "utf8");
const expectationsOf = (shape: string): Readonly<Record<string, Expected>> =>
  JSON.parse(read(`${shape}/expected.json`)) as Readonly<Record<string, Expected>>;
const filesOf = (shape: string): readonly string[] =>
  readdirSync(SAMPLES + shape).filter((name) => name !== "expected.json");

function map(shape: string, file: string, { fieldMap = {}, defaults = {} }: Expected) {
  const sourceType = SHAPES[shape] ?? "json";
  const source = read(`${shape}/${file}`);
  const [sourceText, sourceJson] =
    sourceType === "json" ? [undefined, JSON.parse(source) as unknown] : [source, undefined];
  return mapSource({ sourceType, sourceText, sourceJson, customerRef: "customer", fieldMap, defaults, own: OWN_FIRM });
}

describe.each(Object.keys(SHAPES))("the samples %s", (shape) => {
  test.each(Object.entries(expectationsOf(shape)))("%s becomes what is expected of it", (file, expected) => {
    const mapped = map(shape, file, expected);
    if (mapped.kind === "unreadable") {
      expect(mapped.ruleId).toBe(expected.unreadable);
      return;
    }
    const doubts = mapped.issues
      .filter(({ severity }) => severity !== "information")
      .map(({ code, field = "" }) => `${code} ${field}`);
    expect({ ready: mapped.ready, document: mapped.document, issues: doubts, unmapped: mapped.unmapped }).toEqual({
      ready: expected.ready,
      document: expected.document,
      issues: expected.issues,
      unmapped: expected.unmapped,
    });
    // What is ready is a create body; what is not sure has an issue.
    expect(mapped.ready).toBe(doubts.length === 0 && connectorCreateBody.safeParse(mapped.document).success);
    const isDoubtful = Object.values(mapped.confidence).some((confidence) => confidence < 0.8);
    if (isDoubtful) expect(doubts).not.toEqual([]);
  });

  test("each sample has an expectation", () => {
    expect(Object.keys(expectationsOf(shape)).sort()).toEqual([...filesOf(shape)].sort());
  });
});

test("there are sixty samples, in eight shapes", () => {
  const shapes = Object.keys(SHAPES);
  expect(shapes).toHaveLength(8);
  expect(shapes.flatMap(filesOf)).toHaveLength(60);
});
