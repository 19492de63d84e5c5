/** Several engines as machines of one installation: one database, one cluster of NATS, one archive, one address before them. */
import { cpSync, existsSync, mkdirSync } from "node:fs";
import { join } from "node:path";

import type { Sandbox } from "../../../engine/identity/sandbox.js";
import { startBalancer } from "../network/balancer.js";
import { startEngineProcess } from "./process.js";
import type { EngineProcess } from "./process.js";

export interface MachinesOptions {
  readonly count: number;
  readonly folder: string;
  readonly databaseUrl: string;
  readonly natsUrl: string;
  readonly env?: Readonly<Record<string, string>>;
}

export interface Machines {
  readonly count: number;
  /** With addresses that lead to any machine that is ready. */
  readonly sandbox: Sandbox;
  machine(index: number): EngineProcess;
  start(index: number): Promise<void>;
  /** SIGKILL. */
  kill(index: number): Promise<void>;
  /** SIGTERM, after which no new connection comes to it. @returns the exit code */
  stop(index: number): Promise<number | null>;
  /** SIGSTOP: its connections are given up, and it knows nothing of it. */
  freeze(index: number): void;
  /** SIGCONT. */
  thaw(index: number): void;
  /** Ends everything, and the balancer. */
  end(): Promise<void>;
}

/** Of all machines, for whoever opens what they have sealed. */
export const MACHINES_MASTER_KEY = Buffer.alloc(32, 9).toString("base64");

/** Starts the machines, one after the other. */
export async function startMachines(options: MachinesOptions): Promise<Machines> {
  const { count, folder } = options;
  const balancer = await startBalancer();
  const machines = new Map<number, EngineProcess>();
  const frozen = new Set<number>();
  const dirOf = (index: number): string => join(folder, `machine-${index}`);
  const ready = (lost?: number): void => {
    balancer.to(
      [...machines].filter(([index]) => !frozen.has(index)).map(([, { port }]) => port),
      lost,
    );
  };
  const machine = (index: number): EngineProcess => {
    const found = machines.get(index);
    if (found === undefined) throw new Error(`machine ${index} does not run`);
    return found;
  };
  const start = async (index: number): Promise<void> => {
    const first = join(dirOf(0), "pki");
    mkdirSync(dirOf(index), { recursive: true });
    // One seat: all of them have the keys of the first.
    if (index > 0 && existsSync(first)) cpSync(first, join(dirOf(index), "pki"), { recursive: true });
    machines.set(
      index,
      await startEngineProcess({
        dataDir: dirOf(index),
        env: {
          DATABASE_URL: options.databaseUrl,
          NATS_URL: options.natsUrl,
          MASTER_KEY: MACHINES_MASTER_KEY,
          PUBLIC_URL: `http://127.0.0.1:${balancer.port}`,
          EVIDENCE_STORE: `file:${join(folder, "evidence")}`,
          VALIDATOR_THREADS: "1",
          LOG_LEVEL: "warn",
          ...options.env,
        },
      }),
    );
    ready();
  };
  for (let index = 0; index < count; index += 1) await start(index);
  return {
    count,
    sandbox: machine(0).sandbox,
    machine,
    start,
    kill: async (index) => {
      const gone = machine(index);
      machines.delete(index);
      await gone.kill();
      ready(gone.port);
    },
    stop: (index) => {
      const leaving = machine(index);
      machines.delete(index);
      ready();
      return leaving.stop();
    },
    freeze: (index) => {
      process.kill(machine(index).pid, "SIGSTOP");
      frozen.add(index);
      ready(machine(index).port);
    },
    thaw: (index) => {
      process.kill(machine(index).pid, "SIGCONT");
      frozen.delete(index);
      ready();
    },
    end: async () => {
      await Promise.all([...machines.values()].map((one) => one.kill()));
      await balancer.stop();
    },
  };
}
