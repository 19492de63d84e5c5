// Goal: a release is imported whole or not at all, and nothing runs whose hash, sources or compiler version differ.
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { crc32, deflateRawSync } from "node:zlib";
import { describe, expect, test } from "vitest";
import { importRules, stageRules } from "../../../../validators/schematron/release/import.js";
import {
  listPacks,
  loadActivePacks,
  loadPack,
  PackRefused,
  recompilePack,
  setActive,
} from "../../../../validators/schematron/release/load.js";
import type { LoadedSchema } from "../../../../validators/schematron/release/load.js";
import { manifestSchema } from "../../../../validators/schematron/release/manifest.js";
import { sharedIds, verifyRules, verifyTests } from "../../../../validators/schematron/release/verify.js";
import { loadXsd } from "../../../../validators/schematron/release/xsd.js";
import { readZip } from "../../../../validators/schematron/release/zip.js";
import { documentOf, failedIds, ruleSetOf, withRulesDir } from "../../../support/validators/packs.js";

const schema = (
  id: string,
  test = "t:b",
): string => `<schema xmlns="http://purl.oclc.org/dsdl/schematron" queryBinding="xslt2"><title>Rules of ${id}</title><ns prefix="t" uri="urn:t"/>
  <pattern><rule context="/t:a"><assert id="${id}" flag="fatal" test="${test}">b is missing</assert><assert id="C" test="normalize-space(t:CustomizationID) = 'urn:x:1'">c</assert></rule></pattern></schema>`;
const XSD = `<xs:schema xmlns:xs="http://www.w3.org/2001/XMLSchema" targetNamespace="urn:t" elementFormDefault="qualified"><xs:include schemaLocation="types.xsd"/>
  <xs:element name="a"><xs:complexType><xs:sequence><xs:element name="b" type="xs:integer"/></xs:sequence></xs:complexType></xs:element></xs:schema>`;
const TYPES = '<xs:schema xmlns:xs="http://www.w3.org/2001/XMLSchema" targetNamespace="urn:t"/>';
const TESTS = `<testSet xmlns="http://difi.no/xsd/vefa/validator/1.0" configuration="x"><test><assert><success>NEW-01</success></assert><a xmlns="urn:t"><b/></a></test>
  <test><assert><error number="1">NEW-01</error></assert><a xmlns="urn:t"/></test><test><assert><error>NEW-01</error></assert><a xmlns="urn:t"><b/></a></test></testSet>`;

const FILES: Readonly<Record<string, string>> = {
  "rules/NEW.sch": schema("NEW-01"),
  "xsd/a.xsd": XSD,
  "xsd/types.xsd": TYPES,
  "test/new-01.xml": TESTS,
  "readme.txt": "not read",
};

function writeRelease(directory: string, files: Readonly<Record<string, string>> = FILES): string {
  const source = join(directory, "Release 1.0");
  for (const [path, content] of Object.entries(files)) {
    mkdirSync(join(source, path, ".."), { recursive: true });
    writeFileSync(join(source, path), content);
  }
  return source;
}

const idsOf = (schemas: readonly LoadedSchema[]): string[] =>
  schemas.flatMap(({ rules }) => rules.catalogue.map(({ id }) => id));

type ZipEntry = { name: string; content: Buffer; method?: number; flags?: number; size?: number; checksum?: number };

/** A ZIP archive made by hand, so that it can be wrong in one place. */
function zip(entries: readonly ZipEntry[]): Buffer {
  const locals: Buffer[] = [];
  const directory: Buffer[] = [];
  let offset = 0;
  for (const { name, content, method = 8, flags = 0, size = content.length, checksum = crc32(content) } of entries) {
    const packed = method === 8 ? deflateRawSync(content) : content;
    const head = Buffer.alloc(30);
    head.writeUInt32LE(0x04034b50, 0);
    head.writeUInt16LE(Buffer.byteLength(name), 26);
    const local = Buffer.concat([head, Buffer.from(name), packed]);
    const entry = Buffer.alloc(46);
    entry.writeUInt32LE(0x02014b50, 0);
    entry.writeUInt16LE(flags, 8);
    entry.writeUInt16LE(method, 10);
    entry.writeUInt32LE(checksum, 16);
    entry.writeUInt32LE(packed.length, 20);
    entry.writeUInt32LE(size, 24);
    entry.writeUInt16LE(Buffer.byteLength(name), 28);
    entry.writeUInt32LE(offset, 42);
    directory.push(entry, Buffer.from(name));
    locals.push(local);
    offset += local.length;
  }
  const end = Buffer.alloc(22);
  end.writeUInt32LE(0x06054b50, 0);
  end.writeUInt16LE(entries.length, 10);
  end.writeUInt32LE(offset, 16);
  return Buffer.concat([...locals, ...directory, end]);
}

