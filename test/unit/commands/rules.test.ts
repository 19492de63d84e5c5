/** `kurier rules import|list|verify|activate|deactivate`. @source design/interface.md, Command line: rules */
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";

import { invoiceWithLines } from "../../../bench/documents.js";
import { archiveOf } from "../../fuzz/targets.js";
import { conformance, describeConformance } from "../../support/conformance.js";
import { builtInSet, likeSchema } from "../../support/validators/pack-like.js";
import { kurier } from "./kurier.js";
import type { Ran } from "./kurier.js";

const HOUSE =
  '<schema xmlns="http://purl.oclc.org/dsdl/schematron" queryBinding="xslt2"><ns prefix="i" uri="urn:oasis:names:specification:ubl:schema:xsd:Invoice-2"/><ns prefix="cbc" uri="urn:oasis:names:specification:ubl:schema:xsd:CommonBasicComponents-2"/><pattern><rule context="i:Invoice"><assert id="HOUSE-01" flag="fatal" test="starts-with(cbc:ID, \'HOUSE-\')">House number.</assert></rule></pattern></schema>';

let folder: string;
let packs: string;
const rules = (...args: string[]): Promise<Ran> => kurier(["rules", ...args], { env: { RULES_DIR: packs } });
const place = (name: string, content: string | Uint8Array): string => {
  writeFileSync(join(folder, name), content);
  return join(folder, name);
};

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "kurier-rules-"));
  packs = mkdtempSync(join(folder, "packs-"));
});
afterAll(() => {
  rmSync(folder, { recursive: true, force: true });
});

test("import compiles a release, says what it holds, and activates it when told; list shows it; deactivate turns it off", async () => {
  const zip = place("house rules.zip", archiveOf({ "house.sch": HOUSE }));
  const imported = await rules("import", zip, "--mandatory-from", "2026-01-01");
  expect([imported.code, imported.err]).toEqual([0, ""]);
  expect(imported.out).toMatch(/house\.sch: layer pack:house-rules, 1 patterns, 1 rules, 1 asserts\n/u);
  expect(imported.out).toContain("kurier rules activate house-rules");
  expect((await rules("list")).out).toMatch(/imported +house-rules +inactive +mandatory from 2026-01-01/u);
  const asked = await rules("activate", "house-rules");
  expect([asked.code, asked.err]).toEqual([
    2,
    "Nobody is there to agree; repeat with --yes to activate house-rules.\n",
  ]);
  expect(asked.out).toBe("every document  + 1 rules of house.sch from 2026-01-01, on top of the built-in rules\n");
  expect((await rules("list")).out).toMatch(/imported +house-rules +inactive/u);
  expect((await rules("activate", "house-rules", "--yes")).code).toBe(0);
  const listed = await rules("list");
  expect(listed.out).toMatch(/imported +house-rules +active/u);
  expect(listed.out).toMatch(/built-in +peppol-billing +3\.0\.21 +mandatory from 2026-08-17/u);
  expect((await rules("deactivate", "house-rules")).code).toBe(0);
  expect((await rules("list")).out).toMatch(/imported +house-rules +inactive/u);
});

test("rules that are in force stay so while their pack is imported again, until the operator has agreed to the new ones", async () => {
  const zipOf = (name: string) => place("in force.zip", archiveOf({ "house.sch": HOUSE.replace("HOUSE-01", name) }));
  const stamp = (): string => readFileSync(join(packs, "in-force", "manifest.json"), "utf8");
  expect((await rules("import", zipOf("HOUSE-11"), "--activate", "--yes")).code).toBe(0);
  const [before, listed] = [stamp(), readdirSync(packs)];
  const again = zipOf("HOUSE-12");
  expect(await rules("import", again)).toEqual({
    code: 2,
    out: "",
    err: "in-force is active: import it with --activate, or under another name with --id.\n",
  });
  const asked = await rules("import", again, "--activate");
  expect([asked.code, asked.err]).toEqual([2, "Nobody is there to agree; repeat with --yes to activate in-force.\n"]);
  expect([stamp(), readdirSync(packs)]).toEqual([before, listed]);
  const done = await rules("import", again, "--activate", "--yes");
  expect([done.code, done.err]).toEqual([0, ""]);
  expect(done.out).toContain("in-force is active; running engines take it up within seconds.\n");
  expect((await rules("list")).out).toMatch(/imported +in-force +active/u);
  expect([stamp() === before, readdirSync(packs)]).toEqual([false, listed]);
  expect((await rules("deactivate", "in-force")).code).toBe(0);
});

