/** What can be wrong with an invoice as JSON, in the words of both languages. */
import { LIMITS } from "../base/limits.js";

/** One sentence in each language. */
export interface Sentence {
  readonly en: string;
  readonly sk: string;
}

/** Which values a member may have. */
export const mayBe = (values: readonly string[]): Sentence => ({
  en: `It may be: ${values.join(", ")}.`,
  sk: `Môže byť: ${values.join(", ")}.`,
});

/** What leaves an invoice as it is. */
const WARNINGS: ReadonlySet<string> = new Set(["JSON-UNKNOWN", "JSON-UNSAID", "JSON-CHANGED", "JSON-SENDER"]);

const PROBLEMS = {
  "JSON-MISSING": { en: "This member is required here.", sk: "Tento údaj je tu povinný." },
  "JSON-TEXT": {
    en: `Must be text of at most ${LIMITS.invoice_text_chars_max} characters that XML can hold.`,
    sk: `Musí byť text s najviac ${LIMITS.invoice_text_chars_max} znakmi, ktoré XML dovoľuje.`,
  },
  "JSON-INVISIBLE": {
    en: "Must hold something visible, and no control, format or zero-width character.",
    sk: "Musí obsahovať niečo viditeľné a žiadny riadiaci, formátovací znak ani znak nulovej šírky.",
  },
  "JSON-NUMBER": {
    en: "Must be an exact decimal number with at most 12 digits before and 8 behind the point; write one with more than 15 digits as text.",
    sk: "Musí byť presné desatinné číslo s najviac 12 číslicami pred desatinnou bodkou a 8 za ňou; s viac ako 15 číslicami ho pošlite ako text.",
  },
  "JSON-AMOUNT": {
    en: "Must be an amount of 0 or more with at most two decimals.",
    sk: "Musí byť suma 0 alebo viac s najviac dvoma desatinnými miestami.",
  },
  "JSON-NEGATIVE": { en: "Must be 0 or more.", sk: "Musí byť 0 alebo viac." },
  "JSON-PERCENT": { en: "Must be a percentage from 0 to 100.", sk: "Musí byť percento od 0 do 100." },
  "JSON-TOO-LARGE": {
    en: "The amount of the line is too large: at most 1,000,000,000,000.00.",
    sk: "Suma riadka je príliš veľká: najviac 1 000 000 000 000,00.",
  },
  "JSON-DATE": { en: "Must be a day, YYYY-MM-DD.", sk: "Musí byť deň v tvare RRRR-MM-DD." },
  "JSON-CODE": { en: "Is none of the values of this member.", sk: "Nie je žiadna z hodnôt tohto údaja." },
  "JSON-PARTICIPANT": {
    en: "Must be a participant id, <scheme>:<id>, such as 0245:2020202020.",
    sk: "Musí byť identifikátor účastníka <schéma>:<id>, napríklad 0245:2020202020.",
  },
  "JSON-IDENTIFIER": { en: "Is no identifier of this kind.", sk: "Nie je identifikátorom tohto druhu." },
  "JSON-IBAN": { en: "Is no IBAN.", sk: "Nie je IBAN." },
  "JSON-LIST": {
    en: "Must be a list with no more and no fewer entries than allowed.",
    sk: "Musí byť zoznam s dovoleným počtom položiek.",
  },
  "JSON-OBJECT": { en: "Must be an object.", sk: "Musí byť objekt." },
  "JSON-VAT-RATE": {
    en: "No VAT rate that the seller's country has on the day of the supply.",
    sk: "Takú sadzbu DPH krajina predávajúceho v deň dodania nemá.",
  },
  "JSON-VAT-ZERO": {
    en: "A rate of 0 needs its reason: give taxTreatment zero_rated, exempt, reverse_charge, intra_community, export or out_of_scope.",
    sk: "Sadzba 0 potrebuje dôvod: uveďte taxTreatment zero_rated, exempt, reverse_charge, intra_community, export alebo out_of_scope.",
  },
  "JSON-VAT-CATEGORY": {
    en: "Category and rate do not fit: standard (S) has a rate above 0, the others have 0.",
    sk: "Kategória a sadzba nesedia: standard (S) má sadzbu nad 0, ostatné majú 0.",
  },
  "JSON-VAT-SELLER": {
    en: "The seller has no VAT id, without which this VAT cannot be invoiced.",
    sk: "Predávajúci nemá IČ DPH, bez ktorého túto DPH nemožno fakturovať.",
  },
  "JSON-VAT-BUYER": {
    en: "The buyer, which is the firm that sends, has no VAT id, which the VAT category of a line needs.",
    sk: "Odberateľ, ktorým je odosielajúca firma, nemá IČ DPH, ktoré potrebuje kategória DPH riadka.",
  },
  "JSON-VAT-MIXED": {
    en: "Category O (out_of_scope) cannot stand beside others in one invoice.",
    sk: "Kategória O (out_of_scope) nemôže byť v jednej faktúre s inými.",
  },
  "JSON-PREPAID": {
    en: "prepaidAmount is not the sum of prepayments.",
    sk: "prepaidAmount nie je súčtom prepayments.",
  },
  "JSON-ATTACHMENT": {
    en: "Must be canonical base64, in one line and padded with =, of at most 10 MB, and of 15 MB in all attachments.",
    sk: "Musí byť kanonický base64, v jednom riadku a doplnený znakmi =, s najviac 10 MB, všetky prílohy spolu 15 MB.",
  },
  "JSON-FILE-NAME": {
    en: "Must be the name of a file of this mimeType, without a folder, a line break or an invisible character.",
    sk: "Musí byť názov súboru tohto mimeType, bez priečinka, konca riadka a neviditeľných znakov.",
  },
  "JSON-FILE-TYPE": {
    en: "The content is no file of the type that mimeType names.",
    sk: "Obsah nie je súborom typu, ktorý uvádza mimeType.",
  },
  "JSON-UNSAID": {
    en: "An invoice as JSON has no member for this, and is the same invoice without it.",
    sk: "Faktúra ako JSON na to nemá údaj a bez neho je tou istou faktúrou.",
  },
  "JSON-CHANGED": {
    en: "An invoice as JSON says this in another way; what is to be paid stays the same.",
    sk: "Faktúra ako JSON to hovorí inak; suma na úhradu zostáva rovnaká.",
  },
  "JSON-SUMS": {
    en: "An invoice as JSON would come to another amount here.",
    sk: "Faktúra ako JSON by tu mala inú sumu.",
  },
  "JSON-KIND": {
    en: "No documentType stands for this type of document.",
    sk: "Tomuto typu dokladu nezodpovedá žiadny documentType.",
  },
  "JSON-SENDER": {
    en: "This is another firm than that of the token, which sends what comes as JSON.",
    sk: "Toto je iná firma ako firma tokenu, ktorá odosiela doklady v tvare JSON.",
  },
  "JSON-OTHER": {
    en: "A member of an invoice as JSON cannot hold this value as it stands.",
    sk: "Údaj faktúry ako JSON nemôže mať túto hodnotu.",
  },
  "JSON-ELEMENT": {
    en: "An invoice as JSON has no member for this element, and would be another invoice without it.",
    sk: "Faktúra ako JSON na tento prvok nemá údaj a bez neho by bola inou faktúrou.",
  },
  "JSON-UNKNOWN": { en: "This member is not read.", sk: "Tento údaj sa nečíta." },
} as const satisfies Readonly<Record<string, Sentence>>;
export type ProblemId = keyof typeof PROBLEMS;

