/** Who may ask this node for what, and how often. */
import { createIdentity } from "../../../engine/identity/identity.js";
import type { Identity } from "../../../engine/identity/identity.js";
import { createPulse } from "../../../engine/identity/nodes/pulse.js";
import { LIMITS } from "../../../engine/base/limits.js";
import { every } from "../../../engine/base/waiting/every.js";
import type { Sealer } from "../../../engine/storage/sealer.js";
import { openSql } from "../../../engine/storage/sql.js";
import { nodeName } from "../data-dir.js";
import { createRateLimiter } from "../../request/rate-limit.js";
import type { RateLimiter } from "../../request/rate-limit.js";
import { VERSION } from "../console/version.js";
import type { Base, Database } from "../infrastructure.js";
import { leaseOwnerOf } from "./ground.js";
import type { WorkOptions } from "./network.js";

interface IdentityParts extends Pick<WorkOptions, "role" | "publicUrl"> {
  readonly database: Database;
  readonly sealer: Sealer;
}

/** Identity of this node, listening to what the others announce. */
export async function startIdentity(
  { config, clock, log, metrics, stack, dataDir }: Base,
  { database, sealer, publicUrl, role }: IdentityParts,
): Promise<Identity> {
  const issuance = config.FIRM_KEY_ISSUANCE;
  const loginSql = openSql({ url: database.url, name: "kurier-logins", connections: LIMITS.db_login_connections });
  stack.add("connections of logins", () => loginSql.end({ timeout: LIMITS.child_stop_timeout_ms / 1000 }));
  const identity = createIdentity({
    sql: database.sql,
    loginSql,
    databaseUrl: database.url,
    sealer,
    clock,
    log,
    metrics,
    environment: config.ENVIRONMENT,
    publicUrl,
    facts: createPulse({ metrics, clock }, { name: leaseOwnerOf(await nodeName(dataDir)), version: VERSION, role }),
    ...(issuance === undefined ? {} : { firmKeyIssuance: issuance === "enabled" }),
  });
  await identity.start();
  stack.add("keys and tokens", () => identity.stop());
  return identity;
}

/** The rates of this node and its share of those of all. */
export function startLimiter({ clock, stack }: Base, identity: Identity): RateLimiter {
  const limiter = createRateLimiter({ clock, peers: identity.peers });
  const stopSweeps = every(LIMITS.rate_window_ms, () => {
    limiter.sweep();
  });
  stack.add("rates", stopSweeps);
  return limiter;
}
