/** What both programs send, how they wait, and how they say what went wrong. */
import { randomUUID } from "node:crypto";
import { setTimeout as pause } from "node:timers/promises";

export function setting(name: string): string {
  const value = process.env[name];
  if (value === undefined) throw new Error(`set ${name}`);
  return value;
}

export const baseUrl = setting("KURIER_ORIGIN");
/** How the integrator calls the two firms. */
export const SELLER = setting("SELLER_REF");
export const BUYER = setting("BUYER_REF");

/** The body of a login with a key: that of INTEGRATOR, SENDER or RECEIVER. */
export const login = (who: string) => ({
  grant_type: "client_credentials" as const,
  client_id: setting(`${who}_CLIENT_ID`),
  client_secret: setting(`${who}_CLIENT_SECRET`),
});

/** What a call promised. @throws Error with the error that it answered instead */
export function had<T>({ data, error }: { readonly data?: T; readonly error?: unknown }): T {
  if (data === undefined) throw new Error(JSON.stringify(error));
  return data;
}

/** Asks until there is an answer, for a minute. */
export async function until<T>(what: string, ask: () => Promise<T | undefined>): Promise<T> {
  for (let tries = 0; tries < 600; tries += 1) {
    const answer = await ask();
    if (answer !== undefined) return answer;
    await pause(100);
  }
  throw new Error(`${what}: nothing within a minute`);
}

/** An invoice in the words of the Connector, which waits until it is sent. */
export function staged() {
  const externalId = randomUUID();
  return {
    customerRef: SELLER,
    externalId,
    delivery: "stage" as const,
    number: externalId.slice(0, 13),
    dueDate: "2027-12-31",
    recipient: { country: "SK", name: "Buyer", taxId: setting("RECIPIENT_DIC") },
    lines: [{ description: "Paper", quantity: 3, unitPrice: "23.90", vatRate: 23 }],
  };
}

const textOf = (xml: string, element: string): string => new RegExp(`<cbc:${element}>([^<]*)<`).exec(xml)?.[1] ?? "";

/** The invoice between the firms as UBL. */
export const UBL = setting("INVOICE_XML");
export const PARTICIPANTS = { sender: setting("SENDER_PARTICIPANT"), receiver: setting("RECEIVER_PARTICIPANT") };
export const SEND_BODY = {
  metadata: {
    documentId: textOf(UBL, "ID"),
    documentTypeId: setting("DOCUMENT_TYPE"),
    processId: textOf(UBL, "ProfileID"),
    senderParticipantId: PARTICIPANTS.sender,
    receiverParticipantId: PARTICIPANTS.receiver,
  },
  payload: UBL,
  payloadFormat: "XML" as const,
};

/** States of the Connector and of the Enterprise interface from which nothing more comes by itself. */
export const isOver = (state: string): boolean => !["queued", "sending", "sent"].includes(state);
