/** Slovak sentences of the Peppol layers; `{}` is a part of the English sentence. */
import type { TextRow } from "./text-row.js";

const BILLING: readonly TextRow[] = [
  [
    "The element is empty. Give it a value or leave it out.",
    "Element je prázdny. Dajte mu hodnotu alebo ho vynechajte.",
  ],
  [
    "The credit note names several projects (additional document references of type 50). Keep one.",
    "Dobropis pomenúva viac projektov (cac:AdditionalDocumentReference typu 50). Ponechajte jeden.",
  ],
  ["The business process is missing. Add cbc:ProfileID.", "Chýba obchodný proces. Doplňte cbc:ProfileID."],
  [
    "The business process (cbc:ProfileID) is not one that Peppol has approved. Write {}, or {} for self-billing.",
    "Obchodný proces (cbc:ProfileID) nie je schválený v Peppole. Napíšte {}, alebo {} pre samofakturáciu.",
  ],
  [
    "There is more than one note. Merge the notes into one; only documents between German parties may carry several.",
    "Poznámok je viac. Spojte ich do jednej; viac ich smú mať iba doklady medzi nemeckými stranami.",
  ],
  [
    "Neither a buyer reference nor a purchase order reference is given. Add one of them.",
    "Chýba referencia kupujúceho aj číslo objednávky. Doplňte jedno z nich (cbc:BuyerReference alebo cac:OrderReference).",
  ],
  [
    "The specification identifier (cbc:CustomizationID) does not begin with the one of this Peppol process, or contains '::'. Write {}, or {} for self-billing.",
    "Identifikátor špecifikácie (cbc:CustomizationID) sa nezačína tým, ktorý patrí k tomuto procesu Peppol, alebo obsahuje „::“. Napíšte {}, alebo {} pre samofakturáciu.",
  ],
  [
    "Exactly one cac:TaxTotal must carry the VAT breakdown. Put all VAT subtotals into one.",
    "Rozpis DPH musí mať práve jeden cac:TaxTotal. Dajte všetky cac:TaxSubtotal do jedného.",
  ],
  [
    "A VAT total without breakdown belongs to a VAT accounting currency: give exactly one if cbc:TaxCurrencyCode is present, none otherwise.",
    "Celková DPH bez rozpisu patrí k mene účtovania DPH: uveďte práve jednu, ak je cbc:TaxCurrencyCode, inak žiadnu.",
  ],
  [
    "The VAT totals in document currency and in accounting currency have different signs. Correct one of them.",
    "Celková DPH v mene dokladu a v mene účtovania má rôzne znamienka. Opravte jednu z nich.",
  ],
  [
    "The VAT accounting currency equals the document currency. Leave cbc:TaxCurrencyCode out, or correct it.",
    "Mena účtovania DPH je rovnaká ako mena dokladu. Vynechajte cbc:TaxCurrencyCode, alebo ho opravte.",
  ],
  [
    "The buyer's electronic address is missing. Add cbc:EndpointID to the buyer.",
    "Chýba elektronická adresa kupujúceho. Doplňte kupujúcemu cbc:EndpointID.",
  ],
  [
    "The seller's electronic address is missing. Add cbc:EndpointID to the seller.",
    "Chýba elektronická adresa predávajúceho. Doplňte predávajúcemu cbc:EndpointID.",
  ],
  [
    "The exemption reason {} belongs to VAT category {}. Change the category or the reason.",
    "Dôvod oslobodenia {} patrí ku kategórii DPH {}. Zmeňte kategóriu alebo dôvod.",
  ],
  [
    "The invoice type code is not allowed in this business process. Choose one of {}.",
    "Kód typu faktúry nie je v tomto obchodnom procese dovolený. Vyberte jeden z: {}.",
  ],
  [
    "The invoice types 326 and 384 are reserved to German sellers with German buyers. Choose another type.",
    "Typy faktúr 326 a 384 sú vyhradené nemeckým predávajúcim s nemeckými kupujúcimi. Vyberte iný typ.",
  ],
  [
    "The media type of the attachment is not allowed. Attach PDF, PNG, JPEG, CSV, XLSX or ODS.",
    "Formát prílohy nie je dovolený. Priložte PDF, PNG, JPEG, CSV, XLSX alebo ODS.",
  ],
  [
    "The reason code of the allowance is not in the allowed part of UNCL 5189.",
    "Kód dôvodu zľavy nie je v dovolenej časti UNCL 5189. Použite iný kód.",
  ],
  [
    "The reason code of the charge is not in UNCL 7161.",
    "Kód dôvodu prirážky nie je v UNCL 7161. Použite kód z tohto zoznamu.",
  ],
  [
    "The code for the VAT point date must be 3, 35 or 432.",
    "Kód dátumu daňovej povinnosti musí byť 3, 35 alebo 432. Opravte ho.",
  ],
  ["The amount has no currency of ISO 4217. Correct currencyID.", "Suma nemá menu podľa ISO 4217. Opravte currencyID."],
  [
    "The credit note type code is not allowed in this business process. Choose one of the codes of the process.",
    "Kód typu dobropisu nie je v tomto obchodnom procese dovolený. Vyberte niektorý z kódov procesu.",
  ],
  [
    "Write the date as YYYY-MM-DD, without time zone, and make it a day of the calendar.",
    "Napíšte dátum ako RRRR-MM-DD, bez časového pásma, a ako skutočný deň kalendára.",
  ],
  [
    "The scheme of the electronic address is not one that Peppol allows. Use a code of the Peppol EAS list.",
    "Schéma elektronickej adresy nie je v Peppole dovolená. Použite kód zo zoznamu Peppol EAS (na Slovensku 0245).",
  ],
];

