/**
 * `token`: how many logins, renewals and revocations a node answers with 100,000 keys, and how near each is to nothing
 * but its statement, and a login to nothing but the signature of its token.
 */
import { generateKeyPairSync } from "node:crypto";
import { Agent, request } from "node:http";

import { systemClock } from "../../engine/base/clock.js";
import { newId } from "../../engine/base/ids.js";
import type { FirmId, KeyId } from "../../engine/base/ids.js";
import { LIMITS } from "../../engine/base/limits.js";
import type { Scope } from "../../engine/base/scopes.js";
import { signAccessToken } from "../../engine/identity/tokens/access-tokens.js";
import { sha256 } from "../../engine/identity/tokens/secrets.js";
import { openSql } from "../../engine/storage/sql.js";
import type { Sql } from "../../engine/storage/sql.js";
import { startBenchEngine } from "../engine.js";
import type { BenchEngine } from "../engine.js";
import type { Bench, BenchOptions, Figure } from "../runner.js";

const KEYS = 100_000;
const KEYS_TINY = 60;
const KEYS_PER_STATEMENT = 10_000;
const CALLERS = 32;
const CALLERS_TINY = 4;
const SCOPES: readonly Scope[] = ["documents:send", "documents:read"];

interface BenchKey {
  readonly id: string;
  readonly secret: string;
}

const hex = (text: string): string => sha256(text).toString("hex");

/** Fills the database with firms that have one key each. */
async function fill(sql: Sql, count: number): Promise<readonly BenchKey[]> {
  const keys = Array.from({ length: count }, (_, index): BenchKey => {
    const secret = `sk_live_test_${hex(`bench key ${index}`).slice(0, 40)}`;
    return { id: newId(systemClock), secret };
  });
  for (let from = 0; from < count; from += KEYS_PER_STATEMENT) {
    const some = keys.slice(from, from + KEYS_PER_STATEMENT);
    await sql`
      with given as (
        select * from unnest(${some.map(({ id }) => id)}::uuid[], ${some.map(({ secret }) => hex(secret))}::text[])
          as g (id, digest)
      ), firms as (
        insert into firm (id, name, peppol_status, sandbox, created_at)
        select id, 'Bench', 'not_registered', true, now() from given
      )
      insert into api_key (id, key_type, firm_id, prefix, secret_sha256, scopes, ip_allowlist, active, created_at)
      select id, 'sk_live', id, 'sk_' || id, decode(digest, 'hex'), ${SCOPES}::text[], '{}', true, now()
      from given`;
  }
  await sql`analyze api_key`;
  return keys;
}

interface Answer {
  readonly status: number;
  readonly json: Readonly<Record<string, unknown>>;
}

let addresses = 0;

/** A call of the Enterprise interface, from an address of its own each time: renewals are limited by address. */
const post = (engine: BenchEngine, agent: Agent, path: string, body: unknown): Promise<Answer> =>
  new Promise((resolve, reject) => {
    addresses += 1;
    const text = JSON.stringify(body);
    const outgoing = request(
      `${engine.sandbox.baseUrl}${path}`,
      {
        method: "POST",
        agent,
        headers: {
          "content-type": "application/json",
          "content-length": Buffer.byteLength(text),
          "x-forwarded-for": `10.${(addresses >> 16) & 255}.${(addresses >> 8) & 255}.${addresses & 255}`,
        },
      },
      (answer) => {
        const parts: Buffer[] = [];
        answer.on("data", (part: Buffer) => parts.push(part));
        answer.on("end", () => {
          const json = JSON.parse(Buffer.concat(parts).toString("utf8")) as Record<string, unknown>;
          resolve({ status: answer.statusCode ?? 0, json });
        });
      },
    );
    outgoing.on("error", reject).end(text);
  });

interface Driven<R> {
  readonly results: readonly R[];
  readonly perSecond: number;
  readonly p50_ms: number;
  readonly p99_ms: number;
}

/** Does the work on one item after another with so many callers, until the items or the seconds end. */
async function drive<T, R>(
  items: readonly T[],
  { callers, seconds }: { readonly callers: number; readonly seconds: number },
  work: (item: T) => Promise<R>,
): Promise<Driven<R>> {
  const results: R[] = [];
  const took: number[] = [];
  const started = systemClock.monotonic();
  let next = 0;
  const caller = async (): Promise<void> => {
    while (next < items.length && systemClock.monotonic() - started < seconds * 1_000) {
      const item = items[next] as T;
      next += 1;
      const begun = systemClock.monotonic();
      results.push(await work(item));
      took.push(systemClock.monotonic() - begun);
    }
  };
  await Promise.all(Array.from({ length: callers }, caller));
  const sorted = took.sort((a, b) => a - b);
  const at = (share: number): number => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0;
  return {
    results,
    perSecond: results.length / ((systemClock.monotonic() - started) / 1_000),
    p50_ms: at(0.5),
    p99_ms: at(0.99),
  };
}

/** @throws Error when the engine did not answer 200 */
function must({ status, json }: Answer): Answer["json"] {
  if (status !== 200) throw new Error(`the engine answered ${status}: ${JSON.stringify(json)}`);
  return json;
}

const audit = (): string =>
  JSON.stringify({ id: newId(systemClock), at: new Date(systemClock.now()).toISOString(), actorType: "api_key" });

