/**
 * Reads ds:Signature into values, accepting one shape only. A child, an attribute or a text that is not expected
 * refuses the signature: HMACOutputLength, XPath, Object, comments in a DigestValue never reach the arithmetic.
 * @source design/as4.md section 18, steps 4 and 6
 */
import { attributeOf, childElements, onlyChild, textOf } from "../xml/tree.js";
import type { XmlElement } from "../xml/tree.js";
import { compactBase64, decodeBase64 } from "./coding/base64.js";
import { ALG, CID_URL, hashOf, NS, WSS_URI } from "./names.js";
import type { SignaturePolicy } from "./names.js";
import type { SignedReference } from "./protocol.js";

type SignatureFault = "signature_structure" | "algorithm_not_allowed" | "transform_not_allowed";

export interface ParsedReference extends SignedReference {
  /** Name of the digest for node:crypto. */
  readonly hash: string;
  readonly value: Buffer;
}

export interface SignatureInfo {
  readonly signedInfo: XmlElement;
  readonly canonicalization: string;
  readonly inclusivePrefixes: string[] | undefined;
  /** Name of the hash of the RSA signature for node:crypto. */
  readonly hash: string;
  readonly references: ParsedReference[];
  readonly value: Buffer;
  readonly keyInfo: XmlElement;
}

/** Transforms a message reference may use: one per reference, chosen by what the URI points at. */
const TRANSFORM_BY_TARGET = { element: ALG.exclusiveC14n, attachment: WSS_URI.signatureTransform } as const;

/** One message has Messaging, Body and a part; the vectors have one part more. */
const REFERENCES_MAX = 16;

class Fault extends Error {
  readonly fault: SignatureFault;
  constructor(fault: SignatureFault) {
    super(fault);
    this.fault = fault;
  }
}

/**
 * @param enveloped  true for a signature inside the document it signs: one reference with URI="".
 */
export function readSignatureInfo(
  signature: XmlElement,
  policy: SignaturePolicy,
  enveloped = false,
): SignatureInfo | SignatureFault {
  try {
    return read(signature, policy, enveloped);
  } catch (error) {
    if (error instanceof Fault) return error.fault;
    throw error;
  }
}

function read(signature: XmlElement, policy: SignaturePolicy, enveloped: boolean): SignatureInfo {
  const [signedInfo, signatureValue, keyInfo] = exactly(signature, ["SignedInfo", "SignatureValue", "KeyInfo"]);
  const [method, algorithm, ...references] = children(signedInfo);
  expectName(method, "CanonicalizationMethod");
  expectName(algorithm, "SignatureMethod");
  if (references.length === 0 || references.length > REFERENCES_MAX) throw new Fault("signature_structure");

  const canonicalization = algorithmOf(method);
  if (!policy.canonicalization.includes(canonicalization)) throw new Fault("algorithm_not_allowed");
  const hash = hashOf(policy.signatureMethods, algorithmOf(algorithm));
  if (hash === undefined) throw new Fault("algorithm_not_allowed");
  if (children(algorithm).length > 0) throw new Fault("signature_structure");
  const inclusivePrefixes = prefixList(method, canonicalization === ALG.exclusiveC14n);
  return {
    signedInfo,
    canonicalization,
    inclusivePrefixes,
    hash,
    keyInfo,
    references: references.map((reference) => readReference(reference, policy, enveloped)),
    value: base64(signatureValue),
  };
}

function readReference(element: XmlElement, policy: SignaturePolicy, enveloped: boolean): ParsedReference {
  expectName(element, "Reference");
  const uri = attributeOf(element, "URI");
  const [transforms, digestMethod, digestValue] = exactly(element, ["Transforms", "DigestMethod", "DigestValue"]);
  const [transform, ...more] = children(transforms);
  if (uri === undefined) throw new Fault("signature_structure");
  expectName(transform, "Transform");
  const algorithm = algorithmOf(transform);
  if (more.length > 0 || algorithm !== expectedTransform(uri, enveloped)) throw new Fault("transform_not_allowed");

  const method = algorithmOf(digestMethod);
  const hash = hashOf(policy.digestMethods, method);
  if (hash === undefined) throw new Fault("algorithm_not_allowed");
  if (children(digestMethod).length > 0) throw new Fault("signature_structure");
  const prefixes = prefixList(transform, algorithm === ALG.exclusiveC14n);
  const value = base64(digestValue);
  return {
    uri,
    transform: algorithm,
    digestMethod: method,
    hash,
    value,
    digest: compactBase64(textOf(digestValue) ?? ""),
    ...(prefixes === undefined ? {} : { prefixList: prefixes.join(" ") }),
  };
}

