/** `kurier rules pages`: what the pages /validate/rules show, drawn from the rule tables; written or compared. */
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";

import type { AssertFacts, RuleSet } from "../../../validators/rules/rule.js";
import { XML_FAULTS } from "../../../validators/xml/faults.js";
import { EXIT, parseArguments } from "../command.js";
import type { ExitCode } from "../command.js";
import { complain, print } from "../terminal.js";
import { minedExamples, unusedExample } from "./examples.js";

const FILE = join("gateway", "web", "validate", "rules.json");

/** Sentences of rules whose findings are made for each element: here in general. */
const GENERAL: readonly (readonly [id: string, english: string, slovak: string])[] = [
  ["UBL-GRAMMAR-ORDER", "An element stands in another place than the sequence of UBL 2.1 has it. Move it.", "Element stojí na inom mieste, než ho má poradie UBL 2.1. Presuňte ho."],
  ["UBL-GRAMMAR-MISSING", "An element that UBL 2.1 requires is missing. Add it.", "Chýba element, ktorý UBL 2.1 vyžaduje. Doplňte ho."],
  ["UBL-GRAMMAR-UNEXPECTED", "UBL 2.1 has no such element at this place. Remove it.", "UBL 2.1 na tomto mieste takýto element nemá. Odstráňte ho."],
  ["UBL-GRAMMAR-REPEATED", "An element that may occur once occurs several times. Keep one.", "Element, ktorý smie byť raz, je tam viackrát. Ponechajte jeden."],
  ["UBL-GRAMMAR-TEXT", "There is text between elements, or elements inside a value. Remove it.", "Medzi elementmi je text, alebo sú v hodnote elementy. Odstráňte to."],
  ["UBL-GRAMMAR-VALUE", "A value does not have the form of its type: number, date, time, indicator or base64. Correct it.", "Hodnota nemá tvar svojho typu: číslo, dátum, čas, true/false alebo base64. Opravte ju."],
  ["UBL-GRAMMAR-ATTRIBUTE", "UBL 2.1 has no such attribute on this element. Remove it.", "UBL 2.1 na tomto elemente takýto atribút nemá. Odstráňte ho."],
  ["UBL-GRAMMAR-ATTRIBUTE-MISSING", "An attribute that UBL 2.1 requires is missing. Add it.", "Chýba atribút, ktorý UBL 2.1 vyžaduje. Doplňte ho."],
  ["UBL-GRAMMAR-ATTRIBUTE-VALUE", "The value of an attribute does not have the form of its type. Correct it.", "Hodnota atribútu nemá tvar svojho typu. Opravte ju."],
  ["UBL-GRAMMAR-EXTENSION", "An extension must hold exactly one element, of a namespace of its own. Correct it.", "Rozšírenie musí obsahovať práve jeden element vlastného menného priestoru. Opravte ho."],
  ["UBL-GRAMMAR-NIL", "An element must not have xsi:nil. Remove the attribute.", "Element nesmie mať xsi:nil. Odstráňte atribút."],
  ["UBL-GRAMMAR-TYPE", "xsi:type must name the element's own type. Remove the attribute.", "xsi:type musí pomenúvať vlastný typ elementu. Odstráňte atribút."],
  ["UBL-ROOT", "The document element is none that is known here. Send a UBL 2.1 Invoice, CreditNote or ApplicationResponse.", "Koreňový element tu nie je známy. Pošlite UBL 2.1 Invoice, CreditNote alebo ApplicationResponse."],
  ["UBL-NAMESPACE", "Elements are in another namespace than UBL 2.1 has them in. Correct the declarations.", "Elementy sú v inom mennom priestore, než ich má UBL 2.1. Opravte deklarácie."],
  ["UBL-CUSTOMIZATION", "The CustomizationID names no specification that is known here. Correct it.", "CustomizationID nepomenúva žiadnu tu známu špecifikáciu. Opravte ho."],
  ["!err:FORG0001", "A rule cannot be evaluated, because a value is no number, date or indicator. Correct the value.", "Pravidlo sa nedá vyhodnotiť, lebo hodnota nie je číslo, dátum ani true/false. Opravte ju."],
  ["!err:XPTY0004", "A rule cannot be evaluated, because something stands there several times that may stand there once. Keep one.", "Pravidlo sa nedá vyhodnotiť, lebo niečo, čo smie byť raz, je tam viackrát. Ponechajte jedno."],
]; // oxfmt-ignore

