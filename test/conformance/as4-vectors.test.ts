/**
 * Goal: the known-answer vectors of design/as4.md section 19 have the outcome stated there. The arithmetic is asked
 * function by function, with algorithm tables of this test where a vector is older than Peppol's policy; what the
 * production path makes of the same message is asked beside it.
 */
import { execFileSync } from "node:child_process";
import { createPrivateKey, X509Certificate } from "node:crypto";
import type { KeyObject } from "node:crypto";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { acknowledges, readSignal } from "../../engine/peppol/as4/signal.js";
import { readMultipart } from "../../engine/peppol/as4/mime.js";
import type { MimePart } from "../../engine/peppol/as4/mime.js";
import { openUserMessage } from "../../engine/peppol/as4/messages.js";
import { attributeOf, onlyChild } from "../../validators/xml/tree.js";
import type { XmlElement } from "../../validators/xml/tree.js";
import { verifyEnveloped } from "../../validators/wss/enveloped.js";
import { decryptParts, readEncryption } from "../../validators/wss/encryption.js";
import { readEnvelope } from "../../validators/wss/envelope.js";
import type { Envelope } from "../../validators/wss/envelope.js";
import {
  LEGACY_KEY_TRANSPORTS,
  NS,
  PEPPOL_ENVELOPED,
  PEPPOL_KEY_TRANSPORT,
  PEPPOL_SIGNATURE,
} from "../../validators/wss/names.js";
import type { SignaturePolicy } from "../../validators/wss/names.js";
import { partPayload } from "../../validators/wss/open.js";
import { readPartInfos } from "../../validators/wss/part-info.js";
import { signatureTasks } from "../../validators/signature.js";
import { readSignatureInfo } from "../../validators/wss/signature-info.js";
import type { SignatureInfo } from "../../validators/wss/signature-info.js";
import {
  elementDigestHolds,
  octetDigestHolds,
  readMessageSignature,
  signatureValueHolds,
} from "../../validators/wss/verify.js";
import { inThread } from "../support/as4/as4.js";
import { conformance, conformanceBytes, describeConformance } from "../support/conformance.js";

const SHA384: SignaturePolicy = {
  ...PEPPOL_SIGNATURE,
  signatureMethods: { "http://www.w3.org/2001/04/xmldsig-more#rsa-sha384": "sha384" },
};
const SHA1_ENVELOPED: SignaturePolicy = {
  ...PEPPOL_ENVELOPED,
  signatureMethods: { "http://www.w3.org/2000/09/xmldsig#rsa-sha1": "sha1" },
  digestMethods: { "http://www.w3.org/2000/09/xmldsig#sha1": "sha1" },
};
const ALL_TRANSPORTS = [PEPPOL_KEY_TRANSPORT, ...LEGACY_KEY_TRANSPORTS];
const EBMS_CAP = 10_000_000;

/** The body behind LF- or CRLF-separated HTTP headers, and the Content-Type among them. */
function withoutHttpHeaders(bytes: Buffer): { body: Buffer; contentType: string } {
  const text = bytes.toString("latin1");
  const blank = /\r?\n\r?\n/.exec(text);
  const head = text.slice(0, blank?.index ?? 0).replace(/\r?\n[ \t]+/g, " ");
  const contentType = /^content-type:\s*(.+)$/im.exec(head)?.[1] ?? "";
  return { body: bytes.subarray((blank?.index ?? 0) + (blank?.[0].length ?? 0)), contentType };
}

/** The AS4.NET files start at the first boundary: the header is made up from it. */
function as4net(name: string): { body: Buffer; contentType: string } {
  const body = conformanceBytes("as4/as4net", name);
  const boundary = /^(?:\r\n)?--([^\r\n]+)/.exec(body.toString("latin1"))?.[1] ?? "";
  return { body, contentType: `multipart/related; type="application/soap+xml"; boundary="${boundary}"` };
}

