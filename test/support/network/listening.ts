/** Servers of tests, each on a port of this machine that was free. */
import type { Server } from "node:http";
import type { AddressInfo } from "node:net";

interface Listening {
  readonly port: number;
  readonly origin: string;
  /** Ends the connections, too. */
  close(): Promise<void>;
}

export async function listening(
  server: Pick<Server, "address" | "close" | "closeAllConnections" | "listen">,
): Promise<Listening> {
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return {
    port,
    origin: `http://127.0.0.1:${port}`,
    close: () =>
      new Promise((resolve) => {
        server.close(() => {
          resolve();
        });
        server.closeAllConnections();
      }),
  };
}
