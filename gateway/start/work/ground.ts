/** What actors, consumers of streams and rows are all made of. */
import type { ActorSystem } from "../../../actors/system.js";
import type { DocumentWorkers } from "../../../engine/documents/accept/validators.js";
import type { Relay } from "../../../engine/events/outbox.js";
import type { Streams } from "../../../engine/events/streams.js";
import type { Sealer } from "../../../engine/storage/sealer.js";
import type { Sql } from "../../../engine/storage/sql.js";
import type { Base } from "../infrastructure.js";

/** What the actors, the stream consumers and the rows are all made of. */
export interface Ground {
  readonly base: Base;
  readonly sql: Sql;
  readonly streams: Streams;
  readonly sealer: Sealer;
  readonly validators: DocumentWorkers;
  readonly relay: Relay;
  readonly actors: ActorSystem;
  readonly node: string;
}

/** The name under which this process takes leases. */
export const leaseOwnerOf = (node: string): string => `${node}/${process.pid}`;
