/**
 * The members of a document and the names under which sources in Slovak, Czech, German and English have them.
 *
 * Names are written as `fold` writes them: no accents, no case, no spaces, `ß` as `ss`. Names behind `weak` could mean
 * something else too; a value found under one of them is uncertain.
 */

/** How a value is read. */
export type ValueKind =
  | "text"
  | "number"
  | "percent"
  | "quantity"
  | "date"
  | "currency"
  | "country"
  | "unit"
  | "iban"
  | "symbol"
  | "type"
  | "payment"
  | "treatment"
  | "rate"
  | "taxId"
  | "participant"
  | "address";

interface FieldRow {
  readonly kind: ValueKind;
  readonly names: string;
  readonly weak?: string;
}

/** Members of the head. Those that begin with `check` are compared and not copied. */
export const HEAD_FIELDS = {
  externalId: {
    kind: "text",
    names: "externalid erpid sourceid guid uuid externeid idfaktury",
    weak: "id internalid idzaznamu",
  },
  type: {
    kind: "type",
    names:
      "type documenttype invoicetype doctype typdokladu druhdokladu typfaktury belegart dokumententyp dokumentart rechnungsart",
    weak: "typ druh art kind",
  },
  number: {
    kind: "text",
    names: `number invoicenumber documentnumber docnumber invoiceno invoicenr docno cislofaktury cislodokladu fakturac
      fakturacislo faktura fakturaslo cislofa evidencnecislo evidencnicislo danovydokladc danovydokladcislo numberrequested
      fakturadanovydokladc fakturadanovydokladcislo rechnungsnummer rechnungsnr rechnungnr rechnungsno rechnung
      belegnummer belegnr invoice dobropisc dobropiscislo gutschriftnr gutschriftsnummer creditnotenumber creditnoteno
      invoicereference`,
    weak: "cislo nummer no nr doklad cisloklad",
  },
  buyerReference: {
    kind: "text",
    names: `buyerreference yourreference yourref customerreference referenciaodberatela vasareferencia vasznacka
      vaseznacka leitwegid kundenreferenz ihrereferenz ihrzeichen referenceodberatele referencekupujiciho`,
    weak: "reference referencia referenz stredisko costcenter",
  },
  orderReference: {
    kind: "text",
    names: `orderreference ordernumber orderno ordernr purchaseorder purchaseordernumber ponumber objednavka
      cisloobjednavky objednavkac objednavkacislo vasaobjednavka bestellnummer bestellnr bestellung auftragsnummer`,
    weak: "order auftrag po zakazka",
  },
  precedingDocumentNumber: {
    kind: "text",
    names: `precedingdocumentnumber precedinginvoiceref precedinginvoice originalinvoice originalinvoicenumber
      correctedinvoice povodnafaktura cislopovodnejfaktury povodnydoklad puvodnifaktura cislopuvodnifaktury
      cislopuvodnihodokladu opravovanydoklad opravovanafaktura originalrechnung ursprungsrechnung zurechnung
      rechnungsbezug kfakture kfakturec`,
  },
  issueDate: {
    kind: "date",
    names: `issuedate dateofissue issued issuedon invoicedate documentdate dateissued datumvystavenia vystavenia vystaveni vystavene
      vystavenadna vystavenedna vystaveno datumvystaveni datumfaktury datumdokladu datumvydania rechnungsdatum
      ausstellungsdatum belegdatum ausgestelltam`,
    weak: "date datum created createdat vom",
  },
  dueDate: {
    kind: "date",
    names: `duedate paymentduedate datedue dueby due duetill datumsplatnosti splatnosti splatnost splatnostdo splatnedo splatne
      datumsplatnostifaktury fallig faellig falligkeit faelligkeit falligam faelligam falligkeitsdatum
      faelligkeitsdatum zahlbarbis payby payuntil paymentdeadline maturity maturitydate`,
  },
  taxPointDate: {
    kind: "date",
    names: `taxpointdate taxpoint taxdate vatdate dateoftaxablesupply datumzdanitelnehoplnenia
      datumuskutecnenizdanitelnehoplneni duzp dzp datumplnenia datumplneni dvdp datumvznikudanovejpovinnosti
      steuerdatum zdanitelneplnenie`,
  },
  deliveryDate: {
    kind: "date",
    names: `deliverydate dateofdelivery dateofsupply supplydate delivered deliveredon datumdodania dodane dodanie
      datumdodani dodano datumdodaniatovaru datumdodaniatovaruasluzby lieferdatum leistungsdatum lieferungam
      leistungszeitpunkt`,
  },
  currency: {
    kind: "currency",
    names: "currency currencycode mena menafaktury kodmeny wahrung waehrung valuta documentcurrency",
  },
  note: {
    kind: "text",
    names: "note notes comment comments remark remarks poznamka poznamky bemerkung bemerkungen anmerkung hinweis",
    weak: "text introtext uvodnytext",
  },
  iban: {
    kind: "iban",
    names: "iban ucetiban ibanuctu accountiban bankaccountiban cislouctuiban bankaccount bankovyucet",
    weak: "ucet cislouctu account accountnumber bankverbindung konto kontonummer",
  },
  paymentMethod: {
    kind: "payment",
    names: `paymentmethod formauhrady sposobuhrady sposobplatby sposobplatenia zpusobuhrady zpusobplatby formaplatby
      formaplatenia zahlungsart zahlungsweise paymentmeans paymenttype`,
    weak: "payment uhrada platba zahlung",
  },
  variableSymbol: {
    kind: "symbol",
    names: "variablesymbol variabilnysymbol variabilnisymbol varsymbol varsym symvar vs",
    weak: "paymentreference verwendungszweck zahlungsreferenz symbol",
  },
  prepaidAmount: {
    kind: "number",
    names: `prepaidamount prepaid advance advancepaid paidamount alreadypaid zaloha zalohy zaplatenezalohy
      uhradenezalohy uhradenazaloha zaplatene uhradene uhrazenezalohy uhrazeno zaplaceno anzahlung geleisteteanzahlung
      bereitsbezahlt`,
    weak: "paid",
  },
  documentDiscountPercent: {
    kind: "percent",
    names: "documentdiscountpercent invoicediscountpercent zlavanafakturu zlavanadoklad slevanadoklad gesamtrabatt",
    weak: "discount discountpercent zlava sleva rabatt",
  },
  allVatRate: { kind: "rate", names: "vatrate sadzbadph sazbadph mwstsatz ustsatz steuersatz taxrate" },
  allTaxTreatment: {
    kind: "treatment",
    names: `taxtreatment vattreatment rezimdph reversecharge preneseniedanovejpovinnosti prenesenidanovepovinnosti
      prenosdanovejpovinnosti`,
  },
  checkDue: {
    kind: "number",
    names: `amountdue totaldue due totalpayable payable payableamount kuhrade celkomkuhrade spolukuhrade sumakuhrade
      sumanauhradu celkemkuhrade spolunauhradu celkomnauhradu nauhradu kplatbe kzaplaceni zbyvauhradit zuzahlen zahlbetrag zahlungsbetrag balancedue
      toplay topay totaltopay`,
    weak: "spolu celkom celkem total suma gesamt totalamount amount sumacelkom celkovasuma",
  },
  checkWithTax: {
    kind: "number",
    names: `totalwithvat totalwithtax totalinclvat totalgross grandtotal spolusdph celkomsdph celkemsdph sumasdph
      bruttobetrag gesamtbrutto rechnungsbetrag gesamtbetrag gesamtbetragbrutto bruttosumme taxinclusiveamount
      amountwithvat`,
    weak: "brutto gross",
  },
  checkWithoutTax: {
    kind: "number",
    names: `totalwithoutvat totalwithouttax totalexclvat totalnet subtotal spolubezdph celkombezdph celkembezdph
      sumabezdph zakladdane zakladdph zakladdanespolu nettobetrag nettosumme gesamtnetto zwischensumme taxbase
      taxexclusiveamount amountwithoutvat`,
    weak: "netto net zaklad",
  },
  checkTax: {
    kind: "number",
    names: `totalvat totaltax vatamount taxamount vyskadph sumadph dphspolu dphcelkom dphcelkem spoludph celkomdph
      mwstbetrag mehrwertsteuer umsatzsteuer vattotal taxtotal`,
    weak: "dph vat mwst ust tax",
  },
} as const satisfies Readonly<Record<string, FieldRow>>;

