/** Goal: our keys come from a key store or the sandbox's own PKI, change without a restart, and never lie about in the open. */
import { execFileSync } from "node:child_process";
import { createPublicKey } from "node:crypto";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";

import { loadConfig } from "../../../engine/base/config.js";
import type { Config } from "../../../engine/base/config.js";
import { LIMITS } from "../../../engine/base/limits.js";
import { silentLog } from "../../../engine/base/log.js";
import { createPki } from "../../../engine/peppol/pki/pki.js";
import { pemOf, readCertificate } from "../../../engine/peppol/pki/certificate.js";
import { ensureDevelopmentPki, loadDevelopmentKeys, trustFolder } from "../../../engine/peppol/pki/development.js";
import { readKeyStore } from "../../../engine/peppol/pki/key-store.js";
import type { LoadedKey } from "../../../engine/peppol/pki/key-store.js";
import { createOwnKeys } from "../../../engine/peppol/pki/own-keys.js";
import { openOwnPki } from "../../../engine/peppol/pki/setup.js";
import { issueCertificate } from "../../../engine/peppol/pki/issue.js";
import { loadTrustStore, makeTrustStore } from "../../../engine/peppol/pki/trust.js";
import { pkiInitCommand, pkiShowCommand } from "../../../gateway/commands/pki.js";
import { unwrapPrivateKey } from "../../../validators/wss/keys.js";
import { conformanceBytes, describeConformance } from "../../support/conformance.js";
import { fakeClock } from "../../support/fake-clock.js";
import { Random, seedFrom } from "../../support/random.js";
import { makeTestPki } from "../../support/peppol/test-pki.js";
import type { Leaf, TestPki } from "../../support/peppol/test-pki.js";

const DAY = 86_400_000;
let folder: string;
let pki: TestPki;
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "kurier-keys-"));
  pki = await makeTestPki();
});
afterAll(() => {
  rmSync(folder, { recursive: true });
});

let fresh = 0;
let place: string;
beforeEach(() => {
  place = join(folder, `case-${(fresh += 1)}`);
  mkdirSync(place);
});

const openssl = (...args: string[]): void => {
  execFileSync("openssl", args, { cwd: place, stdio: "ignore" });
};

/** A key store as OpenSSL makes it. */
function keyStore(leaf: Leaf, password: string, ...more: string[]): string {
  writeFileSync(
    join(place, "in.pem"),
    pemOf(leaf.certificate) +
      pemOf(pki.ap.certificate) +
      leaf.privateKey.export({ type: "pkcs8", format: "pem" }).toString(),
  );
  openssl("pkcs12", "-export", "-in", "in.pem", "-out", "store.p12", "-passout", `pass:${password}`, ...more);
  return join(place, "store.p12");
}

describe("a PKCS#12 key store", () => {
  test("a PKCS#12 key store gives the key and its certificate, not the authority's", async () => {
    const leaf = pki.leaf("ap", "PSK000001");
    const keys = await readKeyStore(readFileSync(keyStore(leaf, "secret")), "secret");
    expect(keys).toHaveLength(1);
    expect(typeof keys !== "string" && keys[0]?.certificate.equals(leaf.certificate)).toBe(true);
    expect(
      typeof keys !== "string" &&
        keys[0] !== undefined &&
        createPublicKey(keys[0].privateKey).equals(createPublicKey(leaf.privateKey)),
    ).toBe(true);
  });

  test("a PKCS#12 key store with a wrong password, of a legacy algorithm, without a key, or that is none, is told apart", async () => {
    const leaf = pki.leaf("ap", "PSK000001");
    expect(await readKeyStore(readFileSync(keyStore(leaf, "secret")), "wrong")).toBe("password");
    expect(await readKeyStore(readFileSync(keyStore(leaf, "secret", "-legacy")), "secret")).toBe("legacy");
    expect(
      await readKeyStore(
        readFileSync(keyStore(leaf, "secret", "-certpbe", "PBE-SHA1-3DES", "-keypbe", "PBE-SHA1-3DES")),
        "secret",
      ),
    ).toBe("legacy");
    openssl("pkcs12", "-export", "-nokeys", "-in", "in.pem", "-out", "store.p12", "-passout", "pass:secret");
    expect(await readKeyStore(readFileSync(join(place, "store.p12")), "secret")).toBe("no_key");
    expect(await readKeyStore(Buffer.from("garbage"), "secret")).toBe("malformed");
    expect(await readKeyStore(Buffer.alloc(LIMITS.keystore_bytes_max + 1), "secret")).toBe("malformed");
  });

  test("a PKCS#12 key store that is damaged is refused, never a crash", async () => {
    const seed = seedFrom(20261120);
    const random = new Random(seed);
    const bytes = readFileSync(keyStore(pki.leaf("ap", "PSK000001"), "secret", "-iter", "1", "-maciter"));
    for (let round = 0; round < 300; round += 1) {
      const damaged = Buffer.from(bytes);
      damaged[random.int(damaged.length)] = random.int(256);
      const result = await readKeyStore(
        round % 3 === 0 ? damaged.subarray(0, random.int(damaged.length)) : damaged,
        "secret",
      );
      expect(typeof result === "string" || result.length > 0, `SEED=${seed} round ${round}`).toBe(true);
    }
  });
});