const IDENTIFIERS: readonly TextRow[] = [
  [
    "The GLN (0088) is not made of digits with a correct GS1 check digit. Correct the number.",
    "GLN (0088) nie je z číslic so správnou kontrolnou číslicou GS1. Opravte číslo.",
  ],
  [
    "The Norwegian organisation number (0192) needs nine digits with a correct check digit.",
    "Nórske číslo organizácie (0192) musí mať deväť číslic so správnou kontrolnou číslicou. Opravte ho.",
  ],
  [
    "The Danish CVR number (0184) needs eight digits, optionally after DK.",
    "Dánske číslo CVR (0184) musí mať osem číslic, prípadne za DK. Opravte ho.",
  ],
  ["The Danish P number (0096) needs ten digits.", "Dánske číslo P (0096) musí mať desať číslic. Opravte ho."],
  [
    "The Danish SE number (0198) needs DK and eight digits.",
    "Dánske číslo SE (0198) musí byť DK a osem číslic. Opravte ho.",
  ],
  [
    "The Belgian enterprise number (0208) needs ten digits with correct check digits.",
    "Belgické číslo podniku (0208) musí mať desať číslic so správnymi kontrolnými číslicami. Opravte ho.",
  ],
  [
    "The Italian IPA office code (0201) should have six letters or digits.",
    "Taliansky kód úradu IPA (0201) má mať šesť písmen alebo číslic. Opravte ho.",
  ],
  [
    "The Italian tax code (0210) should have 11 digits or the 16 characters of a codice fiscale.",
    "Taliansky daňový kód (0210) má mať 11 číslic alebo 16 znakov codice fiscale. Opravte ho.",
  ],
  [
    "The Italian tax code (9907) should have 11 digits or the 16 characters of a codice fiscale.",
    "Taliansky daňový kód (9907) má mať 11 číslic alebo 16 znakov codice fiscale. Opravte ho.",
  ],
  [
    "The Italian VAT number (0211) should be IT and eleven digits with a correct check digit.",
    "Talianske IČ DPH (0211) má byť IT a jedenásť číslic so správnou kontrolnou číslicou. Opravte ho.",
  ],
  [
    "The Swedish organisation number (0007) needs ten digits with a correct check digit.",
    "Švédske číslo organizácie (0007) musí mať desať číslic so správnou kontrolnou číslicou. Opravte ho.",
  ],
  [
    "The Australian Business Number (0151) needs eleven digits with correct check digits.",
    "Austrálske číslo ABN (0151) musí mať jedenásť číslic so správnymi kontrolnými číslicami. Opravte ho.",
  ],
  [
    "The Dutch chamber of commerce number (0106) should have eight digits.",
    "Holandské číslo obchodnej komory (0106) má mať osem číslic. Opravte ho.",
  ],
  [
    "The Dutch organisation identification number (0190) should have twenty digits.",
    "Holandské identifikačné číslo organizácie (0190) má mať dvadsať číslic. Opravte ho.",
  ],
  [
    "The Dutch VAT number (9944) should be NL, nine digits, B and two digits.",
    "Holandské IČ DPH (9944) má byť NL, deväť číslic, B a dve číslice. Opravte ho.",
  ],
  [
    "A VAT number that begins with NL should go on with nine digits, B and two digits.",
    "IČ DPH, ktoré sa začína NL, má pokračovať deviatimi číslicami, B a dvoma číslicami. Opravte ho.",
  ],
  [
    "The Dutch establishment number (0217) should have twelve digits.",
    "Holandské číslo prevádzky (0217) má mať dvanásť číslic. Opravte ho.",
  ],
];

