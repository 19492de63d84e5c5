/** What sources write in words: kinds of documents, units, means of payment, reasons for a rate of 0, countries. */
import { PAYMENT_METHODS, UNITS } from "../terms.js";
import { fold } from "./names.js";

/** Rows of `value: words`, words as `fold` writes them. */
const tableOf = (rows: Readonly<Record<string, string>>): ReadonlyMap<string, string> =>
  new Map(Object.entries(rows).flatMap(([value, words]) => words.split(/\s+/u).map((word) => [word, value] as const)));

const TYPES = tableOf({
  invoice:
    "invoice faktura fakturadanovydoklad danovydoklad rechnung 380 vystavenafaktura odberatelskafaktura inv taxinvoice issuedinvoice",
  credit_note: "creditnote dobropis opravnydanovydoklad gutschrift 381 creditmemo rechnungskorrektur stornorechnung cn",
  self_billing_invoice: "selfbillinginvoice selfbilling samofakturacia samofakturace 389",
  self_billing_credit_note: "selfbillingcreditnote 261",
});

const PAYMENTS = tableOf({
  bank_transfer: `prevod prevodom prevodem bankovyprevod bankovymprevodom bankovnimprevodem prevodnyprikaz prevodnyprikazom
    prevodnimprikazem prikaz prikazem uberweisung ueberweisung bankuberweisung banktransfer wire wiretransfer transfer
    credittransfer bezhotovostne`,
  sepa: "sepa sepatransfer sepauberweisung sepacredittransfer",
  cash: "cash hotovost vhotovosti hotove bar barzahlung",
  card: "card karta kartou platobnakarta platobnoukartou platebnikarta platebnikartou karte kartenzahlung creditcard kreditkarte",
});

const UNIT_WORDS = tableOf({
  C62: "one jednotka einheit unit",
  EA: "ea each",
  H87: "ks kus kusy kusov kusu pcs pc piece pieces stk stuck stueck st",
  HUR: "hod hodina hodiny hodin h hr hrs hour hours std stunde stunden",
  DAY: "den dni dny dnu day days tag tage manday clovekoden md",
  MON: "mes mesiac mesiace mesiacov mesic mesice mesicu month months monat monate",
  ANN: "rok roky rokov let roku year years jahr jahre",
  KGM: "kg kilogram kilogramm",
  GRM: "g gram gramm",
  TNE: "t tona tony ton tonne tonnen",
  MTR: "m meter metrov metru bm",
  KMT: "km kilometer kilometrov kilometru",
  MTK: "m2 qm sqm",
  MTQ: "m3 cbm",
  LTR: "l liter litrov litru ltr",
  KWH: "kwh",
  MWH: "mwh",
  XPK: "bal balenie baleni pack package packung pkg",
  SET: "sada subor souprava set sets sady",
  MIN: "min minuta minuty minut minute minutes minuten",
  LS: "pausal pauschal pauschale lumpsum flat",
});

const TREATMENTS = tableOf({
  standard: "standard s zakladna zakladni regular",
  zero_rated: "zerorated z nulovasadzba nulovasazba",
  exempt: `exempt e oslobodene oslobodeneoddph osvobozeno osvobozenooddph osvobozeneplneni steuerfrei steuerbefreit
    vatexempt`,
  reverse_charge: `reversecharge ae prenesenie preneseniedanovejpovinnosti prenosdanovejpovinnosti preneseniedane
    prenesenadanovapovinnost prenesenidanovepovinnosti prenesenidane rc pdp tuzemskesamozdanenie
    steuerschuldnerschaftdesleistungsempfangers samozdanenie`,
  intra_community_supply: `intracommunitysupply intracommunity k dodanieeu dodanietovarueu intrakomunitarnedodanie
    dodanidoeu innergemeinschaftlichelieferung igl`,
  export: "export g vyvoz ausfuhr ausfuhrlieferung",
  out_of_scope: "outofscope o mimodph nepodliehadph nepredmetdph neplatcadph neplatcedph nichtsteuerbar",
});

const COUNTRIES = tableOf({
  SK: "sk svk slovensko slovakia slovenskarepublika slovakrepublic slowakei sr",
  CZ: "cz cze cesko czechia ceskarepublika czechrepublic tschechien cr",
  DE: "de deu nemecko germany deutschland ger d",
  AT: "at aut rakusko austria osterreich oesterreich a",
  HU: "hu hun madarsko hungary ungarn magyarorszag",
  PL: "pl pol polsko poland polen polska",
  GB: "gb gbr uk unitedkingdom velkabritania velkabritanie grossbritannien england",
  FR: "fr fra francuzsko france francie frankreich",
  IT: "it ita taliansko italy italie italien italia",
  NL: "nl nld holandsko netherlands nizozemsko niederlande",
  BE: "be bel belgicko belgium belgie belgien",
  RO: "ro rou rumunsko romania rumanien",
  SI: "si svn slovinsko slovenia slowenien",
  HR: "hr hrv chorvatsko croatia kroatien",
  CH: "ch che svajciarsko switzerland svycarsko schweiz",
  US: "us usa spojenestaty unitedstates vereinigtestaaten",
});

const CURRENCIES = tableOf({
  EUR: "eur euro eura",
  CZK: "czk kc korunaceska koruny korun",
  USD: "usd dollar",
  GBP: "gbp pound",
  HUF: "huf ft forint",
  PLN: "pln zl zloty",
  CHF: "chf",
});
const CURRENCY_SIGNS: Readonly<Record<string, string>> = { "€": "EUR", $: "USD", "£": "GBP" };

export const typeOf = (text: string): string | undefined => TYPES.get(fold(text));
export const treatmentOf = (text: string): string | undefined => TREATMENTS.get(fold(text));
export const paymentOf = (text: string): string | undefined =>
  PAYMENTS.get(fold(text)) ?? (Object.hasOwn(PAYMENT_METHODS, text) ? text : undefined);
export const currencyOf = (text: string): string | undefined =>
  CURRENCY_SIGNS[text.trim()] ??
  CURRENCIES.get(fold(text)) ??
  (/^[A-Z]{3}$/u.test(text.trim()) ? text.trim() : undefined);
export const countryOf = (text: string): string | undefined =>
  COUNTRIES.get(fold(text)) ?? (/^[A-Z]{2}$/u.test(text.trim()) ? text.trim() : undefined);

/** The code of a unit: as a word of four languages, as the builder knows it, or as it stands where it is a code. */
export function unitOf(text: string): string | undefined {
  const word = text.trim().replace(/\.$/u, "");
  const raised = word.replace("²", "2").replace("³", "3");
  const known = Object.hasOwn(UNITS, word.toLowerCase()) ? UNITS[word.toLowerCase()] : undefined;
  return (
    UNIT_WORDS.get(fold(raised)) ??
    known ??
    (/^(?:[A-Z]{3}|[A-Z]\d{1,2}|X[A-Z]{2}|\d[A-Z])$/u.test(word) ? word : undefined)
  );
}
