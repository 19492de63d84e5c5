/** What operators see: gauges that are read at each scrape, and the rows of the admin listener. */
import { monitorEventLoopDelay } from "node:perf_hooks";

import type { Registrations } from "../../actors/registration.js";
import type { ParticipantFault } from "../../engine/identity/registration.js";
import { tenantKind, tenantsThroughActors } from "../../actors/tenant.js";
import { observeHeld } from "../../engine/documents/inbound/held.js";
import { observePendingMls } from "../../engine/documents/inbound/mls-duties.js";
import { Refusal } from "../../engine/base/errors.js";
import type { Sandbox } from "../../engine/identity/sandbox.js";
import type { ParticipantId } from "../../engine/base/ids.js";
import { errorFields } from "../../engine/base/log.js";
import type { Log } from "../../engine/base/log.js";
import type { Lags } from "../../engine/events/lags.js";
import { registersNewFirms } from "../../engine/peppol/discovery/registrations-setup.js";
import type { RegistrationResult } from "../../engine/peppol/discovery/registrations.js";
import { censusOfDocuments } from "../../engine/storage/documents/documents.js";
import {
  findOperatorDocument,
  findOperatorReceived,
  listFirms,
  listIntegrators,
  listOperatorDocuments,
  listOperatorReceived,
} from "../../engine/storage/documents/operations.js";
import { serverObserver } from "../../engine/storage/operators/figures.js";
import { listMasterKeys } from "../../engine/storage/keyring/keyring.js";
import { censusOfRegistrations } from "../../engine/storage/registrations.js";
import { orTemporary } from "../../engine/storage/sql.js";
import type { Route } from "../contract/route.js";
import { adminRoutes } from "../routes/admin.js";
import { adminOAuthRoutes } from "../routes/people/admin-oauth.js";
import { adminWhiteLabelRoutes } from "../routes/white-label/admin.js";
import { adminOnboardingRoutes } from "../routes/people/admin-onboarding.js";
import { adminPeopleRoutes } from "../routes/people/admin-people.js";
import { invitationOf } from "./letters.js";
import { operationsRoutes } from "../routes/operations.js";
import { sandboxAdminRoutes } from "../routes/sandbox-admin.js";
import { FATES } from "../../engine/sandbox/fates.js";
import { demoInvoice } from "./demo-invoice.js";
import type { Base } from "./infrastructure.js";
import type { Work } from "./work/work.js";
import { LIMITS } from "../../engine/base/limits.js";
import { changeFirm } from "../../engine/identity/firm-facts.js";

/** Sets the gauges anew whenever the metrics are read. */
export function observe({ metrics, clock, stack, log }: Base, { sql, actors, pool }: Work): void {
  const delay = monitorEventLoopDelay({ resolution: 10 });
  delay.enable();
  // Bounded by RESTART_REASONS.
  const restarts = new Map<string, number>();
  stack.add("measure of the event loop", () => {
    delay.disable();
  });
  const observeServer = serverObserver(sql, metrics);
  metrics.beforeExposition(async () => {
    metrics.set("event_loop_delay_seconds", {}, delay.percentile(99) / 1e9);
    delay.reset();
    for (const [kind, count] of actors.census()) metrics.set("actors_active", { kind }, count);
    for (const [lane, { queueDepth, busyThreads, threads }] of Object.entries(pool.stats().lanes)) {
      metrics.set("worker_queue_depth", { lane }, queueDepth);
      metrics.set("worker_pool_utilisation_ratio", { lane }, threads === 0 ? 0 : busyThreads / threads);
    }
    for (const [reason, count] of Object.entries(pool.stats().restarts)) {
      metrics.count("worker_restarts_total", { reason }, count - (restarts.get(reason) ?? 0));
      restarts.set(reason, count);
    }
  });
  // Apart from what needs nobody, which is not to wait for it.
  metrics.beforeExposition(async () => {
    try {
      const census = await censusOfDocuments(sql, clock.now());
      for (const [state, count] of census.states) metrics.set("documents_state", { state }, count);
      metrics.set("oldest_due_dispatch_seconds", {}, census.oldestDue_s);
      await observePendingMls({ sql, clock, metrics });
      await observeHeld({ sql, clock, metrics });
      for (const [state, count] of await censusOfRegistrations(sql))
        metrics.set("registrations_state", { state }, count);
      await observeServer();
    } catch (error) {
      // Without a database the gauges keep their last value; /readyz tells that it is away.
      log.warn("metrics.census_failed", errorFields(error));
      throw error;
    }
  });
}

