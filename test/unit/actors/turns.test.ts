/**
 * Law 1: a command changes state through exactly one actor. Read off the sources: which functions write a tenant's state is
 * taken from their SQL, what leads to them from the names that each declaration uses, and nothing outside the actors' turns
 * may lead there.
 */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import ts from "typescript";
import { expect, test } from "vitest";

import { fileOfSpecifier, parse, readSources, ROOT } from "../../support/sources.js";
import type { Source } from "../../support/sources.js";

const MIGRATIONS = join(ROOT, "engine/storage/migrations");
const migrations = readdirSync(MIGRATIONS)
  .filter((name) => name.endsWith(".sql"))
  .sort()
  .map((name) => readFileSync(join(MIGRATIONS, name), "utf8"))
  .join("\n");

/** Tables that hold no state of a tenant's: nobody owns their rows, so nobody's turn is missing. */
const OWNERLESS: Readonly<Record<string, string>> = {
  outbox: "copies of what a move has written, on their way to the streams",
  stream_consumer: "positions of the streams' Postgres form",
  stream_message: "the same, messages",
  evidence: "written once and never changed, by the exchange that it proves",
  evidence_head: "the end of that chain",
  signing_key: "keys of the deployment",
  master_key: "the same",
  firm_key_store: "which directory has the keys of firms: one row of the deployment",
  firm_key_made: "which firms have ever had a key there, remembered before it seals anything",
  failed_credential: "counters of guesses",
  console_session: "operators' own: who is signed in to the console",
};
const stateTables = new Set(
  [...migrations.matchAll(/^create table (\w+)/gm)]
    .map(([, name = ""]) => name)
    .filter((name) => OWNERLESS[name] === undefined),
);