function parts({ body, contentType }: { body: Buffer; contentType: string }): [MimePart, ...MimePart[]] {
  const read = readMultipart(body, contentType);
  if (read.kind === "refused") throw new Error(read.fault);
  const [root, ...others] = read.parts;
  if (root === undefined) throw new Error("no part");
  return [root, ...others];
}

function envelopeOf(soap: Uint8Array): Envelope & { security: XmlElement } {
  const envelope = readEnvelope(soap);
  if ("kind" in envelope) throw new Error(envelope.reason);
  const { security } = envelope;
  if (security === undefined) throw new Error("no Security");
  return { ...envelope, security };
}

/** What each reference of the signature says, by what it points at. */
function outcomes(
  envelope: Envelope & { security: XmlElement },
  info: SignatureInfo,
  key: KeyObject,
  attachments = new Map<string, Uint8Array>(),
): Record<string, boolean> {
  const signature = onlyChild(envelope.security, NS.ds, "Signature");
  if (signature === undefined) throw new Error("no Signature");
  const result: Record<string, boolean> = {
    SignatureValue: signatureValueHolds(
      info,
      [envelope.envelope, envelope.header, envelope.security, signature, info.signedInfo],
      key,
    ),
  };
  for (const reference of info.references) {
    const octets = attachments.get(reference.uri.slice("cid:".length));
    if (octets !== undefined) result[reference.uri] = octetDigestHolds(reference, octets);
    else if (reference.uri === `#${attributeOf(envelope.messaging, "Id", NS.wsu)}`) {
      result["Messaging"] = elementDigestHolds(reference, [envelope.envelope, envelope.header, envelope.messaging]);
    } else if (reference.uri === `#${attributeOf(envelope.body, "Id", NS.wsu)}`) {
      result["Body"] = elementDigestHolds(reference, [envelope.envelope, envelope.body]);
    } else result[reference.uri] = false;
  }
  return result;
}

function bstOutcomes(soap: Uint8Array): Record<string, boolean> {
  const envelope = envelopeOf(soap);
  const signature = readMessageSignature(envelope, envelope.security, PEPPOL_SIGNATURE);
  if (signature.kind === "fault") throw new Error(signature.reason);
  return outcomes(envelope, signature.info, signature.signer.key);
}

const opensslWorks = ((): boolean => {
  try {
    execFileSync("openssl", ["version"], { stdio: "ignore" });
    return true;
  } catch {
    return false;
  }
})();

/** PKCS#12 → PEM by openssl, in a folder that is gone afterwards; node:crypto cannot take a key out of one. */
function pkcs12(name: string, password: string, legacy = false): { key: KeyObject; certificate: X509Certificate } {
  const folder = mkdtempSync(join(tmpdir(), "kurier-as4-"));
  try {
    const pass = join(folder, "pass");
    const out = join(folder, "out.pem");
    writeFileSync(pass, password);
    execFileSync(
      "openssl",
      [
        "pkcs12",
        "-in",
        conformance("as4/as4net", name),
        "-nodes",
        ...(legacy ? ["-legacy"] : []),
        "-passin",
        `file:${pass}`,
        "-out",
        out,
      ],
      { stdio: "ignore" },
    );
    const pem = readFileSync(out, "utf8");
    const certificate = /-----BEGIN CERTIFICATE-----[^]+?-----END CERTIFICATE-----/.exec(pem)?.[0] ?? "";
    return { key: createPrivateKey(pem), certificate: new X509Certificate(certificate) };
  } finally {
    rmSync(folder, { recursive: true });
  }
}