const LINES: readonly TextRow[] = [
  [
    "The allowance or charge has a percentage but no base amount. Add cbc:BaseAmount or drop the percentage.",
    "Zľava alebo prirážka má percento, ale nemá základ. Doplňte cbc:BaseAmount, alebo percento odstráňte.",
  ],
  [
    "The allowance or charge has a base amount but no percentage. Add cbc:MultiplierFactorNumeric or drop the base amount.",
    "Zľava alebo prirážka má základ, ale nemá percento. Doplňte cbc:MultiplierFactorNumeric, alebo základ odstráňte.",
  ],
  [
    "The amount of the allowance or charge is not its base amount times its percentage (0.02 of difference is tolerated). Recalculate it.",
    "Suma zľavy alebo prirážky nie je základ krát percento (rozdiel 0.02 sa toleruje). Prepočítajte ju.",
  ],
  [
    "cbc:ChargeIndicator must say true for a charge or false for an allowance.",
    "cbc:ChargeIndicator musí byť true pre prirážku alebo false pre zľavu. Opravte ho.",
  ],
  [
    "The amount is in another currency than the document. Use the document currency (BT-5); only the VAT total in accounting currency may differ.",
    "Suma je v inej mene než doklad. Použite menu dokladu (BT-5); iná smie byť iba celková DPH v mene účtovania.",
  ],
  [
    "The line period starts before the invoicing period. Correct one of the two dates.",
    "Obdobie riadku sa začína pred fakturačným obdobím. Opravte jeden z oboch dátumov.",
  ],
  [
    "The line period ends after the invoicing period. Correct one of the two dates.",
    "Obdobie riadku sa končí po fakturačnom období. Opravte jeden z oboch dátumov.",
  ],
  [
    "The line net amount is not quantity × (net price / base quantity) + charges − allowances (0.02 of difference is tolerated). Recalculate the line.",
    "Suma riadku bez DPH nie je množstvo × (cena / základné množstvo) + prirážky − zľavy (rozdiel 0.02 sa toleruje). Prepočítajte riadok.",
  ],
  [
    "The price base quantity must be greater than zero.",
    "Základné množstvo ceny musí byť väčšie ako nula. Opravte ho.",
  ],
  [
    "The line names several invoiced objects. Keep one cac:DocumentReference.",
    "Riadok pomenúva viac fakturovaných predmetov. Ponechajte jeden cac:DocumentReference.",
  ],
  [
    "A cac:DocumentReference of a line identifies the invoiced object: give it the document type code 130.",
    "cac:DocumentReference na riadku označuje fakturovaný predmet: dajte mu kód typu 130.",
  ],
  [
    "A price can have a discount but no charge: cbc:ChargeIndicator must be false here.",
    "Cena smie mať zľavu, ale nie prirážku: cbc:ChargeIndicator tu musí byť false.",
  ],
  [
    "The net price is not the gross price minus the discount. Correct one of the three amounts.",
    "Cena bez DPH nie je cena pred zľavou mínus zľava. Opravte jednu z troch súm.",
  ],
  [
    "The price base quantity is in another unit than the quantity of the line. Use the same unit code.",
    "Základné množstvo ceny je v inej jednotke než množstvo riadku. Použite rovnaký kód jednotky.",
  ],
  [
    "Payment by direct debit needs a mandate reference. Add cac:PaymentMandate/cbc:ID.",
    "Platba inkasom potrebuje číslo mandátu. Doplňte cac:PaymentMandate/cbc:ID.",
  ],
];

