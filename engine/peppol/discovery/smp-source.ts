/**
 * Fetches signed metadata, from an SMP that DNS names or from our own. It only delivers bytes: smp.ts judges whether
 * they can be believed.
 */
import { PARTICIPANT_SCHEME } from "../../base/ids.js";
import { LIMITS } from "../../base/limits.js";
import { DOCUMENT_TYPE_SCHEME } from "../envelope/identifiers.js";
import type { Http, HttpResult } from "../network/http.js";
import type { Sml } from "./sml.js";
import { pathSegment, readServiceGroup } from "./smp-document.js";
import type { SmpReader } from "./smp-document.js";
import type { SmpServer } from "./smp-server.js";

/** What is asked for. `participant` is the short form in lower case, `documentType` is without scheme. */
export interface MetadataKey {
  readonly participant: string;
  readonly documentType: string;
  readonly documentTypeScheme: string;
}

/** The signed metadata as they came, or why there are none. */
export type MetadataResult =
  /** `dnsName`: the name that led to it; evidence. */
  | { readonly kind: "document"; readonly bytes: Buffer; readonly url: string; readonly dnsName?: string }
  | { readonly kind: "no_participant"; readonly reason: string }
  | { readonly kind: "no_document" }
  | { readonly kind: "failed"; readonly reason: string };

/** The document types of a participant, or why they are not known. */
export type GroupResult =
  | { readonly kind: "types"; readonly documentTypes: readonly string[] }
  | { readonly kind: "no_participant" }
  | { readonly kind: "failed"; readonly reason: string };

/**
 * Fetches what an SMP publishes, and checks nothing of it. @throws JobQuarantined where an answer has killed workers,
 * JobFailed
 */
export interface MetadataSource {
  metadata(key: MetadataKey): Promise<MetadataResult>;
  /** The document that a redirect names. */
  redirected(href: string): Promise<MetadataResult>;
  /** Qualified document types of a participant. */
  group(participant: string): Promise<GroupResult>;
  forget(participant: string): void;
}

const ACCEPT = { Accept: "application/xml, text/xml;q=0.9" } as const;

interface NetworkOptions {
  readonly sml: Sml;
  readonly http: Http;
  readonly reader: SmpReader;
}

/** Makes the source for SMPs of the network, which are found by DNS and asked by HTTPS. */
export function createNetworkSource({ sml, http, reader }: NetworkOptions): MetadataSource {
  const get = (url: string): Promise<HttpResult> =>
    http({ method: "GET", url, use: "smp", headers: ACCEPT, bytes_max: LIMITS.smp_answer_bytes_max });

  async function groupAt(base: string, participant: string): Promise<GroupResult> {
    const answer = await get(`${base}/${pathSegment(PARTICIPANT_SCHEME, participant)}`);
    if (answer.kind === "response" && answer.status === 404) return { kind: "no_participant" };
    if (answer.kind === "failed" || answer.status !== 200) return { kind: "failed", reason: reasonOf(answer) };
    const documentTypes = await reader.group(answer.body, participant);
    return documentTypes === undefined
      ? { kind: "failed", reason: "malformed_group" }
      : { kind: "types", documentTypes };
  }

  const baseOf = async (
    participant: string,
  ): Promise<
    | { readonly base: string; readonly dnsName: string }
    | { readonly kind: "no_participant" | "failed"; readonly reason: string }
  > => {
    const location = await sml.locate(participant);
    if (location.kind === "unregistered") return { kind: "no_participant", reason: "NXDOMAIN" };
    if (location.kind === "failed") return { kind: "failed", reason: `dns_${location.code}` };
    return { base: location.url.replace(/\/+$/, ""), dnsName: location.name };
  };

  return {
    metadata: async ({ participant, documentType, documentTypeScheme }) => {
      const located = await baseOf(participant);
      if ("kind" in located) return located;
      const { base, dnsName } = located;
      const url = `${base}/${pathSegment(PARTICIPANT_SCHEME, participant)}/services/${pathSegment(documentTypeScheme, documentType)}`;
      const answer = await get(url);
      if (answer.kind === "response" && answer.status === 200)
        return { kind: "document", bytes: answer.body, url, dnsName };
      if (answer.kind === "failed" || answer.status !== 404) return { kind: "failed", reason: reasonOf(answer) };
      // Both an unknown participant and an unknown type are 404 here; the group tells them apart.
      const group = await groupAt(base, participant);
      if (group.kind === "types") return { kind: "no_document" };
      return group.kind === "no_participant" ? { kind: "no_participant", reason: "not_at_smp" } : group;
    },
    redirected: async (href) => {
      const answer = await get(href);
      if (answer.kind === "response" && answer.status === 200)
        return { kind: "document", bytes: answer.body, url: href };
      return answer.kind === "response" && answer.status === 404
        ? { kind: "no_document" }
        : { kind: "failed", reason: reasonOf(answer) };
    },
    group: async (participant) => {
      const located = await baseOf(participant);
      return "kind" in located ? { kind: located.kind, reason: located.reason } : groupAt(located.base, participant);
    },
    forget: (participant) => {
      sml.forget(participant);
    },
  };
}

const reasonOf = (answer: HttpResult): string =>
  answer.kind === "failed" ? `${answer.fault}_${answer.code}` : `http_${answer.status}`;

/** Makes the source for our own SMP: the same signed documents through the same reader, without a network. */
export function createEmbeddedSource(server: SmpServer): MetadataSource {
  return {
    metadata: async ({ participant, documentType, documentTypeScheme }) => {
      if (documentTypeScheme !== DOCUMENT_TYPE_SCHEME) return { kind: "no_document" };
      const answer = await server.metadata(participant, documentType);
      if (answer.kind === "document") return { kind: "document", bytes: answer.body, url: answer.url };
      return answer.kind === "no_participant" ? { kind: "no_participant", reason: "not_ours" } : answer;
    },
    redirected: () => Promise.resolve({ kind: "failed", reason: "redirect" }),
    group: async (participant) => {
      const answer = await server.group(participant);
      if (answer.kind !== "document") return answer.kind === "failed" ? answer : { kind: "no_participant" };
      return { kind: "types", documentTypes: readServiceGroup(answer.body, participant) ?? [] };
    },
    forget: () => undefined,
  };
}
