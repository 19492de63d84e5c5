/** Small releases that look like official ones, made from the ids of the built-in rules. */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { builtInSets } from "../../../validators/selection/builtin.js";
import type { RuleSet } from "../../../validators/rules/rule.js";
import { NS } from "../../../validators/xml/names.js";

/** The built-in rule set of an id. */
export function builtInSet(id: string): RuleSet {
  const found = builtInSets().find(({ rules }) => rules.id === id);
  if (found === undefined) throw new Error(`there is no built-in rule set ${id}`);
  return found.rules;
}

export interface LikeSchema {
  /** Ids of asserts that always hold. */
  readonly ids: readonly string[];
  /** Flag of those asserts; default as in the built-in rules would be fatal. */
  readonly flag?: "fatal" | "warning";
  /** Asserts written out. */
  readonly asserts?: string;
  /** CustomizationID that the schema tests for. */
  readonly customization?: string;
}

/** A Schematron schema for invoices. */
export const likeSchema = ({ ids, flag = "fatal", asserts = "", customization }: LikeSchema): string =>
  `<schema xmlns="http://purl.oclc.org/dsdl/schematron" queryBinding="xslt2"><title>like</title>
<ns prefix="i" uri="${NS.Invoice}"/><ns prefix="cbc" uri="${NS.cbc}"/><ns prefix="cac" uri="${NS.cac}"/>
${customization === undefined ? "" : `<let name="cius" value="'${customization}'"/>`}
<pattern><rule context="/i:Invoice">
${[...new Set(ids)].map((id) => `<assert id="${id}" flag="${flag}" test="true()">${id}</assert>`).join("\n")}
${customization === undefined ? "" : '<assert id="LIKE-CIUS" flag="fatal" test="starts-with(normalize-space(cbc:CustomizationID), $cius)">cius</assert>'}
${asserts}</rule></pattern></schema>`;

/** Writes the files of a release into a folder. @returns the folder */
export function writeLikeRelease(folder: string, files: Readonly<Record<string, string>>): string {
  mkdirSync(folder, { recursive: true });
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text);
  return folder;
}
