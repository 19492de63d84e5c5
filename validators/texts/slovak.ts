/** Slovak sentences of the layers xml, schema and en16931, and of advice; `{}` is a part of the English sentence. */
import type { TextRow } from "./text-row.js";

const XML: readonly TextRow[] = [
  ["The payload is empty. Send the XML document.", "Obsah je prázdny. Pošlite dokument XML."],
  [
    "The payload is larger than the limit. Send a smaller document.",
    "Obsah je väčší, než je dovolené. Pošlite menší dokument.",
  ],
  [
    "The document is not encoded in UTF-8. Encode it in UTF-8 and declare no other encoding.",
    "Dokument nie je v kódovaní UTF-8. Uložte ho v UTF-8 a nedeklarujte iné kódovanie.",
  ],
  [
    "From this line on the payload holds bytes that are not valid UTF-8, as Latin-1 or Windows-1250 text does. Encode the document in UTF-8.",
    "Od tohto riadku obsahuje dokument bajty, ktoré nie sú platným UTF-8; tak vyzerá text v Latin-1 alebo Windows-1250. Uložte dokument v UTF-8.",
  ],
  [
    "The payload is compressed with gzip. Send the XML document uncompressed.",
    "Obsah je komprimovaný cez gzip. Pošlite dokument XML nekomprimovaný.",
  ],
  [
    "The payload is a PDF. Send the UBL XML document; a PDF can be attached inside it.",
    "Obsah je PDF. Pošlite dokument UBL XML; PDF môže byť jeho prílohou.",
  ],
  [
    "The payload is a ZIP archive. Send the XML document that is in it.",
    "Obsah je archív ZIP. Pošlite dokument XML, ktorý je v ňom.",
  ],
  ["The payload is JSON. Send a UBL 2.1 XML document.", "Obsah je JSON. Pošlite dokument UBL 2.1 XML."],
  [
    'The XML declaration is malformed, or not the first thing of the document. Write <?xml version="1.0" encoding="UTF-8"?>.',
    'Deklarácia XML je chybná alebo nestojí na úplnom začiatku dokumentu. Napíšte <?xml version="1.0" encoding="UTF-8"?>.',
  ],
  [
    "Document type declarations are not accepted. Remove the DOCTYPE.",
    "Deklarácia typu dokumentu sa neprijíma. Odstráňte DOCTYPE.",
  ],
  [
    "A processing instruction is malformed. Correct or remove it.",
    "Inštrukcia na spracovanie je chybná. Opravte ju alebo odstráňte.",
  ],
  [
    "A comment is malformed: two hyphens may only end it. Correct or remove it.",
    "Komentár je chybný: dve pomlčky ho smú iba ukončiť. Opravte ho alebo odstráňte.",
  ],
  ["There is no document element. Send an XML document.", "Chýba koreňový element. Pošlite dokument XML."],
  [
    "The document holds a character that XML 1.0 does not allow. Remove it.",
    "Dokument obsahuje znak, ktorý XML 1.0 nedovoľuje. Odstráňte ho.",
  ],
  [
    "An ampersand begins no reference that XML knows. Write &amp; where the character itself is meant; besides there are only &lt; &gt; &apos; &quot; and references to allowed characters.",
    "Znak & tu nezačína odkaz, ktorý XML pozná. Kde má stáť samotný znak, napíšte &amp;; okrem toho existujú len &lt; &gt; &apos; &quot; a odkazy na povolené znaky.",
  ],
  ["A tag is malformed. Correct the markup.", "Značka je chybná. Opravte zápis."],
  [
    "A name is malformed. Use an XML name with at most one colon.",
    "Názov je chybný. Použite názov podľa XML s najviac jednou dvojbodkou.",
  ],
  [
    'An attribute is malformed. Write name="value" with white space before it and no < inside.',
    'Atribút je chybný. Napíšte názov="hodnota", pred ním medzeru a vnútri žiadne <.',
  ],
  [
    "An element has the same attribute twice. Keep one of them.",
    "Element má ten istý atribút dvakrát. Ponechajte jeden.",
  ],
  [
    "A namespace prefix is not declared. Declare it with xmlns:prefix, or correct its spelling.",
    "Predpona menného priestoru nie je deklarovaná. Deklarujte ju cez xmlns:predpona, alebo opravte jej zápis.",
  ],
  [
    "A namespace declaration is not allowed: the prefixes xml and xmlns are reserved, and a prefix needs a namespace.",
    "Deklarácia menného priestoru nie je dovolená: predpony xml a xmlns sú vyhradené a predpona potrebuje menný priestor. Opravte ju.",
  ],
  [
    "An end tag does not match the open element. Write its name exactly as in the start tag, capitals included, and close elements in the reverse order in which they were opened.",
    "Koncová značka nezodpovedá otvorenému elementu. Napíšte názov presne ako v začiatočnej značke, aj s veľkými písmenami, a zatvárajte elementy v opačnom poradí, než boli otvorené.",
  ],
  [
    "The document ends before it is complete. Send all of it.",
    "Dokument sa končí skôr, než je úplný. Pošlite ho celý.",
  ],
  ["Text must not hold ]]>. Write ]]&gt;.", "Text nesmie obsahovať ]]>. Napíšte ]]&gt;."],
  [
    "There is more than one document element. Send one document per payload.",
    "Koreňových elementov je viac. Pošlite každý dokument zvlášť.",
  ],
  [
    "Something other than comments and white space follows the document element. Remove it.",
    "Za koreňovým elementom stojí niečo iné než komentáre a medzery. Odstráňte to.",
  ],
  [
    "Elements are nested more deeply than the limit. Send a flatter document.",
    "Elementy sú vnorené hlbšie, než je dovolené. Pošlite plytší dokument.",
  ],
  [
    "An element has more attributes than the limit. Remove attributes.",
    "Element má viac atribútov, než je dovolené. Odstráňte ich.",
  ],
  ["A name is longer than the limit. Use shorter names.", "Názov je dlhší, než je dovolené. Použite kratšie názvy."],
  [
    "The document uses more different names than the limit. Use fewer names.",
    "Dokument používa viac rôznych názvov, než je dovolené. Použite ich menej.",
  ],
  [
    "The document has more elements than the limit. Split it.",
    "Dokument má viac elementov, než je dovolené. Rozdeľte ho.",
  ],
  [
    "The document has more namespace declarations than the limit. Declare namespaces once, on the document element.",
    "Dokument má viac deklarácií menných priestorov, než je dovolené. Deklarujte ich raz, na koreňovom elemente.",
  ],
  [
    "This document could not be processed twice and is kept for the operator. Send it in another form, or ask the operator.",
    "Tento dokument sa dvakrát nepodarilo spracovať a je odložený pre prevádzkovateľa. Pošlite ho v inej podobe alebo sa obráťte na prevádzkovateľa.",
  ],
];

