/** Where the two Peppol rule sets, billing and self-billing, differ: everything else is written once. */

export interface Variant {
  readonly id: "peppol-billing" | "peppol-self-billing";
  /** Beginning of CustomizationID (R004). */
  readonly customization: string;
  /** ProfileID of the plain business process; the other approved ones are shared (R007). */
  readonly profile: string;
  /** Whether the tax amount of each VAT breakdown must be in the document currency too (R051). */
  readonly subtotalCurrencyIsChecked: boolean;
  /** Profiles in which the type codes below are asked for (P0100, P0101). */
  readonly typedProfiles: readonly string[];
  readonly invoiceTypes: ReadonlySet<string>;
  readonly creditNoteTypes: ReadonlySet<string>;
  /** Whether 326 and 384 are kept for Germany (P0112). */
  readonly restrictsPartialAndCorrected: boolean;
  /** Whether the national groups belong to the set. */
  readonly national: boolean;
}

export const BILLING: Variant = {
  id: "peppol-billing",
  customization: "urn:cen.eu:en16931:2017#compliant#urn:fdc:peppol.eu:2017:poacc:billing:3.0",
  profile: "urn:fdc:peppol.eu:2017:poacc:billing:01:1.0",
  subtotalCurrencyIsChecked: true,
  typedProfiles: ["01", "02"],
  invoiceTypes: new Set([
    "71",
    "80",
    "82",
    "84",
    "102",
    "218",
    "219",
    "326",
    "331",
    "380",
    "382",
    "383",
    "384",
    "386",
    "388",
    "393",
    "395",
    "553",
    "575",
    "623",
    "780",
    "817",
    "870",
    "875",
    "876",
    "877",
  ]),
  creditNoteTypes: new Set(["381", "396", "81", "83", "532"]),
  restrictsPartialAndCorrected: true,
  national: true,
};

export const SELF_BILLING: Variant = {
  id: "peppol-self-billing",
  customization: "urn:cen.eu:en16931:2017#compliant#urn:fdc:peppol.eu:2017:poacc:selfbilling:3.0",
  profile: "urn:fdc:peppol.eu:2017:poacc:selfbilling:01:1.0",
  subtotalCurrencyIsChecked: false,
  typedProfiles: ["01"],
  invoiceTypes: new Set(["389", "527"]),
  creditNoteTypes: new Set(["261"]),
  restrictsPartialAndCorrected: false,
  national: false,
};
