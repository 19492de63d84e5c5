/** `kurier validate` to the letter. @source design/interface.md, Command line: validate */
import { spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, test } from "vitest";

import { invoiceWithLines } from "../../../bench/documents.js";
import { importRules } from "../../../validators/schematron/release/import.js";
import { setActive } from "../../../validators/schematron/release/load.js";
import { conformance, describeConformance } from "../../support/conformance.js";
import { buildIfNeeded } from "../../../deploy/build.mjs";
import { eventually } from "../../support/eventually.js";
import { kurier } from "./kurier.js";

const VALID = invoiceWithLines(2).toString();
const WARNED = VALID.replace("<cbc:IssueDate>", "<cbc:UUID>1</cbc:UUID><cbc:IssueDate>");
const BROKEN = VALID.replace(/(<cbc:PayableAmount currencyID="EUR">)[^<]*/u, "$11.00");
const MISORDERED = VALID.replace("<cbc:BuyerReference>", "<cbc:Unheard>x</cbc:Unheard><cbc:BuyerReference>");
const FRAGMENT =
  '<Invoice xmlns="urn:oasis:names:specification:ubl:schema:xsd:Invoice-2"><cac:InvoiceLine xmlns:cac="urn:oasis:names:specification:ubl:schema:xsd:CommonAggregateComponents-2"/></Invoice>';
const HOUSE =
  '<schema xmlns="http://purl.oclc.org/dsdl/schematron" queryBinding="xslt2"><ns prefix="i" uri="urn:oasis:names:specification:ubl:schema:xsd:Invoice-2"/><ns prefix="cbc" uri="urn:oasis:names:specification:ubl:schema:xsd:CommonBasicComponents-2"/><pattern><rule context="i:Invoice"><assert id="HOUSE-01" flag="fatal" test="starts-with(cbc:ID, \'HOUSE-\')">House number.</assert></rule></pattern></schema>';

interface Line {
  file: string;
  valid: boolean;
  durationMs: number;
  findings: { ruleId: string; layer: string; severity: string; location: string; line: number; message: string }[];
}
const lines = (out: string): Line[] =>
  out
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line) as Line);

let folder: string;
const file = (name: string): string => join(folder, name);
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "kurier-validate-"));
  for (const [name, text] of Object.entries({
    "valid.xml": VALID,
    "warned.xml": WARNED,
    "broken.xml": BROKEN,
    "misordered.xml": MISORDERED,
    "fragment.xml": FRAGMENT,
    "bad.xml": "<a>",
  }))
    writeFileSync(file(name), text);
});
afterAll(() => {
  rmSync(folder, { recursive: true, force: true });
});

