/** One of two access points as a process that is killed and started again, with what its client saw and what delays it. */
import { randomUUID } from "node:crypto";
import postgres from "postgres";

import type { Sandbox } from "../../../engine/identity/sandbox.js";
import { LIMITS } from "../../../engine/base/limits.js";
import { connectionTarget } from "../../../engine/storage/sql.js";
import { accessToken, http, invoiceXml, sapi, send, sendParts } from "./engine.js";
import type { HttpAnswer, Mailbox, SendParts } from "./engine.js";
import { eventually } from "../eventually.js";
import { startEngineProcess } from "./process.js";
import type { EngineProcess } from "./process.js";
import type { AccessPointHome, Firm } from "./two-engines.js";
import { hurryWork, openWork } from "./under-way.js";

/** A document that a client was told is accepted. */
export interface Sent {
  readonly id: string;
  readonly payload: string;
  readonly parts: SendParts;
  readonly idempotencyKey: string;
  /** The 202 as it came. */
  readonly answer: Pick<HttpAnswer, "status" | "text">;
}

/** A locked table: what comes next in the engine's way waits. */
export interface Held {
  /** Until a statement of the engine waits for the table. @param part  of its text: others may wait as well */
  waiting(part: string): Promise<void>;
  /** Lets go; what waits goes on, also that of a dead process: Postgres finishes a statement that it has begun. */
  release(): Promise<void>;
  /** Ends the statements that wait, as the end of a process that has not sent them yet, and lets go. */
  abandon(): Promise<void>;
}

export type Table =
  | "document_attempt"
  | "document_history"
  | "received_document"
  | "participant"
  | "evidence_head"
  | "inbound_status"
  | "service_message";

/** `writes`: reading goes on. @default writes */
export type LockMode = "everything" | "writes";

export interface Side {
  readonly home: AccessPointHome;
  /** What its clients were told. */
  readonly sent: readonly Sent[];
  readonly process: EngineProcess;
  /** With addresses that lead to the process and past the proxies. */
  readonly sandbox: Sandbox;
  /** What all its processes wrote. */
  output(): string;
  /** Tokens and secrets that no log may hold: see `canaries` of oracle-facts.ts. */
  secrets(): readonly string[];
  start(): Promise<void>;
  /** SIGKILL. */
  kill(): Promise<void>;
  /** SIGKILL and the next process: nothing is remembered that is not stored. */
  restart(): Promise<void>;
  /** Starts it when it is dead and frees what is held: a test that failed may have left it so. */
  revive(): Promise<void>;
  /** SIGTERM without waiting for the end. */
  beginToStop(): void;
  /** SIGTERM and the end. */
  stop(): Promise<number | null>;
  mailbox(firm?: Firm): Promise<Mailbox>;
  /** Headers of the Enterprise API as the integrator, for one of its firms. */
  integrator(firm?: Firm): Promise<Record<string, string>>;
  /** Sends an invoice of this side's firm to the other's. @param numberPrefix  see AccessPointHome.refuses */
  send(to: Side, numberPrefix?: string): Promise<Sent>;
  statusOf(id: string): Promise<string | undefined>;
  hold(table: Table, mode?: LockMode): Promise<Held>;
  /** Makes due now what waits for its time: nothing is gained by waiting for it. */
  hurry(): Promise<void>;
  /** Lets the time pass in which a firm may confirm a document before its status is decided without it. */
  outwaitConfirmations(): Promise<void>;
  /** Documents, messages, statuses, duties and entries of the outbox that are not at their end, a sentence each. */
  underWay(): Promise<readonly string[]>;
}

const HURRY_PAUSE_MS = 500;

async function lock(home: AccessPointHome, table: Table, mode: LockMode): Promise<Held> {
  const { url, ...socket } = connectionTarget(home.db.url);
  const sql = postgres(url, { ...socket, max: 1 });
  let letGo = (): void => undefined;
  const released = new Promise<void>((resolve) => {
    letGo = resolve;
  });
  let transaction: Promise<unknown> = Promise.resolve();
  await new Promise<void>((resolve, reject) => {
    transaction = sql.begin(async (inside) => {
      await inside.unsafe(`lock table ${table} in ${mode === "writes" ? "exclusive" : "access exclusive"} mode`);
      resolve();
      await released;
    });
    transaction.catch(reject);
  });
  let ended: Promise<void> | undefined;
  const release = (): Promise<void> =>
    (ended ??= (async () => {
      letGo();
      await transaction;
      await sql.end();
    })());
  const waiters = (): Promise<{ pid: number; query: string }[]> => home.db.sql<{ pid: number; query: string }[]>`
    select pid, query from pg_locks join pg_stat_activity using (pid)
    where not granted and relation = ${table}::regclass and database = (select oid from pg_database where datname = current_database())`;
  return {
    release,
    waiting: async (part) => {
      await eventually(`${part} waits for ${table}`, async () =>
        (await waiters()).some(({ query }) => query.includes(part)),
      );
    },
    abandon: async () => {
      for (const { pid } of await waiters()) await home.db.sql`select pg_terminate_backend(${pid}, 5000)`;
      await release();
    },
  };
}

/** The addresses of a sandbox, past the proxy that PUBLIC_URL names. */
const direct = (sandbox: Sandbox, port: number): Sandbox => ({
  ...sandbox,
  baseUrl: `http://127.0.0.1:${port}/api/v1`,
  sapiBaseUrl: `http://127.0.0.1:${port}/sapi/v1`,
});