describeConformance("a key store of another stack", "as4/as4net", () => {
  test("a PKCS#12 key store in RC2 with 40 bits is named a legacy one", async () => {
    expect(await readKeyStore(conformanceBytes("as4", "as4net", "partyC.p12"), "ExampleC")).toBe("legacy");
  });
});

describe("our keys", () => {
  const loaded = ({ certificate, privateKey }: Leaf): LoadedKey => ({ certificate, privateKey });

  test("our key shows the certificate that is valid of an authority that was renewed with its key, and the end of the other needs no care", async () => {
    const clock = fakeClock();
    const renewed = (from: number, to: number): Buffer =>
      issueCertificate({
        ...{ subject: pki.ap.subject, publicKey: pki.ap.publicKey, issuer: pki.root, key: pki.root.privateKey },
        ...{ notBefore: clock.now() + from * DAY, notAfter: clock.now() + to * DAY },
        ...{ isCa: true, keyUsage: ["keyCertSign", "cRLSign"] },
      });
    const [old, young] = [renewed(-300, 3), renewed(1, 700)];
    const certificates = [old, young, pki.smp.certificate, pki.root.certificate].map((der) => readCertificate(der));
    const store = makeTrustStore(certificates.flatMap((certificate) => (certificate ? [{ certificate }] : [])));
    const leaf = pki.leaf("ap", "PSK000001", { notBefore: clock.now() - DAY, notAfter: clock.now() + 300 * DAY });
    const keys = await createOwnKeys({ load: () => Promise.resolve([loaded(leaf)]), store, clock, log: silentLog });
    const inUse = (): boolean[] =>
      keys.expiries().flatMap(({ usage, isInUse }) => (usage === "ap_ca" ? [isInUse] : []));
    expect(keys.ap().chain[0]?.equals(old)).toBe(true);
    expect(inUse()).toEqual([true, true]);
    clock.advance(2 * DAY);
    expect(inUse()).toEqual([false, true]);
    clock.advance(2 * DAY);
    expect(keys.ap().chain[0]?.equals(young)).toBe(true);
    expect(keys.ap().chain[1]?.equals(pki.root.certificate)).toBe(true);
  });

  test("the valid key that began last signs; the ones before still open messages; nobody else's is taken", async () => {
    const clock = fakeClock();
    const [old, young, tomorrow, past] = [
      [-300, 300],
      [-10, 700],
      [1, 700],
      [-300, -1],
    ].map(([from = 0, to = 0]) =>
      pki.leaf("ap", "PSK000001", { notBefore: clock.now() + from * DAY, notAfter: clock.now() + to * DAY }),
    );
    const smp = pki.leaf("smp", "PSK000001");
    if (old === undefined || young === undefined || tomorrow === undefined || past === undefined)
      throw new Error("four leaves");
    const keys = await createOwnKeys({
      load: () => Promise.resolve([old, tomorrow, past, young, smp].map(loaded)),
      store: pki.store,
      clock,
      log: silentLog,
    });
    expect(keys.ap()).toMatchObject({
      usage: "ap",
      seat: "PSK000001",
      certificate: young.certificate,
      chain: [pki.ap.certificate, pki.root.certificate],
    });
    expect(keys.apKeys().map(({ certificate }) => certificate)).toEqual(
      [young, tomorrow, old].map(({ certificate }) => certificate),
    );
    expect(keys.smp()?.certificate).toEqual(smp.certificate);
    clock.advance(2 * DAY);
    expect(keys.ap().certificate).toEqual(tomorrow.certificate);
    expect(unwrapPrivateKey(keys.ap().key).equals(tomorrow.privateKey)).toBe(true);
  });

  test("a new key is taken up by a reload, the old one stays for messages under way, and a broken store changes nothing", async () => {
    const clock = fakeClock();
    const old = pki.leaf("ap", "PSK000001", { notBefore: clock.now() - DAY, notAfter: clock.now() + 10 * DAY });
    const young = pki.leaf("ap", "PSK000001", { notBefore: clock.now() - 1_000 });
    let load = (): Promise<LoadedKey[]> => Promise.resolve([loaded(old)]);
    const keys = await createOwnKeys({ load: () => load(), store: pki.store, clock, log: silentLog });
    expect(await keys.reload()).toBe(false);
    load = () => Promise.reject(new Error("half a file"));
    expect(await keys.reload()).toBe(false);
    expect(keys.ap().certificate).toEqual(old.certificate);
    load = () => Promise.resolve([loaded(young)]);
    expect(await keys.reload()).toBe(true);
    expect(keys.ap().certificate).toEqual(young.certificate);
    expect(keys.apKeys().map(({ certificate }) => certificate)).toEqual([young.certificate, old.certificate]);
    clock.advance(11 * DAY);
    expect(keys.apKeys().map(({ certificate }) => certificate)).toEqual([young.certificate]);
  });

  test("without a key of an access point there is no start, and the sentence says why", async () => {
    const make = (leaf: Leaf): Promise<unknown> =>
      createOwnKeys({
        load: () => Promise.resolve([loaded(leaf)]),
        store: pki.store,
        clock: fakeClock(),
        log: silentLog,
      });
    await expect(make(pki.leaf("smp", "PSK000001"))).rejects.toThrow("no key of an access point");
    await expect(make(pki.leaf("ap", "Kurier"))).rejects.toThrow("seat id");
  });

  test("everything that ends is listed for the metrics", async () => {
    const keys = await createOwnKeys({
      load: () => Promise.resolve([loaded(pki.leaf("ap", "PSK000001"))]),
      store: pki.store,
      clock: fakeClock(),
      log: silentLog,
    });
    expect(keys.expiries().map(({ usage }) => usage)).toEqual(["ap", "ap_ca", "smp_ca", "root"]);
    expect(keys.expiries()[0]).toMatchObject({
      name: "PSK000001",
      notAfter: Date.parse("2028-01-01T00:00:00Z"),
      isInUse: true,
    });
  });

  test("the end of a key that was replaced, or has not begun, troubles nobody; that of the key in use does, also when all have ended", async () => {
    const clock = fakeClock();
    const [old, young, next] = [
      [-300, 5],
      [-1, 100],
      [90, 700],
    ].map(([from = 0, to = 0]) =>
      pki.leaf("ap", "PSK000001", { notBefore: clock.now() + from * DAY, notAfter: clock.now() + to * DAY }),
    );
    if (old === undefined || young === undefined || next === undefined) throw new Error("three leaves");
    const keys = await createOwnKeys({
      load: () => Promise.resolve([old, young, next].map(loaded)),
      store: pki.store,
      clock,
      log: silentLog,
    });
    const inUse = (): number[] =>
      keys
        .expiries()
        .filter(({ usage, isInUse }) => usage === "ap" && isInUse)
        .map(({ notAfter }) => notAfter);
    const [until, last] = [clock.now() + 100 * DAY, clock.now() + 700 * DAY];
    expect(inUse()).toEqual([until]);
    clock.advance(6 * DAY);
    expect(inUse()).toEqual([until]);
    clock.advance(86 * DAY);
    expect(inUse()).toEqual([last]);
    clock.advance(700 * DAY);
    expect(inUse()).toHaveLength(1);
  });
});