describe("exit code", () => {
  test("exit code 2 when a folder has nothing to judge, also beside files that are valid", async () => {
    const none = join(folder, "none");
    mkdirSync(none, { recursive: true });
    writeFileSync(join(none, "letter.txt"), "x");
    const says = `There are no .xml files below ${none}.\n`;
    expect(await kurier(["validate", none])).toEqual({ code: 2, out: "", err: says });
    const both = await kurier(["validate", none, file("valid.xml")]);
    expect([both.code, both.err]).toEqual([2, says]);
    expect(both.out).toMatch(/^1 checked, all valid\.$/m);
  });
  test("exit code 0 when all are valid, also with warnings; the summary comes last", async () => {
    const { code, out, err } = await kurier(["validate", file("valid.xml"), file("warned.xml")]);
    expect([code, err]).toEqual([0, ""]);
    expect(out.trimEnd().split("\n").at(-1)).toBe("2 checked, all valid.");
    expect(out).toMatch(/warned\.xml:\d+:\d+: warning UBL-CR-005 .+ \/Invoice\/cbc:[A-Za-z]+\n/u);
  });

  test("exit code 1 when there is a finding of severity fatal or error in any file; one line per finding", async () => {
    const { code, out } = await kurier(["validate", file("valid.xml"), file("broken.xml"), file("misordered.xml")]);
    expect(code).toBe(1);
    const told = out.trimEnd().split("\n");
    expect(told.filter((line) => line.includes("broken.xml:"))).toEqual([expect.stringMatching(/fatal BR-CO-16 /u)]);
    expect(told.filter((line) => line.includes("misordered.xml:"))).toEqual([
      expect.stringMatching(/error UBL-GRAMMAR-UNEXPECTED /u),
    ]);
    expect(told.at(-1)).toBe("3 checked, 2 invalid.");
  });

  test("exit code 2 for a file that cannot be read, whatever the others say, and those are checked all the same", async () => {
    const { code, out, err } = await kurier(["validate", file("missing.xml"), file("broken.xml")]);
    expect([code, out.trimEnd().split("\n").at(-1)]).toEqual([2, "1 checked, 1 invalid, 1 unreadable."]);
    expect(err).toBe(`${file("missing.xml")} cannot be read (ENOENT).\n`);
  });

  test("a name behind a file as if that were a folder is unreadable alone, and the others are checked", async () => {
    const behind = join(file("valid.xml"), "a.xml");
    const { code, out, err } = await kurier(["validate", behind, file("broken.xml")]);
    expect([code, err]).toEqual([2, `${behind} cannot be read (ENOTDIR).\n`]);
    expect(out.trimEnd().split("\n").at(-1)).toBe("1 checked, 1 invalid, 1 unreadable.");
  });

  test("links in a folder lead to documents that are checked, never to folders, and one that leads nowhere is told", async () => {
    const linked = join(folder, "linked");
    mkdirSync(linked, { recursive: true });
    symlinkSync(file("broken.xml"), join(linked, "a.xml"));
    symlinkSync(linked, join(linked, "b.xml"));
    symlinkSync(file("gone.xml"), join(linked, "c.xml"));
    const { code, out, err } = await kurier(["validate", linked]);
    expect([code, err]).toEqual([2, `${join(linked, "c.xml")} cannot be read (ENOENT).\n`]);
    expect(out.trimEnd().split("\n").at(-1)).toBe("1 checked, 1 invalid, 1 unreadable.");
  });

  test("a name that is no UTF-8 is said to be none, with what judges the file, whether it is named or found", async () => {
    const odd = join(folder, "odd");
    mkdirSync(odd, { recursive: true });
    const name = Buffer.concat([Buffer.from(`${odd}/caf`), Buffer.from([0xe9]), Buffer.from(".xml")]);
    writeFileSync(name, VALID);
    const says = `${odd}/caf\uFFFD.xml cannot be read, for its name is no UTF-8; kurier validate - < FILE judges it.\n`;
    for (const named of [odd, name.toString()])
      expect(await kurier(["validate", named])).toEqual({ code: 2, out: "0 checked, 1 unreadable.\n", err: says });
  });

  test.each([
    ["no file", []],
    ["an unknown option", ["--colour", "x.xml"]],
    ["an unknown layer", ["--layer", "schema,utf8", "valid.xml"]],
    ["--layer without names", ["valid.xml", "--layer"]],
    ["rules that are not there", ["valid.xml", "--rules", "/nowhere/at/all"]],
  ])("exit code 2 for %s, with a sentence on standard error and nothing else", async (_, args) => {
    const { code, out, err } = await kurier([
      "validate",
      ...args.map((arg) => (arg === "valid.xml" ? file(arg) : arg)),
    ]);
    expect([code, out]).toEqual([2, ""]);
    expect(err).toMatch(/^[^\n]+\.\n$/u);
    expect(err).not.toMatch(/at .+:\d+:\d+/u);
  });
});

