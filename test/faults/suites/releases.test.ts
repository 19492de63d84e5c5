/**
 * This release beside an earlier one: both serve one database behind one address, whose schema is changed under the
 * earlier one while it serves. Each takes documents, delivers and receives what either took; nothing is lost or doubled;
 * this one is taken back and the earlier goes on alone; this one comes again, and the earlier leaves. Method: the files of the earlier release are taken from the history, built aside with the
 * packages of now, and run as a process.
 */
import { randomUUID } from "node:crypto";
import { cpSync, mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { connect, createServer } from "node:net";
import type { Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";

import { systemClock } from "../../../engine/base/clock.js";
import { migrate } from "../../../engine/storage/migrate.js";
import { accessToken, invoiceXml, MASTER_KEY, sapi, send, sendParts } from "../../support/engines/engine.js";
import type { Mailbox } from "../../support/engines/engine.js";
import { eventually } from "../../support/eventually.js";
import { api } from "../../support/callers/partners.js";
import { freshDatabase } from "../../support/database/postgres.js";
import type { TestDatabase } from "../../support/database/postgres.js";
import { freePort, startEngineProcess } from "../../support/engines/process.js";
import type { EngineProcess } from "../../support/engines/process.js";
import { startReceiver } from "../../support/webhooks/receiver.js";
import type { Receiver } from "../../support/webhooks/receiver.js";
import { EARLIER, hasCommit, releaseBefore } from "../../support/engines/release-before.js";

/** Documents that each node is given in each part of the change. */
const DOCUMENTS = 5;

let db: TestDatabase;
let folder: string;
let balancer: Balancer;
let receiver: Receiver;
const running: EngineProcess[] = [];

beforeEach(async () => {
  db = await freshDatabase({ migrated: false });
  folder = mkdtempSync(join(tmpdir(), "kurier-releases-"));
  balancer = await startBalancer();
  receiver = await startReceiver();
});
afterEach(async () => {
  await Promise.all(running.splice(0).map((engine) => engine.stop()));
  balancer.stop();
  await receiver.close();
  await db.drop();
  rmSync(folder, { recursive: true, force: true });
});

/** One address in front of several engines: each connection goes to the next of them. */
interface Balancer {
  readonly port: number;
  readonly targets: number[];
  stop(): void;
}

async function startBalancer(): Promise<Balancer> {
  const targets: number[] = [];
  const sockets = new Set<Socket>();
  let next = 0;
  const server = createServer((client) => {
    const target = connect(targets[(next += 1) % targets.length] ?? 1, "127.0.0.1");
    for (const socket of [client, target]) {
      sockets.add(socket);
      socket.on("close", () => sockets.delete(socket));
    }
    client.on("error", () => target.destroy());
    target.on("error", () => client.destroy());
    client.pipe(target).pipe(client);
  });
  const port = await freePort();
  await new Promise<void>((resolve) => {
    server.listen(port, "127.0.0.1", resolve);
  });
  return {
    port,
    targets,
    stop: () => {
      server.close();
      for (const socket of sockets) socket.destroy();
    },
  };
}

interface Sandboxed {
  readonly sapiBaseUrl: string;
}
/** The interface of one node, past the balancer. */
const of = ({ port }: EngineProcess): Sandboxed => ({ sapiBaseUrl: `http://127.0.0.1:${port}/sapi/v1` });

/** What clients of the installation do and know. */
class World {
  readonly #sender: Participant;
  readonly #receiver: Participant;
  /** Ids of the documents that were accepted. */
  readonly taken: string[] = [];

  constructor({ sender, receiver }: EngineProcess["sandbox"]) {
    this.#sender = sender;
    this.#receiver = receiver;
  }

  async #mailbox(engine: EngineProcess, { participantId, ...key }: Participant): Promise<Mailbox> {
    return { participantId, token: await accessToken(of(engine), key) };
  }

  /** Gives documents to one node, each until it is taken, for as long as it is asked to. */
  async give(engine: EngineProcess, isEnough: (given: number) => boolean): Promise<void> {
    const [from, to] = [this.#sender.participantId, this.#receiver.participantId];
    const by = await this.#mailbox(engine, this.#sender);
    for (let given = 0; !isEnough(given); given += 1) {
      const parts = sendParts(from, to, invoiceXml(from, to));
      const key = randomUUID();
      const answer = await eventually("it is taken", async () => {
        const said = await send(of(engine), by, parts, { "idempotency-key": key });
        expect([202, 503], said.text).toContain(said.status);
        return said.status === 202 ? said : undefined;
      });
      this.taken.push(String(answer.json["providerDocumentId"]));
    }
  }

  /** Every document that was accepted is there once, delivered, and received once. */
  async hasArrived(): Promise<void> {
    await eventually("all are delivered", async () => {
      const open = await db.sql`select 1 from document where status <> 'delivered'`;
      return open.length === 0;
    });
    const rows = await db.sql<{ id: string; received: number }[]>`
      select d.id, (
        select count(*)::integer from received_document as r where r.as4_message_id = d.as4_message_id
      ) as received
      from document as d order by d.id`;
    expect(rows).toEqual([...this.taken].sort().map((id) => ({ id, received: 1 })));
  }

  /** What one node shows to the receiver, read whole. */
  async isRead(engine: EngineProcess): Promise<void> {
    const by = await this.#mailbox(engine, this.#receiver);
    const listed = (await sapi(of(engine), by, "GET", "/document/receive?limit=100")).json["documents"];
    expect(listed).toHaveLength(this.taken.length);
    for (const { documentId } of (listed as readonly { readonly documentId: string }[]).slice(0, 2 * DOCUMENTS)) {
      const { status, json } = await sapi(of(engine), by, "GET", `/document/receive/${documentId}`);
      expect([status, String(json["payload"]).includes("<Invoice")]).toEqual([200, true]);
    }
  }
}
type Participant = EngineProcess["sandbox"]["sender"];

test.for(EARLIER)(
  "a release and an earlier one, %s, serve one database side by side, whose schema changes under the earlier, and the earlier alone again: what either takes arrives once, is told once and is read through both",
  { timeout: 600_000 },
  async (commit, { skip }) => {
    skip(!hasCommit(commit), "The history of this checkout does not go back so far.");
    const project = releaseBefore(folder, commit);
    const settings = {
      ...{ DATABASE_URL: db.url, MASTER_KEY: MASTER_KEY.toString("base64"), NATS_URL: "embedded" },
      ...{ PUBLIC_URL: `http://127.0.0.1:${balancer.port}`, VALIDATOR_THREADS: "1" },
    };
    const [beforeData, nowData] = [join(folder, "before-data"), join(folder, "now-data")];
    const before = await startEngineProcess({ dataDir: beforeData, project, env: settings });
    running.push(before);
    balancer.targets.push(before.port);
    const world = new World(before.sandbox);
    const some = (given: number): boolean => given >= DOCUMENTS;
    const hook = { body: { url: `${receiver.origin}/in`, events: ["document.delivered"] } };
    const token = await accessToken(of(before), before.sandbox.sender);
    const made = await api(before, token, "POST /webhooks", hook);
    expect(made.status, made.text).toBe(201);
    await world.give(before, some);
    await world.hasArrived();

    // The schema changes while the earlier release serves.
    const migration = { files: 0 };
    const migrated = migrate({ url: db.url, clock: systemClock }).then(({ length }) => {
      migration.files = length;
    });
    await world.give(before, () => migration.files > 0);
    await migrated;
    expect(await migrate({ url: db.url, clock: systemClock })).toEqual([]);
    await world.give(before, some);
    await world.hasArrived();

    // One installation: the keys of the access point and of the demo firms are those of the first node.
    mkdirSync(nowData);
    for (const name of ["pki", "sandbox.json"])
      cpSync(join(beforeData, name), join(nowData, name), { recursive: true });
    const startNow = async (): Promise<EngineProcess> => {
      const engine = await startEngineProcess({ dataDir: nowData, env: { ...settings, MIGRATE: "by-command" } });
      running.push(engine);
      balancer.targets.push(engine.port);
      return engine;
    };
    const first = await startNow();
    await Promise.all([world.give(before, some), world.give(first, some)]);
    await world.hasArrived();

    // This release is taken back, with documents on their way, and comes again.
    await Promise.all([world.give(before, some), world.give(first, some)]);
    balancer.targets.pop();
    expect(await first.stop(), first.output()).toBe(0);
    await world.give(before, some);
    await world.hasArrived();
    await world.isRead(before);
    const now = await startNow();
    await Promise.all([world.give(before, some), world.give(now, some)]);
    await world.hasArrived();
    for (const engine of [before, now]) await world.isRead(engine);

    // The earlier release leaves, with documents on their way.
    await Promise.all([world.give(before, some), world.give(now, some)]);
    balancer.targets.shift();
    expect(await before.stop(), before.output()).toBe(0);
    await world.give(now, some);
    await world.hasArrived();
    await world.isRead(now);

    const told = (): string[] => receiver.at("/in").map(({ json }) => String(json.data["document_id"]));
    await eventually("every delivery is told", () => new Set(told()).size >= world.taken.length);
    expect(told().sort()).toEqual([...world.taken].sort());
    process.stdout.write(`${commit}: ${world.taken.length} documents, ${migration.files} migrations\n`);
    for (const engine of [before, first, now])
      expect(
        engine
          .output()
          .split("\n")
          .filter((line) => /"level":"(error|fatal)"/.test(line)),
      ).toEqual([]);
    expect(await now.stop(), now.output()).toBe(0);
  },
);
