/**
 * Two access points on this machine: a data directory, a database, a seat and keys of its own each, certified by one
 * authority, each knowing the other's participant by a static route that leads through a proxy.
 */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { connect, createServer, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { systemClock } from "../../engine/clock.js";
import { DEMO_FIRMS } from "../../engine/identity/sandbox.js";
import { BILLING_CAPABILITIES } from "../../engine/peppol/identifiers.js";
import { ensureDevelopmentPki, loadDevelopmentKeys } from "../../engine/peppol/pki/development.js";
import { freshDatabase, type TestDatabase } from "./postgres.js";
import { freePort } from "./process.js";

/** A TCP proxy with hooks at the points where an exchange can be cut. */
export interface Proxy {
  readonly port: number;
  /** Called once for the next connection's bytes; afterwards bytes pass. Bytes of that piece pass only if it answers true. */
  onRequest: (() => boolean | Promise<boolean>) | undefined;
  onResponse: (() => boolean | Promise<boolean>) | undefined;
  stop(): Promise<void>;
}

async function startProxy(target: number): Promise<Proxy> {
  const sockets = new Set<Socket>();
  const server = createServer((client) => {
    const upstream = connect(target, "127.0.0.1");
    for (const socket of [client, upstream]) {
      sockets.add(socket);
      socket.on("error", () => undefined).on("close", () => {
        client.destroy();
        upstream.destroy();
        sockets.delete(socket);
      });
    }
    const pass = (from: Socket, to: Socket, take: () => Proxy["onRequest"]): void => {
      from.on("data", (piece) => {
        const hook = take();
        if (hook === undefined) {
          to.write(piece);
          return;
        }
        from.pause();
        void Promise.resolve(hook()).then((passes) => {
          if (passes) to.write(piece);
          else to.destroy();
          from.resume();
        });
      });
    };
    pass(client, upstream, () => {
      const hook = proxy.onRequest;
      proxy.onRequest = undefined;
      return hook;
    });
    pass(upstream, client, () => {
      const hook = proxy.onResponse;
      proxy.onResponse = undefined;
      return hook;
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  const proxy: Proxy = {
    port: typeof address === "object" && address !== null ? address.port : 0, onRequest: undefined, onResponse: undefined,
    stop: () => new Promise<void>((resolve) => {
      for (const socket of sockets) socket.destroy();
      server.close(() => { resolve(); });
    }),
  };
  return proxy;
}

export interface AccessPointHome {
  readonly dataDir: string;
  readonly db: TestDatabase;
  readonly port: number;
  readonly seat: string;
  /** What others go through to reach it. */
  readonly proxy: Proxy;
  /** For a process of its own. */
  readonly env: Readonly<Record<string, string>>;
}

export interface TwoHomes {
  /** Sends for the demo sender. */
  readonly a: AccessPointHome;
  /** Receives for the demo receiver. */
  readonly b: AccessPointHome;
  remove(): Promise<void>;
}

const SMP_ROUTES = "routes.json";

export async function prepareTwo(): Promise<TwoHomes> {
  const make = async (seat: string, from?: string): Promise<AccessPointHome> => {
    const dataDir = mkdtempSync(join(tmpdir(), `kurier-${seat}-`));
    await ensureDevelopmentPki({ folder: join(dataDir, "pki"), clock: systemClock, seat, ...(from === undefined ? {} : { from: join(from, "pki") }) });
    const db = await freshDatabase();
    const port = await freePort();
    const proxy = await startProxy(port);
    return { dataDir, db, port, seat, proxy, env: { PORT: String(port), DATABASE_URL: db.url, NATS_URL: "embedded", SMP_MODE: "static", SMP_ROUTES: join(dataDir, SMP_ROUTES), VALIDATOR_THREADS: "1" } };
  };
  const a = await make("PSK000001");
  const b = await make("PSK000002", a.dataDir);
  const writeRoute = async (of: AccessPointHome, participant: string, to: AccessPointHome): Promise<void> => {
    const keys = await loadDevelopmentKeys(join(to.dataDir, "pki"));
    const ap = keys[0];
    if (ap === undefined) throw new Error("no access point key");
    writeFileSync(join(of.dataDir, SMP_ROUTES), JSON.stringify({
      [participant]: { url: `http://127.0.0.1:${to.proxy.port}/as4`, certificate: Buffer.from(ap.certificate).toString("base64"), documentTypes: BILLING_CAPABILITIES.map(({ documentTypeId }) => documentTypeId) },
    }));
  };
  await writeRoute(a, DEMO_FIRMS.receiver.participantId, b);
  await writeRoute(b, DEMO_FIRMS.sender.participantId, a);
  return {
    a, b,
    remove: async () => {
      for (const home of [a, b]) {
        await home.proxy.stop();
        await home.db.drop();
        rmSync(home.dataDir, { recursive: true, force: true });
      }
    },
  };
}