const SCHEMA: readonly TextRow[] = [
  [
    "The document element is none that is known here. Send a UBL 2.1 Invoice, CreditNote or ApplicationResponse.",
    "Koreňový element tu nie je známy. Pošlite UBL 2.1 Invoice, CreditNote alebo ApplicationResponse.",
  ],
  [
    "Elements are in another namespace than UBL 2.1 has them in.",
    "Elementy sú v inom mennom priestore, než ich má UBL 2.1. Opravte deklarácie menných priestorov.",
  ],
  [
    "The CustomizationID names no specification that is known here. Use that of the Peppol Invoice Response or of the Message Level Status.",
    "CustomizationID nepomenúva žiadnu tu známu špecifikáciu. Použite špecifikáciu Peppol Invoice Response alebo Message Level Status.",
  ],
  [
    "The document element {} is in {}; UBL 2.1 has it in {}. Declare that namespace for it.",
    "Koreňový element {} je v {}; UBL 2.1 ho má v {}. Deklarujte preň tento menný priestor.",
  ],
  [
    "{} is in {}; UBL 2.1 has it in {}. Declare that namespace for it and for the others like it.",
    "{} je v {}; UBL 2.1 ho má v {}. Deklarujte tento menný priestor preň aj pre ostatné podobné.",
  ],
  ["no namespace", "žiadnom mennom priestore"],
  ["the namespace {}", "mennom priestore {}"],
  [
    "This is a UN/CEFACT Cross Industry Invoice (CII), the syntax of Factur-X and ZUGFeRD. Convert it to a UBL 2.1 Invoice or CreditNote.",
    "Toto je UN/CEFACT Cross Industry Invoice (CII), syntax pre Factur-X a ZUGFeRD. Preveďte ju na UBL 2.1 Invoice alebo CreditNote.",
  ],
  [
    "This is a Standard Business Document, the envelope of the Peppol network. Send the UBL document inside it without the envelope.",
    "Toto je Standard Business Document, obálka siete Peppol. Pošlite dokument UBL z nej, bez obálky.",
  ],
  [
    "{} must hold elements only. Remove the text between them.",
    "{} smie obsahovať iba elementy. Odstráňte text medzi nimi.",
  ],
  [
    "The content of an extension must be an element of a namespace of its own. Use another namespace than that of extensions, and not none.",
    "Obsahom rozšírenia musí byť element vlastného menného priestoru. Použite iný priestor než priestor rozšírení, a nie žiadny.",
  ],
  [
    "ext:ExtensionContent must hold exactly one element. Use one extension for each.",
    "ext:ExtensionContent musí obsahovať práve jeden element. Pre každý použite vlastné rozšírenie.",
  ],
  [
    "xsi:type names a type that does not exist. Remove the attribute.",
    "xsi:type pomenúva typ, ktorý neexistuje. Odstráňte atribút.",
  ],
  [
    "{} must hold a value only. Remove the elements inside it.",
    "{} smie obsahovať iba hodnotu. Odstráňte elementy vnútri.",
  ],
  ["The value of {} is not valid. Write {}.", "Hodnota {} nie je platná. Napíšte {}."],
  ["Attribute {} is not valid. Write {}.", "Atribút {} nie je platný. Napíšte {}."],
  ["{} lacks the attribute {}. Add it.", "{} nemá atribút {}. Doplňte ho."],
  [
    "{} must not have xsi:nil. Remove the attribute, and the element if it is empty.",
    "{} nesmie mať xsi:nil. Odstráňte atribút, a ak je element prázdny, aj element.",
  ],
  ["{} must not have the attribute {}. Remove it.", "{} nesmie mať atribút {}. Odstráňte ho."],
  [
    "xsi:type of {} is not its UBL type. Remove the attribute.",
    "xsi:type elementu {} nie je jeho typ v UBL. Odstráňte atribút.",
  ],
  ["{} is not allowed in {}. {}", "{} nie je dovolený v {}. {}"],
  ["Remove it: nothing more can stand here.", "Odstráňte ho: tu už nesmie stáť nič."],
  ["Remove it, or use one of these here: {}.", "Odstráňte ho, alebo použite niektorý z týchto: {}."],
  ["{} must occur only once in {}. Keep one of them.", "{} smie byť v {} iba raz. Ponechajte jeden."],
  ["{} is in the wrong place in {}. {}", "{} je v {} na nesprávnom mieste. {}"],
  ["Move it behind {} and before {}.", "Presuňte ho za {} a pred {}."],
  ["Move it behind {}.", "Presuňte ho za {}."],
  ["Move it before {}.", "Presuňte ho pred {}."],
  ["Move it to its place in the sequence.", "Presuňte ho na jeho miesto v poradí."],
  ["{} lacks {}. Add it {}.", "{} nemá {}. Doplňte ho {}."],
  ["as its first element", "ako prvý element"],
  ["behind {}", "za {}"],
  [
    "a decimal number such as 12.50, without exponent and without separators",
    "desatinné číslo, napríklad 12.50, bez exponentu a bez oddeľovačov",
  ],
  ["a calendar date as YYYY-MM-DD", "dátum ako RRRR-MM-DD"],
  ["a time as hh:mm:ss", "čas ako hh:mm:ss"],
  ["a date and time as YYYY-MM-DDThh:mm:ss", "dátum a čas ako RRRR-MM-DDThh:mm:ss"],
  ["true or false", "true alebo false"],
  ["base64, of letters, digits, + and / only, padded with =", "base64, iba z písmen, číslic, + a /, doplnené znakom ="],
  ["a language code such as sk or en-GB", "kód jazyka, napríklad sk alebo en-GB"],
  ["a URI", "URI"],
  ["text", "text"],
  [
    "The rule {} about this element cannot be evaluated: {}. Correct it and validate again; until then nothing else is said about this layer.",
    "Pravidlo {} o tomto elemente sa nedá vyhodnotiť: {}. Opravte to a skontrolujte znova; dovtedy sa o tejto vrstve nič iné nepovie.",
  ],
  [
    "A rule about this element cannot be evaluated: {}. Correct it and validate again; until then nothing else is said about this layer.",
    "Niektoré pravidlo o tomto elemente sa nedá vyhodnotiť: {}. Opravte to a skontrolujte znova; dovtedy sa o tejto vrstve nič iné nepovie.",
  ],
  [
    "a value in it or below it is no number, date or indicator, as 12,50 or 31.12.2026 is none",
    "hodnota v ňom alebo pod ním nie je číslo, dátum ani true/false; nie je ním napríklad 12,50 ani 31.12.2026",
  ],
  [
    "something in it or below it stands there several times that may stand there once",
    "niečo v ňom alebo pod ním je viackrát, hoci smie byť iba raz",
  ],
  [
    "a number in it or below it is zero that something is divided by",
    "číslo v ňom alebo pod ním, ktorým sa delí, je nula",
  ],
  [
    "a value in it or below it has the wrong form, or stands there several times",
    "hodnota v ňom alebo pod ním má nesprávny tvar alebo je tam viackrát",
  ],
  [
    "The document does not follow the XML schema of its type at this place. Compare the element with the schema: its name, its position, its attributes and the form of its value.",
    "Dokument na tomto mieste nezodpovedá schéme XML svojho typu. Porovnajte element so schémou: jeho názov, miesto, atribúty a tvar hodnoty.",
  ],
];

