/** Writes test/fixtures/as4-phase4 from a run against phase4: what `npm test` opens and judges without Java. */
import { createHash } from "node:crypto";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

import type { SignedReference } from "../../../validators/wss/protocol.js";
import type { Arrived, Exchanged } from "./http.js";
import type { SendResult } from "./phase4.js";
import type { InteropPki } from "./pki.js";
import type { OurSent } from "./us.js";

const FOLDER = fileURLToPath(new URL("../../fixtures/as4-phase4/", import.meta.url));

/** A message of phase4 to us. */
export interface FromPhase4 {
  readonly arrived: Arrived;
  readonly sent: SendResult;
}

/** See test/fixtures/as4-phase4/ORIGIN.md. */
export interface Manifest {
  readonly phase4: string;
  /** Files of messages to us: id of the message, SHA-256 of the standard business document as phase4 wrote it. */
  readonly received: Readonly<Record<string, { readonly messageId: string; readonly sha256: string }>>;
  /** Files of phase4's answers: the message they are about and what it signed. */
  readonly answers: Readonly<
    Record<string, { readonly messageId: string; readonly references: readonly SignedReference[] }>
  >;
}

export function writeFixtures(
  version: string,
  pki: InteropPki,
  received: Readonly<Record<string, FromPhase4>>,
  answers: Readonly<Record<string, OurSent>>,
): void {
  mkdirSync(FOLDER, { recursive: true });
  const manifest: Manifest = {
    phase4: version,
    received: Object.fromEntries(
      Object.entries(received).map(([name, { arrived, sent }]) => {
        write(name, arrived);
        return [
          name,
          { messageId: sent.messageId, sha256: createHash("sha256").update(readFileSync(sent.file)).digest("hex") },
        ];
      }),
    ),
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
  writeFileSync(`${FOLDER}phase4.der`, pki.theirs.certificate);
}

const write = (name: string, { contentType, body }: Pick<Exchanged, "contentType" | "body">): void => {
  writeFileSync(
    `${FOLDER}${name}`,
    Buffer.concat([Buffer.from(`Content-Type: ${contentType.replace(/\s+/g, " ")}\r\n\r\n`), body]),
  );
};
