/**
 * XML of programs: UBL by its own reader, anything else by names and field map. No DTD, no entity, every count capped.
 */
import { LIMITS } from "../../../base/limits.js";
import { parseXml } from "../../../../validators/xml/tree.js";
import type { XmlElement, XmlFault } from "../../../../validators/xml/tree.js";
import type { MapInput } from "../protocol.js";
import { sourceName, tooManyPlaces } from "./path.js";
import type { SourceName } from "./path.js";
import { Dictionary } from "./reading.js";
import type { Reading } from "./reading.js";
import { readTree } from "./tree.js";
import type { SourceNode } from "./tree.js";
import { isUbl, readUbl } from "./ubl.js";
import { UnreadableSource } from "./unreadable.js";

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
  return { reading: readTree(new Nodes().of(root).children, dictionary), dictionary };
}

/** What has no children, as most nodes. */
const NO_NODES: readonly SourceNode[] = [];

/** Makes nodes of elements and attributes. A name is folded once: a source has few, each many times. */
class Nodes {
  // Bounded by mapper_places_max.
  readonly #names = new Map<string, SourceName>();

  of(element: XmlElement): SourceNode {
    const { name, folded } = this.#name(element.local);
    const children: SourceNode[] = element.attributes.map(({ local, value }) => this.#leaf(local, value));
    const texts: string[] = [];
    let hasElements = false;
    for (const child of element.children)
      if (child.kind === "text") texts.push(child.value);
      else if (child.kind === "element") {
        hasElements = true;
        children.push(this.of(child));
      }
    const text = texts.join("").trim();
    const value = hasElements || text === "" ? undefined : text;
    return { name, folded, value, children: children.length === 0 ? NO_NODES : children, isListed: false };
  }

  #leaf(local: string, value: string): SourceNode {
    const { name, folded } = this.#name(local);
    return { name, folded, value, children: NO_NODES, isListed: false };
  }

  #name(local: string): SourceName {
    let known = this.#names.get(local);
    if (known !== undefined) return known;
    if (this.#names.size >= LIMITS.mapper_places_max) throw tooManyPlaces();
    known = sourceName(local);
    this.#names.set(local, known);
    return known;
  }
}