/** Whether SQL text writes to a table of a tenant's state, itself or by one of `functions`. */
const writesState = (sql: string, functions: ReadonlySet<string>): boolean =>
  [...sql.matchAll(/\b(?:insert into|update|delete from|truncate)\s+(?:only\s+)?(\w+)/gi)].some(([, table = ""]) =>
    stateTables.has(table),
  ) || [...sql.matchAll(/\b(\w+)\s*\(/g)].some(([, name = ""]) => functions.has(name));

/** SQL functions that write a tenant's state, directly or through others. */
function writingFunctions(sql: string): ReadonlySet<string> {
  const bodies = [...sql.matchAll(/create (?:or replace )?function (\w+)([\s\S]*?)\$\$;/g)].map(
    ([, name = "", body = ""]) => ({ name, body }),
  );
  const writing = new Set<string>();
  for (let before = -1; before !== writing.size;) {
    before = writing.size;
    for (const { name, body } of bodies) if (writesState(body, writing)) writing.add(name);
  }
  return writing;
}

interface Declaration {
  /** `engine/documents/accept/send.ts#acceptSend`. */
  readonly id: string;
  /** Declarations whose names it uses as values. */
  readonly uses: ReadonlySet<string>;
  /** Text of its sql templates. */
  readonly sql: string;
}

/** Local name → declaration that an import gives it; type-only imports give nothing. */
function importedNames({ path, file }: Source): ReadonlyMap<string, string> {
  const names = new Map<string, string>();
  for (const statement of file.statements) {
    if (
      !ts.isImportDeclaration(statement) ||
      !ts.isStringLiteral(statement.moduleSpecifier) ||
      !statement.moduleSpecifier.text.startsWith(".")
    )
      continue;
    const bindings = statement.importClause?.namedBindings;
    if (statement.importClause?.isTypeOnly === true || bindings === undefined || !ts.isNamedImports(bindings)) continue;
    const from = fileOfSpecifier(path, statement.moduleSpecifier.text);
    for (const { isTypeOnly, name, propertyName } of bindings.elements)
      if (!isTypeOnly) names.set(name.text, `${from}#${(propertyName ?? name).text}`);
  }
  return names;
}

/** Names that a node uses as values, whatever they mean there: a local name that hides another counts as a use of it. */
function valueNames(root: ts.Node): { readonly names: Set<string>; readonly sql: string } {
  const names = new Set<string>();
  let sql = "";
  const visit = (node: ts.Node): void => {
    if (ts.isTypeNode(node) || ts.isInterfaceDeclaration(node) || ts.isTypeAliasDeclaration(node)) return;
    if (ts.isTaggedTemplateExpression(node)) sql += `\n${node.template.getText()}`;
    if (ts.isPropertyAccessExpression(node)) {
      visit(node.expression);
      return;
    }
    if (ts.isPropertyAssignment(node)) {
      visit(node.initializer);
      return;
    }
    if (ts.isIdentifier(node)) names.add(node.text);
    ts.forEachChild(node, visit);
  };
  visit(root);
  return { names, sql };
}

function declarationsOf(source: Source): Declaration[] {
  const parts = source.file.statements.flatMap((statement): { readonly name: string; readonly node: ts.Node }[] => {
    if (ts.isVariableStatement(statement))
      return statement.declarationList.declarations.map((node) => ({ name: node.name.getText(), node }));
    if ((ts.isFunctionDeclaration(statement) || ts.isClassDeclaration(statement)) && statement.name !== undefined)
      return [{ name: statement.name.text, node: statement }];
    return ts.isImportDeclaration(statement) ||
      ts.isInterfaceDeclaration(statement) ||
      ts.isTypeAliasDeclaration(statement)
      ? []
      : [{ name: "(module)", node: statement }];
  });
  const known = new Map([
    ...importedNames(source),
    ...parts.map(({ name }) => [name, `${source.path}#${name}`] as const),
  ]);
  return parts.map(({ name, node }) => {
    const used = valueNames(node);
    const id = `${source.path}#${name}`;
    return {
      id,
      sql: used.sql,
      uses: new Set([...used.names].flatMap((one) => known.get(one) ?? []).filter((one) => one !== id)),
    };
  });
}

/** Everything that leads to a statement on a tenant's state, the statements included. */
function carriers(declarations: readonly Declaration[], functions: ReadonlySet<string>): ReadonlySet<string> {
  const found = new Set(
    declarations
      .filter(({ id, sql }) => id.startsWith("engine/storage/") && writesState(sql, functions))
      .map(({ id }) => id),
  );
  for (let before = -1; before !== found.size;) {
    before = found.size;
    for (const { id, uses } of declarations) if ([...uses].some((used) => found.has(used))) found.add(id);
  }
  return found;
}

/** What runs in an actor's turn: the files that make the kinds. */
const TURNS =
  /^actors\/(box|credential|document|message|onboarding|participant|partner|people|registration|tenant|operators\/operator|registry\/white-label)\.ts$/;
/** Benchmarks fill a database of their own. */
const OUTSIDE = /^(gateway|actors)\//;

const sources = readSources();
/** Read once: a check of the sources with one more file reads that file. */
const declared = sources.flatMap(declarationsOf);
const functions = writingFunctions(migrations);

/** Uses of what leads to a tenant's state, outside the turns, as `file: declaration`; of these files besides. */
function outsideTurns(more: readonly Source[] = []): string[] {
  const declarations = [...declared, ...more.flatMap(declarationsOf)];
  const leading = carriers(declarations, functions);
  const uses = declarations
    .filter(({ id }) => OUTSIDE.test(id) && !TURNS.test(id.split("#")[0] ?? ""))
    .flatMap(({ id, uses: used }) =>
      [...used]
        .filter((one) => one.startsWith("engine/") && leading.has(one))
        .map((one) => `${id.split("#")[0] ?? ""}: ${one}`),
    );
  return [...new Set(uses)].sort();
}

/** The closed list. A new line here needs a reason of the same weight. */
const EXCEPTIONS: Readonly<Record<string, string>> = {
  "actors/status-work.ts: engine/documents/inbound/mls-duties.ts#leaseDuties":
    "a lease says which node is at a row that is due and moves nothing; what is leased goes to its actor",
  "actors/status-work.ts: engine/documents/delivery/service-dispatch.ts#leaseMessages": "the same",
  "actors/box-dispatcher.ts: engine/documents/box/agenda.ts#boxAgenda": "the same",
  "actors/box-dispatcher.ts: engine/documents/box/retention.ts#pruneBox": "what ended long ago, by its age alone",
  "actors/box-dispatcher.ts: engine/documents/connector/staged.ts#pruneStaged":
    "the same; what nobody has sent ends in one statement that holds its row and looks whether it still waits",
  "gateway/start/work/work.ts: engine/documents/retention.ts#startSweeps": "the same",
  "gateway/commands/keeping/retention.ts: engine/documents/retention.ts#endUnvouched":
    "the same; what waits for an operator's word ends in one statement that holds its row and looks whether it still waits",
  "gateway/commands/keeping/retention.ts: engine/documents/retention.ts#sweepRows": "the same",
  "gateway/commands/keeping/retention.ts: engine/peppol/evidence/removal.ts#removeOldEvidence": "the same",
  "gateway/commands/keeping/retention.ts: engine/storage/payloads/move.ts#movePayloads":
    "the same: octets move from one store to another, and no state with them",
  "gateway/commands/keeping/erase.ts: engine/identity/erasure.ts#eraseFirm":
    "an operator's word about a firm, which closes it first; what follows removes what nobody can move any more",
  "gateway/commands/identity.ts: engine/identity/firm-facts.ts#changeFirm":
    "an operator's word about a firm, the columns that were given in one statement on its row; the last word stands",
  "gateway/start/operators.ts: engine/identity/firm-facts.ts#changeFirm": "the same",
  "gateway/commands/keys/rotate-master.ts: engine/storage/keyring/reseal-facts.ts#resealFacts":
    "what a row says stays, under another key; whoever has sealed it meanwhile wins, in the same statement",
  "gateway/commands/migrate.ts: engine/storage/keyring/reseal-facts.ts#resealFacts": "the same",
  "gateway/commands/keys/signing.ts: engine/identity/operators/signing-keys.ts#retireSigningKeysBy":
    "keys of the deployment belong to no actor; of what somebody owns it appends to the operators' record alone",
  "actors/status-work.ts: engine/documents/delivery/leases.ts#tendHeld":
    "leases that nobody works on, and those that somebody does",
  "gateway/main.ts: engine/identity/sandbox.ts#ensureSandbox":
    "fills an empty sandbox before a listener is open: no command, and nobody to take turns with",
  "gateway/start/work/identity.ts: engine/identity/identity.ts#createIdentity":
    "one object with what is read of identity and what changes it; the changes are given to the credential's actor, see below",
  "gateway/start/people.ts: engine/identity/onboarding/onboarding.ts#createOnboarding":
    "an object of reads and changes; it is given to its actor where it is made",
  "gateway/start/people.ts: engine/identity/people/oauth.ts#createOAuth": "the same",
  "gateway/start/people.ts: engine/identity/people/people.ts#createPeople": "the same",
  "gateway/commands/people/onboarding.ts: engine/identity/onboarding/onboarding.ts#createOnboarding": "the same",
  "gateway/commands/people/onboarding.ts: engine/identity/firms.ts#revokeConsent":
    "a part of that object: a process of an operator has no memory of bindings to clear",
  "gateway/commands/people/onboarding.ts: engine/storage/identity/onboarding/requests.ts#setManagedBilling":
    "an operator's word about an integrator, one column in one statement that nothing else writes",
  "gateway/commands/people/people.ts: engine/identity/people/people.ts#createPeople":
    "an object of reads and changes; it is given to its actor where it is made",
  "gateway/commands/people/oauth-clients.ts: engine/identity/people/oauth.ts#registerOAuthProgram":
    "an operator's word about a program, one row in one statement that nothing else writes",
  "actors/delivery/dispatcher.ts: engine/documents/delivery/answers.ts#Answers":
    "gives back what a claim brought too late to be begun, as if it had not been claimed",
  "actors/delivery/leases.ts: engine/documents/delivery/due.ts#beat":
    "a sign of life, one row that nothing else writes",
  "actors/delivery/leases.ts: engine/documents/delivery/due.ts#freeDead":
    "leases of processes that are known to be dead",
  "actors/delivery/claims.ts: engine/documents/delivery/due.ts#claim": "the same as of duties",
  "actors/delivery/dispatcher.ts: engine/documents/delivery/due.ts#claimForgotten": "the same",
  "actors/delivery/leases.ts: engine/documents/delivery/due.ts#tendLeases":
    "leases that nobody works on, and those that somebody does",
  "gateway/start/work/work.ts: engine/documents/inbound/inbox.ts#createInbox":
    "shows documents, and marks with it that they were shown: set once by whoever is first, so that no turn could decide it",
  "gateway/start/documents.ts: engine/documents/reads/received.ts#pullInbound": "the same",
  "gateway/start/documents.ts: engine/documents/reads/received.ts#readAllInboxes": "the same",
  "gateway/start/documents.ts: engine/documents/reads/received.ts#readFirmInbox": "the same",
  "gateway/start/operations.ts: engine/documents/box/reads.ts#readBoxDetail": "the same",
  "gateway/start/operations.ts: engine/documents/box/reads.ts#readBoxItems": "the same",
  "gateway/start/operations.ts: engine/identity/partners/firms.ts#readFirmDocuments": "the same",
  "gateway/start/connector.ts: engine/documents/connector/reads.ts#readConnectorDocument": "the same",
  "gateway/start/connector.ts: engine/documents/connector/reads.ts#readConnectorDocuments": "the same",
  "gateway/start/connector.ts: engine/documents/connector/reads.ts#readConnectorUbl": "the same",
  "gateway/start/webhooks.ts: engine/events/webhooks/operations.ts#webhookOperations":
    "each change is one statement on the row of one subscription, delivery or pulled event, decided by that row alone",
  "gateway/start/webhooks.ts: engine/events/connector/operations.ts#connectorWebhookOperations": "the same",
  "gateway/start/webhooks.ts: engine/events/webhooks/deliverer.ts#startDeliverer":
    "takes deliveries under leases and settles them; the order within a document is kept by the statement that takes",
  "gateway/start/webhooks.ts: engine/events/webhooks/upkeep.ts#startUpkeep":
    "makes deliveries of the feed, once each by their unique index, and ends what is old",
  "gateway/start/webhooks.ts: engine/storage/events/dispatch.ts#releaseDeliveries":
    "leases of a process that is known to be dead, before the first delivery",
  "gateway/start/white-label.ts: engine/identity/white-label/reads.ts#createCustomer":
    "one row in one statement, decided by its unique indexes",
  "gateway/start/white-label.ts: engine/identity/white-label/worker.ts#startWhiteLabelWorker":
    "leases; what is leased goes to its actor",
  "gateway/start/work/work.ts: engine/billing/meter.ts#startMeter":
    "a reader of the feed, whose figures move together with its place in one statement",
  "gateway/commands/billing/billing.ts: engine/billing/meter.ts#rebuildUsage": "the same figures, made anew",
  "gateway/commands/billing/billing.ts: engine/storage/billing/plans.ts#putPlan":
    "an operator's word about a firm, one row in one statement that nothing else writes",
  "gateway/start/work/dispatch.ts: engine/storage/documents/attempts.ts#releaseLeases":
    "leases of a process that is known to be dead, before the first actor",
  "gateway/start/work/dispatch.ts: engine/storage/documents/service-messages.ts#releaseServiceLeases": "the same",
};

test("statements on a tenant's state are reached through the turns of actors only", () => {
  expect(outsideTurns()).toEqual(Object.keys(EXCEPTIONS).sort());
});

/** Properties of these names that are taken of an expression which ends in one of `owners`, as `file: owner.name`. */
const propertiesTaken = (all: readonly Source[], names: RegExp, owners: RegExp): string[] =>
  all.flatMap(({ path, file }) => {
    const found: string[] = [];
    const visit = (node: ts.Node): void => {
      if (
        ts.isPropertyAccessExpression(node) &&
        names.test(node.name.text) &&
        owners.test(node.expression.getText(file))
      )
        found.push(`${path}: ${node.getText(file)}`);
      ts.forEachChild(node, visit);
    };
    visit(file);
    return found;
  });

const IDENTITY_CHANGES =
  /^(issueTokens|renewTokens|revokeToken|deactivateKey|replaceIpAllowlist|revokeConsent|issueKey|endKey|rotateSecret|replaceOwnAllowlist|offerConsent|openConsentOffer|acceptConsentOffer|declineConsentOffer|assignFirm|addIdentifier)$/;

test("what changes identity is called by the credential's actor, not by the gateway", () => {
  expect(
    propertiesTaken(
      sources.filter(({ path }) => OUTSIDE.test(path)),
      IDENTITY_CHANGES,
      /identity$/,
    ),
  ).toEqual([]);
});

test("an actor's handlers are called by the actor system alone", () => {
  expect(propertiesTaken(sources, /^handlers$/, /./).map((use) => use.split(":")[0])).toEqual(["actors/system.ts"]);
});

test("every table is a tenant's state, or is named with the reason why nobody owns its rows", () => {
  for (const table of Object.keys(OWNERLESS)) expect(migrations).toContain(`create table ${table} (`);
  expect(stateTables).toContain("document");
  expect(stateTables).toContain("api_key");
});

test("every part of the law is at work: the turns reach statements of each aggregate", () => {
  const leading = carriers(declared, functions);
  for (const statement of [
    "documents/attempts.ts#endAttempt",
    "documents/received-responses.ts#applyStatus",
    "documents/received.ts#storeBusiness",
    "documents/service-messages.ts#endServiceAttempt",
    "documents/received.ts#acknowledgeReceived",
    "identity/keys.ts#insertKey",
    "identity/firms.ts#insertFirm",
    "identity/tokens.ts#insertRevokedToken",
    "reporting.ts#submitReport",
  ]) {
    expect(leading, statement).toContain(`engine/storage/${statement}`);
  }
  for (const read of [
    "documents/documents.ts#findDocument",
    "documents/firm-received.ts#findFirmReceived",
    "identity/keys.ts#listKeys",
  ])
    expect(leading, read).not.toContain(`engine/storage/${read}`);
});

/** What the check says of the sources with one more file. */
const withFile = (...files: readonly (readonly [path: string, text: string])[]): string[] =>
  outsideTurns(files.map(([path, text]) => parse(path, text))).filter((use) => EXCEPTIONS[use] === undefined);

test.each<[string, (readonly [string, string])[], string[]]>([
  [
    "a route that writes by itself",
    [
      [
        "gateway/routes/x.ts",
        'import { endAttempt } from "../../engine/storage/documents/attempts.js"; export const x = () => endAttempt();',
      ],
    ],
    ["gateway/routes/x.ts: engine/storage/documents/attempts.ts#endAttempt"],
  ],
  [
    "a loop of the engine that writes, once something starts it",
    [
      [
        "engine/events/x.ts",
        'import { endDuty as end } from "../storage/documents/duties.js"; const once = () => end(); export function startX() { return { run: once }; }',
      ],
      ["gateway/start/x.ts", 'import { startX } from "../../engine/events/x.js"; startX();'],
    ],
    ["gateway/start/x.ts: engine/events/x.ts#startX"],
  ],
  [
    "a new statement, whatever it is called",
    [
      ["engine/storage/x.ts", "export const harmless = (sql) => sql`update received_document set status = 'x'`;"],
      ["gateway/x.ts", 'import { harmless } from "../engine/storage/x.js"; harmless();'],
    ],
    ["gateway/x.ts: engine/storage/x.ts#harmless"],
  ],
  [
    "a door of the actors that does its actors' work",
    [
      [
        "actors/x.ts",
        'import { attemptDocument } from "../engine/documents/delivery/dispatch.js"; export const x = attemptDocument;',
      ],
    ],
    ["actors/x.ts: engine/documents/delivery/dispatch.ts#attemptDocument"],
  ],
  [
    "no read",
    [["gateway/x.ts", 'import { findDocument } from "../engine/storage/documents/documents.js"; findDocument();']],
    [],
  ],
  [
    "no type",
    [
      [
        "gateway/x.ts",
        'import { type acceptDocuments, findDocument } from "../engine/storage/documents/documents.js"; export type X = typeof acceptDocuments; findDocument();',
      ],
    ],
    [],
  ],
  [
    "no ask",
    [
      [
        "gateway/x.ts",
        'import { documentKind } from "./document.js"; actors.ask(documentKind({}), "x", "Dispatch", null);',
      ],
    ],
    [],
  ],
])("the check finds %s", (_, files, found) => {
  expect(withFile(...files)).toEqual(found);
});
