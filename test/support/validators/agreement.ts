/**
 * Whether everything that judges a document agrees: built-in and imported rules of both layers in id, severity, place and
 * number, and the grammar table with libxml2. What differs is told, and made small.
 */
import { en16931 } from "../../../validators/rules/en16931/index.js";
import { peppolBilling, peppolSelfBilling } from "../../../validators/rules/peppol/billing.js";
import type { RuleSet } from "../../../validators/rules/rule.js";
import { checkGrammar, isKnownRoot } from "../../../validators/ubl/check.js";
import type { XmlDocument } from "../../../validators/xml/document.js";
import { scan } from "../../../validators/xml/scanner.js";
import { openOracle, ORACLE_ROOTS } from "./grammar-oracle.js";
import { FINDINGS_MAX, importedPack, ruleSetOf } from "./packs.js";

export interface Agreement {
  /** What differs, as one text, or undefined. @param selfBilling judges by the self-billing variant of the Peppol rules */
  difference(bytes: Buffer, selfBilling: boolean): string | undefined;
  /** Documents judged so far, by their verdict on the schema. */
  readonly judged: { valid: number; invalid: number; unreadable: number; otherRoot: number };
  /** Ids that the imported rules have reported so far. */
  readonly fired: Set<string>;
}

/** What XML allows and Peppol does not need is refused by decision. @source design/validation.md, V5 */
const REFUSED_BY_US: ReadonlySet<string> = new Set(["XML-DOCTYPE"]);

/** Imports the release and compiles the schemas. */
export function openAgreement(): Agreement {
  const pack = importedPack("peppol-3.0.21");
  const core = { builtIn: en16931(), imported: ruleSetOf(pack, "CEN-EN16931-UBL.sch") };
  const billing = { builtIn: peppolBilling(), imported: ruleSetOf(pack, "PEPPOL-EN16931-UBL.sch") };
  const selfBilled = { builtIn: peppolSelfBilling(), imported: ruleSetOf(pack, "PEPPOL-EN16931-UBL-SB.sch") };
  const oracle = openOracle();
  const judged = { valid: 0, invalid: 0, unreadable: 0, otherRoot: 0 };
  const fired = new Set<string>();

  function rulesDiffer(document: XmlDocument, selfBilling: boolean): string[] {
    return Object.entries({ en16931: core, peppol: selfBilling ? selfBilled : billing }).flatMap(
      ([layer, { builtIn, imported }]) => {
        const [ours, theirs] = [verdict(builtIn, document), verdict(imported, document)];
        for (const finding of theirs) fired.add(finding.slice(0, finding.indexOf(" ")));
        if (ours.join("\n") === theirs.join("\n")) return [];
        return [
          `${layer}: built in only [${only(ours, theirs).slice(0, 5).join("; ")}], imported only [${only(theirs, ours).slice(0, 5).join("; ")}]`,
        ];
      },
    );
  }

  return {
    judged,
    fired,
    difference: (bytes, selfBilling) => {
      const scanned = scan(bytes);
      if (scanned.kind === "refused") {
        judged.unreadable += 1;
        const ruleId = scanned.findings[0]?.ruleId ?? "";
        if (REFUSED_BY_US.has(ruleId)) return undefined;
        // Which schema makes no difference: libxml2 must not even read it.
        return oracle(bytes, "Invoice").valid ? `schema: ours ${ruleId}, libxml2 valid` : undefined;
      }
      const { document } = scanned;
      const differing = rulesDiffer(document, selfBilling);
      const root = ORACLE_ROOTS.find(
        (known) => isKnownRoot(document.name(0)) && known === document.prefixed(document.name(0)),
      );
      if (root === undefined) judged.otherRoot += 1;
      else {
        const findings = checkGrammar(document, 100).findings.map(({ ruleId }) => ruleId);
        const theirs = oracle(bytes, root);
        judged[findings.length === 0 ? "valid" : "invalid"] += 1;
        if ((findings.length === 0) !== theirs.valid)
          differing.push(`schema: ours [${findings.slice(0, 5).join("; ")}], libxml2 [${theirs.message.trim()}]`);
      }
      return differing.length === 0 ? undefined : differing.join(" | ");
    },
  };
}

/** Findings as comparable lines. An element's number tells its place; a dynamic error has none. */
const verdict = (rules: RuleSet, document: XmlDocument): string[] =>
  rules
    .run(document, FINDINGS_MAX)
    .findings.map(({ ruleId, severity, element }) =>
      ruleId.startsWith("!") ? `${ruleId} ${severity}` : `${ruleId} ${severity} ${element}`,
    )
    .sort();

/** The entries of `list` that are not in `other`, one by one. */
function only(list: readonly string[], other: readonly string[]): string[] {
  const rest = [...other];
  return list.filter((entry) => {
    const at = rest.indexOf(entry);
    if (at >= 0) rest.splice(at, 1);
    return at < 0;
  });
}

/** Attempts of one shrinking; each runs the test once. */
const SHRINK_ATTEMPTS_MAX = 1_500;

/**
 * The smallest document that greedy removal of elements finds and that still fails. It works on the bytes, so that
 * comments, prefixes and whatever else the failure may need stay as they are.
 * @param fails  true for `source`
 */
export function shrinkBytes(source: Buffer, fails: (bytes: Buffer) => boolean): Buffer {
  let text = source.toString("latin1");
  let attempts = 0;
  const failsAs = (candidate: string): boolean =>
    (attempts += 1) <= SHRINK_ATTEMPTS_MAX && fails(Buffer.from(candidate, "latin1"));
  for (let e = 1; ; e += 1) {
    const scanned = scan(Buffer.from(text, "latin1"));
    if (scanned.kind === "refused" || e >= scanned.document.count || attempts > SHRINK_ATTEMPTS_MAX) break;
    const { document } = scanned;
    const [start = 0, contentStart = 0, contentEnd = 0] = [
      document.starts[e],
      document.contentStarts[e],
      document.contentEnds[e],
    ];
    const isEmptyTag = text[contentStart - 2] === "/" && contentStart === contentEnd;
    const smaller = text.slice(0, start) + text.slice(isEmptyTag ? contentEnd : text.indexOf(">", contentEnd) + 1);
    // The element that takes the place of a removed one is tried next.
    if (failsAs(smaller)) {
      text = smaller;
      e -= 1;
    }
  }
  const packed = text.replace(/>\s+</gu, "><");
  return Buffer.from(failsAs(packed) ? packed : text, "latin1");
}
