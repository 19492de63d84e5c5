/** The pages of the console about firms, integrators and their keys. No secret is read for any of them. */
import { LIMITS } from "../../../engine/base/limits.js";
import { parseParticipantId, parseUuid } from "../../../engine/base/ids.js";
import { SCOPES } from "../../../engine/base/scopes.js";
import { listFirmsByName, listFirmsByNumber } from "../../../engine/storage/operators/firms.js";
import { findIntegratorSheet, listIntegratorSheets } from "../../../engine/storage/operators/integrators.js";
import type { IntegratorSheet } from "../../../engine/storage/operators/integrators.js";
import { findKeySheet, listCentralKeys, listFirmKeys, listScopedKeys } from "../../../engine/storage/operators/keys.js";
import type { KeySheet } from "../../../engine/storage/operators/keys.js";
import { findFirmSheet, listFirmsOf } from "../../../engine/storage/operators/tenants.js";
import { orTemporary } from "../../../engine/storage/sql.js";
import type { Sql } from "../../../engine/storage/sql.js";
import type { Cell, Section, Sheet, SheetAction } from "../../web/console/sections.js";
import { dateText, tableOf, textCell } from "../../web/console/cells.js";

interface Ports {
  readonly sql: Sql;
  readonly environment: "sandbox" | "production";
}

/** What is asked of a list: what it is narrowed down to, and behind which thing it goes on. */
export interface ListAsked {
  readonly text: string;
  readonly after: string | undefined;
}

/** A page of a list: one row more is read than is shown, which tells whether there is a next page. */
function pageOf<Row extends { readonly id: string }>(rows: readonly Row[], toPage: (after: string) => string) {
  const shown = rows.filter((_, at) => at < LIMITS.console_page_max);
  const last = shown.at(-1);
  const hasMore = last !== undefined && rows.length > shown.length;
  return { shown, next: hasMore ? toPage(last.id) : undefined };
}
const LIMIT = LIMITS.console_page_max + 1;

/** Company, tax and VAT ids, as people type them. */
const NUMBER = /^(?:SK)?\d{8,12}$/i;

/** Whether a page is empty because nothing has the id that it should go on behind. */
const isBehindNothing = async (
  read: readonly unknown[],
  after: string | undefined,
  find: (id: string) => Promise<object | undefined>,
): Promise<boolean> => after !== undefined && read.length === 0 && (await orTemporary(find(after))) === undefined;

/** @returns undefined where `after` is no firm's id */
export async function firmsList({ sql }: Ports, { text, after }: ListAsked): Promise<Sheet | undefined> {
  const wanted = text.trim();
  const number = wanted.replace(/\s+/g, "").toLowerCase();
  const isNumber = NUMBER.test(number) || parseParticipantId(number) !== undefined;
  // What has a number is on one page.
  const behind = isNumber ? undefined : parseUuid(after ?? "");
  const read = await orTemporary(
    isNumber ? listFirmsByNumber(sql, number) : listFirmsByName(sql, { begin: wanted, after: behind, limit: LIMIT }),
  );
  if (await isBehindNothing(read, behind, (id) => findFirmSheet(sql, id))) return undefined;
  const { shown, next } = pageOf(
    read,
    (last) =>
      `/console/firms?${new URLSearchParams({ ...(wanted === "" ? {} : { q: wanted }), after: last }).toString()}`,
  );
  return {
    title: "Firms",
    at: "/console/firms",
    search: { label: "Begin of a name, IČO, DIČ, IČ DPH or participant", action: "/console/firms", value: wanted },
    sections: [
      tableOf(
        "firms",
        wanted === "" ? "By name" : "Found",
        ["Firm", "Participants", "IČO", "DIČ", "Since"],
        shown.map((firm) => [
          textCell(firm.name, `/console/firms/${firm.id}`),
          textCell(firm.participants.join(", ")),
          textCell(firm.ico),
          textCell(firm.dic),
          textCell(dateText(firm.createdAt)),
        ]),
      ),
    ],
    next,
    actions: [],
  };
}

/** Counts end at a bound, and say so. */
const countText = (count: number): string =>
  count === LIMITS.console_counted_max ? `${count} or more` : String(count);
const countCell = (count: number): Cell => ({ text: countText(count), isNumber: true });

