/**
 * How much of a text is looked at: what becomes text of the octets of a document, and every character that a function
 * of the language is asked about or walks over. A function that could stop early counts as if it did not.
 */

type Method = (this: unknown, ...given: readonly unknown[]) => unknown;

/** Functions that look at one character. */
const SINGLE = ["at", "charAt", "charCodeAt", "codePointAt"] as const;
/** Functions that may walk over the whole text. */
const WHOLE = [
  ...["includes", "indexOf", "lastIndexOf", "match", "matchAll", "normalize", "replace", "replaceAll", "search"],
  ...["split", "toLowerCase", "toUpperCase", "trim", "trimEnd", "trimStart"],
  Symbol.iterator,
] as const;

/** @returns characters and octets that were looked at while `act` ran; what runs beside it counts, too */
export function octetsRead(act: () => unknown): number {
  let octets = 0;
  let inside = 0;
  const restore: (() => void)[] = [];
  const count = (owner: object, name: PropertyKey, worth: (self: unknown, given: unknown, made: unknown) => number) => {
    const method = Reflect.get(owner, name) as Method;
    const descriptor = Object.getOwnPropertyDescriptor(owner, name) ?? { configurable: true, writable: true };
    const counting: Method = function (...given) {
      inside += 1;
      let made: unknown;
      try {
        made = Reflect.apply(method, this, given);
      } finally {
        inside -= 1;
      }
      // What a function of the language calls for its own work is a part of it.
      if (inside === 0) octets += worth(this, given[0], made);
      return made;
    };
    Object.defineProperty(owner, name, { ...descriptor, value: counting });
    restore.push(() => Object.defineProperty(owner, name, descriptor));
  };
  for (const name of SINGLE) {
    const method = Reflect.get(String.prototype, name) as Method;
    const descriptor = Object.getOwnPropertyDescriptor(String.prototype, name) ?? {};
    const counting: Method = function (at) {
      octets += 1;
      return method.call(this, at);
    };
    Object.defineProperty(String.prototype, name, { ...descriptor, value: counting });
    restore.push(() => Object.defineProperty(String.prototype, name, descriptor));
  }
  for (const name of WHOLE) count(String.prototype, name, (self) => String(self).length);
  for (const name of ["exec", "test"]) count(RegExp.prototype, name, (_, text) => String(text).length);
  count(Buffer.prototype, "toString", (_, __, made) => String(made).length);
  try {
    act();
    return octets;
  } finally {
    for (const undo of restore.reverse()) undo();
  }
}