const ADVICE: readonly TextRow[] = [
  [
    "The price is minus zero. It counts as zero here, but receivers with other processors refuse it by {}; write 0.00 without the sign.",
    "Cena je mínus nula. Tu platí ako nula, ale príjemcovia s inými nástrojmi ju odmietnu podľa {}; napíšte 0.00 bez znamienka.",
  ],
  [
    "The account has the form of an IBAN, but its check digits do not fit: a digit is mistyped or swapped. Compare it with the account and correct it, or the payment will not arrive.",
    "Účet má tvar IBAN, ale jeho kontrolné číslice nesedia: niektorá číslica je nesprávna alebo zamenená. Porovnajte ho s účtom a opravte, inak platba nepríde.",
  ],
  [
    "The account to be debited has the form of an IBAN, but its check digits do not fit: a digit is mistyped or swapped. Compare it with the mandate and correct it.",
    "Účet na inkaso má tvar IBAN, ale jeho kontrolné číslice nesedia: niektorá číslica je nesprávna alebo zamenená. Porovnajte ho s mandátom a opravte.",
  ],
  [
    "This is the type code of a credit note, and the document is an Invoice. Send a CreditNote, or write 380 for an invoice.",
    "Toto je kód typu dobropisu, ale dokument je Invoice. Pošlite CreditNote, alebo pre faktúru napíšte 380.",
  ],
];

const DOCUMENT: readonly TextRow[] = [
  [
    "The specification identifier is missing; add cbc:CustomizationID.",
    "Chýba identifikátor špecifikácie; doplňte cbc:CustomizationID.",
  ],
  ["The invoice number is missing; add cbc:ID.", "Chýba číslo faktúry; doplňte cbc:ID."],
  ["The issue date is missing; add cbc:IssueDate.", "Chýba dátum vystavenia; doplňte cbc:IssueDate."],
  [
    "The type code is missing; add cbc:InvoiceTypeCode or cbc:CreditNoteTypeCode.",
    "Chýba kód typu dokladu; doplňte cbc:InvoiceTypeCode alebo cbc:CreditNoteTypeCode.",
  ],
  [
    "The invoice currency is missing; add cbc:DocumentCurrencyCode.",
    "Chýba mena faktúry; doplňte cbc:DocumentCurrencyCode.",
  ],
  [
    "The name of the seller is missing; add cac:PartyLegalEntity/cbc:RegistrationName to the supplier.",
    "Chýba názov predávajúceho; doplňte dodávateľovi cac:PartyLegalEntity/cbc:RegistrationName.",
  ],
  [
    "The name of the buyer is missing; add cac:PartyLegalEntity/cbc:RegistrationName to the customer.",
    "Chýba názov kupujúceho; doplňte odberateľovi cac:PartyLegalEntity/cbc:RegistrationName.",
  ],
  [
    "The address of the seller is missing; add cac:PostalAddress to the supplier.",
    "Chýba adresa predávajúceho; doplňte dodávateľovi cac:PostalAddress.",
  ],
  [
    "The address of the buyer is missing; add cac:PostalAddress to the customer.",
    "Chýba adresa kupujúceho; doplňte odberateľovi cac:PostalAddress.",
  ],
  ["The invoice has no line; add at least one.", "Faktúra nemá riadok; doplňte aspoň jeden."],
  [
    "There is an accounting currency; add a cac:TaxTotal with the VAT total in that currency.",
    "Je uvedená mena účtovania DPH; doplňte cac:TaxTotal s celkovou DPH v tejto mene.",
  ],
  [
    "Give either the tax point date (cbc:TaxPointDate) or its code (cac:InvoicePeriod/cbc:DescriptionCode), not both.",
    "Uveďte buď dátum daňovej povinnosti (cbc:TaxPointDate), alebo jeho kód (cac:InvoicePeriod/cbc:DescriptionCode), nie oboje.",
  ],
  [
    "An intra-community supply (VAT category K) needs the delivery date or the invoicing period; add cac:Delivery/cbc:ActualDeliveryDate or cac:InvoicePeriod.",
    "Dodanie v rámci EÚ (kategória DPH K) potrebuje dátum dodania alebo fakturačné obdobie; doplňte cac:Delivery/cbc:ActualDeliveryDate alebo cac:InvoicePeriod.",
  ],
  [
    "An intra-community supply (VAT category K) needs the country it is delivered to; add it to the address of cac:DeliveryLocation.",
    "Dodanie v rámci EÚ (kategória DPH K) potrebuje krajinu dodania; doplňte ju do adresy v cac:DeliveryLocation.",
  ],
  ["No other VAT category may be in the VAT breakdown {}", "V rozpise DPH nesmie byť iná kategória DPH {}"],
  ["No line may have another VAT category {}", "Žiadny riadok nesmie mať inú kategóriu DPH {}"],
  ["No allowance may have another VAT category {}", "Žiadna zľava nesmie mať inú kategóriu DPH {}"],
  ["No charge may have another VAT category {}", "Žiadna prirážka nesmie mať inú kategóriu DPH {}"],
  [
    'where the VAT breakdown is "not subject to VAT" (category O); use category O throughout or not at all.',
    "tam, kde je rozpis DPH „nie je predmetom DPH“ (kategória O); kategóriu O použite všade alebo nikde.",
  ],
  [
    "VAT category B (split payment) is for invoices within Italy; all country codes must be IT.",
    "Kategória DPH B (rozdelená platba) je iba pre faktúry v Taliansku; všetky kódy krajín musia byť IT.",
  ],
  [
    "VAT categories B (split payment) and S (standard rated) cannot be used in one invoice; use one of them.",
    "Kategórie DPH B (rozdelená platba) a S (štandardná sadzba) nemôžu byť v jednej faktúre; použite jednu.",
  ],
];

