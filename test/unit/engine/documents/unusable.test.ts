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
