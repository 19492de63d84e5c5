/** What stands before several engines: connections go to those that are ready, in turn. */
import { connect, createServer } from "node:net";
import type { Socket } from "node:net";

export interface Balancer {
  readonly port: number;
  /**
   * Engines that take connections from now on; those that are open stay where they are.
   * @param lost  an engine whose open connections end. Default none.
   */
  to(ports: readonly number[], lost?: number): void;
  stop(): Promise<void>;
}

export async function startBalancer(): Promise<Balancer> {
  let targets: readonly number[] = [];
  let turn = 0;
  /** Each with the engine that it belongs to. */
  const sockets = new Map<Socket, number>();
  const server = createServer((client) => {
    client.on("error", () => client.destroy());
    const target = targets[(turn += 1) % Math.max(1, targets.length)];
    if (target === undefined) {
      client.destroy();
      return;
    }
    const engine = connect(target, "127.0.0.1");
    for (const socket of [client, engine]) {
      sockets.set(socket, target);
      socket
        .on("error", () => socket.destroy())
        .on("close", () => {
          client.destroy();
          engine.destroy();
          sockets.delete(socket);
        });
    }
    client.pipe(engine).pipe(client);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  return {
    port: typeof address === "object" && address !== null ? address.port : 0,
    to: (ports, lost) => {
      targets = ports;
      for (const [socket, engine] of sockets) if (engine === lost) socket.destroy();
    },
    stop: () =>
      new Promise<void>((resolve) => {
        for (const socket of sockets.keys()) socket.destroy();
        server.close(() => {
          resolve();
        });
      }),
  };
}