describe("--json", () => {
  test("--json writes one object a file and line, with exactly the promised members, and no other output", async () => {
    const { code, out } = await kurier(["validate", "--json", file("valid.xml"), file("broken.xml"), file("bad.xml")]);
    const all = lines(out);
    expect([code, all.length]).toEqual([1, 3]);
    for (const verdict of all)
      expect(Object.keys(verdict)).toEqual(["file", "valid", "profile", "ruleSet", "durationMs", "findings"]);
    expect(all.map(({ file: name, valid }) => [name, valid])).toEqual([
      [file("valid.xml"), true],
      [file("broken.xml"), false],
      [file("bad.xml"), false],
    ]);
    for (const finding of all.flatMap(({ findings }) => findings))
      expect(Object.keys(finding).filter((key) => key !== "btIds" && key !== "value")).toEqual([
        "ruleId",
        "layer",
        "severity",
        "location",
        "line",
        "column",
        "message",
      ]);
    expect(all[1]?.findings).toMatchObject([
      {
        ruleId: "BR-CO-16",
        layer: "en16931",
        severity: "fatal",
        location: "/Invoice/cac:LegalMonetaryTotal",
        line: expect.any(Number) as unknown,
      },
    ]);
    expect(all[2]?.findings).toMatchObject([{ ruleId: "XML-TRUNCATED", layer: "xml", severity: "fatal" }]);
    expect(all.every(({ durationMs }) => durationMs > 0)).toBe(true);
  });

  test("business terms stand with the findings that have them, and omitted counts what is not listed", async () => {
    const [broken] = lines((await kurier(["validate", "--json", file("broken.xml")])).out);
    expect((broken?.findings[0] as { btIds?: string[] } | undefined)?.btIds).toContain("BT-115");
    const empties = VALID.replace("<cbc:BuyerReference>", `${"<cbc:Note/>".repeat(400)}<cbc:BuyerReference>`);
    const [many] = lines((await kurier(["validate", "--json", "-"], { input: empties })).out);
    expect((many as { omitted?: number } | undefined)?.omitted).toBeGreaterThan(0);
  });

  test("an unreadable file has no line; the exit code says it", async () => {
    const { code, out } = await kurier(["validate", "--json", file("missing.xml"), file("valid.xml")]);
    expect([code, lines(out).map((verdict) => verdict.file)]).toEqual([2, [file("valid.xml")]]);
  });
});

test("- reads standard input, and stands where it was named", async () => {
  const { code, out } = await kurier(["validate", "--json", "-"], { input: BROKEN });
  expect([code, lines(out).map(({ file: name, valid }) => [name, valid])]).toEqual([1, [["-", false]]]);
  const ordered = await kurier(["validate", "-", "--json", file("valid.xml")], { input: BROKEN });
  expect(lines(ordered.out).map(({ file: name }) => name)).toEqual(["-", file("valid.xml")]);
});

test("--fragment skips the schema layer and nothing else", async () => {
  const layersOf = async (...args: string[]): Promise<Set<string>> =>
    new Set(
      lines((await kurier(["validate", "--json", file("fragment.xml"), ...args])).out)[0]?.findings.map(
        ({ layer }) => layer,
      ),
    );
  expect(await layersOf()).toContain("schema");
  const without = await layersOf("--fragment");
  expect([without.has("schema"), without.has("en16931"), without.has("peppol")]).toEqual([false, true, true]);
});

test("--layer shows and judges the named layers only", async () => {
  const both = VALID.replace(/(<cbc:PayableAmount currencyID="EUR">)[^<]*/u, "$11.00").replace(
    "<cbc:BuyerReference>",
    "<cbc:Unheard>x</cbc:Unheard><cbc:BuyerReference>",
  );
  const ask = async (layers: string): Promise<[number | null, string[]]> => {
    const { code, out } = await kurier(["validate", "--json", "--layer", layers, "-"], { input: both });
    return [code, [...new Set(lines(out)[0]?.findings.map(({ layer }) => layer))]];
  };
  expect(await ask("schema")).toEqual([1, ["schema"]]);
  expect(await ask("en16931")).toEqual([1, ["en16931"]]);
  expect(await ask("schema,en16931")).toEqual([1, ["schema", "en16931"]]);
  expect(await ask("peppol")).toEqual([0, []]);
  expect((await kurier(["validate", "--layer", "peppol", file("bad.xml")])).code).toBe(1);
});

