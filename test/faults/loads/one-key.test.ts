/**
 * Goal: whoever repeats one send, however often and wherever at once, has one document and one answer. Method: four
 * gateways on one database, under many API keys of one firm, because one key may send 150 times a minute; the same
 * idempotency key and the same body all the time.
 *
 * KURIER_TEST_SENDS: how many. KURIER_TEST_FIGURES: a folder that the figures are kept in.
 * @source design/reliability.md, C-01: 100 000 concurrent requests, one key, one body, 4 gateways
 */
import { randomUUID } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";

import { systemClock } from "../../../engine/base/clock.js";
import { parseFirmId } from "../../../engine/base/ids.js";
import type { ParticipantId } from "../../../engine/base/ids.js";
import { createKey } from "../../../engine/identity/keys.js";
import { makeFirm } from "../../../engine/identity/registration.js";
import { FIRM_KEY_SCOPES } from "../../../engine/identity/scopes.js";
import { accessToken, invoiceXml, MASTER_KEY, send, sendParts } from "../../support/engines/engine.js";
import { freshDatabase } from "../../support/database/postgres.js";
import type { TestDatabase } from "../../support/database/postgres.js";
import { startEngineProcess } from "../../support/engines/process.js";
import type { EngineProcess } from "../../support/engines/process.js";
import { keepFigures } from "../figures.js";

const SENDS = Number(process.env["KURIER_TEST_SENDS"] ?? "100000");
const GATEWAYS = 4;
const AT_ONCE = 256;
/** Of what a key may send in a minute. */
const SENDS_PER_KEY = 140;
const SENDER = "0245:6200000001";
const RECEIVER = "0245:9999999999";
const REPEATS = 20;

const dirs: string[] = [];
let db: TestDatabase;
let gateways: EngineProcess[];

beforeAll(async () => {
  db = await freshDatabase();
  gateways = await Promise.all(
    Array.from({ length: GATEWAYS }, () => {
      const dataDir = mkdtempSync(join(tmpdir(), "kurier-one-key-"));
      dirs.push(dataDir);
      // The same public URL on all: tokens name it.
      const env = {
        DATABASE_URL: db.url,
        NATS_URL: "embedded",
        MASTER_KEY: MASTER_KEY.toString("base64"),
        PUBLIC_URL: "http://kurier.test",
        VALIDATOR_THREADS: "1",
      };
      return startEngineProcess({ dataDir, role: "gateway", env });
    }),
  );
});
afterAll(async () => {
  await Promise.all(gateways.map((gateway) => gateway.stop()));
  await db.drop();
  for (const dir of dirs) rmSync(dir, { recursive: true, force: true });
});

const at = (n: number): { readonly sapiBaseUrl: string } => ({
  sapiBaseUrl: `http://127.0.0.1:${gateways[n % GATEWAYS]?.port ?? 0}/sapi/v1`,
});

/** So many lanes do the next of so many things, one after the other. */
async function inLanes(count: number, act: (n: number) => Promise<void>): Promise<void> {
  let next = 0;
  await Promise.all(
    Array.from({ length: Math.min(AT_ONCE, count) }, async () => {
      for (let n = next++; n < count; n = next++) await act(n);
    }),
  );
}

async function tokensOf(participantId: string): Promise<readonly string[]> {
  const ports = { sql: db.sql, clock: systemClock, environment: "sandbox" } as const;
  const firm = await makeFirm(ports, { name: participantId, participantId: participantId as ParticipantId });
  const firmId = typeof firm === "string" ? undefined : parseFirmId(firm.firmId);
  if (firmId === undefined) throw new Error("no firm");
  const tokens: string[] = [];
  await inLanes(Math.ceil(SENDS / SENDS_PER_KEY), async (n) => {
    const key = await createKey(ports, { owner: { firmId }, scopes: FIRM_KEY_SCOPES });
    if (typeof key === "string") throw new Error(key);
    tokens.push(await accessToken(at(n), { clientId: key.id, clientSecret: key.secret }));
  });
  return tokens;
}

test("one key and one body at four gateways, again and again at once: one document, and every answer is its 202 or says that it may come", async () => {
  const tokens = await tokensOf(SENDER);
  const parts = sendParts(SENDER, RECEIVER, invoiceXml(SENDER, RECEIVER));
  const key = randomUUID();
  const bodies = new Set<string>();
  const told = new Map<string, number>();
  const ask = async (n: number): Promise<void> => {
    const mailbox = { participantId: SENDER, token: tokens[n % tokens.length] ?? "" };
    const { status, text, headers } = await send(at(n), mailbox, parts, { "idempotency-key": key });
    if (status === 202) bodies.add(text);
    const code = /"(SAPI-[A-Z]+-\d+)"/.exec(text)?.[1] ?? "";
    const answer =
      status === 202 ? "202" : `${status} ${code}${headers.get("retry-after") === null ? "" : ", Retry-After"}`;
    told.set(answer, (told.get(answer) ?? 0) + 1);
  };
  const begun = systemClock.monotonic();
  await inLanes(SENDS, ask);
  const took_s = (systemClock.monotonic() - begun) / 1_000;
  const rows = [...told].sort((left, right) => right[1] - left[1]);
  const others = rows.map(([answer]) => answer).filter((answer) => answer !== "202");
  expect(others.filter((answer) => !/^409 SAPI-PROC-002|^(429|503) .*Retry-After$/.test(answer))).toEqual([]);
  told.clear();
  for (let n = 0; n < REPEATS; n += 1) await ask(n);
  expect([...told]).toEqual([["202", REPEATS]]);
  expect(bodies.size, "one answer, octet by octet").toBe(1);
  expect((await db.sql`select 1 from document where sender = ${SENDER}`).length).toBe(1);
  keepFigures("one-key", {
    title: "One key and one body, very often",
    command: `${process.env["KURIER_TEST_SENDS"] === undefined ? "" : `KURIER_TEST_SENDS=${SENDS} `}npm run -s test:faults -- one-key`,
    remark: `${SENDS} sends of one body under one idempotency key, ${AT_ONCE} at once, by ${tokens.length} API keys of one firm at ${GATEWAYS} gateways, which share two cores with the clients and the database: ${took_s.toFixed(0)} s. There is one document, and all 202 are the same octets, those of ${REPEATS} repeats afterwards too.`,
    columns: ["Answer", "Times"],
    rows,
  });
});