const LINES: readonly TextRow[] = [
  [
    "The {} has no reason; add cbc:AllowanceChargeReason or cbc:AllowanceChargeReasonCode.",
    "Chýba dôvod: {}; doplňte cbc:AllowanceChargeReason alebo cbc:AllowanceChargeReasonCode.",
  ],
  ["The {} has no amount; add cbc:Amount.", "Chýba suma: {}; doplňte cbc:Amount."],
  [
    "The {} has no VAT category; add cac:TaxCategory/cbc:ID with cac:TaxScheme VAT.",
    "Chýba kategória DPH: {}; doplňte cac:TaxCategory/cbc:ID s cac:TaxScheme VAT.",
  ],
  [
    "Reason and reason code of the {} must mean the same; correct one of them.",
    "Dôvod a jeho kód musia znamenať to isté: {}; opravte jedno z nich.",
  ],
  ["document level allowance", "zľava na úrovni dokladu"],
  ["document level charge", "prirážka na úrovni dokladu"],
  ["line allowance", "zľava na riadku"],
  ["line charge", "prirážka na riadku"],
  ["The line has no identifier; add cbc:ID.", "Riadok nemá identifikátor; doplňte cbc:ID."],
  [
    "The line has no quantity; add cbc:InvoicedQuantity or cbc:CreditedQuantity.",
    "Riadok nemá množstvo; doplňte cbc:InvoicedQuantity alebo cbc:CreditedQuantity.",
  ],
  [
    "The quantity of the line has no unit; add the attribute unitCode.",
    "Množstvo na riadku nemá jednotku; doplňte atribút unitCode.",
  ],
  [
    "The line has no net amount; add cbc:LineExtensionAmount.",
    "Riadok nemá sumu bez DPH; doplňte cbc:LineExtensionAmount.",
  ],
  [
    "The item of the line has no name; add cac:Item/cbc:Name.",
    "Položka na riadku nemá názov; doplňte cac:Item/cbc:Name.",
  ],
  [
    "The item of the line has no net price; add cac:Price/cbc:PriceAmount.",
    "Položka na riadku nemá cenu bez DPH; doplňte cac:Price/cbc:PriceAmount.",
  ],
  [
    "The net price of an item must not be negative; make the quantity negative instead.",
    "Cena položky bez DPH nesmie byť záporná; dajte zápornú hodnotu množstvu.",
  ],
  [
    "The gross price of an item must not be negative; correct cac:Price/cac:AllowanceCharge/cbc:BaseAmount.",
    "Cena položky pred zľavou nesmie byť záporná; opravte cac:Price/cac:AllowanceCharge/cbc:BaseAmount.",
  ],
  [
    "The item of the line has no VAT category; add cac:ClassifiedTaxCategory/cbc:ID with cac:TaxScheme VAT.",
    "Položka na riadku nemá kategóriu DPH; doplňte cac:ClassifiedTaxCategory/cbc:ID s cac:TaxScheme VAT.",
  ],
  [
    "The period ends before it starts; correct cbc:StartDate or cbc:EndDate.",
    "Obdobie sa končí skôr, než sa začína; opravte cbc:StartDate alebo cbc:EndDate.",
  ],
  [
    "The period of the line is empty; add cbc:StartDate, cbc:EndDate or both.",
    "Obdobie riadku je prázdne; doplňte cbc:StartDate, cbc:EndDate alebo oboje.",
  ],
  [
    "The invoicing period is empty; add cbc:StartDate, cbc:EndDate or both.",
    "Fakturačné obdobie je prázdne; doplňte cbc:StartDate, cbc:EndDate alebo oboje.",
  ],
  [
    "An item attribute needs a name and a value; add cbc:Name and cbc:Value.",
    "Vlastnosť položky potrebuje názov a hodnotu; doplňte cbc:Name a cbc:Value.",
  ],
  [
    "The item classification has no scheme; add the attribute listID.",
    "Klasifikácia položky nemá schému; doplňte atribút listID.",
  ],
  [
    "The standard identifier of the item has no scheme; add the attribute schemeID.",
    "Štandardný identifikátor položky nemá schému; doplňte atribút schemeID.",
  ],
  [
    "The subject code of the note (between # marks) is not in UNTDID 4451; correct it.",
    "Kód predmetu poznámky (medzi znakmi #) nie je v UNTDID 4451; opravte ho.",
  ],
  ["{} may have at most two decimals; round it.", "{} smie mať najviac dve desatinné miesta; zaokrúhlite."],
  ["The VAT total", "Celková DPH"],
  ["The VAT total in accounting currency", "Celková DPH v mene účtovania"],
  ["An amount", "Suma"],
];