describe("--format", () => {
  const many = (): string => {
    const below = mkdtempSync(join(folder, "many-"));
    writeFileSync(join(below, "b.xml"), BROKEN);
    writeFileSync(join(below, "a.xml"), VALID);
    writeFileSync(join(below, "notes.txt"), "no document");
    return below;
  };

  test("a folder stands for the XML files below it, in the order of their names", async () => {
    const below = many();
    const { code, out } = await kurier(["validate", "--format", "json", below]);
    expect([code, lines(out).map(({ file: name }) => name)]).toEqual([1, [join(below, "a.xml"), join(below, "b.xml")]]);
  });

  test("sarif is one document with a result for every finding, its rule, level and line", async () => {
    const { code, out } = await kurier(["validate", "--format", "sarif", file("valid.xml"), file("broken.xml")]);
    const sarif = JSON.parse(out) as { version: string; runs: { results: { locations: object[] }[] }[] };
    expect([code, sarif.version, sarif.runs.length]).toEqual([1, "2.1.0", 1]);
    expect(sarif.runs[0]?.results).toMatchObject([{ ruleId: "BR-CO-16", level: "error" }]);
    expect(sarif.runs[0]?.results[0]?.locations).toMatchObject([
      { physicalLocation: { artifactLocation: { uri: file("broken.xml") } } },
    ]);
  });

  test("what a terminal would obey, or turn round, stands as a number in JSON, and reads as it was", async () => {
    const odd = "E\u009B2J\u202EU\u{E0041}";
    writeFileSync(
      file("odd-currency.xml"),
      VALID.replace('PayableAmount currencyID="EUR"', `PayableAmount currencyID="${odd}"`),
    );
    const told = await kurier(["validate", "--json", file("odd-currency.xml")]);
    expect(told.out).toMatch(/^[^\p{Cc}\p{Cf}]+\n$/u);
    expect(JSON.stringify(lines(told.out)[0]?.findings)).toContain(odd);
    const { out } = await kurier(["validate", "--format", "sarif", file("odd-currency.xml")]);
    expect(out).toMatch(/^[^\p{Cc}\p{Cf}]+\n$/u);
  });

  test("sarif names a file by a reference to it, whatever its name has", async () => {
    const below = mkdtempSync(join(folder, "named-"));
    writeFileSync(join(below, "á b%20#1?:.xml"), BROKEN);
    const { out } = await kurier(["validate", "--format", "sarif", below]);
    const [, uri = ""] = /"uri":"([^"]*)"/u.exec(out) ?? [];
    expect(uri).toBe(`${below}/%C3%A1%20b%2520%231%3F%3A.xml`);
    expect(decodeURIComponent(new URL(uri, "file:///").pathname)).toBe(join(below, "á b%20#1?:.xml"));
  });

  test("two slashes before a path make no host of its first folder in sarif", async () => {
    const { out } = await kurier(["validate", "--format", "sarif", `/${file("broken.xml")}`]);
    const [, uri = ""] = /"uri":"([^"]*)"/u.exec(out) ?? [];
    expect(new URL(uri, "file:///").href).toBe(`file://${file("broken.xml")}`);
  });

  test("a file that cannot be read is no success of the report: an error in junit, a failed run in sarif", async () => {
    const gone = file("gone.xml");
    const sarif = await kurier(["validate", "--format", "sarif", gone, file("valid.xml")]);
    const { runs } = JSON.parse(sarif.out) as { runs: { invocations: object[] }[] };
    const why = `${gone} cannot be read (ENOENT).`;
    expect([sarif.code, sarif.err]).toEqual([2, `${why}\n`]);
    expect(runs[0]?.invocations).toEqual([
      { executionSuccessful: false, toolExecutionNotifications: [{ level: "error", message: { text: why } }] },
    ]);
    const junit = await kurier(["validate", "--format", "junit", gone, file("valid.xml")]);
    expect(junit.out).toContain('tests="2" failures="0" errors="1">');
    expect(junit.out).toContain(`name="${gone}">\n    <error message="${why}"/>`);
  });

  test("files of which none could be read are not said to be all valid", async () => {
    const { code, out } = await kurier(["validate", file("gone.xml")]);
    expect([code, out]).toEqual([2, "0 checked, 1 unreadable.\n"]);
  });

  test("no file name moves the cursor or breaks the report, whatever characters it has", async () => {
    const [named, gone] = [join(folder, "a\u001b[31m.xml"), join(folder, "gone\u0007\r\n\u009b2J.xml")];
    writeFileSync(named, BROKEN);
    const text = await kurier(["validate", named, gone]);
    expect(text.out).toContain("a·[31m.xml:");
    expect(text.err).toContain("gone····2J.xml cannot be read");
    const junit = await kurier(["validate", "--format", "junit", named, gone]);
    expect(junit.out).toContain('/gone·&#13;&#10;&#155;2J.xml">');
    for (const told of [text.out, text.err, junit.out, junit.err]) expect(told).not.toMatch(/[^\P{Cc}\n]/u);
  });

  test("junit counts one finding as one", async () => {
    const { out } = await kurier(["validate", "--format", "junit", file("broken.xml"), file("bad.xml")]);
    expect(out.match(/message="[^"]*"/gu)).toEqual(['message="1 finding"', 'message="1 finding"']);
  });

  test("junit is one suite with a case for every file, and the invalid ones fail", async () => {
    const { code, out } = await kurier(["validate", "--format", "junit", file("warned.xml"), file("broken.xml")]);
    expect(code).toBe(1);
    expect(out).toContain('<testsuite name="kurier validate" tests="2" failures="1" errors="0">');
    expect(out.match(/<failure /gu)).toHaveLength(1);
    expect(out).toMatch(/broken\.xml:\d+: BR-CO-16 /u);
  });

  test("another word is refused, with the words that it takes", async () => {
    const { code, err } = await kurier(["validate", "--format", "yaml", file("valid.xml")]);
    expect([code, err]).toEqual([2, "--format takes one of text, json, sarif, junit.\n"]);
  });
});

