/**
 * One announcement channel of Postgres, on a connection of its own, that says when it is deaf.
 *
 * postgres.js has `listen`, but it forgets the subscription when the first reconnect fails, and tells nobody that the
 * connection was lost; a cache that trusts announcements must know both.
 */
import postgres from "postgres";

import { LIMITS } from "../base/limits.js";
import { connectionTo } from "./sql.js";
import type { Sql } from "./sql.js";

export interface ChannelOptions {
  readonly url: string;
  /** Shown in pg_stat_activity. */
  readonly name: string;
  /** A plain identifier. */
  readonly channel: string;
  /** A payload arrived. Payloads come in the order of their commits. */
  onMessage(payload: string): void;
  /** The subscription holds; whatever was announced before is unknown. */
  onUp(): void;
  /** The subscription is lost; what is announced from now on is missed. */
  onDown(): void;
}

export interface Channel {
  /** Gives up the connection and opens another; for a connection that is open and silent. */
  renew(): void;
  close(): Promise<void>;
}

/** Not in the types of postgres.js 3.4.9, but how its own `listen` is made. */
interface NotifyOption {
  readonly onnotify: (channel: string, payload: string) => void;
}

/** Who listens owes and is owed nothing for most of the time. */
const NO_SILENCE = 0;

/** One connection of a channel. */
interface Connection {
  readonly client: postgres.Sql;
}

function connect(
  options: ChannelOptions,
  over: AbortSignal,
  { onnotify, onclose }: NotifyOption & { readonly onclose: () => void },
): postgres.Sql {
  const { url, settings } = connectionTo(options.url, over, NO_SILENCE);
  const all: postgres.Options<Record<string, never>> & NotifyOption = {
    ...settings,
    max: 1,
    idle_timeout: 0,
    max_lifetime: null,
    fetch_types: false,
    connect_timeout: LIMITS.db_connect_timeout_s,
    onnotice: () => undefined,
    // As on the other connections: no statement of ours is worth compiling.
    connection: { application_name: options.name, jit: "off" },
    onnotify,
    onclose,
  };
  return postgres(url, all);
}

/** Opens the channel and keeps it open until it is closed. */
export function openChannel(options: ChannelOptions): Channel {
  const over = new AbortController();
  let failures = 0;
  let timer: NodeJS.Timeout | undefined;
  /** The connection whose events count; events of its predecessors are ignored. */
  let current: Connection | undefined;
  /** The connection whose subscription holds. */
  let subscribed: Connection | undefined;

  /** Gives the present connection up and opens another after a pause. */
  const renew = (): void => {
    const old = current;
    current = undefined;
    if (old !== undefined && old === subscribed) options.onDown();
    old?.client.end({ timeout: 0 }).catch(() => undefined);
    if (over.signal.aborted || timer !== undefined) return;
    timer = setTimeout(
      () => {
        timer = undefined;
        open();
      },
      Math.min(LIMITS.channel_retry_first_ms * 2 ** failures, LIMITS.channel_retry_max_ms),
    );
    failures = Math.min(failures + 1, 10);
  };
  const open = (): void => {
    const mine: Connection = {
      client: connect(options, over.signal, {
        onnotify: (channel, payload) => {
          if (current === mine && channel === options.channel) options.onMessage(payload);
        },
        onclose: () => {
          if (current === mine) renew();
        },
      }),
    };
    current = mine;
    mine.client.unsafe(`listen "${options.channel}"`).then(
      () => {
        if (current !== mine) return;
        subscribed = mine;
        failures = 0;
        options.onUp();
      },
      () => {
        if (current === mine) renew();
      },
    );
  };
  open();

  return {
    renew,
    close: async () => {
      over.abort();
      clearTimeout(timer);
      const old = current;
      current = undefined;
      await old?.client.end({ timeout: 1 });
    },
  };
}

/** Announces; whoever listens hears it when the statement has committed. */
export async function announce(sql: Sql, channel: string, payload: string): Promise<void> {
  await sql`select pg_notify(${channel}, ${payload})`;
}
