/** What a firm has agreed to, for its owner and admins. */
import type { FirmId, IntegratorId } from "../../base/ids.js";
import { LIMITS } from "../../base/limits.js";
import { findBinding } from "../../storage/identity/bindings.js";
import { listFirmConsents } from "../../storage/identity/people/firm-consents.js";
import type { FirmConsent } from "../../storage/identity/people/firm-consents.js";
import { orTemporary } from "../../storage/sql.js";
import type { Sql } from "../../storage/sql.js";

/** One integrator and what it may do for the firm. */
export type { FirmConsent } from "../../storage/identity/people/firm-consents.js";

/** The consents of a firm, at most a page; those in force come first. @throws Refusal TEMPORARY */
export const readFirmConsents = (sql: Sql, firmId: FirmId): Promise<readonly FirmConsent[]> =>
  orTemporary(listFirmConsents(sql, firmId, LIMITS.operator_page_max));

/** Whether a firm's consent to an integrator is in force. @throws Refusal TEMPORARY */
export const hasFirmConsent = async (sql: Sql, integratorId: IntegratorId, firmId: FirmId): Promise<boolean> =>
  (await orTemporary(findBinding(sql, integratorId, firmId)))?.state === "active";