describe("the rules that are taken", () => {
  const CORE = "urn:cen.eu:en16931:2017";
  const ask = async (
    text: string,
    ...args: string[]
  ): Promise<{ profile: string; ids: string[]; ruleSet: string[] }> => {
    const [line] = lines((await kurier(["validate", "--json", "-", ...args], { input: text })).out);
    const { profile, ruleSet } = line as unknown as { profile: string; ruleSet: string[] };
    return { profile, ruleSet, ids: line?.findings.map(({ ruleId }) => ruleId) ?? [] };
  };
  const asCore = VALID.replace(/(<cbc:CustomizationID>)[^<]*/u, `$1${CORE}`).replace(
    /<cbc:BuyerReference>[^<]*<\/cbc:BuyerReference>/u,
    "",
  );

  test("the rules that judge follow the CustomizationID of the document, and profile and ruleSet say which they were", async () => {
    expect(await ask(asCore)).toEqual({ profile: "en16931", ids: [], ruleSet: ["ubl 2.1", "en16931 1.3.16"] });
    expect(await ask(VALID)).toMatchObject({ profile: "peppol-billing", ids: [] });
  });

  test("the rules that judge are those of --type when it is given, as CustomizationID or as document type identifier", async () => {
    const billing = "urn:cen.eu:en16931:2017#compliant#urn:fdc:peppol.eu:2017:poacc:billing:3.0";
    const invoice = "urn:oasis:names:specification:ubl:schema:xsd:Invoice-2::Invoice";
    for (const type of [billing, `${invoice}##${billing}::2.1`]) {
      const told = await ask(asCore, "--type", type);
      expect(told.profile).toBe("peppol-billing");
      expect(told.ids).toContain("PEPPOL-EN16931-R004");
    }
  });

  test("include a layer that --layer names, also where the CustomizationID would not bring it", async () => {
    expect((await ask(asCore, "--layer", "peppol")).ids).toContain("PEPPOL-EN16931-R004");
  });
});

