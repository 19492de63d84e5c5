/**
 * The ports of a lane's threads: through one of them a batch that lies ready reaches its worker, and outcomes come back
 * while the worker goes on. Piscina carries the first batch of a shift and the outcomes of the last.
 */
import { MessageChannel, parentPort, receiveMessageOnPort, threadId } from "node:worker_threads";
import type { MessagePort } from "node:worker_threads";

import { BATCH, PROGRESS } from "../protocol.js";
import type { Batch, JobOutcome } from "../protocol.js";

/** A worker's word from within a shift: that it has begun, or the outcomes of a batch that was not the last. */
export interface ShiftMessage {
  /** Whose outcomes they are: those of one message that was lost must not make others stand for it. */
  readonly batch: number;
  readonly outcomes?: readonly JobOutcome[];
}

/** A worker's word before its first job: where it looks for what lies ready. */
interface ReadyPort {
  readonly thread: number;
  readonly port: MessagePort;
}

const isReadyPort = (message: unknown): message is ReadyPort =>
  typeof message === "object" && message !== null && "thread" in message && "port" in message;

/** What lies in a port, the oldest first, without the event loop. */
function* unread<T>(port: MessagePort): Generator<T> {
  for (let sent = receiveMessageOnPort(port); sent !== undefined; sent = receiveMessageOnPort(port))
    yield (sent as { readonly message: T }).message;
}

/** The owner's ends of the ports of a lane. */
export class ReadyPorts {
  // Bounded by the threads: the port of one that has ended is closed.
  readonly #ports = new Map<number, MessagePort>();
  readonly #hear: (message: ShiftMessage) => void;

  /** @param hear  what a thread says from within a shift */
  constructor(hear: (message: ShiftMessage) => void) {
    this.#hear = hear;
  }

  /** Takes the port that a worker sends before its first job; any other message is none of ours. */
  welcome(message: unknown): void {
    if (!isReadyPort(message)) return;
    const { thread, port } = message;
    this.#ports.set(thread, port);
    port.on("message", (said: ShiftMessage) => {
      this.#hear(said);
    });
    port.on("close", () => this.#ports.delete(thread));
    // A shift keeps the process alive by itself.
    port.unref();
  }

  has(thread: number): boolean {
    return this.#ports.has(thread);
  }

  /**
   * Sends a batch to a thread. One that has ended meanwhile never begins it.
   * @throws DataCloneError when a job holds what cannot be sent
   */
  send(thread: number, batch: Batch, transferList: readonly ArrayBuffer[]): void {
    this.#ports.get(thread)?.postMessage(batch, transferList);
  }

  /** What a thread has said and nobody has heard yet. */
  unheard(thread: number): Iterable<ShiftMessage> {
    const port = this.#ports.get(thread);
    return port === undefined ? [] : unread<ShiftMessage>(port);
  }
}

/** A worker's end of its port. */
interface WorkersPort {
  readonly thread: number;
  readonly say: (message: ShiftMessage) => void;
  /** Begins the next batch that lies ready and that its owner has not taken back. */
  readonly begin: () => Batch | undefined;
}

/** Opens the port of this worker and sends its other end to the owner. */
export function openPort(): WorkersPort {
  const { port1: mine, port2: port } = new MessageChannel();
  const word: ReadyPort = { thread: threadId, port };
  parentPort?.postMessage(word, [port]);
  return {
    thread: threadId,
    say: (message) => {
      mine.postMessage(message);
    },
    begin: () => {
      for (const batch of unread<Batch>(mine)) {
        const before = Atomics.compareExchange(batch.progress, PROGRESS.state, BATCH.waits, BATCH.begun);
        if (before === BATCH.waits) return batch;
      }
      return undefined;
    },
  };
}
