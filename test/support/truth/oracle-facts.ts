/** Collects what the oracle judges: rows of the databases, answers of the APIs, everything that a process wrote or shows. */
import { createHash, randomUUID } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { join, relative } from "node:path";

import type { Sql } from "../../../engine/storage/sql.js";
import { http, sapi, send } from "../engines/engine.js";
import type { HttpAnswer } from "../engines/engine.js";
import { violations } from "./oracle.js";
import type {
  AcceptedFact,
  EventFact,
  EvidenceFact,
  ExchangeFact,
  Facts,
  HistoryFact,
  IncomingFact,
  OutgoingFact,
  PlaceFact,
  ProbeFact,
  ProcessFact,
  Reply,
  SideFacts,
} from "./oracle.js";
import type { EngineProcess } from "../engines/process.js";
import { settled, TEXT_MARKER } from "../engines/side.js";
import type { Sent, Side } from "../engines/side.js";
import type { Firm } from "../engines/two-engines.js";

type DatabaseFacts = Pick<
  SideFacts,
  "outgoing" | "incoming" | "duties" | "history" | "events" | "evidence" | "exchanges"
>;

const iso = (column: string): string => `to_char(${column} at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US')`;

/** The rows of one engine's database. */
export async function databaseFacts(sql: Sql): Promise<DatabaseFacts> {
  const rows = async <T>(text: string): Promise<T[]> => [...(await sql.unsafe<(T & object)[]>(text))];
  return {
    outgoing: await rows<OutgoingFact>(`
      select id, 'business' as kind, status, encode(payload_sha256, 'hex') as sha256, as4_message_id as "messageId", sbdh_instance_id::text as "instanceId", ${iso("next_attempt_at")} as "nextAttemptAt"
      from document
      union all select id, kind, status, payload_sha256, as4_message_id, sbdh_instance_id::text, ${iso("next_attempt_at")} from service_message`),
    incoming: await rows<IncomingFact>(`
      select id, 'business' as kind, encode(payload_sha256, 'hex') as sha256, as4_message_id as "messageId", sbdh_instance_id as "instanceId", false as open, null as "nextAt" from received_document
      union all select id, kind, payload_sha256, as4_message_id, sbdh_instance_id, outcome is null, ${iso("next_at")} from inbound_status`),
    // A duty that ended in silence has no code and no time, and its document was found good: that is an end.
    duties: await rows<SideFacts["duties"][number]>(`
      select id, code is not null or not always as decided, ${iso("next_at")} as "nextAt" from mls_duty`),
    history: await rows<HistoryFact>(
      `select document_id as "documentId", version, status, trigger, ${iso("occurred_at")} as at from document_history order by document_id, version`,
    ),
    events: await rows<EventFact>(
      `select id, document_id as "documentId", kind, feed from document_event order by position`,
    ),
    evidence: await rows<EvidenceFact>(
      `select document_id as "documentId", direction, outcome, message_id as "messageId" from evidence order by index`,
    ),
    exchanges: await rows<ExchangeFact>(`select id, direction, kind from exchange`),
  };
}

const sha256 = (text: string): string => createHash("sha256").update(text).digest("hex");
const replyOf = ({ status, text }: Pick<HttpAnswer, "status" | "text">): Reply => ({ status, body: text });

/** What a document's own request answers when it comes again; a refusal for its rate says nothing. */
async function repeat(side: Side, sent: Sent): Promise<AcceptedFact> {
  const again = await send(side.sandbox, await side.mailbox(), sent.parts, { "idempotency-key": sent.idempotencyKey });
  return {
    id: sent.id,
    sha256: sha256(sent.payload),
    answer: replyOf(sent.answer),
    repeated: again.status === 429 ? [] : [replyOf(again)],
  };
}

/** An answer without the id of its request, and without the id that was asked for. */
const anonymous = ({ status, text }: HttpAnswer, id: string): Reply => ({
  status,
  body: text.replaceAll(id, "ID").replace(/"(?:requestId|correlation_id)":"[^"]*",?/g, ""),
});

const OTHER = { sender: "receiver", receiver: "sender" } as const satisfies Record<Firm, Firm>;

