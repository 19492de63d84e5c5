/**
 * The actor of one tenant: what operators make of it takes turns, so that two who register one participant make one
 * firm. Its turns are short; between nodes the unique indexes decide.
 */
import { assignFirmOfSandbox } from "../engine/identity/firms.js";
import type { Assignment } from "../engine/identity/firms.js";
import { createKey } from "../engine/identity/keys.js";
import type { NewKey } from "../engine/identity/keys.js";
import { decideProductionBy } from "../engine/identity/operators/production.js";
import { makeFirm, makeIntegrator } from "../engine/identity/registration.js";
import type {
  MadeFirm,
  MadeIntegrator,
  NewTenantFirm,
  ParticipantFault,
  TenantPorts,
} from "../engine/identity/registration.js";
import { endCustomerBy } from "../engine/identity/white-label/customers.js";
import type { EndingCustomer } from "../engine/identity/white-label/customers.js";
import { participantKey } from "../engine/base/ids.js";
import type { ActorKind, ActorSystem } from "./system.js";

type NewIntegrator = { readonly name: string };
type Approval = Parameters<typeof decideProductionBy>[1];
type ApprovalOutcome = Awaited<ReturnType<typeof decideProductionBy>>;
type AssignmentOutcome = Awaited<ReturnType<typeof assignFirmOfSandbox>>;
type CustomerEnd = Awaited<ReturnType<typeof endCustomerBy>>;
type KeyOutcome = Awaited<ReturnType<typeof createKey>>;

type TenantProtocol = {
  readonly CreateFirm: { readonly ask: NewTenantFirm; readonly reply: MadeFirm | ParticipantFault };
  readonly CreateIntegrator: { readonly ask: NewIntegrator; readonly reply: MadeIntegrator };
  readonly DecideProduction: { readonly ask: Approval; readonly reply: ApprovalOutcome };
  readonly AssignFirm: { readonly ask: Assignment; readonly reply: AssignmentOutcome };
  readonly EndCustomer: { readonly ask: EndingCustomer; readonly reply: CustomerEnd };
  readonly CreateKey: { readonly ask: NewKey; readonly reply: KeyOutcome };
};

type TenantKind = ActorKind<TenantProtocol, null>;

/** Makes the kind of actor through which firms, integrators and their keys are made. */
export const tenantKind = (ports: TenantPorts): TenantKind => ({
  name: "tenant",
  idle_ms: 0,
  start: () => null,
  handlers: {
    CreateFirm: async (_, firm) => ({ reply: await makeFirm(ports, firm) }),
    CreateIntegrator: async (_, integrator) => ({ reply: await makeIntegrator(ports, integrator) }),
    DecideProduction: async (_, approval) => ({ reply: await decideProductionBy(ports, approval) }),
    AssignFirm: async (_, assignment) => ({ reply: await assignFirmOfSandbox(ports, assignment) }),
    EndCustomer: async (_, ending) => ({ reply: await endCustomerBy(ports, ending) }),
    CreateKey: async (_, key) => ({ reply: await createKey(ports, key) }),
  },
});

/** What operators can make. */
export interface Tenants {
  makeFirm(firm: NewTenantFirm): Promise<MadeFirm | ParticipantFault>;
  makeIntegrator(integrator: NewIntegrator): Promise<MadeIntegrator>;
  /** Approves an integrator for production, or takes that back, for a reason that is written down. */
  decideProduction(approval: Approval): Promise<ApprovalOutcome>;
  /** Gives a firm of the sandbox to an integrator, who may invite it from then on. */
  assignFirm(assignment: Assignment): Promise<AssignmentOutcome>;
  /** Ends a customer of White Label, for a reason that is written down. */
  endCustomer(ending: EndingCustomer): Promise<CustomerEnd>;
  /** @throws Refusal REQUEST_INVALID for a wrong allowlist */
  makeKey(key: NewKey): Promise<KeyOutcome>;
}

/**
 * The operators' operations, each in the turn of its tenant. A firm that does not exist yet takes turns under its
 * participant, a new integrator under its name, a customer of White Label under its id.
 */
export const tenantsThroughActors = (actors: ActorSystem, kind: TenantKind): Tenants => ({
  makeFirm: (firm) => actors.ask(kind, `participant/${participantKey(firm.participantId)}`, "CreateFirm", firm),
  makeIntegrator: (integrator) => actors.ask(kind, `name/${integrator.name}`, "CreateIntegrator", integrator),
  decideProduction: (approval) => actors.ask(kind, approval.id, "DecideProduction", approval),
  assignFirm: (assignment) => actors.ask(kind, assignment.integratorId, "AssignFirm", assignment),
  endCustomer: (ending) => actors.ask(kind, `customer/${ending.id}`, "EndCustomer", ending),
  makeKey: (key) =>
    actors.ask(kind, "firmId" in key.owner ? key.owner.firmId : key.owner.integratorId, "CreateKey", key),
});
