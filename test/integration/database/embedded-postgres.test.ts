// Goal: the zero-configuration database starts wherever the engine starts, and after every way in which it can have ended.
// Method: real children in temporary directories; processes are killed, pid files forged, links removed.
import { spawn, spawnSync } from "node:child_process";
import fs, {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import promises from "node:fs/promises";
import { once } from "node:events";
import { syncBuiltinESMExports } from "node:module";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, describe, expect, test, vi } from "vitest";

import { repairLinks } from "../../../engine/embedded/binaries.js";
import { isRunning, processIdentity } from "../../../engine/embedded/child.js";
import {
  EmbeddedError,
  claimDataDir,
  pathErrorOf,
  runningEmbeddedPostgres,
  startEmbeddedPostgres,
} from "../../../engine/embedded/embedded.js";
import { LIMITS } from "../../../engine/base/limits.js";
import { silentLog } from "../../../engine/base/log.js";
import { openSql } from "../../../engine/storage/sql.js";
import { databaseErrorOf } from "../../../engine/storage/unusable.js";
import { eventually } from "../../support/eventually.js";
import { killEverythingOn } from "../../support/engines/process.js";

const undo: (() => Promise<void> | void)[] = [];
afterEach(async () => {
  for (const step of undo.splice(0).reverse()) await step();
});

function newDataDir(name = "kurier-test-"): string {
  const path = mkdtempSync(join(tmpdir(), name));
  undo.push(() => {
    rmSync(path, { recursive: true, force: true });
  });
  return path;
}

async function start(dataDir: string): ReturnType<typeof startEmbeddedPostgres> {
  const server = await startEmbeddedPostgres({ dataDir, log: silentLog });
  undo.push(() => server.stop());
  return server;
}

async function query(url: string, run: (sql: ReturnType<typeof openSql>) => PromiseLike<unknown>): Promise<unknown> {
  const sql = openSql({ url, name: "test", connections: 1 });
  try {
    return await run(sql);
  } finally {
    await sql.end({ timeout: 1 });
  }
}

const keepNote = (url: string): Promise<unknown> =>
  query(url, (sql) => sql`create table note as select 'kept' as text`);
const readNote = (url: string): Promise<unknown> => query(url, (sql) => sql`select text from note`);

/** A child process that starts the embedded Postgres and prints its address, to be killed as an engine is. */
function engineProcess(dataDir: string): {
  pid: number;
  url: Promise<string>;
  said: () => string;
  gone: Promise<void>;
} {
  const child = spawn(
    process.execPath,
    [
      join(import.meta.dirname, "../../support/engines/run-ts.mjs"),
      join(import.meta.dirname, "../../support/engines/embedded-process.ts"),
      dataDir,
    ],
    { stdio: ["ignore", "pipe", "inherit"], detached: true },
  );
  let said = "";
  undo.push(() => {
    child.kill("SIGKILL");
  });
  const url = new Promise<string>((resolve, reject) => {
    child.stdout.setEncoding("utf8").on("data", (text: string) => {
      said += text;
      if (said.includes("\n")) resolve(said.split("\n")[0] ?? "");
    });
    child.once("exit", () => {
      reject(new Error("the engine process ended early"));
    });
  });
  const gone = new Promise<void>((resolve) => {
    child.once("exit", () => {
      resolve();
    });
  });
  return { pid: child.pid ?? 0, url, said: () => said, gone };
}

const postmasterOf = (dataDir: string): number =>
  Number(readFileSync(join(dataDir, "postgres/postmaster.pid"), "latin1").split("\n")[0]);

