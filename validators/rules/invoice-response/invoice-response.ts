/**
 * Peppol Invoice Response 3.1 (transaction T111): a buyer's answer to an invoice (ApplicationResponse).
 *
 * 82 asserts: 54 follow from the data model (structure.ts), 8 are about the answer itself, 20 are shared by all Peppol
 * post-award documents, among them the identifier rules of billing.
 * @source OpenPEPPOL poacc-upgrade-3, T111: rules and model of release 2025-Q2, PEPPOL-T111-R008 of 3.0.17 (facts only)
 */
import type { ElementId, XmlDocument } from "../../xml/document.js";
import { attr, cbc } from "../../xml/names.js";
import { at } from "../path.js";
import { IDENTIFIER_RULE } from "../peppol/identifier-rules.js";
import { childNormalized, isEmpty } from "../peppol/xpath.js";
import { fatal, NO_FACTS, rule, ruleWhen, warning } from "../rule.js";
import type { Pattern, RuleSet, Test } from "../rule.js";
import { ruleSet } from "../runner.js";
import { codePoints, normalizeSpace, parseDate, someChildIs } from "../values.js";
import { CLARIFIED_CODES, STATUS_ACTIONS, STATUS_REASONS } from "./codes.js";
import { basicRules, hasNoSchemaLocation } from "./structure.js";

/** Release that the table encodes. */
export const INVOICE_RESPONSE_VERSION = "3.0.17";

const INVOICE_RESPONSE_CUSTOMIZATION = "urn:fdc:peppol.eu:poacc:trns:invoice_response:3";
const INVOICE_RESPONSE_PROFILE = "urn:fdc:peppol.eu:poacc:bis:invoice_response:3";
/** The response as part of the billing process with response. */
const BILLING_WITH_RESPONSE = "urn:peppol:bis:billing_with_response";

const REASON_CODE = at("cac:Status/cbc:StatusReasonCode");
const CODE_IN_STATUS = at("cbc:StatusReasonCode");

const owesReason = (doc: XmlDocument, e: ElementId): boolean =>
  CLARIFIED_CODES.includes(` ${childNormalized(doc, e, cbc.ResponseCode)} `);
const hasReasonCode =
  (code: string): Test =>
  (doc, e) =>
    someChildIs(doc, e, cbc.StatusReasonCode, code);
const explainsItself: Test = (doc, e) => doc.has(e, cbc.StatusReason);

const isOfList = (doc: XmlDocument, e: ElementId, list: string): boolean => doc.attr(e, attr.listID) === list;
const namesList =
  (list: string): Test =>
  (doc, e) =>
    CODE_IN_STATUS.some(doc, e, isOfList, list);

const EMPTY: Pattern = {
  id: "empty-elements",
  rules: [
    ruleWhen(
      "*",
      isEmpty,
      fatal("PEPPOL-COMMON-R001", "", "The element is empty. Give it a value or leave it out.", () => false),
    ),
  ],
};

const COMMON: Pattern = {
  id: "common",
  rules: [
    rule(
      "/*",
      warning(
        "PEPPOL-COMMON-R003",
        "",
        "The document should not name the location of a schema. Remove the attribute schemaLocation.",
        hasNoSchemaLocation,
      ),
    ),
    rule(
      "cbc:IssueDate | cbc:DueDate | cbc:TaxPointDate | cbc:StartDate | cbc:EndDate | cbc:ActualDeliveryDate",
      fatal(
        "PEPPOL-COMMON-R030",
        "",
        "Write the date as YYYY-MM-DD, without time zone, and make it a day of the calendar.",
        (doc, e) => codePoints(doc.text(e)) === 10 && parseDate(doc.text(e)) !== undefined,
      ),
    ),
    IDENTIFIER_RULE,
  ],
};

const ANSWER: Pattern = {
  id: "answer",
  rules: [
    ruleWhen(
      "cac:Response",
      owesReason,
      fatal(
        "PEPPOL-T111-R001",
        "",
        "The statuses CA, UQ and RE owe a reason. Add cac:Status/cbc:StatusReasonCode.",
        (doc, e) => REASON_CODE.exists(doc, e),
      ),
    ),
    ruleWhen(
      "cac:Status",
      hasReasonCode("OTH"),
      warning("PEPPOL-T111-R002", "", "The reason OTH should be explained. Add cbc:StatusReason.", explainsItself),
    ),
    rule(
      "cbc:CustomizationID",
      fatal(
        "PEPPOL-T111-R003",
        "",
        `cbc:CustomizationID must begin with ${INVOICE_RESPONSE_CUSTOMIZATION}.`,
        (doc, e) => normalizeSpace(doc.text(e)).startsWith(INVOICE_RESPONSE_CUSTOMIZATION),
      ),
    ),
    ruleWhen(
      "cac:Status",
      hasReasonCode("PPD"),
      fatal(
        "PEPPOL-T111-R004",
        "",
        "The reason PPD (partially paid) must be explained. Add cbc:StatusReason.",
        explainsItself,
      ),
      // The published condition asks whether a comparison exists, and a comparison always does.
      fatal(
        "PEPPOL-T111-R005",
        "",
        "The reason PPD (partially paid) belongs to the status PD. Change one of them.",
        () => true,
      ),
    ),
    rule(
      "cbc:ProfileID",
      fatal(
        "PEPPOL-T111-R008",
        "",
        `cbc:ProfileID must be ${INVOICE_RESPONSE_PROFILE} or ${BILLING_WITH_RESPONSE}.`,
        isResponseProfile,
      ),
    ),
  ],
};

function isResponseProfile(doc: XmlDocument, e: ElementId): boolean {
  const profile = normalizeSpace(doc.text(e));
  return profile === INVOICE_RESPONSE_PROFILE || profile === BILLING_WITH_RESPONSE;
}

const CLARIFICATIONS: Pattern = {
  id: "clarifications",
  rules: [
    ruleWhen(
      "cac:Status",
      namesList("OPStatusAction"),
      fatal(
        "PEPPOL-T111-R006",
        "",
        "The code is not in the list OPStatusAction: NOA, PIN, NIN, CNF, CNP, CNA, OTH.",
        (doc, e) => STATUS_ACTIONS.has(childNormalized(doc, e, cbc.StatusReasonCode)),
      ),
    ),
    ruleWhen(
      "cac:Status",
      namesList("OPStatusReason"),
      fatal(
        "PEPPOL-T111-R007",
        "",
        "The code is not in the list OPStatusReason: NON, REF, LEG, REC, QUA, DEL, PRI, QTY, ITM, PAY, PPD, UNR, FIN, OTH.",
        (doc, e) => STATUS_REASONS.has(childNormalized(doc, e, cbc.StatusReasonCode)),
      ),
    ),
  ],
};

/** A rule set of its own: one per worker. */
export const invoiceResponseRules = (): RuleSet =>
  ruleSet({
    id: "peppol-invoice-response",
    version: INVOICE_RESPONSE_VERSION,
    layer: "peppol",
    facts: NO_FACTS,
    patterns: [EMPTY, COMMON, { id: "structure", rules: basicRules() }, ANSWER, CLARIFICATIONS],
  });
