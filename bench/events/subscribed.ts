/** A subscription to every event for each firm of a benchmark, at one receiver that answers at once. */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";

import { FEED_KINDS } from "../../engine/lifecycle/feed.js";
import type { BenchEngine, BenchFirm } from "../engine.js";
import type { BenchOptions } from "../runner.js";

const AT_ONCE = 16;

/**
 * Subscribes each firm when the benchmark was asked to.
 * @returns ends the receiver
 */
export async function subscribeFirms(
  options: BenchOptions,
  engine: BenchEngine,
  firms: readonly BenchFirm[],
): Promise<() => void> {
  if (!options.subscribed) return () => undefined;
  const server = createServer((request, response) => {
    request.resume().on("end", () => response.writeHead(204).end());
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  options.say(`${firms.length} subscriptions …`);
  for (let from = 0; from < firms.length; from += AT_ONCE)
    await Promise.all(
      firms.slice(from, from + AT_ONCE).map(async ({ token }, index) => {
        const answer = await fetch(`${engine.sandbox.baseUrl}/webhooks`, {
          method: "POST",
          headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
          body: JSON.stringify({ url: `${origin}/${from + index}`, events: FEED_KINDS }),
        });
        if (answer.status !== 201) throw new Error(`no subscription: ${answer.status} ${await answer.text()}`);
      }),
    );
  return () => {
    server.closeAllConnections();
    server.close();
  };
}
