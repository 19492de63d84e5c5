/** Who reads the log can be gone, or have no room: the engine serves all the same, and ends when it is told to. */
import { spawn } from "node:child_process";
import type { ChildProcess } from "node:child_process";
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeAll, describe, expect, test } from "vitest";

import { WaitingLines } from "../../../engine/base/files/standard-output.js";
import type { LinesTo } from "../../../engine/base/files/standard-output.js";
import { LIMITS } from "../../../engine/base/limits.js";
import { createLog } from "../../../engine/base/log.js";
import { buildIfNeeded } from "../../../deploy/build.mjs";
import { freshDatabase } from "../../support/database/postgres.js";
import { hasTerminals, startInTerminal } from "../../support/engines/closing-terminal.js";
import { freePort, killEverythingOn, PROJECT } from "../../support/engines/process.js";
import { eventually } from "../../support/eventually.js";
import { giveDevelopmentPki } from "../../support/peppol/development-pki.js";

/** Bounded by the steps of one test. */
const undo: (() => Promise<void> | void)[] = [];
beforeAll(async () => {
  await buildIfNeeded();
});
afterEach(async () => {
  for (const step of undo.splice(0).reverse()) await step();
});

const FULL = "/dev/full";

interface Prepared {
  readonly dataDir: string;
  readonly words: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  /** Waits until it serves. */
  readonly ready: () => Promise<void>;
}

/** What `kurier serve` needs, and how it is called. */
async function prepareServe(): Promise<Prepared> {
  const dataDir = mkdtempSync(join(tmpdir(), "kurier-output-"));
  const db = await freshDatabase();
  undo.push(async () => {
    killEverythingOn(dataDir);
    await db.drop();
    rmSync(dataDir, { recursive: true, force: true });
  });
  await giveDevelopmentPki(dataDir);
  const [port, adminPort] = [await freePort(), await freePort()];
  const { PATH = "", HOME = "" } = process.env;
  return {
    dataDir,
    words: [process.execPath, join(PROJECT, "gateway/kurier.mjs"), "serve"],
    env: {
      ...{ PATH, HOME, DATA_DIR: dataDir, PORT: String(port), ADMIN_PORT: String(adminPort), LOG_LEVEL: "debug" },
      ...{ DATABASE_URL: db.url, NATS_URL: "embedded", VALIDATOR_THREADS: "1", ENVIRONMENT: "sandbox" },
    },
    ready: async () => {
      await eventually("the engine is ready", async () =>
        fetch(`http://127.0.0.1:${adminPort}/readyz`).then(
          ({ status }) => status === 200,
          () => false,
        ),
      );
    },
  };
}

/** Starts `kurier serve` and waits until it is ready. @param output  where its log goes. Default a pipe without a reader */
async function startLogging(output?: string): Promise<ChildProcess> {
  const { words: serve, env, ready } = await prepareServe();
  const words = output === undefined ? serve : ["/bin/sh", "-c", 'exec "$@" >"$0"', output, ...serve];
  const child = spawn(words[0] ?? "", words.slice(1), { env, stdio: ["ignore", "pipe", "ignore"] });
  if (output === undefined) {
    await new Promise((resolve) => child.stdout.once("data", resolve));
    child.stdout.destroy();
  }
  await ready();
  return child;
}

/** How it ended. */
async function ended(child: ChildProcess): Promise<readonly [code: number | null, signal: NodeJS.Signals | null]> {
  await eventually("the engine has ended", () => child.exitCode !== null || child.signalCode !== null);
  return [child.exitCode, child.signalCode];
}

describe("a log that nobody can take", () => {
  test.skipIf(!existsSync(FULL))(
    "an engine whose log lies on a full disk starts, serves, and drains when it is told to",
    async () => {
      const child = await startLogging(FULL);
      child.kill("SIGTERM");
      expect(await ended(child)).toEqual([0, null]);
    },
  );

  test("an engine whose log has no reader any more serves, and drains when its terminal hangs up, however often", async () => {
    const child = await startLogging();
    child.kill("SIGHUP");
    child.kill("SIGHUP");
    expect(await ended(child)).toEqual([0, null]);
  });

  test.skipIf(!hasTerminals).each([
    ["in a terminal", []],
    ["that can only read its terminal", ["sh", "-c", 'exec "$0" "$@" </dev/tty >/dev/null']],
  ])(
    "an engine %s drains and ends well when that is closed, without a stack or a dump of its memory",
    async (_, before) => {
      const { dataDir, words, env, ready } = await prepareServe();
      const terminal = startInTerminal([...before, ...words], { folder: dataDir, env, isLed: true });
      undo.push(() => {
        terminal.close();
      });
      await ready();
      terminal.close();
      expect(await terminal.ended()).toEqual({ code: 0, errors: "" });
    },
  );
});

