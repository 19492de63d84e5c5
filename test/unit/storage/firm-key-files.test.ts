/**
 * The directory of firms' keys among processes that erase, wrap again and are killed. Method: what another process does
 * in between is done while a file is synced; one that is killed is told by every later call of the file system.
 * @source DECISIONS.md, D-324 and D-325
 */
import { randomBytes, randomUUID } from "node:crypto";
import { existsSync, mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";

import { systemClock } from "../../../engine/base/clock.js";
import { newId } from "../../../engine/base/ids.js";
import type { FirmId } from "../../../engine/base/ids.js";
import { FirmKeyGone, openFirmKeyFiles } from "../../../engine/storage/keyring/firm-key-files.js";
import type { FirmKeyFiles, WrappedKey } from "../../../engine/storage/keyring/firm-key-files.js";
import { rewrapFirmKeys } from "../../../engine/storage/keyring/firm-keys.js";
import { createSealer } from "../../../engine/storage/sealer.js";
import { watchSyncs } from "../../support/syncs.js";
import { whileUnmounted } from "../../support/unmounts.js";

const [old, next] = [createSealer([Buffer.alloc(32, 1)]), createSealer([Buffer.alloc(32, 2), Buffer.alloc(32, 1)])];
const newFirm = (): FirmId => newId(systemClock) as FirmId;
const wrapped = (firmId: FirmId, by = old): WrappedKey => ({
  by: by.keyId,
  sealed: by.seal(randomBytes(32), `firm key ${firmId}`),
});
const textOf = ({ by, sealed }: WrappedKey): string => `${by} ${sealed.toString("base64")}\n`;

let folder: string;
let files: FirmKeyFiles;
let name: string;
let firmId: FirmId;
beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), "kurier-firm-key-files-"));
  files = openFirmKeyFiles(`file:${folder}`);
  name = await files.baptise();
  firmId = newFirm();
});
afterEach(() => {
  rmSync(folder, { recursive: true, force: true });
  rmSync(`${folder}.away`, { recursive: true, force: true });
});
const inFolder = (): string[] => readdirSync(folder).sort();

/** Erases the firm as another process does, at the first sync of a draft of its key. */
async function whileErased(work: () => Promise<unknown>): Promise<unknown> {
  let isErased = false;
  const watch = await watchSyncs(folder, (isDirectory, path) => {
    if (isDirectory || isErased || !basename(path).startsWith(`.${firmId}.key.`)) return;
    isErased = true;
    writeFileSync(join(folder, `${firmId}.erased`), "");
    rmSync(join(folder, `${firmId}.key`), { force: true });
    rmSync(path);
  });
  try {
    return await work().catch((error: unknown) => error);
  } finally {
    watch.restore();
    expect(isErased).toBe(true);
  }
}

describe("an erasure beside other processes", () => {
  test("a key whose firm is erased while it is made is gone, and who makes it is told so", async () => {
    expect(await whileErased(() => files.add(firmId, wrapped(firmId), name))).toBeInstanceOf(FirmKeyGone);
    expect(inFolder()).toEqual([`${firmId}.erased`, "name"].sort());
  });

  test("a key whose firm is erased while it is wrapped again is gone, and those of other firms are wrapped", async () => {
    const others = [newFirm(), newFirm(), newFirm()];
    for (const one of [firmId, ...others]) await files.add(one, wrapped(one), name);
    expect(await whileErased(() => rewrapFirmKeys(next, files))).toBe(others.length);
    for (const one of others) expect((await files.read(one))?.by).toBe(next.keyId);
    expect(inFolder()).toEqual([...others.map((one) => `${one}.key`), `${firmId}.erased`, "name"].sort());
  });

  test("a key that two processes erase at once is gone, and neither fails", async () => {
    await files.add(firmId, wrapped(firmId), name);
    const watch = await watchSyncs(folder, (isDirectory, path) => {
      if (isDirectory || !basename(path).startsWith(`.${firmId}.erased.`)) return;
      writeFileSync(join(folder, `${firmId}.erased`), "");
      rmSync(path);
    });
    await files.erase(firmId).finally(() => {
      watch.restore();
    });
    expect(inFolder()).toEqual([`${firmId}.erased`, "name"].sort());
  });
});

describe("what lies beside the grave of a firm", () => {
  const other = newFirm();
  /** As an old copy of the directory brings them, and who was killed over them behind an erasure. */
  const leave = (): void => {
    writeFileSync(join(folder, `${firmId}.key`), textOf(wrapped(firmId)));
    writeFileSync(join(folder, `.${firmId}.key.${randomUUID()}`), textOf(wrapped(firmId, next)));
    writeFileSync(join(folder, `.${firmId}.erased.${randomUUID()}`), "");
  };

  test.each<readonly [string, () => Promise<unknown>]>([
    ["the next change of the master key", () => rewrapFirmKeys(next, files)],
    ["the next erasure of another firm", () => files.erase(other)],
    ["its erasure, done again", () => files.erase(firmId)],
  ])("a key and drafts beside the grave of a firm go with %s, and keys of other firms stay", async (_, work) => {
    const third = newFirm();
    await files.add(third, wrapped(third), name);
    await files.erase(firmId);
    leave();
    await work();
    expect(inFolder().filter((one) => !one.startsWith(other))).toEqual(
      [`${third}.key`, `${firmId}.erased`, "name"].sort(),
    );
  });
});

