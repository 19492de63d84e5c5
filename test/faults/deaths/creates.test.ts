/** A thousand identical creates of the Connector at once, on two nodes: one document. CI runs a hundred. */
import { test } from "vitest";

import { createAtOnce, startConnectorNodes } from "../../support/engines/connector-nodes.js";

const CREATES = 1_000;
/** One key may call 300 times a minute, and each create may have to be repeated: so each test has keys of its own. */
const KEYS = 10;

test.each(["send", "stage"] as const)(
  "a thousand identical creates at once on two nodes make one document to %s, and every other ends as its repeat",
  async (delivery) => {
    const nodes = await startConnectorNodes(KEYS);
    try {
      await createAtOnce(nodes, nodes.invoice(delivery), CREATES);
    } finally {
      await nodes.stop();
    }
  },
);
