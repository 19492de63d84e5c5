/** The network as look-ups see it: through the SMP client, or, where there is no access point, our own participants. */
import { isoInstant } from "../base/clock.js";
import type { ParticipantId } from "../base/ids.js";
import { participantKey } from "../base/ids.js";
import { DOCUMENT_TYPE_SCHEME } from "../peppol/envelope/identifiers.js";
import { readCertificate } from "../peppol/pki/certificate.js";
import type { MayAsk } from "../peppol/discovery/remembering.js";
import type { RoutingStatus } from "../peppol/discovery/routing.js";
import type { SmpLookup, SmpQuestion } from "../peppol/discovery/smp.js";
import type { GroupResult } from "../peppol/discovery/smp-source.js";
import type { PublishedParticipant } from "../peppol/discovery/smp-server.js";

/** Where answers come from: SMPs of the network, our own participants, the operator's file of routes. */
export const LOOKUP_SOURCES = ["smp", "internal", "static"] as const;
/** Where an answer comes from. */
export type LookupSource = (typeof LOOKUP_SOURCES)[number];

/** The access point that takes documents for a participant. */
export interface FoundAccessPoint {
  readonly url: string;
  readonly transportProfile: string;
  /** Null when it cannot be read. */
  readonly certificate: { readonly subject: string; readonly validFrom: string; readonly validTo: string } | null;
}

/** What the network says of one document type of a participant. */
export interface NetworkAnswer {
  readonly status: RoutingStatus;
  /** Short, from closed sets; empty where there is nothing to explain. */
  readonly reason: string;
  /** Undefined unless the status is ready, and where documents do not travel over a network. */
  readonly accessPoint: FoundAccessPoint | undefined;
  /** The process in which it is taken; undefined unless the status is ready. */
  readonly process: string | undefined;
}

/** The network. Never throws, but where its answers come from our own database. */
export interface Network {
  readonly source: LookupSource;
  /** Qualified document types of a participant. */
  documentTypes(participant: ParticipantId, mayAsk: MayAsk): Promise<GroupResult>;
  /** Where documents of a type go. */
  endpoint(question: SmpQuestion, mayAsk: MayAsk): Promise<NetworkAnswer>;
}

/** The network through the engine's SMP client. */
export const networkOf = (lookup: Pick<SmpLookup, "lookup" | "documentTypes">, source: LookupSource): Network => ({
  source,
  documentTypes: (participant, mayAsk) => lookup.documentTypes(participant, { mayAsk }),
  endpoint: async (question, mayAsk) => {
    const answer = await lookup.lookup(question, { mayAsk });
    if (answer.status !== "ready")
      return { status: answer.status, reason: answer.reason, accessPoint: undefined, process: undefined };
    const { url, transportProfile, certificate, process } = answer.endpoint;
    const read = readCertificate(certificate);
    return {
      status: "ready",
      reason: "",
      process,
      accessPoint: {
        url,
        transportProfile,
        certificate:
          read === undefined
            ? null
            : {
                subject: read.x509.subject.replaceAll("\n", ", "),
                validFrom: isoInstant(read.notBefore),
                validTo: isoInstant(read.notAfter),
              },
      },
    };
  },
});

/** The network of an engine without an access point: its own participants, to whom documents are handed over. */
export function ownNetwork(find: (participantKey: string) => Promise<PublishedParticipant | undefined>): Network {
  const none = (status: RoutingStatus): NetworkAnswer => ({
    status,
    reason: "not_ours",
    accessPoint: undefined,
    process: undefined,
  });
  return {
    source: "internal",
    documentTypes: async (participant) => {
      const own = await find(participantKey(participant));
      if (own === undefined) return { kind: "no_participant" };
      const types = new Set(own.capabilities.map(({ documentTypeId }) => `${DOCUMENT_TYPE_SCHEME}::${documentTypeId}`));
      return { kind: "types", documentTypes: [...types] };
    },
    endpoint: async ({ participant, documentType, process }) => {
      const own = await find(participantKey(participant));
      if (own === undefined) return none("participant_not_found");
      const taken = own.capabilities.filter(({ documentTypeId }) => documentTypeId === documentType);
      if (taken.length === 0) return none("document_type_not_supported");
      const chosen = taken.find(({ processId }) => process === undefined || processId === process);
      return chosen === undefined
        ? none("process_not_supported")
        : { status: "ready", reason: "", accessPoint: undefined, process: chosen.processId };
    },
  };
}
