/** What of a document lies beside it in clear, so that it can be listed and found. */
import { LIMITS } from "../base/limits.js";
import { firstChars } from "../base/text.js";
import type { Json } from "../storage/sql.js";
import type { DocumentFacts } from "./accept/facts.js";

/**
 * What is kept of a document in clear. Names stay in its sealed text: they may be a person's. Its number is kept as
 * long as the database can look it up.
 */
export function keptFacts(facts: DocumentFacts | undefined): Json {
  const { supplierName: _supplier, customerName: _customer, documentNumber, ...kept } = facts ?? {};
  return {
    ...kept,
    ...(documentNumber === undefined
      ? {}
      : { documentNumber: firstChars(documentNumber, LIMITS.document_number_chars_max) }),
    precedingInvoiceIds: [...(facts?.precedingInvoiceIds ?? [])],
  } as Json;
}
