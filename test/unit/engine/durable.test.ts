/**
 * What an engine makes once and can never do without is on the disk before anything rests on it. Method: calls of fsync
 * are watched, with what has its name by then.
 * @source design/reliability.md, F-13
 */
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { basename, join, relative } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";

import { systemClock } from "../../../engine/base/clock.js";
import { replaceFile, syncTree } from "../../../engine/base/files/durable.js";
import { ensureDevelopmentPki } from "../../../engine/peppol/pki/development.js";
import { nodeName } from "../../../gateway/start/data-dir.js";
import { watchSyncs } from "../../support/syncs.js";

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "kurier-durable-"));
});
afterEach(() => {
  rmSync(folder, { recursive: true, force: true });
});

/** What was synced while something was made, and whether a path was there by then. */
async function syncsOf(path: string, make: () => Promise<unknown>): Promise<readonly string[]> {
  const syncs: string[] = [];
  const watch = await watchSyncs(folder, (isDirectory, synced) => {
    const name = isDirectory ? `${relative(folder, synced)}/` : basename(synced).replace(/\.\d+$/, ".draft");
    syncs.push(`${name} ${existsSync(path) ? "after" : "before"}`);
  });
  try {
    await make();
  } finally {
    watch.restore();
  }
  return syncs;
}

test("a small file has its name only once its bytes are on the disk, and is there only once the disk knows its name", async () => {
  const path = join(folder, "master.key");
  expect(await syncsOf(path, () => replaceFile(path, "a key\n", `${path}.1`))).toEqual([
    "master.key.draft before",
    "/ after",
  ]);
  expect(readFileSync(path, "utf8")).toBe("a key\n");
  expect(statSync(path).mode & 0o777).toBe(0o600);
  writeFileSync(`${path}.1`, "left behind");
  await replaceFile(path, "another key\n", `${path}.1`);
  expect(readFileSync(path, "utf8")).toBe("another key\n");
  expect(readdirSync(folder)).toEqual(["master.key"]);
});

test("a folder is on the disk once everything in it is", async () => {
  mkdirSync(join(folder, "pki", "ca"), { recursive: true });
  writeFileSync(join(folder, "pki", "ca", "ap.key"), "a key");
  writeFileSync(join(folder, "pki", "ap.pem"), "a certificate");
  const syncs = await syncsOf(folder, () => syncTree(join(folder, "pki")));
  expect(syncs.toSorted()).toEqual(["ap.key after", "ap.pem after", "pki/ after", "pki/ca/ after"]);
  expect(syncs.indexOf("ap.key after")).toBeLessThan(syncs.indexOf("pki/ca/ after"));
  expect(syncs.at(-1)).toBe("pki/ after");
});

test("the name of a node outlives a power loss, as the leases that it holds do", async () => {
  let name = "";
  const syncs = await syncsOf(join(folder, "node.id"), async () => {
    name = await nodeName(folder);
  });
  expect(syncs).toEqual(["node.id.draft before", "/ after"]);
  expect(await syncsOf(folder, () => nodeName(folder))).toEqual([]);
  expect(await nodeName(folder)).toBe(name);
});

test("the keys and certificates of the sandbox have their folder only once all of them are on the disk", async () => {
  const pki = join(folder, "pki");
  const syncs = await syncsOf(pki, () => ensureDevelopmentPki({ folder: pki, clock: systemClock }));
  const files = readdirSync(pki, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
  expect(files.length).toBeGreaterThan(6);
  expect(files.filter(({ name }) => !syncs.includes(`${name} before`)).map(({ name }) => name)).toEqual([]);
  expect(syncs.at(-1)).toBe("/ after");
});
