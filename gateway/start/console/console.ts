/** The rows of the console, plugged into the running engine. Without an operators' token there is no console. */
import { createConsoleSessions } from "../../../engine/identity/operators/sessions.js";
import type { Route } from "../../contract/route.js";
import type { PipelinePorts } from "../../request/ports.js";
import { consoleOverviewRoutes } from "../../routes/console/overview.js";
import { consoleSignInRoutes } from "../../routes/console/sign-in.js";
import type { Base } from "../infrastructure.js";
import type { Work } from "../work.js";
import { createHeartbeat } from "./heartbeat.js";

interface ConsoleOptions {
  /** The operators' token; undefined where they have none, and nobody signs in. */
  readonly adminToken: string | undefined;
  readonly isAdminToken: PipelinePorts["authenticateAdmin"];
}

/** Rows of the operators' listener. */
export function consoleRows(base: Base, parts: Work, { adminToken, isAdminToken }: ConsoleOptions): readonly Route[] {
  const { clock, config, log } = base;
  const { sql, streams, expiries } = parts;
  if (adminToken === undefined) return [];
  const heartbeat = createHeartbeat({ sql, clock, streams, expiries, environment: config.ENVIRONMENT });
  const sessions = createConsoleSessions({ sql, clock }, adminToken);
  return [
    ...consoleSignInRoutes({
      isAdminToken,
      sessions,
      told: (event, address) => {
        if (event === "refused") log.warn("console.sign_in_refused", { host: address });
        else log.info("console.signed_in", { host: address });
      },
    }),
    ...consoleOverviewRoutes({ session: sessions.find, heartbeat }),
  ];
}