/** One page. */
interface RulePage {
  readonly id: string;
  /** Which rules it belongs to, as people call them. */
  readonly of: string;
  readonly severity: string;
  readonly terms: readonly string[];
  readonly en: string;
  readonly sk: string;
  readonly fails?: string;
  readonly passes?: string;
}

async function pages(mined: Examples): Promise<RulePage[]> {
  const [{ en16931 }, { peppolBilling, peppolSelfBilling }, { invoiceResponseRules }, { mlsRules }, { adviceRules }] =
    await Promise.all([
      import("../../../validators/rules/en16931/index.js"),
      import("../../../validators/rules/peppol/billing.js"),
      import("../../../validators/rules/invoice-response/invoice-response.js"),
      import("../../../validators/rules/mls/mls.js"),
      import("../../../validators/rules/advice/advice.js"),
    ]);
  const { inLanguage } = await import("../../../validators/texts/language.js");
  /** Bounded by the rule tables. */
  const made = new Map<string, RulePage>();
  const add = (page: RulePage): void => {
    if (!made.has(page.id)) made.set(page.id, page);
  };
  const pageOf = (of: string, { id, severity, terms, message }: AssertFacts): RulePage => {
    const { fails, passes } = mined.get(id) ?? unusedExample(message) ?? {};
    const shown = fails === undefined || passes === undefined ? {} : { fails, passes };
    return { id, of, severity, terms, en: message, sk: inLanguage(message, "sk"), ...shown };
  };
  const sets: readonly (readonly [of: string, rules: RuleSet])[] = [
    ["EN 16931", en16931()],
    ["Peppol BIS Billing 3.0", peppolBilling()],
    ["Peppol BIS Self-Billing 3.0", peppolSelfBilling()],
    ["Peppol Invoice Response 3.0", invoiceResponseRules()],
    ["Peppol Message Level Status 1.0", mlsRules()],
    ["Kurier", adviceRules()],
  ];
  for (const [of, rules] of sets) for (const facts of rules.catalogue) add(pageOf(of, facts));
  for (const [id, message] of Object.entries(XML_FAULTS))
    add(pageOf("XML 1.0", { id, severity: "fatal", terms: [], message }));
  for (const [id, en, sk] of GENERAL) {
    const { fails, passes } = mined.get(id) ?? {};
    const shown = fails === undefined || passes === undefined ? {} : { fails, passes };
    add({ id, of: "UBL 2.1", severity: id.startsWith("UBL-GRAMMAR") ? "error" : "fatal", terms: [], en, sk, ...shown });
  }
  return [...made.values()].sort((a, b) => a.id.localeCompare(b.id, "en", { numeric: true }));
}

type Examples = ReadonlyMap<string, Pick<RulePage, "fails" | "passes">>;

/** The examples that a file has, which take a minute to find and say nothing of the tables. */
const examplesIn = (file: string): Examples =>
  new Map((JSON.parse(file) as readonly RulePage[]).map((page) => [page.id, page]));

/** One rule a line, so that a change of one shows as one. */
const written = (all: readonly RulePage[]): string => `[\n${all.map((page) => JSON.stringify(page)).join(",\n")}\n]\n`;

export async function rulePages(args: readonly string[]): Promise<ExitCode> {
  const { options } = parseArguments(args, { flags: ["write", "check"] });
  const file = await readFile(FILE, "utf8");
  const all = await pages(options.has("check") ? examplesIn(file) : minedExamples());
  const text = written(all);
  if (options.has("write")) await writeFile(FILE, text);
  if (options.has("check") && file !== text) {
    complain(`${FILE} differs from the rule tables; run kurier rules pages --write.`);
    return EXIT.failed;
  }
  print(`${all.length} rules, ${all.filter(({ fails }) => fails !== undefined).length} with an example.`);
  return EXIT.ok;
}
