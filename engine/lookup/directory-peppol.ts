/**
 * The Peppol Directory through its REST interface: companies that have published a business card. It allows few
 * questions a second, so answers are remembered and only some are asked for at once.
 * @source Peppol Directory, REST API, search/1.0/json
 */
import { z } from "zod";

import { BoundedMap } from "../base/bounded.js";
import type { Clock, Instant } from "../base/clock.js";
import { temporary } from "../base/errors.js";
import {
  PARTICIPANT_SCHEME,
  parseParticipantId,
  participantKey,
  participantParts,
  qualifiedParticipant,
} from "../base/ids.js";
import { LIMITS } from "../base/limits.js";
import type { Log } from "../base/log.js";
import type { Http } from "../peppol/network/http.js";
import type { CompanyKey } from "../storage/identity/directory.js";
import type { Directory, DirectoryEntry, DirectoryPage } from "./directory.js";

const identifier = z.object({ scheme: z.string(), value: z.string() });
const ANSWER = z.object({
  "total-result-count": z.number().int().nonnegative(),
  matches: z.array(
    z.object({
      participantID: identifier,
      docTypes: z.array(identifier).optional(),
      entities: z
        .array(
          z.object({
            name: z.array(z.object({ name: z.string() })).optional(),
            countryCode: z.string().optional(),
            geoInfo: z.string().optional(),
            identifiers: z.array(identifier).optional(),
            regDate: z.string().optional(),
          }),
        )
        .optional(),
    }),
  ),
});
type Answer = z.output<typeof ANSWER>;

interface PeppolDirectoryPorts {
  /** Base of the interface, without a slash at its end: `https://directory.peppol.eu`. */
  readonly url: string;
  readonly http: Http;
  readonly clock: Pick<Clock, "monotonic">;
  readonly log: Log;
}

/** Makes the directory over the REST interface. */
export function peppolDirectory({ url, http, clock, log }: PeppolDirectoryPorts): Directory {
  const known = new BoundedMap<string, { readonly page: DirectoryPage; readonly until: Instant }>(
    LIMITS.directory_cache_entries,
  );
  let underWay = 0;

  async function ask(query: URLSearchParams): Promise<DirectoryPage> {
    const name = query.toString();
    const remembered = known.get(name);
    if (remembered !== undefined && remembered.until > clock.monotonic()) return remembered.page;
    if (underWay >= LIMITS.directory_at_once_max) throw temporary();
    underWay += 1;
    try {
      const answer = await http({
        method: "GET",
        url: `${url}/search/1.0/json?${name}`,
        use: "directory",
        headers: { Accept: "application/json" },
        bytes_max: LIMITS.directory_answer_bytes_max,
        timeout_ms: LIMITS.directory_answer_ms,
      });
      const page = answer.kind === "response" && answer.status === 200 ? pageIn(answer.body) : undefined;
      if (page === undefined) {
        const code = answer.kind === "failed" ? `${answer.fault}_${answer.code}` : `http_${answer.status}`;
        log.warn("directory.failed", { code });
        throw temporary();
      }
      return known.keep(name, { page, until: clock.monotonic() + LIMITS.directory_cache_ms }).page;
    } finally {
      underWay -= 1;
    }
  }

  return {
    source: "peppol_directory",
    search: ({ q, country, page, pageSize }) =>
      ask(
        new URLSearchParams({
          q,
          ...(country === undefined ? {} : { country }),
          resultPageIndex: String(page - 1),
          resultPageCount: String(pageSize),
        }),
      ),
    find: async (key) => {
      const { entries } = await ask(queryFor(key));
      return entries.find((entry) => isOf(entry, key));
    },
  };
}

/** A tax id names the participant itself; a company id may be anywhere on the card. */
const queryFor = ({ by, value }: CompanyKey): URLSearchParams => {
  if (by === "ico") return new URLSearchParams({ q: value, resultPageCount: String(LIMITS.directory_page_max) });
  const participant = by === "participant" ? value : `0245:${value.replace(/^SK/, "")}`;
  return new URLSearchParams({ participant: qualifiedParticipant(participant) });
};

/** A search finds words anywhere, so that the identifier itself is looked for once more. */
const isOf = (entry: DirectoryEntry, { by, value }: CompanyKey): boolean =>
  by === "participant"
    ? participantKey(entry.participantId) === participantKey(value)
    : entry[by] === value || (by === "icDph" && entry.dic === value.replace(/^SK/, ""));

function pageIn(body: Buffer): DirectoryPage | undefined {
  let json: unknown;
  try {
    json = JSON.parse(body.toString("utf8"));
  } catch {
    return undefined;
  }
  const read = ANSWER.safeParse(json);
  if (!read.success) return undefined;
  return { entries: read.data.matches.flatMap(entriesOf), total: read.data["total-result-count"] };
}

/** Schemes under which cards carry Slovak company ids and VAT ids. */
const ICO_SCHEMES: ReadonlySet<string> = new Set(["ico", "sk:ico", "0158", "ičo"]);
const VAT_SCHEMES: ReadonlySet<string> = new Set(["vat", "sk:vat", "9950", "ic dph", "ič dph"]);

function entriesOf({ participantID, docTypes = [], entities = [] }: Answer["matches"][number]): DirectoryEntry[] {
  const participantId =
    participantID.scheme === PARTICIPANT_SCHEME ? parseParticipantId(participantID.value) : undefined;
  if (participantId === undefined) return [];
  const { scheme, value } = participantParts(participantId);
  const [entity = {}] = entities;
  const identified = (schemes: ReadonlySet<string>): string | null =>
    entity.identifiers?.find((one) => schemes.has(one.scheme.toLowerCase()))?.value ?? null;
  return [
    {
      participantId,
      name: entity.name?.[0]?.name ?? participantId,
      country: entity.countryCode ?? null,
      ico: identified(ICO_SCHEMES),
      dic: scheme === "0245" ? value : null,
      icDph: identified(VAT_SCHEMES),
      address: { street: null, city: entity.geoInfo ?? null, zip: null },
      registeredOn: /^\d{4}-\d{2}-\d{2}$/.test(entity.regDate ?? "") ? (entity.regDate ?? null) : null,
      documentTypes: docTypes.map((type) => `${type.scheme}::${type.value}`),
    },
  ];
}
