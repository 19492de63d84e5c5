/** What a firm has agreed to, for its owner and admins. */
import type { FirmId } from "../../base/ids.js";
import { LIMITS } from "../../base/limits.js";
import { listFirmConsents } from "../../storage/identity/people/firm-consents.js";
import type { FirmConsent } from "../../storage/identity/people/firm-consents.js";
import { orTemporary } from "../../storage/sql.js";
import type { Sql } from "../../storage/sql.js";

/** One integrator and what it may do for the firm. */
export type { FirmConsent } from "../../storage/identity/people/firm-consents.js";

/** The consents of a firm, at most a page; those in force come first. @throws Refusal TEMPORARY */
export const readFirmConsents = (sql: Sql, firmId: FirmId): Promise<readonly FirmConsent[]> =>
  orTemporary(listFirmConsents(sql, firmId, LIMITS.operator_page_max));
