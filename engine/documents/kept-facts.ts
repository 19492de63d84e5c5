/** What of a document lies beside its text, so that it can be listed and found. */
import { LIMITS } from "../base/limits.js";
import { firstChars } from "../base/text.js";
import { sealFacts } from "../storage/keyring/facts.js";
import type { FactsOwner } from "../storage/keyring/facts.js";
import type { Sealer } from "../storage/sealer.js";
import type { Json } from "../storage/sql.js";
import type { DocumentFacts } from "./accept/facts.js";

/**
 * What is kept beside a document. Names stay in its sealed text alone: they may be a person's. Its number, its amount
 * and what it refers to are sealed here, too; see sealFacts. Of the number so much is kept as lists show.
 */
export function keptFacts(sealer: Sealer, owner: FactsOwner, facts: DocumentFacts | undefined): Json {
  const { supplierName: _supplier, customerName: _customer, documentNumber, ...kept } = facts ?? {};
  return sealFacts(sealer, owner, {
    ...kept,
    ...(documentNumber === undefined
      ? {}
      : { documentNumber: firstChars(documentNumber, LIMITS.document_number_chars_max) }),
    precedingInvoiceIds: [...(facts?.precedingInvoiceIds ?? [])],
  });
}
