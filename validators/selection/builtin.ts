/**
 * Which rules judge a document: a table by root and CustomizationID, each row with the versions of its rules and the
 * day from which each is mandatory. The first row that matches is taken.
 */
import { en16931, EN16931_VERSION } from "../rules/en16931/index.js";
import { INVOICE_RESPONSE_VERSION, invoiceResponseRules } from "../rules/invoice-response/invoice-response.js";
import { MLS_VERSION, mlsRules } from "../rules/mls/mls.js";
import { PEPPOL_BILLING_VERSION, peppolBilling, peppolSelfBilling } from "../rules/peppol/billing.js";
import type { RuleSet } from "../rules/rule.js";
import type { DocumentFacts } from "../report.js";

/** The rules of one release. */
export interface RulesVersion {
  readonly version: string;
  /** First day, Europe/Bratislava, on which the release is mandatory. */
  readonly mandatoryFrom: string;
  /**
   * Makes the rule sets of the release, in chain order. Undefined: the tables are not written yet, the release before
   * stays.
   */
  readonly make: (() => readonly RuleSet[]) | undefined;
}

/** One kind of document that the engine has rules for. */
export interface SelectionRow {
  /** Name in reports. */
  readonly profile: string;
  readonly matches: (facts: DocumentFacts) => boolean;
  /** The CustomizationID of its documents. */
  readonly customization?: string;
  /** Every release that may still judge a document, the oldest first. */
  readonly versions: readonly RulesVersion[];
}

/** Rules that a country adds between its own firms, on top of a row. */
export interface DomesticAddition {
  readonly profile: string;
  readonly applies: (facts: DocumentFacts) => boolean;
  readonly versions: readonly RulesVersion[];
}

/** CustomizationIDs, exact or as the beginning of a longer one that extends it. */
export const CUSTOMIZATION = {
  en16931: "urn:cen.eu:en16931:2017",
  billing: "urn:cen.eu:en16931:2017#compliant#urn:fdc:peppol.eu:2017:poacc:billing:3.0",
  selfBilling: "urn:cen.eu:en16931:2017#compliant#urn:fdc:peppol.eu:2017:poacc:selfbilling:3.0",
  invoiceResponse: "urn:fdc:peppol.eu:poacc:trns:invoice_response:3",
  mls: "urn:peppol:edec:mls:1.0",
} as const;

const isInvoice = (facts: DocumentFacts): boolean => facts.rootLocal === "Invoice" || facts.rootLocal === "CreditNote";
/** The id itself, or an extension of it (`…#conformant#…`). */
const names = (facts: DocumentFacts, id: string): boolean =>
  facts.customizationId === id || (facts.customizationId ?? "").startsWith(`${id}#`);
const responds = (facts: DocumentFacts, id: string): boolean =>
  facts.rootLocal === "ApplicationResponse" && names(facts, id);

/** EN 16931 is the first layer of several rows; one compiled set serves them all. */
let core: RuleSet | undefined;
const coreRules = (): RuleSet => (core ??= en16931());

/** Day from which the built-in releases are in force. @source design/validation.md 4.1 */
const BUILT_IN_FROM = "2026-08-17";
const billing = (make: () => readonly RuleSet[]): readonly RulesVersion[] => [
  { version: PEPPOL_BILLING_VERSION, mandatoryFrom: BUILT_IN_FROM, make },
  // With the Slovak rules. `make` of this row is the switch: the day decides from then on, by itself.
  { version: "3.0.22", mandatoryFrom: "2027-02-24", make: undefined },
];

/**
 * Rows in order of precedence. An invoice or credit note that names no specification of the table is judged by Peppol
 * billing, whose rule PEPPOL-EN16931-R004 then says which CustomizationID it must have.
 */
