/** Calls of the Box in the name of the demo sender of a running engine. */
import { randomUUID } from "node:crypto";

import type { Sql } from "../../../engine/storage/sql.js";
import { accessToken, invoiceXml } from "../engines/engine.js";
import type { HttpAnswer, TestEngine } from "../engines/engine.js";
import { eventually } from "../eventually.js";
import { api } from "./partners.js";

/** How far ahead items are scheduled that fall due when all of them are there, however long it takes to make them. */
export const FAR_AHEAD_MS = 3_600_000;
const SOON_MS = 1_500;

/** Lets items fall due together, soon enough to be waited for and later than the engine's next look. @returns when */
export async function fallDueSoon(sql: Sql, ids: readonly string[]): Promise<number> {
  const due = Date.now() + SOON_MS;
  await sql`
    update box_item set scheduled_for = to_timestamp(${due / 1_000}::float8), due_at = to_timestamp(${due / 1_000}::float8)
    where id = any(${[...ids]}::uuid[])`;
  return due;
}

/** An item as the interface shows it. */
export type Item = Readonly<Record<string, unknown>>;

/** A firm that uses the Box. */
export interface BoxClient {
  call(line: string, body?: unknown): Promise<HttpAnswer>;
  /** POST /box/items. */
  create(more?: Readonly<Record<string, unknown>>): Promise<HttpAnswer>;
  /** An item that was just made; its creation must have succeeded. */
  made(more?: Readonly<Record<string, unknown>>): Promise<Item>;
  read(id: unknown): Promise<Item>;
  /** The item once it has this state. */
  reaches(id: unknown, ...states: readonly string[]): Promise<Item>;
}

/** A fresh invoice from the demo sender. @param receiver @default the demo receiver */
export const boxInvoice = (t: TestEngine, receiver: string = t.sandbox.receiver.participantId): string =>
  invoiceXml(t.sandbox.sender.participantId, receiver);

/** An invoice that is readable and breaks the rules: it names no currency. */
export const brokenInvoice = (t: TestEngine): string =>
  boxInvoice(t).replace(/<cbc:DocumentCurrencyCode>.*?<\/cbc:DocumentCurrencyCode>/, "");

/** The Box as the holder of a token sees it. @param token @default of the demo sender's key */
export async function boxClient(t: TestEngine, token?: string): Promise<BoxClient> {
  const own = token ?? (await accessToken(t.sandbox, t.sandbox.sender));
  const call: BoxClient["call"] = (line, body) => api(t, own, line, body === undefined ? {} : { body });
  const create: BoxClient["create"] = (more = {}) => call("POST /box/items", { payloadXml: boxInvoice(t), ...more });
  const read: BoxClient["read"] = async (id) => (await call(`GET /box/items/${String(id)}`)).json;
  return {
    call,
    create,
    read,
    made: async (more) => {
      const answer = await create(more);
      if (answer.status !== 201) throw new Error(`no item: ${answer.status} ${answer.text}`);
      return answer.json;
    },
    reaches: (id, ...states) =>
      eventually(`the item is ${states.join(" or ")}`, async () => {
        const item = await read(id);
        return states.includes(String(item["status"])) ? item : undefined;
      }),
  };
}

/** An instant so many milliseconds from now. */
export const fromNow = (ms: number): string => new Date(Date.now() + ms).toISOString();

/** An id that nobody has. */
export const unknownId = (): string => randomUUID();
