/** What a key and its firm read of themselves. @source spec/shapes.md, section 4 */
import { isoInstant, isoOrNull } from "../base/clock.js";
import type { Clock } from "../base/clock.js";
import { Refusal } from "../base/errors.js";
import type { FirmId, KeyId } from "../base/ids.js";
import { LIMITS } from "../base/limits.js";
import { billingMonthOf } from "../billing/months.js";
import { planState } from "../billing/plans.js";
import { findPlan } from "../storage/billing/plans.js";
import { findUsage } from "../storage/billing/usage.js";
import { findKey } from "../storage/identity/keys.js";
import { findFirm } from "../storage/identity/partner-firms.js";
import { orTemporary } from "../storage/sql.js";
import type { Sql } from "../storage/sql.js";
import type { Caller } from "./caller.js";

/** What reads of accounts need of the engine. */
interface AccountPorts {
  readonly sql: Sql;
  readonly clock: Clock;
}

/** The calling key. @source spec/rulings.md, section 4, GET /auth/status */
export interface KeyStatus {
  readonly key: {
    readonly id: KeyId;
    readonly name: string | null;
    readonly prefix: string;
    readonly permissions: string[];
    readonly active: boolean;
    readonly createdAt: string;
    readonly lastUsedAt: string | null;
  };
  readonly firm: { readonly id: FirmId; readonly peppolStatus: string } | null;
  readonly plan: { readonly name: string; readonly expiresAt: string | null; readonly active: boolean };
  readonly rateLimit: { readonly perMinute: number; readonly window: "60s" };
  readonly integrator: { readonly id: string } | null;
  readonly firm_id: FirmId | null;
  readonly key_type: "live" | "integrator";
  readonly scope: string;
}

/** An integrator's central key has no plan: its firms have. */
const NO_PLAN = { code: "standard", expiresAt: null } as const;
/** How an unlimited allowance is written. @source spec/rulings.md, section 9 */
const UNLIMITED = -1;

/** The calling key as it is now. @throws Refusal TOKEN_INVALID for a key that has just gone; TEMPORARY */
export async function readKeyStatus({ sql, clock }: AccountPorts, caller: Caller): Promise<KeyStatus> {
  const firmId = caller.firmId ?? caller.scopedFirmId;
  const [key, firm, row] = await orTemporary(
    Promise.all([
      findKey(sql, caller.keyId),
      firmId === undefined ? undefined : findFirm(sql, firmId),
      firmId === undefined ? NO_PLAN : findPlan(sql, firmId),
    ]),
  );
  if (key === undefined) throw new Refusal("TOKEN_INVALID");
  const { plan, expiresAt, active } = planState(row, clock.now());
  return {
    key: {
      id: key.id,
      name: key.name,
      prefix: key.prefix,
      permissions: [...key.scopes],
      active: key.active,
      createdAt: isoInstant(key.createdAt),
      lastUsedAt: isoOrNull(key.lastUsedAt),
    },
    firm: firm === undefined ? null : { id: firm.id, peppolStatus: firm.peppolStatus },
    plan: { name: plan.name, expiresAt: isoOrNull(expiresAt), active },
    rateLimit: { perMinute: LIMITS.rate_enterprise, window: "60s" },
    integrator: caller.integratorId === undefined ? null : { id: caller.integratorId },
    firm_id: firm?.id ?? null,
    key_type: caller.kind === "firm" ? "live" : "integrator",
    scope: [...caller.scopes].join(" "),
  };
}

/** The firm's account. @source spec/rulings.md, section 9; spec/shapes.md, section 4 */
export interface Account {
  readonly firm: {
    readonly name: string;
    readonly ico: string | null;
    readonly peppolId: string | null;
    readonly peppolStatus: string;
  };
  readonly plan: { readonly name: string; readonly status: "active" | "expired" };
  /** What is paid for in the current month in Europe/Bratislava. */
  readonly usage: { readonly outbound: number; readonly inbound: number; readonly ocr_extractions: number };
  /** -1 is unlimited. */
  readonly limits: { readonly documents_per_month: number; readonly ocr_per_month: number };
}

/**
 * The account of the caller's firm.
 * @throws Refusal NOT_FOUND for a key that is no firm's; TEMPORARY
 * @source spec/enterprise.md, GET /account
 */
export async function readAccount({ sql, clock }: AccountPorts, caller: Caller): Promise<Account> {
  const firmId = caller.firmId ?? caller.scopedFirmId;
  if (firmId === undefined) throw new Refusal("NOT_FOUND");
  const now = clock.now();
  const [firm, row, used] = await orTemporary(
    Promise.all([findFirm(sql, firmId), findPlan(sql, firmId), findUsage(sql, firmId, billingMonthOf(now).first)]),
  );
  if (firm === undefined) throw new Refusal("NOT_FOUND");
  const { plan, active } = planState(row, now);
  return {
    firm: { name: firm.name, ico: firm.ico, peppolId: firm.peppolId, peppolStatus: firm.peppolStatus },
    plan: { name: plan.name, status: active ? "active" : "expired" },
    usage: { outbound: used.outbound, inbound: used.inbound, ocr_extractions: 0 },
    limits: { documents_per_month: plan.outboundLimit ?? UNLIMITED, ocr_per_month: UNLIMITED },
  };
}