export const SELECTION: readonly SelectionRow[] = [
  {
    profile: "peppol-self-billing",
    customization: CUSTOMIZATION.selfBilling,
    matches: (f) => isInvoice(f) && names(f, CUSTOMIZATION.selfBilling),
    versions: billing(() => [coreRules(), peppolSelfBilling()]),
  },
  {
    profile: "en16931",
    customization: CUSTOMIZATION.en16931,
    matches: (f) => isInvoice(f) && f.customizationId === CUSTOMIZATION.en16931,
    versions: [{ version: EN16931_VERSION, mandatoryFrom: BUILT_IN_FROM, make: () => [coreRules()] }],
  },
  {
    profile: "peppol-billing",
    customization: CUSTOMIZATION.billing,
    matches: isInvoice,
    versions: billing(() => [coreRules(), peppolBilling()]),
  },
  {
    profile: "peppol-invoice-response",
    customization: CUSTOMIZATION.invoiceResponse,
    matches: (f) => responds(f, CUSTOMIZATION.invoiceResponse),
    versions: [
      { version: INVOICE_RESPONSE_VERSION, mandatoryFrom: BUILT_IN_FROM, make: () => [invoiceResponseRules()] },
    ],
  },
  {
    profile: "peppol-mls",
    customization: CUSTOMIZATION.mls,
    matches: (f) => responds(f, CUSTOMIZATION.mls),
    versions: [{ version: MLS_VERSION, mandatoryFrom: BUILT_IN_FROM, make: () => [mlsRules()] }],
  },
];

/**
 * Domestic additions. Empty: the Slovak rules come with 3.0.22. An addition becomes a row like
 * `{ profile: "sk-domestic", applies: (f) => f.supplierCountry === "SK" && f.customerCountry === "SK", versions }`.
 */
export const DOMESTIC_ADDITIONS: readonly DomesticAddition[] = [];

/** What was selected for a document. */
export interface Selection {
  readonly profile: string;
  /** Whether the document names the specification of the row; false where the row is only the nearest there is. */
  readonly named: boolean;
  readonly ruleSets: readonly RuleSet[];
}

/** Rule sets are compiled once per thread and version; bounded by the rows above. */
const made = new Map<RulesVersion, readonly RuleSet[]>();

function ruleSetsOf(version: RulesVersion | undefined): readonly RuleSet[] {
  if (version?.make === undefined) return [];
  let sets = made.get(version);
  if (sets === undefined) made.set(version, (sets = version.make()));
  return sets;
}

/**
 * The version in force on a day: the newest with tables that is mandatory by then, else the oldest there is.
 * @param preview  takes the newest with tables, whatever the day
 */
export function versionInForce(
  versions: readonly RulesVersion[],
  day: string,
  preview: boolean,
): RulesVersion | undefined {
  const written = versions.filter(({ make }) => make !== undefined);
  return written.findLast(({ mandatoryFrom }) => preview || mandatoryFrom <= day) ?? written[0];
}

/** The rules for a document, or undefined when no row is for it. */
export function selectRules(facts: DocumentFacts, day: string, preview = false): Selection | undefined {
  const row = SELECTION.find(({ matches }) => matches(facts));
  if (row === undefined) return undefined;
  const additions = DOMESTIC_ADDITIONS.filter((addition) => addition.applies(facts));
  const chosen = [row, ...additions].map(({ versions }) => versionInForce(versions, day, preview));
  return {
    profile: row.profile,
    named: row.customization !== undefined && names(facts, row.customization),
    ruleSets: chosen.flatMap(ruleSetsOf),
  };
}

/** The rules of Peppol billing for an invoice, whatever its CustomizationID says; none for other documents. */
export function billingRules(facts: DocumentFacts, day: string, preview = false): readonly RuleSet[] {
  const row = isInvoice(facts) ? SELECTION.find(({ profile }) => profile === "peppol-billing") : undefined;
  return row === undefined ? [] : ruleSetsOf(versionInForce(row.versions, day, preview));
}

/** A rule set of ours with the CustomizationID of the documents it is for; undefined: several kinds of documents. */
export interface BuiltInSet {
  readonly rules: RuleSet;
  readonly customization: string | undefined;
}

/** The newest built-in rule sets, each once. */
export function builtInSets(): readonly BuiltInSet[] {
  const sets = new Map<RuleSet, string | undefined>();
  for (const { versions, customization } of SELECTION)
    for (const rules of ruleSetsOf(versions.findLast(({ make }) => make !== undefined)))
      sets.set(rules, sets.has(rules) ? undefined : customization);
  return Array.from(sets, ([rules, customization]) => ({ rules, customization }));
}

/** Compiles all rules that have tables, so that the first document does not wait for them. */
export function prepareRules(): void {
  for (const { versions } of SELECTION) versions.forEach(ruleSetsOf);
}