/** The statements alone, on as many connections as the engine has, with rows like the engine's. */
async function statements(
  databaseUrl: string,
  keys: readonly BenchKey[],
  pace: { readonly callers: number; readonly seconds: number },
): Promise<Readonly<Record<"mint" | "renew" | "revoke", Driven<unknown>>>> {
  const sql = openSql({ url: databaseUrl, name: "bench limit", connections: LIMITS.db_connections });
  try {
    const mint = await drive(keys, pace, async ({ id }) => {
      await sql`select open_refresh_family(${sha256(`f${id}`)}, ${sha256(`0${id}`)}, ${id}, 0, ${SCOPES}, now(),
        now() + interval '30 days', ${LIMITS.refresh_families_per_key_max}, ${audit()}::text::jsonb)`;
      return id;
    });
    const renew = await drive(
      mint.results,
      pace,
      (id) => sql`select rotate_refresh_family(${sha256(`f${id}`)}, ${sha256(`0${id}`)}, ${sha256(`1${id}`)}, 0, now(),
        now() + interval '30 days', ${audit()}::text::jsonb)`,
    );
    const revoke = await drive(
      mint.results,
      pace,
      (id) => sql`select revoke_access_token(${newId(systemClock)}, ${id}, now() + interval '15 minutes',
        ${audit()}::text::jsonb)`,
    );
    return { mint, renew, revoke };
  } finally {
    await sql.end({ timeout: 1 });
  }
}

/** One signature of a token a login, all with one key, on the thread that has the event loop, as in the engine. */
function signatures(keys: readonly BenchKey[], seconds: number): Promise<Driven<string>> {
  const { privateKey } = generateKeyPairSync("ed25519");
  const signer = { signer: () => Promise.resolve({ kid: "bench", privateKey }) };
  const audience = { publicUrl: "http://127.0.0.1", environment: "sandbox" } as const;
  const claims = { integratorId: null, scopes: SCOPES, generation: 0, bindingGeneration: 0 };
  return drive(keys, { callers: 1, seconds }, ({ id }) =>
    signAccessToken(signer, audience, { ...claims, keyId: id as KeyId, firmId: id as FirmId }, systemClock.now()),
  );
}

async function measure(options: BenchOptions, engine: BenchEngine): Promise<Figure[]> {
  const keys = await fill(engine.sql, options.tiny ? KEYS_TINY : KEYS);
  options.say(`${keys.length} keys are in the database`);
  const half = Math.floor(keys.length / 2);
  const pace = { callers: options.tiny ? CALLERS_TINY : CALLERS, seconds: options.seconds };
  const agent = new Agent({ keepAlive: true, maxSockets: pace.callers });
  const call = (path: string, body: unknown): Promise<Answer> => post(engine, agent, path, body);

  const mint = await drive(keys.slice(0, half), pace, async ({ id, secret }) =>
    must(await call("/auth/token", { grant_type: "client_credentials", client_id: id, client_secret: secret })),
  );
  const renewal = (pair: Answer["json"]) => ({ grant_type: "refresh_token", refresh_token: pair["refresh_token"] });
  const renew = await drive(mint.results, pace, async (pair) => must(await call("/auth/renew", renewal(pair))));
  const revoke = await drive(renew.results, pace, async (pair) => {
    must(await call("/auth/revoke", { token: pair["access_token"] }));
    return pair;
  });

  // What was measured must have been work: a used refresh token and a revoked access token are of no use.
  const [used, revoked] = [mint.results[0], revoke.results[0]];
  const replay = await call("/auth/renew", renewal(used ?? {}));
  const refused = await fetch(`${engine.sandbox.baseUrl}/auth/token/status`, {
    headers: { authorization: `Bearer ${String(revoked?.["access_token"])}` },
  });
  if (replay.status !== 401 || refused.status !== 401)
    throw new Error(`a replay was answered ${replay.status}, a revoked token ${refused.status}`);

  agent.destroy();
  const limit = await statements(engine.databaseUrl, keys.slice(half), pace);
  const signed = await signatures(keys.slice(half), options.seconds);
  const engineSide = { mint, renew, revoke };
  const besideStatements = (["mint", "renew", "revoke"] as const).flatMap((name) => [
    figureOf(`kurier ${name}`, engineSide[name], `${pace.callers} callers, ${keys.length} keys`),
    figureOf(`${name}: the statement alone`, limit[name], `${LIMITS.db_connections} connections`),
    {
      name: `${name} ÷ the statement`,
      value: engineSide[name].perSecond / limit[name].perSecond,
      unit: "ratio" as const,
    },
  ]);
  return [
    ...besideStatements,
    figureOf(
      "limit: one signature a login",
      signed,
      `one thread, token of ${signed.results[0]?.length ?? 0} characters`,
    ),
    { name: "mint ÷ the signature", value: mint.perSecond / signed.perSecond, unit: "ratio" as const },
  ];
}

const figureOf = (name: string, { perSecond, p50_ms, p99_ms }: Driven<unknown>, note: string): Figure => ({
  name,
  value: perSecond,
  unit: "/s",
  p50_ms,
  p99_ms,
  errors: 0,
  note,
});

/** Logins, renewals and revocations with 100,000 keys. */
export const tokenBench: Bench = {
  name: "token",
  question: "How many logins, renewals and revocations does a node answer, and how near is each to its statement?",
  seconds: 10,
  run: async (options) => {
    const engine = await startBenchEngine({ role: "gateway", env: { TRUSTED_PROXIES: "127.0.0.1/32" } });
    try {
      return await measure(options, engine);
    } finally {
      await engine.stop();
    }
  },
};
