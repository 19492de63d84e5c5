/**
 * The built-in EN 16931 rules against the official file, imported by the Schematron compiler: ids, severities, places and
 * multiplicity, dynamic errors included, on every stored document and fragment, on documents generated for each
 * restriction, and on seeded mutants. `MUTATIONS=20000 SEED=7` runs more and others; a difference names seed and mutant
 * and is shrunk.
 */
import { expect, test } from "vitest";
import { en16931 } from "../../validators/rules/en16931/index.js";
import type { RuleSet } from "../../validators/rules/rule.js";
import { scan } from "../../validators/xml/scanner.js";
import type { XmlDocument } from "../../validators/xml/document.js";
import { conformanceBytes, describeConformance } from "../support/conformance.js";
import {
  bytesOf,
  cloneTree,
  insertPath,
  mutate,
  MUTATIONS,
  restrictedPaths,
  shrink,
  treeOf,
} from "../support/documents/mutate.js";
import type { Tree } from "../support/documents/mutate.js";
import { FINDINGS_MAX, importedPack, ruleSetOf } from "../support/validators/packs.js";
import { Random, seedFrom } from "../support/random.js";
import { expectedDocuments } from "../support/validators/testset.js";

const MUTANTS = Number(process.env["MUTATIONS"] ?? 1_000);
/** Larger sources cost time and find nothing that small ones do not. */
const SOURCE_BYTES_MAX = 60_000;

/**
 * Asserts that no document can fail: some are true(); where a repeated name would fail the others, another rule has
 * already asked for the one name and ended the layer.
 */
const NEVER = ["BR-CO-05", "BR-CO-06", "BR-CO-07", "BR-CO-08", "UBL-SR-09", "UBL-SR-15", "UBL-SR-22", "UBL-SR-27"];

describeConformance("EN 16931, built in and imported", "schematron", () => {
  const native = en16931();
  const pack = ruleSetOf(importedPack("peppol-3.0.21"), "CEN-EN16931-UBL.sch");
  const fired = new Set<string>();

  const verdict = (rules: RuleSet, doc: XmlDocument): string[] =>
    rules
      .run(doc, FINDINGS_MAX)
      .findings.map(({ ruleId, severity, element }) => `${ruleId} ${severity} ${element}`)
      .sort();

  /** What differs, or undefined. */
  function difference(label: string, bytes: Buffer): string | undefined {
    const scanned = scan(bytes);
    if (scanned.kind === "refused") return `${label}: not well-formed`;
    const [ours, theirs] = [verdict(native, scanned.document), verdict(pack, scanned.document)];
    for (const finding of theirs) fired.add(finding.slice(0, finding.indexOf(" ")));
    if (ours.join() === theirs.join()) return undefined;
    return `${label}: built in ${only(ours, theirs).join(", ") || "nothing more"}; imported ${only(theirs, ours).join(", ") || "nothing more"}`;
  }

  test("our rules and the official ones agree on every document and fragment with a stored result", () => {
    const differences = [...expectedDocuments()]
      .map(({ key, bytes }) => difference(key, bytes))
      .filter((text) => text !== undefined);
    expect(differences).toEqual([]);
  });

  test("our rules and the official ones agree on an invoice and a credit note with each restricted path put in once and twice, and the restriction fires", () => {
    const invoice = treeOf(conformanceBytes("documents/peppol-3.0.21", "base-example.xml"));
    const creditNote = cloneTree(invoice);
    MUTATIONS.root(creditNote);
    const differences = restrictedPaths()
      .flatMap((path) =>
        [invoice, creditNote].flatMap((source) =>
          [1, 2].map((times) => {
            const tree = withPath(source, path, times);
            return difference(`${source.name} with ${path} ${times} times`, bytesOf(tree));
          }),
        ),
      )
      .filter((text) => text !== undefined);
    expect(differences).toEqual([]);
    const restrictions = native.catalogue
      .map(({ id }) => id)
      .filter((id) => /^UBL-CR|^UBL-DT-(?:0[89]|[12])/u.test(id));
    const special = ["UBL-CR-002", "UBL-CR-665", "UBL-CR-666", "UBL-CR-673", "UBL-DT-18"];
    expect(restrictions.filter((id) => !fired.has(id) && !special.includes(id))).toEqual([]);
  });

  test(
    `our rules and the official ones agree on ${MUTANTS} mutants`,
    () => {
      const seed = seedFrom(20_261_120);
      const sources = [...expectedDocuments()]
        .filter(({ bytes }) => bytes.length <= SOURCE_BYTES_MAX)
        .map(({ key, bytes }) => ({ key, tree: treeOf(bytes) }));
      const whole = sources.filter(({ key }) => key.startsWith("documents/"));
      const differences: string[] = [];
      for (let i = 0; i < MUTANTS && differences.length < 10; i += 1) {
        const random = new Random(seed + i);
        // Fragments lack most of an invoice; whole documents get every second mutant.
        const source = random.pick(i % 2 === 0 ? whole : sources);
        const { tree, bytes, kinds } = mutate(source.tree, random);
        const found = difference(`SEED=${seed} mutant ${i}, ${source.key}, ${kinds.join(" ")}`, bytes);
        if (found === undefined) continue;
        const small = bytesOf(shrink(tree, (smaller) => difference("", bytesOf(smaller)) !== undefined));
        differences.push(found, `${difference("shrunk", small) ?? ""}: ${small.toString()}`);
      }
      expect(differences).toEqual([]);
      if (MUTANTS >= 20_000)
        expect(
          native.catalogue
            .map(({ id }) => id)
            .filter((id) => !fired.has(id))
            .sort(),
        ).toEqual(NEVER);
    },
    60_000 + MUTANTS * 10,
  );
});

function withPath(source: Tree, path: string, times: number): Tree {
  const tree = cloneTree(source);
  for (let i = 0; i < times; i += 1) insertPath(tree, path);
  return tree;
}

/** The entries of `list` that are not in `other`, one by one. */
function only(list: readonly string[], other: readonly string[]): string[] {
  const rest = [...other];
  return list.filter((entry) => {
    const at = rest.indexOf(entry);
    if (at >= 0) rest.splice(at, 1);
    return at < 0;
  });
}
