/** What stands of a firm in its invoices, as an operator gives it. */
import { z } from "zod";

import { parseParticipantId } from "../base/ids.js";
import type { FirmId, ParticipantId } from "../base/ids.js";
import { updateFirm } from "../storage/identity/firms.js";
import type { Sql } from "../storage/sql.js";
import type { Clock } from "../base/clock.js";
import { OPERATOR, stampOf } from "./audit.js";
import { tenantName } from "./names.js";

/** A Slovak tax id that is none: the scheme has ten digits behind it. */
const NO_TAX_ID = /^0245:(?![0-9]{10}$)/;

/** Why a firm that an operator makes cannot have a participant; undefined for a participant that it can have. */
function whyNoParticipant(participant: ParticipantId | undefined): string | undefined {
  if (participant === undefined) return "must be <scheme>:<id>, for example 0245:2020202020";
  return NO_TAX_ID.test(participant) ? "must have the ten digits of a tax id behind 0245:" : undefined;
}

/** The participant of a firm that an operator makes. */
export const firmParticipant = z.string().transform((text, context): ParticipantId => {
  const participant = parseParticipantId(text);
  const fault = whyNoParticipant(participant);
  if (fault !== undefined) context.addIssue({ code: "custom", message: fault });
  return participant ?? z.NEVER;
});

/** The members; each may be missing. A firm without a VAT id is no payer, and charges no tax. */
export const FIRM_FACTS = {
  ico: z
    .string()
    .regex(/^\d{8}$/u, "must be 8 digits")
    .optional(),
  icDph: z
    .string()
    .regex(/^[A-Z]{2}[0-9A-Z]{2,13}$/u, "must be a VAT id with its country, as SK2020202020")
    .optional(),
  street: tenantName.optional(),
  city: tenantName.optional(),
  zip: tenantName.optional(),
};
/** Reads the facts of a firm and nothing else. */
export const firmFacts = z.strictObject(FIRM_FACTS);
/** The facts that were given. */
export type FirmFacts = z.output<typeof firmFacts>;

/** The columns of a firm that its facts fill; its address has the members that were given. */
export function columnsOf({ ico, icDph, street, city, zip }: FirmFacts) {
  const address: Record<string, string> = {};
  for (const [member, value] of Object.entries({ street, city, zip })) if (value !== undefined) address[member] = value;
  return {
    ...(ico === undefined ? {} : { ico }),
    ...(icDph === undefined ? {} : { icDph }),
    ...(Object.keys(address).length === 0 ? {} : { address }),
  };
}

/**
 * Changes a firm; what is not given stays as it is.
 * @returns false when there is no such firm
 */
export async function changeFirm(
  { sql, clock }: { readonly sql: Sql; readonly clock: Clock },
  firmId: FirmId,
  { name, ...given }: FirmFacts & { readonly name?: string | undefined },
): Promise<boolean> {
  return updateFirm(sql, { id: firmId, name, ...columnsOf(given) }, stampOf(OPERATOR, clock));
}