test("an erasure in a directory that has gone meanwhile, or is another one, digs no grave and says so", async () => {
  await files.add(firmId, wrapped(firmId), name);
  renameSync(folder, `${folder}.away`);
  const other = "FIRM_KEYS is not the directory that it was at the start.";
  await expect(files.erase(firmId)).rejects.toThrow(other);
  expect(existsSync(folder)).toBe(false);
  mkdirSync(folder);
  await expect(files.erase(firmId)).rejects.toThrow(other);
  await openFirmKeyFiles(`file:${folder}`).baptise();
  await expect(files.erase(firmId)).rejects.toThrow(other);
  expect(inFolder()).toEqual(["name"]);
  rmSync(folder, { recursive: true });
  renameSync(`${folder}.away`, folder);
  await files.erase(firmId);
  expect(inFolder()).toEqual([`${firmId}.erased`, "name"].sort());
});

test("a change of the master key in a directory that has gone meanwhile, or is another one, wraps nothing and says so", async () => {
  await files.add(firmId, wrapped(firmId), name);
  renameSync(folder, `${folder}.away`);
  mkdirSync(folder);
  const other = "FIRM_KEYS is not the directory that it was at the start.";
  await expect(rewrapFirmKeys(next, files)).rejects.toThrow(other);
  await openFirmKeyFiles(`file:${folder}`).baptise();
  const draft = `.${firmId}.key.${randomUUID()}`;
  writeFileSync(join(folder, draft), textOf(wrapped(firmId)));
  await expect(rewrapFirmKeys(next, files)).rejects.toThrow(other);
  expect(inFolder()).toEqual([draft, "name"]);
  rmSync(folder, { recursive: true });
  renameSync(`${folder}.away`, folder);
  expect(await rewrapFirmKeys(next, files)).toBe(1);
});

test("a change of the master key says so where the directory goes after its drafts", async () => {
  await files.add(firmId, wrapped(firmId), name);
  const going: FirmKeyFiles = {
    ...files,
    removeDrafts: async (by) => {
      await files.removeDrafts(by);
      renameSync(folder, `${folder}.away`);
      mkdirSync(folder);
    },
  };
  await expect(rewrapFirmKeys(next, going)).rejects.toThrow("FIRM_KEYS is not the directory");
});

test("a change of the master key blames no file where the whole directory goes while it is at it", async () => {
  for (const one of [firmId, newFirm()]) await files.add(one, wrapped(one), name);
  const going: FirmKeyFiles = {
    ...files,
    read: async (one) => {
      if (!existsSync(`${folder}.away`)) {
        renameSync(folder, `${folder}.away`);
        mkdirSync(folder);
      }
      return files.read(one);
    },
  };
  const told: string[] = [];
  const left = rewrapFirmKeys(next, going, (file) => told.push(file));
  await expect(left).rejects.toThrow("FIRM_KEYS is not the directory that it was at the start.");
  expect(told).toEqual([]);
});

describe("a file system that is unmounted as soon as its name was read", () => {
  test.each<readonly [string, (other: FirmId) => Promise<unknown>, (other: FirmId) => readonly string[]]>([
    ["a new key", (other) => files.add(other, wrapped(other), name), (other) => [`${firmId}.key`, `${other}.key`]],
    ["a key that is wrapped again", () => files.replace(firmId, wrapped(firmId, next)), () => [`${firmId}.key`]],
    ["the grave of an erased firm", () => files.erase(firmId), () => [`${firmId}.erased`]],
  ])("%s goes into the directory or nowhere, never into the folder that is left", async (_, work, left) => {
    await files.add(firmId, wrapped(firmId), name);
    const other = newFirm();
    expect(await whileUnmounted(folder, () => work(other))).not.toBeInstanceOf(Error);
    expect(inFolder()).toEqual([]);
    expect(readdirSync(`${folder}.away`).sort()).toEqual([...left(other), "name"].sort());
  });
});

test("a key is not wrapped again in a directory that has gone meanwhile, or is another one", async () => {
  await files.add(firmId, wrapped(firmId), name);
  renameSync(folder, `${folder}.away`);
  const again = (): Promise<void> => files.replace(firmId, wrapped(firmId, next));
  const other = "FIRM_KEYS is not the directory that it was at the start.";
  await expect(again()).rejects.toThrow(other);
  mkdirSync(folder);
  await expect(again()).rejects.toThrow(other);
  await openFirmKeyFiles(`file:${folder}`).baptise();
  await expect(again()).rejects.toThrow(other);
  expect(inFolder()).toEqual(["name"]);
  rmSync(folder, { recursive: true });
  renameSync(`${folder}.away`, folder);
  await again();
  expect((await files.read(firmId))?.by).toBe(next.keyId);
});

test("a folder whose name is like that of a draft stays, and holds nothing up", async () => {
  await files.add(firmId, wrapped(firmId), name);
  const folders = [`.${randomUUID()}`, `.${firmId}.key.${randomUUID()}`];
  for (const one of folders) mkdirSync(join(folder, one));
  expect(await rewrapFirmKeys(next, files)).toBe(1);
  await files.erase(firmId);
  expect(inFolder()).toEqual([...folders, `${firmId}.erased`, "name"].sort());
});

test("drafts that a change of the master key removes do not come back with a loss of power", async () => {
  const draft = `.${firmId}.key.${randomUUID()}`;
  writeFileSync(join(folder, draft), textOf(wrapped(firmId)));
  const isSynced: boolean[] = [];
  const watch = await watchSyncs(folder, (isDirectory) => {
    isSynced.push(isDirectory && !existsSync(join(folder, draft)));
  });
  expect(await rewrapFirmKeys(next, files)).toBe(0);
  watch.restore();
  expect(isSynced).toEqual([true]);
});
