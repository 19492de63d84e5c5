/** The sender of a UBL document: it is written as the engine knows the firm; what differs is named. */
import { participantParts } from "../../../base/ids.js";
import type { XmlElement } from "../../../../validators/xml/tree.js";
import type { Party } from "../../draft.js";
import { ICO_SCHEME, SLOVAK_SCHEME } from "../../terms.js";
import { CERTAINTY } from "../names.js";
import { foundAt } from "./reading.js";
import type { FoundValue } from "./reading.js";
import type { TakenElements } from "./ubl-elements.js";

/** What the builder writes of the firm, by its place in a party. */
const WRITTEN: readonly (readonly [path: string, of: (own: Party) => string | undefined])[] = [
  ["EndpointID", ({ participant }) => (participant === undefined ? undefined : participantParts(participant).value)],
  ["PartyIdentification/ID", ({ dic }) => dic],
  ["PostalAddress/StreetName", ({ street }) => street],
  ["PostalAddress/CityName", ({ city }) => city],
  ["PostalAddress/PostalZone", ({ postalCode }) => postalCode],
  ["PostalAddress/Country/IdentificationCode", ({ country }) => country],
  ["PartyLegalEntity/RegistrationName", ({ name }) => name],
  ["PartyLegalEntity/CompanyID", ({ ico }) => ico],
];

/**
 * Takes of the sender what will be written anyway; the rest stays untaken, and so is named as such.
 * @param role  the element that holds the party
 * @returns its ids, by which a source of another firm is told
 */
export function readSender(
  party: XmlElement,
  role: string,
  { own, taken }: { readonly own: Party; readonly taken: TakenElements },
): readonly FoundValue[] {
  for (const [path, of] of WRITTEN) taken.takeSame(taken.element(party, ...path.split("/")), of(own));
  const company = taken.element(party, "PartyLegalEntity", "CompanyID");
  const isSlovak = own.country === "SK";
  taken.writesScheme(company, isSlovak ? ICO_SCHEME : undefined);
  taken.writesScheme(taken.element(party, "PartyIdentification", "ID"), isSlovak ? SLOVAK_SCHEME : undefined);
  const scheme = own.participant === undefined ? undefined : participantParts(own.participant).scheme;
  taken.writesScheme(taken.element(party, "EndpointID"), scheme);
  const vatIds = taken.elements(party, "PartyTaxScheme").flatMap((entry) => {
    const id = taken.element(entry, "CompanyID");
    const of = taken.element(entry, "TaxScheme", "ID");
    const isVat = of === undefined || taken.peek(of) === "VAT";
    taken.takeSame(of, isVat ? "VAT" : "TAX");
    taken.takeSame(id, isVat ? own.icDph : own.dic);
    return id !== undefined && isVat ? [id] : [];
  });
  const compared = (target: string, kind: "text" | "taxId", element: XmlElement, place: string): FoundValue =>
    foundAt({ target, kind, certainty: CERTAINTY.stated }, `${role}.Party.${place}`, taken.peek(element));
  return [
    ...(company === undefined ? [] : [compared("supplier.companyId", "text", company, "PartyLegalEntity.CompanyID")]),
    ...vatIds.map((id) => compared("supplier.vatId", "taxId", id, "PartyTaxScheme")),
  ];
}