const GERMANY: readonly TextRow[] = [
  [
    "German invoices need payment instructions. Add cac:PaymentMeans.",
    "Nemecké faktúry potrebujú platobné údaje. Doplňte cac:PaymentMeans.",
  ],
  [
    "German invoices need a buyer reference (Leitweg-ID or another one). Add cbc:BuyerReference.",
    "Nemecké faktúry potrebujú referenciu kupujúceho (Leitweg-ID alebo inú). Doplňte cbc:BuyerReference.",
  ],
  [
    "With this VAT category the seller needs a VAT number, a tax number or a tax representative. Add one of them.",
    "Pri tejto kategórii DPH potrebuje predávajúci IČ DPH, DIČ alebo daňového zástupcu. Doplňte jedno z nich.",
  ],
  [
    "The type code should be 326, 380, 381, 384, 389, 875, 876 or 877.",
    "Kód typu má byť 326, 380, 381, 384, 389, 875, 876 alebo 877. Opravte ho.",
  ],
  [
    "Cash discounts are lines #SKONTO#TAGE=n#PROZENT=n.nn# with an optional BASISBETRAG=n.nn#, each ended by a line break. Correct the payment terms.",
    "Skontá sú riadky #SKONTO#TAGE=n#PROZENT=n.nn# s nepovinným BASISBETRAG=n.nn#, každý ukončený novým riadkom. Opravte platobné podmienky.",
  ],
  ["Two attachments have the same file name. Rename one.", "Dve prílohy majú rovnaký názov súboru. Premenujte jednu."],
  [
    "A corrected invoice (384) should name the invoice it corrects. Add cac:BillingReference.",
    "Opravná faktúra (384) má pomenovať faktúru, ktorú opravuje. Doplňte cac:BillingReference.",
  ],
  [
    "Direct debit needs the creditor identifier: a party identifier of seller or payee with scheme SEPA.",
    "Inkaso potrebuje identifikátor príjemcu inkasa: identifikátor predávajúceho alebo príjemcu platby so schémou SEPA. Doplňte ho.",
  ],
  [
    "Direct debit needs the account to be debited. Add cac:PayerFinancialAccount/cbc:ID to the mandate.",
    "Inkaso potrebuje účet, z ktorého sa platí. Doplňte do mandátu cac:PayerFinancialAccount/cbc:ID.",
  ],
  ["The contact of a German seller needs a name.", "Kontakt nemeckého predávajúceho potrebuje meno. Doplňte cbc:Name."],
  [
    "The contact of a German seller needs a telephone number.",
    "Kontakt nemeckého predávajúceho potrebuje telefónne číslo. Doplňte cbc:Telephone.",
  ],
  [
    "The contact of a German seller needs an e-mail address.",
    "Kontakt nemeckého predávajúceho potrebuje e-mail. Doplňte cbc:ElectronicMail.",
  ],
  ["The telephone number should have at least three digits.", "Telefónne číslo má mať aspoň tri číslice. Opravte ho."],
  [
    "The e-mail address should have one @ between a name and a domain of at least two parts.",
    "E-mail má mať jeden znak @ medzi menom a doménou z aspoň dvoch častí. Opravte ho.",
  ],
  ["{} needs a city. Add cbc:CityName.", "Chýba mesto: {}. Doplňte cbc:CityName."],
  ["{} needs a post code. Add cbc:PostalZone.", "Chýba PSČ: {}. Doplňte cbc:PostalZone."],
  ["The address of a German seller", "adresa nemeckého predávajúceho"],
  ["The address of a German buyer", "adresa nemeckého kupujúceho"],
  ["A delivery address", "adresa dodania"],
  [
    "The account of a SEPA credit transfer (58) should be a valid IBAN.",
    "Účet pre prevod SEPA (58) má byť platný IBAN. Opravte ho.",
  ],
  [
    "A credit transfer (30, 58) needs the account of the payee. Add cac:PayeeFinancialAccount.",
    "Prevod (30, 58) potrebuje účet príjemcu. Doplňte cac:PayeeFinancialAccount.",
  ],
  [
    "A credit transfer (30, 58) must not carry card data or a mandate.",
    "Prevod (30, 58) nesmie mať údaje karty ani mandát. Odstráňte ich.",
  ],
  [
    "Payment by card (48, 54, 55) needs the card. Add cac:CardAccount.",
    "Platba kartou (48, 54, 55) potrebuje kartu. Doplňte cac:CardAccount.",
  ],
  [
    "Payment by card (48, 54, 55) must not carry an account of the payee or a mandate.",
    "Platba kartou (48, 54, 55) nesmie mať účet príjemcu ani mandát. Odstráňte ich.",
  ],
  [
    "The account of a SEPA direct debit (59) should be a valid IBAN.",
    "Účet pre inkaso SEPA (59) má byť platný IBAN. Opravte ho.",
  ],
  [
    "A direct debit (59) needs the mandate. Add cac:PaymentMandate.",
    "Inkaso (59) potrebuje mandát. Doplňte cac:PaymentMandate.",
  ],
  [
    "A direct debit (59) must not carry an account of the payee or card data.",
    "Inkaso (59) nesmie mať účet príjemcu ani údaje karty. Odstráňte ich.",
  ],
  [
    "The location of the external document should be an absolute URL with a scheme.",
    "Umiestnenie externého dokumentu má byť úplná adresa URL so schémou. Opravte ho.",
  ],
  ["A German seller needs a contact. Add cac:Contact.", "Nemecký predávajúci potrebuje kontakt. Doplňte cac:Contact."],
  ["Every VAT breakdown needs its rate. Add cbc:Percent.", "Každý rozpis DPH potrebuje sadzbu. Doplňte cbc:Percent."],
];

