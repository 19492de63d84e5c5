/**
 * What is written for a firm at the moment at which it is closed. Method: the transaction that closes a firm is held open
 * on a connection of its own until what is written meanwhile waits for it.
 */
import { randomUUID } from "node:crypto";
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";

import { systemClock } from "../../../engine/base/clock.js";
import { newBoxItemId, newReceivedDocumentId } from "../../../engine/base/ids.js";
import type { FirmId, ParticipantId } from "../../../engine/base/ids.js";
import { OPERATOR, stampOf } from "../../../engine/identity/audit.js";
import { eraseFirm } from "../../../engine/identity/erasure.js";
import { bindFirm, createIntegrator } from "../../../engine/identity/firms.js";
import { createBoxItem } from "../../../engine/storage/box/items.js";
import { acceptDocuments } from "../../../engine/storage/documents/documents.js";
import type { NewExchange } from "../../../engine/storage/documents/exchanges.js";
import { storeStatus } from "../../../engine/storage/documents/received-responses.js";
import { storeBusiness } from "../../../engine/storage/documents/received.js";
import { addServiceMessage } from "../../../engine/storage/documents/service-messages.js";
import { closeFirm } from "../../../engine/storage/identity/erasure.js";
import { openFirmKeyFiles } from "../../../engine/storage/keyring/firm-key-files.js";
import { openSql } from "../../../engine/storage/sql.js";
import type { Sql } from "../../../engine/storage/sql.js";
import { freshDatabase } from "../../support/database/postgres.js";
import type { TestDatabase } from "../../support/database/postgres.js";
import { KEY_ID, newDocumentRow, seedFirm } from "../../support/database/seed.js";
import { accessToken, invoiceXml, send, sendParts, startTestEngine } from "../../support/engines/engine.js";
import type { TestEngine } from "../../support/engines/engine.js";
import { eventually } from "../../support/eventually.js";

const folder = mkdtempSync(join(tmpdir(), "kurier-erasure-races-"));
const keysAt = (name: string): string => `file:${join(folder, name)}`;
afterAll(() => {
  rmSync(folder, { recursive: true, force: true });
});

const SEALED = {
  payloadKeyId: "k1",
  payloadSealed: Buffer.from("sealed"),
  payloadSha256: "00".repeat(32),
} as const;
const PARTIES = {
  sender: "0245:8888888888" as ParticipantId,
  receiver: "0245:9999999999" as ParticipantId,
  documentTypeId: "type",
  processId: "process",
} as const;
const ids = () => ({ as4MessageId: `${randomUUID()}@test`, sbdhInstanceId: randomUUID() });
const stamp = () => stampOf(OPERATOR, systemClock);

const exchangeOf = (id: string, firmId: FirmId, kind: NewExchange["kind"]): NewExchange => ({
  ...{ id, firmId, kind, direction: "incoming", c2Seat: "POP000777", c3Seat: "PSK000001", transportProfile: "t" },
  ...{ documentTypeId: "type", processId: "process", c1Country: "AT", c4Country: "SK" },
  ...{ endUser: PARTIES.receiver, exchangedAt: systemClock.now() },
});

