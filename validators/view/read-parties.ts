/** Reads who is named in an invoice: their names, addresses and numbers. */
import type { Fields } from "../ubl/fields.js";
import { NONE } from "../xml/document.js";
import type { ElementId } from "../xml/document.js";
import { attr, cac, cbc } from "../xml/names.js";
import type { NameId } from "../xml/names.js";
import { ENTRIES_MAX } from "./bounds.js";
import type { Identifier, PartyView, Said } from "./invoice-view.js";

const isSaid = (value: Said): value is string => value !== null;

/** An identifier at the end of a path, with its scheme. */
export function identifierAt(fields: Fields, from: ElementId, ...path: readonly NameId[]): Identifier | null {
  const e = fields.at(from, ...path);
  const id = fields.text(e);
  return id === null ? null : { id, scheme: fields.attribute(e, attr.schemeID) };
}

/** @param party  NONE gives a party of which nothing is said */
export function readParty(fields: Fields, party: ElementId): PartyView {
  const text = (...path: readonly NameId[]): Said => (party === NONE ? null : fields.text(party, ...path));
  const registered = text(cac.PartyLegalEntity, cbc.RegistrationName);
  const trading = text(cac.PartyName, cbc.Name);
  const taxes = fields.each(party, cac.PartyTaxScheme, ENTRIES_MAX, (e) => ({
    id: fields.text(e, cbc.CompanyID),
    isVat: fields.text(e, cac.TaxScheme, cbc.ID) === "VAT",
  }));
  return {
    name: registered ?? trading,
    tradingName: registered === null || trading === registered ? null : trading,
    address: readAddress(fields, fields.at(party, cac.PostalAddress)),
    country: text(cac.PostalAddress, cac.Country, cbc.IdentificationCode),
    participant: identifierAt(fields, party, cbc.EndpointID),
    company: identifierAt(fields, party, cac.PartyLegalEntity, cbc.CompanyID),
    vatId: taxes.find(({ id, isVat }) => isVat && id !== null)?.id ?? null,
    taxIds: taxes.flatMap(({ id, isVat }) => (isVat || id === null ? [] : [id])),
    otherIds: fields
      .each(party, cac.PartyIdentification, ENTRIES_MAX, (e) => identifierAt(fields, e, cbc.ID))
      .filter((id) => id !== null),
    legalForm: text(cac.PartyLegalEntity, cbc.CompanyLegalForm),
    contact: [
      text(cac.Contact, cbc.Name),
      text(cac.Contact, cbc.Telephone),
      text(cac.Contact, cbc.ElectronicMail),
    ].filter(isSaid),
  };
}

/** The lines of an address as they stand on a letter, without the country. */
function readAddress(fields: Fields, address: ElementId): readonly string[] {
  const city = [fields.text(address, cbc.PostalZone), fields.text(address, cbc.CityName)].filter(isSaid).join(" ");
  return [
    fields.text(address, cbc.StreetName),
    fields.text(address, cbc.AdditionalStreetName),
    fields.text(address, cac.AddressLine, cbc.Line),
    city === "" ? null : city,
    fields.text(address, cbc.CountrySubentity),
  ].filter(isSaid);
}

/** To whom goods went; null where no name, number or address of it is given. */
export function readDelivery(fields: Fields, delivery: ElementId): PartyView | null {
  const nobody = readParty(fields, NONE);
  const address = fields.at(delivery, cac.DeliveryLocation, cac.Address);
  const location = identifierAt(fields, delivery, cac.DeliveryLocation, cbc.ID);
  const party: PartyView = {
    ...nobody,
    name: fields.text(delivery, cac.DeliveryParty, cac.PartyName, cbc.Name),
    address: readAddress(fields, address),
    country: fields.text(address, cac.Country, cbc.IdentificationCode),
    otherIds: location === null ? [] : [location],
  };
  const isSomebody = party.name !== null || party.address.length > 0 || party.country !== null || location !== null;
  return isSomebody ? party : null;
}
