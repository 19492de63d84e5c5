/**
 * A thousand at once, through HTTP, with one process and with two on one database. The sends go out under several API
 * keys of one firm, because one key may send 150 times a minute.
 */
import { randomUUID } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";

import { systemClock } from "../../../engine/base/clock.js";
import { createKey } from "../../../engine/identity/keys.js";
import { FIRM_KEY_SCOPES } from "../../../engine/identity/scopes.js";
import { parseFirmId } from "../../../engine/base/ids.js";
import type { ParticipantId } from "../../../engine/base/ids.js";
import { buildIfNeeded } from "../../../deploy/build.mjs";
import { makeFirm } from "../../../engine/identity/registration.js";
import { accessToken, invoiceXml, send, sendParts } from "../../support/engines/engine.js";
import type { HttpAnswer, SendParts } from "../../support/engines/engine.js";
import { freshDatabase } from "../../support/database/postgres.js";
import type { TestDatabase } from "../../support/database/postgres.js";
import { startEngineProcess } from "../../support/engines/process.js";
import type { EngineProcess } from "../../support/engines/process.js";

const COUNT = 1_000;
const KEYS = 10;
const RECEIVER = "0245:9999999999";
const MASTER_KEY = Buffer.alloc(32, 9).toString("base64");

describe.each([1, 2])("%i process(es) on one database", (processes) => {
  let db: TestDatabase;
  let engines: EngineProcess[];
  const dirs: string[] = [];

  beforeAll(async () => {
    await buildIfNeeded();
    db = await freshDatabase();
    engines = [];
    for (let i = 0; i < processes; i += 1) {
      dirs.push(mkdtempSync(join(tmpdir(), "kurier-idempotency-")));
      // The same public URL on both: tokens name it.
      const env = {
        DATABASE_URL: db.url,
        NATS_URL: "embedded",
        MASTER_KEY,
        PUBLIC_URL: "http://kurier.test",
        VALIDATOR_THREADS: "1",
      };
      engines.push(await startEngineProcess({ dataDir: dirs.at(-1) ?? "", role: "gateway", env }));
    }
  });
  afterAll(async () => {
    for (const engine of engines) expect(await engine.stop()).toBe(0);
    for (const dir of dirs) rmSync(dir, { recursive: true, force: true });
    await db.drop();
  });

  const urlOf = (engine: EngineProcess): { sapiBaseUrl: string } => ({
    sapiBaseUrl: `http://127.0.0.1:${engine.port}/sapi/v1`,
  });

  /** A firm with several keys. @returns how to send as it, spread over processes and keys */
  async function sender(
    participantId: string,
  ): Promise<(n: number, parts: SendParts, idempotencyKey: string) => Promise<HttpAnswer>> {
    const firm = await makeFirm(
      { sql: db.sql, clock: systemClock, environment: "sandbox" },
      { name: participantId, participantId: participantId as ParticipantId },
    );
    const firmId = typeof firm === "string" ? undefined : parseFirmId(firm.firmId);
    if (firmId === undefined) throw new Error("no firm");
    const tokens = await Promise.all(
      Array.from({ length: KEYS }, async (_, i) => {
        const key = await createKey(
          { sql: db.sql, clock: systemClock, environment: "sandbox" },
          { owner: { firmId }, scopes: FIRM_KEY_SCOPES },
        );
        if (typeof key === "string") throw new Error(key);
        const engine = engines[i % processes];
        if (engine === undefined) throw new Error("no engine");
        return accessToken(urlOf(engine), { clientId: key.id, clientSecret: key.secret });
      }),
    );
    return (n, parts, idempotencyKey) => {
      const engine = engines[Math.floor(n / KEYS) % processes];
      if (engine === undefined) throw new Error("no engine");
      return send(urlOf(engine), { participantId, token: tokens[n % KEYS] ?? "" }, parts, {
        "idempotency-key": idempotencyKey,
      });
    };
  }

  const documents = async (participantId: string): Promise<number> =>
    (await db.sql<{ n: number }[]>`select count(*)::integer as n from document where sender = ${participantId}`)[0]
      ?.n ?? -1;
  const detailOf = (answer: HttpAnswer): string =>
    (answer.json["error"] as { details?: { code?: string }[] } | undefined)?.details?.[0]?.code ??
    answer.text.slice(0, 200);

  test("1,000 concurrent sends of one key and body: one document, every answer 202 or 409 in flight, later repeats byte-identical", async () => {
    const participantId = "0245:6100000001";
    const as = await sender(participantId);
    const parts = sendParts(participantId, RECEIVER, invoiceXml(participantId, RECEIVER));
    const key = randomUUID();
    const answers = await Promise.all(Array.from({ length: COUNT }, (_, n) => as(n, parts, key)));
    const accepted = answers.filter((answer) => answer.status === 202);
    expect([
      ...new Set(
        answers.filter((answer) => answer.status !== 202).map((answer) => `${answer.status} ${detailOf(answer)}`),
      ),
    ]).toEqual(accepted.length === COUNT ? [] : ["409 SAPI-PROC-002"]);
    expect(new Set(accepted.map((answer) => answer.text)).size).toBe(1);
    for (let n = 0; n < 20; n += 1)
      expect(await as(n, parts, key)).toMatchObject({ status: 202, text: accepted[0]?.text });
    expect(await documents(participantId)).toBe(1);
  });

  test("1,000 keys and one payload: one 202, the rest SAPI-DOC-024", async () => {
    const participantId = "0245:6100000002";
    const as = await sender(participantId);
    const payload = invoiceXml(participantId, RECEIVER);
    const answers: HttpAnswer[] = [];
    // One firm may hold a quarter of the workers' queue, which is 512 places.
    for (let first = 0; first < COUNT; first += COUNT / 2)
      answers.push(
        ...(await Promise.all(
          Array.from({ length: COUNT / 2 }, (_, n) =>
            as(first + n, sendParts(participantId, RECEIVER, payload), randomUUID()),
          ),
        )),
      );
    expect(answers.filter((answer) => answer.status === 202)).toHaveLength(1);
    expect([
      ...new Set(
        answers.filter((answer) => answer.status !== 202).map((answer) => `${answer.status} ${detailOf(answer)}`),
      ),
    ]).toEqual(["409 SAPI-DOC-024"]);
    expect(await documents(participantId)).toBe(1);
  });
});
