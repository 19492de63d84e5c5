/**
 * Another SMP as the registry: the REST interface that phoss SMP and others serve, with Basic authentication. A service
 * group is put, then the metadata of each document type; participants move by its migration paths.
 * @source Peppol SMP 1.4.0 (ServiceGroup, ServiceMetadata); phoss SMP, REST API
 */
import { childElements, parseXml, textOf, XML_TREE_LIMITS } from "../../../validators/xml/tree.js";
import type { XmlElement, XmlTreeLimits } from "../../../validators/xml/tree.js";
import { PARTICIPANT_SCHEME, participantKey } from "../../base/ids.js";
import type { ParticipantId } from "../../base/ids.js";
import { LIMITS } from "../../base/limits.js";
import type { Log } from "../../base/log.js";
import { pathSegment, serviceGroupXml, unsignedServiceMetadataXml } from "../discovery/smp-document.js";
import { DOCUMENT_TYPE_SCHEME } from "../envelope/identifiers.js";
import type { Http, HttpResult } from "../network/http.js";
import type { WhiteLabelCapability, WhiteLabelOutcome, WhiteLabelRegistry } from "./registry.js";

/** What the registry needs to know of us. */
interface SmpRestPorts {
  /** Base address without user, and without a slash at its end. */
  readonly url: string;
  readonly user: string;
  readonly password: string;
  readonly http: Http;
  readonly log: Pick<Log, "error">;
  readonly capabilities: readonly WhiteLabelCapability[];
  /** Our access point, as its metadata name it. */
  readonly endpoint: () => {
    readonly url: string;
    readonly certificate: Uint8Array;
    readonly notBefore: number;
    readonly notAfter: number;
    readonly contact: string;
  };
}

/**
 * How a request ended, before anybody asks what it was for. `closed`: the server does not let us in, or its operator
 * has switched off what we ask for; nothing was done, and no client can mend it.
 */
type Said = "ok" | "missing" | "conflict" | "refused" | "closed" | "unavailable" | "unknown";

const STATUSES: Readonly<Record<number, Said>> = {
  200: "ok",
  201: "ok",
  204: "ok",
  400: "refused",
  401: "closed",
  403: "closed",
  404: "missing",
  409: "conflict",
  // phoss SMP: writing is switched off, or there is no SML that a participant could be moved in.
  412: "closed",
  413: "refused",
  415: "refused",
  429: "unavailable",
};

/** A write that the server has failed at, or whose answer was lost, may have been done. */
const saidBy = (answer: HttpResult): Said => {
  if (answer.kind === "response") return STATUSES[answer.status] ?? "unknown";
  return answer.uploaded ? "unknown" : "unavailable";
};

const KINDS: Readonly<Record<Said, WhiteLabelOutcome["kind"]>> = {
  ok: "done",
  missing: "refused",
  conflict: "conflict",
  refused: "refused",
  closed: "unavailable",
  unavailable: "unavailable",
  unknown: "unknown",
};

const codeOf = (answer: HttpResult): string =>
  answer.kind === "response" ? `http_${answer.status}` : `${answer.fault}_${answer.code}`;