describe("the embedded Postgres", () => {
  test("the embedded Postgres starts on an empty directory, listens on no network address, and finds all data at the second start", async () => {
    const dataDir = newDataDir();
    const first = await startEmbeddedPostgres({ dataDir, log: silentLog });
    expect(await query(first.url, (sql) => sql`show listen_addresses`)).toEqual([{ listen_addresses: "" }]);
    expect(await query(first.url, (sql) => sql`show fsync`)).toEqual([{ fsync: "on" }]);
    expect(statSync(join(dataDir, "postgres")).mode & 0o777).toBe(0o700);
    await keepNote(first.url);
    await first.stop();
    expect(isRunning(first.pid)).toBe(false);
    expect(await readNote((await start(dataDir)).url)).toEqual([{ text: "kept" }]);
  });

  test("the embedded Postgres is found by a command that works beside the running engine, and not once it has stopped", async () => {
    const dataDir = newDataDir();
    expect(runningEmbeddedPostgres(dataDir)).toBeUndefined();
    const server = await start(dataDir);
    expect(runningEmbeddedPostgres(dataDir)).toBe(server.url);
    await server.stop();
    expect(runningEmbeddedPostgres(dataDir)).toBeUndefined();
  });

  test("the embedded Postgres comes back by itself, with its data and at the same address, when its process is killed", async () => {
    const server = await start(newDataDir());
    await keepNote(server.url);
    const before = server.pid;
    process.kill(before, "SIGKILL");
    await eventually("another postmaster runs", () => server.pid !== 0 && server.pid !== before);
    expect(await readNote(server.url)).toEqual([{ text: "kept" }]);
  });

  test("the embedded Postgres that outlived a killed engine and its watcher is stopped and its data found", async () => {
    const dataDir = newDataDir();
    const engine = engineProcess(dataDir);
    await keepNote(await engine.url);
    const orphan = postmasterOf(dataDir);
    expect(killEverythingOn(`kurier-watcher\0${orphan}\0`)).toBe(1);
    process.kill(engine.pid, "SIGKILL");
    await engine.gone;
    expect(isRunning(orphan)).toBe(true);
    const server = await start(dataDir);
    expect(isRunning(orphan)).toBe(false);
    expect(server.pid).not.toBe(orphan);
    expect(await readNote(server.url)).toEqual([{ text: "kept" }]);
  });

  test("the embedded Postgres starts after everything was killed, also when the old process id now belongs to somebody else", async () => {
    const dataDir = newDataDir();
    const engine = engineProcess(dataDir);
    await keepNote(await engine.url);
    const postmaster = postmasterOf(dataDir);
    process.kill(engine.pid, "SIGKILL");
    process.kill(postmaster, "SIGKILL");
    await eventually("both are gone", () => !isRunning(engine.pid) && !isRunning(postmaster));
    const bystander = spawn("sleep", ["60"], { stdio: "ignore" });
    undo.push(() => {
      bystander.kill("SIGKILL");
    });
    for (const name of ["postmaster.pid", ".s.PGSQL.5432.lock"]) {
      const file = join(dataDir, "postgres", name);
      const lines = readFileSync(file, "latin1").split("\n");
      writeFileSync(file, [String(bystander.pid), ...lines.slice(1)].join("\n"));
    }
    const server = await start(dataDir);
    expect(await readNote(server.url)).toEqual([{ text: "kept" }]);
    expect(isRunning(bystander.pid ?? 0)).toBe(true);
  });

  test("the embedded Postgres ends with the engine when the engine ends without stopping it", async () => {
    const dataDir = newDataDir();
    const engine = engineProcess(dataDir);
    await engine.url;
    const postmaster = postmasterOf(dataDir);
    process.kill(engine.pid, "SIGUSR2");
    await engine.gone;
    await eventually("Postgres is gone", () => !isRunning(postmaster));
  });

  test("Ctrl-C leaves the embedded Postgres running until the engine has drained", async () => {
    const dataDir = newDataDir();
    const engine = engineProcess(dataDir);
    await engine.url;
    const postmaster = postmasterOf(dataDir);
    // What a terminal does: the signal goes to the whole process group.
    process.kill(-engine.pid, "SIGINT");
    await engine.gone;
    expect(engine.said()).toContain("drained");
    expect(isRunning(postmaster)).toBe(false);
  });

  test("a set-up of the embedded Postgres that was cut off half-way is done again from the start", async () => {
    const dataDir = newDataDir();
    mkdirSync(join(dataDir, "postgres.new"), { mode: 0o700 });
    writeFileSync(join(dataDir, "postgres.new", "PG_VERSION"), "18\n");
    const server = await start(dataDir);
    await keepNote(server.url);
    expect(existsSync(join(dataDir, "postgres.new"))).toBe(false);
  });

  test("a place of the embedded Postgres that holds something else is named, and that stays", async () => {
    const dataDir = newDataDir();
    mkdirSync(join(dataDir, "postgres", "lost+found"), { recursive: true });
    const refused = startEmbeddedPostgres({ dataDir, log: silentLog });
    await expect(refused).rejects.toBeInstanceOf(EmbeddedError);
    await expect(refused).rejects.toThrow(
      /^DATA_DIR\/postgres is there and is not the data of a PostgreSQL: move it away, /,
    );
    expect(readdirSync(dataDir)).toEqual(["postgres"]);
    expect(readdirSync(join(dataDir, "postgres"))).toEqual(["lost+found"]);
  });

  test.each<readonly [string, (path: string) => void]>([
    [
      "its links lead in a circle",
      (path) => {
        symlinkSync("postgres", path);
      },
    ],
    [
      "a part of its path is a file and not a folder",
      (path) => {
        writeFileSync(path, "");
      },
    ],
  ])("data of the embedded Postgres are not taken for none where %s, which is told", async (words, take) => {
    const dataDir = newDataDir();
    take(join(dataDir, "postgres"));
    const refused = await startEmbeddedPostgres({ dataDir, log: silentLog }).catch((error: unknown) => error);
    expect(pathErrorOf(refused)?.message).toBe(`${join(dataDir, "postgres/PG_VERSION")} cannot be used: ${words}.`);
    expect(readdirSync(dataDir)).toEqual(["postgres"]);
  });

  test("the embedded Postgres has its socket elsewhere when the path of the data directory is too long for one", async () => {
    const dataDir = join(newDataDir(), "a-directory-with-a-rather-long-name".repeat(3));
    const server = await start(dataDir);
    await keepNote(server.url);
    expect(runningEmbeddedPostgres(dataDir)).toBe(server.url);
  });

  test("data of another major version is refused with a sentence that says what to do", async () => {
    const dataDir = newDataDir();
    const server = await start(dataDir);
    await server.stop();
    writeFileSync(join(dataDir, "postgres/PG_VERSION"), "14\n");
    await expect(startEmbeddedPostgres({ dataDir, log: silentLog })).rejects.toThrow(
      /written by version 14, this engine brings version 18/,
    );
  });

  test("a server of another container at the socket is waited for: the same start may succeed when it has gone", async () => {
    const dataDir = newDataDir();
    const folder = join(dataDir, "postgres");
    mkdirSync(folder, { mode: 0o700 });
    writeFileSync(join(folder, "PG_VERSION"), "18\n");
    const server = createServer().listen(join(folder, ".s.PGSQL.5432"));
    undo.push(() => {
      server.close();
    });
    await once(server, "listening");
    await expect(startEmbeddedPostgres({ dataDir, log: silentLog })).rejects.toThrow(
      expect.objectContaining({
        message:
          "Another PostgreSQL is running on DATA_DIR, perhaps in another container; stop it, or use another DATA_DIR.",
        passing: true,
      }),
    );
  });

  test("data of the embedded Postgres of which files are missing are told by their folder, and not as a setting", async () => {
    const dataDir = newDataDir();
    await (await startEmbeddedPostgres({ dataDir, log: silentLog })).stop();
    // The number that every PostgreSQL since 15 gives the database of this name.
    rmSync(join(dataDir, "postgres/base/5/PG_VERSION"));
    const server = await start(dataDir);
    const refused: unknown = await query(server.url, (sql) => sql`select 1`).catch((error: unknown) => error);
    expect(databaseErrorOf(refused)).toMatchObject({
      message:
        "The database cannot be used: files are missing or damaged in base/5 of its data (of DATA_DIR/postgres, where it is the engine's own), which has to come back from a copy (22023); correct it.",
      passing: false,
    });
  });

  test.runIf(process.geteuid?.() === 0)(
    "the embedded Postgres, started by root, serves data that an ordinary user made, as that user",
    async () => {
      const dataDir = newDataDir();
      const server = await start(dataDir);
      await keepNote(server.url);
      await server.stop();
      chmodSync(dataDir, 0o700);
      spawnSync("chown", ["-R", "65534:65534", join(dataDir, "postgres")]);
      const again = await start(dataDir);
      expect(await readNote(again.url)).toEqual([{ text: "kept" }]);
      expect(lstatSync(join(dataDir, "postgres/postmaster.pid")).uid).toBe(65_534);
    },
  );
});

