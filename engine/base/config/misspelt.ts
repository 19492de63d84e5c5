/** Names that are one slip away from those that we know. */

/** Whether one name becomes the other by one letter more, less or other, or by two that changed places. */
function isOneSlip(one: string, other: string): boolean {
  if (one === other || Math.abs(one.length - other.length) > 1) return false;
  let at = 0;
  while (at < one.length && one[at] === other[at]) at += 1;
  const [left, right] = [one.slice(at), other.slice(at)];
  const swapped = `${left[1] ?? ""}${left[0] ?? ""}${left.slice(2)}`;
  return left.slice(1) === right.slice(1) || left.slice(1) === right || left === right.slice(1) || swapped === right;
}

/** A name, and the one that was probably meant. */
export interface Misspelt {
  readonly given: string;
  readonly meant: string;
}

/** Which of the names that were given are slips for a known one that was not. */
export const findMisspelt = (given: readonly string[], known: ReadonlySet<string>): readonly Misspelt[] =>
  given
    .filter((name) => !known.has(name))
    .flatMap((name) => {
      const meant = [...known].find((one) => !given.includes(one) && isOneSlip(name, one));
      return meant === undefined ? [] : [{ given: name, meant }];
    });