const PARTIES: readonly TextRow[] = [
  ["The supporting document has no reference; add cbc:ID.", "Podporný doklad nemá označenie; doplňte cbc:ID."],
  [
    "The electronic address of the buyer has no scheme; add the attribute schemeID.",
    "Elektronická adresa kupujúceho nemá schému; doplňte atribút schemeID.",
  ],
  [
    "The electronic address of the seller has no scheme; add the attribute schemeID.",
    "Elektronická adresa predávajúceho nemá schému; doplňte atribút schemeID.",
  ],
  [
    "The country of the buyer is missing; add cac:Country/cbc:IdentificationCode.",
    "Chýba krajina kupujúceho; doplňte cac:Country/cbc:IdentificationCode.",
  ],
  [
    "The country of the seller is missing; add cac:Country/cbc:IdentificationCode.",
    "Chýba krajina predávajúceho; doplňte cac:Country/cbc:IdentificationCode.",
  ],
  [
    "The country of delivery is missing; add cac:Country/cbc:IdentificationCode.",
    "Chýba krajina dodania; doplňte cac:Country/cbc:IdentificationCode.",
  ],
  [
    "The country of the tax representative is missing; add cac:Country/cbc:IdentificationCode.",
    "Chýba krajina daňového zástupcu; doplňte cac:Country/cbc:IdentificationCode.",
  ],
  [
    "A card number must not be given in full; give at most the first six and the last four digits.",
    "Číslo karty nesmie byť úplné; uveďte najviac prvých šesť a posledné štyri číslice.",
  ],
  [
    "A payee is given only when it differs from the seller; add its name (cac:PartyName/cbc:Name), or remove cac:PayeeParty when it is the seller.",
    "Príjemca platby sa uvádza, iba ak to nie je predávajúci; doplňte jeho názov (cac:PartyName/cbc:Name), alebo cac:PayeeParty odstráňte.",
  ],
  [
    "The account of the credit transfer has no identifier; add cbc:ID (an IBAN, for instance).",
    "Účet na prevod nemá identifikátor; doplňte cbc:ID (napríklad IBAN).",
  ],
  [
    "The payment means have no type; add cbc:PaymentMeansCode.",
    "Chýba kód spôsobu platby; doplňte cbc:PaymentMeansCode.",
  ],
  [
    "A credit transfer (codes 30 and 58) needs the account to pay to; add cac:PayeeFinancialAccount/cbc:ID.",
    "Prevod (kódy 30 a 58) potrebuje účet, na ktorý sa platí; doplňte cac:PayeeFinancialAccount/cbc:ID.",
  ],
  [
    "The reference to a preceding invoice has no number; add cac:InvoiceDocumentReference/cbc:ID.",
    "Odkaz na predchádzajúcu faktúru nemá číslo; doplňte cac:InvoiceDocumentReference/cbc:ID.",
  ],
  [
    "The seller cannot be identified; give its VAT identifier, its legal registration (cac:PartyLegalEntity/cbc:CompanyID) or another identifier.",
    "Predávajúceho nemožno identifikovať; uveďte jeho IČ DPH, IČO (cac:PartyLegalEntity/cbc:CompanyID) alebo iný identifikátor.",
  ],
  [
    "The name of the tax representative is missing; add cac:PartyName/cbc:Name.",
    "Chýba názov daňového zástupcu; doplňte cac:PartyName/cbc:Name.",
  ],
  [
    "The address of the tax representative is missing; add cac:PostalAddress.",
    "Chýba adresa daňového zástupcu; doplňte cac:PostalAddress.",
  ],
  [
    "The VAT identifier of the tax representative is missing; add cac:PartyTaxScheme with cac:TaxScheme VAT.",
    "Chýba IČ DPH daňového zástupcu; doplňte cac:PartyTaxScheme s cac:TaxScheme VAT.",
  ],
  [
    "A VAT identifier must start with the code of its country (EL for Greece); correct cbc:CompanyID.",
    "IČ DPH sa musí začínať kódom krajiny (pre Grécko EL); opravte cbc:CompanyID.",
  ],
];

const TOTALS: readonly TextRow[] = [
  [
    "The sum of line net amounts is missing; add cbc:LineExtensionAmount.",
    "Chýba súčet súm riadkov bez DPH; doplňte cbc:LineExtensionAmount.",
  ],
  [
    "cbc:LineExtensionAmount must equal the sum of the net amounts of all lines; recalculate it.",
    "cbc:LineExtensionAmount sa musí rovnať súčtu súm všetkých riadkov bez DPH; prepočítajte ho.",
  ],
  [
    "cbc:AllowanceTotalAmount must equal the sum of the document level allowances; recalculate it, or leave it out when there are none.",
    "cbc:AllowanceTotalAmount sa musí rovnať súčtu zliav na úrovni dokladu; prepočítajte ho, alebo ho vynechajte, ak zľavy nie sú.",
  ],
  [
    "cbc:ChargeTotalAmount must equal the sum of the document level charges; recalculate it, or leave it out when there are none.",
    "cbc:ChargeTotalAmount sa musí rovnať súčtu prirážok na úrovni dokladu; prepočítajte ho, alebo ho vynechajte, ak prirážky nie sú.",
  ],
  [
    "cbc:TaxExclusiveAmount must equal the line total minus allowances plus charges; recalculate it.",
    "cbc:TaxExclusiveAmount sa musí rovnať súčtu riadkov mínus zľavy plus prirážky; prepočítajte ho.",
  ],
  [
    "cbc:PayableAmount must equal the total with VAT minus the paid amount plus the rounding amount; recalculate it.",
    "cbc:PayableAmount sa musí rovnať celkovej sume s DPH mínus uhradená suma plus zaokrúhlenie; prepočítajte ho.",
  ],
  [
    "The total without VAT is missing; add cbc:TaxExclusiveAmount.",
    "Chýba celková suma bez DPH; doplňte cbc:TaxExclusiveAmount.",
  ],
  [
    "The total with VAT is missing; add cbc:TaxInclusiveAmount.",
    "Chýba celková suma s DPH; doplňte cbc:TaxInclusiveAmount.",
  ],
  ["The amount due is missing; add cbc:PayableAmount.", "Chýba suma na úhradu; doplňte cbc:PayableAmount."],
  [
    "The VAT total must equal the sum of the tax amounts of its cac:TaxSubtotal; recalculate cbc:TaxAmount.",
    "Celková DPH sa musí rovnať súčtu dane zo všetkých cac:TaxSubtotal; prepočítajte cbc:TaxAmount.",
  ],
  [
    "The taxable amount of the VAT breakdown is missing; add cbc:TaxableAmount.",
    "V rozpise DPH chýba základ dane; doplňte cbc:TaxableAmount.",
  ],
  [
    "The tax amount of the VAT breakdown is missing; add cbc:TaxAmount.",
    "V rozpise DPH chýba suma dane; doplňte cbc:TaxAmount.",
  ],
  [
    "The VAT breakdown has no VAT category code; add cac:TaxCategory/cbc:ID with cac:TaxScheme VAT.",
    "V rozpise DPH chýba kód kategórie; doplňte cac:TaxCategory/cbc:ID s cac:TaxScheme VAT.",
  ],
  [
    "The VAT breakdown has no VAT rate; add cac:TaxCategory/cbc:Percent (only category O has none).",
    "V rozpise DPH chýba sadzba; doplňte cac:TaxCategory/cbc:Percent (nemá ju iba kategória O).",
  ],
  [
    "The tax amount must equal the taxable amount times the VAT rate, rounded to two decimals; recalculate cbc:TaxAmount.",
    "Suma dane sa musí rovnať základu krát sadzba, zaokrúhlene na dve desatinné miesta; prepočítajte cbc:TaxAmount.",
  ],
  [
    "The total with VAT must equal the total without VAT plus the VAT total in the invoice currency, of which there must be exactly one; recalculate it.",
    "Celková suma s DPH sa musí rovnať celkovej sume bez DPH plus celkovej DPH v mene faktúry, ktorá musí byť práve jedna; prepočítajte ju.",
  ],
  [
    "The VAT breakdown is missing; add at least one cac:TaxTotal/cac:TaxSubtotal.",
    "Chýba rozpis DPH; doplňte aspoň jeden cac:TaxTotal/cac:TaxSubtotal.",
  ],
];

