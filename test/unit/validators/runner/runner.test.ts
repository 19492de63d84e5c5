/** How rule tables meet a document: contexts, first match, multiplicity, order, errors, bounds. */
import { describe, expect, test } from "vitest";
import { NO_FACTS, RuleError, fatal, rule, ruleWhen, warning } from "../../../../validators/rules/rule.js";
import type { Facts, Pattern, RawFinding } from "../../../../validators/rules/rule.js";
import { ruleSet } from "../../../../validators/rules/runner.js";
import type { XmlDocument } from "../../../../validators/xml/document.js";
import { documentOf } from "../../../support/validators/packs.js";

const NAMESPACES =
  'xmlns="urn:oasis:names:specification:ubl:schema:xsd:Invoice-2" ' +
  'xmlns:cac="urn:oasis:names:specification:ubl:schema:xsd:CommonAggregateComponents-2" ' +
  'xmlns:cbc="urn:oasis:names:specification:ubl:schema:xsd:CommonBasicComponents-2"';

const invoice = (content: string): XmlDocument =>
  documentOf(Buffer.from(`<Invoice ${NAMESPACES}>${content}</Invoice>`));

const fails = (id: string) => fatal<Facts>(id, "BT-1", "Change it.", () => false);
const raises = (id: string, code: string) =>
  fatal<Facts>(id, "", "", () => {
    throw new RuleError(code);
  });

const rulesOf = (patterns: readonly Pattern[]) =>
  ruleSet({ id: "test", version: "1", layer: "en16931", facts: NO_FACTS, patterns });

/** Rule ids and places, as a user reads them. */
function found(content: string, ...patterns: readonly Pattern[]): string[] {
  const doc = invoice(content);
  return rulesOf(patterns)
    .run(doc, 100)
    .findings.map((finding: RawFinding) => `${finding.ruleId} ${doc.path(finding.element)}`);
}

const pattern = (id: string, ...rules: Pattern["rules"]): Pattern => ({ id, rules });

describe("contexts", () => {
  const content =
    "<cbc:Note/><cac:Price><cbc:PriceAmount/></cac:Price><cac:InvoiceLine><cac:Price><cbc:PriceAmount/></cac:Price></cac:InvoiceLine>";

  test("a path matches at any depth, with a leading slash only from the document element", () => {
    expect(found(content, pattern("p", rule("cac:Price/cbc:PriceAmount", fails("A"))))).toEqual([
      "A /Invoice/cac:Price/cbc:PriceAmount",
      "A /Invoice/cac:InvoiceLine/cac:Price/cbc:PriceAmount",
    ]);
    expect(found(content, pattern("p", rule("/Invoice/cac:Price", fails("A"))))).toEqual(["A /Invoice/cac:Price"]);
    expect(found(content, pattern("p", rule("/*/cac:Price/cbc:PriceAmount", fails("A"))))).toEqual([
      "A /Invoice/cac:Price/cbc:PriceAmount",
    ]);
    expect(found(content, pattern("p", rule("/CreditNote/cac:Price | Invoice/cbc:Note", fails("A"))))).toEqual([
      "A /Invoice/cbc:Note",
    ]);
  });

  test("a star is any element, a star with an ending is any name that ends so, also names nobody knows", () => {
    const odd = '<x:OddAmount xmlns:x="urn:x"/><cbc:Note/>';
    expect(found(odd, pattern("p", rule("*", fails("A")))).length).toBe(3);
    expect(found(odd, pattern("p", rule("*Amount", fails("A"))))).toEqual(["A /Invoice/x:OddAmount"]);
  });

  test("two paths of one context that match the same element fire once", () => {
    expect(
      found(content, pattern("p", rule("cbc:PriceAmount | cac:Price/cbc:PriceAmount | *", fails("A")))).length,
    ).toBe(7);
  });
});

describe("first match", () => {
  test("the first rule of a pattern takes the element, other patterns see it too", () => {
    expect(
      found(
        "<cbc:ID/>",
        pattern("p", rule("Invoice/cbc:ID", fails("A")), rule("cbc:ID", fails("B"))),
        pattern("q", rule("cbc:ID", fails("C"))),
      ),
    ).toEqual(["A /Invoice/cbc:ID", "C /Invoice/cbc:ID"]);
  });

  test("a predicate that does not hold leaves the element to the next rule", () => {
    expect(
      found(
        "<cbc:ID>1</cbc:ID><cbc:ID>2</cbc:ID>",
        pattern(
          "p",
          ruleWhen("cbc:ID", (doc, e) => doc.text(e) === "1", fails("A")),
          rule("cbc:ID", fails("B")),
        ),
      ),
    ).toEqual(["A /Invoice/cbc:ID[1]", "B /Invoice/cbc:ID[2]"]);
  });

  test("a rule without asserts takes elements away from the rules after it", () => {
    expect(found("<cbc:ID/>", pattern("p", rule("cbc:ID"), rule("*", fails("A"))))).toEqual(["A /Invoice"]);
  });
});