const bytesOf = (xml: string): Buffer => Buffer.from(xml);

describe("import", () => {
  test("a folder becomes a pack that says what it is, inactive", () => {
    withRulesDir((directory) => {
      const rulesDir = join(directory, "rules");
      const { manifest } = importRules({ source: writeRelease(directory), rulesDir, mandatoryFrom: "2027-02-24" });
      expect(manifest).toMatchObject({
        id: "release-1.0",
        active: false,
        mandatoryFrom: "2027-02-24",
        importedFrom: "Release 1.0",
        schemas: [
          {
            file: "rules/NEW.sch",
            title: "Rules of NEW-01",
            layer: "pack:release-1.0",
            asserts: 2,
            roots: ["{urn:t}a"],
            customizations: ["urn:x:1"],
          },
        ],
        xsds: [
          { file: "xsd/a.xsd", namespace: "urn:t" },
          { file: "xsd/types.xsd", namespace: "urn:t" },
        ],
      });
      expect(manifest.sources.map(({ path }) => path)).toEqual(["rules/NEW.sch", "xsd/a.xsd", "xsd/types.xsd"]);
      const pack = loadPack(rulesDir, "release-1.0");
      expect(failedIds(ruleSetOf(pack, "rules/NEW.sch"), documentOf(bytesOf('<a xmlns="urn:t"/>')))).toEqual([
        "C",
        "NEW-01",
      ]);
      expect(readdirSync(rulesDir)).toEqual(["release-1.0"]);
    });
  });

  test("a ZIP archive with the same files gives the same code", () => {
    withRulesDir((directory) => {
      const archive = join(directory, "release.zip");
      writeFileSync(
        archive,
        zip([
          ...Object.entries(FILES).map(([name, content], i) => ({
            name,
            content: Buffer.from(content),
            method: i === 0 ? 0 : 8,
          })),
          { name: "empty/", content: Buffer.alloc(0), method: 0 },
        ]),
      );
      const zipped = importRules({ source: archive, rulesDir: join(directory, "z"), id: "same" });
      const folder = importRules({ source: writeRelease(directory), rulesDir: join(directory, "f"), id: "same" });
      expect(zipped.manifest.schemas).toEqual(folder.manifest.schemas);
    });
  });

  test("a schema that does not have every built-in id is a layer of its own, or what the caller says", () => {
    withRulesDir((directory) => {
      const source = writeRelease(directory, {
        "a.sch": schema("BR-01").replace('"C"', '"BR-02"'),
        "b.sch": schema("PEPPOL-EN16931-R001"),
        "c.sch": schema("XX-1"),
      });
      const layers = (given?: Record<string, "en16931">): string[] =>
        importRules({
          source,
          rulesDir: join(directory, "r"),
          id: "p",
          ...(given === undefined ? {} : { layers: given }),
        }).manifest.schemas.map(({ layer }) => layer);
      expect(layers()).toEqual(["pack:p", "pack:p", "pack:p"]);
      expect(layers({ "c.sch": "en16931" })).toEqual(["pack:p", "pack:p", "en16931"]);
    });
  });

  test("one unsupported construct stops it before anything is written", () => {
    withRulesDir((directory) => {
      const rulesDir = join(directory, "rules");
      const source = writeRelease(directory, { ...FILES, "rules/worse.sch": schema("W-1", "document('x')") });
      expect(() => importRules({ source, rulesDir })).toThrow(
        /^rules\/worse\.sch:2: not supported: the function document/,
      );
      expect(existsSync(rulesDir)).toBe(false);
    });
  });

  test("a release without schemas, a missing one, a bad id and another encoding are refused", () => {
    withRulesDir((directory) => {
      const rulesDir = join(directory, "rules");
      expect(() => importRules({ source: join(directory, "gone"), rulesDir })).toThrow("gone does not exist");
      expect(() => importRules({ source: writeRelease(directory, { "a.xml": "<a/>" }), rulesDir })).toThrow(
        "no Schematron schema",
      );
      const source = writeRelease(directory);
      expect(() => importRules({ source, rulesDir, id: "../x" })).toThrow("no id of a pack");
      writeFileSync(join(source, "rules", "u.sch"), `<?xml version="1.0" encoding="UTF-16"?>${schema("U")}`);
      expect(() => importRules({ source, rulesDir })).toThrow("encoding utf-16");
    });
  });

  test("the tests of a release are run, and what they find broken is said", () => {
    withRulesDir((directory) => {
      const rulesDir = join(directory, "rules");
      const { tests } = importRules({ source: writeRelease(directory), rulesDir, id: "p" });
      const sets = loadPack(rulesDir, "p").schemas.map(({ rules }) => rules);
      expect(tests.map(({ file }) => file)).toEqual(["test/new-01.xml"]);
      expect(tests.flatMap((file) => verifyTests(sets, file.tests, documentOf))).toEqual([
        "test 3: NEW-01 did not fire",
      ]);
    });
  });
});

