/** The legal names of an invoice's parties, for an answer that must name them. */
import { parseXml } from "../../validators/xml/tree.js";
import { LIMITS } from "../limits.js";
import { part, value } from "./application-response.js";

export interface PartyNames {
  readonly supplier: string | undefined;
  readonly customer: string | undefined;
}

/**
 * Reads the names of invoices of at most LIMITS.status_bytes_max: a larger one is not parsed on the event loop, and its
 * parties are called by their participant ids.
 */
export function partyNames(invoice: Uint8Array): PartyNames {
  const read = parseXml(invoice, { bytes: LIMITS.status_bytes_max, depth: 64, elements: LIMITS.status_elements_max, attributes: 64 });
  if (read.kind === "refused") return { supplier: undefined, customer: undefined };
  const nameOf = (role: string): string | undefined => {
    const outer = part(read.root, role);
    const party = outer === undefined ? undefined : part(outer, "Party");
    const legal = party === undefined ? undefined : part(party, "PartyLegalEntity");
    return value(legal, "RegistrationName");
  };
  return { supplier: nameOf("AccountingSupplierParty"), customer: nameOf("AccountingCustomerParty") };
}