/**
 * The firm and its secret are there whatever comes of it; who is not answered in time finds the outcome in the list of
 * registrations.
 */
const registerNewFirm = (
  registrations: Registrations,
  participantId: ParticipantId,
  log: Log,
): Promise<RegistrationResult> =>
  registrations.change(participantId, { operation: "register" }).catch((error: unknown) => {
    log.error("registrations.new_firm_failed", errorFields(error));
    return { kind: "busy", state: undefined, code: undefined };
  });

/** What an operator is told of a participant that cannot be a firm's. */
const PARTICIPANT_FAULTS: Readonly<Record<ParticipantFault, string>> = {
  participant_taken: "Belongs to another firm already.",
  participant_of_provider: "Scheme 0242 names service providers; give the firm an id of its own.",
};

interface AdminOptions {
  readonly sandbox: Sandbox | undefined;
  readonly isReady: () => Promise<boolean>;
  readonly lags: Lags;
}

/** The rows of the admin listener. */
export function adminRows(base: Base, parts: Work, { sandbox, isReady, lags }: AdminOptions): readonly Route[] {
  const { config, clock, metrics, log } = base;
  const { sql } = parts;
  const tenants = tenantsThroughActors(parts.actors, tenantKind({ sql, clock, environment: config.ENVIRONMENT }));
  return [
    ...operationsRoutes({ metrics, ready: isReady }),
    ...adminPeopleRoutes({
      members: (owner) => parts.people.members(owner),
      dismiss: (email, owner) => parts.people.dismiss(email, owner),
      invite: (order) => parts.people.invite(invitationOf(order, parts.pages.publicUrl)),
    }),
    ...adminOAuthRoutes(parts.oauth),
    ...adminOnboardingRoutes(parts.onboarding),
    ...adminWhiteLabelRoutes(parts.whiteLabel),
    ...(parts.peers === undefined ? [] : sandboxAdminRoutes({ fates: FATES, send: parts.peers.send })),
    ...adminRoutes({
      listFirms: () => orTemporary(listFirms(sql, LIMITS.operator_page_max)),
      createFirm: async (firm) => {
        const made = await orTemporary(tenants.makeFirm(firm));
        if (typeof made === "string")
          throw new Refusal("REQUEST_INVALID", [{ field: "participantId", message: PARTICIPANT_FAULTS[made] }]);
        if (parts.registrations === undefined || !registersNewFirms(config)) return made;
        return { ...made, registration: await registerNewFirm(parts.registrations, firm.participantId, log) };
      },
      changeFirm: (firmId, changes) => orTemporary(changeFirm({ sql, clock }, firmId, changes)),
      listIntegrators: () => orTemporary(listIntegrators(sql, LIMITS.operator_page_max)),
      createIntegrator: (integrator) => orTemporary(tenants.makeIntegrator(integrator)),
      listDocuments: (query) => orTemporary(listOperatorDocuments(sql, query)),
      findDocument: (id) => orTemporary(findOperatorDocument(sql, id)),
      listReceived: (query) => orTemporary(listOperatorReceived(sql, query)),
      findReceived: (id) => orTemporary(findOperatorReceived(sql, id)),
      releaseReceived: (id) => parts.release(id),
      streams: lags,
      masterKeys: () => orTemporary(listMasterKeys(sql)),
      masterKeyId: parts.masterKeyId,
      oldestDue_s: async () => (await orTemporary(censusOfDocuments(sql, clock.now()))).oldestDue_s,
      sampleInvoice: (lines) => (sandbox === undefined ? undefined : demoInvoice(clock, lines)),
    }),
  ];
}
