/**
 * A key for each firm: erased with it, it takes every copy of what it sealed along, wherever backups of the database are.
 * Method: rings of several processes on one database and one directory of keys; and an engine whose database is copied
 * before a firm is erased, so that everything in the copy can be tried with every key that is left.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { randomUUID } from "node:crypto";
import {
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gunzipSync } from "node:zlib";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";

import { buildIfNeeded } from "../../../deploy/build.mjs";
import { systemClock } from "../../../engine/base/clock.js";
import type { Clock } from "../../../engine/base/clock.js";
import type { FirmKeyUse } from "../../../engine/base/config.js";
import { newId } from "../../../engine/base/ids.js";
import type { FirmId } from "../../../engine/base/ids.js";
import { LIMITS } from "../../../engine/base/limits.js";
import { acceptDocuments } from "../../../engine/storage/documents/documents.js";
import { listFirmSent } from "../../../engine/storage/documents/firm-sent.js";
import { FirmKeyGone, openFirmKeyFiles } from "../../../engine/storage/keyring/firm-key-files.js";
import { joinFirmKeys, rewrapFirmKeys } from "../../../engine/storage/keyring/firm-keys.js";
import { rememberOlderKeys } from "../../../engine/storage/keyring/firm-keys-made.js";
import { openFacts, sealFacts, useFactsSealer } from "../../../engine/storage/keyring/facts.js";
import { openKeyring } from "../../../engine/storage/keyring/keyring.js";
import type { Keyring } from "../../../engine/storage/keyring/keyring.js";
import { createSealer } from "../../../engine/storage/sealer.js";
import { openSql } from "../../../engine/storage/sql.js";
import type { Sql } from "../../../engine/storage/sql.js";
import { EXIT } from "../../../gateway/commands/command.js";
import { createUnopenedReport, rotateMaster } from "../../../gateway/commands/keys/rotate-master.js";
import { SEALED } from "../../../gateway/commands/keys/sealed-columns.js";
import { boxClient } from "../../support/callers/box.js";
import { accessToken, invoiceXml, MASTER_KEY, send, sendParts, startTestEngine } from "../../support/engines/engine.js";
import type { TestEngine } from "../../support/engines/engine.js";
import { eventually } from "../../support/eventually.js";
import { api } from "../../support/callers/partners.js";
import { freshDatabase } from "../../support/database/postgres.js";
import type { TestDatabase } from "../../support/database/postgres.js";
import { PROJECT } from "../../support/engines/process.js";
import { whileUnmounted } from "../../support/unmounts.js";
import { kurier } from "../../unit/commands/kurier.js";
import type { Ran } from "../../unit/commands/kurier.js";
import { newDocumentRow, sealedDocumentRow, seedFirm } from "../../support/database/seed.js";

const [A, B] = [Buffer.alloc(32, 1), Buffer.alloc(32, 2)];
const SENDER = "0245:2020202020";
const FACTS = { documentNumber: "F-1", payableAmount: "12.50", precedingInvoiceIds: [] };

const folders: string[] = [];
function newFolder(): string {
  const path = mkdtempSync(join(tmpdir(), "kurier-firm-keys-"));
  folders.push(path);
  return path;
}
afterAll(() => {
  for (const path of folders) rmSync(path, { recursive: true, force: true });
});

const newFirm = (): FirmId => newId(systemClock) as FirmId;
const keyFiles = (folder: string): string[] => readdirSync(folder).filter((name) => name.endsWith(".key"));

describe("keys of firms", () => {
  let db: TestDatabase;
  let folder: string;
  beforeAll(async () => {
    db = await freshDatabase();
    folder = newFolder();
  });
  afterAll(() => db.drop());
  afterEach(async () => {
    await db.sql`truncate master_key, firm_key_store, firm_key_made, payload, document cascade`;
    folder = newFolder();
  });

  interface Start {
    readonly given?: readonly [Buffer, ...Buffer[]];
    readonly text?: string | undefined;
    readonly use?: FirmKeyUse;
    readonly clock?: Clock;
  }
  /** What a process does when it starts. */
  const start = async (sql: Sql, options: Start = {}): Promise<Keyring> => {
    const { given = [A], use = "seal", clock = systemClock } = options;
    const text = "text" in options ? options.text : `file:${folder}`;
    return joinFirmKeys(sql, await openKeyring(sql, given, clock), { text, use, clock });
  };
  const sealed = async ({ sealer }: Keyring, firmId: FirmId): Promise<readonly [keyId: string, octets: Buffer]> => {
    const by = await sealer.forFirm(firmId);
    return [by.keyId, await by.sealInSlices(Buffer.from("words"), "row")];
  };

  test("keys of firms are one for each, whichever of many processes was first; none waits for a restart to open what another sealed", async () => {
    const nodes = [await start(db.sql), await start(db.another()), await start(db.another())];
    const firms = Array.from({ length: 8 }, newFirm);
    const made = await Promise.all(nodes.flatMap((node) => firms.map((firmId) => sealed(node, firmId))));
    expect(keyFiles(folder).sort()).toEqual(firms.map((firmId) => `${firmId}.key`).sort());
    expect(new Set(made.map(([keyId]) => keyId)).size).toBe(firms.length);
    for (const { sealer } of [...nodes, await start(db.another())])
      for (const [keyId, octets] of made) {
        expect(sealer.open(keyId, octets, "row").toString()).toBe("words");
        expect((await sealer.openInSlices(keyId, octets, "row")).toString()).toBe("words");
      }
    const [[keyId, octets] = ["", Buffer.alloc(0)]] = made;
    const stranger = `firm:${firms[1] ?? ""}`;
    expect(() => nodes[0]?.sealer.open(stranger, octets, "row")).toThrow();
    // Under no master key: a ring that is not told of the directory opens nothing.
    expect(() => createSealer([A]).open(keyId, octets, "row")).toThrow("FIRM_KEYS is not set");
    expect(readFileSync(join(folder, `${firms[0] ?? ""}.key`), "utf8")).toMatch(/^[0-9a-f]{16} \S{80}\n$/);
  });

  test("keys of firms that another process makes, just when one has seen that there is none, are no lost ones", async () => {
    const [firmId, other] = [newFirm(), await start(db.another())];
    const late = new Proxy(db.sql, {
      apply: async (target, self, given: unknown[]) => {
        if (String(given[0]).includes("from firm_key_made where firm_id")) await sealed(other, firmId);
        return Reflect.apply(target, self, given) as unknown;
      },
    });
    const [keyId, octets] = await sealed(await start(late), firmId);
    expect(other.sealer.open(keyId, octets, "row").toString()).toBe("words");
  });

  test("keys of firms that a process made and died before it used them are whole, and are those that the next one uses", async () => {
    await buildIfNeeded();
    const keyring = await start(db.sql);
    const program = `
      const [{ openFirmKeyFiles }, { randomBytes }, { systemClock }, { newId }] = await Promise.all([
        import(${JSON.stringify(join(PROJECT, "dist/engine/storage/keyring/firm-key-files.js"))}), import("node:crypto"),
        import(${JSON.stringify(join(PROJECT, "dist/engine/base/clock.js"))}),
        import(${JSON.stringify(join(PROJECT, "dist/engine/base/ids.js"))})]);
      const files = openFirmKeyFiles(${JSON.stringify(`file:${folder}`)});
      const name = await files.baptise();
      process.stdout.write("begun");
      for (;;) await files.add(newId(systemClock), { by: ${JSON.stringify(keyring.sealer.keyId)}, sealed: randomBytes(60) }, name);`;
    const child = spawn(process.execPath, ["--input-type=module", "-e", program], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    const ended = once(child, "exit");
    try {
      await once(child.stdout, "data");
      await eventually("it has made some keys", () => Promise.resolve(keyFiles(folder).length > 3));
    } finally {
      child.kill("SIGKILL");
      await ended;
    }
    const files = openFirmKeyFiles(`file:${folder}`);
    const name = await files.baptise();
    let found = 0;
    for await (const firmId of files.list()) {
      const before = await files.read(firmId);
      expect(before?.sealed).toHaveLength(60);
      expect(await files.add(firmId, { by: "f".repeat(16), sealed: Buffer.alloc(60) }, name)).toEqual(before);
      found += 1;
    }
    expect(found).toBe(keyFiles(folder).length);
    expect((await sealed(keyring, newFirm()))[0]).toMatch(/^firm:/);
  });

  test("keys of firms that are erased are in no draft either that a process left when it was killed, whatever release wrote it; other firms keep their keys", async () => {
    await buildIfNeeded();
    const keyring = await start(db.sql);
    const [firmId, other] = [newFirm(), newFirm()];
    await sealed(keyring, firmId);
    const [keyId, octets] = await sealed(keyring, other);
    const program = `
      const { openFirmKeyFiles } = await import(${JSON.stringify(join(PROJECT, "dist/engine/storage/keyring/firm-key-files.js"))});
      const files = openFirmKeyFiles(${JSON.stringify(`file:${folder}`)});
      const key = await files.read(${JSON.stringify(firmId)});
      await files.replace(${JSON.stringify(firmId)}, key);
      process.stdout.write("begun");
      const forever = async () => { for (;;) await files.replace(${JSON.stringify(firmId)}, key); };
      await Promise.all(Array.from({ length: 8 }, forever));`;
    const drafts = (): string[] => readdirSync(folder).filter((name) => name.startsWith("."));
    await eventually("a process was killed over a draft", async () => {
      const child = spawn(process.execPath, ["--input-type=module", "-e", program], {
        stdio: ["ignore", "pipe", "inherit"],
      });
      const ended = once(child, "exit");
      await once(child.stdout, "data");
      await eventually("it writes drafts", () => drafts().length > 0);
      child.kill("SIGKILL");
      await ended;
      return drafts().length > 0;
    });
    // As the release before names them: it does not say whose they are.
    writeFileSync(join(folder, `.${randomUUID()}`), readFileSync(join(folder, `${firmId}.key`)));
    const othersDraft = `.${other}.key.${randomUUID()}`;
    writeFileSync(join(folder, othersDraft), readFileSync(join(folder, `${other}.key`)));
    await openFirmKeyFiles(`file:${folder}`).erase(firmId);
    expect(readdirSync(folder).sort()).toEqual([othersDraft, `${other}.key`, `${firmId}.erased`, "name"].sort());
    expect(keyring.sealer.open(keyId, octets, "row").toString()).toBe("words");
  });

  test("keys of firms are in no draft of a killed process that the old master key opens, once they are wrapped under the new one; drafts under the new one and what else is there stay", async () => {
    const firmId = newFirm();
    await sealed(await start(db.sql), firmId);
    const path = join(folder, `${firmId}.key`);
    const old = readFileSync(path);
    const next = (await start(db.another(), { given: [B, A], use: "open" })).sealer;
    const files = openFirmKeyFiles(`file:${folder}`);
    expect(await rewrapFirmKeys(next, files)).toBe(1);
    for (const draft of [`.${firmId}.key.${randomUUID()}`, `.${randomUUID()}`]) writeFileSync(join(folder, draft), old);
    const young = `.${firmId}.key.${randomUUID()}`;
    const begun = `.${firmId}.key.${randomUUID()}`;
    writeFileSync(join(folder, young), readFileSync(path));
    writeFileSync(join(folder, begun), "");
    writeFileSync(join(folder, ".snapshot"), old);
    expect(await rewrapFirmKeys(next, files)).toBe(0);
    expect(readdirSync(folder).sort()).toEqual([".snapshot", young, begun, `${firmId}.key`, "name"].sort());
  });

  test("keys of firms are asked for at every start once they seal: none, another directory and one that is not mounted are refused in a sentence, and so is a wrong master key", async () => {
    expect((await start(db.sql, { use: "open" })).sealer.isByFirm).toBe(false);
    await start(db.sql, { text: undefined });
    await start(db.sql);
    const wrong = "FIRM_KEYS is not the directory whose keys seal what is stored; give that one.";
    await expect(start(db.sql, { text: undefined })).rejects.toThrow(
      "FIRM_KEYS is missing: what is stored is sealed under the keys of firms in such a directory.",
    );
    const other = newFolder();
    await expect(start(db.sql, { text: `file:${other}` })).rejects.toThrow(wrong);
    expect(readdirSync(other)).toEqual([]);
    await openFirmKeyFiles(`file:${other}`).baptise();
    await expect(start(db.sql, { text: `file:${other}` })).rejects.toThrow(wrong);
    await expect(start(db.sql, { given: [B] })).rejects.toThrow(
      "MASTER_KEY is not the key that what is stored is sealed with",
    );
    writeFileSync(join(other, "plain"), "");
    await expect(start(db.sql, { text: `file:${join(other, "plain")}` })).rejects.toThrow(
      "FIRM_KEYS could not be read: ENOTDIR.",
    );
  });

  test("keys of firms: a directory whose name is written down is not named again, so that a mount point from which it goes while a process starts stays empty", async () => {
    await start(db.sql);
    folders.push(`${folder}.away`);
    const later = await whileUnmounted(folder, () => start(db.another()));
    expect(readdirSync(folder)).toEqual([]);
    const { sealer } = later as Keyring;
    await expect(sealer.forFirm(newFirm())).rejects.toMatchObject({ reason: "TEMPORARY" });
  });

  test("keys of firms that cannot be read now are asked for again later; a firm without a key gets none in a directory that is away", async () => {
    const keyring = await start(db.sql);
    const [firmId, other] = [newFirm(), newFirm()];
    const [keyId, octets] = await sealed(keyring, firmId);
    const later = await start(db.another());
    renameSync(folder, `${folder}.away`);
    const temporary = expect.objectContaining({ reason: "TEMPORARY" }) as unknown;
    await expect(later.sealer.openInSlices(keyId, octets, "row")).rejects.toEqual(temporary);
    expect(() => later.sealer.open(keyId, octets, "row")).toThrow(temporary as Error);
    await expect(later.sealer.forFirm(other)).rejects.toEqual(temporary);
    // What is held goes on.
    expect((await sealed(keyring, firmId))[0]).toBe(keyId);
    expect(existsSync(folder)).toBe(false);
    renameSync(`${folder}.away`, folder);
    expect(later.sealer.open(keyId, octets, "row").toString()).toBe("words");
  });

  test("keys of firms that are lost are not made a second time: whoever seals for the firm is told so in a sentence, by any node and also where the key is older than what is remembered, until its file is back", async () => {
    const keyring = await start(db.sql);
    const [firmId, other] = [newFirm(), newFirm()];
    const [keyId, octets] = await sealed(keyring, firmId);
    const path = join(folder, `${firmId}.key`);
    const lose = async (): Promise<void> => {
      renameSync(path, `${path}.lost`);
      const later = await start(db.another());
      await expect(later.sealer.forFirm(firmId)).rejects.toThrow(
        `The key of the firm ${firmId} is lost from FIRM_KEYS, and no second one is made; restore its file from a copy.`,
      );
      expect((await sealed(later, other))[0]).toBe(`firm:${other}`);
      expect(existsSync(path)).toBe(false);
      renameSync(`${path}.lost`, path);
      expect((await later.sealer.forFirm(firmId)).keyId).toBe(keyId);
      expect(later.sealer.open(keyId, octets, "row").toString()).toBe("words");
    };
    await lose();
    // As the release before leaves them: with keys, and with nothing remembered.
    await db.sql`truncate firm_key_made`;
    await db.sql`update firm_key_store set remembered_at = null`;
    await start(db.sql);
    await lose();
  });

  test("keys of firms that are older than what is remembered are all remembered, also when the first start that does it dies on the way", async () => {
    await start(db.sql);
    await db.sql`update firm_key_store set remembered_at = null`;
    const firms = Array.from({ length: LIMITS.firm_keys_remembered_at_once + 1 }, newFirm);
    async function* dying(): AsyncGenerator<FirmId> {
      yield* firms.slice(0, -1);
      await Promise.reject(new Error("the process ends here"));
    }
    async function* whole(): AsyncGenerator<FirmId> {
      yield* await Promise.resolve(firms);
    }
    const remembered = async (): Promise<number> => {
      const [row] = await db.sql<{ n: number }[]>`select count(*)::integer as n from firm_key_made`;
      return row?.n ?? 0;
    };
    await expect(rememberOlderKeys(db.sql, { list: dying }, systemClock)).rejects.toThrow("the process ends here");
    expect(await remembered()).toBe(firms.length - 1);
    await rememberOlderKeys(db.sql, { list: whole }, systemClock);
    expect(await remembered()).toBe(firms.length);
    // Once done it is not done again: ten thousand files are not read at every start.
    await db.sql`truncate firm_key_made`;
    await rememberOlderKeys(db.sql, { list: whole }, systemClock);
    expect(await remembered()).toBe(0);
  });

  test("keys of firms that only open leave sealing to the master key, until every node has them", async () => {
    const sealing = await start(db.sql);
    const firmId = newFirm();
    const [keyId, octets] = await sealed(sealing, firmId);
    const opening = await start(db.another(), { use: "open" });
    expect(opening.sealer.open(keyId, octets, "row").toString()).toBe("words");
    expect((await sealed(opening, firmId))[0]).toBe(opening.sealer.keyId);
    expect((await sealing.sealer.forFirm(undefined)).keyId).toBe(opening.sealer.keyId);
  });

  test("keys of firms take over what a master key sealed before, once; a change of the master key then writes the keys and not one row", async () => {
    const firmId = await seedFirm(db.sql, `0245:${String(Math.trunc(systemClock.now())).slice(-10)}`);
    const before = await start(db.sql, { text: undefined });
    const row = newDocumentRow(firmId, SENDER, {});
    await acceptDocuments(db.sql, [
      await sealedDocumentRow(
        before.sealer,
        { ...row, facts: sealFacts(before.sealer, { id: row.id, sender: SENDER }, FACTS) },
        Buffer.from("an invoice"),
      ),
    ]);
    const stored = async (): Promise<{ readonly key_id: string; readonly sealed: Buffer; readonly facts: unknown }> => {
      const [found] = await db.sql<{ key_id: string; sealed: Buffer; facts: unknown }[]>`
        select p.key_id, p.sealed, d.facts from payload as p join document as d on d.id = p.document_id`;
      if (found === undefined) throw new Error("no document");
      return found;
    };
    const first = await start(db.sql);
    expect((await stored()).key_id).toBe(first.sealer.keyId);
    expect(await rotateMaster(db.sql, first)).toEqual({ values: 2, wrapped: 0, replaced: [] });
    const after = await stored();
    expect([after.key_id, after.facts]).toEqual([
      `firm:${firmId}`,
      expect.objectContaining({ keyId: `firm:${firmId}` }),
    ]);
    expect((await rotateMaster(db.sql, first)).values).toBe(0);

    const both = await start(db.sql, { given: [B, A] });
    expect(await rotateMaster(db.sql, both)).toEqual({ values: 0, wrapped: 1, replaced: [first.sealer.keyId] });
    expect(await stored()).toEqual(after);
    expect(readFileSync(join(folder, `${firmId}.key`), "utf8").slice(0, 16)).toBe(both.sealer.keyId);
    const alone = await start(db.sql, { given: [B] });
    expect(gunzipSync(alone.sealer.open(after.key_id, after.sealed, row.id)).toString()).toBe("an invoice");
    expect(openFacts(alone.sealer, row.id, after.facts)).toMatchObject(FACTS);
  });

  test.each<readonly [string, (firmId: FirmId) => unknown]>([
    ["damaged", (firmId) => writeFileSync(join(folder, `${firmId}.key`), "")],
    ["lost", (firmId) => rmSync(join(folder, `${firmId}.key`))],
    ["erased", (firmId) => openFirmKeyFiles(`file:${folder}`).erase(firmId)],
  ])(
    "keys of firms of which one is %s keep the rows of no other from their key, and those that are left are named",
    async (_, lose) => {
      const before = await start(db.sql, { text: undefined });
      const ids = new Map<FirmId, string>();
      const firms = [1, 2, 3].map((n) => `0245:${String(Math.trunc(systemClock.now()) + n).slice(-10)}`);
      for (const participant of firms) {
        const firmId = await seedFirm(db.sql, participant);
        const row = newDocumentRow(firmId, participant, {});
        const facts = sealFacts(before.sealer, { id: row.id, sender: participant }, FACTS);
        await acceptDocuments(db.sql, [
          await sealedDocumentRow(before.sealer, { ...row, facts }, Buffer.from("an invoice")),
        ]);
        ids.set(firmId, row.id);
      }
      const keyring = await start(db.sql);
      for (const firmId of ids.keys()) await sealed(keyring, firmId);
      const [first = newFirm()] = ids.keys();
      const id = ids.get(first) ?? "";
      await lose(first);
      const said: string[] = [];
      const report = createUnopenedReport((sentence) => said.push(sentence));
      const later = await start(db.another());
      const { values } = await rotateMaster(db.sql, later, report.hear, () => undefined);
      expect([values, report.end()]).toEqual([4, false]);
      expect(said).toEqual([
        `The row ${id} of payload was left as it is: the key of its firm ${first} cannot be had.`,
        `The row ${id} of document was left as it is: the key of its firm ${first} cannot be had.`,
        `Rows of firms whose keys cannot be had: 2. Restore the files of ${first} in FIRM_KEYS from a copy, or forget who was erased with kurier firms erase, and run this again.`,
      ]);
      const keys = await db.sql<{ key_id: string }[]>`select key_id from payload`;
      expect(new Set(keys.map(({ key_id }) => key_id))).toEqual(
        new Set([keyring.sealer.keyId, ...[...ids.keys()].slice(1).map((firmId) => `firm:${firmId}`)]),
      );
    },
  );

  test("keys of firms that do not open keep no others under the old master key: kurier keys rotate-master names their files and nothing of them, replaces no master key and ends with 1, until their files are back", async () => {
    const keyring = await start(db.sql);
    const firms = Array.from({ length: 6 }, newFirm);
    const values = new Map<FirmId, readonly [string, Buffer]>();
    for (const firmId of firms) values.set(firmId, await sealed(keyring, firmId));
    const [damaged, cut, foreign, unreadable] = firms.map((firmId) => join(folder, `${firmId}.key`)) as string[];
    const bad = [damaged, cut, foreign, unreadable] as string[];
    const copies = new Map(bad.map((path) => [path, readFileSync(path)]));
    const flipped = Buffer.from(copies.get(damaged as string) ?? "");
    flipped.write(flipped[40] === 65 ? "B" : "A", 40);
    writeFileSync(damaged as string, flipped);
    writeFileSync(cut as string, "");
    const C = createSealer([Buffer.alloc(32, 3)]);
    const secret = C.seal(Buffer.alloc(32, 9), `firm key ${firms[2] ?? ""}`).toString("base64");
    writeFileSync(foreign as string, `${C.keyId} ${secret}\n`);
    rmSync(unreadable as string);
    symlinkSync(unreadable as string, unreadable as string);

    const rotate = (): Promise<Ran> =>
      kurier(["keys", "rotate-master"], {
        env: {
          ...{ DATABASE_URL: db.url, ENVIRONMENT: "sandbox", DATA_DIR: newFolder(), FIRM_KEYS: `file:${folder}` },
          ...{ MASTER_KEY: B.toString("base64"), MASTER_KEY_PREVIOUS: A.toString("base64") },
        },
      });
    const ran = await rotate();
    const [oldId, nextId] = [keyring.sealer.keyId, createSealer([B]).keyId];
    expect([ran.code, ran.out.split("\n")], ran.err).toEqual([
      EXIT.failed,
      [
        `0 values were sealed under ${nextId}, or the keys of their firms.`,
        "2 keys of firms were wrapped under it.",
        "",
      ],
    ]);
    expect(ran.err.split("\n").sort()).toEqual(
      [
        "",
        `${firms[0] ?? ""}.key in FIRM_KEYS was left as it is: it does not open.`,
        `${firms[1] ?? ""}.key in FIRM_KEYS was left as it is: it does not open.`,
        `${firms[2] ?? ""}.key in FIRM_KEYS was left as it is: its master key ${C.keyId} is missing.`,
        `${firms[3] ?? ""}.key in FIRM_KEYS was left as it is: FIRM_KEYS could not be read: ELOOP.`,
        "Keys of firms that were not wrapped again: 4. Restore their files from a copy of FIRM_KEYS, or move away those of which there is none, and run this again; until then no master key is replaced, and MASTER_KEY_PREVIOUS is needed.",
      ].sort(),
    );
    expect(ran.err).not.toContain(secret.slice(0, 16));
    await expect(start(db.another(), { given: [B] })).rejects.toThrow(`still sealed with the master key ${oldId} too`);

    for (const path of bad.slice(0, 3)) writeFileSync(path, copies.get(path) ?? "");
    rmSync(unreadable as string);
    const again = await rotate();
    expect([again.code, again.err, again.out.split("\n").slice(1)]).toEqual([
      EXIT.ok,
      "",
      [
        "3 keys of firms were wrapped under it.",
        `Kept for evidence and the payload store: ${oldId}. MASTER_KEY_PREVIOUS is needed no longer.`,
        "",
      ],
    ]);
    const alone = await start(db.another(), { given: [B] });
    for (const firmId of firms.filter((_, index) => index !== 3)) {
      const [keyId, octets] = values.get(firmId) ?? ["", Buffer.alloc(0)];
      expect(alone.sealer.open(keyId, octets, "row").toString()).toBe("words");
    }
  });

  test("keys of firms that are erased while they are wrapped again do not come back, nor with an old copy of the directory, and no new one is made; other processes forget them", async () => {
    let passed = 0;
    const clock: Clock = { now: () => systemClock.now(), monotonic: () => systemClock.monotonic() + passed };
    const keyring = await start(db.sql, { clock });
    const firms = Array.from({ length: 12 }, newFirm);
    for (const firmId of firms) await sealed(keyring, firmId);
    const [keyId, octets] = await sealed(keyring, firms[0] ?? newFirm());
    const copies = new Map(keyFiles(folder).map((name) => [name, readFileSync(join(folder, name))]));
    const files = openFirmKeyFiles(`file:${folder}`);
    const next = (await start(db.another(), { given: [B, A], use: "open" })).sealer;
    await Promise.all([rewrapFirmKeys(next, files), ...firms.map((firmId) => files.erase(firmId))]);
    expect(keyFiles(folder)).toEqual([]);
    expect(await rewrapFirmKeys(next, files)).toBe(0);
    for (const [name, octetsOfKey] of copies) writeFileSync(join(folder, name), octetsOfKey);
    const fresh = await start(db.another(), { given: [B, A] });
    expect(() => fresh.sealer.open(keyId, octets, "row")).toThrow(FirmKeyGone);
    await expect(fresh.sealer.openInSlices(keyId, octets, "row")).rejects.toBeInstanceOf(FirmKeyGone);
    await expect(fresh.sealer.forFirm(firms[0])).rejects.toBeInstanceOf(FirmKeyGone);
    passed = LIMITS.firm_key_held_ms;
    expect(() => keyring.sealer.open(keyId, octets, "row")).toThrow(FirmKeyGone);
  });
});

