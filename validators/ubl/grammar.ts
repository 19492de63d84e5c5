/** The generated rows as tables by name id, built once per thread. */
import { attr, cac, cbc, ext, internedNames, roots } from "../xml/names.js";
import type { NameId } from "../xml/names.js";
import { AGGREGATE_ROWS, VALUE_ROWS } from "./grammar.generated.js";
import type { ValueBase } from "./values.js";

/** One attribute of a value type. */
interface AttributeFacts {
  readonly name: NameId;
  readonly base: ValueBase;
  readonly required: boolean;
}

/** What an element of some name must look like. */
export type ElementType = ValueType | SequenceType | ExtensionContentType;
export interface ValueType {
  readonly kind: "value";
  readonly base: ValueBase;
  readonly attributes: readonly AttributeFacts[];
}
export interface SequenceType {
  readonly kind: "sequence";
  /** Name of the type as the schemas have it, with the prefix of its namespace: "cac:PartyType". */
  readonly typeName: string;
  /** The children in the order in which they must come. No name occurs twice. */
  readonly names: Int32Array;
  /** Per child: 1 when at least one is needed. */
  readonly required: Uint8Array;
  /** Per child: 1 when it may be repeated. */
  readonly repeatable: Uint8Array;
  /** Index of the last required child, -1 when none is. */
  readonly lastRequired: number;
}
/** Exactly one element of another namespace; known elements below it are validated, unknown ones are not. */
interface ExtensionContentType {
  readonly kind: "extension";
}

const TABLES: Readonly<Record<string, Readonly<Record<string, NameId>>>> = { cbc, cac, ext, "": roots };

/** Id of a name as the rows write it. */
function idOf(written: string): NameId {
  const colon = written.indexOf(":");
  const id = TABLES[written.slice(0, Math.max(colon, 0))]?.[written.slice(colon + 1)];
  if (id === undefined) throw new Error(`the grammar names ${written}, names.generated.ts does not`);
  return id;
}

const words = (text: string): string[] => text.trim().split(/\s+/);

function valueType(row: string): ValueType {
  const [base, ...attributes] = words(row);
  const facts = attributes.map((written): AttributeFacts => {
    const [name = "", type = ""] = written.split("=");
    const required = name.endsWith("!");
    const id = (attr as Readonly<Record<string, NameId>>)[required ? name.slice(0, -1) : name];
    if (id === undefined) throw new Error(`the grammar names attribute ${name}, names.generated.ts does not`);
    return { name: id, base: type as ValueBase, required };
  });
  return { kind: "value", base: base as ValueBase, attributes: facts };
}

function sequenceType(typeName: string, row: string): SequenceType {
  const items = words(row);
  const marks = items.map((item) => (/[?*+]$/.exec(item) ?? [""])[0]);
  const required = Uint8Array.from(marks, (mark) => (mark === "" || mark === "+" ? 1 : 0));
  return {
    kind: "sequence",
    typeName,
    names: Int32Array.from(items, (item) => idOf(item.replace(/[?*+]$/, ""))),
    required,
    repeatable: Uint8Array.from(marks, (mark) => (mark === "*" || mark === "+" ? 1 : 0)),
    lastRequired: required.lastIndexOf(1),
  };
}

function elementTypes(): (ElementType | undefined)[] {
  const types = new Array<ElementType | undefined>(internedNames()).fill(undefined);
  for (const [row, elements] of VALUE_ROWS) {
    const type = valueType(row);
    for (const element of words(elements)) types[idOf(element)] = type;
  }
  for (const [typeName, elements, row] of AGGREGATE_ROWS) {
    const type = sequenceType(typeName, row);
    for (const element of words(elements)) types[idOf(element)] = type;
  }
  types[ext.ExtensionContent] = { kind: "extension" };
  return types;
}

/** Name id → type. Undefined for names that are no UBL elements; names of one document lie behind the end. */
export const ELEMENT_TYPES: readonly (ElementType | undefined)[] = elementTypes();