describe("a pack takes its place", () => {
  test("a staged release is read by nobody before it takes the place of the pack of its id, and nothing else of it is left", () => {
    withRulesDir((directory) => {
      const rulesDir = join(directory, "rules");
      importRules({ source: writeRelease(directory), rulesDir, id: "p" });
      setActive(rulesDir, "p", true);
      const source = writeRelease(directory, { "rules/NEW.sch": schema("NEW-02") });
      const ids = (): string[] => loadActivePacks(rulesDir).flatMap(({ schemas }) => idsOf(schemas));
      const { stage, place, discard } = stageRules({ source, rulesDir, id: "p" });
      expect([ids(), idsOf(loadPack(stage, "p").schemas)]).toEqual([
        ["NEW-01", "C"],
        ["NEW-02", "C"],
      ]);
      place(true);
      discard();
      expect([ids(), readdirSync(rulesDir)]).toEqual([["NEW-02", "C"], ["p"]]);
    });
  });

  test("what an import that was killed has left goes with a later one of its id, that of one under way stays", () => {
    withRulesDir((directory) => {
      const rulesDir = join(directory, "rules");
      const stages = [".p-killed", ".p-underway", ".other-killed"];
      for (const name of stages) mkdirSync(join(rulesDir, name, "p"), { recursive: true });
      for (const name of [".p-killed", ".other-killed"]) utimesSync(join(rulesDir, name), 1_000, 1_000);
      importRules({ source: writeRelease(directory), rulesDir, id: "p" });
      expect(readdirSync(rulesDir)).toEqual([".other-killed", ".p-underway", "p"]);
    });
  });
});

describe("load", () => {
  const imported = (body: (rulesDir: string) => void): void =>
    withRulesDir((directory) => {
      const rulesDir = join(directory, "rules");
      importRules({ source: writeRelease(directory), rulesDir, id: "p" });
      body(rulesDir);
    });
  const refused = (rulesDir: string): string | undefined => {
    try {
      loadPack(rulesDir, "p");
      return undefined;
    } catch (error) {
      return error instanceof PackRefused ? error.reason : "another error";
    }
  };
  const changeManifest = (rulesDir: string, change: Record<string, unknown>): void => {
    const path = join(rulesDir, "p", "manifest.json");
    writeFileSync(path, JSON.stringify({ ...(JSON.parse(readFileSync(path, "utf8")) as object), ...change }));
  };

  test("changed code is not run", () =>
    imported((rulesDir) => {
      writeFileSync(join(rulesDir, "p", "0.rules.js"), `${readFileSync(join(rulesDir, "p", "0.rules.js"), "utf8")} `);
      expect(refused(rulesDir)).toBe("code");
      expect(listPacks(rulesDir)).toMatchObject([{ id: "p", refusal: "code" }]);
    }));

  test("changed or missing sources are noticed", () =>
    imported((rulesDir) => {
      writeFileSync(join(rulesDir, "p", "sources", "rules", "NEW.sch"), schema("OTHER"));
      expect(refused(rulesDir)).toBe("sources");
    }));

  test("a damaged manifest, or one of another pack, is refused", () => {
    imported((rulesDir) => {
      writeFileSync(join(rulesDir, "p", "manifest.json"), "{");
      expect(refused(rulesDir)).toBe("manifest");
    });
    imported((rulesDir) => {
      changeManifest(rulesDir, { extra: 1 });
      expect(refused(rulesDir)).toBe("manifest");
    });
    imported((rulesDir) => {
      cpSync(join(rulesDir, "p"), join(rulesDir, "q"), { recursive: true });
      expect(listPacks(rulesDir)).toMatchObject([{ id: "p" }, { id: "q", refusal: "manifest" }]);
    });
  });

  test("code of another compiler is compiled again from the kept sources, and stays as active as it was", () =>
    imported((rulesDir) => {
      setActive(rulesDir, "p", true);
      changeManifest(rulesDir, { compiler: "0" });
      expect(refused(rulesDir)).toBe("compiler");
      expect(() => loadActivePacks(rulesDir)).toThrow(PackRefused);
      recompilePack(rulesDir, "p");
      expect(loadActivePacks(rulesDir).map(({ manifest }) => [manifest.id, manifest.importedFrom])).toEqual([
        ["p", "Release 1.0"],
      ]);
    }));

  test("only active packs are loaded at start, and one that cannot run cannot be activated", () =>
    imported((rulesDir) => {
      expect(loadActivePacks(rulesDir)).toEqual([]);
      setActive(rulesDir, "p", true);
      expect(loadActivePacks(rulesDir)).toHaveLength(1);
      setActive(rulesDir, "p", false);
      expect(loadActivePacks(rulesDir)).toEqual([]);
      changeManifest(rulesDir, { compiler: "0" });
      expect(() => setActive(rulesDir, "p", true)).toThrow(PackRefused);
      expect(loadActivePacks(join(rulesDir, "nowhere"))).toEqual([]);
    }));

  test("the manifest on disk is what its schema says", () =>
    imported((rulesDir) => {
      expect(
        manifestSchema.safeParse(JSON.parse(readFileSync(join(rulesDir, "p", "manifest.json"), "utf8"))).success,
      ).toBe(true);
    }));

  test("verify says document, rule, place and both counts of a difference", () =>
    imported((rulesDir) => {
      const rules = ruleSetOf(loadPack(rulesDir, "p"), "rules/NEW.sch");
      const silent = { ...rules, run: () => ({ findings: [], dropped: 0, droppedInvalid: false }) };
      const corpus = () => [
        { name: "d", document: documentOf(bytesOf('<a xmlns="urn:t"><CustomizationID>urn:x:1</CustomizationID></a>')) },
      ];
      expect(verifyRules(rules, rules, corpus())).toEqual({ documents: 1, differences: [] });
      expect(verifyRules(silent, rules, corpus()).differences).toEqual([
        { document: "d", ruleId: "NEW-01", severity: "fatal", location: "/a", builtIn: 0, imported: 1 },
      ]);
      expect(verifyRules(silent, rules, corpus(), new Set(["C"])).differences).toEqual([]);
      expect([...sharedIds(rules, { ...rules, catalogue: rules.catalogue.slice(1) })]).toEqual(["C"]);
    }));
});

