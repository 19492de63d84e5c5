/** docs/operators/capacity.md: what an engine does on the machine of the benchmarks, in the words of operators. */
import { join } from "node:path";

import { readKeptFolder, RESULTS } from "./kept.js";
import type { KeptBench, KeptFigure } from "./kept.js";
import { digits } from "./page.js";

/** Where the page stands in a checkout. */
export const CAPACITY_PAGE = "docs/operators/capacity.md";

/** What is told of a benchmark: which of its figures, and what that is. */
type Told = readonly [bench: string, figure: string, what: string];

const RATES: readonly Told[] = [
  ["send", "kurier send", "invoices accepted, validated in full, committed with fsync"],
  ["end-to-end", "accepted → delivered", "delivered over AS4 at a steady pace, both access points on this machine"],
  ["end-to-end", "backlog drains", "delivered over AS4 from a backlog, both access points on this machine"],
  ["as4", "kurier /as4", "received at /as4, stored, archived, receipted"],
  ["poll", "poll, empty", "inboxes asked that have nothing"],
  ["poll", "poll, 20 items", "inboxes read with 20 documents"],
  ["token", "kurier mint", "logins"],
  ["lookup", "lookup, remembered", "participants looked up that are remembered"],
  ["webhooks", "deliveries to receivers that answer at once", "events to webhooks"],
];

const COSTS: readonly Told[] = [
  ["rows", "row writes a document", "rows written, sending and receiving"],
  ["rows", "commits a document", "commits; calls that come together share one"],
  ["rows", "WAL a document, octets", "octets of the log of writes"],
];

const line = (cells: readonly string[]): string => `| ${cells.join(" | ")} |`;
const milliseconds = (value: number | undefined): string => (value === undefined ? "" : `${digits(value)} ms`);

/** A line for each figure that was kept. */
function lines(
  kept: ReadonlyMap<string, KeptBench>,
  told: readonly Told[],
  cellsOf: (figure: KeptFigure) => readonly string[],
): string {
  return told
    .flatMap(([bench, name, what]) => {
      const run = kept.get(bench);
      const figure = run?.figures.find((one) => one.name === name);
      if (run === undefined || figure === undefined) return [];
      const source = `\`npm run -s bench -- ${bench}\`, ${run.at.slice(0, 10)}, ${run.commit}${run.machine === undefined ? "" : `, ${run.machine.cpu}`}`;
      return [line([what, digits(figure.value), ...cellsOf(figure), source])];
    })
    .join("\n");
}

function machineText(kept: ReadonlyMap<string, KeptBench>): string {
  const run = kept.get("send");
  if (run?.machine === undefined) return "";
  const { cores, memory_gb: memory } = run.machine;
  return `The machines have ${cores} cores, ${memory} GB and Node.js ${run.node}; the engine, PostgreSQL and the client of each benchmark share them, and others did at times. The kind of processor stands beside each figure: on some, RSA takes a third of the time that it takes on others. Measure your own with the commands of the last column.`;
}

/** The whole page. @param root  of the project */
export function capacityPage(root: string): string {
  const kept = readKeptFolder(join(root, RESULTS));
  return `# Capacity

What one engine does on one machine, so that you can say how many you need. \`npm run -s performance:table\` writes this page and [performance](../performance.md), which has goals, limits and peers, from \`bench/results\`; a test holds both to them.

${machineText(kept)}

## A second
| What | At the most in a second | Half within | 99 of 100 within | Measured |
|---|---|---|---|---|
${lines(kept, RATES, ({ p50_ms, p99_ms }) => [milliseconds(p50_ms), milliseconds(p99_ms)])}

Times are those at full load. Whoever asks more is told 503 with \`Retry-After\`, and nothing that was accepted is lost. Plan for half of these figures.

## What a document costs PostgreSQL
| What | A document | Measured |
|---|---|---|
${lines(kept, COSTS, () => [])}

## How many engines
A million documents a month are 23 in a minute; when a tenth of them comes on one day, within eight hours, that is 3.5 in a second. Compare that with the lines above: speed is seldom the reason for a second engine, upgrades and failures are.

- **Processor**: \`kurier_worker_pool_utilisation_ratio\` near 1 asks for more \`VALIDATOR_THREADS\` on more cores, then for another engine. Node.js starts four threads that collect garbage and compile, whatever the machine; \`npm start\` asks for half as many as there are processors, and where Node.js is started otherwise, \`NODE_OPTIONS=--v8-pool-size=1\` does so on two (D-384).
- **Memory**: every budget follows the heap and the bound of the container; beyond it clients are told to come again. Node.js 24 and 26 give young objects more memory than 20 and 22; \`npm start\`, the image and the unit ask for as much as those with \`--max-semi-space-size=16\`, and where Node.js is started otherwise NODE_OPTIONS takes it, too (D-424). [Faults](../faults.md) and \`bench/results/large-invoices.json\` have what large invoices at once take.
- **Connections to PostgreSQL**: 16 for calls and 4 for logins in each engine, and 4 of its loops, 24 together: \`max_connections\`, and a \`CONNECTION LIMIT\` of the role or of the database, must allow as many for each engine, and in an upgrade for those of both releases. PgBouncer may stand in between ([deploying](../deploy.md)).
- **Open files**: 65,536 for an engine, as the unit of systemd gives it.
- **Disk**: evidence and history of ten years. \`PAYLOAD_STORE\` takes payloads out of the database, \`EVIDENCE_STORE=s3:\` evidence off the machine.
`;
}
