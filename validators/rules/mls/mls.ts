/**
 * Message Level Status 1.0.1: what a service provider says about a document it was given (ApplicationResponse).
 * @source conformance/schematron/mls-1.0.1 (facts: ids, contexts, conditions, code values); design/as4.md section 11
 */
import { NONE } from "../../xml/document.js";
import type { ElementId, XmlDocument } from "../../xml/document.js";
import { attr, cac, cbc } from "../../xml/names.js";
import { at } from "../path.js";
import type { Path } from "../path.js";
import { childNormalized, pathNormalized } from "../peppol/xpath.js";
import { fatal, NO_FACTS, rule } from "../rule.js";
import type { Assert, Rule, RuleSet } from "../rule.js";
import { ruleSet } from "../runner.js";
import { codePoints } from "../values.js";

/** Release that the table encodes. */
export const MLS_VERSION = "1.0.1";

const MLS_CUSTOMIZATION = "urn:peppol:edec:mls:1.0";
const MLS_PROFILE = "urn:peppol:edec:mls";

/** AP delivered and confirmed, AB handed on, RE rejected or not deliverable. */
const MLS_RESPONSE_CODES: ReadonlySet<string> = new Set(["AP", "AB", "RE"]);
/** Business rule violation, failure of delivery, syntax violation: reasons of a rejection. */
const MLS_FAILURES = ["BV", "FD", "SV"] as const;
/** The failures and BW, a business rule warning. */
const MLS_REASON_CODES: ReadonlySet<string> = new Set(["BW", ...MLS_FAILURES]);

/** Scheme of service provider identifiers. */
const PROVIDER_SCHEME = "0242";
/** Six digits, optionally a part after "-" and one after "."; letters in any case. */
const PROVIDER_ID = /^[0-9]{6}(?:-[0-9A-Z_]{3,12}(?:\.[0-9A-Z\-._~]{3,24})?)?$/iu;
const ZONED = /(?:[+-]\p{Nd}{2}:\p{Nd}{2}|Z)$/u;

const CODE = at("cac:Response/cbc:ResponseCode");
const DESCRIPTION = at("cac:Response/cbc:Description");
const LINE_ID = at("cac:LineReference/cbc:LineID");
const REASON = at("cac:Status/cbc:StatusReasonCode");

const hasScheme = (doc: XmlDocument, e: ElementId): boolean => doc.attr(e, attr.schemeID) !== undefined;
const isProviderScheme = (doc: XmlDocument, e: ElementId): boolean => doc.attr(e, attr.schemeID) === PROVIDER_SCHEME;

/** The five asserts about one of the two parties; `first` is the number of the first of them. */
function partyAsserts(first: number, who: string, endpoint: Path): readonly Assert[] {
  const id = (offset: number): string => `SCH-MLS-${String(first + offset).padStart(2, "0")}`;
  return [
    fatal(id(0), "", `The ${who} has no electronic address. Add cbc:EndpointID.`, (doc, e) => endpoint.exists(doc, e)),
    fatal(
      id(1),
      "",
      `The electronic address of the ${who} is empty. Give the service provider identifier.`,
      (doc, e) => pathNormalized(doc, e, endpoint) !== "",
    ),
    fatal(
      id(2),
      "",
      `The electronic address of the ${who} is no service provider identifier: six digits, optionally followed by - and a part, and . and a part.`,
      (doc, e) => PROVIDER_ID.test(pathNormalized(doc, e, endpoint)),
    ),
    fatal(id(3), "", `The electronic address of the ${who} names no scheme. Add schemeID.`, (doc, e) =>
      endpoint.some(doc, e, hasScheme, undefined),
    ),
    fatal(id(4), "", `The electronic address of the ${who} must have scheme 0242 (service providers).`, (doc, e) =>
      endpoint.some(doc, e, isProviderScheme, undefined),
    ),
  ];
}

const isNegative = (doc: XmlDocument, e: ElementId): boolean => pathNormalized(doc, e, CODE) === "RE";

/**
 * Some issue of the response gives one of the failures as reason. @throws RuleError XPTY0004 for several reasons in one
 */
const hasFailure = (doc: XmlDocument, e: ElementId): boolean => MLS_FAILURES.some((code) => hasIssue(doc, e, code));

function hasIssue(doc: XmlDocument, e: ElementId, code: string): boolean {
  for (let issue = doc.child(e, cac.LineResponse); issue !== NONE; issue = doc.nextSame(issue)) {
    for (let response = doc.child(issue, cac.Response); response !== NONE; response = doc.nextSame(response)) {
      if (pathNormalized(doc, response, REASON) === code) return true;
    }
  }
  return false;
}

