/** Addresses of a database that its library reads otherwise than a URL is read: each leads to the server it names. */
import { once } from "node:events";
import { connect, createServer } from "node:net";
import type { AddressInfo, Socket } from "node:net";
import { networkInterfaces } from "node:os";
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";

import { announce, openChannel } from "../../../engine/storage/channel.js";
import { connectionTarget, openSql } from "../../../engine/storage/sql.js";
import { eventually } from "../../support/eventually.js";
import { freshDatabase } from "../../support/database/postgres.js";
import type { TestDatabase } from "../../support/database/postgres.js";

let database: TestDatabase;
const undo: (() => unknown)[] = [];
beforeAll(async () => {
  database = await freshDatabase();
});
afterEach(async () => {
  for (const step of undo.splice(0).reverse()) await step();
});
afterAll(() => database.drop());

/** The database at another address. @returns its URL */
async function at(host: string): Promise<URL> {
  const { url, path } = connectionTarget(database.url);
  const target = new URL(url);
  const sockets = new Set<Socket>();
  const door = createServer((client) => {
    const server = path === undefined ? connect(Number(target.port), target.hostname) : connect(path);
    for (const socket of [client, server]) {
      sockets.add(socket);
      socket.on("error", () => undefined).on("close", () => [client, server].forEach((one) => one.destroy()));
    }
    client.pipe(server).pipe(client);
  }).listen(0, host);
  await once(door, "listening");
  undo.push(() => {
    door.close();
    for (const socket of sockets) socket.destroy();
  });
  target.hostname = host.includes(":") ? `[${host}]` : host;
  target.port = String((door.address() as AddressInfo).port);
  return target;
}

async function answers(url: string): Promise<void> {
  const sql = openSql({ url, connections: 1, name: "addresses" });
  undo.push(() => sql.end({ timeout: 1 }));
  expect(await sql`select current_database() as name`).toEqual(await database.sql`select current_database() as name`);
}

const hasIpv6 = Object.values(networkInterfaces())
  .flat()
  .some((one) => one?.address === "::1");

test.skipIf(!hasIpv6)(
  "who listens hears what is announced also where the database has an address of IPv6",
  async () => {
    const { href } = await at("::1");
    await answers(href);
    let [isUp, heard] = [false, ""];
    const channel = openChannel({
      ...{ url: href, name: "addresses", channel: "kurier_addresses", onDown: () => undefined },
      onUp: () => (isUp = true),
      onMessage: (payload) => (heard = payload),
    });
    undo.push(() => channel.close());
    await eventually("it listens", () => isUp);
    await announce(database.sql, "kurier_addresses", "a word");
    await eventually("it hears", () => heard === "a word");
  },
);

test("a password may have an @ and a comma that are not percent-encoded", async () => {
  const url = await at("127.0.0.1");
  await answers(url.href.replace(/\/\/.*@/, `//${url.username}:p@ss,word@`));
});

test("hosts of the library's own environment are asked for nothing", async () => {
  const { PGHOST } = process.env;
  undo.push(() => {
    if (PGHOST === undefined) delete process.env["PGHOST"];
    else process.env["PGHOST"] = PGHOST;
  });
  process.env["PGHOST"] = "127.0.0.1,127.0.0.2";
  const sql = openSql({ url: "postgres:///kurier?host=/nowhere", connections: 1, name: "addresses" });
  undo.push(() => sql.end({ timeout: 0 }));
  await expect(sql`select 1`).rejects.toMatchObject({ code: "ENOENT" });
});
