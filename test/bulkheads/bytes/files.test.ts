/**
 * Goal: clients never take away the files that the engine needs for Postgres, evidence and its own connections,
 * and help needs few of its own.
 * Method: more connections than a listener may have, over both forms; then a whole engine with 256 files, while 600
 * connections are kept open to it; help with 150.
 */
import { spawnSync } from "node:child_process";
import { randomUUID } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { connect } from "node:net";
import type { Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";

import { buildIfNeeded } from "../../../deploy/build.mjs";
import { LIMITS } from "../../../engine/base/limits.js";
import { runningEmbeddedPostgres } from "../../../engine/embedded/embedded.js";
import { openSql } from "../../../engine/storage/sql.js";
import { connectionsMax } from "../../../engine/base/files/open-files.js";
import { COMMAND_FILES } from "../../../gateway/cli.js";
import { route } from "../../../gateway/contract/route.js";
import { accessToken, invoiceXml, sapi, send, sendParts } from "../../support/engines/engine.js";
import type { Mailbox } from "../../support/engines/engine.js";
import { eventually } from "../../support/eventually.js";
import { serverForms, startGateway, WireClient } from "../../support/engines/gateway.js";
import { killEverythingOn, PROJECT, startEngineProcess } from "../../support/engines/process.js";
import type { EngineProcess } from "../../support/engines/process.js";

const hello = route({
  mounts: ["/api/v1"],
  family: "enterprise",
  credential: "none",
  errors: [],
  operation: "hello",
  method: "GET",
  path: "/hello",
  summary: "Says hello",
  responses: { 200: { description: "it" } },
  handler: () => ({ status: 200, body: { raw: "hello" } }),
});
const HELLO = "GET /api/v1/hello HTTP/1.1\r\nHost: test\r\n\r\n";

test("connections of clients have a share of the files, at least one and never more than the bound", () => {
  expect(connectionsMax(LIMITS.connections_share, 256)).toBe(96);
  expect(connectionsMax(LIMITS.connections_share, 1)).toBe(1);
  expect(connectionsMax(LIMITS.connections_share, Infinity)).toBe(LIMITS.connections_max);
});

test("kurier --help shows every command to a process with 150 files", async () => {
  await buildIfNeeded();
  const { status, stdout, stderr } = spawnSync(
    "/bin/sh",
    ["-c", 'ulimit -n 150 && exec "$@"', "sh", process.execPath, join(PROJECT, "gateway/kurier.mjs"), "--help"],
    { encoding: "utf8" },
  );
  expect([status, stderr]).toEqual([0, ""]);
  const shown = new Set([...stdout.matchAll(/^ {2}(\S+)/gmu)].map(([, word]) => word));
  expect(shown).toEqual(new Set(COMMAND_FILES.flatMap(({ words }) => words)));
});

describe.each(serverForms)("connections over %s", (form) => {
  test("connections beyond the bound are closed unread, those within it are answered, and a place that becomes free is taken", async () => {
    const gateway = await startGateway(form, [hello], { limits: { connections_max: 3 } });
    const early = await Promise.all(
      Array.from({ length: 3 }, async () => {
        const client = new WireClient(gateway.port).send(HELLO);
        expect((await client.answer())?.status).toBe(200);
        return client;
      }),
    );
    const late = Array.from({ length: 10 }, () => new WireClient(gateway.port).send(HELLO));
    for (const client of late) expect(await client.answer()).toBeUndefined();
    for (const client of early) expect((await client.send(HELLO).answer())?.status).toBe(200);
    early.pop()?.socket.destroy();
    await eventually("the place is free", async () => {
      const next = new WireClient(gateway.port).send(HELLO);
      const answer = await next.answer();
      next.socket.destroy();
      return answer?.status === 200;
    });
    for (const { socket } of early) socket.destroy();
    await gateway.stop();
  });
});

describe("an engine with 256 files and 600 connections of strangers that come again and again", () => {
  const dataDir = mkdtempSync(join(tmpdir(), "kurier-files-"));
  const strangers = new Set<Socket>();
  let engine: EngineProcess | undefined;
  afterAll(async () => {
    for (const socket of strangers) socket.destroy();
    await engine?.kill();
    killEverythingOn(dataDir);
    rmSync(dataDir, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 });
  });

  test("the engine accepts, delivers and proves the documents of others than those strangers", async () => {
    engine = await startEngineProcess({
      dataDir,
      openFiles: 256,
      env: { NATS_URL: "embedded", VALIDATOR_THREADS: "1" },
    });
    const { sandbox, port } = engine;
    const mailbox = async (key: "sender" | "receiver"): Promise<Mailbox> => ({
      participantId: sandbox[key].participantId,
      token: await accessToken(sandbox, sandbox[key]),
    });
    const [sender, receiver] = [await mailbox("sender"), await mailbox("receiver")];
    let isOver = false;
    let came = 0;
    const stranger = (): void => {
      if (isOver) return;
      const socket = connect({ port, host: "127.0.0.1", localAddress: "127.0.0.2" }, () => {
        came += 1;
      });
      strangers.add(socket);
      socket.on("error", () => undefined);
      socket.on("close", () => {
        strangers.delete(socket);
        setImmediate(stranger);
      });
    };
    for (let i = 0; i < 600; i += 1) stranger();
    await eventually("all strangers came", () => came >= 600);
    const post = (): ReturnType<typeof send> =>
      send(
        sandbox,
        sender,
        sendParts(
          sender.participantId,
          receiver.participantId,
          invoiceXml(sender.participantId, receiver.participantId),
          {
            documentId: randomUUID(),
          },
        ),
      );
    for (let i = 0; i < 5; i += 1) expect((await post()).status).toBe(202);
    const sql = openSql({ url: runningEmbeddedPostgres(dataDir) ?? "", name: "test", connections: 1 });
    await eventually("they are delivered, with their evidence", async () => {
      const rows = await sql`
        select d.id from document as d where d.status = 'delivered'
          and exists (select from evidence as e where e.document_id = d.id)`;
      return rows.length === 5;
    });
    await sql.end();
    expect((await sapi(sandbox, receiver, "GET", "/document/receive")).json["documents"]).toHaveLength(5);
    isOver = true;
    expect(engine.output()).not.toMatch(/EMFILE|too many open files/iu);
    expect(engine.ended()).toBe(false);
  });
});
