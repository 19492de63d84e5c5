/** spec/sapi.md, Errors, row 503: Postgres goes away under a running engine and comes back. */
import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "vitest";

import { openSql } from "../../../engine/storage/sql.js";
import type { Sql } from "../../../engine/storage/sql.js";
import { accessToken, invoiceXml, send, sendParts, startTestEngine } from "../../support/engines/engine.js";
import type { Mailbox, TestEngine } from "../../support/engines/engine.js";
import { eventually } from "../../support/eventually.js";
import { serverForms } from "../../support/engines/gateway.js";
import { withDatabase } from "../../support/database/postgres.js";

describe.each(serverForms)("503 over %s", (form) => {
  let t: TestEngine;
  let operator: Sql;
  let sender: Mailbox;
  let database: string;

  beforeAll(async () => {
    t = await startTestEngine({ form });
    operator = openSql({ url: withDatabase(t.db.url, "postgres"), name: "operator", connections: 1 });
    database = new URL(t.db.url).pathname.slice(1);
    sender = { participantId: t.sandbox.sender.participantId, token: await accessToken(t.sandbox, t.sandbox.sender) };
  });
  afterAll(async () => {
    await operator.unsafe(`alter database ${database} with allow_connections true`);
    await operator.end({ timeout: 1 });
    await t.stop();
  });

  test("TEMPORARY: temporary unavailability; repeat with the same Idempotency-Key: nothing was written, the repeat is accepted, without a restart", async () => {
    const parts = sendParts(
      sender.participantId,
      t.sandbox.receiver.participantId,
      invoiceXml(sender.participantId, t.sandbox.receiver.participantId),
    );
    const headers = { "idempotency-key": randomUUID() };
    await operator.unsafe(`alter database ${database} with allow_connections false`);
    await operator`select pg_terminate_backend(pid) from pg_stat_activity where datname = ${database}`;
    const away = await send(t.sandbox, sender, parts, headers);
    expect([away.status, ...t.lines.filter((line) => line.includes("request.failed"))]).toEqual([503]);
    expect(away.json["error"]).toMatchObject({ category: "TEMPORARY", code: "TEMPORARY", retryable: true });
    expect(Number(away.headers.get("retry-after"))).toBeGreaterThan(0);

    await operator.unsafe(`alter database ${database} with allow_connections true`);
    const accepted = await eventually("the repeat is accepted", async () => {
      const answer = await send(t.sandbox, sender, parts, headers);
      expect([202, 503]).toContain(answer.status);
      return answer.status === 202 ? answer : undefined;
    });
    expect((await send(t.sandbox, sender, parts, headers)).text).toBe(accepted.text);
    const [count] = await t.db.sql<
      { n: number }[]
    >`select count(*)::integer as n from document where idempotency_key = ${headers["idempotency-key"]}`;
    expect(count?.n).toBe(1);
    expect(t.lines.filter((line) => line.includes("request.failed"))).toEqual([]);
  });
});
