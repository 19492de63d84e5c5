/** A TCP proxy in front of Postgres that stops passing octets, as a frozen host or a full disk looks from outside. */
import { connect, createServer } from "node:net";
import type { AddressInfo, Socket } from "node:net";

import { connectionTarget } from "../../engine/storage/sql.js";

export interface FreezingProxy {
  /** Of the database behind the proxy. */
  readonly url: string;
  /** Nothing passes any more, in either direction; new connections are taken and hear nothing. */
  freeze(): void;
  /** Everything that was held back passes. */
  thaw(): void;
  stop(): void;
}

/** @param databaseUrl  of TCP, or of a Unix socket in libpq's form */
export async function startFreezingProxy(databaseUrl: string): Promise<FreezingProxy> {
  const { url, path } = connectionTarget(databaseUrl);
  const target = new URL(url);
  const [port, host] = [Number(target.port || "5432"), target.hostname];
  const sockets = new Set<Socket>();
  let isFrozen = false;
  const proxy = createServer((client) => {
    const server = path === undefined ? connect(port, host) : connect({ path });
    client.pipe(server).pipe(client);
    for (const socket of [client, server]) {
      sockets.add(socket);
      socket
        .on("error", () => socket.destroy())
        .on("close", () => {
          client.destroy();
          server.destroy();
          sockets.delete(socket);
        });
      if (isFrozen) socket.pause();
    }
  });
  await new Promise<void>((resolve) => {
    proxy.listen(0, "127.0.0.1", resolve);
  });
  target.hostname = "127.0.0.1";
  target.port = String((proxy.address() as AddressInfo).port);
  return {
    url: target.href,
    freeze: () => {
      isFrozen = true;
      for (const socket of sockets) socket.pause();
    },
    thaw: () => {
      isFrozen = false;
      for (const socket of sockets) socket.resume();
    },
    stop: () => {
      for (const socket of sockets) socket.destroy();
      proxy.close();
    },
  };
}
