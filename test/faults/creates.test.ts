/** A thousand identical creates of the Connector at once, on two nodes: one document. CI runs a hundred. */
import { afterAll, beforeAll, test } from "vitest";

import { createAtOnce, startConnectorNodes } from "../support/connector-nodes.js";
import type { ConnectorNodes } from "../support/connector-nodes.js";

const CREATES = 1_000;
/** One key may call 300 times a minute. */
const KEYS = 10;

let nodes: ConnectorNodes;

beforeAll(async () => {
  nodes = await startConnectorNodes(KEYS);
});
afterAll(() => nodes.stop());

test.each(["send", "stage"] as const)(
  "a thousand identical creates at once on two nodes make one document to %s",
  (delivery) => createAtOnce(nodes, nodes.invoice(delivery), CREATES),
);