/** Reads below /api/v1/documents/{id}: one each time, for questions have a rate. */
const READS = ["", "/status", "/events", "/evidence", "/envelope"] as const;

/** Asks for a sent and a received document as another firm of the same engine, and with a token of another engine. */
async function probe(side: Side, others: readonly Side[], turn: number): Promise<ProbeFact[]> {
  const own = side.sent.at(-1)?.id;
  const [received] = await side.home.db.sql<
    { id: string }[]
  >`select id from received_document order by position desc limit 1`;
  const stranger = await side.mailbox(OTHER[side.home.firm]);
  const ask = async (what: string, id: string, question: (id: string) => Promise<HttpAnswer>): Promise<ProbeFact[]> => {
    const nobodys = randomUUID();
    const [answer, unknown] = [await question(id), await question(nobodys)];
    return answer.status === 429 || unknown.status === 429
      ? []
      : [{ what: `${what} ${id}`, answer: anonymous(answer, id), unknown: anonymous(unknown, nobodys) }];
  };
  const read = (headers: Record<string, string>) => (id: string) =>
    http("GET", `${side.sandbox.baseUrl}/documents/${id}${READS[turn % READS.length] ?? ""}`, headers);
  const [strange, foreign] = [
    await side.integrator(OTHER[side.home.firm]),
    await Promise.all(others.map((other) => other.integrator())),
  ];
  const sent =
    own === undefined
      ? []
      : [
          ask("another firm's", own, read(strange)),
          ...foreign.map((headers) =>
            ask("another engine's", own, read({ ...headers, "x-firm-id": side.sandbox[side.home.firm].firmId })),
          ),
        ];
  const arrived =
    received === undefined
      ? []
      : [ask("another inbox'", received.id, (id) => sapi(side.sandbox, stranger, "GET", `/document/receive/${id}`))];
  return (await Promise.all([...sent, ...arrived])).flat();
}

/** Lines of what `kurier serve` tells the sandbox's operator, credentials included. Lines of the log may come between them. */
const BANNER = /^ {2}\S.*$/gm;

/** What a process wrote without what it tells its operator when it starts. */
export const logOf = (output: string): string => output.replace(BANNER, "");

/** Files of DATA_DIR that are there to hold a secret. */
const KEEPERS = /^(?:sandbox\.json|master\.key|pki|rules|house)(?:\/|$)/;

/** What a process wrote, into its log and into files. */
function written(output: string, dataDir: string): PlaceFact[] {
  const files = readdirSync(dataDir, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => relative(dataDir, join(parentPath, name)));
  return [
    { where: "the log", text: logOf(output) },
    ...files
      .filter((path) => !KEEPERS.test(path))
      .map((path) => ({ where: path, text: readFileSync(join(dataDir, path), "latin1") })),
  ];
}

const statusOf = async (url: string): Promise<number> => {
  try {
    return (await fetch(url)).status;
  } catch {
    return 0;
  }
};

function rssOf(pid: number): number | undefined {
  try {
    const kibibytes = /^VmRSS:\s+([0-9]+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1];
    return kibibytes === undefined ? undefined : Number(kibibytes) * 1024;
  } catch {
    return undefined;
  }
}

const isAlive = (pid: number): boolean => {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
};

/** @param output  of this process, and of those that were killed before it */
export async function processFacts({ pid, sandbox }: EngineProcess, output: string): Promise<ProcessFact> {
  const { adminUrl } = sandbox;
  return {
    alive: isAlive(pid),
    live: (await statusOf(`${adminUrl}/livez`)) === 200,
    ready: (await statusOf(`${adminUrl}/readyz`)) === 200,
    output,
    rss_bytes: rssOf(pid),
  };
}

/** Exchanges of this month that the API counts, over all firms. */
async function statistics(side: Side): Promise<SideFacts["counted"]> {
  const answers = await Promise.all(
    (["sender", "receiver"] as const).map(async (firm) =>
      http("GET", `${side.sandbox.baseUrl}/reporting/statistics`, await side.integrator(firm)),
    ),
  );
  if (answers.some(({ status }) => status === 429)) return undefined;
  const counts = answers.map(({ json }) => json as { incoming: number; outgoing: number });
  return {
    incoming: counts.reduce((sum, { incoming }) => sum + incoming, 0),
    outgoing: counts.reduce((sum, { outgoing }) => sum + outgoing, 0),
  };
}

