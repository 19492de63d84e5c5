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