/** Whether an integrator may act, in words; a sandbox asks nobody. */
const approvalCell = ({ isApproved, since }: IntegratorSheet, { environment }: Ports): Cell => ({
  text: `${isApproved ? "approved" : "not approved"} since ${dateText(since)}${
    environment === "sandbox" ? "; the sandbox asks for none" : ""
  }`,
  tone: isApproved || environment === "sandbox" ? "well" : "late",
});

/** @returns undefined where `after` is no integrator's id */
export async function integratorsList(ports: Ports, { after }: ListAsked): Promise<Sheet | undefined> {
  const behind = parseUuid(after ?? "");
  const read = await orTemporary(listIntegratorSheets(ports.sql, { after: behind, limit: LIMIT }));
  if (await isBehindNothing(read, behind, (id) => findIntegratorSheet(ports.sql, id))) return undefined;
  const { shown, next } = pageOf(read, (last) => `/console/integrators?after=${last}`);
  return {
    title: "Integrators",
    at: "/console/integrators",
    sections: [
      tableOf(
        "integrators",
        "By name",
        ["Integrator", "Environment", "Approval", "Firms", "Active keys", "Last use"],
        shown.map((one) => [
          textCell(one.name, `/console/integrators/${one.id}`),
          textCell(ports.environment),
          approvalCell(one, ports),
          countCell(one.firms),
          countCell(one.keys),
          textCell(one.lastUsedAt === null ? "never" : dateText(one.lastUsedAt)),
        ]),
      ),
    ],
    next,
    actions: [],
  };
}

const KEY_COLUMNS = ["Key", "Name", "For", "Scopes", "Environment", "Since", "Last used", "Expires", "State"];

const scopesText = (scopes: readonly string[]): string =>
  SCOPES.every((scope) => scopes.includes(scope)) ? "all" : scopes.join(", ");

/** For whom a key acts. */
const forText = ({ firmId, scopedFirmId, firm, integrator }: KeySheet): string =>
  firmId !== null ? "its firm" : scopedFirmId !== null ? `${integrator ?? ""} for ${firm ?? ""}` : "all of its firms";

const stateCell = ({ active, endedAt }: KeySheet): Cell => textCell(active ? "active" : `ended ${dateText(endedAt)}`);

const keyRow = (key: KeySheet, { environment }: Ports): readonly Cell[] => [
  textCell(key.prefix, `/console/keys/${key.id}`),
  textCell(key.name),
  textCell(forText(key)),
  textCell(scopesText(key.scopes)),
  textCell(environment),
  textCell(dateText(key.createdAt)),
  textCell(key.lastUsedAt === null ? "never" : dateText(key.lastUsedAt)),
  textCell(key.active ? "never" : ""),
  stateCell(key),
];

const keysTable = (ports: Ports, title: string, keys: readonly KeySheet[]): Section =>
  tableOf(
    title.toLowerCase().replace(/[^a-z]+/g, "-"),
    title,
    KEY_COLUMNS,
    keys.map((key) => keyRow(key, ports)),
  );

const endOf = ({ id, prefix }: KeySheet): SheetAction => ({
  path: "actions/end-key",
  id,
  words: `end the key ${prefix}`,
});
const endsOf = (keys: readonly KeySheet[]): readonly SheetAction[] => keys.filter(({ active }) => active).map(endOf);

export async function firmSheet(ports: Ports, id: string): Promise<Sheet | undefined> {
  const { sql } = ports;
  const [firm, keys] = await orTemporary(Promise.all([findFirmSheet(sql, id), listFirmKeys(sql, id)]));
  if (firm === undefined) return undefined;
  const active = firm.bindings.filter(({ state }) => state === "active" || state === "pending");
  return {
    title: firm.name,
    at: "/console/firms",
    facts: [
      ["Firm", id],
      ["Participants", firm.participants.join(", ")],
      ["Since", dateText(firm.createdAt)],
    ],
    sections: [
      keysTable(ports, "Keys", keys),
      tableOf(
        "bindings",
        "Integrators that act for it",
        ["Integrator", "State", "Customer"],
        firm.bindings.map((one) => [
          textCell(one.integrator, `/console/integrators/${one.integratorId}`),
          textCell(one.state),
          textCell(one.customerRef),
        ]),
      ),
    ],
    actions: [
      ...endsOf(keys),
      ...active.map((one) => ({
        path: "actions/withdraw-consent",
        id: `${one.integratorId}/${id}`,
        words: `withdraw the consent to ${one.integrator}`,
      })),
    ],
  };
}

