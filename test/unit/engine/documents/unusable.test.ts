/** Which faults are said to be the database's. */
import { connect } from "node:net";
import { readFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";

import { databaseErrorOf } from "../../../../engine/storage/unusable.js";

const NOWHERE = join(tmpdir(), "kurier-nowhere", "socket");

test("a socket that is not there is the database's fault, a file that is not there is not", async () => {
  const ofSocket = await new Promise((resolve) => connect(NOWHERE).once("error", resolve));
  expect(databaseErrorOf(ofSocket)?.message).toContain("there is no socket at the path of DATABASE_URL");
  const ofFile: unknown = await readFile(NOWHERE).catch((error: unknown) => error);
  expect(ofFile).toMatchObject({ code: "ENOENT" });
  expect(databaseErrorOf(ofFile)).toBeUndefined();
});

test("a setting that the server refuses at the door is the operator's fault in any language, and inside a session it is ours", () => {
  const refused = (severity: string, message: string): Error =>
    Object.assign(new Error(message), { code: "22023", severity });
  expect(databaseErrorOf(refused("FATAL", "neplatná hodnota parametra „statement_timeout“"))).toMatchObject({
    message:
      "The database cannot be used: it does not take the value of a setting in DATABASE_URL (22023); correct it.",
    passing: false,
  });
  expect(databaseErrorOf(refused("ERROR", 'invalid value for parameter "statement_timeout": "abc"'))).toBeUndefined();
});

// As PostgreSQL 15 and PgBouncer 1.18 say it.
test.each([
  [
    "22023",
    '"base/16384" is not a valid data directory',
    "files are missing or damaged in base/16384 of its data (of DATA_DIR/postgres, where it is the engine's own), which has to come back from a copy",
    false,
  ],
  [
    "22023",
    "„pg_tblspc/16385/PG_15_202209061/5“ nie je platný adresár údajov",
    "files are missing or damaged in pg_tblspc/16385/PG_15_202209061/5 of its data (of DATA_DIR/postgres, where it is the engine's own), which has to come back from a copy",
    false,
  ],
  ["22023", "database files are incompatible with server", "its data are of another version of PostgreSQL", false],
  [
    "3D000",
    'database "kurier" does not exist',
    "files are missing or damaged in base/16384 of its data (of DATA_DIR/postgres, where it is the engine's own), which has to come back from a copy",
    false,
    'The database subdirectory "base/16384" is missing.',
  ],
  ["3D000", 'database "kurier" does not exist', "there is no database of the name in DATABASE_URL", false],
  ["08P01", "no such database: nope", "the pooler before it has no database of the name in DATABASE_URL", false],
  ["08P01", 'database "nowhere" does not exist', "there is no database of the name that the pooler asks for", false],
  [
    "08P01",
    "SASL authentication failed",
    "the pooler before it does not take the user or the password of DATABASE_URL",
    false,
  ],
  [
    "0A000",
    "conversion between UTF8 and MULE_INTERNAL is not supported",
    "it has an encoding of which its server makes no UTF8",
    false,
  ],
  [
    "55000",
    'database "closed" is not currently accepting connections',
    "it takes no connections, as one that is closed or half dropped",
    true,
  ],
  ["08P01", "query_wait_timeout", "it is away or busy", true],
] as const)(
  "a session that is refused with %s, %s, is told as what it is",
  (code, text, words, passing, detail?: string) => {
    const error = Object.assign(new Error(text), { code, severity: "FATAL", detail });
    const advice = passing ? "try again when it is there" : "correct it";
    expect(databaseErrorOf(error)).toMatchObject({
      message: `The database cannot be used: ${words} (${code}); ${advice}.`,
      passing,
    });
  },
);

test("what a session is refused with is no fault of the database where a statement is", () => {
  for (const code of ["0A000", "55000"])
    expect(databaseErrorOf(Object.assign(new Error("UTF8"), { code, severity: "ERROR" }))).toBeUndefined();
});
