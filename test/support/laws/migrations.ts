/**
 * What a migration may do to tables that are in use, while the release before goes on beside this one: nothing that
 * reads or writes a whole table under a lock, and nothing that takes from the release before what it uses.
 */

/** Files before this number were applied to tables that were small, and are not to be changed. */
export const MIGRATIONS_CHECKED_FROM = 235;

const NAME = String.raw`(?:public\.)?"?([a-z_][a-z0-9_]*)"?`;
const CREATE_TABLE = new RegExp(String.raw`^create table (?:if not exists )?${NAME}`);
const CREATE_INDEX = new RegExp(
  String.raw`^create (?:unique )?index (concurrently )?(?:if not exists )?${NAME} on (?:only )?${NAME}`,
);
const DROP_INDEX = new RegExp(String.raw`^drop index (?:concurrently )?(?:if exists )?${NAME}`);
const ALTER_TABLE = new RegExp(String.raw`^alter table (?:if exists )?(?:only )?${NAME} (.*)$`);

interface Rule {
  readonly forbids: RegExp;
  readonly unless?: RegExp;
  readonly because: string;
}

/** Of one action of `alter table` on a table of an earlier file. */
const ACTIONS: readonly Rule[] = [
  {
    forbids: /^add (?:constraint \S+ )?(?:check|foreign key)\b/,
    unless: /\bnot valid\b/,
    because: "add it not valid, and validate it by a statement of its own",
  },
  {
    forbids: /^add (?:constraint \S+ )?(?:unique|primary key|exclude)\b/,
    unless: /\busing index\b/,
    because: "build its index concurrently in a file before, and add it using index",
  },
  {
    forbids: /^add column .*\b(?:unique|primary key|references|check)\b/,
    because: "add the column first, and its constraint not valid afterwards",
  },
  {
    forbids: /^add column .*\bdefault [a-z_.]+\(/,
    because: "add the column without a default, which would write every row, and fill it in batches",
  },
  {
    forbids: /^add column .*\bnot null\b/,
    unless: /\bdefault\b/,
    because: "the release before writes rows without it: give it a default",
  },
  {
    forbids: /^alter (?:column )?\S+ set not null\b/,
    because: "add check (… is not null) not valid, and validate it by a statement of its own",
  },
  {
    forbids: /^alter (?:column )?\S+ (?:set data )?type\b/,
    because: "add another column, and have both written until the release before is gone",
  },
  { forbids: /^rename\b/, because: "the release before knows the old name: add the new one beside it" },
];

/** Of any statement. */
const STATEMENTS: readonly Rule[] = [
  { forbids: /^(?:cluster|vacuum full|lock table)\b/, because: "nobody else has the table meanwhile" },
  { forbids: /^reindex\b/, unless: /\bconcurrently\b/, because: "reindex concurrently" },
];

const broken = (rules: readonly Rule[], text: string): string[] =>
  rules
    .filter(({ forbids, unless }) => forbids.test(text) && unless?.test(text) !== true)
    .map(({ because }) => `${text.slice(0, 60)}: ${because}`);

/** Parts of a text between commas that stand in no brackets. */
function parts(text: string): string[] {
  const found: string[] = [];
  let [depth, part] = [0, ""];
  for (const letter of text) {
    depth += letter === "(" ? 1 : letter === ")" ? -1 : 0;
    if (letter === "," && depth === 0) {
      found.push(part.trim());
      part = "";
    } else part += letter;
  }
  return [...found, part.trim()];
}

/** Statements in small letters on one line each; bodies of functions, texts and comments are taken out. */
const statementsOf = (text: string): string[] =>
  text
    .replace(/--.*$/gm, "")
    .replace(/\$(\w*)\$[\s\S]*?\$\1\$/g, "''")
    .replace(/'(?:[^']|'')*'/g, "''")
    .toLowerCase()
    .split(";")
    .map((statement) => statement.replace(/\s+/g, " ").trim())
    .filter((statement) => statement !== "");

/** @returns what is wrong with a migration, in sentences; none for what may be applied beside engines that run */
export function migrationFaults(text: string): string[] {
  const isApart = text.startsWith("-- not transactional\n");
  const statements = statementsOf(text);
  const made = new Set(statements.flatMap((statement) => CREATE_TABLE.exec(statement)?.[1] ?? []));
  const faults: string[] = [];
  if (isApart && text.includes("$")) faults.push("a file that is not transactional has no bodies of functions");
  statements.forEach((statement, at) => {
    faults.push(...broken(STATEMENTS, statement));
    const [, concurrently, index, table] = CREATE_INDEX.exec(statement) ?? [];
    if (table !== undefined && !made.has(table)) {
      const before = DROP_INDEX.exec(statements[at - 1] ?? "")?.[1];
      if (concurrently === undefined || !isApart)
        faults.push(`${statement.slice(0, 60)}: build it concurrently, in a file that is not transactional`);
      else if (before !== index)
        faults.push(`${statement.slice(0, 60)}: drop index concurrently if exists before it, for one half built`);
    }
    const [, altered, actions] = ALTER_TABLE.exec(statement) ?? [];
    if (altered !== undefined && actions !== undefined && !made.has(altered))
      for (const action of parts(actions)) faults.push(...broken(ACTIONS, action));
  });
  const contracts = statements.filter((statement) => /^(?:drop table|alter table .*\bdrop column)\b/.test(statement));
  if (contracts.length > 0 && !/^-- contracts: /m.test(text))
    faults.push("say in a line `-- contracts: …` why no release that runs beside this one uses what is dropped");
  if (isApart && statements.some((statement) => CREATE_TABLE.test(statement)))
    faults.push("what is not transactional makes no tables");
  return faults;
}
