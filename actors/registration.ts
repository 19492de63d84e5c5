/**
 * The actor of one participant's registration in the network: operations on it take turns. A turn waits for the SML,
 * which answers in seconds or not at all, and nothing else of the participant waits behind it. Between nodes the claim
 * in Postgres decides.
 */
import { changeRegistration, checkRegistration, settleReview } from "../engine/peppol/discovery/registrations.js";
import type {
  NetworkRegistrationPorts,
  RegistrationRequest,
  RegistrationResult,
  SettledState,
} from "../engine/peppol/discovery/registrations.js";
import { participantKey } from "../engine/base/ids.js";
import type { ParticipantId } from "../engine/base/ids.js";
import type { ActorKind, ActorSystem } from "./system.js";

type RegistrationProtocol = {
  readonly ChangeRegistration: {
    readonly ask: { readonly participant: ParticipantId; readonly request: RegistrationRequest };
    readonly reply: RegistrationResult;
  };
  readonly CheckRegistration: { readonly ask: ParticipantId; readonly reply: RegistrationResult };
  readonly SettleReview: {
    readonly ask: { readonly participant: ParticipantId; readonly state: SettledState };
    readonly reply: RegistrationResult;
  };
};

type RegistrationKind = ActorKind<RegistrationProtocol, null>;

/** Makes the kind of actor through which a participant's registration in the network changes. */
export const registrationKind = (ports: NetworkRegistrationPorts): RegistrationKind => ({
  name: "registration",
  idle_ms: 0,
  start: () => null,
  handlers: {
    ChangeRegistration: async (_, { participant, request }) => ({
      reply: await changeRegistration(ports, participant, request),
    }),
    CheckRegistration: async (_, participant) => ({ reply: await checkRegistration(ports, participant) }),
    SettleReview: async (_, { participant, state }) => ({ reply: await settleReview(ports, participant, state) }),
  },
});

/** What operators can do with registrations. */
export interface Registrations {
  change(participant: ParticipantId, request: RegistrationRequest): Promise<RegistrationResult>;
  check(participant: ParticipantId): Promise<RegistrationResult>;
  settle(participant: ParticipantId, state: SettledState): Promise<RegistrationResult>;
}

/** The registrations as the engine uses them, each operation in the turn of its participant. */
export const registrationsThroughActors = (actors: ActorSystem, kind: RegistrationKind): Registrations => ({
  change: (participant, request) =>
    actors.ask(kind, participantKey(participant), "ChangeRegistration", { participant, request }),
  check: (participant) => actors.ask(kind, participantKey(participant), "CheckRegistration", participant),
  settle: (participant, state) => actors.ask(kind, participantKey(participant), "SettleReview", { participant, state }),
});