describe("lines of the log", () => {
  /** A place that takes what it has room for. */
  class Place implements LinesTo {
    text = "";
    /** Octets. */
    room = Infinity;
    /** Bounded by the lines of one test. */
    readonly #answers: (() => void)[] = [];
    /** Bounded by the lines of one test. */
    readonly #again: (() => void)[] = [];
    readonly write: LinesTo["write"] = (octets, written) => {
      this.#answers.push(() => {
        const taken = octets.subarray(0, this.room);
        this.room -= taken.length;
        this.text += taken.toString();
        written(taken.length === 0 ? Object.assign(new Error("full"), { code: "ENOSPC" }) : null, taken.length);
      });
    };
    readonly writeNow: LinesTo["writeNow"] = (octets) => {
      if (this.room === 0) throw new Error("full");
      this.text += octets.toString();
      return octets.length;
    };
    readonly later: LinesTo["later"] = (then) => void this.#again.push(then);
    answerOne(): void {
      this.#answers.shift()?.();
    }
    /** Answers what is asked, until nothing more is. */
    answer(): void {
      while (this.#answers.length > 0) this.answerOne();
    }
    /** The wait after a failure is over. */
    passTime(): void {
      for (const then of this.#again.splice(0)) then();
      this.answer();
    }
  }

  test("lines go on where a full disk has cut them, in their order, once there is room again", () => {
    const place = new Place();
    const lines = new WaitingLines(place);
    place.room = 7;
    for (const line of ["one\n", "two\n", "three\n"]) lines.write(line);
    place.answer();
    expect(place.text).toBe("one\ntwo");
    place.passTime();
    lines.write("four\n");
    place.room = Infinity;
    place.passTime();
    expect(place.text).toBe("one\ntwo\nthree\nfour\n");
    expect(lines.takeLost()).toBe(0);
  });

  test("lines wait within a bound while nobody takes them; how many more were lost is told once they are taken again", () => {
    const place = new Place();
    const lines = new WaitingLines(place);
    const line = `${"x".repeat(1_023)}\n`;
    const fitting = LIMITS.log_waiting_chars_max / line.length;
    place.room = 0;
    lines.write("first\n");
    place.answer();
    for (let n = 0; n < fitting + 5; n += 1) lines.write(line);
    expect(lines.takeLost()).toBe(0);
    place.room = Infinity;
    place.passTime();
    expect(place.text.length).toBe("first\n".length + fitting * line.length);
    expect([lines.takeLost(), lines.takeLost()]).toEqual([5, 0]);
  });

  test.each([
    ["stands still", 0],
    ["takes a little", 1],
  ])("how many were lost waits for room for the line that tells it, where a reader %s", (_, taken) => {
    const place = new Place();
    const lines = new WaitingLines(place);
    const line = `${"x".repeat(1_023)}\n`;
    lines.write("first\n");
    for (let n = 0; n < LIMITS.log_waiting_chars_max / line.length + 5; n += 1) lines.write(line);
    place.room = taken;
    if (taken > 0) place.answerOne();
    expect(lines.takeLost()).toBe(0);
    place.room = Infinity;
    place.answer();
    expect(lines.takeLost()).toBe(5);
  });

  test("the log tells at every level how many of its lines were lost, once there is room again", () => {
    const place = new Place();
    const lines = new WaitingLines(place);
    const log = createLog("error", lines);
    place.room = 0;
    lines.write("first\n");
    place.answer();
    lines.write("x".repeat(LIMITS.log_waiting_chars_max));
    for (let n = 0; n < 3; n += 1) log.error("mail.failed");
    place.room = Infinity;
    place.passTime();
    place.text = "";
    for (let n = 0; n < 2; n += 1) log.error("mail.failed");
    place.answer();
    const told = place.text.trim().split("\n");
    expect(told.map((line) => JSON.parse(line) as unknown)).toMatchObject([
      { event: "mail.failed" },
      { event: "log.lines_lost", count: 3 },
      { event: "mail.failed" },
    ]);
  });

  test("lines that wait when the process ends are written then, as far as they are taken", () => {
    const place = new Place();
    const lines = new WaitingLines(place);
    lines.write("under way\n");
    lines.write("waits\n");
    lines.flush();
    expect(place.text).toBe("waits\n");
    place.room = 0;
    lines.write("too late\n");
    expect(() => {
      lines.flush();
    }).not.toThrow();
  });
});
