/** docs/operators/security.md: the threat model and the table of ASVS, drawn from the lists. */
import type { Shown } from "../faults/table/row.js";
import { CHAPTERS } from "./asvs.js";
import { VERDICTS } from "./row.js";
import type { SecurityRow } from "./row.js";
import { THREATS } from "./threats.js";

export const PAGE = "docs/operators/security.md";

const INTRODUCTION = `# Security

What an installation protects, from whom, by what, and which test shows it. \`npm run -s security:table\` writes this page from \`test/security\`; a test holds it to that, and every test that it names must exist. Whoever runs an installation can ask it himself: \`kurier probe\`, [below](#ask-your-own-installation).

## What is worth protecting
| What | Where it lies | How |
|---|---|---|
| accepted documents | PostgreSQL, PAYLOAD_STORE | a 202 is a commit; nothing is lost or doubled ([faults](../faults.md)) |
| what documents say | payloads, facts, drafts, notes of answers | sealed (AES-256-GCM) under \`MASTER_KEY\`, which is not in the database; with \`FIRM_KEYS\` under a key for each firm, which ends with it |
| the key of the access point | \`AS4_KEYSTORE\` | read at the start and when it changes; wrapped on its way to worker threads |
| secrets of keys, refresh tokens, codes, links | PostgreSQL | as digests: nobody can read them back |
| secrets of webhooks, signing keys of tokens, migration codes | PostgreSQL | sealed |
| evidence of ten years | \`EVIDENCE_STORE\` | content-addressed, chained, signed by both sides |
| who did what | the audit | can be added to only |

In clear are: names, numbers and addresses of firms, participants, kinds, times and states of documents, and the names that programs give them (\`documentId\`, \`externalId\`). Backups of the database hold the same.

## Borders
\`\`\`text
  strangers, clients, browsers ──►│ public listener (HOST:PORT) ─► gateway ─┐
  other access points ── /as4 ───►│                                         ├─► actors ─► PostgreSQL
  operators ─────────────────────►│ admin listener (ADMIN_HOST:ADMIN_PORT) ─┘      │        NATS (wake-ups only)
                                                                                   ├─► worker threads (XML, signatures)
  webhooks, SMP, SML, OCSP, Directory, letters ◄── one client that judges addresses ┘
\`\`\`
Octets from outside are parsed in worker threads with limits and a clock; NATS carries ids and never texts; what goes out goes through one client. The admin listener is for a network of the operators'; TLS is ended by a proxy, which must name itself in \`TRUSTED_PROXIES\`.

## What no test can show
The memory of a running engine holds keys and documents. Whoever may read it (root, a debugger, a core dump) may read those: the systemd unit and the compose file allow no cores (\`LimitCORE=0\`, \`ulimits: core: 0\`; \`--ulimit core=0\` for a container of your own), and a core dump is as secret as \`MASTER_KEY\`. \`npm run -s test:faults -- canaries\` searches for marked secrets everywhere else: in a dump, in the files and the memory of Postgres and of nats-server, in the log. Of documents it allows one word there, the number by which an answer asks for its invoice, in the memory of Postgres.
`;

const PROBE = `## Ask your own installation
\`kurier probe URL --yes\` puts the hostile requests of our tests to an installation of yours: requests with two meanings, slow and oversized ones, XML bombs, wrong tokens. It prints each case with what is expected and what came, and ends with 1 when one is answered otherwise. It calls the address that it is given and no other. Behind a proxy it judges both together, which is the point.
\`\`\`console
kurier probe https://ap.example --yes
\`\`\`
Others who find something must know whom to tell: \`SECURITY_CONTACT=mailto:security@ap.example\` has the engine serve \`/.well-known/security.txt\` (RFC 9116).
`;

const cell = (text: string): string => text.replaceAll("|", "\\|");
const table = (head: readonly string[], rows: readonly (readonly string[])[]): string =>
  [head, head.map(() => "---"), ...rows].map((cells) => `| ${cells.map(cell).join(" | ")} |`).join("\n");

const tests = (shown: readonly Shown[]): string =>
  shown
    .map(({ file, titles }) => `\`${file.slice("test/".length, -".test.ts".length)}\`: ${titles.join("; ")}`)
    .join("<br>");

const threatsText = (): string =>
  [
    "## Threats\n",
    ...THREATS.flatMap(({ who, threats }) => [
      `### ${who}\n`,
      `${table(
        ["Who could", "What stands against it", "Shown by", "What stays"],
        threats.map(({ threat, measure, shown, rest }) => [threat, measure, tests(shown), rest ?? ""]),
      )}\n`,
    ]),
  ].join("\n");

const asvsRow = ({ id, what, verdict, shown, why }: SecurityRow): readonly string[] => [
  id,
  what,
  why === undefined ? verdict : `${verdict}: ${why}`,
  tests(shown),
];

const rows = CHAPTERS.flatMap((chapter) => chapter.rows);
const counted = VERDICTS.map((verdict) => `${rows.filter((row) => row.verdict === verdict).length} ${verdict}`);

const ASVS = `## OWASP ASVS 5.0.0
Every requirement of levels 1 and 2 of chapters 1 to 16, by the numbers of [version 5.0.0](https://github.com/OWASP/ASVS/tree/v5.0.0_release/5.0/en) and in our own words; chapter 17 is about WebRTC, of which there is none. We judge ourselves here; nobody else has. Of ${rows.length} rows ${counted.join(", ")} (\`outside\`: the operator's, or of what stands around the engine).
`;

const asvsText = (): string =>
  [
    ASVS,
    ...CHAPTERS.map(
      ({ number, title, rows: own }) =>
        `### V${number} ${title}\n\n${table(["", "What is asked", "Holds", "Shown by"], own.map(asvsRow))}\n`,
    ),
  ].join("\n");

/** The whole page. */
export const securityPage = (): string => [INTRODUCTION, threatsText(), PROBE, asvsText()].join("\n");
