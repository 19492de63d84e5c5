/** A TCP proxy in front of one listener, that can stop an exchange at a chosen octet of an HTTP message. */
import { connect, createServer } from "node:net";
import type { Socket } from "node:net";

export type Direction = "request" | "response";

/** How much of a message passes before the cut: nothing, or half of its octets. */
export type Share = "none" | "half";

export interface FaultProxy {
  readonly port: number;
  /**
   * Meets the next message of a direction: octets beyond the share wait while `meet` runs, and pass if it answers true;
   * otherwise the connection ends. Later messages pass.
   * @param skipped  pieces that pass before; a small message is one piece. Default 0.
   * @returns when `meet` is over
   */
  cut(direction: Direction, share: Share, meet: () => boolean | Promise<boolean>, skipped?: number): Promise<void>;
  /** Forgets cuts that were not met; their promises stay open. */
  disarm(): void;
  stop(): Promise<void>;
}

interface Cut {
  readonly share: Share;
  readonly meet: () => boolean | Promise<boolean>;
  readonly met: (error?: unknown) => void;
  readonly skipped: number;
}

/** Octets of the HTTP message that begins a piece: its header and what Content-Length says. */
function messageOctets(piece: Buffer): number {
  const header = piece.indexOf("\r\n\r\n");
  const length = /\r\ncontent-length: *([0-9]+)\r\n/i.exec(piece.toString("latin1", 0, header + 2))?.[1];
  if (header < 0 || length === undefined) throw new Error("a message to be cut in its middle has no Content-Length");
  return header + 4 + Number(length);
}

/** Passes octets one way; `take` gives the cut that is armed when a piece arrives, once. */
function pass(from: Socket, to: Socket, take: () => Cut | undefined): void {
  let cut: Cut | undefined;
  let left = 0;
  from.on("data", (piece: Buffer) => {
    if (cut === undefined && (cut = take()) !== undefined)
      left = cut.share === "none" ? 0 : Math.floor(messageOctets(piece) / 2);
    if (cut === undefined || left >= piece.length) {
      left -= piece.length;
      to.write(piece);
      return;
    }
    const { meet, met } = cut;
    cut = undefined;
    to.write(piece.subarray(0, left));
    from.pause();
    Promise.resolve()
      .then(meet)
      .then((passes) => {
        if (passes) to.write(piece.subarray(left));
        else to.destroy();
        from.resume();
        met();
      })
      .catch(met);
  });
}

/** Starts a proxy to a port of this machine. */
export async function startFaultProxy(target: number): Promise<FaultProxy> {
  const sockets = new Set<Socket>();
  const armed = new Map<Direction, Cut>();
  const take = (direction: Direction) => (): Cut | undefined => {
    const cut = armed.get(direction);
    if (cut === undefined || cut.skipped > 0) {
      if (cut !== undefined) armed.set(direction, { ...cut, skipped: cut.skipped - 1 });
      return undefined;
    }
    armed.delete(direction);
    return cut;
  };
  const server = createServer((client) => {
    const upstream = connect(target, "127.0.0.1");
    for (const socket of [client, upstream]) {
      sockets.add(socket);
      socket
        .on("error", () => undefined)
        .on("close", () => {
          client.destroy();
          upstream.destroy();
          sockets.delete(socket);
        });
    }
    pass(client, upstream, take("request"));
    pass(upstream, client, take("response"));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  return {
    port: typeof address === "object" && address !== null ? address.port : 0,
    cut: (direction, share, meet, skipped = 0) =>
      new Promise<void>((resolve, reject) => {
        armed.set(direction, {
          share,
          meet,
          skipped,
          met: (error) => {
            if (error === undefined) resolve();
            else reject(error instanceof Error ? error : new Error(String(error)));
          },
        });
      }),
    disarm: () => {
      armed.clear();
    },
    stop: () =>
      new Promise<void>((resolve) => {
        for (const socket of sockets) socket.destroy();
        server.close(() => {
          resolve();
        });
      }),
  };
}
