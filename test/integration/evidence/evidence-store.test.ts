/** What an evidence store promises, asked of the file form and of the S3 form over real HTTP. */
import fs, {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import files from "node:fs/promises";
import type { FileHandle } from "node:fs/promises";
import { syncBuiltinESMExports } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { randomBytes } from "node:crypto";
import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from "vitest";

import { systemClock } from "../../../engine/base/clock.js";
import { errorFields } from "../../../engine/base/log.js";
import { mustMakeLinks } from "../../../engine/embedded/embedded.js";
import { openFileEvidence } from "../../../engine/storage/evidence/store-file.js";
import { openS3Evidence, parseS3Target } from "../../../engine/storage/evidence/store-s3.js";
import {
  EvidenceMissing,
  evidenceRef,
  EvidenceRetained,
  EvidenceStoreFailure,
  retainedUntil,
} from "../../../engine/storage/evidence/store.js";
import type { EvidenceStore } from "../../../engine/storage/evidence/store.js";
import { openPayloadStore } from "../../../engine/storage/payloads/payload-store.js";
import { freshDatabase } from "../../support/database/postgres.js";
import { startTestEngine } from "../../support/engines/engine.js";
import { startS3 } from "../../support/network/s3.js";
import type { S3Imitation } from "../../support/network/s3.js";
import { watchSyncs } from "../../support/syncs.js";

const STORED_AT = Date.parse("2026-11-20T10:30:00Z");
/** Of another hour, whose objects have a folder of their own. */
const LATER = Date.parse("2026-11-20T11:30:00Z");

interface Form {
  store: EvidenceStore;
  /** Changes what is stored behind the store's back. */
  spoil(ref: string, bytes: Buffer): void;
  end(): Promise<void> | void;
}

let s3: S3Imitation;
const FORMS: readonly [name: string, open: () => Promise<Form> | Form][] = [
  [
    "file",
    () => {
      const root = mkdtempSync(join(tmpdir(), "kurier-evidence-"));
      return {
        store: openFileEvidence(root),
        spoil: (ref, bytes) => {
          chmodSync(join(root, ref), 0o600);
          writeFileSync(join(root, ref), bytes);
        },
        end: () => {
          rmSync(root, { recursive: true, force: true });
        },
      };
    },
  ],
  [
    "s3",
    async () => {
      s3 = await startS3();
      const target = parseS3Target(s3.target);
      if (target === undefined) throw new Error("the imitation's address cannot be read");
      return {
        store: openS3Evidence(target, systemClock),
        spoil: (ref, bytes) => {
          const object = s3.objects.get(`kurier/${ref}`);
          if (object !== undefined) object.bytes = bytes;
        },
        end: () => s3.stop(),
      };
    },
  ],
];

describe.each(FORMS)("the %s form", (name, open) => {
  let form: Form;
  beforeEach(async () => {
    form = await open();
  });
  afterEach(() => form.end());

  const object = (): { bytes: Buffer; ref: string } => {
    const bytes = randomBytes(10_000);
    return { bytes, ref: evidenceRef(bytes, STORED_AT) };
  };

  test("the archive gives back what was stored, whole and in part", async () => {
    const { bytes, ref } = object();
    await form.store.put(ref, bytes);
    expect((await form.store.get(ref)).equals(bytes)).toBe(true);
    expect((await form.store.get(ref, { offset: 512, length: 1_000 })).equals(bytes.subarray(512, 1_512))).toBe(true);
  });

  test("storing again changes nothing, also at the same time", async () => {
    const { bytes, ref } = object();
    await Promise.all([form.store.put(ref, bytes), form.store.put(ref, bytes), form.store.put(ref, bytes)]);
    await form.store.put(ref, bytes);
    expect((await form.store.get(ref)).equals(bytes)).toBe(true);
  });

  test("the archive never writes over other content under the same digest", async () => {
    const { bytes, ref } = object();
    await form.store.put(ref, bytes);
    form.spoil(ref, Buffer.from("something else"));
    await expect(form.store.put(ref, bytes)).rejects.toBeInstanceOf(EvidenceStoreFailure);
    expect((await form.store.get(ref)).toString()).toBe("something else");
  });

  test("the archive says that an object is missing", async () => {
    await expect(form.store.get(object().ref)).rejects.toBeInstanceOf(EvidenceMissing);
  });

  test("the archive refuses to remove an object before its ten years are over, and removes it after them", async () => {
    const { bytes, ref } = object();
    await form.store.put(ref, bytes);
    await expect(form.store.remove(ref, STORED_AT)).rejects.toBeInstanceOf(EvidenceRetained);
    await expect(form.store.remove(ref, Date.parse("2036-11-20T10:29:59Z"))).rejects.toBeInstanceOf(EvidenceRetained);
    expect((await form.store.get(ref)).equals(bytes)).toBe(true);
    await form.store.remove(ref, Date.parse("2036-11-20T11:00:00Z"));
    await expect(form.store.get(ref)).rejects.toBeInstanceOf(EvidenceMissing);
  });

  test.each(["../../../etc/passwd", "2026/11/20/10/../x", "2026/11/20/10/ABC", ""])(
    "a reference is a reference: %j is refused",
    async (ref) => {
      await expect(form.store.get(ref)).rejects.toThrow("not a reference");
      await expect(form.store.put(ref, Buffer.from("x"))).rejects.toThrow();
    },
  );
});

describe("the file form", () => {
  test("the archive in files leaves read-only files named by their digest and no drafts", async () => {
    const root = mkdtempSync(join(tmpdir(), "kurier-evidence-"));
    const bytes = randomBytes(100);
    const ref = evidenceRef(bytes, STORED_AT);
    await openFileEvidence(root).put(ref, bytes);
    expect(readdirSync(join(root, "2026/11/20/10"))).toEqual([ref.split("/").at(-1)]);
    expect(statSync(join(root, ref)).mode & 0o777).toBe(0o400);
    expect(readFileSync(join(root, ref)).equals(bytes)).toBe(true);
    rmSync(root, { recursive: true, force: true });
  });
});

test("the last object of a year goes also where somebody keeps that year on another disk, behind a link that stays", async () => {
  const [root, disk] = ["store", "disk"].map((name) => mkdtempSync(join(tmpdir(), `kurier-${name}-`))) as [
    string,
    string,
  ];
  try {
    const store = openFileEvidence(root);
    const ref = evidenceRef(Buffer.from("a"), STORED_AT);
    await store.put(ref, Buffer.from("a"));
    renameSync(join(root, "2026"), join(disk, "2026"));
    symlinkSync(join(disk, "2026"), join(root, "2026"));
    await store.remove(ref, retainedUntil(ref));
    // A run that was killed before it forgot the object comes again.
    for (let run = 0; run < 2; run += 1) await store.tidy(ref, retainedUntil(ref));
    expect([readdirSync(root), readdirSync(join(disk, "2026"))]).toEqual([["2026"], []]);
  } finally {
    for (const folder of [root, disk]) rmSync(folder, { recursive: true, force: true });
  }
});

test("a line of the log says what the system says of a store that takes nothing, and not where it lies", async () => {
  const root = mkdtempSync(join(tmpdir(), "kurier-evidence-"));
  const store = openFileEvidence(root);
  const ref = evidenceRef(Buffer.from("x"), STORED_AT);
  // Stands where the folder of a year is to be made, as nothing can be made on a full disk.
  writeFileSync(join(root, ref.slice(0, 4)), "");
  const error: unknown = await store.put(ref, Buffer.from("x")).catch((thrown: unknown) => thrown);
  const said = errorFields(error);
  expect(said).toMatchObject({ error: "EvidenceStoreFailure", code: "ENOTDIR" });
  expect(JSON.stringify(said)).not.toContain(root);
  rmSync(root, { recursive: true, force: true });
});

describe("the file form, of an object in pieces", () => {
  test("thousands of pieces, also empty ones, are stored one behind the other", async () => {
    const root = mkdtempSync(join(tmpdir(), "kurier-evidence-"));
    const pieces = Array.from({ length: 5_000 }, (_, i) => randomBytes(i % 7));
    const whole = Buffer.concat(pieces);
    const ref = evidenceRef(whole, STORED_AT);
    await openFileEvidence(root).putPieces?.(ref, pieces);
    expect(readFileSync(join(root, ref)).equals(whole)).toBe(true);
    rmSync(root, { recursive: true, force: true });
  });
});

describe("the file form, when no more files may be open", () => {
  let root: string;
  beforeEach(() => {
    root = mkdtempSync(join(tmpdir(), "kurier-evidence-"));
  });
  afterEach(() => {
    rmSync(root, { recursive: true, force: true });
  });

  /** The handles that are opened while something is done, when a draft or its folder cannot be opened. */
  async function opened(refused: "draft" | "folder", act: () => Promise<unknown>): Promise<readonly FileHandle[]> {
    const { open } = files;
    const handles: FileHandle[] = [];
    const spy = vi.spyOn(files, "open").mockImplementation(async (path, flags, mode) => {
      if ((flags === "wx") === (refused === "draft"))
        throw Object.assign(new Error("too many open files"), { code: "EMFILE" });
      const handle = await open(path, flags, mode);
      handles.push(handle);
      return handle;
    });
    syncBuiltinESMExports();
    try {
      await act();
      return handles;
    } finally {
      spy.mockRestore();
      syncBuiltinESMExports();
    }
  }

  test.each(["draft", "folder"] as const)(
    "an object whose %s cannot be opened is not stored, and leaves neither a draft nor an open file",
    async (refused) => {
      const [first, second] = [randomBytes(100), randomBytes(100)];
      const [firstRef, secondRef] = [evidenceRef(first, STORED_AT), evidenceRef(second, STORED_AT)];
      const store = openFileEvidence(root);
      // The folder is there and synced: only the object itself is opened in what follows.
      await store.put(firstRef, first);
      const handles = await opened(refused, () => expect(store.put(secondRef, second)).rejects.toThrow("EMFILE"));
      expect(handles.map(({ fd }) => fd)).toEqual([-1]);
      expect(readdirSync(join(root, "2026/11/20/10"))).toEqual([firstRef.split("/").at(-1)]);
      await store.put(secondRef, second);
      expect((await store.get(secondRef)).equals(second)).toBe(true);
    },
  );
});

describe("the file form, when its file system goes and comes", () => {
  const [first, second] = [Buffer.from("first"), Buffer.from("second")];
  const [firstRef, secondRef] = [evidenceRef(first, STORED_AT), evidenceRef(second, STORED_AT)];
  let above: string;
  let root: string;
  beforeEach(() => {
    above = mkdtempSync(join(tmpdir(), "kurier-evidence-"));
    root = join(above, "evidence");
  });
  afterEach(() => {
    rmSync(above, { recursive: true, force: true });
  });

  test.each([
    ["leaves its empty mount point", "UNMOUNTED", () => mkdirSync(root)],
    ["takes the folder with it", "ENOENT", () => undefined],
  ])("nothing is stored beside a file system that %s, and everything once it is back", async (_, code, leave) => {
    const store = openFileEvidence(root);
    await store.put(firstRef, first);
    renameSync(root, join(above, "away"));
    leave();
    await expect(store.put(secondRef, second)).rejects.toBeInstanceOf(EvidenceStoreFailure);
    await expect(store.put(secondRef, second)).rejects.toMatchObject({ code });
    expect(existsSync(root) ? readdirSync(root) : []).toEqual([]);
    rmSync(root, { recursive: true, force: true });
    renameSync(join(above, "away"), root);
    await store.put(secondRef, second);
    expect([await store.get(firstRef), await store.get(secondRef)]).toEqual([first, second]);
  });

  test.each([
    ["leaves its empty mount point", "UNMOUNTED", () => mkdirSync(root)],
    ["takes the folder with it", "ENOENT", () => undefined],
  ])("no object is missing, and none removed, beside a file system that %s", async (_, code, leave) => {
    const store = openPayloadStore(`file:${root}`, systemClock);
    await store.put(firstRef, first);
    renameSync(root, join(above, "away"));
    leave();
    const read = await store.get(firstRef, { offset: 0, length: 1 }).catch((error: unknown) => error);
    expect(read).toMatchObject({ name: "EvidenceStoreFailure", message: `Payloads could not be read: ${code}.` });
    await expect(store.remove(firstRef)).rejects.toThrow(`Payloads could not be removed: ${code}.`);
    await expect(store.tidy(firstRef)).rejects.toThrow(`Payloads could not be removed: ${code}.`);
    rmSync(root, { recursive: true, force: true });
    renameSync(join(above, "away"), root);
    await store.remove(firstRef);
    await expect(store.get(firstRef, { offset: 0, length: 1 })).rejects.toBeInstanceOf(EvidenceMissing);
  });

  test.each([
    ["leaves its empty mount point", "UNMOUNTED", () => mkdirSync(root)],
    ["takes the folder with it", "ENOENT", () => undefined],
  ])("who opens a store in use beside a file system that %s finds it once it is back", async (_, code, leave) => {
    await openFileEvidence(root).put(firstRef, first);
    renameSync(root, join(above, "away"));
    leave();
    const store = openFileEvidence(root, { isInUse: true });
    await expect(store.put(secondRef, second)).rejects.toMatchObject({ name: "EvidenceStoreFailure", code });
    await expect(store.get(firstRef)).rejects.toMatchObject({ name: "EvidenceStoreFailure", code });
    await expect(store.remove(firstRef, Infinity)).rejects.toMatchObject({ name: "EvidenceStoreFailure", code });
    expect(existsSync(root) ? readdirSync(root) : []).toEqual([]);
    rmSync(root, { recursive: true, force: true });
    renameSync(join(above, "away"), root);
    await store.put(secondRef, second);
    expect([await store.get(firstRef), await store.get(secondRef)]).toEqual([first, second]);
  });

  test("what a start has left that was killed while it tried an empty mount point makes no store of it", async () => {
    await openFileEvidence(root).put(firstRef, first);
    const known = openFileEvidence(root);
    renameSync(root, join(above, "away"));
    mkdirSync(root);
    // As far as such a start comes.
    const removal = vi.spyOn(fs, "rmSync").mockImplementation(() => undefined);
    syncBuiltinESMExports();
    try {
      mustMakeLinks(root, "EVIDENCE_STORE");
    } finally {
      removal.mockRestore();
      syncBuiltinESMExports();
    }
    expect(readdirSync(root)).toHaveLength(2);
    for (const store of [known, openFileEvidence(root, { isInUse: true })]) {
      await expect(store.get(firstRef)).rejects.toMatchObject({ name: "EvidenceStoreFailure", code: "UNMOUNTED" });
      await expect(store.put(secondRef, second)).rejects.toMatchObject({ code: "UNMOUNTED" });
    }
  });

  test("a store in use that has lost its last object since it was opened takes the next", async () => {
    await openFileEvidence(root).put(firstRef, first);
    const store = openFileEvidence(root, { isInUse: true });
    for (const name of readdirSync(root)) rmSync(join(root, name), { recursive: true });
    await store.put(secondRef, second);
    expect(await store.get(secondRef)).toEqual(second);
  });

  test("what fails at a payload store is said of payloads, and not of evidence", async () => {
    const store = openPayloadStore(`file:${root}`, systemClock);
    // Kept, and not removed: some file systems give its number to the next folder.
    renameSync(root, join(above, "away"));
    await expect(store.put(firstRef, first)).rejects.toThrow(/^Payloads could not be written: ENOENT\.$/);
    mkdirSync(root);
    await expect(store.put(firstRef, first)).rejects.toThrow(/^Payloads could not be written: UNMOUNTED\.$/);
  });

  test("a store whose file system is mounted again under another number, or has lost its last object, takes the next", async () => {
    const store = openFileEvidence(root);
    await store.put(firstRef, first);
    cpSync(root, join(above, "copy"), { recursive: true });
    rmSync(root, { recursive: true });
    renameSync(join(above, "copy"), root);
    await store.put(evidenceRef(second, LATER), second);
    for (const name of readdirSync(root)) rmSync(join(root, name), { recursive: true });
    await expect(store.put(evidenceRef(first, LATER), first)).rejects.toBeInstanceOf(EvidenceStoreFailure);
    await store.put(evidenceRef(first, LATER), first);
    expect(await store.get(evidenceRef(first, LATER))).toEqual(first);
  });
});

test.each(["EPERM", "ENOTSUP", "ENOSYS"])(
  "an engine whose evidence would lie where no hard links are made (%s) does not start, says so and leaves nothing there",
  async (code) => {
    const folder = mkdtempSync(join(tmpdir(), "kurier-linkless-"));
    const db = await freshDatabase();
    const { linkSync } = fs;
    vi.spyOn(fs, "linkSync").mockImplementation((existing, path) => {
      if (!String(existing).startsWith(folder)) {
        linkSync(existing, path);
        return;
      }
      throw Object.assign(new Error(code), { code, syscall: "link", path: existing });
    });
    syncBuiltinESMExports();
    try {
      await expect(startTestEngine({ db, config: { EVIDENCE_STORE: `file:${folder}` } })).rejects.toMatchObject({
        message: `EVIDENCE_STORE ${folder} cannot be used: its file system makes no hard links.`,
        passing: false,
      });
      expect(readdirSync(folder)).toEqual([]);
    } finally {
      vi.restoreAllMocks();
      syncBuiltinESMExports();
      await db.drop();
      rmSync(folder, { recursive: true });
    }
  },
);

describe("the file form, when the power may fail at any moment", () => {
  let root: string;
  beforeEach(() => {
    root = mkdtempSync(join(tmpdir(), "kurier-evidence-"));
  });
  afterEach(() => {
    rmSync(root, { recursive: true, force: true });
  });

  test("an object has its name only once its bytes are on the disk, and is stored only once the disk knows its name and every new folder's", async () => {
    const bytes = randomBytes(100);
    const ref = evidenceRef(bytes, STORED_AT);
    const store = openFileEvidence(root);
    const syncs: string[] = [];
    const watch = await watchSyncs(root, (isDirectory) => {
      syncs.push(`${isDirectory ? "folder" : "file"} ${existsSync(join(root, ref)) ? "after" : "before"}`);
    });
    await store.put(ref, bytes);
    const atReturn = [...syncs];
    watch.restore();
    // Year, month, day and hour are new: the folders above each of them, then the file, then its name.
    expect(atReturn).toEqual([
      "folder before",
      "folder before",
      "folder before",
      "folder before",
      "file before",
      "folder after",
    ]);
  });

  test("an object is stored also where somebody tidies its draft away meanwhile", async () => {
    const bytes = randomBytes(100);
    const ref = evidenceRef(bytes, STORED_AT);
    const store = openFileEvidence(root);
    const watch = await watchSyncs(root, (isDirectory, synced) => {
      if (!isDirectory) return;
      for (const name of readdirSync(synced)) if (name.startsWith(".")) rmSync(join(synced, name));
    });
    await store.put(ref, bytes);
    watch.restore();
    expect((await store.get(ref)).equals(bytes)).toBe(true);
    expect(readdirSync(join(root, "2026/11/20/10"))).toEqual([ref.split("/").at(-1)]);
  });

  test.each(["file", "folder"] as const)(
    "a %s that cannot be synced is a failure, and the next attempt syncs again",
    async (kind) => {
      const bytes = randomBytes(100);
      const ref = evidenceRef(bytes, STORED_AT);
      const store = openFileEvidence(root);
      await store.put(evidenceRef(Buffer.from("first"), STORED_AT), Buffer.from("first"));
      let failing = true;
      const kinds: string[] = [];
      const watch = await watchSyncs(root, (isDirectory) => {
        kinds.push(isDirectory ? "folder" : "file");
        if (failing && isDirectory === (kind === "folder"))
          throw Object.assign(new Error("the disk is gone"), { code: "EIO" });
      });
      await expect(store.put(ref, bytes)).rejects.toBeInstanceOf(EvidenceStoreFailure);
      failing = false;
      kinds.length = 0;
      await store.put(ref, bytes);
      watch.restore();
      expect(kinds).toEqual(["file", "folder"]);
      expect((await store.get(ref)).equals(bytes)).toBe(true);
    },
  );
});

describe("the s3 form", () => {
  test("the archive in a bucket locks every object until ten years after its hour", async () => {
    const imitation = await startS3();
    const store = openS3Evidence(parseS3Target(imitation.target) ?? expect.fail("target"), systemClock);
    const bytes = randomBytes(100);
    const ref = evidenceRef(bytes, STORED_AT);
    await store.put(ref, bytes);
    expect([...imitation.objects.values()].map(({ retainUntil }) => retainUntil)).toEqual([retainedUntil(ref)]);
    expect(new Date(retainedUntil(ref)).toISOString()).toBe("2036-11-20T11:00:00.000Z");
    await imitation.stop();
  });

  test("the archive in a bucket removes the version that it stored, for a bucket with versions keeps what is only hidden", async () => {
    const imitation = await startS3();
    const store = openS3Evidence(parseS3Target(imitation.target) ?? expect.fail("target"), systemClock);
    const bytes = randomBytes(100);
    const ref = evidenceRef(bytes, STORED_AT);
    await store.put(ref, bytes);
    await store.remove(ref, retainedUntil(ref));
    expect([imitation.objects.size, imitation.hidden.size]).toEqual([0, 0]);
    await store.remove(ref, retainedUntil(ref));
    await imitation.stop();
  });

  test.each([
    ["an error under 200", 200, "<Error><Code>InternalError</Code></Error>", /with a text/],
    ["a page under 200", 200, "<!doctype html><title>Sign in</title>", /with a text/],
    ["the way to another host", 307, "", /HTTP 307/],
    ["the name of another region", 301, "<Error><Code>PermanentRedirect</Code></Error>", /HTTP 301/],
  ])("the archive in a bucket counts nothing as stored that is answered with %s, and says so", async (...row) => {
    const [, status, text, said] = row;
    const imitation = await startS3();
    onTestFinished(() => imitation.stop());
    const store = openS3Evidence(parseS3Target(imitation.target) ?? expect.fail("target"), systemClock);
    imitation.instead = (response) => {
      response.writeHead(status, { location: "http://127.0.0.1:1/elsewhere" }).end(text);
    };
    const bytes = randomBytes(100);
    const stored = store.put(evidenceRef(bytes, STORED_AT), bytes);
    await expect(stored).rejects.toBeInstanceOf(EvidenceStoreFailure);
    await expect(stored).rejects.toThrow(said);
  });

  test("the archive in a bucket counts nothing as stored whose answer announces a text under 200 and breaks off", async () => {
    const imitation = await startS3();
    onTestFinished(() => imitation.stop());
    const store = openS3Evidence(parseS3Target(imitation.target) ?? expect.fail("target"), systemClock);
    imitation.instead = (response) => {
      response.writeHead(200, { "content-length": 100 }).flushHeaders();
      response.destroy();
    };
    const bytes = randomBytes(100);
    await expect(store.put(evidenceRef(bytes, STORED_AT), bytes)).rejects.toThrow(/broke off/);
  });

  test.each([
    [206, 0],
    [200, 50],
  ])(
    "the archive in a bucket reads no more than it asked for of an answer (%i) that never ends",
    async (status, at) => {
      const imitation = await startS3();
      onTestFinished(() => imitation.stop());
      const store = openS3Evidence(parseS3Target(imitation.target) ?? expect.fail("target"), systemClock);
      imitation.instead = (response) => {
        response.writeHead(status).write(Buffer.from(Array.from({ length: 200 }, (_, index) => index)));
      };
      const ref = evidenceRef(randomBytes(100), STORED_AT);
      const read = await store.get(ref, { offset: 50, length: 20 });
      expect([...read]).toEqual(Array.from({ length: 20 }, (_, index) => at + index));
    },
  );

  test("the archive in a bucket repeats what met another PUT of the same object, a bounded number of times", async () => {
    const imitation = await startS3();
    const store = openS3Evidence(parseS3Target(imitation.target) ?? expect.fail("target"), systemClock);
    const bytes = randomBytes(100);
    imitation.conflicts = 2;
    await store.put(evidenceRef(bytes, STORED_AT), bytes);
    expect(imitation.objects.size).toBe(1);
    const other = randomBytes(100);
    imitation.conflicts = 100;
    await expect(store.put(evidenceRef(other, STORED_AT), other)).rejects.toBeInstanceOf(EvidenceStoreFailure);
    expect(imitation.conflicts).toBe(96);
    await imitation.stop();
  });

  test("a wrong secret, a bucket that is busy and one that is away are failures, not damage", async () => {
    const imitation = await startS3();
    const target = parseS3Target(imitation.target) ?? expect.fail("target");
    const bytes = randomBytes(100);
    const ref = evidenceRef(bytes, STORED_AT);
    await expect(
      openS3Evidence({ ...target, secretAccessKey: "wrong" }, systemClock).put(ref, bytes),
    ).rejects.toBeInstanceOf(EvidenceStoreFailure);
    expect(imitation.refusals).toEqual(["signature"]);
    const elsewhere = openS3Evidence({ ...target, bucket: "misspelt" }, systemClock);
    for (const call of [() => elsewhere.put(ref, bytes), () => elsewhere.get(ref)])
      await expect(call()).rejects.toMatchObject({
        name: "EvidenceStoreFailure",
        message: "The evidence bucket does not exist: HTTP 404.",
      });
    imitation.failing = 1;
    await expect(openS3Evidence(target, systemClock).put(ref, bytes)).rejects.toMatchObject({ code: "HTTP 503" });
    await imitation.stop();
    await expect(openS3Evidence(target, systemClock).put(ref, bytes)).rejects.toBeInstanceOf(EvidenceStoreFailure);
    expect(imitation.objects.size).toBe(0);
  });

  test.each(["s3:bucket", "s3:https://host/bucket", "s3:https://a:b@host/", "file:/x", "s3:ftp://a:b@host/bucket"])(
    "%s names no bucket",
    (text) => {
      expect(parseS3Target(text)).toBeUndefined();
    },
  );
});