describe("an erased firm", () => {
  let t: TestEngine;
  let folder: string;
  let firmId: FirmId;
  let other: FirmId;
  const NOTE = "CANARY-ANSWER-4718";

  beforeAll(async () => {
    folder = newFolder();
    t = await startTestEngine({ transport: "as4", config: { FIRM_KEYS: `file:${folder}` } });
    const { sandbox } = t;
    firmId = sandbox.sender.firmId as FirmId;
    other = sandbox.receiver.firmId as FirmId;
  });
  afterAll(() => t.stop());

  /** Puts the rows of a database into an empty one, as a backup that is restored does. */
  async function copyInto(from: Sql, url: string): Promise<void> {
    const tables = await from<{ readonly name: string }[]>`
      select table_name as name from information_schema.tables
      where table_schema = 'public' and table_type = 'BASE TABLE' and table_name <> 'schema_migration'`;
    const connection = openSql({ url, name: "restore", connections: 1 });
    try {
      await connection`set session_replication_role = replica`;
      for (const { name } of tables) {
        const [{ rows } = { rows: "[]" }] = await from<{ readonly rows: string }[]>`
          select coalesce(jsonb_agg(to_jsonb(t)), '[]')::text as rows from ${from(name)} as t`;
        await connection`delete from ${connection(name)}`;
        await connection`
          insert into ${connection(name)} overriding system value
          select r.* from jsonb_populate_recordset(null::${connection(name)}, ${rows}::text::jsonb) as r`;
      }
    } finally {
      await connection.end({ timeout: 1 });
    }
  }

  interface SealedRow {
    readonly where: string;
    readonly keyId: string;
    readonly octets: Buffer;
    readonly context: string;
  }
  /** Every sealed value of a database. */
  async function everythingSealed(sql: Sql): Promise<readonly SealedRow[]> {
    const found: SealedRow[] = [];
    for (const of of SEALED)
      for (const [column, contextOf] of Object.entries(of.sealed))
        for (const { id, key_id, octets } of await sql<{ id: string; key_id: string; octets: Buffer }[]>`
          select ${sql(of.id)}::text as id, ${sql(of.keyId)} as key_id, ${sql(column)} as octets from ${sql(of.table)}
          where ${sql(column)} is not null`)
          found.push({ where: `${of.table}.${column}`, keyId: key_id, octets, context: contextOf(id) });
    for (const table of ["document", "received_document"])
      for (const { id, facts } of await sql<{ id: string; facts: { keyId: string; sealed: string } }[]>`
        select id::text as id, facts from ${sql(table)}`)
        found.push({
          where: `${table}.facts`,
          keyId: facts.keyId,
          octets: Buffer.from(facts.sealed, "base64"),
          context: `facts ${id}`,
        });
    return found;
  }

  test("an erased firm's documents, numbers, answers and drafts are opened by nobody in a copy of the database from before, with every key that is left; its partner's are", async () => {
    const { sandbox } = t;
    const [from, to] = [sandbox.sender.participantId, sandbox.receiver.participantId];
    const token = await accessToken(sandbox, sandbox.sender);
    const receiverToken = await accessToken(sandbox, sandbox.receiver);
    const invoice = invoiceXml(from, to, { number: "CANARY-NUMBER-4711" });
    const sent = await send(
      sandbox,
      { participantId: from, token },
      sendParts(from, to, invoice, { documentId: "E-1" }),
    );
    expect(sent.status, sent.text).toBe(202);
    const received = await eventually("it is received", async () => {
      const [row] = await t.db.sql<{ id: string }[]>`select id from received_document where status = 'RECEIVED'`;
      return row?.id;
    });
    const answer = await api(t, receiverToken, `POST /documents/${received}/respond`, {
      body: { status: "UQ", note: NOTE },
    });
    expect(answer.status, answer.text).toBe(200);
    const box = await boxClient(t, token);
    const draft = await box.made({
      payloadXml: invoiceXml(from, to, { number: "CANARY-DRAFT-4712" }),
      metadata: { note: "CANARY-METADATA-4713" },
      scheduledFor: new Date(Date.now() + 3_600_000).toISOString(),
    });
    await eventually("the answer has come back and is told", async () => {
      const { text } = await api(t, token, `GET /documents/${String(sent.json["providerDocumentId"])}/responses`);
      return text.includes(NOTE);
    });
    const listed = await api(t, token, "GET /documents/outbox");
    expect(listed.text).toContain("CANARY-NUMBER-4711");
    expect(keyFiles(folder).sort()).toEqual([`${firmId}.key`, `${other}.key`].sort());
    expect((await box.call(`POST /box/items/${String(draft["boxItemId"])}/cancel`)).status).toBeLessThan(300);

    const copy = await freshDatabase();
    try {
      await copyInto(t.db.sql, copy.url);
      const erase = (env: Readonly<Record<string, string>>): Promise<Ran> =>
        kurier(["firms", "erase", "--firm", firmId, "--yes"], {
          env: { DATABASE_URL: t.db.url, ENVIRONMENT: "sandbox", DATA_DIR: newFolder(), ...env },
        });
      const refused = await erase({});
      expect([refused.code, refused.err]).toEqual([
        EXIT.configuration,
        expect.stringContaining("FIRM_KEYS is missing"),
      ]);
      expect(keyFiles(folder)).toHaveLength(2);
      const erased = await erase({ FIRM_KEYS: `file:${folder}` });
      expect([erased.code, erased.out], erased.err).toEqual([
        EXIT.ok,
        expect.stringContaining("Its key is gone from FIRM_KEYS: what it sealed is opened in no copy of the database"),
      ]);
      expect(keyFiles(folder)).toEqual([`${other}.key`]);

      const { sealer } = await joinFirmKeys(copy.sql, await openKeyring(copy.sql, [MASTER_KEY], systemClock), {
        ...{ text: `file:${folder}`, use: "seal", clock: systemClock },
      });
      const everything = await everythingSealed(copy.sql);
      const opened: Record<string, string[]> = { gone: [], partner: [], master: [] };
      let words = "";
      for (const { where, keyId, octets, context } of everything) {
        const whose = keyId === `firm:${firmId}` ? "gone" : keyId === `firm:${other}` ? "partner" : "master";
        opened[whose]?.push(where);
        if (whose === "gone") {
          await expect(sealer.openInSlices(keyId, octets, context)).rejects.toBeInstanceOf(FirmKeyGone);
          continue;
        }
        const plain = sealer.open(keyId, octets, context);
        const text = plain.subarray(0, 2).toString("hex") === "1f8b" ? gunzipSync(plain) : plain;
        if (where !== "signing_key.private_sealed") words += text.toString();
      }
      expect([...new Set(opened["gone"])].sort()).toEqual([
        "box_payload.metadata_sealed",
        "box_payload.sealed",
        "document.facts",
        "inbound_status.payload_sealed",
        "payload.sealed",
      ]);
      expect([...new Set(opened["partner"])].sort()).toEqual([
        "payload.sealed",
        "received_document.facts",
        "service_message.note_sealed",
        "service_message.payload_sealed",
      ]);
      expect(words).toContain("CANARY-NUMBER-4711");
      expect(words).not.toMatch(/CANARY-DRAFT|CANARY-METADATA/);

      // A page on which one of its documents stands is still a page.
      useFactsSealer(copy.sql, sealer, (_, error) => {
        throw error;
      });
      const page = { ...{ statuses: undefined, since: undefined, receiverKey: undefined }, offset: 0, limit: 10 };
      expect(await listFirmSent(copy.sql, firmId, page)).toEqual([
        expect.objectContaining({ number: null, total: null }),
      ]);
    } finally {
      await copy.drop();
    }
  });
});
