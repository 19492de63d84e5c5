/** What the two forms of the HTTP server have in common: what they are started with and what they give back. */
import type { Cidr } from "../../engine/base/addresses.js";
import type { Head, PipelineRequest } from "./conversation.js";
import type { ServerLimits } from "./load.js";

export type ServerForm = "uws" | "node";

export interface ServerOptions {
  readonly host: string;
  /** Port to listen on; 0 lets the operating system choose a free one. */
  readonly port: number;
  /** @default "uws" where its binary loads, else "node" */
  readonly form?: ServerForm;
  /** Several processes may listen on this port and share its connections (uws on Linux). @default false */
  readonly sharesPort?: boolean;
  /** Networks of the operator's proxies: many clients come through one address. @default none */
  readonly proxies?: readonly Cidr[];
  /** Whether bodies may come in chunks. @default true */
  readonly takesChunks?: boolean;
  /** @default LIMITS, with the budgets of the machine */
  readonly limits?: Partial<ServerLimits>;
  /** A clock in milliseconds that is never set back. */
  readonly monotonic: () => number;
  /** Called once for each request, when its head is there. Must not throw. */
  readonly onRequest: (head: Head) => PipelineRequest;
}

/** What a form gives: how to stop listening and how to end every connection. */
export interface Listener {
  readonly port: number;
  /** Refuses new connections, and closes idle ones where this form of the server knows which they are. */
  stopAccepting(): void;
  /** Ends every connection at once. */
  closeAll(): Promise<void>;
}
