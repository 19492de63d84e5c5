/**
 * The key that seals what is stored: a start with the wrong one is refused before anything is accepted, and a new one takes
 * over while engines run. Method: a database with sealed values of every kind, and engines on it.
 */
import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";

import { systemClock } from "../../../engine/base/clock.js";
import type { Clock } from "../../../engine/base/clock.js";
import type { Config } from "../../../engine/base/config.js";
import { createCursors } from "../../../engine/base/cursors.js";
import { listMasterKeys, MasterKeyError, openKeyring } from "../../../engine/storage/keyring/keyring.js";
import type { Keyring } from "../../../engine/storage/keyring/keyring.js";
import { resealTable } from "../../../engine/storage/keyring/reseal.js";
import { createSealer } from "../../../engine/storage/sealer.js";
import type { Sealer } from "../../../engine/storage/sealer.js";
import { createUnopenedReport, replacedSentences, rotateMaster } from "../../../gateway/commands/keys/rotate-master.js";
import { SEALED } from "../../../gateway/commands/keys/sealed-columns.js";
import { accessToken, http, invoiceXml, sapi, send, sendParts, startTestEngine } from "../../support/engines/engine.js";
import type { Mailbox, TestEngine } from "../../support/engines/engine.js";
import { eventually } from "../../support/eventually.js";
import { freshDatabase } from "../../support/database/postgres.js";
import type { TestDatabase } from "../../support/database/postgres.js";
import { freePort } from "../../support/engines/process.js";

const [A, B, C] = [Buffer.alloc(32, 1), Buffer.alloc(32, 2), Buffer.alloc(32, 3)];
const idOf = (key: Buffer): string => createSealer([key]).keyId;