/** `#id`, `cid:` and, enveloped, the empty URI. Everything else points outside the message. */
function expectedTransform(uri: string, enveloped: boolean): string {
  if (enveloped) {
    if (uri === "") return ALG.enveloped;
  } else if (/^#[^#()/:\s]+$/.test(uri)) {
    return TRANSFORM_BY_TARGET.element;
  } else if (CID_URL.test(uri)) {
    return TRANSFORM_BY_TARGET.attachment;
  }
  throw new Fault("transform_not_allowed");
}

/** The PrefixList of the only child the element may have; undefined when there is none. */
function prefixList(element: XmlElement, allowed: boolean): string[] | undefined {
  const [list, ...more] = children(element);
  if (list === undefined) return undefined;
  if (
    !allowed ||
    more.length > 0 ||
    list.ns !== NS.ec ||
    list.local !== "InclusiveNamespaces" ||
    children(list).length > 0
  ) {
    throw new Fault("transform_not_allowed");
  }
  return (attributeOf(list, "PrefixList") ?? "").split(/[ \t\r\n]+/).filter((prefix) => prefix !== "");
}

function algorithmOf(element: XmlElement): string {
  return attributeOf(element, "Algorithm") ?? fail();
}

function base64(element: XmlElement): Buffer {
  if (children(element).length > 0) throw new Fault("signature_structure");
  const text = textOf(element);
  const bytes = text === undefined ? undefined : decodeBase64(text);
  return bytes === undefined || bytes.length === 0 ? fail() : bytes;
}

/** The child elements; text that is not white space, or a comment, is no part of any signature we accept. */
function children(element: XmlElement): XmlElement[] {
  const found = childElements(element);
  const text = element.children.filter((node) => node.kind === "text");
  if (found.length + text.length !== element.children.length) throw new Fault("signature_structure");
  if (found.length > 0 && text.some((node) => !/^[ \t\r\n]*$/.test(node.value))) throw new Fault("signature_structure");
  return found;
}

function exactly(element: XmlElement, names: readonly [string, string, string]): [XmlElement, XmlElement, XmlElement] {
  const [first, second, third, ...more] = children(element);
  expectName(first, names[0]);
  expectName(second, names[1]);
  expectName(third, names[2]);
  return more.length > 0 ? fail() : [first, second, third];
}

function expectName(element: XmlElement | undefined, local: string): asserts element is XmlElement {
  if (element?.ns !== NS.ds || element.local !== local) fail();
}

function fail(): never {
  throw new Fault("signature_structure");
}

/**
 * The BinarySecurityToken that KeyInfo names by a direct reference, among the direct children of the Security header.
 * Any other kind of reference (key identifier, issuer and serial, embedded) is not what Peppol allows.
 */
export function referencedToken(keyInfo: XmlElement, security: XmlElement): XmlElement | undefined {
  const reference = onlyTokenReference(keyInfo);
  const uri = reference === undefined ? undefined : attributeOf(reference, "URI");
  if (reference === undefined || uri === undefined || !uri.startsWith("#")) return undefined;
  if ((attributeOf(reference, "ValueType") ?? WSS_URI.x509v3) !== WSS_URI.x509v3) return undefined;
  const tokens = childElements(security).filter(
    (child) =>
      child.ns === NS.wsse &&
      child.local === "BinarySecurityToken" &&
      attributeOf(child, "Id", NS.wsu) === uri.slice(1),
  );
  const [token, ...more] = tokens;
  if (token === undefined || more.length > 0) return undefined;
  const encoding = attributeOf(token, "EncodingType") ?? WSS_URI.base64Binary;
  return attributeOf(token, "ValueType") === WSS_URI.x509v3 && encoding === WSS_URI.base64Binary ? token : undefined;
}

/** KeyInfo/SecurityTokenReference/Reference, each the only child. */
export function onlyTokenReference(keyInfo: XmlElement): XmlElement | undefined {
  const [str, ...others] = childElements(keyInfo);
  if (str === undefined || others.length > 0 || str.ns !== NS.wsse || str.local !== "SecurityTokenReference")
    return undefined;
  return childElements(str).length === 1 ? onlyChild(str, NS.wsse, "Reference") : undefined;
}