/** One thing that is wrong with an invoice as JSON. */
export interface JsonProblem {
  /** The member, `items[0].vatRate`. */
  readonly field: string;
  readonly ruleId: ProblemId;
  /** A warning leaves the invoice as it is. */
  readonly severity: "fatal" | "warning";
  /** By language. */
  readonly message: Sentence;
  /** Of what came as UBL: XPath of its place. */
  readonly location?: string;
}

/** What is said beside the sentence of a problem. */
interface ProblemFacts {
  readonly hint?: Sentence | undefined;
  readonly location?: string | undefined;
}

const withHint = ({ en, sk }: Sentence, hint: Sentence | undefined): Sentence =>
  hint === undefined ? { en, sk } : { en: `${en} ${hint.en}`, sk: `${sk} ${hint.sk}` };

/** Collects what is wrong, up to the findings of one report. */
export class Problems {
  readonly #found: JsonProblem[] = [];
  #fatal = 0;
  #dropped = 0;

  /**
   * @param hint  what this member may hold, or why it is needed
   * @param location  place in the UBL from which the invoice came; default: it came as JSON
   */
  add(field: string, ruleId: ProblemId, { hint, location }: ProblemFacts = {}): void {
    const severity = WARNINGS.has(ruleId) ? "warning" : "fatal";
    if (severity === "fatal") this.#fatal++;
    if (this.#found.length >= LIMITS.findings_max) this.#dropped++;
    else
      this.#found.push({
        ...{ field, ruleId, severity, message: withHint(PROBLEMS[ruleId], hint) },
        ...(location === undefined ? {} : { location }),
      });
  }

  /** Whether something makes the invoice impossible. */
  get isFatal(): boolean {
    return this.#fatal > 0;
  }

  get found(): readonly JsonProblem[] {
    return this.#found;
  }

  /** How many more there are. */
  get dropped(): number {
    return this.#dropped;
  }
}
