/** The directory of this engine's own firms: those that receive here. */
import { bratislavaDay } from "../base/clock.js";
import { LIMITS } from "../base/limits.js";
import { DOCUMENT_TYPE_SCHEME } from "../peppol/envelope/identifiers.js";
import { countDirectory, findInDirectory, searchDirectory } from "../storage/identity/directory.js";
import type { DirectoryRow } from "../storage/identity/directory.js";
import { orTemporary } from "../storage/sql.js";
import type { Sql } from "../storage/sql.js";
import type { Directory, DirectoryEntry } from "./directory.js";

/** Makes the directory over the engine's own tables. */
export const engineDirectory = (sql: Sql): Directory => ({
  source: "engine",
  search: async ({ q, country, page, pageSize }) => {
    // Every firm of this engine is Slovak.
    if (country !== undefined && country !== LIMITS.home_country) return { entries: [], total: 0 };
    const words = q.split(/\s+/).filter((word) => word !== "");
    const query = { words, limit: pageSize, offset: (page - 1) * pageSize };
    const [rows, total] = await orTemporary(Promise.all([searchDirectory(sql, query), countDirectory(sql, words)]));
    return { entries: rows.map(entryOf), total };
  },
  find: async (key) => {
    const row = await orTemporary(findInDirectory(sql, key));
    return row === undefined ? undefined : entryOf(row);
  },
});

function entryOf(row: DirectoryRow): DirectoryEntry {
  const said = (typeof row.address === "object" && row.address !== null ? row.address : {}) as Readonly<
    Record<string, unknown>
  >;
  const text = (...names: readonly string[]): string | null => {
    const value = names.map((name) => said[name]).find((one) => typeof one === "string");
    return value ?? null;
  };
  return {
    participantId: row.participant,
    name: row.name,
    country: LIMITS.home_country,
    ico: row.ico,
    dic: row.dic,
    icDph: row.icDph,
    address: { street: text("street"), city: text("city"), zip: text("zip", "postalCode") },
    registeredOn: bratislavaDay(row.registeredAt.getTime()),
    documentTypes: row.documentTypes.map((type) => `${DOCUMENT_TYPE_SCHEME}::${type}`),
  };
}
