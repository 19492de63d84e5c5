/** Whether there may be listened on an address, found out before anything is started, and what an operator is told. */
import { createServer } from "node:net";

import { errorCode } from "../../engine/base/errors.js";

/** An address and a port, and the variables that named them. */
export interface ListenPlace {
  readonly host: string;
  readonly port: number;
  readonly prefix: "" | "ADMIN_";
}

/** A listener cannot have its address; the message is one sentence for the operator. */
export class ListenError extends Error {
  override readonly name = "ListenError";
  /** Whether the same start may succeed a moment later: whoever has the port may be about to leave. */
  readonly passing: boolean;

  constructor(sentence: string, passing: boolean) {
    super(sentence);
    this.passing = passing;
  }
}

const NOT_OURS = ({ host, prefix }: ListenPlace): string =>
  `${prefix}HOST ${host} is no address of this machine; use one of its own, or 0.0.0.0 for all of them.`;

/** What the system says of an address that cannot be listened on. */
const LISTEN_FAULTS: Readonly<Record<string, (place: ListenPlace) => string>> = {
  EADDRINUSE: ({ host, port, prefix }) => `Port ${port} on ${host} is taken; choose another ${prefix}PORT.`,
  EADDRNOTAVAIL: NOT_OURS,
  ENOTFOUND: NOT_OURS,
  EAI_AGAIN: NOT_OURS,
  EINVAL: NOT_OURS,
  EAFNOSUPPORT: NOT_OURS,
  EACCES: ({ port, prefix }) => `Port ${port} needs rights that this user lacks; choose a ${prefix}PORT above 1023.`,
};

/** What an operator is told of an error of listening; the error itself where there is no sentence for it. */
export function listenErrorOf(error: unknown, place: ListenPlace): unknown {
  const code = errorCode(error) ?? "";
  const sentence = LISTEN_FAULTS[code]?.(place);
  return sentence === undefined ? error : new ListenError(sentence, code === "EADDRINUSE");
}

/**
 * Finds out before anything is started whether we may listen there: uWebSockets.js only says that it cannot. Port 0
 * asks for a free one; tokens name the public URL, so that it must be known before anything listens.
 * @returns the port
 * @throws ListenError when the port is taken or the address is not ours
 */
export const claimPort = (place: ListenPlace): Promise<number> =>
  new Promise((resolve, reject) => {
    const probe = createServer();
    probe.once("error", (error) => {
      reject(listenErrorOf(error, place));
    });
    probe.listen(place.port, place.host, () => {
      const address = probe.address();
      probe.close(() => {
        resolve(typeof address === "object" && address !== null ? address.port : place.port);
      });
    });
  });