describeConformance("signed receipts of other stacks", "as4/phase4", () => {
  const receipts: [string, Record<string, boolean>, string][] = [
    ["helger.as4in", { SignatureValue: true, Messaging: true, Body: true }, "POP000306"],
    ["TestReceipt12.xml", { SignatureValue: true, Messaging: true, Body: true }, "PDE000576"],
    ["dataport1-mustunderstand.as4in", { SignatureValue: true, Messaging: true, Body: true }, "PDE000357"],
    ["dataport1.as4in", { SignatureValue: true, Messaging: false, Body: true }, "PDE000357"],
  ];
  const soapOf = (name: string): Buffer =>
    name.endsWith(".xml")
      ? conformanceBytes("as4/phase4", name)
      : withoutHttpHeaders(conformanceBytes("as4/phase4", name)).body;

  test.each(receipts)("the signature of the receipt %s holds as %j, by %s", (name, expected, seat) => {
    const soap = soapOf(name);
    expect(bstOutcomes(soap)).toEqual(expected);
    const checked = signatureTasks["as4.check"]({ soap });
    if (expected["Messaging"] === true) {
      if (checked.kind === "refused") throw new Error(checked.reason);
      expect(new X509Certificate(checked.signer ?? Buffer.alloc(0)).subject).toContain(`CN=${seat}`);
      const signal = readSignal(checked.messaging);
      if (signal?.kind !== "receipt") throw new Error("no receipt");
      expect(signal.parts).toHaveLength(3);
      const references = signal.parts.map((part) => ({ ...part, uri: "", transform: "" }));
      expect(acknowledges(signal.parts, references.toReversed())).toBe(true);
      expect(acknowledges(signal.parts, references.slice(1))).toBe(false);
    } else {
      expect(checked).toMatchObject({ kind: "refused", error: "EBMS:0101", reason: "digest_mismatch" });
    }
  });
});

describeConformance("the exact Peppol suite as phase4 sends it (dump-raw.as4out)", "as4/phase4", () => {
  const message = (): { body: Buffer; contentType: string } =>
    withoutHttpHeaders(conformanceBytes("as4/phase4", "dump-raw.as4out"));

  test("SignatureValue, Messaging and Body hold; the attachment's digest cannot be asked without the recipient's key", () => {
    const [root, attachment] = parts(message());
    expect(bstOutcomes(root.body)).toEqual({
      SignatureValue: true,
      Messaging: true,
      Body: true,
      [`cid:${attachment?.cid}`]: false,
    });
  });

  test("the encryption of the published message is read: OAEP with SHA-256 twice, one part", () => {
    const [root, attachment] = parts(message());
    const encryption = readEncryption(envelopeOf(root.body).security, [PEPPOL_KEY_TRANSPORT]);
    expect(encryption).toMatchObject({ transport: PEPPOL_KEY_TRANSPORT, cids: [attachment?.cid] });
  });

  test("the production path passes the signature and stops at a key that is not ours", async () => {
    const { body, contentType } = message();
    const opened = await openUserMessage(body, contentType, { keys: [], payloadBytesMax: EBMS_CAP }, inThread);
    expect(opened).toMatchObject({ kind: "refused", error: "EBMS:0102", reason: "decryption" });
  });
});

describeConformance("WrongCompression.mime", "as4/phase4", () => {
  test("a message is read although it has LF line ends, a base64 part and a Content-ID without brackets; CompressionType rar fails the decompression", () => {
    const [root, attachment] = parts(withoutHttpHeaders(conformanceBytes("as4/phase4", "WrongCompression.mime")));
    expect(attachment?.cid).toBe("ph-as4-0026b807-e599-40e2-af67-22f2e6fe4ddd");
    expect(attachment?.body.subarray(0, 2)).toEqual(Buffer.from([0x1f, 0x8b]));
    const envelope = readEnvelope(root.body);
    if ("kind" in envelope) throw new Error(envelope.reason);
    const infos = readPartInfos(envelope.messaging);
    if (typeof infos === "string") throw new Error(infos);
    expect(infos[0]?.properties["CompressionType"]).toBe("application/rar");
    expect(infos[0] && partPayload(infos[0], attachment?.body ?? Buffer.alloc(0), EBMS_CAP)).toBeUndefined();
  });
});

