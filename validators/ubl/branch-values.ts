/**
 * What the grammar asks of branches of one form: the names in them are checked once, so that only values that have a
 * form of their own (numbers, dates, codes of languages) remain.
 */
import { NONE } from "../xml/document.js";
import type { ElementId, XmlDocument } from "../xml/document.js";
import type { NameId } from "../xml/names.js";
import type { Form } from "../xml/repeats/forms.js";
import { followsSequence } from "./follows.js";
import type { ElementType, ValueType } from "./grammar.js";
import { isText, VALUE_CHECKS } from "./values.js";
import type { ValueCheck } from "./values.js";

/** A value that must have a form, counted from the first element. */
interface BranchValue {
  readonly offset: number;
  readonly check: ValueCheck;
}

/** Whether every name of a form is in its place, and the values that remain; undefined when one is not. */
const known = new WeakMap<Form, readonly BranchValue[] | "irregular">();

/**
 * Whether a branch is right by the grammar. False says only that it has to be looked at element by element.
 * @param typeOf  the type of an element name in the document
 */
export function isRightBranch(
  document: XmlDocument,
  branch: ElementId,
  form: Form,
  typeOf: (name: NameId) => ElementType | undefined,
): boolean {
  let values = known.get(form);
  if (values === undefined) {
    values = valuesOf(document, branch, typeOf) ?? "irregular";
    known.set(form, values);
  }
  if (values === "irregular") return false;
  const { source, contentStarts, contentEnds } = document;
  for (let i = 0; i < values.length; i++) {
    const { offset, check } = values[i]!;
    if (!check(source, contentStarts[branch + offset]!, contentEnds[branch + offset]!)) return false;
  }
  return true;
}

function valuesOf(
  document: XmlDocument,
  branch: ElementId,
  typeOf: (name: NameId) => ElementType | undefined,
): readonly BranchValue[] | undefined {
  const values: BranchValue[] = [];
  for (let e = branch; e < document.end(branch); e++) {
    const type = typeOf(document.name(e));
    if (type === undefined || type.kind === "extension") return undefined;
    if (type.kind === "sequence") {
      // In a form an element without elements holds text, which no sequence may, also one that asks for no element.
      if (document.first(e) === NONE || document.attrCount(e) > 0 || !followsSequence(document, e, type))
        return undefined;
    } else {
      if (document.first(e) !== NONE || !hasPlainAttributes(document, e, type)) return undefined;
      if (!isText(type.base)) values.push({ offset: e - branch, check: VALUE_CHECKS[type.base] });
    }
  }
  return values;
}

/** Whether the attributes of e are those that its type has, each of which takes any text. */
function hasPlainAttributes(document: XmlDocument, e: ElementId, type: ValueType): boolean {
  for (let i = 0; i < document.attrCount(e); i++) {
    const declared = type.attributes.find(({ name }) => name === document.attrName(e, i));
    if (declared === undefined || !isText(declared.base)) return false;
  }
  return type.attributes.every(({ name, required }) => !required || document.hasAttr(e, name));
}
