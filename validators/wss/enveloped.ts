/**
 * Enveloped signatures of SMP answers: verify those of others, sign our own.
 *
 * One Reference with URI="" and the transform enveloped-signature alone, which makes the digest input the whole
 * document in inclusive C14N 1.0 without the signature.
 * @source design/as4.md section 10
 */
import { createHash, sign } from "node:crypto";
import { canonicalize, canonicalizeDocument, canonicalOctets } from "../xml/c14n.js";
import { childElements, childrenNamed, parseXml, textOf, XML_TREE_LIMITS } from "../xml/tree.js";
import type { XmlDocument, XmlElement, XmlTreeLimits } from "../xml/tree.js";
import { certificateFromBase64, readCertificate } from "./certificate.js";
import type { CertificateFacts } from "./certificate.js";
import { unwrapPrivateKey } from "./keys.js";
import { ALG, NS, PEPPOL_ENVELOPED } from "./names.js";
import type { SignaturePolicy } from "./names.js";
import type { EnvelopedReason, EnvelopedVerified, OwnKey } from "./protocol.js";
import { readSignatureInfo } from "./signature-info.js";
import { octetDigestHolds, signatureValueHolds } from "./verify.js";

const CERTIFICATES_MAX = 8;

/**
 * Verifies the signature of a document and returns its tree: read values from this tree only, not from the bytes.
 * Trust in the signer is the PKI's question.
 */
export function verifyEnveloped(
  document: Uint8Array,
  policy: SignaturePolicy = PEPPOL_ENVELOPED,
  limits: XmlTreeLimits = XML_TREE_LIMITS,
): EnvelopedVerified {
  const tree = parseXml(document, limits);
  if (tree.kind === "refused") return { kind: "refused", reason: "malformed" };
  const result = verify(tree, policy);
  return typeof result === "string" ? { kind: "refused", reason: result } : result;
}

function verify(tree: XmlDocument, policy: SignaturePolicy): EnvelopedVerified | EnvelopedReason {
  const { root } = tree;
  const [signature, ...more] = childrenNamed(root, NS.ds, "Signature");
  if (signature === undefined) return "signature_missing";
  if (more.length > 0 || countSignatures(root) !== 1) return "nested_copy";
  const info = readSignatureInfo(signature, policy, true);
  if (typeof info === "string") return info;
  const [reference, ...others] = info.references;
  if (reference === undefined || others.length > 0) return "signature_structure";
  const certificates = readX509Data(info.keyInfo);
  if (typeof certificates === "string") return certificates;
  const signer = certificates.find(
    (certificate) =>
      certificate.rsaBits >= policy.rsaBitsMin &&
      signatureValueHolds(info, [root, signature, info.signedInfo], certificate.key),
  );
  if (signer === undefined) {
    return certificates.some((certificate) => certificate.rsaBits >= policy.rsaBitsMin)
      ? "signature_invalid"
      : "key_too_small";
  }
  const octets = canonicalOctets(() => canonicalizeDocument(tree, { method: "inclusive", omit: signature }));
  if (octets === undefined || !octetDigestHolds(reference, octets)) return "digest_mismatch";
  const chain = certificates.filter((certificate) => certificate !== signer).map((certificate) => certificate.der);
  return { kind: "verified", root, signer: signer.der, chain };
}

function countSignatures(root: XmlElement): number {
  let count = 0;
  const pending = [root];
  for (let element = pending.pop(); element !== undefined; element = pending.pop()) {
    if (element.ns === NS.ds && element.local === "Signature") count += 1;
    for (const child of childElements(element)) pending.push(child);
  }
  return count;
}

/** The certificates of X509Data; other hints in KeyInfo (names, key values) are not evidence and are passed over. */
function readX509Data(keyInfo: XmlElement): CertificateFacts[] | "token_missing" | "token_invalid" {
  const elements = childrenNamed(keyInfo, NS.ds, "X509Data").flatMap((data) =>
    childrenNamed(data, NS.ds, "X509Certificate"),
  );
  if (elements.length === 0) return "token_missing";
  if (elements.length > CERTIFICATES_MAX) return "token_invalid";
  const certificates = elements.map((element) => certificateFromBase64(textOf(element)));
  const read = certificates.filter((certificate) => certificate !== undefined);
  return read.length === certificates.length ? read : "token_invalid";
}

/**
 * Signs a document: the Signature becomes the last child of its root, RSA-SHA256 over inclusive C14N.
 * @throws Error when the document is malformed, already signed, or its root is an empty-element tag.
 */
export function signEnveloped(document: Uint8Array, signer: OwnKey): Buffer {
  const tree = parseXml(document, XML_TREE_LIMITS);
  const certificate = readCertificate(signer.certificate);
  if (tree.kind === "refused" || certificate === undefined)
    throw new Error("signEnveloped: not a document, or not a certificate");
  const { root } = tree;
  const bytes = Buffer.from(document);
  const endTag = bytes.lastIndexOf("</", root.end);
  if (countSignatures(root) > 0 || endTag < root.start)
    throw new Error("signEnveloped: the document has a signature, or nothing to sign");

  const digest = createHash("sha256")
    .update(canonicalizeDocument(tree, { method: "inclusive" }), "utf8")
    .digest("base64");
  const info = signedInfo(digest);
  const signature = (value: string): string =>
    `<Signature xmlns="${NS.ds}">${info}<SignatureValue>${value}</SignatureValue><KeyInfo><X509Data>` +
    `<X509Certificate>${certificate.der.toString("base64")}</X509Certificate></X509Data></KeyInfo></Signature>`;
  const withSignature = (value: string): Buffer =>
    Buffer.concat([bytes.subarray(0, endTag), Buffer.from(signature(value)), bytes.subarray(endTag)]);

  // Inclusive C14N of SignedInfo carries the namespaces of the root, so it is taken from the finished document.
  const unsigned = parseXml(withSignature("AA=="), XML_TREE_LIMITS);
  if (unsigned.kind === "refused") throw new Error("signEnveloped: the document cannot carry a signature");
  const path = signedInfoPath(unsigned.root);
  const octets = Buffer.from(canonicalize(path, { method: "inclusive" }), "utf8");
  return withSignature(sign("sha256", octets, unwrapPrivateKey(signer.key)).toString("base64"));
}

const signedInfo = (digest: string): string =>
  `<SignedInfo><CanonicalizationMethod Algorithm="${ALG.inclusiveC14n}"/><SignatureMethod Algorithm="${ALG.rsaSha256}"/>` +
  `<Reference URI=""><Transforms><Transform Algorithm="${ALG.enveloped}"/></Transforms>` +
  `<DigestMethod Algorithm="${ALG.sha256}"/><DigestValue>${digest}</DigestValue></Reference></SignedInfo>`;

function signedInfoPath(root: XmlElement): XmlElement[] {
  const signature = childElements(root).at(-1);
  const info = signature === undefined ? undefined : childElements(signature)[0];
  if (signature === undefined || info === undefined) throw new Error("signEnveloped: no SignedInfo");
  return [root, signature, info];
}
