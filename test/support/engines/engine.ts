/** A whole engine in this process, on a database of its own, with helpers that speak SAPI. */
import { randomUUID } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { startEngine } from "../../../gateway/main.js";
import type { Engine, Role } from "../../../gateway/main.js";
import type { ServerForm } from "../../../gateway/http/listener.js";
import { bratislavaDay, systemClock } from "../../../engine/base/clock.js";
import type { Clock } from "../../../engine/base/clock.js";
import { loadConfig } from "../../../engine/base/config.js";
import type { Config } from "../../../engine/base/config.js";
import { sampleInvoice } from "../../../engine/invoices/sample-invoice.js";
import type { Sandbox } from "../../../engine/identity/sandbox.js";
import type { ParticipantId } from "../../../engine/base/ids.js";
import { BILLING_CAPABILITIES, BILLING_PROCESS } from "../../../engine/peppol/envelope/identifiers.js";
import { buildIfNeeded } from "../../../deploy/build.mjs";
import { giveDevelopmentPki } from "../peppol/development-pki.js";
import { freePort } from "../../../bench/engine.js";
import { freshDatabase } from "../database/postgres.js";
import type { TestDatabase } from "../database/postgres.js";

export const INVOICE_TYPE = BILLING_CAPABILITIES[0]?.documentTypeId ?? "";
export const CREDIT_NOTE_TYPE = BILLING_CAPABILITIES[1]?.documentTypeId ?? "";

export interface TestEngine {
  readonly engine: Engine;
  readonly sandbox: Sandbox;
  readonly db: TestDatabase;
  readonly dataDir: string;
  /** Log lines as they were written. */
  readonly lines: string[];
  stop(): Promise<void>;
}

export interface TestEngineOptions {
  readonly form?: ServerForm;
  readonly config?: Partial<Config>;
  readonly clock?: Clock;
  /** @default loopback: most tests are not about the network */
  readonly transport?: "as4" | "loopback";
  /** @default all */
  readonly role?: Role;
  /** Shares this database instead of a fresh one; it is not dropped. */
  readonly db?: TestDatabase;
}

/** A fixed master key: engines that share a database must read each other's payloads. */
export const MASTER_KEY = Buffer.alloc(32, 7);

export async function startTestEngine(options: TestEngineOptions = {}): Promise<TestEngine> {
  await buildIfNeeded();
  const db = options.db ?? (await freshDatabase());
  const dataDir = mkdtempSync(join(tmpdir(), "kurier-test-"));
  await giveDevelopmentPki(dataDir, options.clock);
  const lines: string[] = [];
  const config: Config = {
    ...loadConfig({}),
    // A port that the system hands out may be another's before the engine listens on it, some seconds later.
    PORT: await freePort(),
    ADMIN_PORT: await freePort(),
    DATA_DIR: dataDir,
    DATABASE_URL: db.url,
    NATS_URL: "embedded",
    MASTER_KEY,
    VALIDATOR_THREADS: 1,
    LOG_LEVEL: "info",
    ...options.config,
  };
  const engine = await startEngine(config, {
    ...(options.form === undefined ? {} : { serverForm: options.form }),
    ...(options.clock === undefined ? {} : { clock: options.clock }),
    ...(options.role === undefined ? {} : { role: options.role }),
    transport: options.transport ?? "loopback",
    logTo: {
      write: (line) => {
        lines.push(line);
      },
    },
  });
  if (engine.sandbox === undefined) throw new Error("a test engine is a sandbox");
  return {
    engine,
    sandbox: engine.sandbox,
    db,
    dataDir,
    lines,
    stop: async () => {
      await engine.stop();
      rmSync(dataDir, { recursive: true, force: true });
      if (options.db === undefined) await db.drop();
    },
  };
}

export interface HttpAnswer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  /** The parsed body, or an empty object. */
  readonly json: Record<string, unknown>;
}

export async function http(
  method: string,
  url: string,
  headers: Record<string, string> = {},
  body?: string | Uint8Array<ArrayBuffer>,
): Promise<HttpAnswer> {
  const response = await fetch(url, { method, headers, ...(body === undefined ? {} : { body }) });
  const text = await response.text();
  let json: Record<string, unknown> = {};
  if (method !== "HEAD" && response.headers.get("content-type")?.includes("json") === true)
    json = JSON.parse(text) as Record<string, unknown>;
  return { status: response.status, headers: response.headers, text, json };
}

export interface Mailbox {
  readonly participantId: string;
  readonly token: string;
}

export async function accessToken(
  sandbox: Pick<Sandbox, "sapiBaseUrl">,
  key: { readonly clientId: string; readonly clientSecret: string },
  scope?: string,
): Promise<string> {
  const answer = await http(
    "POST",
    `${sandbox.sapiBaseUrl}/auth/token`,
    { "content-type": "application/json" },
    JSON.stringify({
      grant_type: "client_credentials",
      client_id: key.clientId,
      client_secret: key.clientSecret,
      ...(scope === undefined ? {} : { scope }),
    }),
  );
  if (answer.status !== 200) throw new Error(`no token: ${answer.status} ${answer.text}`);
  return String(answer.json["access_token"]);
}

/** A valid invoice between two participants, fresh unless the number is given. */
export const invoiceXml = (
  sender: string,
  receiver: string,
  changes: { readonly number?: string; readonly issueDate?: string; readonly lines?: number } = {},
): string =>
  sampleInvoice({
    sender: sender as ParticipantId,
    receiver: receiver as ParticipantId,
    senderName: "Sender s. r. o.",
    receiverName: "Receiver a. s.",
    number: changes.number ?? `T-${randomUUID()}`,
    issueDate: changes.issueDate ?? bratislavaDay(systemClock.now()),
    lines: changes.lines ?? 3,
  });

export interface SendParts {
  readonly metadata: Record<string, unknown>;
  readonly payload: string;
  readonly payloadFormat: string;
  readonly [member: string]: unknown;
}

/** The members of a send request for a payload. */
export const sendParts = (
  sender: string,
  receiver: string,
  payload: string,
  metadata: Record<string, unknown> = {},
): SendParts => ({
  metadata: {
    documentId: randomUUID(),
    documentTypeId: INVOICE_TYPE,
    processId: BILLING_PROCESS,
    senderParticipantId: sender,
    receiverParticipantId: receiver,
    creationDateTime: "2026-11-20T09:00:00Z",
    ...metadata,
  },
  payload,
  payloadFormat: "XML",
});

/** POST /document/send as a participant. */
export const send = (
  sandbox: Pick<Sandbox, "sapiBaseUrl">,
  mailbox: Mailbox,
  parts: unknown,
  headers: Record<string, string> = {},
): Promise<HttpAnswer> =>
  http(
    "POST",
    `${sandbox.sapiBaseUrl}/document/send`,
    {
      "content-type": "application/json",
      authorization: `Bearer ${mailbox.token}`,
      "x-peppol-participant-id": mailbox.participantId,
      "idempotency-key": randomUUID(),
      ...headers,
    },
    JSON.stringify(parts),
  );

/** GET or POST below /document as a participant. */
export const sapi = (
  sandbox: Pick<Sandbox, "sapiBaseUrl">,
  mailbox: Mailbox,
  method: string,
  path: string,
): Promise<HttpAnswer> =>
  http(method, `${sandbox.sapiBaseUrl}${path}`, {
    authorization: `Bearer ${mailbox.token}`,
    "x-peppol-participant-id": mailbox.participantId,
  });