describe("--rules", () => {
  const ids = async (args: readonly string[], env: Record<string, string> = {}): Promise<string[]> =>
    lines((await kurier(["validate", "--json", file("valid.xml"), ...args], { env })).out)[0]?.findings.map(
      ({ ruleId }) => ruleId,
    ) ?? [];

  test("--rules DIR is a folder of imported packs, or of a release that is compiled for this run; builtin leaves RULES_DIR aside", async () => {
    const release = mkdtempSync(join(folder, "release-"));
    const packs = mkdtempSync(join(folder, "packs-"));
    writeFileSync(join(release, "house.sch"), HOUSE);
    importRules({ source: release, rulesDir: packs, id: "house" });
    setActive(packs, "house", true);
    expect(await ids(["--rules", release])).toEqual(["HOUSE-01"]);
    expect(await ids(["--rules", packs])).toEqual(["HOUSE-01"]);
    expect(await ids([], { RULES_DIR: packs })).toEqual(["HOUSE-01"]);
    expect(await ids(["--rules", "builtin"], { RULES_DIR: packs })).toEqual([]);
  });

  test("a folder without active rules is exit 2 and a sentence, for no others judge in their place; RULES_DIR may be empty", async () => {
    const [release, packs] = [mkdtempSync(join(folder, "release-")), mkdtempSync(join(folder, "packs-"))];
    const says = `There are no active rules in ${packs}; --rules takes builtin, a folder of imported packs, or a release as folder or ZIP.\n`;
    const asked = ["validate", file("valid.xml"), "--rules", packs];
    expect(await kurier(asked)).toEqual({ code: 2, out: "", err: says });
    writeFileSync(join(release, "house.sch"), HOUSE);
    importRules({ source: release, rulesDir: packs, id: "house" });
    expect(await kurier(asked)).toEqual({ code: 2, out: "", err: says });
    expect(await ids([], { RULES_DIR: packs })).toEqual([]);
  });

  test("--upcoming says what a pack will find from its day on, and changes neither verdict nor exit code of today", async () => {
    const [release, packs] = [mkdtempSync(join(folder, "release-")), mkdtempSync(join(folder, "packs-"))];
    writeFileSync(join(release, "house.sch"), HOUSE);
    importRules({ source: release, rulesDir: packs, id: "house", mandatoryFrom: "2999-01-01" });
    setActive(packs, "house", true);
    const { code, out } = await kurier(["validate", file("valid.xml"), "--rules", packs, "--upcoming"]);
    expect(code).toBe(0);
    expect(out).toMatch(
      /valid\.xml: from 2999-01-01 on \(pack:house [0-9a-f]{64}\) invalid\n.*HOUSE-01.*\n1 checked, all valid/su,
    );
    const json = await kurier(["validate", "--json", file("valid.xml"), "--rules", packs, "--upcoming"]);
    expect(JSON.parse(json.out)).toMatchObject({
      valid: true,
      upcoming: [{ mandatoryFrom: "2999-01-01", valid: false }],
    });
  });

  test("a release that cannot be compiled, or a pack that was changed: exit 2 and a sentence with its place", async () => {
    const release = mkdtempSync(join(folder, "release-"));
    writeFileSync(join(release, "house.sch"), HOUSE.replace("starts-with(cbc:ID, 'HOUSE-')", "document('x')"));
    const refused = await kurier(["validate", file("valid.xml"), "--rules", release]);
    expect([refused.code, refused.out]).toEqual([2, ""]);
    expect(refused.err).toMatch(/house\.sch:1: .*document/u);
    const packs = mkdtempSync(join(folder, "packs-"));
    writeFileSync(join(release, "house.sch"), HOUSE);
    importRules({ source: release, rulesDir: packs, id: "house" });
    setActive(packs, "house", true);
    writeFileSync(join(packs, "house", "0.rules.js"), "return {};");
    const changed = await kurier(["validate", file("valid.xml"), "--rules", packs]);
    expect([changed.code, changed.out]).toEqual([2, ""]);
    expect(changed.err).toMatch(
      /^the rule pack house is not loaded: its compiled code has changed; import it again\.?\n$/u,
    );
  });
});

