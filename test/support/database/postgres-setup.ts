/**
 * vitest globalSetup: the door behind which the run's Postgres starts, and the keys of its engines are made, when a test
 * first asks (test/support/database/postgres.ts, test/support/peppol/development-pki.ts).
 */
import { randomUUID } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestProject } from "vitest/node";

import { systemClock } from "../../../engine/base/clock.js";
import { startEmbeddedPostgres } from "../../../engine/embedded/postgres.js";
import { silentLog } from "../../../engine/base/log.js";
import { migrate } from "../../../engine/storage/migrate.js";
import { ensureDevelopmentPki, ensurePeerLeaves } from "../../../engine/peppol/pki/development.js";
import { PEER_SEAT } from "../../../engine/peppol/pki/peer-keys.js";
import { openSql } from "../../../engine/storage/sql.js";
import { withDatabase } from "./postgres.js";
import type { TestServer } from "./postgres.js";

/** Faster, and safe here: only tests that make their own server are about durability. */
const TEST_SETTINGS = { fsync: "off", full_page_writes: "off", synchronous_commit: "off", max_connections: "300" };

async function administer(url: string, statement: string): Promise<void> {
  const sql = openSql({ url, name: "test-setup", connections: 1 });
  try {
    await sql.unsafe(statement);
  } finally {
    await sql.end({ timeout: 1 });
  }
}

async function makeTemplate(url: string, template: string): Promise<void> {
  await administer(url, `create database ${template} template template0`);
  await migrate({ url: withDatabase(url, template), clock: systemClock });
}

/** Six keys of RSA take a second of a processor, so that engines share them. */
async function makePki(folder: string): Promise<string> {
  await ensureDevelopmentPki({ folder, clock: systemClock });
  await ensurePeerLeaves(folder, PEER_SEAT, systemClock);
  return folder;
}

export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const folder = mkdtempSync(join(tmpdir(), "kurier-tests-"));
  const template = `template_${randomUUID().replaceAll("-", "")}`;
  const given = process.env["KURIER_TEST_DATABASE_URL"];
  let stop = async (): Promise<void> => undefined;

  const start = async (): Promise<TestServer> => {
    try {
      const pki = await makePki(join(folder, "pki"));
      if (given === undefined) {
        const server = await startEmbeddedPostgres({ dataDir: folder, log: silentLog, settings: TEST_SETTINGS });
        stop = () => server.stop();
        await makeTemplate(server.url, template);
        return { url: server.url, template, pki };
      }
      stop = () => administer(given, `drop database if exists ${template} with (force)`);
      await makeTemplate(given, template);
      return { url: given, template, pki };
    } catch (error) {
      return { failure: error instanceof Error ? error.message : "the test database did not start" };
    }
  };

  let started: Promise<TestServer> | undefined;
  const door = createServer({ allowHalfOpen: true }, (connection) => {
    connection.on("error", () => undefined);
    started ??= start();
    void started.then((server) => {
      connection.end(JSON.stringify(server));
    });
  });
  const path = join(folder, "door");
  await new Promise<void>((resolve) => {
    door.listen(path, resolve);
  });
  project.provide("postgresDoor", path);
  return async () => {
    door.close();
    await started;
    await stop();
    rmSync(folder, { recursive: true, force: true });
  };
}