const VAT: readonly TextRow[] = [
  ["reverse charge", "prenos daňovej povinnosti"],
  ["exempt from VAT", "oslobodené od DPH"],
  ["export outside the EU", "vývoz mimo EÚ"],
  ["intra-community supply", "dodanie v rámci EÚ"],
  ["IGIC, Canary Islands", "IGIC, Kanárske ostrovy"],
  ["IPSI, Ceuta and Melilla", "IPSI, Ceuta a Melilla"],
  ["not subject to VAT", "nie je predmetom DPH"],
  ["standard rated", "štandardná sadzba"],
  ["zero rated", "nulová sadzba"],
  ["The invoice has {} of VAT category {} ({}): {}.", "Na faktúre je {} s kategóriou DPH {} ({}): {}."],
  ["a line", "riadok"],
  ["a document level allowance", "zľava na úrovni dokladu"],
  ["a document level charge", "prirážka na úrovni dokladu"],
  [
    "remove the VAT identifiers of seller, tax representative and buyer",
    "odstráňte IČ DPH predávajúceho, daňového zástupcu aj kupujúceho",
  ],
  ["{}, and the VAT identifier of the buyer", "{}, a IČ DPH kupujúceho"],
  ["{}, and the VAT or legal registration identifier of the buyer", "{}, a IČ DPH alebo IČO kupujúceho"],
  [
    "give the seller's VAT or tax registration identifier, or the VAT identifier of the tax representative",
    "uveďte IČ DPH alebo DIČ predávajúceho, alebo IČ DPH daňového zástupcu",
  ],
  [
    "give the VAT identifier of the seller or of the tax representative",
    "uveďte IČ DPH predávajúceho alebo daňového zástupcu",
  ],
  ["The VAT rate of {} of category {} ({}) {}.", "Sadzba DPH: {}, kategória {} ({}) {}."],
  ["an allowance", "zľava"],
  ["a charge", "prirážka"],
  ["an item", "položka"],
  ["must be given and be 0; set cbc:Percent to 0", "musí byť uvedená a byť 0; nastavte cbc:Percent na 0"],
  [
    "must be greater than 0; correct cbc:Percent or the category",
    "musí byť väčšia ako 0; opravte cbc:Percent alebo kategóriu",
  ],
  ["must be 0 or more; correct cbc:Percent", "musí byť 0 alebo viac; opravte cbc:Percent"],
  ["must not be given; remove cbc:Percent", "nesmie byť uvedená; odstráňte cbc:Percent"],
  [
    "The VAT breakdown must have a cac:TaxSubtotal of category {} ({}) if and only if a line, allowance or charge has this category.",
    "Rozpis DPH musí mať cac:TaxSubtotal s kategóriou {} ({}) práve vtedy, keď ju má niektorý riadok, zľava alebo prirážka; doplňte ho alebo odstráňte.",
  ],
  [
    "Lines, allowances or charges of VAT category {} ({}) need exactly one cac:TaxSubtotal of this category in the VAT breakdown.",
    "Riadky, zľavy alebo prirážky s kategóriou DPH {} ({}) potrebujú v rozpise DPH práve jeden cac:TaxSubtotal tejto kategórie; doplňte ho.",
  ],
  [
    "The taxable amount of VAT category {} ({}) must equal the lines plus charges minus allowances of this category and rate; recalculate cbc:TaxableAmount.",
    "Základ dane kategórie DPH {} ({}) sa musí rovnať riadkom plus prirážkam mínus zľavám tejto kategórie a sadzby; prepočítajte cbc:TaxableAmount.",
  ],
  [
    "The taxable amount of VAT category {} ({}) must equal the lines plus charges minus allowances of this category; recalculate cbc:TaxableAmount.",
    "Základ dane kategórie DPH {} ({}) sa musí rovnať riadkom plus prirážkam mínus zľavám tejto kategórie; prepočítajte cbc:TaxableAmount.",
  ],
  [
    "The tax amount of VAT category {} ({}) must equal its taxable amount times its rate; recalculate cbc:TaxAmount.",
    "Suma dane kategórie DPH {} ({}) sa musí rovnať jej základu krát sadzba; prepočítajte cbc:TaxAmount.",
  ],
  [
    "The tax amount of VAT category {} ({}) must be 0; set cbc:TaxAmount to 0.",
    "Suma dane kategórie DPH {} ({}) musí byť 0; nastavte cbc:TaxAmount na 0.",
  ],
  [
    "The breakdown of VAT category {} ({}) needs an exemption reason; add cbc:TaxExemptionReasonCode or cbc:TaxExemptionReason.",
    "Rozpis kategórie DPH {} ({}) potrebuje dôvod oslobodenia; doplňte cbc:TaxExemptionReasonCode alebo cbc:TaxExemptionReason.",
  ],
  [
    "The breakdown of VAT category {} ({}) has no exemption reason; remove cbc:TaxExemptionReasonCode and cbc:TaxExemptionReason.",
    "Rozpis kategórie DPH {} ({}) nemá dôvod oslobodenia; odstráňte cbc:TaxExemptionReasonCode a cbc:TaxExemptionReason.",
  ],
];

