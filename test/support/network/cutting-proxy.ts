/** A TCP proxy in front of Postgres that meets one statement, known by a text in it, and loses its connection. */
import { connect, createServer } from "node:net";
import type { AddressInfo, Socket } from "node:net";

import { connectionTarget } from "../../../engine/storage/sql.js";

/** Where the connection is lost: before the server has the statement, or when it has it and has not answered. */
export type LostAt = "statement" | "answer" | "nowhere";

export interface CuttingProxy {
  /** Of the database behind the proxy. */
  readonly url: string;
  /**
   * Meets the next octets on their way to the server that hold a text. Nothing of their connection passes while `meet`
   * runs; then the connection is lost, or goes on.
   * @returns when `meet` is over
   */
  meet(text: string, lost: LostAt, meet: () => Promise<void>): Promise<void>;
  stop(): void;
}

interface Meeting {
  readonly text: string;
  readonly lost: LostAt;
  readonly meet: () => Promise<void>;
  readonly met: (error?: unknown) => void;
}

interface Pair {
  readonly client: Socket;
  readonly server: Socket;
}

/** What is done with octets that hold the text. */
function encounter({ client, server }: Pair, octets: Buffer, { lost, meet, met }: Meeting): void {
  client.pause();
  server.pause();
  if (lost !== "statement") server.write(octets);
  meet()
    .then(() => {
      if (lost === "nowhere") {
        client.resume();
        server.resume();
      } else {
        client.destroy();
        server.destroy();
      }
      met();
    })
    .catch(met);
}

/** @param databaseUrl  of TCP, or of a Unix socket in libpq's form */
export async function startCuttingProxy(databaseUrl: string): Promise<CuttingProxy> {
  const { url, path } = connectionTarget(databaseUrl);
  const target = new URL(url);
  const [port, host] = [Number(target.port || "5432"), target.hostname];
  const sockets = new Set<Socket>();
  let armed: Meeting | undefined;
  const proxy = createServer((client) => {
    const server = path === undefined ? connect(port, host) : connect({ path });
    for (const socket of [client, server]) {
      sockets.add(socket);
      socket
        .on("error", () => socket.destroy())
        .on("close", () => {
          client.destroy();
          server.destroy();
          sockets.delete(socket);
        });
    }
    server.pipe(client);
    client.on("data", (octets: Buffer) => {
      const meeting = armed;
      if (meeting === undefined || !octets.includes(meeting.text)) {
        server.write(octets);
        return;
      }
      armed = undefined;
      encounter({ client, server }, octets, meeting);
    });
  });
  await new Promise<void>((resolve) => {
    proxy.listen(0, "127.0.0.1", resolve);
  });
  target.hostname = "127.0.0.1";
  target.port = String((proxy.address() as AddressInfo).port);
  return {
    url: target.href,
    meet: (text, lost, meet) =>
      new Promise<void>((resolve, reject) => {
        armed = {
          text,
          lost,
          meet,
          met: (error) => {
            if (error === undefined) resolve();
            else reject(error instanceof Error ? error : new Error(String(error)));
          },
        };
      }),
    stop: () => {
      for (const socket of sockets) socket.destroy();
      proxy.close();
    },
  };
}