async function sideFacts(
  side: Side,
  others: readonly Side[],
  repeated: readonly Sent[],
  turn: number,
): Promise<SideFacts> {
  const probes = await probe(side, others, turn);
  const metrics = await fetch(`${side.sandbox.adminUrl}/metrics`);
  return {
    ...(await databaseFacts(side.home.db.sql)),
    name: side.home.seat,
    probes,
    counted: await statistics(side),
    accepted: await Promise.all(
      side.sent.map(async (sent) =>
        repeated.includes(sent)
          ? repeat(side, sent)
          : { id: sent.id, sha256: sha256(sent.payload), answer: replyOf(sent.answer), repeated: [] },
      ),
    ),
    places: [
      { where: "/metrics", text: await metrics.text() },
      ...written(side.output(), side.home.dataDir),
      ...probes.map(({ what, answer }) => ({ where: `the answer to ${what}`, text: answer.body })),
    ],
    process: await processFacts(side.process, side.output()),
  };
}

/** What must not be found anywhere: keys of the API, tokens, the master key, private keys, the text of an invoice. */
function canaries(side: Side): Facts["canaries"] {
  const {
    home: { seat, dataDir },
    sandbox: { sender, receiver, integrator, admin },
  } = side;
  const masterKey = readFileSync(join(dataDir, "master.key"), "utf8").trim();
  const keys = ["ap.pem", "smp.pem"].map(
    (file) =>
      readFileSync(join(dataDir, "pki", file), "utf8")
        .split("-----BEGIN PRIVATE KEY-----\n")[1]
        ?.split("\n")[4],
  );
  const named = (name: string, values: readonly (string | undefined)[]): Facts["canaries"] =>
    values.map((value) => {
      if (value === undefined || value.length < 16) throw new Error(`no canary: ${name}`);
      return { name: `${name} of ${seat}`, value };
    });
  return [
    ...named(
      "a client secret",
      [sender, receiver, integrator].map(({ clientSecret }) => clientSecret),
    ),
    ...named("the admin token", [admin.token]),
    ...named("an access token", side.secrets()),
    ...named("the master key", [masterKey, Buffer.from(masterKey, "base64").toString("hex")]),
    ...named("a private key", keys),
    ...named("the text of an invoice", [TEXT_MARKER]),
  ];
}

/**
 * Resident memory that an engine of these tests may have. Measured: 160 MB after the first exchange, 200 MB after 40 each
 * way and 220 MB after 140, for V8 lets its heap grow before it collects. A base line of each process would be as young
 * as its last kill, and 20 % of it is that growth; so the base line is the plateau, and this is 20 % more.
 */
export const RSS_MAX_BYTES = 264 * 1024 * 1024;

export interface Oracle {
  /** Waits until nothing is under way. @throws Error that names every invariant that does not hold */
  hold(): Promise<void>;
}

/** An oracle that remembers what it saw, over the life of some engines. */
export function createOracle(...sides: readonly Side[]): Oracle {
  let before: Facts | undefined;
  let repeatedSoFar = new Set<Sent>();
  let turn = 0;
  return {
    hold: async () => {
      await settled(...sides);
      // The first request of each side is repeated every time, all others after the exchange that they began.
      const repeated = sides.flatMap(({ sent }) => sent.filter((one, index) => index === 0 || !repeatedSoFar.has(one)));
      const facts: Facts = {
        sides: await Promise.all(
          sides.map((side) =>
            sideFacts(
              side,
              sides.filter((other) => other !== side),
              repeated,
              turn,
            ),
          ),
        ),
        canaries: sides.flatMap(canaries),
        rssMax_bytes: RSS_MAX_BYTES,
        ...(before === undefined ? {} : { before: { ...before } }),
      };
      turn += 1;
      repeatedSoFar = new Set(sides.flatMap(({ sent }) => sent));
      before = { sides: facts.sides, canaries: [], rssMax_bytes: 0 };
      const broken = violations(facts);
      if (broken.length > 0) throw new Error(`invariants do not hold:\n${broken.join("\n")}`);
    },
  };
}