const CODES: readonly TextRow[] = [
  ["The {} is not in {}; use a code of that list.", "Kód nie je v zozname {1}: {0}; použite kód z tohto zoznamu."],
  [
    "The {} is not in {}; use a code of that list, such as {}.",
    "Kód nie je v zozname {1}: {0}; použite kód z tohto zoznamu, napríklad {2}.",
  ],
  [
    "The document type is not one of the invoice or credit note codes of UNTDID 1001; an Invoice takes 380 and its like. A credit note, 381, is a document of its own: send a CreditNote.",
    "Typ dokladu nie je medzi kódmi faktúr ani dobropisov v UNTDID 1001; Invoice má 380 alebo podobný. Dobropis, 381, je samostatný doklad: pošlite CreditNote.",
  ],
  [
    "The currency of an amount is not in {}; set the attribute currencyID.",
    "Mena sumy nie je v zozname {}; opravte atribút currencyID.",
  ],
  ["invoice currency", "mena faktúry"],
  ["accounting currency", "mena účtovania DPH"],
  ["code of the tax point date", "kód dátumu daňovej povinnosti"],
  ["scheme of the invoiced object", "schéma fakturovaného predmetu"],
  ["scheme of the identifier", "schéma identifikátora"],
  ["scheme of the legal registration", "schéma registračného čísla"],
  ["scheme of the item classification", "schéma klasifikácie položky"],
  ["country code", "kód krajiny"],
  ["country of origin", "krajina pôvodu"],
  ["type of the payment means", "kód spôsobu platby"],
  ["VAT category", "kategória DPH"],
  ["VAT category of the item", "kategória DPH položky"],
  ["reason code of the allowance", "kód dôvodu zľavy"],
  ["reason code of the charge", "kód dôvodu prirážky"],
  ["scheme of the item identifier", "schéma identifikátora položky"],
  ["exemption reason code", "kód dôvodu oslobodenia"],
  ["unit of the quantity", "jednotka množstva"],
  ["scheme of the electronic address", "schéma elektronickej adresy"],
  ["scheme of the delivery location", "schéma miesta dodania"],
  [
    "The format of the attached document is not admitted; attach PDF, PNG, JPEG, CSV, XLSX or ODS.",
    "Formát prílohy nie je dovolený; priložte PDF, PNG, JPEG, CSV, XLSX alebo ODS.",
  ],
];

