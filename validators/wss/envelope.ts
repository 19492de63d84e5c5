/**
 * Finds the parts of a SOAP envelope by their place, never by name or id search: that is what defeats signature
 * wrapping. Every other element that carries one of the names is a refusal.
 * @source design/as4.md section 18, steps 1 to 3
 */
import { attributeOf, childElements, childrenNamed, onlyChild, parseXml, textOf } from "../xml/tree.js";
import type { XmlElement, XmlTreeLimits } from "../xml/tree.js";
import { NS, WSS_URI } from "./names.js";
import { SECURITY_REASONS } from "./protocol.js";
import type { SecurityReason, SecurityRefused } from "./protocol.js";

export interface Envelope {
  readonly envelope: XmlElement;
  readonly header: XmlElement;
  readonly messaging: XmlElement;
  readonly body: XmlElement;
  /** Absent in an unsigned signal. */
  readonly security: XmlElement | undefined;
}

/** An AS4 envelope: about 15 KB with two tokens. A part or two more stays far below these. */
export const ENVELOPE_LIMITS: XmlTreeLimits = {
  bytes: 262_144,
  depth: 24,
  elements: 2_000,
  attributes: 32,
  declarations: 1_000,
};

/** Names that may stand in a message once and in one place only. */
const SINGLE: readonly { readonly ns: string; readonly local: string }[] = [
  { ns: NS.soap, local: "Envelope" },
  { ns: NS.soap, local: "Header" },
  { ns: NS.soap, local: "Body" },
  { ns: NS.wsse, local: "Security" },
  { ns: NS.eb, local: "Messaging" },
  { ns: NS.ds, local: "Signature" },
  { ns: NS.ds, local: "SignedInfo" },
  { ns: NS.ds, local: "SignatureValue" },
];

/** Refuses with the error that belongs to the reason. */
export const refused = (reason: SecurityReason): SecurityRefused => ({
  kind: "refused",
  error: SECURITY_REASONS[reason],
  reason,
});

/** Parses the SOAP part and locates its elements. */
export function readEnvelope(soap: Uint8Array): Envelope | SecurityRefused {
  const document = parseXml(soap, ENVELOPE_LIMITS);
  if (document.kind === "refused") {
    return refused(document.fault === "too_large" ? "envelope_too_large" : "envelope_malformed");
  }
  const found = locate(document.root);
  if (found === undefined) return refused("envelope_structure");
  const fault = wrappingFault(document.root) ?? mustUnderstandFault(found);
  return fault === undefined ? found : withClaimedId(refused(fault), found.messaging);
}

function locate(envelope: XmlElement): Envelope | undefined {
  if (envelope.ns !== NS.soap || envelope.local !== "Envelope") return undefined;
  const [header, body, ...more] = childElements(envelope);
  if (header === undefined || body === undefined || more.length > 0 || !onlySpaceBesideElements(envelope))
    return undefined;
  if (header.ns !== NS.soap || header.local !== "Header" || body.ns !== NS.soap || body.local !== "Body")
    return undefined;
  const messaging = onlyChild(header, NS.eb, "Messaging");
  const securities = childrenNamed(header, NS.wsse, "Security");
  if (messaging === undefined || securities.length > 1) return undefined;
  const security = securities[0];
  if (security !== undefined && !isForUs(security)) return undefined;
  return { envelope, header, messaging, body, security };
}

/** Text outside the elements of Envelope is no SOAP. */
const onlySpaceBesideElements = (element: XmlElement): boolean =>
  element.children.every((node) => node.kind !== "text" || /^[ \t\r\n]*$/.test(node.value));

const isForUs = (block: XmlElement): boolean =>
  (attributeOf(block, "role", NS.soap) ?? WSS_URI.ultimateReceiver) === WSS_URI.ultimateReceiver;

/** Looks through the whole tree for a second copy of a single name, and for an id used twice. */
function wrappingFault(root: XmlElement): SecurityReason | undefined {
  const seen = new Set<string>();
  const ids = new Set<string>();
  const pending = [root];
  for (let element = pending.pop(); element !== undefined; element = pending.pop()) {
    const single = SINGLE.find(({ ns, local }) => element?.ns === ns && element.local === local);
    if (single !== undefined) {
      if (seen.has(`${single.ns} ${single.local}`)) return "nested_copy";
      seen.add(`${single.ns} ${single.local}`);
    }
    for (const attribute of element.attributes) {
      if (attribute.local.toLowerCase() !== "id") continue;
      if (ids.has(attribute.value)) return "duplicate_id";
      ids.add(attribute.value);
    }
    pending.push(...childElements(element));
  }
  return undefined;
}

/** SOAP 1.2: a mandatory header block that we do not know must not be ignored. */
function mustUnderstandFault(envelope: Envelope): SecurityReason | undefined {
  const foreign = childElements(envelope.header).filter(
    (block) => block !== envelope.messaging && block !== envelope.security,
  );
  const mandatory = foreign.some(
    (block) => /^(?:true|1)$/.test(attributeOf(block, "mustUnderstand", NS.soap) ?? "") && isForUs(block),
  );
  return mandatory ? "envelope_must_understand" : undefined;
}

/** Adds the MessageId the peer claims, so that our error can name it. Bounded, and free of control characters. */
export function withClaimedId(refusal: SecurityRefused, messaging: XmlElement): SecurityRefused {
  const unit = onlyChild(messaging, NS.eb, "UserMessage") ?? onlyChild(messaging, NS.eb, "SignalMessage");
  const info = unit === undefined ? undefined : onlyChild(unit, NS.eb, "MessageInfo");
  const element = info === undefined ? undefined : onlyChild(info, NS.eb, "MessageId");
  const id = element === undefined ? undefined : textOf(element)?.trim();
  return id !== undefined && /^[\x21-\x7e]{1,255}$/.test(id) ? { ...refusal, claimedMessageId: id } : refusal;
}