describe("the development PKI", () => {
  const config = (changes: Readonly<Record<string, string>> = {}): Config =>
    loadConfig({ DATA_DIR: place, ...changes });

  test("the development PKI is made once, trusted by itself, and readable by its owner alone", async () => {
    const clock = fakeClock();
    const open = () => openOwnPki({ config: config(), dataDir: place, clock, log: silentLog });
    const first = await open();
    const second = await open();
    expect(second.keys.ap().certificate).toEqual(first.keys.ap().certificate);
    const trust = createPki({
      store: first.store,
      mode: "off",
      clock,
      log: silentLog,
      revocation: { ask: () => Promise.reject(new Error("not asked")) },
    });
    expect(await trust.check(first.keys.ap().certificate, { usage: "ap", seat: "PSK000001" })).toMatchObject({
      kind: "trusted",
    });
    expect(await trust.check(first.keys.smp()?.certificate ?? Buffer.alloc(0), { usage: "smp" })).toMatchObject({
      kind: "trusted",
    });
    const root = join(place, "pki");
    const secret = [
      ...readdirSync(join(root, "ca")).map((name) => join(root, "ca", name)),
      join(root, "ap.pem"),
      join(root, "smp.pem"),
    ];
    expect(secret).toHaveLength(5);
    for (const path of secret) expect(statSync(path).mode & 0o077, path).toBe(0);
    openssl(
      "verify",
      "-x509_strict",
      "-CAfile",
      "pki/trust/root.pem",
      "-untrusted",
      "pki/trust/ap-ca.pem",
      "pki/ap.pem",
    );
  });

  test("the development PKI renews its leaves before they end, under the same authorities", async () => {
    const clock = fakeClock();
    const options = { folder: join(place, "pki"), clock };
    expect(await ensureDevelopmentPki(options)).toBe("created");
    const [before] = await loadDevelopmentKeys(options.folder);
    clock.advance(699 * DAY);
    expect(await ensureDevelopmentPki(options)).toBe("kept");
    clock.advance(2 * DAY);
    expect(await ensureDevelopmentPki(options)).toBe("renewed");
    const [after] = await loadDevelopmentKeys(options.folder);
    expect(after?.certificate.equals(before?.certificate ?? Buffer.alloc(0))).toBe(false);
    const keys = await createOwnKeys({
      load: () => loadDevelopmentKeys(options.folder),
      store: loadTrustStore(trustFolder(options.folder)),
      clock,
      log: silentLog,
    });
    expect(keys.ap().notAfter).toBeGreaterThan(clock.now() + 700 * DAY);
  });

  test("the development PKI gives a second engine leaves under its own authorities, without handing over the authorities' keys", async () => {
    const clock = fakeClock();
    const first = { folder: join(place, "first"), clock };
    const second = { folder: join(place, "second"), clock, seat: "PSK000002", from: first.folder };
    await ensureDevelopmentPki(first);
    await ensureDevelopmentPki(second);
    expect(existsSync(join(second.folder, "ca"))).toBe(false);
    const keys = await createOwnKeys({
      load: () => loadDevelopmentKeys(second.folder),
      store: loadTrustStore(trustFolder(first.folder)),
      clock,
      log: silentLog,
    });
    expect([keys.ap().seat, keys.smp()?.seat]).toEqual(["PSK000002", "PSK000002"]);
    await expect(ensureDevelopmentPki({ folder: join(place, "third"), clock, from: second.folder })).rejects.toThrow(
      "no folder of a development PKI",
    );
    expect(existsSync(join(place, "third"))).toBe(false);
  });

  test("the development PKI that is damaged says so", async () => {
    const options = { folder: join(place, "pki"), clock: fakeClock() };
    await ensureDevelopmentPki(options);
    writeFileSync(join(options.folder, "ap.pem"), "half");
    await expect(ensureDevelopmentPki(options)).rejects.toThrow("is damaged");
  });

  test("the development PKI is not made in production, nor does a key store stand without the authorities that it belongs to", async () => {
    const production = {
      ENVIRONMENT: "production",
      AS4_KEYSTORE: undefined,
      AS4_KEYSTORE_PASSWORD: undefined,
      PEPPOL_TRUST_DIR: undefined,
    } as const;
    await expect(
      openOwnPki({ config: production, dataDir: place, clock: fakeClock(), log: silentLog }),
    ).rejects.toThrow("AS4_KEYSTORE must be set");
    await expect(
      openOwnPki({ config: { ...production, AS4_KEYSTORE: "x" }, dataDir: place, clock: fakeClock(), log: silentLog }),
    ).rejects.toThrow("PEPPOL_TRUST_DIR must be set");
    const trust = {
      ...production,
      AS4_KEYSTORE: keyStore(pki.leaf("ap", "PSK000001"), "secret"),
      PEPPOL_TRUST_DIR: join(place, "trust"),
    };
    mkdirSync(trust.PEPPOL_TRUST_DIR);
    for (const [name, { certificate }] of Object.entries({ root: pki.root, ap: pki.ap, smp: pki.smp }))
      writeFileSync(join(trust.PEPPOL_TRUST_DIR, `${name}.pem`), pemOf(certificate));
    await expect(
      openOwnPki({
        config: { ...trust, AS4_KEYSTORE_PASSWORD: "x" },
        dataDir: place,
        clock: fakeClock(),
        log: silentLog,
      }),
    ).rejects.toThrow("does not open AS4_KEYSTORE");
    const { keys } = await openOwnPki({
      config: { ...trust, AS4_KEYSTORE_PASSWORD: "secret" },
      dataDir: place,
      clock: fakeClock(),
      log: silentLog,
    });
    expect([keys.ap().seat, keys.smp()]).toEqual(["PSK000001", undefined]);
  });

  test("the development PKI is made and shown by the command line", async () => {
    const before = process.env["DATA_DIR"];
    const lines: string[] = [];
    const [write, complain] = [process.stdout.write.bind(process.stdout), process.stderr.write.bind(process.stderr)];
    const collect = (text: string | Uint8Array): boolean => {
      lines.push(String(text));
      return true;
    };
    process.env["DATA_DIR"] = place;
    process.stdout.write = collect;
    process.stderr.write = collect;
    try {
      expect(await pkiShowCommand.run([])).toBe(1);
      expect(await pkiInitCommand.run(["--seat", "PSK000009"])).toBe(0);
      expect(await pkiInitCommand.run([])).toBe(0);
      expect(await pkiShowCommand.run([])).toBe(0);
      expect(await pkiInitCommand.run(["--force"])).toBe(0);
      await expect(pkiInitCommand.run(["--seat", "x"])).rejects.toThrow("--seat must be");
    } finally {
      process.stdout.write = write;
      process.stderr.write = complain;
      if (before === undefined) delete process.env["DATA_DIR"];
      else process.env["DATA_DIR"] = before;
    }
    const text = lines.join("");
    expect(text).toContain("run kurier pki init");
    expect(text).toMatch(/ap\s+PSK000009\s+\d{4}-\d\d-\d\d\s+(729|730)\s+[0-9a-f]{64}/);
    expect(text).toContain("--force makes new ones");
    expect(existsSync(join(place, "pki.old", "trust"))).toBe(true);
  });

  test("certificates that are to be made anew stay in their place until all of the new ones are there, and a command that broke off leaves no keys for good, but the copies that somebody made", async () => {
    const clock = fakeClock();
    const [own, broken] = [join(place, "pki"), join(place, "broken")];
    await ensureDevelopmentPki({ folder: own, clock });
    const before = readFileSync(join(own, "ap.pem"), "utf8");
    for (const part of ["trust", "ca"]) mkdirSync(join(broken, part), { recursive: true });
    await expect(ensureDevelopmentPki({ folder: own, clock, from: broken, isNew: true })).rejects.toThrow("ap-ca.pem");
    expect(readFileSync(join(own, "ap.pem"), "utf8")).toBe(before);
    expect(readdirSync(place)).toEqual(["broken", "pki"]);
    const copy = "pki.20261128";
    const drafts = ["pki.draft-4711", "pki.draft-4712"] as const;
    for (const name of [copy, ...drafts]) mkdirSync(join(place, name, "ca"), { recursive: true });
    for (const name of [copy, drafts[0]]) utimesSync(join(place, name), 1_000, 1_000);
    expect(await ensureDevelopmentPki({ folder: own, clock, isNew: true })).toBe("created");
    expect(readFileSync(join(own, "ap.pem"), "utf8")).not.toBe(before);
    expect(readFileSync(join(place, "pki.old", "ap.pem"), "utf8")).toBe(before);
    expect(readdirSync(place)).toEqual(["broken", "pki", copy, drafts[1], "pki.old"]);
  });
});