const NORTH: readonly TextRow[] = [
  [
    "A Danish seller must give its CVR number as legal registration identifier.",
    "Dánsky predávajúci musí uviesť číslo CVR ako registračné číslo. Doplňte ho.",
  ],
  [
    "The legal registration identifier of a Danish seller must have scheme 0184.",
    "Registračné číslo dánskeho predávajúceho musí mať schému 0184. Opravte ju.",
  ],
  [
    "A credit note between Danish parties must not have a negative amount due.",
    "Dobropis medzi dánskymi stranami nesmie mať zápornú sumu na úhradu. Opravte ju.",
  ],
  [
    "Between Danish parties a party identifier must name its scheme. Add schemeID.",
    "Medzi dánskymi stranami musí mať identifikátor strany schému. Doplňte schemeID.",
  ],
  [
    "Between Danish parties the payment means must be 1, 10, 31, 42, 48, 49, 50, 58, 59, 93 or 97.",
    "Medzi dánskymi stranami musí byť spôsob platby 1, 10, 31, 42, 48, 49, 50, 58, 59, 93 alebo 97. Opravte ho.",
  ],
  [
    "Payment means 31 and 42 need the account and its registration number (financial institution branch).",
    "Spôsoby platby 31 a 42 potrebujú účet a jeho registračné číslo (pobočku banky). Doplňte ich.",
  ],
  [
    "Payment means 49 needs the mandate reference and the account of the payer.",
    "Spôsob platby 49 potrebuje číslo mandátu a účet platiteľa. Doplňte ich.",
  ],
  [
    "Payment means 50 (giro) needs a payment id that begins with 01#, 04# or 15# and an account of 7 or 8 digits.",
    "Spôsob platby 50 (giro) potrebuje cbc:PaymentID začínajúce 01#, 04# alebo 15# a účet so 7 alebo 8 číslicami. Opravte ich.",
  ],
  [
    "Payment means 50 (giro) with 04# or 15# needs the 16 digits of the instruction behind it.",
    "Spôsob platby 50 (giro) so 04# alebo 15# potrebuje za ním 16 číslic pokynu. Doplňte ich.",
  ],
  [
    "Payment means 93 (FIK) needs a payment id that begins with 71#, 73# or 75# and an account of 8 characters.",
    "Spôsob platby 93 (FIK) potrebuje cbc:PaymentID začínajúce 71#, 73# alebo 75# a účet s 8 znakmi. Opravte ich.",
  ],
  [
    "Payment means 93 (FIK) with 71# or 75# needs the 15 or 16 digits of the instruction behind it.",
    "Spôsob platby 93 (FIK) so 71# alebo 75# potrebuje za ním 15 alebo 16 číslic pokynu. Doplňte ich.",
  ],
  [
    "The legal registration identifier of a Danish buyer of a Danish seller must have scheme 0184.",
    "Registračné číslo dánskeho kupujúceho od dánskeho predávajúceho musí mať schému 0184. Opravte ju.",
  ],
  [
    "Items classified by UNSPSC (list TST) must use version 19.05.01 or 26.08.01.",
    "Položky klasifikované podľa UNSPSC (zoznam TST) musia používať verziu 19.05.01 alebo 26.08.01. Opravte ju.",
  ],
  [
    "Reason code ZZZ (a tax other than VAT) needs the four-digit tax category as reason, or a text with # inside.",
    "Kód dôvodu ZZZ (iná daň než DPH) potrebuje ako dôvod štvorciferný kód dane alebo text so znakom #. Doplňte ho.",
  ],
  [
    "The document of an Icelandic seller should be of type 380 or 381.",
    "Doklad islandského predávajúceho má byť typu 380 alebo 381. Opravte typ.",
  ],
  [
    "An Icelandic seller must give its kennitala: a legal registration identifier with scheme 0196.",
    "Islandský predávajúci musí uviesť kennitala: registračné číslo so schémou 0196. Doplňte ho.",
  ],
  [
    "An Icelandic seller needs street and post code in its address.",
    "Islandský predávajúci potrebuje v adrese ulicu a PSČ. Doplňte ich.",
  ],
  [
    "Payment means 9 needs an account identifier of 12 digits.",
    "Spôsob platby 9 potrebuje číslo účtu s 12 číslicami. Opravte ho.",
  ],
  [
    "Payment means 42 needs an account identifier of 12 digits.",
    "Spôsob platby 42 potrebuje číslo účtu s 12 číslicami. Opravte ho.",
  ],
  [
    "The supporting document EINDAGI must have a date as its identifier, written YYYY-MM-DD.",
    "Podporný doklad EINDAGI musí mať ako identifikátor dátum v tvare RRRR-MM-DD. Opravte ho.",
  ],
  [
    "A document with EINDAGI must have a due date. Add cbc:DueDate.",
    "Doklad s EINDAGI musí mať dátum splatnosti. Doplňte cbc:DueDate.",
  ],
  [
    "The date of EINDAGI lies before the due date. It must be the same day or later.",
    "Dátum EINDAGI je pred dátumom splatnosti. Musí to byť ten istý deň alebo neskôr.",
  ],
  [
    "An Icelandic buyer of an Icelandic seller must give its kennitala: a legal registration identifier with scheme 0196.",
    "Islandský kupujúci od islandského predávajúceho musí uviesť kennitala: registračné číslo so schémou 0196. Doplňte ho.",
  ],
  [
    "An Icelandic buyer of an Icelandic seller needs street and post code in its address.",
    "Islandský kupujúci od islandského predávajúceho potrebuje v adrese ulicu a PSČ. Doplňte ich.",
  ],
  [
    "Most Norwegian sellers are entered in Foretaksregisteret and must say so: add a tax registration with scheme TAX and that word.",
    "Väčšina nórskych predávajúcich je zapísaná vo Foretaksregisteret a musí to uviesť: doplňte daňovú registráciu so schémou TAX a týmto slovom.",
  ],
  [
    "A Norwegian VAT number is NO, a valid nine-digit organisation number and MVA. Correct the number.",
    "Nórske IČ DPH je NO, platné deväťmiestne číslo organizácie a MVA. Opravte číslo.",
  ],
  [
    "A Swedish VAT number has 14 characters: SE and twelve digits.",
    "Švédske IČ DPH má 14 znakov: SE a dvanásť číslic. Opravte ho.",
  ],
  [
    "The twelve characters after SE in a Swedish VAT number must be digits.",
    "Dvanásť znakov za SE vo švédskom IČ DPH musia byť číslice. Opravte ho.",
  ],
  ["A Swedish organisation number must be numeric.", "Švédske číslo organizácie musí byť číselné. Opravte ho."],
  ["A Swedish organisation number has ten characters.", "Švédske číslo organizácie má desať znakov. Opravte ho."],
  [
    "The last digit of the Swedish organisation number is not its Luhn check digit. Correct the number.",
    "Posledná číslica švédskeho čísla organizácie nie je jeho kontrolná číslica podľa Luhna. Opravte číslo.",
  ],
  [
    "The tax registration of a Swedish seller other than VAT must be the text 'Godkänd för F-skatt'.",
    "Daňová registrácia švédskeho predávajúceho iná než DPH musí byť text „Godkänd för F-skatt“. Opravte ju.",
  ],
  [
    "Standard rates in Sweden are 6, 12 and 25 percent. Correct the rate or the category.",
    "Štandardné sadzby vo Švédsku sú 6, 12 a 25 percent. Opravte sadzbu alebo kategóriu.",
  ],
  ["A Plusgiro account should be numeric.", "Účet Plusgiro má byť číselný. Opravte ho."],
  ["A Plusgiro account should have two to eight characters.", "Účet Plusgiro má mať dva až osem znakov. Opravte ho."],
  ["A Bankgiro account should be numeric.", "Účet Bankgiro má byť číselný. Opravte ho."],
  [
    "A Bankgiro account should have seven or eight characters.",
    "Účet Bankgiro má mať sedem alebo osem znakov. Opravte ho.",
  ],
  [
    "Bankgiro and Plusgiro should be given as payment means 30 with the branch SE:BANKGIRO or SE:PLUSGIRO.",
    "Bankgiro a Plusgiro sa majú uvádzať ako spôsob platby 30 s pobočkou SE:BANKGIRO alebo SE:PLUSGIRO. Opravte to.",
  ],
  [
    "Between Swedish parties a credit transfer should be payment means 30.",
    "Medzi švédskymi stranami má byť prevod spôsobom platby 30. Opravte ho.",
  ],
];

