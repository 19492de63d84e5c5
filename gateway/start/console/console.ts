/** The rows of the console, plugged into the running engine. Without an operators' token there is no console. */
import { operatorThroughActors } from "../../../actors/operators/operator.js";
import type { Lags } from "../../../engine/events/lags.js";
import { operatorActor } from "../../../engine/identity/operators/record.js";
import { createConsoleSessions } from "../../../engine/identity/operators/sessions.js";
import type { Route } from "../../contract/route.js";
import type { PipelinePorts } from "../../request/ports.js";
import { consoleDocumentRoutes } from "../../routes/console/documents.js";
import { consolePagesRoutes } from "../../routes/console/pages.js";
import { consoleOverviewRoutes } from "../../routes/console/overview.js";
import { consoleSignInRoutes } from "../../routes/console/sign-in.js";
import { createPresses } from "../../web/pages/presses.js";
import type { Base } from "../infrastructure.js";
import type { Work } from "../work/work.js";
import { consoleActions } from "./actions.js";
import { drawDocument, readDocumentSheet } from "./documents.js";
import { findForOperator } from "./find.js";
import { createHeartbeat } from "./heartbeat.js";
import { consoleLists, consoleSheets } from "./lists.js";

interface ConsoleOptions {
  /** The operators' token; undefined where they have none, and nobody signs in. */
  readonly adminToken: string | undefined;
  readonly isAdminToken: PipelinePorts["authenticateAdmin"];
  readonly lags: Lags;
}

/** Rows of the operators' listener. */
export function consoleRows(
  base: Base,
  parts: Work,
  { adminToken, isAdminToken, lags }: ConsoleOptions,
): readonly Route[] {
  const { clock, config, log } = base;
  const { sql, expiries } = parts;
  if (adminToken === undefined) return [];
  const heartbeat = createHeartbeat({ sql, clock, lags, expiries, environment: config.ENVIRONMENT });
  const sessions = createConsoleSessions({ sql, clock }, adminToken);
  const session = sessions.find;
  const seen = { ...parts, environment: config.ENVIRONMENT };
  const operators = operatorThroughActors(parts.actors, { sql, clock, keys: parts.identity });
  return [
    ...consoleSignInRoutes({
      isAdminToken,
      sessions,
      presses: createPresses(clock),
      signedIn: async (id, from) => {
        const entry = { targetType: "session", targetId: id, reason: null, refusal: null };
        await operators.note(operatorActor(id, from), { ...entry, event: "operator.signed_in" });
        log.info("console.signed_in", { host: from.address });
      },
      refused: (address) => {
        log.warn("console.sign_in_refused", { host: address });
      },
    }),
    ...consoleOverviewRoutes({ session, peek: sessions.peek, heartbeat }),
    ...consolePagesRoutes({
      session,
      lists: consoleLists(seen),
      sheets: consoleSheets(seen),
      find: (asked) => findForOperator(sql, asked),
    }),
    ...consoleDocumentRoutes({
      session,
      document: (id) => readDocumentSheet(parts, id),
      drawn: (id) => drawDocument(parts, id),
      unmasked: (actor, id, reason) =>
        operators.note(actor, {
          event: "operator.unmasked",
          targetType: "document",
          targetId: id,
          reason,
          refusal: null,
        }),
      act: consoleActions({ ...parts, operators }),
    }),
  ];
}
