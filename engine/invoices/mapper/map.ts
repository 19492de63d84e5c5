/** The task of a worker: one source becomes one create body. */
import { connectorCreateBody } from "../connector/create-body.js";
import { LIMITS } from "../../base/limits.js";
import { Collection, headField, LOOK_AT } from "./collect.js";
import { defaultsOf } from "./defaults.js";
import { derive } from "./derive.js";
import { documentOf, HEAD_MEMBERS, isCopied, LINE_MEMBERS, numberOf } from "./document.js";
import { judgeDocument } from "./judge.js";
import { readCsv } from "./sources/read-csv.js";
import { readText } from "./sources/read-text.js";
import { readXml } from "./sources/read-xml.js";
import { readJson } from "./sources/json.js";
import { CERTAINTY, kindOfTarget } from "./names.js";
import type { MapInput, Mapped, MapOutput, SourceType } from "./protocol.js";
import { Dictionary } from "./sources/reading.js";
import type { Reading } from "./sources/reading.js";
import { UnreadableSource } from "./sources/unreadable.js";

interface Read {
  readonly reading: Reading;
  readonly dictionary: Dictionary;
}

const READERS: Readonly<Record<SourceType, (input: MapInput) => Read>> = {
  csv: ({ sourceText = "", fieldMap }) => {
    const dictionary = new Dictionary(fieldMap);
    return { reading: readCsv(sourceText, dictionary), dictionary };
  },
  text: textOf,
  pdf_text: textOf,
  xml: readXml,
  json: ({ sourceJson, fieldMap }) => {
    const dictionary = new Dictionary(fieldMap);
    return { reading: readJson(sourceJson, dictionary), dictionary };
  },
};

function textOf({ sourceText = "", fieldMap }: MapInput): Read {
  const dictionary = new Dictionary(fieldMap);
  return { reading: readText(sourceText, dictionary), dictionary };
}

/** Maps a source. What is wrong with it is told in the answer; nothing of it is thrown. */
export function mapSource(input: MapInput): MapOutput {
  try {
    const { reading, dictionary } = READERS[input.sourceType](input);
    return assemble(new Collection(reading, input.own), dictionary, input);
  } catch (error) {
    if (!(error instanceof UnreadableSource)) throw error;
    return { kind: "unreadable", ruleId: error.ruleId, message: error.message };
  }
}

function assemble(members: Collection, dictionary: Dictionary, input: MapInput): Mapped {
  for (const [target, source] of dictionary.unused()) members.tell("FIELD_MAP_UNUSED", { field: target, source });
  takeDefaults(members, input);
  derive(members);
  judgeDocument(members, bodyOf(members, input.customerRef), input.own);
  tellUncertain(members);
  const document = bodyOf(members, input.customerRef);
  const { issues, unmapped } = members;
  const isDoubtful = issues.some(({ severity }) => severity !== "information");
  return {
    kind: "mapped",
    document,
    ready: !isDoubtful && connectorCreateBody.safeParse(document).success,
    confidence: confidenceOf(members),
    unmapped: unmapped.filter((_, at) => at < LIMITS.mapper_unmapped_max),
    issues: issues.filter((_, at) => at < LIMITS.mapper_issues_max),
    omitted:
      Math.max(0, unmapped.length - LIMITS.mapper_unmapped_max) + Math.max(0, issues.length - LIMITS.mapper_issues_max),
  };
}

const bodyOf = (members: Collection, customerRef: string): Readonly<Record<string, unknown>> => ({
  customerRef,
  ...documentOf(members, numberOf),
});

function takeDefaults(members: Collection, { defaults }: MapInput): void {
  for (const { target, value } of defaultsOf(defaults)) {
    const kind = kindOfTarget(target);
    if (kind === undefined) continue;
    const name = target.replace(/^lines\[\]\./u, "").replace("recipient.address.", "recipient.");
    const holders = target.startsWith("lines[]") ? members.lines : [undefined];
    for (const line of holders)
      if (!(line ?? members.head).has(name))
        members.take({ target: name, kind, certainty: CERTAINTY.stated, source: `defaults.${target}`, value }, line);
  }
}

/** Doubts of a whole column are told once. */
function tellUncertain(members: Collection): void {
  const told = new Set(members.issues.map(({ field }) => field));
  for (const [target, { certainty, source }] of members.head)
    if (isCopied(HEAD_MEMBERS, target) && certainty < LOOK_AT && !told.has(headField(target)))
      members.tell("UNCERTAIN", { field: headField(target), source });
  for (const line of members.lines)
    for (const [target, { certainty, source }] of line)
      if (isCopied(LINE_MEMBERS, target) && certainty < LOOK_AT && !told.has(members.fieldOf(target, line)))
        members.tell("UNCERTAIN", {
          field: members.lines.length === 1 ? `lines[0].${target}` : `lines[].${target}`,
          source,
        });
}

function confidenceOf(members: Collection): Readonly<Record<string, number>> {
  const head = [...members.head].filter(([target]) => isCopied(HEAD_MEMBERS, target));
  const lines = members.lines.flatMap((line) =>
    [...line]
      .filter(([target]) => isCopied(LINE_MEMBERS, target))
      .map(([target, { certainty }]) => [members.fieldOf(target, line), certainty] as const),
  );
  return Object.fromEntries([
    ...head.map(([target, { certainty }]) => [headField(target), certainty] as const),
    ...lines,
  ]);
}