const SOUTH: readonly TextRow[] = [
  [
    "The number of a Greek invoice has six segments separated by |.",
    "Číslo gréckej faktúry má šesť častí oddelených znakom |. Opravte ho.",
  ],
  [
    "The first segment of the number must be a valid TIN, that of the seller or of its tax representative.",
    "Prvá časť čísla musí byť platné DIČ predávajúceho alebo jeho daňového zástupcu. Opravte ju.",
  ],
  [
    "The second segment of the number must be the issue date, written DD/MM/YYYY.",
    "Druhá časť čísla musí byť dátum vystavenia v tvare DD/MM/RRRR. Opravte ju.",
  ],
  ["The third segment of the number must be a whole number.", "Tretia časť čísla musí byť celé číslo. Opravte ju."],
  [
    "The fourth segment of the number must be a Greek document type: 1.1, 1.6, 2.1, 2.4, 5.1 or 5.2.",
    "Štvrtá časť čísla musí byť grécky typ dokladu: 1.1, 1.6, 2.1, 2.4, 5.1 alebo 5.2. Opravte ju.",
  ],
  ["The fifth segment of the number must not be empty.", "Piata časť čísla nesmie byť prázdna. Doplňte ju."],
  ["The sixth segment of the number must not be empty.", "Šiesta časť čísla nesmie byť prázdna. Doplňte ju."],
  [
    "A Greek seller must give its name as registered. Add cac:PartyName.",
    "Grécky predávajúci musí uviesť názov podľa registrácie. Doplňte cac:PartyName.",
  ],
  [
    "A Greek seller should give one VAT number, EL and a valid TIN.",
    "Grécky predávajúci má uviesť jedno IČ DPH, EL a platné DIČ. Opravte ho.",
  ],
  [
    "The VAT number of a Greek seller is EL and a valid TIN. Correct the number.",
    "IČ DPH gréckeho predávajúceho je EL a platné DIČ. Opravte číslo.",
  ],
  [
    "A Greek invoice carries one MARK: one supporting document described as ##M.AR.K##.",
    "Grécka faktúra má jeden MARK: jeden podporný doklad s opisom ##M.AR.K##. Doplňte ho.",
  ],
  [
    "A Greek invoice should carry one link: one supporting document described as ##INVOICE|URL##.",
    "Grécka faktúra má mať jeden odkaz: jeden podporný doklad s opisom ##INVOICE|URL##. Doplňte ho.",
  ],
  [
    "A Greek invoice carries at most one link (##INVOICE|URL##).",
    "Grécka faktúra má najviac jeden odkaz (##INVOICE|URL##). Ponechajte jeden.",
  ],
  ["The MARK must be a whole number above zero.", "MARK musí byť celé číslo väčšie ako nula. Opravte ho."],
  [
    "The supporting document ##INVOICE|URL## must have the link in cac:ExternalReference/cbc:URI.",
    "Podporný doklad ##INVOICE|URL## musí mať odkaz v cac:ExternalReference/cbc:URI. Doplňte ho.",
  ],
  [
    "A Greek seller must give the full name of the buyer. Add cac:PartyName.",
    "Grécky predávajúci musí uviesť plný názov kupujúceho. Doplňte cac:PartyName.",
  ],
  [
    "The electronic address of a Greek seller is a valid TIN with scheme 9933.",
    "Elektronická adresa gréckeho predávajúceho je platné DIČ so schémou 9933. Opravte ju.",
  ],
  [
    "A Greek seller must give the VAT number of a Greek buyer: EL and a valid TIN.",
    "Grécky predávajúci musí uviesť IČ DPH gréckeho kupujúceho: EL a platné DIČ. Doplňte ho.",
  ],
  [
    "The electronic address of a Greek buyer is a valid TIN with scheme 9933.",
    "Elektronická adresa gréckeho kupujúceho je platné DIČ so schémou 9933. Opravte ju.",
  ],
  [
    "The seller's tax registration (not VAT) must have 11 to 16 capital letters or digits.",
    "Daňová registrácia predávajúceho (nie DPH) musí mať 11 až 16 veľkých písmen alebo číslic. Opravte ju.",
  ],
  [
    "An Italian seller needs a street in its address. Add cbc:StreetName.",
    "Taliansky predávajúci potrebuje v adrese ulicu. Doplňte cbc:StreetName.",
  ],
  [
    "An Italian seller needs a city in its address. Add cbc:CityName.",
    "Taliansky predávajúci potrebuje v adrese mesto. Doplňte cbc:CityName.",
  ],
  [
    "An Italian seller needs a post code in its address. Add cbc:PostalZone.",
    "Taliansky predávajúci potrebuje v adrese PSČ. Doplňte cbc:PostalZone.",
  ],
  [
    "A credit note of a Dutch seller must name the invoice it corrects. Add cac:BillingReference.",
    "Dobropis holandského predávajúceho musí pomenovať faktúru, ktorú opravuje. Doplňte cac:BillingReference.",
  ],
  [
    "A Dutch seller needs street, city and post code in its address.",
    "Holandský predávajúci potrebuje v adrese ulicu, mesto a PSČ. Doplňte ich.",
  ],
  [
    "The legal registration of a Dutch seller must be a KVK (0106) or OIN (0190) number.",
    "Registračné číslo holandského predávajúceho musí byť KVK (0106) alebo OIN (0190). Opravte ho.",
  ],
  [
    "A Dutch buyer of a Dutch seller needs street, city and post code in its address.",
    "Holandský kupujúci od holandského predávajúceho potrebuje v adrese ulicu, mesto a PSČ. Doplňte ich.",
  ],
  [
    "The legal registration of a Dutch buyer of a Dutch seller must be a KVK (0106) or OIN (0190) number.",
    "Registračné číslo holandského kupujúceho od holandského predávajúceho musí byť KVK (0106) alebo OIN (0190). Opravte ho.",
  ],
  [
    "A Dutch tax representative of a Dutch seller needs street, city and post code in its address.",
    "Holandský daňový zástupca holandského predávajúceho potrebuje v adrese ulicu, mesto a PSČ. Doplňte ich.",
  ],
  [
    "A Dutch seller that is to be paid must give the means of payment. Add cac:PaymentMeans.",
    "Holandský predávajúci, ktorému sa má platiť, musí uviesť spôsob platby. Doplňte cac:PaymentMeans.",
  ],
  [
    "Between a Dutch seller and a Dutch buyer the payment means must be 30, 48, 49, 57, 58 or 59.",
    "Medzi holandským predávajúcim a kupujúcim musí byť spôsob platby 30, 48, 49, 57, 58 alebo 59. Opravte ho.",
  ],
  [
    "Order lines are referenced, but no order. Add cac:OrderReference/cbc:ID.",
    "Odkazuje sa na riadky objednávky, ale nie na objednávku. Doplňte cac:OrderReference/cbc:ID.",
  ],
];

