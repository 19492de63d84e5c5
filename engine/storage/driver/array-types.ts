/**
 * Array types, told to postgres.js instead of asked from the server. It asks on every new connection with a query whose
 * failure nobody can catch: a backend that dies in that moment would end our process with an unhandled rejection
 * (measured with pg_terminate_backend under load, postgres.js 3.4.9).
 */

type Element = string | number | boolean | Date | Buffer | object | null;

interface ArrayType {
  /** Fixed number of the built-in type. @source pg_type.dat of PostgreSQL */
  readonly oid: number;
  readonly write?: (element: Exclude<Element, null>) => string;
  readonly read?: (text: string) => unknown;
}

const asInstant = (element: Exclude<Element, null>): string =>
  element instanceof Date ? element.toISOString() : String(element);
const asHex = (element: Exclude<Element, null>): string =>
  Buffer.isBuffer(element) ? `\\x${element.toString("hex")}` : String(element);

const ARRAY_TYPES = {
  boolArray: { oid: 1000, read: (text) => text === "t" },
  byteaArray: { oid: 1001, write: asHex, read: (text) => Buffer.from(text.slice(2), "hex") },
  int2Array: { oid: 1005, read: Number },
  int4Array: { oid: 1007, read: Number },
  textArray: { oid: 1009 },
  varcharArray: { oid: 1015 },
  int8Array: { oid: 1016 },
  float8Array: { oid: 1022, read: Number },
  dateArray: { oid: 1182, write: asInstant, read: (text) => new Date(text) },
  timestamptzArray: { oid: 1185, write: asInstant, read: (text) => new Date(text) },
  numericArray: { oid: 1231 },
  uuidArray: { oid: 2951 },
  jsonArray: { oid: 199, write: JSON.stringify, read: (text): unknown => JSON.parse(text) },
  jsonbArray: { oid: 3807, write: JSON.stringify, read: (text): unknown => JSON.parse(text) },
} as const satisfies Record<string, ArrayType>;

const quoted = (text: string): string => `"${text.replaceAll("\\", "\\\\").replaceAll('"', '\\"')}"`;

/** The text form of a one-dimensional array. */
const writeArray =
  (type: ArrayType) =>
  (elements: unknown): unknown => {
    if (!Array.isArray(elements)) return elements;
    const write = type.write ?? String;
    return `{${elements.map((element: Element) => (element === null ? "NULL" : quoted(write(element)))).join(",")}}`;
  };

const ELEMENT = /"((?:[^"\\]|\\.)*)"|([^,{}"]+)/gs;

/** Reads the text form of a one-dimensional array. */
const readArray =
  (type: ArrayType) =>
  (text: string): unknown[] => {
    const read = type.read ?? String;
    return [...text.matchAll(ELEMENT)].map(([, inQuotes, plain]) => {
      if (inQuotes !== undefined) return read(inQuotes.replace(/\\(.)/gs, "$1"));
      return plain === undefined || plain === "NULL" ? null : read(plain);
    });
  };

/** For the option `types` of postgres.js, together with `fetch_types: false`. */
export const arrayTypes = Object.fromEntries(
  Object.entries(ARRAY_TYPES).map(([name, type]: [string, ArrayType]) => [
    name,
    { to: type.oid, from: [type.oid], serialize: writeArray(type), parse: readArray(type) },
  ]),
);
