/** Accounts that are surely meant as an IBAN: a country of the registry with the length that it has there. */
import { isIban } from "../peppol/identifiers.js";

/** Characters of an IBAN by country. @source SWIFT, IBAN Registry (ISO 13616), release 99 */
const LENGTHS: ReadonlyMap<string, number> = new Map(
  Object.entries({
    15: "NO",
    16: "BE",
    18: "DK FI FO GL NL",
    19: "MK SI",
    20: "AT BA EE KZ LT LU XK",
    21: "CH HR LI LV",
    22: "BG DE GB GE IE ME RS",
    23: "AE GI IL",
    24: "AD CZ ES MD RO SE SK",
    25: "PT",
    26: "IS TR",
    27: "FR GR IT MC SM",
    28: "AL AZ CY HU LB PL",
    29: "UA",
    31: "MT",
  }).flatMap(([length, countries]) => countries.split(" ").map((country) => [country, Number(length)] as const)),
);

/**
 * Whether a text has the form of an IBAN and check digits that do not fit it. Accounts in other forms are none of ours
 * to judge: EN 16931 takes any.
 */
export function isMistypedIban(text: string): boolean {
  const value = text.replace(/[ \t\r\n]/gu, "");
  if (!/^[A-Z]{2}[0-9]{2}[A-Z0-9]{11,27}$/u.test(value)) return false;
  return LENGTHS.get(value.slice(0, 2)) === value.length && !isIban(value);
}
