/**
 * deploy/compose, read and run without containers: its commands, its variables and its locator's zone make two access
 * points that find each other and exchange a document.
 */
import { execFile } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { parse } from "yaml";

import { buildIfNeeded } from "../../../deploy/build.mjs";
import { VARIABLES } from "../../../engine/base/config.js";
import { DEMO_FIRMS } from "../../../engine/identity/sandbox.js";
import { smlName } from "../../../engine/peppol/discovery/sml.js";
import { providerOfSeat } from "../../../engine/peppol/seats.js";
import { startDnsServer } from "../../support/peppol/dns-server.js";
import { accessToken, invoiceXml, sapi, send, sendParts } from "../../support/engines/engine.js";
import { eventually } from "../../support/eventually.js";
import { freshDatabase } from "../../support/database/postgres.js";
import { freePort, PROJECT, startEngineProcess } from "../../support/engines/process.js";

interface Service {
  readonly image: string;
  readonly command?: readonly string[];
  readonly environment?: Readonly<Record<string, string>>;
  readonly volumes?: readonly string[];
  readonly network_mode?: string;
}

const FOLDER = join(PROJECT, "deploy/compose");
const read = (path: string): string => readFileSync(join(FOLDER, path), "utf8");
const compose = parse(read("compose.yml"), { merge: true }) as {
  readonly services: Readonly<Record<string, Service>>;
  readonly volumes: Readonly<Record<string, null>>;
};
const service = (name: string): Service => {
  const found = compose.services[name];
  if (found === undefined) throw new Error(`the file has no service ${name}`);
  return found;
};
const ZONE = "participant.compose.test";
/** What the zone says: a name and the address of its SMP. */
const records = [...read("participants.zone").matchAll(/^(\S+) IN NAPTR .*"!\^\.\*\$!(\S+)!" \.$/gm)].map(
  ([, label = "", url = ""]) => ({ name: `${label}.${ZONE}`, url }),
);

test("every variable that the file gives an engine is one of ours", () => {
  for (const name of ["a", "b"]) {
    const given = Object.keys(service(name).environment ?? {});
    expect(given.filter((variable) => !(variable in VARIABLES))).toEqual([]);
    expect(given.length).toBeGreaterThan(6);
  }
});

test("every image has a version, and every file that is mounted is there", () => {
  for (const [name, { image, volumes = [] }] of Object.entries(compose.services)) {
    expect(image, name).toMatch(/:(v?\d+\.\d+(\.\d+)?|compose)/);
    for (const volume of volumes) {
      const [source = ""] = volume.split(":");
      expect(source.startsWith(".") ? existsSync(join(FOLDER, source)) : source in compose.volumes, source).toBe(true);
    }
  }
});

test("the locator's zone names the participants of both demo firms and both providers as the network would", () => {
  const [a, b] = ["a", "b"].map((name) => `${service(name).environment?.["PUBLIC_URL"] ?? ""}/smp`);
  const seats = ["pki-a", "pki-b"].map((name) => providerOfSeat(service(name).command?.[3] ?? "") ?? "");
  expect(records).toEqual([
    { name: smlName(DEMO_FIRMS.sender.participantId, ZONE), url: a },
    { name: smlName(DEMO_FIRMS.receiver.participantId, ZONE), url: b },
    { name: smlName(seats[0] ?? "", ZONE), url: a },
    { name: smlName(seats[1] ?? "", ZONE), url: b },
  ]);
});

test("the commands and variables of the file make two access points that exchange a document over AS4", async () => {
  await buildIfNeeded();
  const homes = {
    a: mkdtempSync(join(tmpdir(), "kurier-compose-")),
    b: mkdtempSync(join(tmpdir(), "kurier-compose-")),
  };
  const ports = { "8080": String(await freePort()), "8081": String(await freePort()) };
  /** A text of the file with the ports of this run. */
  const here = (text: string): string => text.replace(/\b808[01]\b/g, (port) => ports[port as keyof typeof ports]);
  const addresses = new Map(records.map(({ name, url }) => [name, here(url)]));
  const dns = await startDnsServer((name) => {
    const url = addresses.get(name);
    return url === undefined ? { rcode: 3 } : { naptr: [{ regexp: `!^.*$!${url}!` }] };
  });
  const databases = { a: await freshDatabase(), b: await freshDatabase() };
  const pki = async (name: "a" | "b"): Promise<void> => {
    const args = (service(`pki-${name}`).command ?? []).map((arg) => arg.replace(/^\/authorities\b/, homes.a));
    const { PATH = "", HOME = "" } = process.env;
    await promisify(execFile)(process.execPath, [join(PROJECT, "gateway/kurier.mjs"), ...args], {
      env: { PATH, HOME, DATA_DIR: homes[name] },
    });
  };
  const start = (name: "a" | "b") =>
    startEngineProcess({
      dataDir: homes[name],
      env: {
        ...Object.fromEntries(
          Object.entries(service(name).environment ?? {})
            .filter(([variable]) => variable !== "ADMIN_PORT")
            .map(([variable, value]) => [variable, here(value)]),
        ),
        // What the file's other containers are here.
        DATABASE_URL: databases[name].url,
        NATS_URL: "embedded",
        DNS_SERVERS: `127.0.0.1:${dns.port}`,
        VALIDATOR_THREADS: "1",
      },
    });
  await pki("a");
  await pki("b");
  const [a, b] = await Promise.all([start("a"), start("b")]);
  try {
    const { sender, receiver } = a.sandbox;
    const from = { participantId: sender.participantId, token: await accessToken(a.sandbox, sender) };
    const payload = invoiceXml(sender.participantId, receiver.participantId);
    const accepted = await send(a.sandbox, from, sendParts(sender.participantId, receiver.participantId, payload));
    expect(accepted.status, accepted.text).toBe(202);
    const to = {
      participantId: b.sandbox.receiver.participantId,
      token: await accessToken(b.sandbox, b.sandbox.receiver),
    };
    await eventually("the document is in the inbox of the other access point", async () => {
      const list = await sapi(b.sandbox, to, "GET", "/document/receive");
      return (list.json["documents"] as readonly unknown[] | undefined)?.length === 1;
    });
  } finally {
    await Promise.all([a.kill(), b.kill()]);
    await Promise.all([databases.a.drop(), databases.b.drop(), dns.close()]);
    for (const home of Object.values(homes)) rmSync(home, { recursive: true, force: true });
  }
});