describe("the ring of master keys", () => {
  let db: TestDatabase;
  beforeAll(async () => {
    db = await freshDatabase();
  });
  afterAll(() => db.drop());
  beforeEach(async () => {
    await db.sql`truncate master_key, payload, signing_key`;
  });

  // Keys are listed in the order in which they were made, of which each is a moment after the one before.
  let opened = 0;
  const clock: Clock = { ...systemClock, now: () => systemClock.now() + (opened += 1) };
  const open = (...given: readonly [Buffer, ...Buffer[]]): Promise<Keyring> => openKeyring(db.sql, given, clock);
  const sealPayload = async (sealer: Sealer): Promise<string> => {
    const id = randomUUID();
    await db.sql`
      insert into payload (document_id, key_id, sealed, bytes)
      values (${id}, ${sealer.keyId}, ${sealer.seal(Buffer.from(id), id)}, 36)`;
    return id;
  };
  const openPayload = async (sealer: Sealer, id: string): Promise<string> => {
    const [row] = await db.sql<
      { key_id: string; sealed: Buffer }[]
    >`select key_id, sealed from payload where document_id = ${id}`;
    return row === undefined ? "" : sealer.open(row.key_id, row.sealed, id).toString();
  };
  const sealedBy = async (): Promise<readonly string[]> =>
    (await db.sql<{ key_id: string }[]>`select distinct key_id from payload order by 1`).map(({ key_id }) => key_id);

  test("the ring of master keys opens with the key that made it and with no other, which is told in one sentence without a key", async () => {
    await open(A);
    expect((await open(A)).sealer.keyId).toBe(idOf(A));
    const refused = open(B);
    await expect(refused).rejects.toBeInstanceOf(MasterKeyError);
    await expect(refused).rejects.toThrow(
      `MASTER_KEY is not the key that what is stored is sealed with, which is ${idOf(A)}; give that one, in MASTER_KEY_PREVIOUS when MASTER_KEY is to replace it.`,
    );
    await expect(refused).rejects.not.toThrow(A.toString("base64"));
    expect((await listMasterKeys(db.sql)).map(({ keyId }) => keyId)).toEqual([idOf(A)]);
  });

  test("one alone of the nodes that come together to an empty database, each with a master key of its own, begins to seal", async () => {
    for (let round = 0; round < 5; round += 1) {
      await db.sql`truncate master_key`;
      const rings = await Promise.allSettled([open(A), open(B), open(C)]);
      const opened = rings.flatMap((ring) => (ring.status === "fulfilled" ? [ring.value.sealer.keyId] : []));
      expect((await listMasterKeys(db.sql)).map(({ keyId }) => keyId)).toEqual(opened);
      expect(opened).toHaveLength(1);
      for (const ring of rings)
        if (ring.status === "rejected")
          expect(String(ring.reason)).toContain(
            `MASTER_KEY is not the key that what is stored is sealed with, which is ${opened.join()}; `,
          );
    }
  });

  test("the ring of master keys of an installation from before keys were registered takes the one that has sealed its payloads", async () => {
    await sealPayload(createSealer([A]));
    await expect(open(B)).rejects.toThrow(idOf(A));
    await expect(open(A)).resolves.toBeDefined();
  });

  test("a change of the master key keeps what it calls kept, also a key that sealed before there was a register", async () => {
    const outside = createSealer([A]).seal(Buffer.from("evidence"), "outside");
    const id = await sealPayload(createSealer([A]));
    expect((await rotateMaster(db.sql, await open(B, A))).replaced).toEqual([idOf(A)]);
    const { sealer } = await open(B);
    expect(sealer.open(idOf(A), outside, "outside").toString()).toBe("evidence");
    expect(await openPayload(sealer, id)).toBe(id);
  });

  test("the ring of master keys does not open when its canary is not what its key has sealed", async () => {
    await open(A);
    await db.sql`update master_key set canary = set_byte(canary, 20, get_byte(canary, 20) # 1)`;
    await expect(open(A)).rejects.toThrow(`The canary of the master key ${idOf(A)} is damaged`);
  });

  test("the ring of master keys with a new one seals under it and opens both; the old one is asked for until it was replaced", async () => {
    const first = await open(A);
    const old = await sealPayload(first.sealer);
    const both = await open(B, A);
    const fresh = await sealPayload(both.sealer);
    expect([await openPayload(both.sealer, old), await openPayload(both.sealer, fresh)]).toEqual([old, fresh]);
    await expect(open(B)).rejects.toThrow(
      `What is stored is still sealed with the master key ${idOf(A)} too; give it in MASTER_KEY_PREVIOUS until kurier keys rotate-master has ended.`,
    );
    expect(await rotateMaster(db.sql, both)).toEqual({ values: 1, wrapped: 0, replaced: [idOf(A)] });
    expect(await sealedBy()).toEqual([idOf(B)]);
    const alone = await open(B);
    expect([await openPayload(alone.sealer, old), await openPayload(alone.sealer, fresh)]).toEqual([old, fresh]);
    await expect(open(A)).rejects.toThrow(`MASTER_KEY is not the key that what is stored is sealed with`);
  });

  test("a wrong master key is told of the key that everything else lies under, and not of those that were replaced", async () => {
    await open(A);
    await rotateMaster(db.sql, await open(B, A));
    await expect(open(C)).rejects.toThrow(
      `MASTER_KEY is not the key that what is stored is sealed with, which is ${idOf(B)}; give that one, in MASTER_KEY_PREVIOUS when MASTER_KEY is to replace it.`,
    );
  });

  test("the ring of master keys opens what every key of its history has sealed, also outside of the database, and their cursors", async () => {
    const outside = (await open(A)).sealer.seal(Buffer.from("evidence"), "record");
    const cursor = createCursors(A).seal("feed", "7");
    await rotateMaster(db.sql, await open(B, A));
    await rotateMaster(db.sql, await open(C, B));
    const { sealer, keys } = await open(C);
    expect(sealer.open(idOf(A), outside, "record").toString()).toBe("evidence");
    expect(createCursors(keys[0], keys.slice(1)).open("feed", cursor)).toBe("7");
    expect((await listMasterKeys(db.sql)).map(({ keyId, replacedBy }) => [keyId, replacedBy])).toEqual([
      [idOf(A), idOf(C)],
      [idOf(B), idOf(C)],
      [idOf(C), undefined],
    ]);
    await rotateMaster(db.sql, await open(A, C));
    expect((await open(A)).keys).toHaveLength(3);
  });

  test("a change of the master key under which an operator gives a key twice goes as with each once", async () => {
    await sealPayload((await open(A)).sealer);
    expect(await rotateMaster(db.sql, await open(B, A, B, A))).toEqual({ values: 1, wrapped: 0, replaced: [idOf(A)] });
    expect((await open(B)).keys).toHaveLength(2);
  });

  test("the ring of master keys whose register is lost opens with the key that has sealed, also where keys of firms seal documents", async () => {
    const firmId = randomUUID();
    await db.sql`
      insert into payload (document_id, key_id, sealed, bytes) values (${randomUUID()}, ${`firm:${firmId}`}, '\\x00', 1)`;
    await expect(open(A)).resolves.toBeDefined();
  });

  test("a change of the master key that was cut off is begun again and seals what is left", async () => {
    const { sealer } = await open(A);
    for (let i = 0; i < 250; i += 1) await sealPayload(sealer);
    const both = await open(B, A);
    const payload = SEALED.find(({ table }) => table === "payload") ?? SEALED[0];
    if (payload === undefined) throw new Error("nothing is sealed");
    // Ends in its middle, where the context of one row cannot be said.
    let rows = 0;
    const cut = { ...payload, sealed: { sealed: (id: string) => (++rows > 120 ? `${id}!` : id) } };
    await expect(resealTable(db.sql, cut, both.sealer)).rejects.toThrow();
    expect(await sealedBy()).toEqual([idOf(A), idOf(B)].sort());
    expect((await rotateMaster(db.sql, both)).values).toBe(130);
    expect(await sealedBy()).toEqual([idOf(B)]);
    expect((await rotateMaster(db.sql, both)).values).toBe(0);
  });

  test("a change of the master key leaves what a node that seals under the old one writes meanwhile", async () => {
    const { sealer } = await open(A);
    const id = await sealPayload(sealer);
    const both = await open(B, A);
    const written = Buffer.from("written meanwhile");
    let seals = 0;
    const late: Sealer = {
      ...both.sealer,
      forFirm: () => Promise.resolve(late),
      sealInSlices: async (plain, context) => {
        if ((seals += 1) === 1)
          await db.sql`update payload set sealed = ${sealer.seal(written, id)} where document_id = ${id}`;
        return both.sealer.sealInSlices(plain, context);
      },
    };
    expect((await rotateMaster(db.sql, { ...both, sealer: late })).values).toBe(1);
    expect(await openPayload(both.sealer, id)).toBe(written.toString());
    expect(await sealedBy()).toEqual([idOf(B)]);
  });

  test("a change of the master key names what does not open, leaves it, and seals all else", async () => {
    const { sealer } = await open(A);
    const ids = await Promise.all(Array.from({ length: 5 }, () => sealPayload(sealer)));
    const [damaged = "", short = ""] = ids;
    await db.sql`
      update payload set sealed = set_byte(sealed, 20, (get_byte(sealed, 20) + 1) % 256) where document_id = ${damaged}`;
    await db.sql`update payload set sealed = '\\x00' where document_id = ${short}`;
    const both = await open(B, A);
    const told: string[] = [];
    const { values, replaced } = await rotateMaster(db.sql, both, (table, id) => told.push(`${table} ${id}`));
    expect(values).toBe(3);
    expect(replaced).toEqual([idOf(A)]);
    expect(told.sort()).toEqual([`payload ${damaged}`, `payload ${short}`].sort());
    expect(await sealedBy()).toEqual([idOf(A), idOf(B)].sort());
    // What is put back from a copy is opened by the key that is kept.
    const alone = await open(B);
    const copy = sealer.seal(Buffer.from(damaged), damaged);
    await db.sql`update payload set sealed = ${copy} where document_id = ${damaged}`;
    expect(await openPayload(alone.sealer, damaged)).toBe(damaged);
  });

  test("a change of the master key says which key is missing where a value was sealed under one that is not given, and calls only what is damaged damaged", async () => {
    const { sealer } = await open(A);
    const damaged = await sealPayload(sealer);
    await db.sql`update payload set sealed = '\\x00' where document_id = ${damaged}`;
    const foreign = await sealPayload(createSealer([C]));
    const said: string[] = [];
    const report = createUnopenedReport((sentence) => said.push(sentence));
    await rotateMaster(db.sql, await open(B, A), report.hear);
    expect(replacedSentences([idOf(A)], report.isKeyMissing())).toBe(
      `Kept for evidence and the payload store: ${idOf(A)}.`,
    );
    expect(report.end()).toBe(false);
    expect([...said.slice(0, 2).sort(), ...said.slice(2)]).toEqual([
      ...[
        `The row ${damaged} of payload does not open; it was left as it is.`,
        `The row ${foreign} of payload does not open, for its key ${idOf(C)} is missing; it was left as it is.`,
      ].sort(),
      `Rows that do not open, since their key is missing: 1. Give the master key ${idOf(C)} in MASTER_KEY_PREVIOUS, and run this again.`,
      "Rows that do not open, since they are damaged: 1. Restore them from a copy of the database; the key that sealed them is kept.",
    ]);
    // What the sentence asks for helps.
    await rotateMaster(db.sql, await open(B, A, C), () => undefined);
    expect(await openPayload((await open(B)).sealer, foreign)).toBe(foreign);
  });

  test("a change of the master key covers every column of the schema that holds sealed octets", async () => {
    const columns = await db.sql<{ name: string }[]>`
      select table_name || '.' || column_name as name
      from information_schema.columns join information_schema.tables using (table_schema, table_name)
      where table_schema = 'public' and table_type = 'BASE TABLE' and data_type = 'bytea'
        and column_name like '%sealed%'`;
    const covered = SEALED.flatMap(({ table, sealed }) => Object.keys(sealed).map((name) => `${table}.${name}`));
    expect(columns.map(({ name }) => name).sort()).toEqual(covered.sort());
  });
});

