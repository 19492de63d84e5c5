/** The phase4 process: started on a free port, driven over its control address, ended by closing its standard input. */
import { spawn } from "node:child_process";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { inject } from "vitest";

import { ready, stop } from "./java.js";
import type { InteropPki } from "./pki.js";
import { PASSWORD } from "./pki.js";

const START_TIMEOUT_MS = 60_000;

/** Where build.ts has put the harness. */
const target = (): string => fileURLToPath(new URL(`../phase4/target/${inject("phase4Version")}/`, import.meta.url));
/** 100 MB as a DOM, and again as bytes. */
const HEAP = "-Xmx3g";

/** One entry of phase4's inbox. */
export interface Taken {
  readonly messageId: string;
  readonly instanceId: string;
  readonly sender: string;
  readonly receiver: string;
  /** Document type identifier, without its scheme. */
  readonly doctype: string;
  readonly countryC1: string;
  /** The standard business document as phase4 decrypted and decompressed it. */
  readonly file: string;
}

/** See Sender.java. */
export interface SendParameters {
  readonly url: string;
  /** DER of the certificate to encrypt to. */
  readonly certificate: Buffer;
  /** Address of a metadata publisher: phase4 looks the receiver up there, whatever url and certificate say. */
  readonly smp?: string;
  readonly sender: string;
  readonly receiver: string;
  readonly messageId?: string;
  readonly key?: "ski-sign" | "ski-encrypt";
  readonly payload?: "plain" | "broken";
  readonly sbdhSender?: string;
  readonly sbdhReceiver?: string;
  /** @default the billing invoice and its process */
  readonly doctype?: string;
  readonly process?: string;
  /** The connectivity test in the header, whatever the document is. */
  readonly service?: "test";
  /** Where and how phase4 wants a status of its document. */
  readonly mlsTo?: string;
  readonly mlsType?: "FAILURE_ONLY" | "ALWAYS_SEND";
  /** `file` of an earlier result: the same standard business document again. */
  readonly resend?: string;
}

export interface SendResult {
  /** EAS4UserMessageSendResult. */
  readonly result: string;
  readonly messageId: string;
  readonly instanceId: string;
  /** The standard business document that was sent. */
  readonly file: string;
  readonly errors: readonly {
    readonly code: string;
    readonly detail: string | null;
    readonly refTo: string | null;
    readonly signed: boolean;
  }[];
  /** What phase4 says of the receipt: "matches", or what does not. */
  readonly receipt: readonly string[];
  readonly exceptions: readonly string[];
}

export interface Phase4 {
  readonly url: string;
  readonly version: string;
  readonly folder: string;
  send(parameters: SendParameters, payload: Buffer): Promise<SendResult>;
  inbox(): Promise<readonly Taken[]>;
  /** Phase4 does this with every MessageId that is older than ten minutes; here it does it with all of them. */
  forget(): Promise<void>;
  stop(): Promise<void>;
}

export async function startPhase4(pki: InteropPki, folder: string): Promise<Phase4> {
  mkdirSync(folder, { recursive: true });
  const child = spawn(
    "java",
    [
      HEAP,
      "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn",
      "-cp",
      `${join(target(), "phase4-harness.jar")}:${join(target(), "lib/*")}`,
      "kurier.interop.Harness",
      folder,
      pki.theirKeyStore,
      pki.trustStore,
      PASSWORD,
    ],
    { stdio: ["pipe", "pipe", "pipe"] },
  );
  const log: string[] = [];
  createInterface({ input: child.stderr }).on("line", (line) => {
    if (log.push(line) > 400) log.shift();
  });
  const [port, version] = await ready("phase4", START_TIMEOUT_MS, child, log);
  const base = `http://127.0.0.1:${port}`;
  return {
    url: `${base}/as4`,
    version,
    folder,
    inbox: async () => (await (await fetch(`${base}/control/inbox`)).json()) as readonly Taken[],
    send: async ({ certificate, ...parameters }, payload) => {
      const query = new URLSearchParams({ ...parameters, certificate: certificate.toString("base64") });
      const response = await fetch(`${base}/control/send?${query.toString()}`, {
        method: "POST",
        headers: { "content-type": "application/xml" },
        body: new Uint8Array(payload),
      });
      const text = await response.text();
      if (response.status !== 200) throw new Error(`phase4 could not send: ${text}\n${log.slice(-20).join("\n")}`);
      return JSON.parse(text) as SendResult;
    },
    forget: async () => {
      await fetch(`${base}/control/forget`, { method: "DELETE" });
    },
    stop: () => stop(child),
  };
}