const RESPONSES: readonly TextRow[] = [
  ["The {} has no electronic address. Add cbc:EndpointID.", "Chýba elektronická adresa: {}. Doplňte cbc:EndpointID."],
  [
    "The electronic address of the {} is empty. Give the service provider identifier.",
    "Elektronická adresa je prázdna: {}. Uveďte identifikátor poskytovateľa služieb.",
  ],
  [
    "The electronic address of the {} is no service provider identifier: six digits, optionally followed by - and a part, and . and a part.",
    "Elektronická adresa nie je identifikátor poskytovateľa služieb: {}. Je to šesť číslic, prípadne - a časť, a . a časť.",
  ],
  [
    "The electronic address of the {} names no scheme. Add schemeID.",
    "Elektronická adresa nemá schému: {}. Doplňte schemeID.",
  ],
  [
    "The electronic address of the {} must have scheme 0242 (service providers).",
    "Elektronická adresa musí mať schému 0242 (poskytovatelia služieb): {}. Opravte ju.",
  ],
  ["sender", "odosielateľ"],
  ["receiver", "príjemca"],
  ["cbc:CustomizationID must be {}.", "cbc:CustomizationID musí byť {}. Opravte ho."],
  ["cbc:ProfileID must be {} or {}.", "cbc:ProfileID musí byť {} alebo {}. Opravte ho."],
  ["cbc:ProfileID must be {}.", "cbc:ProfileID musí byť {}. Opravte ho."],
  ["cbc:CustomizationID must begin with {}.", "cbc:CustomizationID sa musí začínať {}. Opravte ho."],
  ["The status has no identifier. Fill cbc:ID.", "Stav nemá identifikátor. Vyplňte cbc:ID."],
  [
    "Write the issue date as YYYY-MM-DD, without time zone.",
    "Napíšte dátum vystavenia ako RRRR-MM-DD, bez časového pásma.",
  ],
  ["The issue time is missing. Add cbc:IssueTime.", "Chýba čas vystavenia. Doplňte cbc:IssueTime."],
  [
    "The issue time has no time zone. End it with Z or an offset such as +02:00.",
    "Čas vystavenia nemá časové pásmo. Ukončite ho Z alebo posunom, napríklad +02:00.",
  ],
  [
    "A status answers exactly one document: give one cac:DocumentResponse.",
    "Stav odpovedá na práve jeden dokument: uveďte jeden cac:DocumentResponse.",
  ],
  [
    "The response code is missing. Add cac:Response/cbc:ResponseCode.",
    "Chýba kód odpovede. Doplňte cac:Response/cbc:ResponseCode.",
  ],
  ["The response code must be AP, AB or RE.", "Kód odpovede musí byť AP, AB alebo RE. Opravte ho."],
  [
    "A rejection (RE) needs a description. Add cac:Response/cbc:Description.",
    "Odmietnutie (RE) potrebuje opis. Doplňte cac:Response/cbc:Description.",
  ],
  ["The description of a rejection (RE) must say something.", "Opis odmietnutia (RE) musí niečo povedať. Vyplňte ho."],
  [
    "A status refers to exactly one document: give one cac:DocumentReference.",
    "Stav odkazuje na práve jeden dokument: uveďte jeden cac:DocumentReference.",
  ],
  [
    "A rejection (RE) needs at least one issue. Add cac:LineResponse.",
    "Odmietnutie (RE) potrebuje aspoň jednu výhradu. Doplňte cac:LineResponse.",
  ],
  [
    "A rejection (RE) needs at least one issue with the reason BV, FD or SV.",
    "Odmietnutie (RE) potrebuje aspoň jednu výhradu s dôvodom BV, FD alebo SV. Doplňte ju.",
  ],
  [
    "Only a rejection (RE) may carry an issue with the reason BV, FD or SV. Change the response code or the issues.",
    "Výhradu s dôvodom BV, FD alebo SV smie mať iba odmietnutie (RE). Zmeňte kód odpovede alebo výhrady.",
  ],
  [
    "The reference must name the document: fill cbc:ID with its SBDH instance identifier.",
    "Odkaz musí pomenovať dokument: vyplňte cbc:ID jeho identifikátorom z SBDH.",
  ],
  [
    "The issue has no location. Fill cac:LineReference/cbc:LineID, with NA if there is none.",
    "Výhrada nemá miesto. Vyplňte cac:LineReference/cbc:LineID, ak nie je, tak NA.",
  ],
  ["The issue has no description. Add cbc:Description.", "Výhrada nemá opis. Doplňte cbc:Description."],
  ["The description of the issue must say something.", "Opis výhrady musí niečo povedať. Vyplňte ho."],
  [
    "The issue has no status. Add cac:Status with a reason code.",
    "Výhrada nemá stav. Doplňte cac:Status s kódom dôvodu.",
  ],
  ["The reason code must be BV, BW, FD or SV.", "Kód dôvodu musí byť BV, BW, FD alebo SV. Opravte ho."],
  [
    "The document should not name the location of a schema. Remove the attribute schemaLocation.",
    "Dokument nemá uvádzať umiestnenie schémy. Odstráňte atribút schemaLocation.",
  ],
  [
    "The document names the location of a schema. Remove the attribute schemaLocation.",
    "Dokument uvádza umiestnenie schémy. Odstráňte atribút schemaLocation.",
  ],
  [
    "The statuses CA, UQ and RE owe a reason. Add cac:Status/cbc:StatusReasonCode.",
    "Stavy CA, UQ a RE musia mať dôvod. Doplňte cac:Status/cbc:StatusReasonCode.",
  ],
  ["The reason OTH should be explained. Add cbc:StatusReason.", "Dôvod OTH treba vysvetliť. Doplňte cbc:StatusReason."],
  [
    "The reason PPD (partially paid) must be explained. Add cbc:StatusReason.",
    "Dôvod PPD (čiastočne zaplatené) treba vysvetliť. Doplňte cbc:StatusReason.",
  ],
  [
    "The reason PPD (partially paid) belongs to the status PD. Change one of them.",
    "Dôvod PPD (čiastočne zaplatené) patrí k stavu PD. Zmeňte jedno z nich.",
  ],
  ["The code is not in the list {}: {}.", "Kód nie je v zozname {}: {}. Použite kód z neho."],
  [
    "{} of an invoice response has no such element. Remove it.",
    "{} v odpovedi na faktúru takýto element nemá. Odstráňte ho.",
  ],
  ["{} needs the attribute {}. Add it.", "{} potrebuje atribút {}. Doplňte ho."],
  ["{} needs {}. Add it.", "{} potrebuje {}. Doplňte ho."],
  ["The code in {} is not one of the {}.", "Kód v {} nie je medzi: {}. Opravte ho."],
  ["The attribute {} of {} is not one of the {}.", "Atribút {} elementu {} nie je medzi: {}. Opravte ho."],
];

/** Rows of the Peppol rules, of their national groups, and of the answers to documents. */
export const SLOVAK_PEPPOL: readonly TextRow[] = [
  ...BILLING,
  ...IDENTIFIERS,
  ...LINES,
  ...GERMANY,
  ...NORTH,
  ...SOUTH,
  ...RESPONSES,
];
