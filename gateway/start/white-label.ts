/** What White Label needs of the engine: the registry, the commands in turns, and the loop that carries them out. */
import { whiteLabelKind, whiteLabelThroughActors } from "../../actors/registry/white-label.js";
import type { Registrations } from "../../actors/registration.js";
import type { ActorSystem } from "../../actors/system.js";
import type { Actor } from "../../engine/identity/audit.js";
import type { Cursors } from "../../engine/base/cursors.js";
import { LIMITS } from "../../engine/base/limits.js";
import { migrationCodeOf, untilEnded } from "../../engine/identity/white-label/operations.js";
import type { WhiteLabelPorts, WhiteLabelWish } from "../../engine/identity/white-label/operations.js";
import {
  createCustomer,
  listWhiteLabel,
  readWhiteLabelCustomers,
  readWhiteLabelOperation,
  readWhiteLabelParticipant,
  readWhiteLabelParticipants,
  UNVOUCHED,
  whiteLabelView,
} from "../../engine/identity/white-label/reads.js";
import type { Vouching } from "../../engine/identity/white-label/vouching.js";
import { startWhiteLabelWorker } from "../../engine/identity/white-label/worker.js";
import type { AccessPoint } from "../../engine/peppol/access-point.js";
import { PARTICIPANT_CAPABILITIES } from "../../engine/peppol/discovery/capabilities.js";
import { newMigrationKey } from "../../engine/peppol/discovery/sml-registry.js";
import { createHttpClient } from "../../engine/peppol/network/http.js";
import { ownRegistry } from "../../engine/peppol/registry/own.js";
import type { WhiteLabelRegistry } from "../../engine/peppol/registry/registry.js";
import { smpRestRegistry } from "../../engine/peppol/registry/smp-rest.js";
import { findOwnParticipant } from "../../engine/storage/documents/received.js";
import type { Sealer } from "../../engine/storage/sealer.js";
import { orTemporary } from "../../engine/storage/sql.js";
import type { Sql } from "../../engine/storage/sql.js";
import { ConfigError } from "../../engine/base/config.js";
import type { IntegratorId } from "../../engine/base/ids.js";
import type { WhiteLabelState } from "../../engine/lifecycle/white-label.js";
import type { Base } from "./infrastructure.js";

interface Parts {
  readonly sql: Sql;
  readonly sealer: Sealer;
  readonly cursors: Cursors;
  readonly actors: ActorSystem;
  readonly registrations: Registrations | undefined;
  readonly accessPoint: Pick<AccessPoint, "keys"> | undefined;
  readonly publicUrl: string;
}

/** The registry that the configuration means. @throws ConfigError */
export function openWhiteLabelRegistry(
  { config, log, onStop }: Pick<Base, "config" | "log"> & { readonly onStop: (stop: () => void) => void },
  { sql, registrations, accessPoint, publicUrl }: Omit<Parts, "sealer" | "cursors" | "actors">,
): WhiteLabelRegistry {
  if (config.WHITE_LABEL_SMP === undefined)
    return ownRegistry({
      registrations,
      isProduction: config.ENVIRONMENT === "production",
      isOwn: async (key) => (await findOwnParticipant(sql, key)) !== undefined,
      newMigrationCode: newMigrationKey,
    });
  const url = URL.canParse(config.WHITE_LABEL_SMP) ? new URL(config.WHITE_LABEL_SMP) : undefined;
  if (url === undefined || url.username === "" || url.password === "")
    throw new ConfigError(["WHITE_LABEL_SMP must be https://USER:PASSWORD@HOST/PATH."]);
  if (accessPoint === undefined)
    throw new ConfigError(["WHITE_LABEL_SMP needs an access point, whose certificate its metadata name."]);
  const [user, password] = [decodeURIComponent(url.username), decodeURIComponent(url.password)];
  url.username = "";
  url.password = "";
  const client = createHttpClient({ policy: { allowLoopback: false, ownOrigins: [url.origin] } });
  onStop(() => {
    client.close();
  });
  return smpRestRegistry({
    url: url.href.replace(/\/+$/, ""),
    user,
    password,
    http: client.request,
    log,
    capabilities: PARTICIPANT_CAPABILITIES,
    endpoint: () => {
      const { certificate, notBefore, notAfter } = accessPoint.keys.ap();
      return { url: `${publicUrl}/as4`, certificate, notBefore, notAfter, contact: publicUrl };
    },
  });
}

/** Starts White Label for one process, and its loop. */
export function startWhiteLabel(base: Base, parts: Parts) {
  const { clock, log, config, stack } = base;
  const { sql, sealer, cursors, actors } = parts;
  const registry = openWhiteLabelRegistry(
    {
      config,
      log,
      onStop: (stop) => {
        stack.add("registry of White Label", stop);
      },
    },
    parts,
  );
  const ports: WhiteLabelPorts = { sql, clock, log, sealer, registry, environment: config.ENVIRONMENT };
  const commands = whiteLabelThroughActors(actors, whiteLabelKind(ports));
  const worker = startWhiteLabelWorker({ sql, clock, log, carryOut: commands.carryOut });
  stack.add("White Label", () => worker.stop());
  return {
    wish: async (wish: WhiteLabelWish, actor: Actor) => {
      const { id, isNew } = await commands.wish(wish, actor);
      worker.poke();
      const row = await untilEnded(ports, id);
      if (isNew && row.errorCode === UNVOUCHED) log.warn("whitelabel.unvouched");
      return { operation: whiteLabelView(row), isNew };
    },
    leave: async (leave: { readonly integratorId: IntegratorId; readonly participantId: string }, actor: Actor) => {
      const id = await commands.leave(leave, actor);
      worker.poke();
      const row = await untilEnded(ports, id);
      return { operation: whiteLabelView(row), migrationCode: migrationCodeOf(ports, row) };
    },
    operation: (integratorId: IntegratorId, id: string) => readWhiteLabelOperation({ sql }, integratorId, id),
    participant: (integratorId: IntegratorId, id: string) => readWhiteLabelParticipant({ sql }, integratorId, id),
    participants: (page: Parameters<typeof readWhiteLabelParticipants>[1]) =>
      readWhiteLabelParticipants({ sql, cursors }, page),
    createCustomer: (wish: Parameters<typeof createCustomer>[1]) => createCustomer({ sql, clock }, wish),
    customers: (page: Parameters<typeof readWhiteLabelCustomers>[1]) => readWhiteLabelCustomers({ sql, cursors }, page),
    /** Operations of everybody, for operators. */
    list: async (status: WhiteLabelState | undefined) =>
      (await orTemporary(listWhiteLabel(sql, status, LIMITS.operator_page_max))).map(whiteLabelView),
    vouch: async (vouching: Vouching) => {
      await commands.vouch(vouching);
      worker.poke();
      return whiteLabelView(await untilEnded(ports, vouching.id));
    },
    release: async (id: string) => whiteLabelView(await commands.release(id)),
  };
}

/** White Label as rows and operators use it. */
export type WhiteLabel = ReturnType<typeof startWhiteLabel>;