test("findings come in document order, one per assert and element", () => {
  expect(
    found(
      "<cbc:ID/><cbc:Note/><cbc:ID/>",
      pattern("p", rule("cbc:Note", fails("N"))),
      pattern(
        "q",
        rule(
          "cbc:ID",
          fails("A"),
          warning("B", "", "", () => false),
          fatal("C", "", "", () => true),
        ),
      ),
    ),
  ).toEqual([
    "A /Invoice/cbc:ID[1]",
    "B /Invoice/cbc:ID[1]",
    "N /Invoice/cbc:Note",
    "A /Invoice/cbc:ID[2]",
    "B /Invoice/cbc:ID[2]",
  ]);
});

test("a survey reports by the index of its asserts", () => {
  const survey = {
    asserts: [fails("A"), fails("B")],
    judge: (_: XmlDocument, __: number, ___: Facts, fail: (index: number) => void) => fail(1),
  };
  expect(found("", pattern("p", { context: "/Invoice", asserts: [], survey }))).toEqual(["B /Invoice"]);
});

test("more findings than asked for are counted and dropped, the first are kept", () => {
  const rules = rulesOf([pattern("p", rule("cbc:ID", fails("A")))]);
  const result = rules.run(invoice("<cbc:ID/>".repeat(10)), 3);
  expect(result.findings.map(({ element }) => element)).toEqual([1, 2, 3]);
  expect(result.dropped).toBe(7);
});

test("a pattern of another country is not looked at", () => {
  const counted: string[] = [];
  const counting = fatal<Facts>("A", "", "", () => {
    counted.push("A");
    return false;
  });
  const rules = rulesOf([{ id: "p", concerns: (doc) => doc.text(0) === "SK", rules: [rule("/Invoice", counting)] }]);
  expect(rules.run(invoice("<cbc:ID>DE</cbc:ID>"), 10).findings).toEqual([]);
  expect(counted).toEqual([]);
  expect(rules.run(invoice("<cbc:ID>SK</cbc:ID>"), 10).findings).toHaveLength(1);
});

describe("dynamic errors", () => {
  test("an error in an assert replaces all findings of the layer by one fatal finding with its code", () => {
    const result = rulesOf([pattern("p", rule("/Invoice", fails("A")), rule("cbc:ID", raises("B", "FORG0001")))]).run(
      invoice("<cbc:ID/>"),
      10,
    );
    expect(result.findings.map(({ ruleId, severity, element }) => [ruleId, severity, element])).toEqual([
      ["!err:FORG0001", "fatal", 1],
    ]);
    expect(result.dropped).toBe(0);
  });

  test("an error in the predicate of a context means that the rule does not match", () => {
    const broken = ruleWhen<Facts>(
      "cbc:ID",
      () => {
        throw new RuleError("FORG0001");
      },
      fails("A"),
    );
    expect(found("<cbc:ID/>", pattern("p", broken, rule("cbc:ID", fails("B"))))).toEqual(["B /Invoice/cbc:ID"]);
  });

  test("the error of the earlier pattern is reported where there are two, wherever it stands in the document", () => {
    expect(
      found(
        "<cbc:ID/><cbc:Note/>",
        pattern("p", rule("cbc:Note", raises("A", "FORG0001"))),
        pattern("q", rule("cbc:ID", raises("B", "XPTY0004"))),
      ),
    ).toEqual(["!err:FORG0001 /Invoice/cbc:Note"]);
  });

  test("a fault of the program is not an error of the document", () => {
    const rules = rulesOf([
      pattern(
        "p",
        rule(
          "/Invoice",
          fatal<Facts>("A", "", "", () => {
            throw new TypeError("bug");
          }),
        ),
      ),
    ]);
    expect(() => rules.run(invoice(""), 10)).toThrow(TypeError);
  });
});

test("the catalogue lists every assert with its facts", () => {
  const rules = rulesOf([
    pattern(
      "p",
      rule(
        "cbc:ID",
        fatal("A", "BT-1 BG-2", "Change it.", () => true),
      ),
    ),
  ]);
  expect(rules.catalogue).toEqual([
    expect.objectContaining({ id: "A", severity: "fatal", terms: ["BT-1", "BG-2"], message: "Change it." }),
  ]);
});

test("a name that is no name of UBL is a mistake in the table and stops the load", () => {
  expect(() => rulesOf([pattern("p", rule("xyz:ID", fails("A")))])).toThrow("xyz:ID");
});
