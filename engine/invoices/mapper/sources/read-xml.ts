/**
 * XML of programs: UBL by its own reader, anything else by names and field map. No DTD, no entity, every count capped.
 */
import { LIMITS } from "../../../base/limits.js";
import { childElements, parseXml } from "../../../../validators/xml/tree.js";
import type { XmlElement, XmlFault } from "../../../../validators/xml/tree.js";
import type { MapInput } from "../protocol.js";
import { sourceName } from "./path.js";
import { Dictionary, UnreadableSource } from "./reading.js";
import type { Reading } from "./reading.js";
import { readTree } from "./tree.js";
import type { SourceNode } from "./tree.js";
import { isUbl, readUbl } from "./ubl.js";

const BOUNDS = {
  bytes: LIMITS.payload_bytes_max,
  depth: LIMITS.mapper_xml_depth_max,
  elements: LIMITS.mapper_xml_elements_max,
  attributes: LIMITS.mapper_xml_attributes_max,
  declarations: LIMITS.mapper_xml_declarations_max,
};

const FAULTS: Readonly<Record<XmlFault, string>> = {
  too_large: "The XML is larger than 20 MB.",
  encoding: "The XML is not UTF-8.",
  character: "The XML has a character that XML forbids.",
  doctype: "The XML has a DOCTYPE, which is not read.",
  processing_instruction: "The XML has a processing instruction, which is not read.",
  entity: "The XML has an entity that XML itself does not have.",
  depth: `The XML is nested deeper than ${LIMITS.mapper_xml_depth_max} levels.`,
  elements: `The XML has more than ${LIMITS.mapper_xml_elements_max} elements.`,
  attributes: `An element has more than ${LIMITS.mapper_xml_attributes_max} attributes.`,
  declarations: `The XML declares more than ${LIMITS.mapper_xml_declarations_max} namespaces.`,
  duplicate_attribute: "An element has the same attribute twice.",
  namespace: "A prefix in the XML is not declared, or declared wrongly.",
  malformed: "The XML is not well-formed.",
};

/** The declaration names an encoding that the text has left behind when it became text. */
const DECLARATION = /^\u{feff}?\s*<\?xml\s[^>]*\?>/u;

interface ReadXml {
  readonly reading: Reading;
  readonly dictionary: Dictionary;
}

/** @throws UnreadableSource */
export function rootOfXml(sourceText: string): XmlElement {
  const document = parseXml(Buffer.from(sourceText.replace(DECLARATION, ""), "utf8"), BOUNDS);
  if (document.kind === "refused")
    throw new UnreadableSource(`MAPPER-XML-${document.fault.toUpperCase()}`, FAULTS[document.fault]);
  return document.root;
}

export function readXml({ sourceText = "", fieldMap, own }: MapInput): ReadXml {
  const root = rootOfXml(sourceText);
  const dictionary = new Dictionary(fieldMap, root.local);
  // A caller with a map of its own knows better what the elements mean.
  if (isUbl(root) && Object.keys(fieldMap).length === 0) return { reading: readUbl(root, own), dictionary };
  return { reading: readTree(nodeOf(root).children, dictionary), dictionary };
}

function nodeOf(element: XmlElement): SourceNode {
  const elements = childElements(element);
  const text = element.children.flatMap((child) => (child.kind === "text" ? [child.value] : [])).join("");
  const attributes = element.attributes.map(({ local, value }) => ({
    ...sourceName(local),
    value,
    children: [],
    isListed: false,
  }));
  return {
    ...sourceName(element.local),
    value: elements.length > 0 || text.trim() === "" ? undefined : text.trim(),
    children: [...attributes, ...elements.map(nodeOf)],
    isListed: false,
  };
}