describe("XSDs of a pack", () => {
  test("XSDs of a pack judge documents, with includes from their own folder, and name the line", async () => {
    const directory = mkdtempSync(join(tmpdir(), "kurier-xsd-"));
    const folder = join(writeRelease(directory), "xsd");
    const xsd = await loadXsd(join(folder, "a.xsd"), folder, "pack:p");
    // The compiled schema needs its files no longer.
    rmSync(directory, { recursive: true });
    try {
      expect(xsd.validate(bytesOf('<a xmlns="urn:t"><b>1</b></a>'), 10)).toEqual([]);
      expect(xsd.validate(bytesOf('<a xmlns="urn:t">\n<b>x</b></a>'), 10)).toMatchObject([
        { ruleId: "XSD", severity: "error", line: 2 },
      ]);
    } finally {
      xsd.dispose();
    }
  });
});

describe("ZIP archives that are refused", () => {
  const limits = { entries: 3, bytes: 1000 };
  const good: ZipEntry = { name: "a.sch", content: Buffer.from("hello") };
  const read = (bytes: Buffer): string[] =>
    readZip(bytes, limits, () => true).map(({ name, bytes: content }) => `${name}=${content.toString()}`);

  test("a good ZIP archive is read", () => {
    expect(read(zip([good, { ...good, name: "b", method: 0 }]))).toEqual(["a.sch=hello", "b=hello"]);
  });

  test.each<[string, () => Buffer, string]>([
    ["no archive", () => Buffer.from("x".repeat(100)), "no directory"],
    ["empty", () => Buffer.alloc(0), "no directory"],
    ["cut", () => zip([good]).subarray(5), "damaged"],
    ["a path upwards", () => zip([{ ...good, name: "../a" }]), "outside"],
    ["an absolute path", () => zip([{ ...good, name: "/a" }]), "outside"],
    ["a drive", () => zip([{ ...good, name: "C:a" }]), "outside"],
    ["encryption", () => zip([{ ...good, flags: 1 }]), "encrypted"],
    ["another compression", () => zip([{ ...good, method: 12 }]), "not supported"],
    ["a wrong checksum", () => zip([{ ...good, checksum: 1 }]), "checksum"],
    ["a size that is too small", () => zip([{ ...good, size: 2 }]), "damaged"],
    ["too many entries", () => zip([good, good, good, good]), "more than 3"],
    ["a bomb", () => zip([{ name: "a", content: Buffer.alloc(5000) }]), "too large"],
    ["a bomb that lies about its size", () => zip([{ name: "a", content: Buffer.alloc(5000), size: 10 }]), "damaged"],
    [
      "many entries that are too large together",
      () =>
        zip([
          { name: "a", content: Buffer.alloc(600) },
          { name: "b", content: Buffer.alloc(600) },
        ]),
      "too large",
    ],
  ])("a ZIP archive is refused: %s", (_, bytes, problem) => {
    expect(() => read(bytes())).toThrow(problem);
  });
});