describeConformance("messages of AS4.NET", "as4/as4net", () => {
  const needOpenssl = opensslWorks ? test : test.skip;
  if (!opensslWorks) test.skip("openssl is on PATH, without which the PKCS#12 files cannot be read", () => undefined);

  needOpenssl(
    "as4-encrypted-signed-keyidentifier.as4: two parts decrypt, unpack to 206 and 296 454 octets, and every digest holds",
    () => {
      const [root, ...attachments] = parts(as4net("as4-encrypted-signed-keyidentifier.as4"));
      const envelope = envelopeOf(root.body);
      const encryption = readEncryption(envelope.security, ALL_TRANSPORTS);
      if (typeof encryption === "string") throw new Error(encryption);
      expect(encryption.transport).toMatchObject({ oaepHash: "sha256", mgfHash: "sha1" });
      const { key } = pkcs12("AccessPointB.pfx", "Pz4cZK4SULUwmraZb");
      const plain = decryptParts(
        encryption,
        attachments.map(({ cid, body }) => ({ cid: cid ?? "", bytes: body })),
        key,
      );
      const infos = readPartInfos(envelope.messaging);
      if (plain === undefined || typeof infos === "string") throw new Error("not decrypted");
      const payloads = infos.map((info) => partPayload(info, plain.get(info.cid) ?? Buffer.alloc(0), EBMS_CAP));
      expect(payloads.map((payload) => payload?.length).sort()).toEqual([206, 296_454]);
      expect(Buffer.from(payloads.find((payload) => payload?.length === 296_454) ?? []).subarray(0, 3)).toEqual(
        Buffer.from([0xff, 0xd8, 0xff]),
      );

      const signature = onlyChild(envelope.security, NS.ds, "Signature");
      const info = signature && readSignatureInfo(signature, SHA384);
      if (info === undefined || typeof info === "string") throw new Error(info ?? "unsigned");
      const signer = pkcs12("AccessPointA.pfx", "Pz4cZK4SULUwmraZa").certificate.publicKey;
      const result = outcomes(envelope, info, signer, plain);
      expect(Object.keys(result)).toHaveLength(5);
      expect(Object.values(result)).toEqual([true, true, true, true, true]);
    },
  );

  test("as4-encrypted-signed-keyidentifier.as4 is refused by Peppol's policy", async () => {
    const { body, contentType } = as4net("as4-encrypted-signed-keyidentifier.as4");
    expect(
      await openUserMessage(body, contentType, { keys: [], payloadBytesMax: EBMS_CAP, legacyOaep: true }, inThread),
    ).toMatchObject({ kind: "refused", error: "EBMS:0103", reason: "algorithm_not_allowed" });
  });

  needOpenssl(
    "as4-encrypted-compressed-message.as4: flower and xmldoc decrypt and unpack to 290 403 and 63 octets",
    () => {
      const [root, ...attachments] = parts(as4net("as4-encrypted-compressed-message.as4"));
      const encryption = readEncryption(envelopeOf(root.body).security, ALL_TRANSPORTS);
      if (typeof encryption === "string") throw new Error(encryption);
      const { key } = pkcs12("partyC.p12", "ExampleC", true);
      const plain = decryptParts(
        encryption,
        attachments.map(({ cid, body }) => ({ cid: cid ?? "", bytes: body })),
        key,
      );
      const size = (cid: string): number | undefined =>
        partPayload(
          { cid, properties: { CompressionType: "application/gzip" } },
          plain?.get(cid) ?? Buffer.alloc(0),
          EBMS_CAP,
        )?.length;
      expect([size("flower"), size("xmldoc")]).toEqual([290_403, 63]);
    },
  );

  needOpenssl(
    "as4-encrypted-compressed-message.as4 with one octet of the key changed gives nothing, and no reason",
    () => {
      const [root, ...attachments] = parts(as4net("as4-encrypted-compressed-message.as4"));
      const encryption = readEncryption(envelopeOf(root.body).security, ALL_TRANSPORTS);
      if (typeof encryption === "string") throw new Error(encryption);
      const { key } = pkcs12("partyC.p12", "ExampleC", true);
      const sealedKey = Buffer.from(encryption.sealedKey);
      sealedKey.writeUInt8(sealedKey.readUInt8(100) ^ 1, 100);
      expect(
        decryptParts(
          { ...encryption, sealedKey },
          attachments.map(({ cid, body }) => ({ cid: cid ?? "", bytes: body })),
          key,
        ),
      ).toBeUndefined();
    },
  );

  test("as4-encrypted-compressed-message.as4 is unsigned: refused", async () => {
    const { body, contentType } = as4net("as4-encrypted-compressed-message.as4");
    expect(await openUserMessage(body, contentType, { keys: [], payloadBytesMax: EBMS_CAP }, inThread)).toMatchObject({
      kind: "refused",
      error: "EBMS:0103",
      reason: "signature_missing",
    });
  });

  test("as4_soapattachment.as4: SignatureValue holds, the Body's digest does not, Messaging is not covered: refused", async () => {
    const soap = conformanceBytes("as4/as4net", "as4_soapattachment.as4");
    const result = bstOutcomes(soap);
    expect(result).toMatchObject({ SignatureValue: true, Body: false });
    expect(result).not.toHaveProperty("Messaging");
    const opened = await openUserMessage(
      soap,
      "application/soap+xml",
      { keys: [], payloadBytesMax: EBMS_CAP },
      inThread,
    );
    expect(opened).toMatchObject({ kind: "refused", error: "EBMS:0103", reason: "part_unsigned" });
  });

  test("receipt_with_invalid_signature.as4: the Messaging digest fails, and a key identifier is refused", () => {
    const { body } = as4netReceipt();
    const envelope = envelopeOf(body);
    const signature = onlyChild(envelope.security, NS.ds, "Signature");
    const info = signature && readSignatureInfo(signature, PEPPOL_SIGNATURE);
    if (info === undefined || typeof info === "string") throw new Error(info ?? "unsigned");
    const reference = info.references.find(({ uri }) => uri === `#${attributeOf(envelope.messaging, "Id", NS.wsu)}`);
    expect(reference && elementDigestHolds(reference, [envelope.envelope, envelope.header, envelope.messaging])).toBe(
      false,
    );
    expect(signatureTasks["as4.check"]({ soap: body })).toMatchObject({
      kind: "refused",
      error: "EBMS:0103",
      reason: "token_missing",
    });
  });

  const as4netReceipt = (): { body: Buffer } => {
    const bytes = conformanceBytes("as4/as4net", "receipt_with_invalid_signature.as4");
    return { body: bytes.subarray(bytes.indexOf("<")) };
  };
});

describeConformance("signed SMP answers", "as4/smp", () => {
  const file = (name: string): Buffer => conformanceBytes("as4/smp", name);

  test.each(["signed-service-metadata2.xml", "signed-service-metadata3-c14n-inclusive.xml"])(
    "%s: the signature holds with RSA-SHA1, and production refuses SHA-1",
    (name) => {
      expect(verifyEnveloped(file(name), SHA1_ENVELOPED)).toMatchObject({ kind: "verified" });
      expect(verifyEnveloped(file(name))).toEqual({ kind: "refused", reason: "algorithm_not_allowed" });
    },
  );

  test.each(["signed-service-metadata1.xml", "oxalis-smp-response-with-as4.xml"])(
    "%s is refused: the signature does not hold",
    (name) => {
      expect(verifyEnveloped(file(name), SHA1_ENVELOPED)).toMatchObject({ kind: "refused" });
      expect(["signature_invalid", "digest_mismatch"]).toContain(
        (verifyEnveloped(file(name), SHA1_ENVELOPED) as { reason?: string }).reason,
      );
    },
  );
});
