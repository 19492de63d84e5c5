/** What operators rely on: who may call /admin, and when a node says that it is ready. @source design/interface.md, Environment */
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";

import { loadConfig } from "../../../engine/base/config.js";
import type { Config } from "../../../engine/base/config.js";
import { createMetrics } from "../../../engine/base/metrics.js";
import { serverObserver } from "../../../engine/storage/operators/figures.js";
import { startEngine } from "../../../gateway/main.js";
import type { Engine } from "../../../gateway/main.js";
import { eventually } from "../../support/eventually.js";
import { freshDatabase } from "../../support/database/postgres.js";
import type { TestDatabase } from "../../support/database/postgres.js";

const TOKEN = "an-operators-token-of-at-least-32-characters";

describe("an engine", () => {
  let db: TestDatabase;
  const folders: string[] = [];
  const engines: Engine[] = [];
  beforeAll(async () => {
    db = await freshDatabase();
  });
  afterAll(async () => {
    for (const engine of engines) await engine.stop();
    for (const folder of folders) rmSync(folder, { recursive: true, force: true });
    await db.drop();
  });

  /** Documents travel inside the process: the keys that production asks for have tests of their own. */
  async function start(changes: Partial<Config>): Promise<{ engine: Engine; lines: string[]; dataDir: string }> {
    const dataDir = mkdtempSync(join(tmpdir(), "kurier-test-"));
    folders.push(dataDir);
    const lines: string[] = [];
    const config: Config = {
      ...loadConfig({}),
      PORT: 0,
      ADMIN_PORT: 0,
      DATA_DIR: dataDir,
      DATABASE_URL: db.url,
      NATS_URL: "embedded",
      MASTER_KEY: Buffer.alloc(32, 7),
      VALIDATOR_THREADS: 1,
      ...changes,
    };
    const logTo = {
      write: (line: string) => {
        lines.push(line);
      },
    };
    const engine = await startEngine(config, { transport: "loopback", logTo });
    engines.push(engine);
    return { engine, lines, dataDir };
  }
  const admin = async (engine: Engine, token: string): Promise<number> =>
    (await fetch(`${engine.adminUrl}/admin/firms`, { headers: { authorization: `Bearer ${token}` } })).status;

  test("in production takes the token of ADMIN_TOKEN on /admin and no other", async () => {
    const { engine } = await start({ ENVIRONMENT: "production", ADMIN_TOKEN: TOKEN });
    expect([await admin(engine, TOKEN), await admin(engine, `${TOKEN}x`)]).toEqual([200, 401]);
  });

  test("in production without ADMIN_TOKEN keeps /admin closed and says so in one line", async () => {
    const { engine, lines } = await start({ ENVIRONMENT: "production" });
    expect([await admin(engine, TOKEN), await admin(engine, "undefined"), await admin(engine, "")]).toEqual([
      401, 401, 401,
    ]);
    expect(lines.filter((line) => line.includes(`"event":"admin.closed"`))).toHaveLength(1);
  });

  test("in the sandbox makes a token once, keeps it over a restart, and takes that of ADMIN_TOKEN in its place", async () => {
    const first = await start({});
    const made = first.engine.sandbox?.admin.token ?? "";
    expect(made).toMatch(/^[A-Za-z0-9_-]{43}$/);
    expect(await admin(first.engine, made)).toBe(200);
    expect(first.lines.join("")).not.toContain("admin.closed");
    expect(first.lines.join("")).not.toContain(made);
    await first.engine.stop();
    const second = await start({ DATA_DIR: first.dataDir });
    expect(second.engine.sandbox?.admin.token).toBe(made);
    await second.engine.stop();
    const third = await start({ DATA_DIR: first.dataDir, ADMIN_TOKEN: TOKEN });
    expect([await admin(third.engine, TOKEN), await admin(third.engine, made)]).toEqual([200, 401]);
    const written = JSON.parse(readFileSync(join(first.dataDir, "sandbox.json"), "utf8")) as {
      admin: { token: string };
    };
    expect(written.admin.token).toBe(TOKEN);
  });

  test("rulings §14: POST /admin/firms refuses the provider's own participant and names the member", async () => {
    const { engine } = await start({ ENVIRONMENT: "production", ADMIN_TOKEN: TOKEN });
    const answer = await fetch(`${engine.adminUrl}/admin/firms`, {
      method: "POST",
      headers: { authorization: `Bearer ${TOKEN}`, "content-type": "application/json" },
      body: JSON.stringify({ name: "The provider", participantId: "0242:000001" }),
    });
    expect([answer.status, await answer.json()]).toMatchObject([400, { error: { field: "participantId" } }]);
  });

  test("POST /admin/firms refuses a participant of the Slovak scheme that is no tax id, and takes those of others", async () => {
    const { engine } = await start({ ENVIRONMENT: "production", ADMIN_TOKEN: TOKEN });
    for (const [participantId, status] of [
      ["0245:abc", 400],
      ["0245:202020202", 400],
      ["iso6523-actorid-upis::0245:SK2020202020", 400],
      ["0245:2020202020", 201],
      ["0192:abc", 201],
    ] as const) {
      const answer = await fetch(`${engine.adminUrl}/admin/firms`, {
        method: "POST",
        headers: { authorization: `Bearer ${TOKEN}`, "content-type": "application/json" },
        body: JSON.stringify({ name: "Firm", participantId }),
      });
      expect([participantId, answer.status, await answer.json()]).toMatchObject([
        participantId,
        status,
        status === 400 ? { error: { field: "participantId" } } : {},
      ]);
    }
  });

  test("POST /admin/integrators refuses a name with a control character and names the member", async () => {
    const { engine } = await start({ ENVIRONMENT: "production", ADMIN_TOKEN: TOKEN });
    for (const [name, status] of [
      ["two\nlines", 400],
      ["\u009b31m", 400],
      ["Partner s. r. o.", 201],
    ] as const) {
      const answer = await fetch(`${engine.adminUrl}/admin/integrators`, {
        method: "POST",
        headers: { authorization: `Bearer ${TOKEN}`, "content-type": "application/json" },
        body: JSON.stringify({ name }),
      });
      expect([name, answer.status, await answer.json()]).toMatchObject([
        name,
        status,
        status === 400 ? { error: { field: "name" } } : {},
      ]);
    }
  });

  test("D-367: what stands of a firm in its invoices is given when it is made and later; what is not given stays, and what is wrong is named", async () => {
    const { engine } = await start({ ENVIRONMENT: "production", ADMIN_TOKEN: TOKEN });
    const ask = async (method: string, path: string, body: Readonly<Record<string, string>>) => {
      const answer = await fetch(`${engine.adminUrl}/admin/firms${path}`, {
        method,
        headers: { authorization: `Bearer ${TOKEN}`, "content-type": "application/json" },
        body: JSON.stringify(body),
      });
      return { status: answer.status, json: (await answer.json()) as Readonly<Record<string, unknown>> };
    };
    const stored = async (id: unknown) => {
      const [row] = await db.sql`
        select name, ico, dic, ic_dph as "icDph", address from firm where id = ${String(id)}`;
      return row;
    };
    const made = await ask("POST", "", {
      name: "Platiteľ s. r. o.",
      participantId: "0245:2199000017",
      ico: "12345678",
      street: "Hlavná 1",
    });
    const id = made.json["firmId"];
    expect(made.status).toBe(201);
    const firm = { name: "Platiteľ s. r. o.", ico: "12345678", dic: "2199000017", icDph: null };
    expect(await stored(id)).toEqual({ ...firm, address: { street: "Hlavná 1" } });

    const changed = await ask("PATCH", `/${String(id)}`, { icDph: "SK2199000017", city: "Košice" });
    expect(changed).toEqual({ status: 200, json: { firmId: id } });
    const now = { ...firm, icDph: "SK2199000017", address: { street: "Hlavná 1", city: "Košice" } };
    expect(await stored(id)).toEqual(now);
    const audited =
      await db.sql`select event from audit_entry where firm_id = ${String(id)} and event = 'firm.changed'`;
    expect(audited).toHaveLength(1);

    for (const [field, value] of [
      ["ico", "1234567"],
      ["icDph", "2199000017"],
      ["street", " "],
      ["zip", "9".repeat(256)],
    ] as const) {
      const refused = await ask("PATCH", `/${String(id)}`, { [field]: value });
      expect([refused.status, refused.json], field).toMatchObject([400, { error: { field } }]);
    }
    expect(await stored(id)).toEqual(now);
    expect((await ask("PATCH", "/0190b8f0-1c5e-7000-8000-000000000001", { city: "Košice" })).status).toBe(404);
    expect((await ask("PATCH", "/x", { city: "Košice" })).status).toBe(404);
  });

  test("what the database counts begins at 0, grows with what is written, and takes nothing back when the server counts anew", async () => {
    const metrics = createMetrics();
    const observe = serverObserver(db.sql, metrics);
    const figure = async (series: string): Promise<number> => {
      await observe();
      const line = (await metrics.exposition()).split("\n").find((one) => one.startsWith(`kurier_postgres_${series} `));
      return Number(line?.split(" ").at(-1));
    };
    const inserted = 'rows_written_total{kind="inserted"}';
    // The log of the whole server is long by now; the engine's counter of it begins here.
    expect(await figure("wal_bytes_total")).toBe(0);
    expect(await figure("size_bytes")).toBeGreaterThan(1_000_000);
    expect(await figure('sessions{state="active"}')).toBeGreaterThan(0);
    await db.sql`create table counted as select generate_series(1, 500) as n`;
    await eventually("500 rows are counted", async () => (await figure(inserted)) >= 500);
    expect(await figure("wal_bytes_total")).toBeGreaterThan(0);
    const before = await figure(inserted);
    await db.sql`select pg_stat_reset()`;
    expect(await figure(inserted)).toBeGreaterThanOrEqual(before);
    await db.sql`insert into counted select generate_series(1, 700)`;
    await eventually("700 more are counted", async () => (await figure(inserted)) >= before + 700);
    await db.sql`drop table counted`;
  });

  test("a node stays ready when a newer release has migrated the database further, and is not when a migration of its own is missing", async () => {
    const { engine } = await start({});
    const ready = async (): Promise<number> => (await fetch(`${engine.adminUrl}/readyz`)).status;
    await db.sql`insert into schema_migration (number, name, checksum, applied_at)
      values (9999, '9999_of_a_newer_release.sql', repeat('0', 64), now())`;
    expect(await ready()).toBe(200);
    // A probe's answer holds for a second.
    await db.sql`delete from schema_migration where number = (select max(number) from schema_migration where number < 9999)`;
    await eventually("the node is not ready", async () => (await ready()) === 503);
  });
});
