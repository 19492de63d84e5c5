/** Writes test/fixtures/as4-oxalis from a run against Oxalis: what `npm test` opens and judges without Java. */
import { createHash } from "node:crypto";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

import type { SignedReference } from "../../../validators/wss/protocol.js";
import type { Exchanged } from "./http.js";
import type { InteropPki } from "./pki.js";
import type { OurSent } from "./us.js";

const FOLDER = fileURLToPath(new URL("../../fixtures/as4-oxalis/", import.meta.url));

/** See test/fixtures/as4-oxalis/ORIGIN.md. */
export interface OxalisManifest {
  readonly oxalis: string;
  /** The message of Oxalis to us: its id, and SHA-256 of the standard business document as Oxalis wrote it. */
  readonly received: { readonly messageId: string; readonly sha256: string };
  /** Files of the answers of Oxalis: the message of ours they are about and what it signed. */
  readonly answers: Readonly<
    Record<string, { readonly messageId: string; readonly references: readonly SignedReference[] }>
  >;
}

/** What Oxalis sent, and the receipt of ours that it took. */
export interface Taken {
  readonly messageId: string;
  readonly file: string;
  readonly message: Pick<Exchanged, "contentType" | "body">;
  readonly receipt: Pick<Exchanged, "contentType" | "body">;
}

export function writeOxalisFixtures(
  version: string,
  pki: InteropPki,
  taken: Taken,
  answers: Readonly<Record<string, OurSent>>,
): void {
  mkdirSync(FOLDER, { recursive: true });
  write("message.http", taken.message);
  write("our-receipt.http", taken.receipt);
  const manifest: OxalisManifest = {
    oxalis: version,
    received: {
      messageId: taken.messageId,
      sha256: createHash("sha256").update(readFileSync(taken.file)).digest("hex"),
    },
    answers: Object.fromEntries(
      Object.entries(answers).map(([name, { response, message, built }]) => {
        write(name, response);
        return [name, { messageId: message.messageId, references: built.references }];
      }),
    ),
  };
  writeFileSync(`${FOLDER}manifest.json`, `${JSON.stringify(manifest, null, 2)}\n`);
  writeFileSync(`${FOLDER}ours.key.pem`, pki.ours.privateKey.export({ type: "pkcs8", format: "pem" }));
  writeFileSync(`${FOLDER}ours.der`, pki.ours.certificate);
  writeFileSync(`${FOLDER}oxalis.der`, pki.theirs.certificate);
}

const write = (name: string, { contentType, body }: Pick<Exchanged, "contentType" | "body">): void => {
  writeFileSync(
    `${FOLDER}${name}`,
    Buffer.concat([Buffer.from(`Content-Type: ${contentType.replace(/\s+/g, " ")}\r\n\r\n`), body]),
  );
};
