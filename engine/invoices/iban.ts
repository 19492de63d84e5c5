/** The check digits of an IBAN. @source ISO 13616 */

/** The first four characters come last, letters count from 10: the number leaves 1 when divided by 97. */
export function hasCheckDigits(iban: string): boolean {
  const moved = iban.slice(4).toUpperCase() + iban.slice(0, 4);
  return BigInt(moved.replace(/[A-Z]/gu, (letter) => String(letter.charCodeAt(0) - 55))) % 97n === 1n;
}
