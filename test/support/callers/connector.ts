/** Calls of the Connector in the name of an integrator, and invoices in its words. */
import { randomUUID } from "node:crypto";

import type { Sandbox } from "../../../engine/identity/sandbox.js";
import { http } from "../engines/engine.js";
import type { HttpAnswer } from "../engines/engine.js";

type ConnectorBody = Readonly<Record<string, unknown>>;

/** The demo firms, as the demo integrator calls them. */
export const SELLER = "demo-sender";
export const BUYER = "demo-receiver";

/** How to call the Connector of one engine with one token. */
export type ConnectorCall = (
  method: string,
  path: string,
  body?: unknown,
  headers?: Readonly<Record<string, string>>,
) => Promise<HttpAnswer>;

export const connectorCalls =
  (sandbox: Pick<Sandbox, "baseUrl">, token: string): ConnectorCall =>
  (method, path, body, headers = {}) =>
    http(
      method,
      `${sandbox.baseUrl}/connector${path}`,
      {
        authorization: `Bearer ${token}`,
        ...(body === undefined ? {} : { "content-type": "application/json" }),
        ...headers,
      },
      body === undefined ? undefined : JSON.stringify(body),
    );

/** A fresh invoice from one demo firm to the other. @param dic  tax id of the recipient */
export const connectorInvoice = (dic: string, changes: ConnectorBody = {}): ConnectorBody => {
  const externalId = randomUUID();
  return {
    customerRef: SELLER,
    externalId,
    number: `C-${externalId.slice(0, 8)}`,
    dueDate: "2027-12-31",
    recipient: { country: "SK", name: "Buyer", taxId: dic },
    lines: [{ description: "Paper", quantity: 3, unitPrice: "23.90", vatRate: 23 }],
    ...changes,
  };
};

/** The error of an answer. */
export const connectorError = (answer: HttpAnswer): Record<string, unknown> =>
  (answer.json["error"] ?? {}) as Record<string, unknown>;