const DOCUMENT_RULE: Rule = rule(
  "/ApplicationResponse",
  fatal(
    "SCH-MLS-01",
    "",
    `cbc:CustomizationID must be ${MLS_CUSTOMIZATION}.`,
    (doc, e) => childNormalized(doc, e, cbc.CustomizationID) === MLS_CUSTOMIZATION,
  ),
  fatal(
    "SCH-MLS-02",
    "",
    `cbc:ProfileID must be ${MLS_PROFILE}.`,
    (doc, e) => childNormalized(doc, e, cbc.ProfileID) === MLS_PROFILE,
  ),
  fatal(
    "SCH-MLS-03",
    "",
    "The status has no identifier. Fill cbc:ID.",
    (doc, e) => childNormalized(doc, e, cbc.ID) !== "",
  ),
  fatal(
    "SCH-MLS-04",
    "",
    "Write the issue date as YYYY-MM-DD, without time zone.",
    (doc, e) => codePoints(childNormalized(doc, e, cbc.IssueDate)) === 10,
  ),
  fatal("SCH-MLS-05", "", "The issue time is missing. Add cbc:IssueTime.", (doc, e) => doc.has(e, cbc.IssueTime)),
  fatal("SCH-MLS-06", "", "The issue time has no time zone. End it with Z or an offset such as +02:00.", (doc, e) =>
    ZONED.test(childNormalized(doc, e, cbc.IssueTime)),
  ),
  ...partyAsserts(7, "sender", at("cac:SenderParty/cbc:EndpointID")),
  ...partyAsserts(12, "receiver", at("cac:ReceiverParty/cbc:EndpointID")),
  fatal(
    "SCH-MLS-17",
    "",
    "A status answers exactly one document: give one cac:DocumentResponse.",
    (doc, e) => doc.countChildren(e, cac.DocumentResponse) === 1,
  ),
);

const RESPONSE_RULE: Rule = rule(
  "/ApplicationResponse/cac:DocumentResponse",
  fatal("SCH-MLS-18", "", "The response code is missing. Add cac:Response/cbc:ResponseCode.", (doc, e) =>
    CODE.exists(doc, e),
  ),
  fatal("SCH-MLS-19", "", "The response code must be AP, AB or RE.", (doc, e) =>
    MLS_RESPONSE_CODES.has(pathNormalized(doc, e, CODE)),
  ),
  fatal(
    "SCH-MLS-20",
    "",
    "A rejection (RE) needs a description. Add cac:Response/cbc:Description.",
    (doc, e) => !isNegative(doc, e) || DESCRIPTION.exists(doc, e),
  ),
  fatal(
    "SCH-MLS-21",
    "",
    "The description of a rejection (RE) must say something.",
    (doc, e) => !isNegative(doc, e) || pathNormalized(doc, e, DESCRIPTION) !== "",
  ),
  fatal(
    "SCH-MLS-22",
    "",
    "A status refers to exactly one document: give one cac:DocumentReference.",
    (doc, e) => doc.countChildren(e, cac.DocumentReference) === 1,
  ),
  fatal(
    "SCH-MLS-23",
    "",
    "A rejection (RE) needs at least one issue. Add cac:LineResponse.",
    (doc, e) => !isNegative(doc, e) || doc.has(e, cac.LineResponse),
  ),
  fatal(
    "SCH-MLS-24",
    "",
    "A rejection (RE) needs at least one issue with the reason BV, FD or SV.",
    (doc, e) => !isNegative(doc, e) || hasFailure(doc, e),
  ),
  fatal(
    "SCH-MLS-25",
    "",
    "Only a rejection (RE) may carry an issue with the reason BV, FD or SV. Change the response code or the issues.",
    (doc, e) => isNegative(doc, e) || !hasFailure(doc, e),
  ),
);

const ISSUE = "/ApplicationResponse/cac:DocumentResponse/cac:LineResponse";

/** A rule set of its own: one per worker. */
export const mlsRules = (): RuleSet =>
  ruleSet({
    id: "peppol-mls",
    version: MLS_VERSION,
    layer: "peppol",
    facts: NO_FACTS,
    patterns: [
      {
        id: "default",
        rules: [
          DOCUMENT_RULE,
          RESPONSE_RULE,
          rule(
            "/ApplicationResponse/cac:DocumentResponse/cac:DocumentReference",
            fatal(
              "SCH-MLS-26",
              "",
              "The reference must name the document: fill cbc:ID with its SBDH instance identifier.",
              (doc, e) => childNormalized(doc, e, cbc.ID) !== "",
            ),
          ),
          rule(
            ISSUE,
            fatal(
              "SCH-MLS-27",
              "",
              "The issue has no location. Fill cac:LineReference/cbc:LineID, with NA if there is none.",
              (doc, e) => pathNormalized(doc, e, LINE_ID) !== "",
            ),
          ),
          rule(
            `${ISSUE}/cac:Response`,
            fatal("SCH-MLS-28", "", "The issue has no description. Add cbc:Description.", (doc, e) =>
              doc.has(e, cbc.Description),
            ),
            fatal(
              "SCH-MLS-29",
              "",
              "The description of the issue must say something.",
              (doc, e) => childNormalized(doc, e, cbc.Description) !== "",
            ),
            fatal("SCH-MLS-30", "", "The issue has no status. Add cac:Status with a reason code.", (doc, e) =>
              doc.has(e, cac.Status),
            ),
          ),
          rule(
            `${ISSUE}/cac:Response/cac:Status`,
            fatal("SCH-MLS-31", "", "The reason code must be BV, BW, FD or SV.", (doc, e) =>
              MLS_REASON_CODES.has(childNormalized(doc, e, cbc.StatusReasonCode)),
            ),
          ),
        ],
      },
    ],
  });