export async function startSide(home: AccessPointHome): Promise<Side> {
  const {
    db: { sql },
    firm,
    port,
  } = home;
  let hurried = 0;
  const begin = (): Promise<EngineProcess> => startEngineProcess({ dataDir: home.dataDir, env: home.env });
  const sent: Sent[] = [];
  /** A token outlives the process that gave it. */
  const tokens = new Map<string, Promise<string>>();
  const known: string[] = [];
  // Of one test each, and released with the next.
  let holds: Held[] = [];
  let past = "";
  let process = await begin();
  const token = (who: Firm | "integrator"): Promise<string> => {
    const asked =
      tokens.get(who) ??
      accessToken(side.sandbox, side.sandbox[who]).then((text) => {
        known.push(text);
        return text;
      });
    tokens.set(who, asked);
    return asked;
  };
  const side: Side = {
    home,
    sent,
    get process() {
      return process;
    },
    get sandbox() {
      return direct(process.sandbox, port);
    },
    output: () => past + process.output(),
    secrets: () => known,
    start: async () => {
      past += process.output();
      // What the dead process had taken from the outbox, from the stream and of statuses to judge comes again in 30, 120 and 90 s.
      await sql`update outbox set claimed_until = null`;
      await sql`update stream_message set available_at = clock_timestamp() where available_at > clock_timestamp()`;
      await sql`update mls_duty set lease_until = null where next_at is not null`;
      process = await begin();
    },
    kill: () => process.kill(),
    restart: async () => {
      await side.kill();
      await side.start();
    },
    revive: async () => {
      await Promise.all(holds.map((held) => held.release()));
      holds = [];
      if (process.ended()) await side.start();
    },
    beginToStop: () => {
      void process.stop();
    },
    stop: () => process.stop(),
    mailbox: async (of = firm) => ({ participantId: side.sandbox[of].participantId, token: await token(of) }),
    integrator: async (of = firm) => ({
      authorization: `Bearer ${await token("integrator")}`,
      "x-firm-id": side.sandbox[of].firmId,
    }),
    send: async (to, numberPrefix = "") => {
      const mailbox = await side.mailbox();
      const receiver = to.sandbox[to.home.firm].participantId;
      const payload = invoiceXml(mailbox.participantId, receiver, {
        number: `${numberPrefix}${randomUUID()}`,
      }).replaceAll("Sender s. r. o.", TEXT_MARKER);
      const parts = sendParts(mailbox.participantId, receiver, payload);
      const idempotencyKey = randomUUID();
      const answer = await send(side.sandbox, mailbox, parts, { "idempotency-key": idempotencyKey });
      if (answer.status !== 202) throw new Error(`not accepted: ${answer.status} ${answer.text}`);
      const one = { id: String(answer.json["providerDocumentId"]), payload, parts, idempotencyKey, answer };
      sent.push(one);
      return one;
    },
    statusOf: async (id) => (await sql<{ status: string }[]>`select status from document where id = ${id}`)[0]?.status,
    hold: async (table, mode = "writes") => {
      const held = await lock(home, table, mode);
      holds.push(held);
      return held;
    },
    hurry: async () => {
      // Who hurries at every look uses up the plan of what cannot arrive while the other side is being started.
      if (Date.now() - hurried < HURRY_PAUSE_MS) return;
      hurried = Date.now();
      await hurryWork(sql);
    },
    outwaitConfirmations: async () => {
      await sql`update mls_duty set received_at = received_at - ${LIMITS.mls_confirmation_wait_ms} * interval '1 millisecond', next_at = clock_timestamp() where next_at is not null`;
    },
    underWay: () => openWork(sql),
  };
  return side;
}

/** Stands in every invoice that a side sends; a log line that has it quotes a document. */
export const TEXT_MARKER = "Canary of the invoices s. r. o.";

/** Waits until nothing is under way on any side. @throws Error that names what still is */
export async function settled(...sides: readonly Side[]): Promise<void> {
  let underWay: readonly string[] = [];
  try {
    await eventually("nothing is under way", async () => {
      await Promise.all(sides.map((side) => side.hurry()));
      underWay = (await Promise.all(sides.map((side) => side.underWay()))).flat();
      return underWay.length === 0;
    });
  } catch (error) {
    throw new Error(`still under way:\n${underWay.join("\n")}`, { cause: error });
  }
}

/** The received document that a sent one has become. */
export async function arrivedAs(from: Side, to: Side, { id }: Pick<Sent, "id">): Promise<string> {
  const [sent] = await from.home.db.sql<
    { as4_message_id: string }[]
  >`select as4_message_id from document where id = ${id}`;
  const [received] = await to.home.db.sql<
    { id: string }[]
  >`select id from received_document where as4_message_id = ${sent?.as4_message_id ?? ""}`;
  if (received === undefined) throw new Error("the document has not arrived");
  return received.id;
}

/** Calls the inbox of a side for one of its documents. */
export const inbox = async (side: Side, method: "GET" | "POST", path: string): Promise<HttpAnswer> =>
  sapi(side.sandbox, await side.mailbox(), method, `/document/receive/${path}`);

/** Answers a received document as its firm, through the integrator. */
export async function respondTo(side: Side, receivedId: string, status: string, note?: string): Promise<HttpAnswer> {
  const { authorization = "" } = await side.integrator();
  const customer = side.sandbox.integrator.customerRefs[side.home.firm];
  return http(
    "POST",
    `${side.sandbox.baseUrl}/connector/documents/${receivedId}/respond?customerRef=${customer}`,
    { authorization, "content-type": "application/json" },
    JSON.stringify({ status, note }),
  );
}

/** GET below /api/v1 as the integrator. */
export const enterprise = async (side: Side, path: string, firm?: Firm): Promise<HttpAnswer> =>
  http("GET", `${side.sandbox.baseUrl}${path}`, await side.integrator(firm));