/** Members of a party. Those of the sender are compared with the firm, and not copied. */
export const PARTY_FIELDS = {
  name: {
    kind: "text",
    names: `name nazov nazev firma obchodnemeno obchodnimeno obchodninazev companyname company firmenname legalname
      fullname nazovfirmy nazevfirmy meno jmeno spolocnost spolecnost unternehmen`,
  },
  companyId: {
    kind: "text",
    names: `companyid ico icofirmy companynumber registrationnumber companyregistrationnumber regno identifikacnecislo
      identifikacnicislo businessid handelsregisternummer firmenbuchnummer crn ic`,
    weak: "regnr",
  },
  taxId: { kind: "taxId", names: "taxid dic taxnumber danovecislo steuernummer steuernr dicodberatela tin" },
  vatId: {
    kind: "taxId",
    names: `vatid icdph vatnumber vatno vatregistrationnumber vatregno vatidentificationnumber ustidnr ustid uidnummer
      umsatzsteueridentifikationsnummer umsatzsteuerid icprodph vatcode eudic`,
    weak: "uid vat",
  },
  networkId: {
    kind: "participant",
    names:
      "networkid peppolid peppolparticipantid participantid endpointid peppolidentifikator peppoladresa peppol peppoladresse",
  },
  country: {
    kind: "country",
    names: "country countrycode countryname krajina stat zeme kodkrajiny kodzeme land landercode laendercode",
  },
  street: {
    kind: "text",
    names: "street streetname ulica ulice ulicaacislo ulicecislo strasse addressline1 line1 str",
  },
  city: { kind: "text", names: "city mesto obec ort stadt town cityname municipality" },
  postalCode: { kind: "text", names: "postalcode postcode zip zipcode psc plz postleitzahl postalzone" },
  address: { kind: "address", names: "address adresa adresse anschrift sidlo fulladdress" },
} as const satisfies Readonly<Record<string, FieldRow>>;

