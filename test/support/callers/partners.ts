/** Integrators, firms and their tokens on a running engine, and calls in their names. */
import { systemClock } from "../../../engine/base/clock.js";
import type { FirmId, IntegratorId, ParticipantId } from "../../../engine/base/ids.js";
import { SCOPES } from "../../../engine/base/scopes.js";
import type { Scope } from "../../../engine/base/scopes.js";
import { OPERATOR } from "../../../engine/identity/audit.js";
import type { Actor } from "../../../engine/identity/audit.js";
import {
  bindFirm,
  createFirm,
  createIntegrator,
  registerParticipant,
  revokeConsent,
} from "../../../engine/identity/firms.js";
import { nodesKnow } from "../../../engine/identity/nodes/hearing.js";
import { createKey } from "../../../engine/identity/keys.js";
import type { CreatedKey, KeyOwner } from "../../../engine/identity/keys.js";
import { acceptConsentOffer, declineConsentOffer } from "../../../engine/identity/partners/consents.js";
import type { ConsentOutcome } from "../../../engine/identity/partners/consents.js";
import { FIRM_KEY_SCOPES } from "../../../engine/identity/scopes.js";
import { accessToken, http } from "../engines/engine.js";
import type { HttpAnswer, TestEngine } from "../engines/engine.js";

type Engine = Pick<TestEngine, "db" | "sandbox">;

export interface TestKey extends CreatedKey {
  readonly token: string;
}

export interface Partner {
  readonly integratorId: IntegratorId;
  readonly key: TestKey;
}

export interface Client {
  readonly firmId: FirmId;
  readonly ico: string;
  readonly dic: string;
  readonly participantId: ParticipantId;
}

/** A key with a token of its own. */
export async function newKey(t: Engine, owner: KeyOwner, scopes: readonly Scope[] = SCOPES): Promise<TestKey> {
  const ports = { sql: t.db.sql, clock: systemClock, environment: "sandbox" } as const;
  const key = await createKey(ports, { owner, scopes, name: "Test key" });
  if (typeof key === "string") throw new Error(`no key: ${key}`);
  return { ...key, token: await tokenOf(t, key) };
}

export const tokenOf = (t: Pick<Engine, "sandbox">, key: CreatedKey, scope?: string): Promise<string> =>
  accessToken(t.sandbox, { clientId: key.id, clientSecret: key.secret }, scope);

/** An integrator with a central key. */
export async function newPartner(t: Engine, scopes: readonly Scope[] = SCOPES): Promise<Partner> {
  const ports = { sql: t.db.sql, clock: systemClock };
  const integratorId = await createIntegrator(ports, { name: "Účtovníctvo Plus", productionAuthorized: true });
  return { integratorId, key: await newKey(t, { integratorId }, scopes) };
}

let clients = 0;

/** A synthetic company that no other test has, with its participant. */
export async function newClient(t: Engine): Promise<Client> {
  clients += 1;
  const ports = { sql: t.db.sql, clock: systemClock };
  const [ico, dic] = [String(50_000_000 + clients), String(2_050_000_000 + clients)];
  const address = { street: "Hlavná 1", city: "Žilina", zip: "010 01" };
  const firmId = await createFirm(ports, {
    name: "Pekáreň s. r. o.",
    ico,
    dic,
    icDph: `SK${dic}`,
    address,
    sandbox: true,
  });
  const participantId = `0245:${dic}` as ParticipantId;
  await registerParticipant(ports, firmId, participantId);
  return { firmId, ico, dic, participantId };
}

/** A firm's own key. */
export const newFirmKey = (t: Engine, firmId: FirmId, scopes: readonly Scope[] = FIRM_KEY_SCOPES): Promise<TestKey> =>
  newKey(t, { firmId }, scopes);

/** Binds a client to a partner, active through every interface unless said otherwise. */
export const bindClient = (
  t: Engine,
  partner: Partner,
  client: Client,
  changes: Partial<Parameters<typeof bindFirm>[1]> = {},
): Promise<void> =>
  bindFirm(
    { sql: t.db.sql, clock: systemClock },
    {
      integratorId: partner.integratorId,
      firmId: client.firmId,
      scopes: SCOPES,
      interfaces: ["enterprise", "sapi", "connector"],
      ...changes,
    },
  );

/** Withdraws a client's consent, as an operator does. */
export async function withdraw(t: Engine, partner: Partner, client: Client): Promise<boolean> {
  const ports = { sql: t.db.sql, clock: systemClock };
  const isDone = await revokeConsent(ports, partner.integratorId, client.firmId, OPERATOR);
  await nodesKnow({ ...ports, databaseUrl: t.db.url });
  return isDone;
}

/** A person of a firm, as the pages know one who is signed in. */
const OWNER: Actor = {
  type: "user",
  id: "018f6a3e-0000-7000-8000-00000000aaaa",
  address: "192.0.2.9",
  userAgent: "Firefox",
};

/** Answers an offer as the owner of a firm does on the page behind its link. */
export const answerOffer = (
  t: Engine,
  offerId: string,
  firmId: FirmId,
  answer: "accept" | "decline" = "accept",
): Promise<ConsentOutcome> => {
  const ports = { sql: t.db.sql, clock: systemClock, environment: "sandbox", publicUrl: "http://127.0.0.1" } as const;
  const given = { offerId, firmId, personId: OWNER.id ?? "", actor: OWNER };
  return answer === "accept" ? acceptConsentOffer(ports, given) : declineConsentOffer(ports, given);
};

interface Call {
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

/** One call of the Enterprise interface with a token. */
export const api = (
  t: Pick<Engine, "sandbox">,
  token: string | undefined,
  line: string,
  { body, headers = {} }: Call = {},
): Promise<HttpAnswer> => {
  const [method = "GET", path = ""] = line.split(" ");
  return http(
    method,
    `${t.sandbox.baseUrl}${path}`,
    {
      ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
      ...(body === undefined ? {} : { "content-type": "application/json" }),
      ...headers,
    },
    body === undefined ? undefined : JSON.stringify(body),
  );
};

/** Status and code of a refusal, or the status alone. */
export const faultOf = ({ status, json }: HttpAnswer): readonly [number, unknown] => [
  status,
  (json["error"] as { readonly code?: unknown } | undefined)?.code,
];
