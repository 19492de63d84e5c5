/**
 * eb:PayloadInfo: which MIME part is which, and how it was compressed. The rest of the header is the engine's to read.
 */
import { attributeOf, childElements, childrenNamed, onlyChild, textOf } from "../xml/tree.js";
import type { XmlElement } from "../xml/tree.js";
import { NS } from "./names.js";
import { cidOf } from "./verify.js";

export interface PartInfo {
  /** Content-ID, decoded. */
  readonly cid: string;
  readonly properties: Record<string, string>;
}

const PROPERTIES_MAX = 32;

/** The parts of the one user message, or why its PayloadInfo cannot be read. */
export function readPartInfos(messaging: XmlElement): PartInfo[] | "envelope_structure" | "part_duplicate" {
  const user = onlyChild(messaging, NS.eb, "UserMessage");
  if (user === undefined || childElements(messaging).length !== 1) return "envelope_structure";
  const payload = childrenNamed(user, NS.eb, "PayloadInfo");
  if (payload.length > 1) return "envelope_structure";
  const infos: PartInfo[] = [];
  for (const element of payload.flatMap((info) => childrenNamed(info, NS.eb, "PartInfo"))) {
    const cid = cidOf(attributeOf(element, "href") ?? "");
    const properties = readProperties(element);
    if (cid === undefined || properties === undefined) return "envelope_structure";
    infos.push({ cid: cid.slice("cid:".length), properties });
  }
  return new Set(infos.map((info) => info.cid)).size === infos.length ? infos : "part_duplicate";
}

function readProperties(part: XmlElement): Record<string, string> | undefined {
  const properties: Record<string, string> = Object.create(null);
  const groups = childrenNamed(part, NS.eb, "PartProperties");
  const elements = groups.flatMap((group) => childrenNamed(group, NS.eb, "Property"));
  if (groups.length > 1 || elements.length > PROPERTIES_MAX) return undefined;
  for (const element of elements) {
    const name = attributeOf(element, "name");
    const value = textOf(element)?.trim();
    if (name === undefined || value === undefined || name in properties) return undefined;
    properties[name] = value;
  }
  return properties;
}