/** Everything that is written for a firm and sealed under its key, and what is answered where the firm is erased. */
const WRITES: readonly (readonly [string, (sql: Sql, firmId: FirmId) => Promise<unknown>, unknown])[] = [
  [
    "document that it sends",
    (sql, firmId) => acceptDocuments(sql, [newDocumentRow(firmId, PARTIES.sender)]),
    [{ kind: "firm_erased" }],
  ],
  [
    "item of its Box",
    async (sql, firmId) => {
      const item = { ...PARTIES, ...SEALED, id: newBoxItemId(systemClock), firmId, keyId: KEY_ID, payloadBytes: 6 };
      const none = {
        integratorId: undefined,
        externalId: undefined,
        metadataSealed: undefined,
        scheduledFor: undefined,
      };
      return (await createBoxItem(sql, { ...item, ...none, createdAt: systemClock.now() }, stamp()))?.outcome;
    },
    "firm_erased",
  ],
  [
    "document that arrives for it",
    (sql, firmId) => {
      const id = newReceivedDocumentId(systemClock);
      const at = systemClock.now();
      const [participantKey, creationDateTime, receivedAt] = [PARTIES.receiver, at, at];
      const document = { ...PARTIES, ...SEALED, ...ids(), id, firmId, participantKey, creationDateTime, receivedAt };
      return storeBusiness(sql, {
        document: { ...document, facts: {}, payloadBytes: 6, status: "RECEIVED" },
        exchange: exchangeOf(id, firmId, "business"),
        duty: undefined,
      });
    },
    false,
  ],
  [
    "answer that comes for it",
    (sql, firmId) => {
      const id = randomUUID();
      const status = { ...SEALED, ...ids(), id, sender: PARTIES.sender, receiver: PARTIES.receiver };
      return storeStatus(
        sql,
        { ...status, kind: "invoice_response", peerSeat: "POP000777", receivedAt: systemClock.now() },
        exchangeOf(id, firmId, "invoice_response"),
        undefined,
      );
    },
    false,
  ],
  [
    "answer that it gives",
    (sql, firmId) => {
      const id = randomUUID();
      const message = { ...PARTIES, ...SEALED, ...ids(), id, firmId, subject: `response/${id}/1`, code: "AP" };
      const none = { about: undefined, noteSealed: undefined };
      return addServiceMessage(sql, {
        ...message,
        ...none,
        kind: "invoice_response",
        createdAt: systemClock.now(),
      });
    },
    false,
  ],
];

/** Closes a firm while something is written for it. @returns what `work` came to, which waited for the firm */
async function whileClosing<T>(
  db: Pick<TestDatabase, "url" | "sql">,
  firmId: FirmId,
  work: () => Promise<T>,
): Promise<T> {
  const closer = openSql({ url: db.url, name: "closer", connections: 1 });
  try {
    await closer.unsafe("begin");
    // The row alone: who looks for the firm's key or participant on the way still finds what there was.
    await closer`select 1 from firm where id = ${firmId} for update`;
    let isOver = false;
    const working = work().finally(() => {
      isOver = true;
    });
    await eventually("the work has ended or waits for the firm", async () => {
      const waiting = await db.sql`
        select 1 from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()`;
      return isOver || waiting.length > 0;
    });
    expect(await closeFirm(closer, firmId, systemClock.now(), stamp())).toBe("closed");
    await closer.unsafe("commit");
    return await working;
  } finally {
    await closer.end({ timeout: 1 });
  }
}

let participants = 0;
/** One that no other firm here has. */
const nextParticipant = (): string => `0245:${2_000_000_000 + (participants += 1)}`;

