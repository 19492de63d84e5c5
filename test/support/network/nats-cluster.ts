/** One nats-server with JetStream, or several as one cluster, each of which can be killed, emptied and started again. */
import { spawn } from "node:child_process";
import type { ChildProcess } from "node:child_process";
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import { eventually } from "../eventually.js";
import { freePort } from "../engines/process.js";

const TOKEN = "cluster-of-a-test";
const SERVERS = 3;

export interface NatsCluster {
  /** Of all servers, for NATS_URL. */
  readonly url: string;
  readonly size: number;
  /** SIGKILL; its store stays. */
  kill(server: number): Promise<void>;
  /** Starts a killed server again. @param emptied  without its store. @default false */
  start(server: number, emptied?: boolean): Promise<void>;
  /** SIGKILL to all, and their stores are gone; then all of them start. */
  wipe(): Promise<void>;
  stop(): Promise<void>;
}

interface Ports {
  readonly client: number;
  readonly route: number;
  readonly monitor: number;
}

const clusterOf = (all: readonly Ports[], own: Ports): object => ({
  name: "kurier",
  host: "127.0.0.1",
  port: own.route,
  routes: all.map(({ route }) => `nats-route://127.0.0.1:${route}`),
});

/** Whether the server has a leader of JetStream's to ask. */
async function isHealthy({ monitor }: Ports): Promise<boolean> {
  try {
    return (await fetch(`http://127.0.0.1:${monitor}/healthz?js-enabled-only=true`)).status === 200;
  } catch {
    return false;
  }
}

/**
 * Starts the cluster below a folder.
 * @param program  from `findNatsServer`
 * @param size  of the cluster; one is a server of its own. Default three.
 */
export async function startNatsCluster(program: string, folder: string, size = SERVERS): Promise<NatsCluster> {
  const ports: Ports[] = [];
  for (let i = 0; i < size; i += 1)
    ports.push({ client: await freePort(), route: await freePort(), monitor: await freePort() });
  const children = new Map<number, ChildProcess>();
  const storeOf = (server: number): string => join(folder, `nats-${server}`);

  const kill = async (server: number): Promise<void> => {
    const child = children.get(server);
    children.delete(server);
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
    const ended = new Promise((resolve) => child.once("exit", resolve));
    child.kill("SIGKILL");
    await ended;
  };
  const begin = (server: number, emptied: boolean): void => {
    const [own, store] = [ports[server], storeOf(server)];
    if (own === undefined) throw new RangeError(`there is no server ${server}`);
    if (emptied) rmSync(store, { recursive: true, force: true });
    mkdirSync(store, { recursive: true });
    const config = join(folder, `nats-${server}.json`);
    writeFileSync(
      config,
      JSON.stringify({
        server_name: `nats-${server}`,
        host: "127.0.0.1",
        port: own.client,
        http: `127.0.0.1:${own.monitor}`,
        authorization: { token: TOKEN },
        jetstream: { store_dir: store },
        ...(size === 1 ? {} : { cluster: clusterOf(ports, own) }),
      }),
    );
    children.set(server, spawn(program, ["-c", config], { stdio: "ignore" }));
  };
  const healthy = (): Promise<boolean> =>
    eventually("every server of NATS that runs is healthy", async () =>
      (await Promise.all([...children.keys()].map((server) => isHealthy(ports[server] as Ports)))).every(Boolean),
    );
  const all = ports.map((_, server) => server);

  for (const server of all) begin(server, true);
  await healthy();
  return {
    url: ports.map(({ client }) => `nats://${TOKEN}@127.0.0.1:${client}`).join(","),
    size,
    kill,
    start: async (server, emptied = false) => {
      begin(server, emptied);
      await healthy();
    },
    wipe: async () => {
      await Promise.all(all.map(kill));
      for (const server of all) begin(server, true);
      await healthy();
    },
    stop: async () => {
      await Promise.all(all.map(kill));
    },
  };
}