/** Members of a line. */
export const LINE_FIELDS = {
  description: {
    kind: "text",
    names: `description name itemname item productname product popis nazov nazev nazovpolozky nazevpolozky polozka
      oznacenie oznaceni nazovtovaru nazovtovarusluzby tovar tovarsluzba sluzba zbozi predmet predmetfakturacie
      bezeichnung beschreibung artikel artikelbezeichnung leistung produkt goods service`,
    weak: "text title",
  },
  quantity: {
    kind: "quantity",
    names:
      "quantity qty mnozstvo mnozstvi pocet pocetmj pocetks pocetkusov pocetjednotiek menge anzahl stuckzahl invoicedquantity",
    weak: "count units ks pieces hodiny hours stunden",
  },
  unit: { kind: "unit", names: "unit uom unitcode unitofmeasure mj mernajednotka jednotka mernajednotky einheit me" },
  unitPrice: {
    kind: "number",
    names: `unitprice unitnetprice netunitprice priceperunit netprice jednotkovacena jednotkovacenabezdph cenazamj cenamj
      cenazajednotku cenazamjbezdph cenamjbezdph jcena cenaks cenazakus cenabezdph cenazakusbezdph einzelpreis
      einheitspreis stuckpreis stueckpreis epreis preisproeinheit einzelpreisnetto jednotkovacenaeur`,
    weak: "price cena preis sadzbazahodinu",
  },
  unitPriceWithTax: {
    kind: "number",
    names: `unitpricewithvat unitpriceinclvat unitpricegross grossprice pricewithvat priceinclvat cenasdph
      jednotkovacenasdph cenamjsdph cenazamjsdph cenazakussdph bruttopreis einzelpreisbrutto`,
  },
  vatRate: {
    kind: "rate",
    names: `vatrate vatpercent percentvat vatpct taxrate taxpercent sadzbadph sazbadph sadzba sazba dphpercent percentodph procentodph
      dphpercento dphv mwstsatz ustsatz steuersatz mwstprozent`,
    weak: "dph vat tax mwst ust steuer",
  },
  taxTreatment: {
    kind: "treatment",
    names:
      "taxtreatment vattreatment vatcategory vatcategorycode taxcategory rezimdph kategoriadph clenenidph cleneniedph",
    weak: "vatcode taxcode",
  },
  discount: {
    kind: "percent",
    names:
      "discount discountpercent discountpct zlava zlavapercent zlavav sleva slevapercent slevav rabatt rabattprozent nachlass",
  },
  checkNet: {
    kind: "number",
    names: `netamount linenet linetotal lineamount totalnet totalexclvat nettobetrag spolubezdph celkombezdph
      celkembezdph cenaspolubezdph cenacelkombezdph cenacelkem sumabezdph zakladdane lineextensionamount gesamtpreis
      gesamtnetto`,
    weak: "total amount spolu celkom celkem suma cenaspolu cenacelkom betrag gesamt netto zaklad summe",
  },
  checkWithTax: {
    kind: "number",
    names: `totalwithvat totalinclvat totalgross grossamount spolusdph celkomsdph celkemsdph sumasdph cenaspolusdph
      bruttobetrag gesamtbrutto`,
    weak: "brutto gross",
  },
} as const satisfies Readonly<Record<string, FieldRow>>;

/** Columns that carry nothing: the number of a line. */
export const LINE_NUMBERS: ReadonlySet<string> = new Set(
  "c p pc por poradie poradoveciaslo poradovecislo poradi riadok radek position pos posnr line lineno linenumber lineid cislopolozky cisloriadku nr no lp".split(
    " ",
  ),
);

/** What the list of lines is called. */
export const LINE_LISTS: ReadonlySet<string> = new Set(
  `lines line items item invoicelines invoiceline invoiceitems invoiceitem invoiceitem rows row positions position positionen
  rechnungspositionen posten polozky polozka polozkyfaktury polozkafaktury polozkydokladu polozkadokladu riadky riadok
  radky radek products product details detail entries entry invoicedetail articles artikel`.split(/\s+/u),
);

/** Words that say whose a member is. */
export const PARTY_WORDS = {
  recipient:
    `recipient receiver customer buyer client odberatel odberatela odberatele prijemca prijemce prijemcu zakaznik
    zakaznika kupujuci kupujici kunde kunden kaufer kaeufer empfanger empfaenger rechnungsempfanger leistungsempfanger
    abnehmer partner billto debtor accountingcustomerparty customerparty buyerparty`.split(/\s+/u),
  supplier: `supplier seller vendor sender issuer dodavatel dodavatela dodavatele predavajuci prodavajici lieferant
    lieferanten verkaufer verkaeufer rechnungssteller rechnungsaussteller leistungserbringer
    accountingsupplierparty supplierparty sellerparty`.split(/\s+/u),
} as const;
export type PartyRole = keyof typeof PARTY_WORDS;
