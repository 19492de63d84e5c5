/** How a process that is no node, such as a command, waits for the nodes behind a change of its own. */
import { randomUUID } from "node:crypto";

import type { Clock } from "../../base/clock.js";
import { silentLog } from "../../base/log.js";
import { listNodes } from "../../storage/rates.js";
import type { Sql } from "../../storage/sql.js";
import { createChanges } from "./changes.js";

interface Ports {
  readonly sql: Sql;
  /** Of the same database: announcements need a connection of their own. */
  readonly databaseUrl: string;
  readonly clock: Clock;
}

const nothing = (): void => undefined;

/**
 * Resolves when every node that is alive knows of all changes committed before the call, or believes nothing any more
 * that it remembered: a node that changes something waits in the same way, and as long.
 */
export async function nodesKnow({ sql, databaseUrl, clock }: Ports): Promise<void> {
  const nodes = (await listNodes(sql)).map(({ id }) => id);
  if (nodes.length === 0) return;
  const changes = createChanges({
    sql,
    url: databaseUrl,
    clock,
    nodeId: randomUUID(),
    log: silentLog,
    otherNodes: () => nodes,
    onNode: nothing,
    onChange: nothing,
    onGap: nothing,
    onProof: nothing,
  });
  try {
    await changes.start();
    await changes.settled();
  } finally {
    await changes.stop();
  }
}
