/** A whole engine and phase4, each knowing the other: keys from PKCS#12 files of OpenSSL, trust from a folder, the peer from SMP_ROUTES. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { INVOICE_RESPONSE_DOCUMENT_TYPE } from "../../../engine/peppol/responses/invoice-response.js";
import { MLS_DOCUMENT_TYPE } from "../../../engine/peppol/responses/mls.js";
import { readSbd } from "../../../engine/peppol/envelope/read.js";
import { unwrapDocument } from "../../../engine/peppol/envelope/byte-exact.js";
import { accessToken, invoiceXml, send, sendParts, startTestEngine } from "../../support/engines/engine.js";
import type { Mailbox, TestEngine } from "../../support/engines/engine.js";
import { eventually } from "../../support/eventually.js";
import { post, serve } from "./http.js";
import type { Endpoint, Exchanged } from "./http.js";
import { INVOICE_TYPE, NOT_SERVED, UNLUCKY } from "./payloads.js";
import { issueSmpKey, joinKeyStores } from "./oxalis-smp.js";
import { startPhase4 } from "./phase4.js";
import type { Phase4, SendParameters, SendResult, Taken } from "./phase4.js";
import { makePki, PASSWORD } from "./pki.js";
import type { InteropPki } from "./pki.js";

/** A customer of phase4, and one whose metadata names another key than phase4 has. */
export const THEIRS = "0245:3131313131";
export const WRONG_KEY = "0245:3232323232";
/** Phase4 and we as service providers: the digits of the seats. */
export const THEIR_PROVIDER = "0242:000002";
export const OUR_PROVIDER = "0242:000001";
/** Where phase4 wants the statuses of single documents. */
export const STATUS_PLACE = "0242:000777";

/** What an attempt has made of a document. */
export interface Row {
  readonly status: string;
  readonly attempts: number;
  readonly as4_message_id: string;
  readonly sbdh_instance_id: string;
}

export interface Pair {
  readonly pki: InteropPki;
  readonly phase4: Phase4;
  readonly us: TestEngine;
  /** A firm of ours that sends to phase4 and receives from it. */
  readonly firm: Mailbox;
  /** What becomes of phase4's answers on their way to us; asked for the next exchange only. */
  tamper: ((answer: Exchanged) => Exchanged) | undefined;
  rowOf(id: string): Promise<Row>;
  reaches(id: string, status: string): Promise<Row>;
  /** Ends the wait for the next attempt, once the attempt of this number is over. The plan would wait 10 s. */
  retryAfter(id: string, attempts: number): Promise<void>;
  weSend(receiver: string, payload?: string): Promise<{ readonly id: string; readonly payload: string }>;
  /** An invoice from phase4's customer to our firm, unless the parameters say otherwise. */
  theySend(payload: Buffer | string, parameters?: Partial<SendParameters>): Promise<SendResult>;
  takenAs(messageId: string): Promise<readonly Taken[]>;
  stop(): Promise<void>;
}

export async function startPair(): Promise<Pair> {
  const folder = mkdtempSync(join(tmpdir(), "kurier-interop-"));
  const pki = await makePki(folder);
  const phase4 = await startPhase4(pki, join(folder, "phase4"));
  const relay: Endpoint = await serve(async ({ contentType, body }) => {
    const edit = pair.tamper ?? ((answer: Exchanged): Exchanged => answer);
    pair.tamper = undefined;
    return edit(await post(phase4.url, contentType, body, "chunked"));
  });
  const routes = join(folder, "routes.json");
  writeFileSync(routes, JSON.stringify(routesOf(relay.url, pki)));
  const us = await startTestEngine({
    transport: "as4",
    config: {
      AS4_KEYSTORE: await joinKeyStores(folder, pki.ourKeyStore, (await issueSmpKey(folder)).keyStore),
      AS4_KEYSTORE_PASSWORD: PASSWORD,
      PEPPOL_TRUST_DIR: pki.trustFolder,
      SMP_MODE: "static",
      SMP_ROUTES: routes,
    },
  });
  const firm: Mailbox = {
    participantId: us.sandbox.sender.participantId,
    token: await accessToken(us.sandbox, us.sandbox.sender),
  };
  const pair: Pair = {
    pki,
    phase4,
    us,
    firm,
    tamper: undefined,
    ...documentsOf(us),
    weSend: async (receiver, payload = invoiceXml(firm.participantId, receiver)) => {
      const answer = await send(us.sandbox, firm, sendParts(firm.participantId, receiver, payload));
      if (answer.status !== 202) throw new Error(`not accepted: ${answer.status} ${answer.text}`);
      return { id: String(answer.json["providerDocumentId"]), payload };
    },
    theySend: (payload, parameters = {}) =>
      phase4.send(
        {
          url: `${us.engine.publicUrl}/as4`,
          certificate: pki.ours.certificate,
          sender: THEIRS,
          receiver: firm.participantId,
          ...parameters,
        },
        Buffer.from(payload),
      ),
    takenAs: async (messageId) => (await phase4.inbox()).filter((taken) => taken.messageId === messageId),
    stop: async () => {
      await us.stop();
      await relay.close();
      await phase4.stop();
      rmSync(folder, { recursive: true, force: true });
    },
  };
  return pair;
}

function routesOf(url: string, pki: InteropPki): Record<string, object> {
  const route = (certificate: Buffer, documentTypes: readonly string[]): object => ({
    url,
    certificate: certificate.toString("base64"),
    documentTypes,
  });
  const theirs = route(pki.theirs.certificate, [INVOICE_TYPE, INVOICE_RESPONSE_DOCUMENT_TYPE]);
  return {
    [THEIRS]: theirs,
    [NOT_SERVED]: theirs,
    [UNLUCKY]: theirs,
    [WRONG_KEY]: route(pki.stranger.certificate, [INVOICE_TYPE]),
    ...Object.fromEntries(
      [THEIR_PROVIDER, STATUS_PLACE].map((provider) => [provider, route(pki.theirs.certificate, [MLS_DOCUMENT_TYPE])]),
    ),
  };
}

function documentsOf({ db }: TestEngine): Pick<Pair, "rowOf" | "reaches" | "retryAfter"> {
  const rowOf = async (id: string): Promise<Row> => {
    const [row] = await db.sql<
      Row[]
    >`select status, attempts, as4_message_id, sbdh_instance_id from document where id = ${id}`;
    if (row === undefined) throw new Error("no such document");
    return row;
  };
  return {
    rowOf,
    reaches: (id, status) =>
      eventually(`${id} is ${status}`, async () => {
        const row = await rowOf(id);
        return row.status === status ? row : undefined;
      }),
    retryAfter: async (id, attempts) => {
      await eventually(`attempt ${attempts} has ended`, async () => {
        const [row] = await db.sql<
          { ended: boolean }[]
        >`select attempts >= ${attempts} and next_attempt_at is not null and coalesce(lease_until <= clock_timestamp(), true) as ended from document where id = ${id}`;
        return row?.ended === true;
      });
      await db.sql`update document set next_attempt_at = clock_timestamp() where id = ${id} and next_attempt_at is not null`;
    },
  };
}

/** The business document inside what phase4 took or sent. */
export function payloadIn(file: string): string {
  const bytes = readFileSync(file);
  const read = readSbd(bytes, { mode: "strict" });
  if (read.kind === "refused") throw new Error(read.fault);
  return unwrapDocument(bytes, read.payload).toString();
}
