/** Changes to messages and answers on their way, for the cases that must be refused. */
import { createHash, createPublicKey, X509Certificate } from "node:crypto";

import type { AccessPoint } from "../../support/as4/as4-keys.js";
import type { Exchanged } from "./http.js";

/** An edit of an answer that fails when it changed nothing. */
export function changed(edit: (soap: string) => string): (answer: Exchanged) => Exchanged {
  return (answer) => {
    const before = answer.body.toString();
    const after = edit(before);
    if (after === before) throw new Error("nothing was changed");
    return { ...answer, body: Buffer.from(after) };
  };
}

export function flip(body: Buffer, at: number): Buffer {
  const copy = Buffer.from(body);
  copy[at] = (copy[at] ?? 0) ^ 1;
  return copy;
}

/** One octet far enough from the end of the message to lie in the encrypted payload. */
export const flipPayload = (body: Buffer): Buffer => flip(body, body.length - 200);

/** Replaces the reference to a certificate's token by its subject key identifier; key references are not signed. */
export function bySubjectKey({ certificate }: AccessPoint, whose: "signer" | "recipient"): (soap: string) => string {
  const spki = createPublicKey(new X509Certificate(certificate).publicKey.export({ type: "spki", format: "pem" }));
  const identifier = createHash("sha1")
    .update(spki.export({ type: "pkcs1", format: "der" }))
    .digest("base64");
  const reference =
    '<wsse:KeyIdentifier EncodingType="http://docs.oasis-open.org/wss/2004/01/oasis-200401-wss-soap-message-security-1.0#Base64Binary" ' +
    `ValueType="http://docs.oasis-open.org/wss/2004/01/oasis-200401-wss-x509-token-profile-1.0#X509SubjectKeyIdentifier">${identifier}</wsse:KeyIdentifier>`;
  const pattern =
    whose === "signer"
      ? /(<ds:Signature.*<wsse:SecurityTokenReference[^>]*>)<wsse:Reference[^>]*\/>/s
      : /(<xenc:EncryptedKey.*?<wsse:SecurityTokenReference[^>]*>)<wsse:Reference[^>]*\/>/s;
  return (soap) => {
    const edited = soap.replace(pattern, (_, head: string) => head + reference);
    if (edited === soap) throw new Error("no token reference was found");
    return edited;
  };
}

/** The digests of a SignedInfo or of a receipt, in their order: compared as text, without our own readers. */
export function digestsIn(soap: Buffer, within: "SignedInfo" | "NonRepudiationInformation"): string[] {
  const text =
    new RegExp(`<[\\w.-]+:${within}[ >].*?</[\\w.-]+:${within}>`, "s").exec(soap.toString("latin1"))?.[0] ?? "";
  return [...text.matchAll(/<[\w.-]+:Reference [^>]*URI="([^"]*)".*?<[\w.-]+:DigestValue>([^<]*)</gs)].map(
    ([, uri = "", digest = ""]) => `${uri} ${digest}`,
  );
}
