/**
 * Look-ups from a file of the operator: for networks without an SML, for tests against one peer, for a private
 * exchange. The file's addresses are the operator's own words: any port and any network. Its certificates are checked
 * like all others.
 */
import { readFile } from "node:fs/promises";
import { z } from "zod";

import type { Clock } from "../../base/clock.js";
import { ConfigError } from "../../base/config.js";
import { parseParticipantId, participantKey } from "../../base/ids.js";
import { LIMITS } from "../../base/limits.js";
import { firstChars } from "../../base/text.js";
import {
  canonicalDocumentTypeId,
  canonicalProcessId,
  DOCUMENT_TYPE_SCHEME,
  PROCESS_SCHEME,
} from "../envelope/identifiers.js";
import type { Pki } from "../pki/pki.js";
import { judgeEndpoint } from "./smp.js";
import type { SmpLookup } from "./smp.js";
import { AS4_TRANSPORT_PROFILE } from "./smp-document.js";

const ROUTES = z.record(
  z.string(),
  z.strictObject({
    /** Where the access point takes messages. */
    url: z.url({ protocol: /^https?$/ }),
    /** PEM, or base64 of the DER. */
    certificate: z.string().min(1),
    documentTypes: z.array(z.string().min(1)).min(1),
    /** @default any */
    processes: z.array(z.string().min(1)).min(1).optional(),
  }),
);

/** One participant of the file. */
interface StaticRoute {
  readonly url: string;
  /** DER. */
  readonly certificate: Buffer;
  readonly documentTypes: ReadonlySet<string>;
  readonly processes: ReadonlySet<string> | undefined;
}

/**
 * Reads SMP_ROUTES.
 * @returns participant key → route
 * @throws ConfigError with the first mistakes
 */
export async function loadStaticRoutes(path: string): Promise<ReadonlyMap<string, StaticRoute>> {
  let text: string;
  try {
    text = await readFile(path, "utf8");
  } catch {
    throw new ConfigError(["SMP_ROUTES names a file that cannot be read."]);
  }
  return parseStaticRoutes(text);
}

/** @throws ConfigError with the first mistakes */
export function parseStaticRoutes(text: string): ReadonlyMap<string, StaticRoute> {
  let json: unknown;
  try {
    json = text.length > LIMITS.smp_routes_bytes_max ? undefined : JSON.parse(text);
  } catch {
    json = undefined;
  }
  const parsed = ROUTES.safeParse(json);
  if (!parsed.success) {
    const places = parsed.error.issues.slice(0, 5).map(({ path }) => path.join(".") || "the whole");
    throw new ConfigError([
      `SMP_ROUTES must be a JSON object of participant to {url, certificate, documentTypes}; wrong: ${places.join(", ")}.`,
    ]);
  }
  const routes = new Map<string, StaticRoute>();
  for (const [name, { url, certificate, documentTypes, processes }] of Object.entries(parsed.data)) {
    const participant = parseParticipantId(name);
    if (participant === undefined)
      throw new ConfigError([`SMP_ROUTES: ${firstChars(name, 60)} is no participant id such as 0245:2020202020.`]);
    routes.set(participantKey(participant), {
      url,
      certificate: Buffer.from(certificate.replace(/-----[A-Z ]+-----|\s/g, ""), "base64"),
      documentTypes: new Set(documentTypes.map(canonicalDocumentTypeId)),
      processes: processes && new Set(processes.map(canonicalProcessId)),
    });
  }
  return routes;
}

/** Makes the look-up over the operator's routes. */
export function createStaticLookup({
  routes,
  pki,
  clock,
}: {
  readonly routes: ReadonlyMap<string, StaticRoute>;
  readonly pki: Pki;
  readonly clock: Clock;
}): SmpLookup {
  return {
    lookup: async ({
      participant,
      documentType,
      documentTypeScheme = DOCUMENT_TYPE_SCHEME,
      process,
      processScheme = PROCESS_SCHEME,
    }) => {
      const route = routes.get(participantKey(participant));
      if (route === undefined) return { status: "participant_not_found", reason: "not_in_file" };
      if (documentTypeScheme !== DOCUMENT_TYPE_SCHEME || !route.documentTypes.has(documentType))
        return { status: "document_type_not_supported", reason: "not_in_file" };
      if (process !== undefined && route.processes?.has(process) === false)
        return { status: "process_not_supported", reason: "not_in_file" };
      const judged = await judgeEndpoint(route, {
        pki,
        policy: { allowLoopback: true, ownOrigins: [new URL(route.url).origin] },
        now: clock.now(),
      });
      if ("status" in judged) return judged;
      const [anyProcess = ""] = route.processes ?? [];
      return {
        status: "ready",
        endpoint: { ...judged, process: process ?? anyProcess, processScheme, transportProfile: AS4_TRANSPORT_PROFILE },
      };
    },
    documentTypes: (participant) => {
      const route = routes.get(participantKey(participant));
      return Promise.resolve(
        route === undefined
          ? { kind: "no_participant" }
          : {
              kind: "types",
              documentTypes: [...route.documentTypes].map((type) => `${DOCUMENT_TYPE_SCHEME}::${type}`),
            },
      );
    },
    forget: () => undefined,
  };
}