describe("--watch", () => {
  test("--watch judges a file at once, again when it changes, and a new one when it comes", async () => {
    await buildIfNeeded();
    const watched = mkdtempSync(join(folder, "watched-"));
    writeFileSync(join(watched, "a.xml"), VALID);
    const program = fileURLToPath(new URL("../../../gateway/kurier.mjs", import.meta.url));
    const child = spawn(process.execPath, [program, "validate", watched, "--watch"], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    const told: string[] = [];
    const reader = createInterface({ input: child.stdout });
    reader.on("line", (line) => told.push(line));
    try {
      const says = (what: RegExp): Promise<true> =>
        eventually(`the command says ${String(what)}`, () => Promise.resolve(told.some((line) => what.test(line))));
      await says(/^1 checked, all valid/u);
      writeFileSync(join(watched, "a.xml"), BROKEN);
      await says(/a\.xml:\d+:\d+: fatal BR-CO-16/u);
      told.length = 0;
      writeFileSync(join(watched, "b.xml"), VALID);
      await says(/^1 checked, all valid/u);
    } finally {
      child.kill();
    }
  });

  test("--watch of a file that is not there says so, and judges it when it comes", async () => {
    await buildIfNeeded();
    const coming = join(mkdtempSync(join(folder, "coming-")), "a.xml");
    const program = fileURLToPath(new URL("../../../gateway/kurier.mjs", import.meta.url));
    const child = spawn(process.execPath, [program, "validate", coming, "--watch"], {
      stdio: ["ignore", "pipe", "pipe"],
    });
    const told = { out: "", err: "" };
    child.stdout.on("data", (text: Buffer) => (told.out += text.toString()));
    child.stderr.on("data", (text: Buffer) => (told.err += text.toString()));
    try {
      await eventually("it is told", () => told.err === `${coming} is not there; it is judged when it comes.\n`);
      writeFileSync(coming, VALID);
      await eventually("it is judged", () => told.out.endsWith("1 checked, all valid.\n"));
    } finally {
      child.kill();
    }
  });

  test.each([["-"], ["--format", "sarif"]])("--watch with %s is a mistake of the call", async (...more) => {
    const { code, err } = await kurier(["validate", file("valid.xml"), ...more, "--watch"]);
    expect(code).toBe(2);
    expect(err).toMatch(/--watch takes files and folders/u);
  });
});

describeConformance("--rules with an official release", "schematron/peppol-3.0.21", () => {
  test("the imported release finds what the built-in rules find", async () => {
    const shown = async (rules: string): Promise<string[][] | undefined> =>
      lines((await kurier(["validate", "--json", "--rules", rules, "-"], { input: BROKEN })).out)[0]?.findings.map(
        ({ ruleId, layer, severity, location }) => [ruleId, layer, severity, location],
      );
    const builtIn = await shown("builtin");
    expect(builtIn?.length).toBe(1);
    expect(await shown(conformance("schematron", "peppol-3.0.21"))).toEqual(builtIn);
  });
});

test("--help says how", async () => {
  const { code, out } = await kurier(["validate", "--help"]);
  expect([code, out]).toEqual([0, expect.stringContaining("kurier validate FILE|DIR…") as unknown]);
});