describe("on a database", () => {
  let db: TestDatabase;
  beforeAll(async () => {
    db = await freshDatabase();
  });
  afterAll(() => db.drop());

  test.each(WRITES)("a firm that is being closed gets no %s", async (_, write, answer) => {
    const firmId = await seedFirm(db.sql, nextParticipant());
    expect(await whileClosing(db, firmId, () => write(db.sql, firmId))).toEqual(answer);
    expect(await eraseFirm({ sql: db.sql, clock: systemClock }, firmId)).toEqual({ closure: "closed", rows: 0 });
    for (const table of ["document", "box_item", "received_document", "service_message", "exchange"])
      expect(await db.sql`select 1 from ${db.sql(table)} where firm_id = ${firmId}`, table).toEqual([]);
  });

  test.each(WRITES)("any other firm gets its %s beside one that was closed", async (_, write, answer) => {
    const firmId = await seedFirm(db.sql, nextParticipant());
    expect(await write(db.sql, firmId)).not.toEqual(answer);
  });

  test("a firm that is being closed is bound to no integrator", async () => {
    const firmId = await seedFirm(db.sql, nextParticipant());
    const ports = { sql: db.sql, clock: systemClock };
    const integratorId = await createIntegrator(ports, { name: "Integrator", productionAuthorized: true });
    const scopes = ["documents:read"] as const;
    const bind = () =>
      bindFirm(ports, { integratorId, firmId, scopes, interfaces: ["enterprise"] }).then(
        () => "bound",
        (error: unknown) => (error as { readonly code?: unknown }).code,
      );
    expect(await whileClosing(db, firmId, bind)).toBe("23503");
    expect(await db.sql`select 1 from firm_binding where firm_id = ${firmId}`).toEqual([]);
  });

  test("documents of a closed firm alone are refused among those that are accepted together", async () => {
    const [one, other] = [await seedFirm(db.sql, "0245:1000000001"), await seedFirm(db.sql, "0245:1000000002")];
    const rows = [newDocumentRow(one, "0245:1000000001"), newDocumentRow(other, "0245:1000000002")];
    const outcomes = await whileClosing(db, other, () => acceptDocuments(db.sql, rows));
    expect(outcomes.map(({ kind }) => kind)).toEqual(["accepted", "firm_erased"]);
  });

  test("a firm keeps its key while a document of it is there, however it came", async () => {
    const firmId = await seedFirm(db.sql, "0245:1000000003");
    const firmKeys = openFirmKeyFiles(keysAt("kept"));
    const name = await firmKeys.baptise();
    await firmKeys.add(firmId, { by: "0123456789abcdef", sealed: Buffer.from("key") }, name);
    const [like] = await db.sql<{ readonly id: string }[]>`select id from document where status = 'queued' limit 1`;
    // Somebody writes behind the back of the functions, after the firm was found to have nothing under way.
    await db.sql.unsafe(`
      create function write_behind() returns trigger language plpgsql as $$ begin
        update document set firm_id = new.id where id = '${like?.id ?? ""}';
        return null;
      end $$;
      create trigger write_behind after update of erased_at on firm for each row execute function write_behind()`);
    try {
      const { closure } = await eraseFirm({ sql: db.sql, clock: systemClock, firmKeys }, firmId);
      expect(closure).toBe("under_way");
    } finally {
      await db.sql.unsafe("drop trigger write_behind on firm; drop function write_behind()");
    }
    expect(existsSync(join(folder, "kept", `${firmId}.key`))).toBe(true);
  });
});

describe("at an engine", () => {
  let engine: TestEngine;
  beforeAll(async () => {
    engine = await startTestEngine({ config: { FIRM_KEYS: keysAt("engine") } });
  });
  afterAll(() => engine.stop());

  test("a document under the key of an erased firm fails for good, and the firm can be erased again", async () => {
    const { sql } = engine.db;
    const firmId = await seedFirm(sql, "0245:1000000004");
    const firmKeys = openFirmKeyFiles(keysAt("engine"));
    await firmKeys.erase(firmId);
    const row = newDocumentRow(firmId, "0245:1000000004", { payloadKeyId: `firm:${firmId}` });
    await acceptDocuments(sql, [row]);
    await eventually("it has failed", async () => {
      const [found] = await sql`select status from document where id = ${row.id}`;
      return found?.["status"] === "send_failed";
    });
    const { closure } = await eraseFirm({ sql, clock: systemClock, firmKeys }, firmId);
    expect([closure, await sql`select 1 from document where firm_id = ${firmId}`]).toEqual(["closed", []]);
  });

  test("a send of a firm that is closed meanwhile is told that its token is not valid, as all that come later", async () => {
    const { sandbox, db } = engine;
    const [from, to] = [sandbox.sender.participantId, sandbox.receiver.participantId];
    const sender = { participantId: from, token: await accessToken(sandbox, sandbox.sender) };
    const sending = () => send(sandbox, sender, sendParts(from, to, invoiceXml(from, to)));
    const answer = await whileClosing(db, sandbox.sender.firmId as FirmId, sending);
    expect([answer.status, answer.text]).toEqual([401, expect.stringContaining("AUTH")]);
  });
});
