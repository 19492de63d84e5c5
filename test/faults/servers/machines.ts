/** What is done to several machines under load, and what must hold afterwards. */
import type { Sql } from "../../../engine/storage/sql.js";
import { eventually } from "../../support/eventually.js";
import type { Machines } from "../../support/engines/machines.js";
import type { NatsCluster } from "../../support/network/nats-cluster.js";
import { databaseFacts } from "../../support/truth/oracle-facts.js";
import { violations } from "../../support/truth/oracle.js";
import type { Load } from "../load.js";

/** An installation under load. */
export interface Installation {
  readonly machines: Machines;
  readonly nats: NatsCluster;
  readonly load: Load;
  readonly sql: Sql;
}

/** Exit codes of machines that were asked to stop. */
type Exits = (number | null)[];

/** Each leaves everything running again but the last, which leaves one machine dead. */
export const DISTURBANCES: readonly (readonly [
  what: string,
  strike: (all: Installation, exits: Exits) => Promise<void>,
])[] = [
  [
    "one server of NATS after the other is killed and started again",
    async ({ nats }) => {
      for (let server = 0; server < nats.size; server += 1) {
        await nats.kill(server);
        await nats.start(server);
      }
    },
  ],
  ["every server of NATS is killed and loses its store", ({ nats }) => nats.wipe()],
  [
    "each machine is stopped and started again",
    async ({ machines }, exits) => {
      for (let index = 0; index < machines.count; index += 1) {
        exits.push(await machines.stop(index));
        await machines.start(index);
      }
    },
  ],
  [
    "a machine stands still until it counts as dead and its work is done by others, and goes on",
    async ({ machines, sql }) => {
      machines.freeze(1);
      await eventually("nothing is leased by the machine that stands still", async () => {
        await hurry(sql);
        return (await openDocuments(sql)) === 0;
      });
      machines.thaw(1);
    },
  ],
  ["a machine is killed for good", ({ machines }) => machines.kill(1)],
];

/** Makes due now what waits for its next attempt. */
export async function hurry(sql: Sql): Promise<void> {
  await sql`update document set next_attempt_at = clock_timestamp()
    where next_attempt_at > clock_timestamp() and attempts between 1 and 8 and (lease_until > clock_timestamp()) is not true`;
}

/** Documents that are not at their end. */
export const openDocuments = async (sql: Sql): Promise<number> =>
  (await sql<{ n: number }[]>`select count(*)::integer as n from document where status <> 'delivered'`)[0]?.n ?? -1;

/** Sends documents and disturbs in the middle; then everything is accepted and delivered. @returns the documents' number */
export async function disturbed(
  all: Installation,
  documents: number,
  strike: (all: Installation, exits: Exits) => Promise<void>,
): Promise<{ readonly exits: Exits; readonly accepted: number; readonly refused: number }> {
  const { load, sql } = all;
  const exits: Exits = [];
  const before = load.accepted.length;
  const sending = load.send(documents);
  await eventually("the load has begun", () => load.accepted.length > before);
  await strike(all, exits);
  await sending;
  const refused = load.refused();
  await load.repeat();
  await eventually("everything is delivered", async () => {
    await hurry(sql);
    return (await openDocuments(sql)) === 0;
  });
  return { exits, accepted: load.accepted.length - before, refused };
}

/** What is broken, each with the name of its invariant. */
export async function brokenOf({ load, sql }: Pick<Installation, "load" | "sql">): Promise<readonly string[]> {
  const answer = { status: 202, body: "" };
  const facts = await databaseFacts(sql);
  return violations({
    sides: [
      {
        ...facts,
        name: "installation",
        accepted: load.accepted.map(({ id, sha256 }) => ({ id, sha256, answer, repeated: [] })),
        counted: undefined,
        probes: [],
        places: [],
        process: undefined,
      },
    ],
    canaries: [],
    rssMax_bytes: Number.MAX_SAFE_INTEGER,
  });
}