const SYNTAX: readonly TextRow[] = [
  [
    "{} is not used in the lines of EN 16931 invoices; remove it.",
    "{} sa v riadkoch faktúr podľa EN 16931 nepoužíva; odstráňte ho.",
  ],
  ["{} is not used in EN 16931 invoices; remove it.", "{} sa vo faktúrach podľa EN 16931 nepoužíva; odstráňte ho."],
  [
    "cbc:UBLVersionID is not used in EN 16931 invoices; remove it or set it to 2.1.",
    "cbc:UBLVersionID sa vo faktúrach podľa EN 16931 nepoužíva; odstráňte ho alebo nastavte na 2.1.",
  ],
  [
    "cac:PaymentMeans/cbc:PaymentDueDate is used in credit notes only; use cbc:DueDate in an invoice.",
    "cac:PaymentMeans/cbc:PaymentDueDate sa používa iba v dobropisoch; vo faktúre použite cbc:DueDate.",
  ],
  ["The attribute {} of {}", "Atribút {} elementu {}"],
  ["The attribute {}", "Atribút {}"],
  [
    "{} may occur only once; keep one and remove the others.",
    "{} smie byť iba raz; ponechajte jeden a ostatné odstráňte.",
  ],
  [
    "The attribute name is used on cbc:PaymentMeansCode only; remove it elsewhere.",
    "Atribút name sa používa iba pri cbc:PaymentMeansCode; inde ho odstráňte.",
  ],
  [
    "Give the text of the payment means (attribute name of cbc:PaymentMeansCode) only once.",
    "Text spôsobu platby (atribút name pri cbc:PaymentMeansCode) uveďte iba raz.",
  ],
  [
    "Only the reference of an invoiced object (cbc:DocumentTypeCode 130) has a scheme; remove schemeID from the cbc:ID of other cac:AdditionalDocumentReference.",
    "Schému má iba odkaz na fakturovaný predmet (cbc:DocumentTypeCode 130); odstráňte schemeID z cbc:ID ostatných cac:AdditionalDocumentReference.",
  ],
  [
    "The reference of an invoiced object (cbc:DocumentTypeCode 130) has no document; remove its cac:Attachment.",
    "Odkaz na fakturovaný predmet (cbc:DocumentTypeCode 130) nemá prílohu; odstráňte jeho cac:Attachment.",
  ],
  [
    "The reference of an invoiced object (cbc:DocumentTypeCode 130) has no description; remove its cbc:DocumentDescription.",
    "Odkaz na fakturovaný predmet (cbc:DocumentTypeCode 130) nemá opis; odstráňte jeho cbc:DocumentDescription.",
  ],
  [
    "Only one invoiced object may be named; keep one cac:AdditionalDocumentReference with cbc:DocumentTypeCode 130.",
    "Fakturovaný predmet smie byť iba jeden; ponechajte jeden cac:AdditionalDocumentReference s cbc:DocumentTypeCode 130.",
  ],
  [
    "The seller may have only one VAT identifier; keep one cac:PartyTaxScheme of scheme VAT.",
    "Predávajúci smie mať iba jedno IČ DPH; ponechajte jeden cac:PartyTaxScheme so schémou VAT.",
  ],
  [
    "The seller may have only one tax registration identifier; keep one cac:PartyTaxScheme of a scheme other than VAT.",
    "Predávajúci smie mať iba jedno DIČ; ponechajte jeden cac:PartyTaxScheme s inou schémou než VAT.",
  ],
  [
    "The buyer may have only one VAT identifier; keep one cac:PartyTaxScheme of scheme VAT.",
    "Kupujúci smie mať iba jedno IČ DPH; ponechajte jeden cac:PartyTaxScheme so schémou VAT.",
  ],
  [
    "Only one creditor identifier may be given; keep one cac:PartyIdentification/cbc:ID of scheme SEPA.",
    "Identifikátor príjemcu inkasa smie byť iba jeden; ponechajte jeden cac:PartyIdentification/cbc:ID so schémou SEPA.",
  ],
  [
    "All cbc:PaymentID must carry the same remittance information; make them equal.",
    "Všetky cbc:PaymentID musia mať rovnaký platobný údaj; zjednoťte ich.",
  ],
  [
    "All cbc:PaymentMeansCode must be the same; make them equal or send several invoices.",
    "Všetky cbc:PaymentMeansCode musia byť rovnaké; zjednoťte ich alebo pošlite viac faktúr.",
  ],
  [
    "An address has at most one third line; keep one cac:AddressLine.",
    "Adresa má najviac jeden tretí riadok; ponechajte jeden cac:AddressLine.",
  ],
  [
    "The seller has at most two tax identifiers; keep one cac:PartyTaxScheme for VAT and one other.",
    "Predávajúci má najviac dva daňové identifikátory; ponechajte jeden cac:PartyTaxScheme pre DPH a jeden iný.",
  ],
  [
    "A supporting document has at most one description; keep one cbc:DocumentDescription.",
    "Podporný doklad má najviac jeden opis; ponechajte jeden cbc:DocumentDescription.",
  ],
  [
    "A scheme or type code is used for an invoiced object only; set cbc:DocumentTypeCode to 130 (50 in a credit note), or remove it and the schemeID of cbc:ID.",
    "Schéma alebo kód typu sa používa iba pre fakturovaný predmet; nastavte cbc:DocumentTypeCode na 130 (v dobropise 50), alebo ho odstráňte aj so schemeID pri cbc:ID.",
  ],
  [
    "The attached document has no format; add the attribute mimeCode.",
    "Príloha nemá formát; doplňte atribút mimeCode.",
  ],
  [
    "The attached document has no file name; add the attribute filename.",
    "Príloha nemá názov súboru; doplňte atribút filename.",
  ],
  [
    "The party delivered to has at most one name; keep one.",
    "Príjemca dodania má najviac jeden názov; ponechajte jeden.",
  ],
  [
    "An allowance has at most one reason text; keep one cbc:AllowanceChargeReason.",
    "Zľava má najviac jeden text dôvodu; ponechajte jeden cbc:AllowanceChargeReason.",
  ],
  [
    "A charge has at most one reason text; keep one cbc:AllowanceChargeReason.",
    "Prirážka má najviac jeden text dôvodu; ponechajte jeden cbc:AllowanceChargeReason.",
  ],
  [
    "A tax scheme needs its own identifier and that of the party; add cac:TaxScheme/cbc:ID and cbc:CompanyID.",
    "Daňová registrácia potrebuje svoj identifikátor aj identifikátor strany; doplňte cac:TaxScheme/cbc:ID a cbc:CompanyID.",
  ],
  ["A line has at most one note; keep one cbc:Note.", "Riadok má najviac jednu poznámku; ponechajte jeden cbc:Note."],
  [
    "A line refers to at most one order line; keep one cac:OrderLineReference/cbc:LineID.",
    "Riadok odkazuje najviac na jeden riadok objednávky; ponechajte jeden cac:OrderLineReference/cbc:LineID.",
  ],
  [
    "A line has at most one period; keep one cac:InvoicePeriod.",
    "Riadok má najviac jedno obdobie; ponechajte jeden cac:InvoicePeriod.",
  ],
  [
    "A price has at most one discount; keep one cac:Price/cac:AllowanceCharge.",
    "Cena má najviac jednu zľavu; ponechajte jeden cac:Price/cac:AllowanceCharge.",
  ],
  [
    "A line has exactly one VAT category; keep one cac:Item/cac:ClassifiedTaxCategory.",
    "Riadok má práve jednu kategóriu DPH; ponechajte jeden cac:Item/cac:ClassifiedTaxCategory.",
  ],
  [
    "An item has at most one description; keep one cbc:Description.",
    "Položka má najviac jeden opis; ponechajte jeden cbc:Description.",
  ],
  [
    "A line refers to at most one object; keep one cac:DocumentReference.",
    "Riadok odkazuje najviac na jeden predmet; ponechajte jeden cac:DocumentReference.",
  ],
  [
    "The payee must have one name, different from the legal name of the seller; correct it, or remove cac:PayeeParty.",
    "Príjemca platby musí mať jeden názov, iný než právny názov predávajúceho; opravte ho, alebo odstráňte cac:PayeeParty.",
  ],
  [
    "The payee may have one identifier and must differ in name from the seller; correct it, or remove cac:PayeeParty.",
    "Príjemca platby smie mať jeden identifikátor a musí sa volať inak než predávajúci; opravte to, alebo odstráňte cac:PayeeParty.",
  ],
  [
    "The payee may have one legal registration and must differ in name from the seller; correct it, or remove cac:PayeeParty.",
    "Príjemca platby smie mať jedno registračné číslo a musí sa volať inak než predávajúci; opravte to, alebo odstráňte cac:PayeeParty.",
  ],
  [
    "Payment means have at most one remittance information; keep one cbc:PaymentID.",
    "Spôsob platby má najviac jeden platobný údaj; ponechajte jeden cbc:PaymentID.",
  ],
  [
    "Payment means have one type; keep one cbc:PaymentMeansCode.",
    "Spôsob platby má jeden kód; ponechajte jeden cbc:PaymentMeansCode.",
  ],
  [
    "A direct debit has at most one mandate; keep one cac:PaymentMandate/cbc:ID.",
    "Inkaso má najviac jeden mandát; ponechajte jeden cac:PaymentMandate/cbc:ID.",
  ],
  [
    "A billing reference names one preceding invoice; keep one cac:InvoiceDocumentReference.",
    "Odkaz pomenúva jednu predchádzajúcu faktúru; ponechajte jeden cac:InvoiceDocumentReference.",
  ],
  [
    "The tax representative has one name; keep one cac:PartyName.",
    "Daňový zástupca má jeden názov; ponechajte jeden cac:PartyName.",
  ],
  [
    "The tax representative has one VAT identifier; keep one cac:PartyTaxScheme.",
    "Daňový zástupca má jedno IČ DPH; ponechajte jeden cac:PartyTaxScheme.",
  ],
  [
    "A VAT breakdown has at most one exemption reason text; keep one cbc:TaxExemptionReason.",
    "Rozpis DPH má najviac jeden text dôvodu oslobodenia; ponechajte jeden cbc:TaxExemptionReason.",
  ],
];

/** Rows of the layers that every document meets. */
export const SLOVAK: readonly TextRow[] = [
  ...XML,
  ...SCHEMA,
  ...ADVICE,
  ...DOCUMENT,
  ...LINES,
  ...PARTIES,
  ...TOTALS,
  ...VAT,
  ...CODES,
  ...SYNTAX,
];
