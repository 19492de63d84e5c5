/**
 * Check digits and forms of the identifiers that Peppol examines: one function each, and one table by scheme (ISO 6523
 * ICD or EAS code). Each decides exactly as the published rule does, dynamic errors included.
 */
import { RuleError } from "../rule.js";
import { codePoints, normalizeSpace } from "../values.js";
import { isCastableAsInteger, substring, toNumber } from "./xpath.js";

/** True when the identifier is well formed. Takes the text as written. */
export type IdentifierCheck = (text: string) => boolean;

const digitAt = (text: string, index: number): number => text.charCodeAt(index) - 48;

/** Sum of digits 0 … count-1, each times the weight of its distance from the right (0 = rightmost). */
function weightedFromRight(digits: string, count: number, weight: (distance: number) => number): number {
  let sum = 0;
  for (let i = 0; i < count; i += 1) sum += digitAt(digits, count - 1 - i) * weight(i);
  return sum;
}

const ALL_DIGITS = /^[0-9]+$/u;

/** GS1 GLN: weights 3, 1, 3, … from the right; the last digit fills up to a multiple of ten. */
function isGln(text: string): boolean {
  const value = normalizeSpace(text);
  if (!ALL_DIGITS.test(value)) return false;
  const last = value.length - 1;
  const sum = weightedFromRight(value, last, (distance) => (distance % 2 === 0 ? 3 : 1));
  return (10 - (sum % 10)) % 10 === digitAt(value, last);
}

/** Weights 2 … 7 from the right, modulus 11; nothing but zeros is no number. The text must be digits. */
export function hasMod11CheckDigit(digits: string): boolean {
  const last = digits.length - 1;
  const sum = weightedFromRight(digits, last, (distance) => (distance % 6) + 2);
  return /[1-9]/u.test(digits) && (11 - (sum % 11)) % 11 === digitAt(digits, last);
}

/** Norwegian organisation number. */
function isNorwegianOrganisation(text: string): boolean {
  const value = normalizeSpace(text);
  return /^[0-9]{9}$/u.test(value) && hasMod11CheckDigit(value);
}

/** Danish CVR number: eight digits, with or without DK before them. White space is not tolerated. */
const isDanishCvr = (text: string): boolean => /^(?:DK)?[0-9]{8}$/u.test(text);

/** Danish P number: ten digits. */
const isDanishPNumber = (text: string): boolean => /^[0-9]{10}$/u.test(text);

/** Danish SE number: DK and eight digits. */
const isDanishSeNumber = (text: string): boolean => /^DK[0-9]{8}$/u.test(text);

/** Belgian enterprise number: the last two digits are 97 minus the remainder of the first eight by 97. */
function isBelgianEnterprise(text: string): boolean {
  const value = normalizeSpace(text);
  return /^[0-9]{10}$/u.test(value) && Number(value.slice(8)) === 97 - (Number(value.slice(0, 8)) % 97);
}

/** Italian Codice Univoco Unità Organizzativa: six letters or digits. */
const isItalianIpaCode = (text: string): boolean => /^[A-Za-z0-9]{6}$/u.test(normalizeSpace(text));

/** Italian codice fiscale: 16 characters in the pattern of a person's code, or 11 that are an integer. */
function isItalianTaxCode(text: string): boolean {
  const value = normalizeSpace(text);
  const length = codePoints(value);
  return length === 16 ? isPersonalTaxCode(value) : length === 11 && isCastableAsInteger(value);
}

/** Letters 1–6, 9 and 16; integers 7–8, 10–11 and 15; positions 12–14 are free. */
function isPersonalTaxCode(value: string): boolean {
  return (
    isLetters(substring(value, 1, 6)) &&
    isCastableAsInteger(substring(value, 7, 2)) &&
    isLetters(substring(value, 9, 1)) &&
    isCastableAsInteger(substring(value, 10, 2)) &&
    isCastableAsInteger(substring(value, 15, 1)) &&
    isLetters(substring(value, 16, 1))
  );
}

const isLetters = (text: string): boolean => /^[A-Za-z]*$/u.test(text);

/** Italian partita IVA: IT (or it) and eleven digits with a Luhn sum of 0 modulo 10; another country passes. */
function isItalianVat(text: string): boolean {
  const value = normalizeSpace(text);
  const country = substring(value, 1, 2);
  if (country !== "IT" && country !== "it") return true;
  const code = substring(value, 3);
  return codePoints(code) === 11 && isCastableAsInteger(code) && luhnSum(code) % 10 === 0;
}