/** Finds a key that an integrator has for a single firm. */
const scopedKeyOf =
  (sql: Sql, integratorId: string) =>
  async (id: string): Promise<KeySheet | undefined> => {
    const key = await findKeySheet(sql, id);
    return key?.integratorId === integratorId && key.scopedFirmId !== null ? key : undefined;
  };

/** @returns undefined where there is no such integrator, or where `after` is none of its keys for single firms */
export async function integratorSheet(ports: Ports, id: string, after?: string): Promise<Sheet | undefined> {
  const { sql } = ports;
  const behind = parseUuid(after ?? "");
  const [integrator, central, read, firms] = await orTemporary(
    Promise.all([
      findIntegratorSheet(sql, id),
      listCentralKeys(sql, id),
      listScopedKeys(sql, { integratorId: id, after: behind, limit: LIMIT }),
      listFirmsOf(sql, id),
    ]),
  );
  if (integrator === undefined || (await isBehindNothing(read, behind, scopedKeyOf(sql, id)))) return undefined;
  const { shown: scoped, next } = pageOf(read, (last) => `/console/integrators/${id}?after=${last}`);
  return {
    title: integrator.name,
    at: "/console/integrators",
    facts: [
      ["Integrator", id],
      ["Environment", ports.environment],
      ["Approval for production", approvalCell(integrator, ports).text],
      ["Firms", countText(integrator.firms)],
      ["Active keys", countText(integrator.keys)],
      ["Last use of a key", integrator.lastUsedAt === null ? "never" : dateText(integrator.lastUsedAt)],
      ["Since", dateText(integrator.createdAt)],
    ],
    sections: [
      keysTable(ports, "Central keys", central),
      tableOf(
        "firms",
        firms.length < LIMITS.console_page_max ? "Firms" : `Firms, the first ${LIMITS.console_page_max}`,
        ["Firm", "State", "Customer"],
        firms.map((firm) => [
          textCell(firm.name, `/console/firms/${firm.id}`),
          textCell(firm.state),
          textCell(firm.customerRef),
        ]),
      ),
      keysTable(ports, "Keys for one firm", scoped),
    ],
    next,
    actions: [
      integrator.isApproved
        ? { path: "actions/withdraw-integrator", id, words: "take the approval for production back" }
        : { path: "actions/approve-integrator", id, words: "approve this integrator for production" },
      ...endsOf(central),
    ],
  };
}

export async function keySheet({ sql, environment }: Ports, id: string): Promise<Sheet | undefined> {
  const key = await orTemporary(findKeySheet(sql, id));
  if (key === undefined) return undefined;
  return {
    title: `Key ${key.prefix}`,
    at: key.firmId === null ? "/console/integrators" : "/console/firms",
    facts: [
      ["Key", id],
      ["Name", key.name ?? "none"],
      ["For", forText(key)],
      ["Environment", environment],
      ["Scopes", scopesText(key.scopes)],
      ["Addresses", key.ipAllowlist.length === 0 ? "any" : key.ipAllowlist.join(", ")],
      ["Since", dateText(key.createdAt)],
      ["Last used", key.lastUsedAt === null ? "never" : dateText(key.lastUsedAt)],
      ["Expires", key.active ? "never; it serves until somebody ends it" : "it has ended"],
      ["State", stateCell(key).text],
    ],
    sections: [
      tableOf(
        "owners",
        "Whose it is",
        ["What", "Name"],
        [
          ...(key.integratorId === null
            ? []
            : [[textCell("integrator"), textCell(key.integrator, `/console/integrators/${key.integratorId}`)]]),
          ...[key.firmId ?? key.scopedFirmId].flatMap((firm) =>
            firm === null ? [] : [[textCell("firm"), textCell(key.firm, `/console/firms/${firm}`)]],
          ),
        ],
      ),
    ],
    actions: key.active ? [endOf(key)] : [],
  };
}