describe("an engine whose master key is replaced", () => {
  let first: Node;
  let second: Node;
  /** Tokens name the public URL, which nodes of one installation share. */
  const PUBLIC_URL = "http://kurier.test";
  type Node = TestEngine & { readonly sapiBaseUrl: string };
  const startNode = async (keys: Partial<Config>, db?: TestDatabase): Promise<Node> => {
    const PORT = await freePort();
    const node = await startTestEngine({ config: { ...keys, PORT, PUBLIC_URL }, ...(db === undefined ? {} : { db }) });
    return { ...node, sapiBaseUrl: `http://127.0.0.1:${PORT}/sapi/v1` };
  };
  beforeAll(async () => {
    first = await startNode({ MASTER_KEY: A, MASTER_KEY_PREVIOUS: [B] });
    second = await startNode({ MASTER_KEY: B, MASTER_KEY_PREVIOUS: [A] }, first.db);
  });
  afterAll(async () => {
    await second.stop();
    await first.stop();
  });

  test("an engine whose master key is replaced serves what it stored before, during and after; a node with another key does not start", async () => {
    const { sandbox } = first;
    const mailbox = async (who: "sender" | "receiver"): Promise<Mailbox> => ({
      participantId: sandbox[who].participantId,
      token: await accessToken(first, sandbox[who]),
    });
    const [sender, receiver] = [await mailbox("sender"), await mailbox("receiver")];
    const sendOne = async (by: Node): Promise<number> => {
      const xml = invoiceXml(sender.participantId, receiver.participantId);
      return (await send(by, sender, sendParts(sender.participantId, receiver.participantId, xml))).status;
    };
    expect([await sendOne(first), await sendOne(second)]).toEqual([202, 202]);
    const keyring = await openKeyring(first.db.sql, [B, A], systemClock);
    const [rotated, meanwhile] = await Promise.all([rotateMaster(first.db.sql, keyring), sendOne(second)]);
    expect([meanwhile, rotated.replaced]).toEqual([202, [idOf(A)]]);
    expect(rotated.values).toBeGreaterThan(0);
    const shown = await fetch(`${second.engine.adminUrl}/admin/master-keys`, {
      headers: { authorization: `Bearer ${second.sandbox.admin.token}` },
    });
    expect(await shown.json()).toMatchObject({
      keys: [
        { keyId: idOf(A), seals: false, replacedBy: idOf(B) },
        { keyId: idOf(B), seals: true, replacedBy: null },
      ],
    });
    await expect(startNode({ MASTER_KEY: C }, first.db)).rejects.toThrow(
      "MASTER_KEY is not the key that what is stored is sealed with",
    );
    const third = await startNode({ MASTER_KEY: B }, first.db);
    try {
      const documents = await eventually("all three have arrived", async () => {
        const listed = (await sapi(third, receiver, "GET", "/document/receive")).json["documents"];
        return Array.isArray(listed) && listed.length === 3 && (listed as readonly { documentId: string }[]);
      });
      for (const { documentId } of documents) {
        const { status, json } = await sapi(third, receiver, "GET", `/document/receive/${documentId}`);
        expect([status, String(json["payload"]).includes("<Invoice")]).toEqual([200, true]);
      }
    } finally {
      await third.stop();
    }
  });

  test("an engine that was not given the new master key asks who wants what the others have sealed to come again, and names the key in its log", async () => {
    const left = await startNode({ MASTER_KEY: A });
    const ahead = await startNode({ MASTER_KEY: B, MASTER_KEY_PREVIOUS: [A] }, left.db);
    try {
      const { sandbox } = left;
      const mailbox = async (who: "sender" | "receiver"): Promise<Mailbox> => ({
        participantId: sandbox[who].participantId,
        token: await accessToken(ahead, sandbox[who]),
      });
      const [sender, receiver] = [await mailbox("sender"), await mailbox("receiver")];
      const xml = invoiceXml(sender.participantId, receiver.participantId);
      const sent = await send(ahead, sender, sendParts(sender.participantId, receiver.participantId, xml));
      expect(sent.status).toBe(202);
      const documentId = await eventually("it has arrived", async () => {
        const listed = (await sapi(ahead, receiver, "GET", "/document/receive")).json["documents"];
        return Array.isArray(listed) && (listed as readonly { documentId: string }[])[0]?.documentId;
      });
      await rotateMaster(left.db.sql, await openKeyring(left.db.sql, [B, A], systemClock));
      const asked = (node: Node): ReturnType<typeof sapi> =>
        sapi(node, receiver, "GET", `/document/receive/${documentId}`);
      const { status, headers, json } = await asked(left);
      expect([status, headers.get("retry-after") !== null, json]).toMatchObject([
        503,
        true,
        { error: { category: "TEMPORARY", retryable: true } },
      ]);
      const said = left.lines.map((line) => JSON.parse(line) as { readonly event: string; readonly keyId?: string });
      expect(said).toContainEqual(expect.objectContaining({ event: "storage.key_missing", keyId: idOf(B) }));
      expect(said.map(({ event }) => event)).not.toContain("request.failed");
      expect((await asked(ahead)).status).toBe(200);
      // A list without numbers would be taken for one of documents that have none.
      const listed = (node: Node): ReturnType<typeof http> =>
        http("GET", `${node.sapiBaseUrl.replace("/sapi/v1", "/api/v1")}/documents/inbox`, {
          authorization: `Bearer ${receiver.token}`,
        });
      expect((await listed(left)).status).toBe(503);
      expect((await listed(ahead)).json).toMatchObject({
        documents: [{ documentNumber: expect.any(String) as string }],
      });
      // What lies under a key that is registered nowhere is damaged: it opens at no other node, and later neither.
      await left.db.sql`update payload set key_id = ${idOf(C)} where document_id = ${documentId}`;
      const damaged = await eventually("the key is known to be nobody's", async () => {
        const answer = await asked(ahead);
        return answer.status !== 503 && answer;
      });
      expect([damaged.status, damaged.json]).toMatchObject([500, { error: { retryable: false } }]);
    } finally {
      await ahead.stop();
      await left.stop();
    }
  });
});
