/**
 * What an engine makes once and can never do without is on the disk before anything rests on it. Method: calls of fsync
 * are watched, with what has its name by then.
 * @source design/reliability.md, F-13
 */
import fs, {
  chownSync,
  closeSync,
  existsSync,
  fstatSync,
  linkSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { syncBuiltinESMExports } from "node:module";
import { tmpdir } from "node:os";
import { basename, join, relative } from "node:path";
import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from "vitest";

import { systemClock } from "../../../../engine/base/clock.js";
import type { FirmId } from "../../../../engine/base/ids.js";
import { silentLog } from "../../../../engine/base/log.js";
import {
  giveToOwnerOf,
  makeFile,
  makeFolder,
  makeFolderNow,
  replaceFile,
  syncTree,
} from "../../../../engine/base/files/durable.js";
import { claimDataDir, pathErrorOf } from "../../../../engine/embedded/embedded.js";
import { startNatsServer } from "../../../../engine/embedded/nats.js";
import { ensureDevelopmentPki, ensurePeerLeaves } from "../../../../engine/peppol/pki/development.js";
import { openFileEvidence } from "../../../../engine/storage/evidence/store-file.js";
import { evidenceRef } from "../../../../engine/storage/evidence/store.js";
import { openFirmKeyFiles } from "../../../../engine/storage/keyring/firm-key-files.js";
import { createSealer } from "../../../../engine/storage/sealer.js";
import { keepQuarantined, nodeName } from "../../../../gateway/start/data-dir.js";
import { watchSyncs } from "../../../support/syncs.js";

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

test.each([
  ["made once", makeFile],
  ["put in the place of another", replaceFile],
])(
  "a small file that is %s leaves nothing where its bytes do not reach the disk, and says which it is",
  async (_, write) => {
    const path = join(folder, "master.key");
    const watch = await watchSyncs(folder, (isDirectory) => {
      if (!isDirectory) throw Object.assign(new Error("EIO"), { code: "EIO", syscall: "fsync" });
    });
    const fault: unknown = await write(path, "a key\n", `${path}.1`).catch((error: unknown) => error);
    watch.restore();
    expect(pathErrorOf(fault)).toMatchObject({ message: `${path}.1 cannot be used: its disk fails.`, passing: true });
    expect(readdirSync(folder)).toEqual([]);
  },
);

/** Makes a disk on which files can be made, but not filled, as Node.js tells of it: without their paths. */
function fillDisk(): void {
  const full = (): Error => Object.assign(new Error("ENOSPC"), { code: "ENOSPC", syscall: "write" });
  const { writeFileSync: make } = fs;
  vi.spyOn(fs, "writeFileSync").mockImplementation((file, _, options) => {
    make(file, "", options);
    throw full();
  });
  vi.spyOn(fs.promises, "writeFile").mockImplementation((file) => {
    make(file as string, "");
    return Promise.reject(full());
  });
  syncBuiltinESMExports();
  onTestFinished(() => {
    vi.restoreAllMocks();
    syncBuiltinESMExports();
  });
}

test.each([
  [
    "the sandbox's certificates",
    `pki.draft-${process.pid}/trust/root.pem`,
    [],
    () => ensureDevelopmentPki({ folder: join(folder, "pki"), clock: systemClock }),
  ],
  [
    "the server of streams",
    "streams/nats.json",
    ["streams"],
    () => startNatsServer({ dataDir: folder, program: join(folder, "none"), log: silentLog }),
  ],
])("a full disk under %s is told with the file that finds no room, and nothing of it stays", async (...args) => {
  const [, file, left, start] = args;
  fillDisk();
  const fault: unknown = await start().catch((error: unknown) => error);
  const message = `${join(folder, file)} cannot be used: its disk is full.`;
  expect(pathErrorOf(fault)).toMatchObject({ message, passing: true });
  expect(readdirSync(folder, { recursive: true })).toEqual(left);
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

describe.each([
  ["makeFolder", makeFolder],
  ["makeFolderNow", makeFolderNow],
])("%s", (_, make) => {
  test("a new folder is on the disk with its name, and so is every new one above it; one that was there is left alone", async () => {
    const path = join(folder, "var", "lib", "kurier");
    const madeHere = (): Promise<void> => Promise.resolve(make(`${path}/`));
    expect(await syncsOf(path, madeHere)).toEqual(["var/lib/ after", "var/ after", "/ after"]);
    expect([path, join(folder, "var")].map((one) => statSync(one).mode & 0o777)).toEqual([0o700, 0o700]);
    expect(await syncsOf(path, madeHere)).toEqual([]);
  });

  test("a new folder that could not be synced is made and synced by who tries again", async () => {
    const path = join(folder, "lib", "kurier");
    const watch = await watchSyncs(folder, (_isDirectory, synced) => {
      if (synced === folder) throw new Error("the disk is gone");
    });
    await expect(Promise.resolve().then(() => make(path))).rejects.toThrow("the disk is gone");
    watch.restore();
    expect(await syncsOf(path, () => Promise.resolve(make(path)))).toEqual(["lib/ after", "/ after"]);
  });
});

test("a data directory is on the disk with its name before an engine makes anything in it", async () => {
  const path = join(folder, "lib", "kurier");
  const claim = async (): Promise<void> => {
    (await claimDataDir(path)).release();
  };
  expect(await syncsOf(path, claim)).toEqual(["lib/ after", "/ after"]);
});

test("the directory of firms' keys is on the disk with its name before it has the first of them", async () => {
  const path = join(folder, "keys");
  const syncs = await syncsOf(join(path, "name"), () => openFirmKeyFiles(`file:${path}`).baptise());
  expect(syncs.map((sync) => sync.replace(/^\.name\.[0-9a-f-]+/, "draft"))).toEqual([
    "/ before",
    "draft before",
    "keys/ after",
  ]);
});

test("the directory of evidence is on the disk with its name once it is opened", async () => {
  const path = join(folder, "archive", "evidence");
  expect(await syncsOf(path, () => Promise.resolve(openFileEvidence(path)))).toEqual(["archive/ after", "/ after"]);
});

test("evidence whose folder is made for another one at that moment is stored only once the disk has the folder's name", async () => {
  const at = Date.parse("2026-11-20T10:30:00Z");
  const store = openFileEvidence(folder);
  const watch = await watchSyncs(folder, (_isDirectory, synced) => {
    if (synced === folder) throw Object.assign(new Error("the disk is gone"), { code: "EIO" });
  });
  const stored = await Promise.allSettled(
    ["one", "two"].map((text) => store.put(evidenceRef(Buffer.from(text), at), Buffer.from(text))),
  );
  watch.restore();
  expect(stored.map(({ status }) => status)).toEqual(["rejected", "rejected"]);
  const again = Buffer.from("one");
  await store.put(evidenceRef(again, at), again);
  expect(await store.get(evidenceRef(again, at))).toEqual(again);
});

test("a document that killed its workers is on the disk with its name, and so is the folder that it is the first in", async () => {
  const sealer = createSealer([Buffer.alloc(32, 7)]);
  const bytes = Buffer.from("<Invoice/>");
  const job = { kind: "validate", sha256: "a".repeat(64), reason: "exit", input: { bytes } } as const;
  const name = `${job.sha256}.${sealer.keyId}.sealed`;
  const path = join(folder, "quarantine", name);
  const keep = (): Promise<void> => Promise.resolve(keepQuarantined(folder, sealer, job));
  expect(await syncsOf(path, keep)).toEqual(["/ before", `${name}.draft before`, "quarantine/ after"]);
  expect(await syncsOf(path, keep)).toEqual([`${name}.draft after`, "quarantine/ after"]);
  expect(readdirSync(join(folder, "quarantine"))).toEqual([name]);
  expect(sealer.open(sealer.keyId, readFileSync(path), job.sha256)).toEqual(bytes);
  expect([path, join(folder, "quarantine")].map((one) => statSync(one).mode & 0o777)).toEqual([0o600, 0o700]);
});

test("a document that killed its workers and could not be kept leaves no half of a file behind", () => {
  const sealer = createSealer([Buffer.alloc(32, 7)]);
  const job = { kind: "validate", sha256: "a".repeat(64), reason: "exit", input: { bytes: Buffer.from("x") } } as const;
  const name = `${job.sha256}.${sealer.keyId}.sealed`;
  mkdirSync(join(folder, "quarantine", name), { recursive: true });
  expect(() => {
    keepQuarantined(folder, sealer, job);
  }).toThrow("EISDIR");
  expect(readdirSync(join(folder, "quarantine"))).toEqual([name]);
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

test("all who give a node its name at the same moment find the same one, and no draft is left", async () => {
  const names = await Promise.all(Array.from({ length: 8 }, () => nodeName(folder)));
  expect(new Set(names)).toEqual(new Set([readFileSync(join(folder, "node.id"), "utf8").trim()]));
  expect(readdirSync(folder)).toEqual(["node.id"]);
});

test.each(["", "\0{", "0190a1b2"])(
  "a node whose name was damaged (%j) gets another one, which it keeps",
  async (damaged) => {
    writeFileSync(join(folder, "node.id"), damaged);
    const name = await nodeName(folder);
    expect(name).toMatch(/^[0-9a-f-]{36}$/);
    expect(await nodeName(folder)).toBe(name);
    expect(readdirSync(folder)).toEqual(["node.id"]);
  },
);

test("a link in the place of a file that is made once stays when it leads nowhere, and who needs the file is told which", async () => {
  const path = join(folder, "node.id");
  symlinkSync(join(folder, "unmounted", "node.id"), path);
  await expect(nodeName(folder)).rejects.toMatchObject({ code: "ENOENT", path });
  expect(readdirSync(folder)).toEqual(["node.id"]);
  expect(readlinkSync(path)).toBe(join(folder, "unmounted", "node.id"));
});

test("the keys and certificates of the sandbox have their folder only once all of them are on the disk", async () => {
  const pki = join(folder, "pki");
  const syncs = await syncsOf(pki, () => ensureDevelopmentPki({ folder: pki, clock: systemClock }));
  const files = readdirSync(pki, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
  expect(files.length).toBeGreaterThan(6);
  expect(files.filter(({ name }) => !syncs.includes(`${name} before`)).map(({ name }) => name)).toEqual([]);
  expect(syncs.at(-1)).toBe("/ after");
});

test("the key of the sandbox's other access point has its name on the disk before anybody meets it", async () => {
  const pki = join(folder, "pki");
  await ensureDevelopmentPki({ folder: pki, clock: systemClock });
  const peer = (): Promise<unknown> => ensurePeerLeaves(pki, "PSK000002", systemClock);
  expect((await syncsOf(join(pki, "peer.pem"), peer)).at(-1)).toBe("pki/ after");
  expect(await syncsOf(join(pki, "peer.pem"), peer)).toEqual([]);
});

// Nobody else can give a file away, so that others have nothing to try here.
test.runIf(process.geteuid?.() === 0)(
  "what a command of root writes beside an engine of another user belongs to that user: evidence, payloads and their folders, and keys of firms, new or wrapped again",
  async () => {
    chownSync(folder, 65_534, 65_534);
    const firmId = "01a225e3-376e-76dc-bc54-dba52bc5df80" as FirmId;
    const bytes = Buffer.from("a payload");
    await openFileEvidence(folder).put(evidenceRef(bytes, systemClock.now()), bytes);
    const keys = openFirmKeyFiles(`file:${folder}`);
    await keys.add(firmId, { by: "0123456789abcdef", sealed: bytes }, await keys.baptise());
    await keys.replace(firmId, { by: "fedcba9876543210", sealed: bytes });
    const made = readdirSync(folder, { recursive: true }).map((name) => join(folder, String(name)));
    expect(made.length).toBeGreaterThan(6);
    expect(made.filter((path) => statSync(path).uid !== 65_534 || statSync(path).gid !== 65_534)).toEqual([]);
  },
);

test.runIf(process.geteuid?.() === 0)(
  "a file that root made in a folder of its own, while that had the name of somebody's folder, stays root's, also when it has a second name there",
  () => {
    const [owned, roots] = [join(folder, "owned"), join(folder, "roots")];
    mkdirSync(owned);
    chownSync(owned, 65_534, 65_534);
    mkdirSync(roots);
    const within = openSync(owned, "r");
    const elsewhere = openSync(join(roots, "draft"), "wx");
    giveToOwnerOf(within, join(owned, "draft"), elsewhere);
    const beside = openSync(join(owned, "draft"), "wx");
    giveToOwnerOf(within, join(owned, "draft"), elsewhere);
    linkSync(join(roots, "draft"), join(owned, "second"));
    giveToOwnerOf(within, join(owned, "second"), elsewhere);
    expect(fstatSync(elsewhere).uid).toBe(0);
    giveToOwnerOf(within, join(owned, "draft"), beside);
    expect(fstatSync(beside).uid).toBe(65_534);
    for (const handle of [within, elsewhere, beside]) closeSync(handle);
  },
);
