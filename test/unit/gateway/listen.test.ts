import { createServer } from "node:net";
import type { AddressInfo } from "node:net";
import { expect, test } from "vitest";

import { systemClock } from "../../../engine/base/clock.js";
import { loadConfig } from "../../../engine/base/config.js";
import { silentLog } from "../../../engine/base/log.js";
import { createMetrics } from "../../../engine/base/metrics.js";
import { ListenError } from "../../../gateway/http/claim-port.js";
import { listen, Stack } from "../../../gateway/start/infrastructure.js";
import { serverForms, testPorts } from "../../support/engines/gateway.js";

test.each(serverForms)(
  "a port that somebody takes while the engine starts is told in a sentence, and another start may succeed (%s)",
  async (form) => {
    const other = createServer();
    await new Promise<void>((resolve) => {
      other.listen(0, "127.0.0.1", resolve);
    });
    const { port } = other.address() as AddressInfo;
    const base = {
      config: loadConfig({}),
      clock: systemClock,
      log: silentLog,
      metrics: createMetrics(),
      stack: new Stack(),
      dataDir: "",
    };
    const where = { host: "127.0.0.1", port, prefix: "ADMIN_", form, connections_share: 0.5 } as const;
    const started = listen(base, where, [], testPorts());
    await expect(started).rejects.toThrow(`Port ${port} on 127.0.0.1 is taken; choose another ADMIN_PORT.`);
    await expect(started).rejects.toMatchObject({ passing: true });
    await expect(started).rejects.toBeInstanceOf(ListenError);
    await new Promise((resolve) => other.close(resolve));
  },
);