/** Makes the registry over the REST interface of an SMP. */
export function smpRestRegistry(ports: SmpRestPorts): WhiteLabelRegistry {
  const authorization = `Basic ${Buffer.from(`${ports.user}:${ports.password}`).toString("base64")}`;
  const segmentOf = (id: ParticipantId): string => pathSegment(PARTICIPANT_SCHEME, participantKey(id));
  const groupOf = (participant: ParticipantId): string => `${ports.url}/${segmentOf(participant)}`;

  const call = async (
    method: "GET" | "PUT",
    url: string,
    more: { readonly xml?: string; readonly headers?: Readonly<Record<string, string>> } = {},
  ): Promise<HttpResult> => {
    const answer = await ports.http({
      method,
      url,
      use: "registry",
      headers: {
        Accept: "application/xml, text/xml;q=0.9",
        ...(method === "GET" ? {} : { Authorization: authorization }),
        ...(more.xml === undefined ? {} : { "Content-Type": "application/xml; charset=utf-8" }),
        ...more.headers,
      },
      ...(more.xml === undefined ? {} : { body: Buffer.from(more.xml) }),
      bytes_max: LIMITS.smp_answer_bytes_max,
      timeout_ms: LIMITS.white_label_registry_ms,
    });
    if (saidBy(answer) === "closed") ports.log.error("whitelabel.closed", { code: codeOf(answer) });
    return answer;
  };

  /** Whether the SMP has the participant; reading changes nothing, so that no answer is no harm. */
  async function exists(participant: ParticipantId): Promise<"yes" | "no" | "unknown"> {
    const said = saidBy(await call("GET", groupOf(participant)));
    return said === "ok" ? "yes" : said === "missing" ? "no" : "unknown";
  }

  /** Puts what the participant takes. What is only half there when it fails must be looked at by a person. */
  async function publish(participant: ParticipantId): Promise<WhiteLabelOutcome> {
    const { url, certificate, notBefore, notAfter, contact } = ports.endpoint();
    const types = [...new Set(ports.capabilities.map(({ documentTypeId }) => documentTypeId))];
    for (const documentType of types) {
      const processes = ports.capabilities
        .filter(({ documentTypeId }) => documentTypeId === documentType)
        .map(({ processId }) => processId);
      const xml = unsignedServiceMetadataXml({
        participant: participantKey(participant),
        documentType,
        processes,
        url,
        certificate,
        activation: notBefore,
        expiration: notAfter,
        contact,
      });
      const answer = await call(
        "PUT",
        `${groupOf(participant)}/services/${pathSegment(DOCUMENT_TYPE_SCHEME, documentType)}`,
        { xml },
      );
      if (saidBy(answer) !== "ok") return { kind: "unknown", code: `metadata_${codeOf(answer)}` };
    }
    return { kind: "done", code: "published" };
  }

  const outcomeOf = (answer: HttpResult): WhiteLabelOutcome => {
    const said = saidBy(answer);
    return { kind: KINDS[said], code: codeOf(answer) };
  };

  /** Begins a migration; where one is in progress whose code was lost, that one is taken back first. */
  async function startMigration(participant: ParticipantId): Promise<HttpResult> {
    const path = segmentOf(participant);
    const start = (): Promise<HttpResult> => call("PUT", `${ports.url}/migration/outbound/start/${path}`);
    const answer = await start();
    if (saidBy(answer) !== "refused") return answer;
    const cancelled = await call("PUT", `${ports.url}/migration/outbound/cancel/${path}`);
    // Where there is nothing to take back, the first answer was about something else.
    return saidBy(cancelled) === "ok" ? start() : answer;
  }

  /** Takes a participant in that the SMP does not have, and puts what it takes. */
  async function takeIn(participant: ParticipantId, take: () => Promise<HttpResult>): Promise<WhiteLabelOutcome> {
    const there = await exists(participant);
    if (there === "yes") return { kind: "conflict", code: "exists" };
    if (there === "unknown") return { kind: "unavailable", code: "not_readable" };
    const taken = outcomeOf(await take());
    return taken.kind === "done" ? publish(participant) : taken;
  }

  return {
    // The token goes there, and the SML knows the code.
    verifies: () => true,
    register: (participant, verificationToken) =>
      takeIn(participant, () =>
        call("PUT", groupOf(participant), {
          xml: serviceGroupXml(participantKey(participant), [], ports.url),
          headers: { dic_verification_code: verificationToken },
        }),
      ),
    migrateIn: (participant, migrationCode) =>
      takeIn(participant, () =>
        call("PUT", `${ports.url}/migration/inbound/${segmentOf(participant)}/${encodeURIComponent(migrationCode)}`),
      ),
    migrateOut: async (participant) => {
      const answer = await startMigration(participant);
      const outcome = outcomeOf(answer);
      if (outcome.kind !== "done" || answer.kind !== "response") return outcome;
      const migrationCode = migrationKeyIn(answer.body);
      // The migration has begun, and the code that would end it is not known.
      return migrationCode === undefined
        ? { kind: "unknown", code: "no_migration_key" }
        : { ...outcome, migrationCode };
    },
    complete: async (participant) => (await publish(participant)).kind === "done",
    holderOf: async (participant) => {
      const there = await exists(participant);
      return there === "yes" ? "us" : there === "no" ? "nobody" : "unknown";
    },
  };
}

/** A code with a few elements around it: it is read by the event loop. */
const MIGRATION_ANSWER: XmlTreeLimits = { ...XML_TREE_LIMITS, bytes: 65_536, elements: 1_000, declarations: 100 };

/** Servers differ in what they call the document and where in it the key stands. */
function migrationKeyIn(body: Buffer): string | undefined {
  const tree = parseXml(body, MIGRATION_ANSWER);
  const key = tree.kind === "refused" ? undefined : elementNamed(tree.root, "migrationKey");
  const text = key === undefined ? undefined : textOf(key)?.trim();
  return text === undefined || text === "" || text.length > LIMITS.migration_code_chars_max ? undefined : text;
}

/** The first element of a name in any namespace, an element before what it holds. */
function elementNamed(element: XmlElement, local: string): XmlElement | undefined {
  if (element.local === local) return element;
  for (const child of childElements(element)) {
    const found = elementNamed(child, local);
    if (found !== undefined) return found;
  }
  return undefined;
}