/** Every second digit doubled, its digits added. A sign or blank is an integer to a cast, but not a digit. */
function luhnSum(code: string): number {
  let sum = 0;
  for (let i = 0; i < code.length; i += 1) {
    const digit = digitAt(code, i);
    if (digit < 0 || digit > 9) throw new RuleError("FORG0001");
    sum += i % 2 === 0 ? digit : Math.floor((digit * 2) / 10) + ((digit * 2) % 10);
  }
  return sum;
}

/** Swedish organisation number as electronic address: ten digits, Luhn. */
function isSwedishOrganisation(text: string): boolean {
  const value = normalizeSpace(text);
  return codePoints(value) === 10 && !Number.isNaN(toNumber(value)) && hasSwedishCheckDigit(value);
}

/**
 * Luhn over the first nine characters against the tenth. Digits of other scripts count as digits and have no value,
 * which XPath answers with an error of the cast or of `idiv`.
 * @throws RuleError FOAR0002, FOCA0002
 */
export function hasSwedishCheckDigit(value: string): boolean {
  if (!/^\p{Nd}+$/u.test(value)) return false;
  const main = substring(value, 1, 9);
  if (!ALL_DIGITS.test(main)) throw new RuleError(swedishError(Array.from(main).reverse()));
  const sum = weightedLuhnFromRight(main);
  return (10 - (sum % 10)) % 10 === toNumber(substring(value, 10, 1));
}

/** The rightmost digit and every second one before it are doubled. */
function weightedLuhnFromRight(digits: string): number {
  let sum = 0;
  for (let i = 0; i < digits.length; i += 1) {
    const digit = digitAt(digits, digits.length - 1 - i);
    sum += i % 2 === 0 ? ((digit * 2) % 10) + Math.floor((digit * 2) / 10) : digit;
  }
  return sum;
}

/** A doubled position fails in `idiv`, another one when the sum becomes an integer. */
const swedishError = (fromRight: readonly string[]): string =>
  fromRight.some((digit, index) => index % 2 === 0 && !ALL_DIGITS.test(digit)) ? "FOAR0002" : "FOCA0002";

const ABN_WEIGHTS = [10, 1, 3, 5, 7, 9, 11, 13, 15, 17, 19] as const;

/** Australian Business Number: one less in the first digit, weighted, a multiple of 89. */
function isAustralianBusiness(text: string): boolean {
  const value = normalizeSpace(text);
  if (!/^[0-9]{11}$/u.test(value)) return false;
  return (
    ABN_WEIGHTS.reduce((sum, weight, index) => sum + (digitAt(value, index) - (index === 0 ? 1 : 0)) * weight, 0) %
      89 ===
    0
  );
}

/** Greek TIN (AFM): nine digits, powers of two as weights; what follows the ninth is not looked at. */
export function isGreekTin(text: string): boolean {
  if (!/^[0-9]{9}/u.test(text)) return false;
  let sum = 0;
  for (let i = 0; i < 8; i += 1) sum += digitAt(text, i) * 2 ** (8 - i);
  return (sum % 11) % 10 === digitAt(text, 8);
}

/** IBAN: country, two check digits, up to 30 letters or digits; moved and spelt as a number, 1 modulo 97. */
export function isIban(text: string): boolean {
  const value = text.replace(/[ \t\n\r]/gu, "");
  if (!/^[A-Z]{2}[0-9]{2}[a-zA-Z0-9]{0,30}$/u.test(value)) return false;
  const moved = value.slice(4) + value.slice(0, 4);
  let rest = 0;
  for (let i = 0; i < moved.length; i += 1) {
    const code = moved.charCodeAt(i);
    const worth = code > 64 ? code - 55 : code - 48;
    rest = (rest * (worth > 9 ? 100 : 10) + worth) % 97;
  }
  return rest === 1;
}

const form =
  (pattern: RegExp): IdentifierCheck =>
  (text) =>
    pattern.test(normalizeSpace(text));

/** Dutch VAT number, also where it is not an electronic address. */
export const isDutchVat = form(/^NL[0-9]{9}B[0-9]{2}$/u);

/** The check of each scheme that has one. */
export const IDENTIFIER_CHECKS: ReadonlyMap<string, IdentifierCheck> = new Map<string, IdentifierCheck>([
  ["0088", isGln],
  ["0192", isNorwegianOrganisation],
  ["0184", isDanishCvr],
  ["0096", isDanishPNumber],
  ["0198", isDanishSeNumber],
  ["0208", isBelgianEnterprise],
  ["0201", isItalianIpaCode],
  ["0210", isItalianTaxCode],
  ["9907", isItalianTaxCode],
  ["0211", isItalianVat],
  ["0007", isSwedishOrganisation],
  ["0151", isAustralianBusiness],
  ["0106", form(/^[0-9]{8}$/u)],
  ["0190", form(/^[0-9]{20}$/u)],
  ["9944", isDutchVat],
  ["0217", form(/^[0-9]{12}$/u)],
]);
