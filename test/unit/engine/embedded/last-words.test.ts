/** What an operator is told of a program that could not do its work: the reason, not the last line. */
import { expect, test } from "vitest";

import { passes, reasonIn } from "../../../../engine/embedded/child.js";

test.each([
  [
    `creating configuration files ... ok
running bootstrap script ... 2026-11-25 19:09:01.981 UTC [21273] FATAL:  could not write to file "pg_wal/xlogtemp.21273": No space left on device
child process exited with exit code 1
initdb: removing data directory "/data/postgres.new"
`,
    'could not write to file "pg_wal/xlogtemp.21273": No space left on device',
  ],
  [
    `initdb: error: directory "/data/postgres.new" exists but is not empty
initdb: hint: remove it or run initdb with an argument other than it
`,
    'directory "/data/postgres.new" exists but is not empty',
  ],
  [
    `running bootstrap script ... 2026-11-28 22:16:30.270 UTC [26444] FATAL:  could not extend file "base/1/2691": wrote only 4096 of 8192 bytes at block 10
2026-11-28 22:16:30.270 UTC [26444] HINT:  Check free disk space.
2026-11-28 22:16:30.314 UTC [26444] PANIC:  cannot abort transaction 1, it was already committed
Aborted
child process exited with exit code 134
`,
    'could not extend file "base/1/2691": wrote only 4096 of 8192 bytes at block 10',
  ],
  ["initdb: warning: something\nIllegal instruction\n", "Illegal instruction"],
  ["", "it said nothing"],
])("the reason is told of %j", (output, reason) => {
  expect(reasonIn(output)).toBe(reason);
});

test.each([
  ['could not write to file "base/4/1249": No space left on device', true],
  ['could not extend file "base/5/2608": Disk quota exceeded', true],
  ['could not extend file "base/1/2691": wrote only 4096 of 8192 bytes at block 10', true],
  ['directory "/data/postgres.new" exists but is not empty', false],
  ["Illegal instruction", false],
])("a supervisor starts again what %j has ended: %s", (reason, again) => {
  expect(passes(reason)).toBe(again);
});
