/**
 * Two access points on this machine: a data directory, a database, a seat and keys of its own each, certified by one
 * authority. Each finds the other as the network does: a DNS server names the SMP of a participant, the SMP's signed
 * metadata names the access point, and both ways lead through a proxy that can cut them.
 */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { systemClock } from "../../../engine/base/clock.js";
import { DEMO_FIRMS } from "../../../engine/identity/sandbox.js";
import { ensureDevelopmentPki } from "../../../engine/peppol/pki/development.js";
import { providerOfSeat } from "../../../engine/peppol/seats.js";
import { smlName } from "../../../engine/peppol/discovery/sml.js";
import { importRules } from "../../../validators/schematron/release/import.js";
import { setActive } from "../../../validators/schematron/release/load.js";
import { smpRecord, startDnsServer } from "../peppol/dns-server.js";
import type { DnsBehaviour, TestDnsServer } from "../peppol/dns-server.js";
import { startFaultProxy } from "../network/fault-proxy.js";
import type { FaultProxy } from "../network/fault-proxy.js";
import { freshDatabase } from "../database/postgres.js";
import type { TestDatabase } from "../database/postgres.js";
import { freePort } from "./process.js";

/** Which of the sandbox's two firms a home is there for. Each home has both; DNS says where each of them is. */
export type Firm = keyof typeof DEMO_FIRMS;

export interface AccessPointHome {
  readonly firm: Firm;
  readonly dataDir: string;
  readonly db: TestDatabase;
  readonly port: number;
  readonly seat: string;
  /** Invoices whose number begins so are valid for everybody but this access point, which has a rule of its own. */
  readonly refuses: string;
  /** What others deliver through. */
  readonly as4: FaultProxy;
  /** What others look up its participants through. */
  readonly smp: FaultProxy;
  /** For a process of its own. */
  readonly env: Readonly<Record<string, string>>;
}

export interface TwoHomes {
  /** Has the demo sender. */
  readonly a: AccessPointHome;
  /** Has the demo receiver. */
  readonly b: AccessPointHome;
  readonly dns: TestDnsServer;
  /** What the DNS server answers unless a test says otherwise. */
  readonly names: DnsBehaviour;
  remove(): Promise<void>;
}

/** The zone of the locator. */
export const ZONE = "participant.test";
const NXDOMAIN = 3;
const NAMESPACE = "urn:oasis:names:specification:ubl:schema:xsd";

/** A rule pack by which numbers with a prefix are refused, imported as an operator imports one. @returns RULES_DIR */
function houseRules(dataDir: string, prefix: string): string {
  const [source, rulesDir] = [join(dataDir, "house"), join(dataDir, "rules")];
  mkdirSync(source);
  writeFileSync(
    join(source, "house.sch"),
    `<schema xmlns="http://purl.oclc.org/dsdl/schematron" queryBinding="xslt2">
    <ns prefix="ubl" uri="${NAMESPACE}:Invoice-2"/><ns prefix="cbc" uri="${NAMESPACE}:CommonBasicComponents-2"/>
    <pattern><rule context="ubl:Invoice"><assert id="HOUSE-01" flag="fatal" test="not(starts-with(cbc:ID, '${prefix}'))">This house takes no such number.</assert></rule></pattern></schema>`,
  );
  importRules({ source, rulesDir, id: "house" });
  setActive(rulesDir, "house", true);
  return rulesDir;
}

/** @param env  for both processes */
export async function prepareTwo(env: Readonly<Record<string, string>> = {}): Promise<TwoHomes> {
  const dns = await startDnsServer(() => undefined);
  const make = async (firm: Firm, seat: string, from?: string): Promise<AccessPointHome> => {
    const dataDir = mkdtempSync(join(tmpdir(), `kurier-${seat}-`));
    await ensureDevelopmentPki({
      folder: join(dataDir, "pki"),
      clock: systemClock,
      seat,
      ...(from === undefined ? {} : { from: join(from, "pki") }),
    });
    const [db, port, refuses] = [await freshDatabase(), await freePort(), `NOT-FOR-${seat}-`];
    const [as4, smp] = [await startFaultProxy(port), await startFaultProxy(port)];
    return {
      firm,
      dataDir,
      db,
      port,
      seat,
      refuses,
      as4,
      smp,
      env: {
        PORT: String(port),
        PUBLIC_URL: `http://127.0.0.1:${as4.port}`,
        DATABASE_URL: db.url,
        NATS_URL: "embedded",
        VALIDATOR_THREADS: "1",
        LOG_LEVEL: "debug",
        RULES_DIR: houseRules(dataDir, refuses),
        SMP_MODE: "sml",
        SML_ZONE: ZONE,
        DNS_SERVERS: `127.0.0.1:${dns.port}`,
        ...env,
      },
    };
  };
  const a = await make("sender", "PSK000001");
  const b = await make("receiver", "PSK000002", a.dataDir);
  const smps = new Map(
    [a, b].flatMap(({ firm, seat, smp }) =>
      [DEMO_FIRMS[firm].participantId, providerOfSeat(seat) ?? ""].map(
        (participant) => [smlName(participant, ZONE), smpRecord(`http://127.0.0.1:${smp.port}/smp`)] as const,
      ),
    ),
  );
  const names: DnsBehaviour = (name) => {
    const record = smps.get(name);
    return record === undefined ? { rcode: NXDOMAIN } : { naptr: [record] };
  };
  dns.answer = names;
  return {
    a,
    b,
    dns,
    names,
    remove: async () => {
      for (const home of [a, b]) {
        await Promise.all([home.as4.stop(), home.smp.stop()]);
        await home.db.drop();
        rmSync(home.dataDir, { recursive: true, force: true });
      }
      await dns.close();
    },
  };
}
