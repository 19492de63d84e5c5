/** What both programs send, and how they say what went wrong. */
import { randomUUID } from "node:crypto";

export function setting(name: string): string {
  const value = process.env[name];
  if (value === undefined) throw new Error(`set ${name}`);
  return value;
}

export const said = (error: unknown): string => JSON.stringify(error);

export function invoice() {
  const externalId = randomUUID();
  return {
    customerRef: setting("CUSTOMER_REF"),
    externalId,
    delivery: "stage" as const,
    number: externalId.slice(0, 13),
    dueDate: "2027-12-31",
    recipient: { country: "SK", name: "Buyer", taxId: setting("RECIPIENT_DIC") },
    lines: [{ description: "Paper", quantity: 3, unitPrice: "23.90", vatRate: 23 }],
  };
}
