/** A receiver of very many events, up or dead, that keeps of each call no more than which event it was. */
import { createServer } from "node:http";

import { listening } from "../network/listening.js";

export interface TallyingReceiver {
  readonly url: string;
  /** Calls that came, those that were not answered included. */
  calls(): number;
  /** Ids of the events that were taken, in the order in which they came. */
  readonly taken: readonly string[];
  /** From now on it answers 200, or resets each connection. */
  set(state: "up" | "dead"): void;
  /** Waits until the event of a document is taken. */
  arrival(documentId: string): Promise<void>;
  close(): Promise<void>;
}

/** Starts one on a free port. */
export async function startTallyingReceiver(state: "up" | "dead"): Promise<TallyingReceiver> {
  const taken: string[] = [];
  const awaited = new Map<string, () => void>();
  let isUp = state === "up";
  let calls = 0;
  const server = createServer((request, response) => {
    calls += 1;
    if (!isUp) {
      request.socket.destroy();
      return;
    }
    const chunks: Buffer[] = [];
    request
      .on("error", () => undefined)
      .on("data", (chunk: Buffer) => chunks.push(chunk))
      .on("end", () => {
        const { webhook_event_id: id, data } = JSON.parse(Buffer.concat(chunks).toString("utf8")) as {
          readonly webhook_event_id: string;
          readonly data: { readonly document_id: string };
        };
        taken.push(id);
        response.writeHead(200).end();
        awaited.get(data.document_id)?.();
        awaited.delete(data.document_id);
      });
  });
  const { origin, close } = await listening(server);
  return {
    url: `${origin}/in`,
    calls: () => calls,
    taken,
    set: (next) => {
      isUp = next === "up";
    },
    arrival: (documentId) =>
      new Promise((resolve) => {
        awaited.set(documentId, resolve);
      }),
    close,
  };
}
