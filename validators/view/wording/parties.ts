/** Words who is named in an invoice, each with the numbers by which it is known. */
import { countryName } from "./codes.js";
import { row } from "./worded.js";
import type { Wording } from "./worded.js";
import type { Identifier, InvoiceView, PartyView } from "../invoice-view.js";
import type { Card, Row } from "../sheet.js";
import type { Word } from "./words.js";

/** Schemes whose numbers have a name of their own: Slovak ids, location numbers, creditors of direct debits. */
const SCHEMES: Readonly<Record<string, Word>> = {
  "0158": "company_ico",
  "0245": "tax_dic",
  "0088": "gln",
  SEPA: "creditor_id",
};
/** Countries whose register gives an IČO and whose tax office a DIČ. */
const ICO_COUNTRIES: readonly (string | null)[] = ["SK", "CZ"];

/** Whoever is named, in the order of a letter: seller, buyer, and who stands beside them. */
export function partyCards(view: InvoiceView, wording: Wording): readonly Card[] {
  const all: readonly (readonly [Word, PartyView | null])[] = [
    ["seller", view.seller],
    ["buyer", view.buyer],
    ["payee", view.payee],
    ["tax_representative", view.taxRepresentative],
    ["deliver_to", view.deliverTo],
  ];
  return all.flatMap(([role, party]) => (party === null ? [] : [partyCard(role, party, wording)]));
}

function partyCard(role: Word, party: PartyView, { language, words }: Wording): Card {
  const isLocal = ICO_COUNTRIES.includes(party.country);
  const country = party.country === null ? [] : [countryName(party.country, language)];
  const company: Word = isLocal || party.company?.scheme === "0158" ? "company_ico" : "company_id";
  return {
    heading: words(role),
    ...(party.name === null ? {} : { name: party.name }),
    text: [...party.address, ...country],
    rows: [
      ...row(words("trading_name"), party.tradingName),
      ...row(words(company), party.company?.id ?? null),
      ...party.taxIds.flatMap((id) => row(words(isLocal ? "tax_dic" : "tax_id"), id)),
      ...row(words("vat_id"), party.vatId),
      ...party.otherIds.map((id): Row => identifierRow(id, words)),
      ...row(
        words("peppol_id"),
        party.participant === null ? null : `${party.participant.scheme ?? ""}:${party.participant.id}`,
      ),
      ...row(words("legal_form"), party.legalForm),
      ...row(words("contact"), party.contact.length === 0 ? null : party.contact.join(", ")),
    ],
  };
}

function identifierRow({ id, scheme }: Identifier, words: Wording["words"]): Row {
  const word = scheme !== null && Object.hasOwn(SCHEMES, scheme) ? SCHEMES[scheme] : undefined;
  if (word !== undefined) return { label: words(word), value: id };
  return { label: words("other_id"), value: scheme === null ? id : `${id} (${scheme})` };
}