describe("the libraries of the npm package", () => {
  function fakePackage(): string {
    const native = join(newDataDir(), "native");
    mkdirSync(join(native, "lib"), { recursive: true });
    writeFileSync(join(native, "lib/libx.so.5.18"), "library");
    writeFileSync(
      join(native, "pg-symlinks.json"),
      JSON.stringify([{ source: "native/lib/libx.so.5.18", target: "native/lib/libx.so.5" }]),
    );
    return native;
  }

  test("the libraries of the npm package get the links that an install without scripts left out", () => {
    const native = fakePackage();
    expect(repairLinks(native, newDataDir())).toBeUndefined();
    expect(readFileSync(join(native, "lib/libx.so.5"), "utf8")).toBe("library");
    expect(repairLinks(native, newDataDir())).toBeUndefined();
  });

  test("the libraries of the npm package get their links in the data directory when the package cannot be written to", () => {
    const native = fakePackage();
    const dataDir = newDataDir();
    // The link's place cannot be made, for root neither: its folder is a file.
    writeFileSync(join(native, "sealed"), "");
    writeFileSync(
      join(native, "pg-symlinks.json"),
      JSON.stringify([{ source: "native/lib/libx.so.5.18", target: "native/sealed/libx.so.5" }]),
    );
    expect(repairLinks(native, dataDir)).toBe(`${join(dataDir, "lib")}:${join(native, "lib")}`);
    expect(lstatSync(join(dataDir, "lib/libx.so.5")).isSymbolicLink()).toBe(true);
  });
});

