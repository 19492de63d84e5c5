/** Two engines on one database, an integrator that calls both, and one document that is created many times at once. */
import { expect } from "vitest";

import { connectorCalls, connectorInvoice } from "./connector.js";
import type { ConnectorCall } from "./connector.js";
import { startTestEngine } from "./engine.js";
import type { TestEngine } from "./engine.js";
import { bindClient, newClient, newKey, newPartner, tokenOf } from "./partners.js";

/** How the integrator calls its customer. */
export const CUSTOMER = "c";

export interface ConnectorNodes {
  /** Calls through both nodes in turn, under one key after the other: one key may call so often a minute. */
  call(n: number): ConnectorCall;
  sql(): TestEngine["db"]["sql"];
  /** A fresh create body. */
  invoice(delivery: "send" | "stage"): Readonly<Record<string, unknown>>;
  stop(): Promise<void>;
}

/** Keys of the integrator itself, and of its customer alone: five of each are active at most. */
const KEYS_OF_ONE_KIND = 5;

/** @param keys  at most ten */
export async function startConnectorNodes(keys: number): Promise<ConnectorNodes> {
  const first = await startTestEngine();
  const second = await startTestEngine({ db: first.db });
  const { integratorId, key } = await newPartner(first);
  const client = await newClient(first);
  await bindClient(first, { integratorId, key }, client, { customerRef: CUSTOMER });
  const made = [key];
  while (made.length < keys) {
    const scoped = made.length < KEYS_OF_ONE_KIND ? {} : { scopedFirmId: client.firmId };
    const scopes = made.length < KEYS_OF_ONE_KIND ? [] : [["documents:send", "documents:read"] as const];
    made.push(await newKey(first, { integratorId, ...scoped }, ...scopes));
  }
  const calls: ConnectorCall[] = [];
  for (const one of made)
    for (const node of [first, second]) calls.push(connectorCalls(node.sandbox, await tokenOf(node, one)));
  const dic = first.sandbox.receiver.participantId.replace(/^0245:/, "");
  return {
    call: (n) => calls[n % calls.length] as ConnectorCall,
    sql: () => first.db.sql,
    invoice: (delivery) => connectorInvoice(dic, { customerRef: CUSTOMER, delivery }),
    stop: async () => {
      await second.stop();
      await first.stop();
    },
  };
}

/** Creates one document so often at once, and holds that there is one, made once; who came too early is told so. */
export async function createAtOnce(
  nodes: ConnectorNodes,
  body: Readonly<Record<string, unknown>>,
  count: number,
): Promise<void> {
  const answers = await Promise.all(Array.from({ length: count }, (_, n) => nodes.call(n)("POST", "/documents", body)));
  expect(answers.filter(({ status }) => status === 201)).toHaveLength(1);
  for (const { status, json } of answers.filter((answer) => answer.status !== 201))
    expect([
      [200, true],
      [409, "IDEMPOTENCY_IN_FLIGHT"],
    ]).toContainEqual([
      status,
      status === 200 ? json["replayed"] : (json["error"] as Readonly<Record<string, unknown>>)["code"],
    ]);
  const rows = await nodes.sql()`select id from document where erp_document_id = ${String(body["externalId"])}`;
  expect(rows).toHaveLength(1);
  const ids = new Set(answers.flatMap(({ status, json }) => (status < 300 ? [json["id"]] : [])));
  expect(ids).toEqual(new Set([rows[0]?.["id"]]));
  const again = await nodes.call(0)("POST", "/documents", body);
  expect([again.status, again.json["replayed"]]).toEqual([200, true]);
}
