/** An engine over all its lives, and what is counted of its documents when nothing is on its way any more. */
import { AS_NPM_START } from "../../../bench/engine.js";
import { runningEmbeddedPostgres } from "../../../engine/embedded/embedded.js";
import { openSql } from "../../../engine/storage/sql.js";
import type { Sql } from "../../../engine/storage/sql.js";
import { eventually } from "../../support/eventually.js";
import { startEngineProcess } from "../../support/engines/process.js";
import type { EngineProcess } from "../../support/engines/process.js";
import type { Accepted } from "../load.js";

/** An engine over all its lives, started as `npm start` does, and a pool of ours on its database. */
export class Patient {
  readonly #dataDir: string;
  readonly #env: Readonly<Record<string, string>>;
  readonly #own: Readonly<{ project?: string }>;
  engine!: EngineProcess;
  sql!: Sql;

  /** @param project  where its files are; then it makes its own keys. @default this checkout, with keys of the run */
  constructor(dataDir: string, env: Readonly<Record<string, string>>, project?: string) {
    this.#dataDir = dataDir;
    this.#env = env;
    this.#own = project === undefined ? {} : { project };
  }

  async start(): Promise<void> {
    const env = { ...AS_NPM_START.env, ...this.#env };
    const { nodeOptions } = AS_NPM_START;
    this.engine = await startEngineProcess({ dataDir: this.#dataDir, env, nodeOptions, ...this.#own });
    await this.connect();
  }

  async connect(): Promise<void> {
    const url = await eventually("Postgres runs", () => runningEmbeddedPostgres(this.#dataDir));
    await (this.sql as Sql | undefined)?.end({ timeout: 1 });
    this.sql = openSql({ url, name: "faults", connections: 2 });
  }
}

/** A document as its sender's and its receiver's rows tell of it; times in milliseconds since 1970. */
export interface Fact {
  readonly id: string;
  /** Of the payload, hex. */
  readonly sha256: string;
  readonly status: string;
  readonly created: number;
  readonly delivered: number;
  /** How often it arrived with its MessageId and its bytes, and when it did so first. */
  readonly received: number;
  readonly receivedAt: number;
  /** Answers that its plan has used, and answers that its attempts had. */
  readonly answers: number;
  readonly answered: number;
}

/** @param since  documents that were accepted before are left out */
export const factsOf = (sql: Sql, since: number): Promise<readonly Fact[]> => sql<Fact[]>`
  select d.id, encode(d.payload_sha256, 'hex') as sha256, d.status, (extract(epoch from d.created_at) * 1000)::float8 as created,
    (extract(epoch from d.delivered_at) * 1000)::float8 as delivered, r.received,
    (extract(epoch from r.first_at) * 1000)::float8 as "receivedAt", d.answers,
    (select count(*)::integer from document_attempt as a
      where a.document_id = d.id and a.outcome not in ('cut', 'internal', 'deferred')
        and coalesce(a.detail, '') not like '%The evidence could not be stored.') as answered
  from document as d
  cross join lateral (select count(*)::integer as received, min(r.received_at) as first_at from received_document as r
    where r.as4_message_id = d.as4_message_id and r.payload_sha256 = d.payload_sha256) as r
  where d.created_at >= ${new Date(since)}`;

interface Faults {
  /** Accepted, but not delivered with the same bytes. */
  readonly lost: number;
  /** There beside what clients were told of, or twice at the receiver. */
  readonly doubled: number;
  /** Documents whose plan has used more or less than what was answered. */
  readonly miscounted: number;
}

/** What is wrong with the documents that clients were told are accepted. */
export function faultsOf(facts: readonly Fact[], accepted: readonly Accepted[]): Faults {
  const byId = new Map(facts.map((fact) => [fact.id, fact]));
  const told = new Set(accepted.map(({ id }) => id));
  return {
    lost: accepted.filter(({ id, sha256 }) => {
      const fact = byId.get(id);
      return fact?.status !== "delivered" || fact.sha256 !== sha256 || fact.received === 0;
    }).length,
    doubled: facts.filter(({ id }) => !told.has(id)).length + facts.filter(({ received }) => received > 1).length,
    miscounted: facts.filter((fact) => fact.answers !== fact.answered).length,
  };
}
