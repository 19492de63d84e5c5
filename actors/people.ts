/**
 * The actor of one person at the door: whoever asks for codes of one address, tries codes in one browser or ends one
 * session takes turns. Its turns are short; between nodes the functions of Postgres decide.
 */
import type { CodeExchange, ExchangedKey, OAuth } from "../engine/identity/people/oauth.js";
import type { CodeRequest, Invitation, People } from "../engine/identity/people/people.js";
import { hiddenName } from "./names.js";
import type { ActorKind, ActorSystem } from "./system.js";

type FinishRequest = Parameters<People["finishSignIn"]>[0];

type PersonProtocol = {
  readonly StartSignIn: { readonly ask: CodeRequest; readonly reply: null };
  readonly FinishSignIn: { readonly ask: FinishRequest; readonly reply: Awaited<ReturnType<People["finishSignIn"]>> };
  readonly SignOut: { readonly ask: string; readonly reply: null };
  readonly Invite: { readonly ask: Invitation; readonly reply: boolean };
  readonly Dismiss: { readonly ask: Parameters<People["dismiss"]>; readonly reply: boolean };
};

type PersonKind = ActorKind<PersonProtocol, null>;

/** Makes the kind of actor through which people sign in and out and get their offices. */
const personKind = (people: People): PersonKind => ({
  name: "person",
  idle_ms: 0,
  start: () => null,
  handlers: {
    StartSignIn: async (_, request) => {
      await people.startSignIn(request);
      return { reply: null };
    },
    FinishSignIn: async (_, request) => ({ reply: await people.finishSignIn(request) }),
    SignOut: async (_, token) => {
      await people.signOut(token);
      return { reply: null };
    },
    Dismiss: async (_, asked) => ({ reply: await people.dismiss(...asked) }),
    Invite: async (_, invitation) => ({ reply: await people.invite(invitation) }),
  },
});

type AgreementProtocol = {
  readonly Agree: { readonly ask: Parameters<OAuth["agree"]>[0]; readonly reply: string | null };
  readonly Exchange: { readonly ask: CodeExchange; readonly reply: ExchangedKey };
};

/** Makes the kind of actor in whose turns agreements of OAuth are made and exchanged. */
const agreementKind = (oauth: OAuth): ActorKind<AgreementProtocol, null> => ({
  name: "agreement",
  idle_ms: 0,
  start: () => null,
  handlers: {
    Agree: async (_, agreement) => ({ reply: (await oauth.agree(agreement)) ?? null }),
    Exchange: async (_, request) => ({ reply: await oauth.exchange(request) }),
  },
});

/** Agreements of OAuth in the turn of their administrator, exchanges in the turn of their code. */
export const oauthThroughActors = (actors: ActorSystem, oauth: OAuth): OAuth => {
  const kind = agreementKind(oauth);
  return {
    ...oauth,
    agree: async (agreement) => (await actors.ask(kind, agreement.personId, "Agree", agreement)) ?? undefined,
    exchange: (request) => actors.ask(kind, hiddenName(request.code), "Exchange", request),
  };
};

/** The operations of people, each command in its turn; reads ask nobody. */
export const peopleThroughActors = (actors: ActorSystem, people: People): People => {
  const kind = personKind(people);
  return {
    ...people,
    startSignIn: async (request) => {
      await actors.ask(kind, hiddenName(request.email), "StartSignIn", request);
    },
    finishSignIn: (request) => actors.ask(kind, hiddenName(request.visit), "FinishSignIn", request),
    signOut: async (token) => {
      await actors.ask(kind, hiddenName(token), "SignOut", token);
    },
    dismiss: (...asked) => actors.ask(kind, hiddenName(asked[0]), "Dismiss", asked),
    invite: (invitation) => actors.ask(kind, hiddenName(invitation.email), "Invite", invitation),
  };
};
