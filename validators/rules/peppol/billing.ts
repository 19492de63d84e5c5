/**
 * Peppol BIS Billing 3.0.21: the rule sets of billing and of self-billing, assembled in the official order of patterns
 * and rules.
 * @source conformance/schematron/peppol-3.0.21 (facts: ids, flags, contexts, conditions, code values)
 */
import type { Pattern, Rule, RuleSet } from "../rule.js";
import { ruleSet } from "../runner.js";
import { codePattern } from "./code-rules.js";
import { DOCUMENT_RULES, EMPTY_ELEMENTS, PROJECT_REFERENCE } from "./document-rules.js";
import { PeppolFacts } from "./facts.js";
import { IDENTIFIER_RULE } from "./identifier-rules.js";
import { lineRules } from "./line-rules.js";
import { GERMANY } from "./national/de.js";
import { DENMARK } from "./national/dk.js";
import { GREECE, GREECE_DOMESTIC } from "./national/gr.js";
import { ICELAND } from "./national/is.js";
import { ITALY } from "./national/it.js";
import { NETHERLANDS } from "./national/nl.js";
import { NORWAY } from "./national/no.js";
import { SWEDEN } from "./national/se.js";
import { BILLING, SELF_BILLING } from "./variant.js";
import type { Variant } from "./variant.js";

/** Release that the tables encode; mandatory since 2026-08-17. */
export const PEPPOL_BILLING_VERSION = "3.0.21";

const NATIONAL: readonly Pattern<PeppolFacts>[] = [
  NORWAY,
  DENMARK,
  ITALY,
  SWEDEN,
  GREECE,
  GREECE_DOMESTIC,
  ICELAND,
  NETHERLANDS,
  GERMANY,
];

const transactionRules = (variant: Variant): readonly Rule<PeppolFacts>[] => [
  ...DOCUMENT_RULES,
  ...lineRules(variant),
  IDENTIFIER_RULE,
];

/** A rule set of its own, with facts of its own: one per worker. */
const peppolRules = (variant: Variant): RuleSet =>
  ruleSet({
    id: variant.id,
    version: PEPPOL_BILLING_VERSION,
    layer: "peppol",
    facts: new PeppolFacts(variant),
    patterns: [
      EMPTY_ELEMENTS,
      PROJECT_REFERENCE,
      { id: "transaction", rules: transactionRules(variant) },
      ...(variant.national ? NATIONAL : []),
      codePattern(variant),
    ],
  });

/** Rules of invoices and credit notes from the seller, with all national groups. */
export const peppolBilling = (): RuleSet => peppolRules(BILLING);

/** Rules of self-billing: the shared rules with the type codes and identifiers of that process; no national groups. */
export const peppolSelfBilling = (): RuleSet => peppolRules(SELF_BILLING);