describe("the data directory", () => {
  test("the data directory belongs to one engine: a second one is told who has it", async () => {
    const dataDir = newDataDir();
    const claim = await claimDataDir(dataDir);
    await expect(claimDataDir(dataDir)).rejects.toThrow(EmbeddedError);
    await expect(claimDataDir(dataDir)).rejects.toThrow(new RegExp(`process id ${process.pid}`));
    claim.release();
    (await claimDataDir(dataDir)).release();
  });

  test("a data directory that has no room for the lock is left as it was, also by a hundred starts", async () => {
    const dataDir = newDataDir();
    const { writeFileSync: write } = fs;
    vi.spyOn(fs, "writeFileSync").mockImplementation((file, _text, options) => {
      write(file, "", options);
      throw Object.assign(new Error("ENOSPC"), { code: "ENOSPC", syscall: "write" });
    });
    syncBuiltinESMExports();
    try {
      for (let start = 0; start < 100; start += 1)
        await expect(claimDataDir(dataDir)).rejects.toThrow(`DATA_DIR ${dataDir} cannot be used: its disk is full.`);
      expect(readdirSync(dataDir)).toEqual([]);
    } finally {
      vi.restoreAllMocks();
      syncBuiltinESMExports();
    }
  });

  test.each([
    ["ENOSPC", true, "its disk is full"],
    ["EPERM", false, "its file system makes no hard links"],
    ["ENOTSUP", false, "its file system makes no hard links"],
  ])("a data directory that cannot be locked because of %s is told with the reason", async (code, passing, words) => {
    const dataDir = newDataDir();
    vi.spyOn(fs, "linkSync").mockImplementation((existing) => {
      throw Object.assign(new Error(code), { code, syscall: "link", path: existing });
    });
    syncBuiltinESMExports();
    try {
      await expect(claimDataDir(dataDir)).rejects.toThrow(
        expect.objectContaining({ message: `DATA_DIR ${dataDir} cannot be used: ${words}.`, passing }),
      );
      expect(readdirSync(dataDir)).toEqual([]);
    } finally {
      vi.restoreAllMocks();
      syncBuiltinESMExports();
    }
  });

  test("two that start at once with the same process id, as in two containers, are never told that the directory is not there", async () => {
    const dataDir = newDataDir();
    const { linkSync } = fs;
    vi.spyOn(fs, "linkSync").mockImplementationOnce((draft, lock) => {
      rmSync(draft);
      linkSync(draft, lock);
    });
    syncBuiltinESMExports();
    try {
      (await claimDataDir(dataDir)).release();
      expect(readdirSync(dataDir)).toEqual([]);
    } finally {
      vi.restoreAllMocks();
      syncBuiltinESMExports();
    }
  });

  test("the data directory is taken over from an engine that was killed, also when its process id was given to somebody else", async () => {
    const dataDir = newDataDir();
    const dead = spawnSync("true").pid;
    writeFileSync(join(dataDir, "engine.lock"), `${dead}\nsome-boot/1\n`);
    (await claimDataDir(dataDir)).release();
    writeFileSync(join(dataDir, "engine.lock"), `${process.ppid}\nsome-boot/1\n`);
    (await claimDataDir(dataDir)).release();
    writeFileSync(join(dataDir, "engine.lock"), "");
    (await claimDataDir(dataDir)).release();
    expect(existsSync(join(dataDir, "engine.lock"))).toBe(false);
  });

  test.each([
    [true, "a running engine in another container, or on another machine"],
    [false, undefined],
  ])(
    "a lock of another container is somebody's where it is touched (%s), also when its process id is one of ours here",
    async (isTouched, owner) => {
      const dataDir = newDataDir();
      const lock = join(dataDir, "engine.lock");
      const [pid, identity] = [process.pid, processIdentity(process.pid)];
      writeFileSync(lock, `${pid}\n${identity}\nsome-boot/pid:[1]\n`);
      const waited: number[] = [];
      const pause = (ms: number): Promise<void> => {
        waited.push(ms);
        if (isTouched && waited.length === 3) utimesSync(lock, 1, 1);
        return Promise.resolve();
      };
      const onWait = vi.fn();
      const claimed = claimDataDir(dataDir, { pause, onWait });
      if (owner === undefined) (await claimed).release();
      else await expect(claimed).rejects.toThrow(`DATA_DIR is in use by ${owner};`);
      expect(onWait).toHaveBeenCalledTimes(1);
      const total = waited.reduce((sum, ms) => sum + ms, 0);
      expect(total).toBe(isTouched ? 3 * LIMITS.data_dir_beat_ms : LIMITS.data_dir_dead_ms);
      expect(existsSync(lock)).toBe(isTouched);
    },
  );

  test("a lock of another container at which nobody can look for a moment is not taken", async () => {
    const dataDir = newDataDir();
    const lock = join(dataDir, "engine.lock");
    writeFileSync(lock, "1\nsome-boot/1\nsome-boot/pid:[1]\n");
    const pause = (): Promise<void> => {
      vi.spyOn(fs, "openSync").mockImplementation((path) => {
        throw Object.assign(new Error("EIO"), { code: "EIO", syscall: "open", path });
      });
      syncBuiltinESMExports();
      return Promise.resolve();
    };
    try {
      await expect(claimDataDir(dataDir, { pause })).rejects.toThrow(
        expect.objectContaining({ message: `DATA_DIR ${dataDir} cannot be used: its disk fails.`, passing: true }),
      );
    } finally {
      vi.restoreAllMocks();
      syncBuiltinESMExports();
    }
    expect(readdirSync(dataDir)).toEqual(["engine.lock"]);
  });

  test("who waits for a lock of another container has no file of its own there, which it would leave when it is ended", async () => {
    const dataDir = newDataDir();
    writeFileSync(join(dataDir, "engine.lock"), "1\nsome-boot/1\nsome-boot/pid:[1]\n");
    const seen: string[] = [];
    const pause = (): Promise<void> => {
      seen.push(...readdirSync(dataDir));
      return Promise.resolve();
    };
    const claim = await claimDataDir(dataDir, { pause });
    claim.release();
    expect(new Set(seen)).toEqual(new Set(["engine.lock"]));
  });

  test("who has a data directory touches its lock, until it lets go or another has taken it", async () => {
    vi.useFakeTimers({ toFake: ["setInterval", "clearInterval"] });
    const claims: { release(): void }[] = []; // Bounded by the three of this test.
    const claimed = async (): Promise<string> => {
      const dataDir = newDataDir();
      claims.push(await claimDataDir(dataDir));
      return join(dataDir, "engine.lock");
    };
    try {
      const [released, taken, held] = [await claimed(), await claimed(), await claimed()];
      claims[0]?.release();
      for (const lock of [released, taken]) writeFileSync(lock, "1\nsome-boot/1\nsome-boot/pid:[1]\n");
      for (const lock of [released, taken, held]) utimesSync(lock, 1, 1);
      vi.advanceTimersByTime(LIMITS.data_dir_beat_ms);
      // It is the last to be touched.
      await eventually("the lock is touched", () => statSync(held).mtimeMs > 1_000);
      expect([released, taken].map((lock) => statSync(lock).mtimeMs)).toEqual([1_000, 1_000]);
    } finally {
      for (const claim of claims) claim.release();
      vi.useRealTimers();
    }
  });

  /** Claims a new data directory, and gives the lock's file and how a beat of its holder passes. */
  async function claimed(onLost: () => void = () => undefined) {
    vi.useFakeTimers({ toFake: ["setInterval", "clearInterval"] });
    const dataDir = newDataDir();
    const claim = await claimDataDir(dataDir);
    void claim.lost.then(onLost);
    undo.push(() => {
      claim.release();
      vi.useRealTimers();
    });
    const beat = (): void => {
      vi.advanceTimersByTime(LIMITS.data_dir_beat_ms);
    };
    return { claim, dataDir, lock: join(dataDir, "engine.lock"), beat };
  }

  const FROM_ELSEWHERE = "1\nsome-boot/1\nsome-boot/pid:[1]\n";

  test("who finds that another has taken its lock, and touches it, is told once and leaves it to that one", async () => {
    const lost = vi.fn();
    const { claim, lock, beat } = await claimed(lost);
    writeFileSync(lock, FROM_ELSEWHERE);
    let touched_s = 0;
    await eventually("it is told", () => {
      touched_s += 1;
      utimesSync(lock, touched_s, touched_s);
      beat();
      return lost.mock.calls.length > 0;
    });
    // Nothing looks again.
    expect(vi.getTimerCount()).toBe(0);
    claim.release();
    expect(lost).toHaveBeenCalledTimes(1);
    expect(readFileSync(lock, "utf8")).toBe(FROM_ELSEWHERE);
  });

  test("who finds that a living engine of this machine has its lock is told by one look", async () => {
    const lost = vi.fn();
    const { lock, beat } = await claimed(lost);
    const [, , space] = readFileSync(lock, "utf8").split("\n");
    writeFileSync(lock, `${process.ppid}\n${processIdentity(process.ppid)}\n${space}\n`);
    beat();
    await eventually("it is told", () => lost.mock.calls.length > 0);
  });

  test("a lock from elsewhere that nobody touches, as of a copy of the directory, ends no engine, which has its own again after the time that a start waits", async () => {
    const lost = vi.fn();
    const { lock, beat } = await claimed(lost);
    const mine = readFileSync(lock, "utf8");
    writeFileSync(lock, FROM_ELSEWHERE);
    let beats = 0;
    await eventually("it has its own again", () => {
      beats += 1;
      beat();
      return readFileSync(lock, "utf8") === mine;
    });
    expect(beats * LIMITS.data_dir_beat_ms).toBeGreaterThan(LIMITS.data_dir_dead_ms);
    expect(lost).not.toHaveBeenCalled();
  });

  test("a lock that is gone, as of one who has taken it and could not start, is had again by who held it before", async () => {
    const lost = vi.fn();
    const { claim, dataDir, lock, beat } = await claimed(lost);
    rmSync(lock);
    beat();
    await eventually("it has the lock alone", () => readdirSync(dataDir).join() === "engine.lock");
    await expect(claimDataDir(dataDir)).rejects.toThrow(new RegExp(`process id ${process.pid}`));
    claim.release();
    expect(readdirSync(dataDir)).toEqual([]);
    expect(lost).not.toHaveBeenCalled();
  });

  test("a lock in whose place one of nobody was put ends no engine, which has its own again", async () => {
    const lost = vi.fn();
    const { dataDir, lock, beat } = await claimed(lost);
    const mine = readFileSync(lock, "utf8");
    const [, identity, space] = mine.split("\n");
    // Emptied, cut off, of a process of this machine that has ended, and the same of a release that told no more.
    const ended = `${process.pid}\n${identity}0\n`;
    for (const text of ["", "no lock", `${ended}${space}\n`, ended]) {
      writeFileSync(lock, text);
      beat();
      await eventually("it has its own again", () => readFileSync(lock, "utf8") === mine);
    }
    await eventually("nothing else is left", () => readdirSync(dataDir).join() === "engine.lock");
    expect(lost).not.toHaveBeenCalled();
  });

  test("who lets go of its directory while it takes the lock again leaves no lock", async () => {
    const { claim, dataDir, lock, beat } = await claimed();
    const links = vi.spyOn(promises, "link").mockImplementationOnce((draft, name) => {
      claim.release();
      fs.linkSync(draft, name);
      return Promise.resolve();
    });
    syncBuiltinESMExports();
    try {
      rmSync(lock);
      beat();
      await eventually("the lock was taken again", () => links.mock.calls.length > 0);
      await eventually("nothing is left", () => readdirSync(dataDir).length === 0);
    } finally {
      vi.restoreAllMocks();
      syncBuiltinESMExports();
    }
  });

  test("a file system that does not answer is asked for the lock once, and not again each second", async () => {
    const dataDir = newDataDir();
    const reads = vi.spyOn(promises, "open").mockReturnValue(new Promise(() => undefined));
    syncBuiltinESMExports();
    vi.useFakeTimers({ toFake: ["setInterval", "clearInterval"] });
    try {
      const claim = await claimDataDir(dataDir);
      vi.advanceTimersByTime(3 * LIMITS.data_dir_beat_ms);
      claim.release();
      expect(reads).toHaveBeenCalledTimes(1);
    } finally {
      vi.useRealTimers();
      vi.restoreAllMocks();
      syncBuiltinESMExports();
    }
  });
});
