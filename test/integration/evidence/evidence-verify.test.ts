/**
 * Evidence of a real exchange, checked again: whole, and with one bit changed anywhere: in any object, in any column of the
 * index, in the head of the chain; with entries or objects missing; on files and in a bucket.
 */
import { spawnSync } from "node:child_process";
import { chmodSync, readdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";

import { systemClock } from "../../../engine/base/clock.js";
import { auditEvidence } from "../../../engine/peppol/evidence/audit.js";
import type { AuditResult } from "../../../engine/peppol/evidence/audit.js";
import { ensureDevelopmentPki } from "../../../engine/peppol/pki/development.js";
import { createEvidenceArchive } from "../../../engine/storage/evidence/archive.js";
import { openEvidenceStore } from "../../../engine/storage/evidence/stores.js";
import { createSealer } from "../../../engine/storage/sealer.js";
import { inThread } from "../../support/as4/as4.js";
import { accessToken, invoiceXml, send, sendParts, startTestEngine } from "../../support/engines/engine.js";
import type { TestEngine } from "../../support/engines/engine.js";
import { eventually } from "../../support/eventually.js";
import { PROJECT } from "../../support/engines/process.js";
import { Random, seedFrom } from "../../support/random.js";
import { startS3 } from "../../support/network/s3.js";
import type { S3Imitation } from "../../support/network/s3.js";

const SEED = seedFrom(20_261_120);
const DOCUMENTS = 4;
const MASTER_KEY = Buffer.alloc(32, 7);

async function exchange(engine: TestEngine, count: number): Promise<void> {
  const { sandbox, db } = engine;
  const mailbox = { participantId: sandbox.sender.participantId, token: await accessToken(sandbox, sandbox.sender) };
  for (let i = 0; i < count; i += 1) {
    const answer = await send(
      sandbox,
      mailbox,
      sendParts(
        sandbox.sender.participantId,
        sandbox.receiver.participantId,
        invoiceXml(sandbox.sender.participantId, sandbox.receiver.participantId),
      ),
    );
    expect(answer.status).toBe(202);
  }
  await eventually(
    "all are delivered",
    async () => (await db.sql`select 1 from document where status = 'delivered'`).length === count,
  );
}

const audit = (engine: TestEngine, location?: string, range?: { from?: number; to?: number }): Promise<AuditResult> => {
  const store = openEvidenceStore(location, engine.dataDir, systemClock);
  const archive = createEvidenceArchive({
    sql: engine.db.sql,
    store,
    sealer: createSealer([MASTER_KEY]),
    clock: systemClock,
  });
  return auditEvidence({ sql: engine.db.sql, store, archive, crypto: inThread, now: systemClock.now() }, range);
};

const filesBelow = (folder: string): string[] =>
  readdirSync(folder, { withFileTypes: true }).flatMap((entry) =>
    entry.isDirectory() ? filesBelow(join(folder, entry.name)) : [join(folder, entry.name)],
  );

describe("on files", () => {
  let engine: TestEngine;
  let files: string[];
  beforeAll(async () => {
    engine = await startTestEngine({ transport: "as4" });
    await exchange(engine, DOCUMENTS);
    files = filesBelow(join(engine.dataDir, "evidence"));
  });
  afterAll(() => engine.stop());

  /** Writes a file behind the store's back for the time of `use`. */
  async function spoiled<T>(file: string, bytes: Buffer, use: () => Promise<T>): Promise<T> {
    const original = readFileSync(file);
    chmodSync(file, 0o600);
    writeFileSync(file, bytes);
    try {
      return await use();
    } finally {
      writeFileSync(file, original);
    }
  }

  test("both sides of every exchange are there, and everything holds", async () => {
    expect(await audit(engine)).toMatchObject({
      entries: 2 * DOCUMENTS,
      objects: files.length,
      expired: 0,
      faults: [],
    });
  });

  test("one flipped bit in any object is found", async () => {
    const random = new Random(SEED);
    for (const file of files) {
      const bytes = readFileSync(file);
      for (const at of [0, bytes.length - 1, ...Array.from({ length: 12 }, () => random.int(bytes.length))]) {
        const changed = Buffer.from(bytes);
        changed[at] = (changed[at] ?? 0) ^ (1 << random.int(8));
        const { faults } = await spoiled(file, changed, () => audit(engine));
        expect(
          faults.map(({ fault }) => fault),
          `byte ${at} of ${file}, SEED=${SEED}`,
        ).toContain("object");
      }
    }
  });

  test("an object that is missing, cut short or emptied is found", async () => {
    const [file = ""] = files;
    renameSync(file, `${file}.away`);
    expect((await audit(engine)).faults.map(({ fault }) => fault)).toContain("object_missing");
    renameSync(`${file}.away`, file);
    for (const bytes of [Buffer.alloc(0), readFileSync(file).subarray(0, 700)])
      expect((await spoiled(file, bytes, () => audit(engine))).faults).not.toEqual([]);
    expect((await audit(engine)).faults).toEqual([]);
  });

  test("a change in any column of the index is found", async () => {
    const { sql } = engine.db;
    await sql`alter table evidence disable trigger user`;
    const columns = await sql<
      { column_name: string; data_type: string }[]
    >`select column_name, data_type from information_schema.columns where table_name = 'evidence'`;
    expect(columns.length).toBeGreaterThan(15);
    const CHANGES: Readonly<Record<string, string>> = {
      bigint: "+ 1000",
      integer: "+ 1",
      uuid: "",
      text: "|| 'x'",
      bytea: "",
      "timestamp with time zone": "+ interval '1 millisecond'",
    };
    for (const { column_name: column, data_type: type } of columns) {
      const value =
        column === "direction"
          ? "case direction when 'inbound' then 'outbound' else 'inbound' end"
          : type === "uuid"
            ? "gen_random_uuid()"
            : type === "bytea"
              ? `set_bit(${column}, 100, 1 - get_bit(${column}, 100))`
              : `${column} ${CHANGES[type] ?? ""}`;
      await sql.unsafe(
        `create table kept as select * from evidence; update evidence set ${column} = ${value} where index = 3`,
      );
      const { faults } = await audit(engine);
      expect(faults.length, column).toBeGreaterThan(0);
      await sql.unsafe("delete from evidence; insert into evidence select * from kept; drop table kept");
    }
    expect((await audit(engine)).faults).toEqual([]);
    await sql`alter table evidence enable trigger user`;
  });

  test("entries missing in the middle or at the end, and a changed head, are found", async () => {
    const { sql } = engine.db;
    await sql`alter table evidence disable trigger user`;
    for (const [condition, fault] of [
      ["index = 3", "gap"],
      [`index = ${2 * DOCUMENTS}`, "head"],
    ] as const) {
      await sql.unsafe(`create table kept as select * from evidence; delete from evidence where ${condition}`);
      expect((await audit(engine)).faults.map((found) => found.fault)).toContain(fault);
      await sql.unsafe("delete from evidence; insert into evidence select * from kept; drop table kept");
    }
    await sql`alter table evidence enable trigger user`;
    await sql`update evidence_head set hash = set_bit(hash, 5, 1 - get_bit(hash, 5))`;
    expect((await audit(engine)).faults.map(({ fault }) => fault)).toEqual(["head"]);
    await sql`update evidence_head set hash = set_bit(hash, 5, 1 - get_bit(hash, 5))`;
  });

  test("a forger who keeps every digest in step is found by the signature: the chain is not all there is", async () => {
    const { sql } = engine.db;
    const store = openEvidenceStore(undefined, engine.dataDir, systemClock);
    const [row] = await sql<
      { object: string; byte_offset: number; byte_length: number }[]
    >`select object, byte_offset, byte_length from evidence where index = 1`;
    const { readEvidence, writeEvidence, TAR_END } = await import("../../../engine/storage/evidence/record.js");
    const { createEvidenceJournal } = await import("../../../engine/storage/evidence/journal.js");
    const segment = await store.get(row?.object ?? "", {
      offset: row?.byte_offset ?? 0,
      length: row?.byte_length ?? 0,
    });
    const { manifest, parts } = readEvidence(segment);
    const { format: _format, requestTime: _time, parts: listed, ...facts } = manifest;
    const request = Buffer.from(
      parts.get("request")?.toString("latin1").replace("originalSender", "originalSendeR") ?? "",
      "latin1",
    );
    const record = {
      facts,
      parts: listed.map(({ name, sealed }) => ({
        name,
        bytes: name === "request" ? request : (parts.get(name) ?? Buffer.alloc(0)),
        ...(sealed === undefined ? {} : { sealed }),
      })),
    };
    expect((await writeEvidence(record)).length + TAR_END.length).toBeGreaterThan(1_000);
    const forged = createEvidenceJournal({ sql, store, clock: systemClock });
    const place = await forged.store({ record, referencesSha256: "0".repeat(64) });
    const { faults } = await audit(engine);
    expect(faults.filter(({ index }) => index === place.index).map(({ fault }) => fault)).toEqual(["signature"]);
    expect(faults.filter(({ index }) => index !== place.index)).toEqual([]);
    await sql`alter table evidence disable trigger user`;
    await sql`delete from evidence where index = ${place.index}`;
    await sql`update evidence_head set index = ${place.index - 1}, hash = decode(${place.previousHash}, 'hex')`;
    await sql`alter table evidence enable trigger user`;
  });

  test("a period of time is checked from its first entry to its last", async () => {
    const entries = await engine.db.sql<{ stored_at: Date }[]>`select stored_at from evidence order by index`;
    const from = entries[2]?.stored_at.getTime() ?? 0;
    const to = entries[5]?.stored_at.getTime() ?? 0;
    const result = await audit(engine, undefined, { from, to });
    expect(result).toMatchObject({ faults: [] });
    expect(result.entries).toBeGreaterThanOrEqual(4);
    expect(await audit(engine, undefined, { from: to + 86_400_000 })).toMatchObject({ entries: 0, faults: [] });
  });

  test("kurier evidence verify says so and ends with 0, and with 1 after one flipped bit", async () => {
    const run = (...args: readonly string[]): { status: number | null; stdout: string; stderr: string } =>
      spawnSync(process.execPath, [join(PROJECT, "gateway/kurier.mjs"), "evidence", "verify", ...args], {
        encoding: "utf8",
        env: {
          PATH: process.env["PATH"] ?? "",
          DATA_DIR: engine.dataDir,
          ENVIRONMENT: "sandbox",
          DATABASE_URL: engine.db.url,
          MASTER_KEY: MASTER_KEY.toString("base64"),
        },
      });
    expect(run()).toMatchObject({
      status: 0,
      stdout: expect.stringContaining(
        `${2 * DOCUMENTS} entries in ${files.length} objects: everything is as it was stored.`,
      ) as string,
    });
    expect(run().stdout).toMatch(
      /^[1-9][0-9]* certificates lead to Kurier Development Root CA, SHA-256 [0-9a-f]{64}$/m,
    );
    expect(run("--trust", join(engine.dataDir, "pki/trust"))).toMatchObject({ status: 0 });
    const other = join(engine.dataDir, "other");
    await ensureDevelopmentPki({ folder: other, clock: systemClock });
    // The names are the same, the keys are others.
    expect(run("--trust", join(other, "trust"))).toMatchObject({
      status: 1,
      stdout: expect.stringMatching(/^trust_chain +entry 1: /m) as string,
    });
    expect(run("--trust", join(engine.dataDir, "nowhere"))).toMatchObject({
      status: 2,
      stderr: expect.stringContaining("--trust must be a folder") as string,
    });
    // Of a period without entries nothing is told that only entries can show; what is no period is no question.
    expect(run("--from", "2001-01-01", "--to", "2001-01-01")).toMatchObject({
      status: 0,
      stdout: "No entries in this period.\n",
      stderr: "",
    });
    expect(run("--from", "2026-11-27", "--to", "2026-11-20")).toMatchObject({
      status: 2,
      stdout: "",
      stderr: "--to is before --from.\n",
    });
    const bytes = readFileSync(files[0] ?? "");
    bytes[1_000] = (bytes[1_000] ?? 0) ^ 1;
    expect(await spoiled(files[0] ?? "", bytes, async () => run())).toMatchObject({
      status: 1,
      stdout: expect.stringContaining("object") as string,
    });
  });
});

describe("in a bucket", () => {
  let engine: TestEngine;
  let s3: S3Imitation;
  beforeAll(async () => {
    s3 = await startS3();
    engine = await startTestEngine({ transport: "as4", config: { EVIDENCE_STORE: s3.target } });
  });
  afterAll(async () => {
    await engine.stop();
    await s3.stop();
  });

  test("exchanges are kept and hold; a bit that flips there is found", async () => {
    await exchange(engine, 2);
    expect(await audit(engine, s3.target)).toMatchObject({ entries: 4, faults: [] });
    expect(s3.refusals).toEqual([]);
    const object = [...s3.objects.values()][0];
    if (object === undefined) throw new Error("the bucket is empty");
    const original = object.bytes;
    object.bytes = Buffer.from(original);
    object.bytes[500] = (object.bytes[500] ?? 0) ^ 4;
    expect((await audit(engine, s3.target)).faults).not.toEqual([]);
    object.bytes = original;
    expect((await audit(engine, s3.target)).faults).toEqual([]);
  });

  test("while the bucket is away there is no receipt and nothing counts as delivered; afterwards the repeat does", async () => {
    const { sandbox, db } = engine;
    const mailbox = { participantId: sandbox.sender.participantId, token: await accessToken(sandbox, sandbox.sender) };
    s3.failing = 1_000;
    const answer = await send(
      sandbox,
      mailbox,
      sendParts(
        sandbox.sender.participantId,
        sandbox.receiver.participantId,
        invoiceXml(sandbox.sender.participantId, sandbox.receiver.participantId),
      ),
    );
    const id = String(answer.json["providerDocumentId"]);
    await eventually(
      "the first attempt has ended",
      async () =>
        (await db.sql`select 1 from document_attempt where document_id = ${id} and outcome is not null`).length === 1,
    );
    // The receiver is this engine, too, and refuses for now what it cannot prove.
    expect((await db.sql`select outcome from document_attempt where document_id = ${id}`)[0]).toEqual({
      outcome: "peer_busy",
    });
    expect((await db.sql`select 1 from evidence where document_id = ${id}`).length).toBe(0);
    s3.failing = 0;
    await db.sql`update document set next_attempt_at = clock_timestamp() where id = ${id}`;
    await eventually(
      "it is delivered",
      async () => (await db.sql`select 1 from document where id = ${id} and status = 'delivered'`).length === 1,
    );
    const [message] = await db.sql<
      { n: number }[]
    >`select count(*)::integer as n from received_document as r join document as d on d.as4_message_id = r.as4_message_id where d.id = ${id}`;
    expect(message?.n).toBe(1);
    expect((await audit(engine, s3.target)).faults).toEqual([]);
  });
});
