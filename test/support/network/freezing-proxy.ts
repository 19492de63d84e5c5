/**
 * A TCP proxy in front of Postgres that stops passing octets, as a frozen host or a full disk looks from outside, or passes
 * the answers late.
 */
import { connect, createServer } from "node:net";
import type { AddressInfo, Socket } from "node:net";
import { setTimeout as pause } from "node:timers/promises";

import { connectionTarget } from "../../../engine/storage/sql.js";

export interface FreezingProxy {
  /** Of the database behind the proxy. */
  readonly url: string;
  /** Nothing passes any more, in either direction; new connections are taken and hear nothing. */
  freeze(): void;
  /** Everything that was held back passes. */
  thaw(): void;
  /** From now on every answer comes so many milliseconds later, in its order; 0 is at once. */
  delay(late_ms: number): void;
  stop(): void;
}

/** Passes octets on in their order, each so late as is said when it comes. */
function passLate(from: Socket, to: Socket, late_ms: () => number): void {
  let before: Promise<unknown> = Promise.resolve();
  let waiting = 0;
  from.on("data", (piece: Buffer) => {
    if (late_ms() === 0 && waiting === 0) {
      to.write(piece);
      return;
    }
    waiting += 1;
    const due = pause(late_ms());
    before = before
      .then(() => due)
      .then(() => {
        waiting -= 1;
        if (!to.destroyed) to.write(piece);
      });
  });
}

/** @param databaseUrl  of TCP, or of a Unix socket in libpq's form */
export async function startFreezingProxy(databaseUrl: string): Promise<FreezingProxy> {
  const { url, path } = connectionTarget(databaseUrl);
  const target = new URL(url);
  const [port, host] = [Number(target.port || "5432"), target.hostname];
  const sockets = new Set<Socket>();
  let isFrozen = false;
  let late_ms = 0;
  const proxy = createServer((client) => {
    const server = path === undefined ? connect(port, host) : connect({ path });
    client.pipe(server);
    passLate(server, client, () => late_ms);
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
    delay: (by_ms) => {
      late_ms = by_ms;
    },
    stop: () => {
      for (const socket of sockets) socket.destroy();
      proxy.close();
    },
  };
}