describe("import refuses by name and place, and leaves nothing behind", () => {
  test.each([
    [
      "a construct that is not supported",
      () => place("f.zip", archiveOf({ "a/f.sch": HOUSE.replace("starts-with(cbc:ID, 'HOUSE-')", "document('x')") })),
      /a\/f\.sch:1: .*document/u,
    ],
    ["XML that ends too early", () => place("g.zip", archiveOf({ "g.sch": HOUSE.slice(0, -20) })), /g\.sch:1: /u],
    [
      "an archive that names a file outside of itself",
      () => place("h.zip", archiveOf({ "../h.sch": HOUSE })),
      /names a file outside of itself/u,
    ],
    [
      "an archive without rules",
      () => place("i.zip", archiveOf({ "readme.txt": "hello" })),
      /no Schematron, XSD or XML file/u,
    ],
    ["what is no archive", () => place("j.zip", "hello"), /ZIP archive/u],
    ["what is not there", () => join(folder, "missing.zip"), /missing\.zip does not exist/u],
    ["what would lie behind a file", () => join(place("k", ""), "release"), /^release does not exist\.$/mu],
  ])(
    "an import is refused by name and place, and leaves nothing behind: %s: exit 2 and one sentence",
    async (_, make, sentence) => {
      const before = readdirSync(packs);
      const { code, out, err } = await rules("import", make());
      expect([code, out]).toEqual([2, ""]);
      expect(err).toMatch(sentence);
      expect(err.trimEnd().split("\n")).toHaveLength(1);
      expect(readdirSync(packs)).toEqual(before);
    },
  );
});

test.each([
  ["without RULES_DIR", ["import", "x"], {}],
  ["without a source", ["import"], undefined],
  ["activate of nothing", ["activate"], undefined],
  ["activate of an unknown pack", ["activate", "nobody"], undefined],
  ["verify without documents", ["verify", "house"], undefined],
])("a wrong call of the command is told: %s: exit 2 and a sentence", async (_, args, env) => {
  const { code, out, err } = await kurier(["rules", ...args], { env: env ?? { RULES_DIR: packs } });
  expect([code, out]).toEqual([2, ""]);
  expect(err).toMatch(/^[^\n]+\.\n$/u);
});

test("a release that lacks built-in rules is named as such by import and verify, and its activation says what changes", async () => {
  const ids = builtInSet("en16931")
    .catalogue.map(({ id }) => id)
    .filter((id) => id !== "BR-CO-15" && id !== "BR-S-08");
  const source = place("like.zip", archiveOf({ "like.sch": likeSchema({ ids }) }));
  const imported = await rules("import", source);
  expect(imported.out).toContain("like.sch lacks 2 of the 979 rules of en16931 1.3.16 (BR-CO-15, BR-S-08).");
  const ours = place("sum.xml", invoiceWithLines(1));
  const verified = await rules("verify", "like", ours);
  expect([verified.code, verified.out.trimEnd().split("\n").at(-1)]).toEqual([
    1,
    "1 comparisons over 1 files, 0 differences, 2 rules lacking.",
  ]);
  const activated = await rules("activate", "like", "--yes");
  expect(activated.out).toContain("Invoice  + 977 rules of like.sch, on top of the built-in rules\n");
  await rules("import", source, "--id", "less", "--without", "BR-CO-15,BR-S-08");
  expect((await rules("activate", "less", "--yes")).out).toContain(
    "Invoice  like.sch takes the place of en16931 1.3.16: 0 rules more, 2 less (BR-CO-15, BR-S-08)\n",
  );
  expect((await rules("verify", "house-rules", ours)).code).toBe(1);
});

describeConformance("an official release", "schematron/peppol-3.0.21", () => {
  test("an official release is recognised by its hashes, and verify finds no difference to the built-in rules; to an older release it finds those of the code lists", async () => {
    const imported = await rules("import", conformance("schematron", "peppol-3.0.21"));
    expect(imported.out).toMatch(/PEPPOL-EN16931-UBL\.sch: layer peppol, 13 patterns, \d+ rules, 165 asserts/u);
    expect(imported.out).toContain("(Peppol BIS Billing 3.0.21)");
    const documents = conformance("documents", "peppol-3.0.21");
    const verified = await rules("verify", "peppol-3.0.21", documents);
    expect([verified.code, verified.out.trimEnd().split("\n").at(-1)]).toEqual([
      0,
      expect.stringMatching(/^20 comparisons over 10 files, 0 differences, 0 rules lacking\.$/u),
    ]);
    await rules("import", conformance("schematron", "peppol-3.0.19"));
    const older = await rules("verify", "peppol-3.0.19", place("ours.xml", invoiceWithLines(1)));
    expect(older.code).toBe(1);
    expect(older.out).toMatch(/ours\.xml: PEPPOL-EN16931-CL008 at .+: built-in 0, peppol-3\.0\.19 1\n/u);
  });
});
