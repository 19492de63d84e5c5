/** Which published type takes a document. @source Peppol Policy for use of identifiers 4.3 */
import { describe, expect, test } from "vitest";

import { matchDocumentType, mayMatchWildcard } from "../../../engine/peppol/discovery/wildcards.js";
import { BILLING_CAPABILITIES } from "../../../engine/peppol/envelope/identifiers.js";

const invoice = (customization: string, root = "Invoice", version = "2.1"): string =>
  `urn:oasis:names:specification:ubl:schema:xsd:${root}-2::${root}##${customization}::${version}`;
const exact = (customization: string): string => `busdox-docid-qns::${invoice(customization)}`;
const open = (customization: string, root = "Invoice", version = "2.1"): string =>
  `peppol-doctype-wildcard::${invoice(customization, root, version)}`;

const JAPAN = "urn:peppol:pint:billing-1@jp-1";
const REGION = "urn:peppol:pint:billing-1@jp-1@osaka-1";

describe("the published type that takes a document", () => {
  test.each<readonly [string, readonly string[], string, string | undefined]>([
    ["the type itself", [exact(JAPAN)], JAPAN, exact(JAPAN)],
    ["the type itself before any with an asterisk", [open(`${JAPAN}*`), exact(JAPAN)], JAPAN, exact(JAPAN)],
    ["the type itself under the scheme of wildcards", [open(JAPAN)], JAPAN, open(JAPAN)],
    ["the type with an asterisk behind it", [open(`${JAPAN}*`)], JAPAN, open(`${JAPAN}*`)],
    ["a more general one", [open("urn:peppol:pint:billing-1*")], REGION, open("urn:peppol:pint:billing-1*")],
    [
      "the closest of several general ones",
      [open("urn:peppol:pint:billing-1*"), open(`${JAPAN}*`)],
      REGION,
      open(`${JAPAN}*`),
    ],
    ["none that is more special", [open(`${REGION}*`)], JAPAN, undefined],
    ["none whose asterisk cuts a part in two", [open("urn:peppol:pint:bill*")], JAPAN, undefined],
    ["none of another root", [open("urn:peppol:pint:billing-1*", "CreditNote")], JAPAN, undefined],
    ["none of another version", [open("urn:peppol:pint:billing-1*", "Invoice", "2.3")], JAPAN, undefined],
    ["none with an asterisk in the exact scheme", [exact("urn:peppol:pint:billing-1*")], JAPAN, undefined],
    [
      "none for an asterisk in the document's own type",
      [open("urn:peppol:pint:billing-1**")],
      "urn:peppol:pint:billing-1*",
      undefined,
    ],
    ["none where nothing is published", [], JAPAN, undefined],
  ])("a document is taken by %s", (_, published, customization, expected) => {
    const match = matchDocumentType(published, invoice(customization));
    expect(match === undefined ? undefined : `${match.scheme}::${match.value}`).toBe(expected);
  });

  test("a published type is found for text that is no document type only where it is published to the letter", () => {
    expect(matchDocumentType(["busdox-docid-qns::x"], "x")).toEqual({ scheme: "busdox-docid-qns", value: "x" });
    expect(matchDocumentType(["peppol-doctype-wildcard::x*"], "xy")).toBeUndefined();
  });

  test("an asterisk is looked for by documents of PINT only, so that other documents cost no question more", () => {
    expect(mayMatchWildcard(invoice(JAPAN))).toBe(true);
    for (const { documentTypeId } of BILLING_CAPABILITIES) expect(mayMatchWildcard(documentTypeId)).toBe(false);
  });
});
