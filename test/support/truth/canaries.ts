/** Marked words that stand in documents and secrets and nowhere else, and the search for them in whatever was kept. */
import { readdirSync, readFileSync, statSync } from "node:fs";
import { join, relative } from "node:path";

import type { Sql } from "../../../engine/storage/sql.js";

/** Words that stand in documents and answers. */
export const WORDS = {
  number: "CANARY-NUMBER-4711",
  draft: "CANARY-DRAFT-4712",
  staged: "CANARY-STAGED-4713",
  order: "CANARY-ORDER-4714",
  buyer: "CANARY-BUYER-4715",
  preceding: "CANARY-PRECEDING-4716",
  note: "CANARY-NOTE-4717",
  answer: "CANARY-ANSWER-4718",
  refused: "CANARY-REFUSED-4719",
} as const;

/** Secrets that a configuration gives. */
export const CONFIGURED = {
  "master key": "CANARY-MASTER-KEY-4720-32-octets",
  "admin token": "CANARY-ADMIN-TOKEN-4721-0123456789abcdef",
  "keystore password": "CANARY-KEYSTORE-4722",
  "secret of the tax authority": "CANARY-PFS-SECRET-4723",
} as const;

/** The forms in which octets stand somewhere: as text, in hex, and in base64 at each of its three places. */
export function formsOf(word: string): string[] {
  const bytes = Buffer.from(word);
  const shifted = [0, 1, 2].map((shift) =>
    Buffer.concat([Buffer.alloc(shift), bytes])
      .toString("base64")
      .slice(shift === 0 ? 0 : 4, -4),
  );
  return [word, bytes.toString("hex"), ...shifted];
}

/** The names of the secrets that stand in some octets, in any form. */
export function secretsIn(secrets: Readonly<Record<string, string>>, kept: Buffer | string): string[] {
  const bytes = typeof kept === "string" ? Buffer.from(kept) : kept;
  return Object.entries(secrets)
    .filter(([, secret]) => formsOf(secret).some((form) => bytes.includes(form)))
    .map(([name]) => name);
}

/** Where secrets stand in the files of a folder: "path: names", but for paths that a pattern names. */
export function filesSaying(folder: string, secrets: Readonly<Record<string, string>>, but: RegExp): string[] {
  return readdirSync(folder, { recursive: true, encoding: "utf8" })
    .filter((path) => !but.test(path) && statSync(join(folder, path)).isFile())
    .map((path) => [path, secretsIn(secrets, readFileSync(join(folder, path)))] as const)
    .filter(([, names]) => names.length > 0)
    .map(([path, names]) => `${relative(".", path)}: ${names.join(", ")}`);
}

/** Tables in which a text stands as it is, in the order of their names. */
export async function tablesWithText(sql: Sql, text: string): Promise<string[]> {
  const tables = await sql<{ readonly table: string }[]>`
    select table_name as table from information_schema.tables
    where table_schema = 'public' and table_type = 'BASE TABLE'`;
  const found: string[] = [];
  for (const { table } of tables)
    if ((await sql`select 1 from ${sql(table)} as t where position(${text} in t::text) > 0 limit 1`).length > 0)
      found.push(table);
  return found.sort();
}

/**
 * Tables in which words stand in any form, the statistics that Postgres keeps of their columns included.
 * @returns the tables of each word that stands somewhere
 */
export async function tablesSaying(
  sql: Sql,
  words: Readonly<Record<string, string>>,
): Promise<Readonly<Record<string, readonly string[]>>> {
  const tables = await sql<{ readonly table: string }[]>`
    select table_name as table from information_schema.tables
    where table_schema = 'public' and table_type = 'BASE TABLE'
    union all select 'pg_statistic'
    order by 1`;
  const forms = Object.entries(words).flatMap(([name, word]) => formsOf(word).map((form) => [name, form] as const));
  const found: Record<string, string[]> = {};
  for (const { table } of tables) {
    const rows = await sql<{ readonly name: string }[]>`
      select distinct f.name
      from (select lower(t::text) as line from ${sql(table)} as t offset 0) as r
      join unnest(${forms.map(([name]) => name)}::text[], ${forms.map(([, form]) => form.toLowerCase())}::text[])
        as f (name, form) on position(f.form in r.line) > 0`;
    for (const { name } of rows) (found[name] ??= []).push(table);
  }
  return found;
}
