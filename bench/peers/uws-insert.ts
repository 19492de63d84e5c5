/** Limit (a): uWebSockets.js, JSON.parse and one fsynced insert; no authentication, no validation, no limits. */
import { createServer } from "node:http";

import { loadUws } from "../../gateway/http/uws-binding.js";
import type { Uws } from "../../gateway/http/uws-binding.js";
import { createPeerTable, insertPeer, openPeerSql, peerPort } from "./insert.js";

const uws = loadUws();
const HELLO = "/hello";
const sql = openPeerSql();
await createPeerTable(sql);

function serveUws(binding: Uws): void {
  const app = binding.App();
  app.any("/*", (res, req) => {
    if (req.getUrl() === HELLO) {
      res.end("hello");
      return;
    }
    // Bounded by the benchmark's own bodies.
    const chunks: Buffer[] = [];
    let aborted = false;
    res.onAborted(() => {
      aborted = true;
    });
    res.onData((chunk, last) => {
      chunks.push(Buffer.from(Buffer.from(chunk)));
      if (!last) return;
      const body = JSON.parse(Buffer.concat(chunks).toString("utf8")) as {
        readonly metadata: { readonly documentId: string };
        readonly payload: string;
      };
      insertPeer(sql, body.metadata.documentId, body.payload).then(
        () => {
          if (!aborted)
            res.cork(() => {
              res.writeStatus("202 Accepted").end("{}");
            });
        },
        () => {
          if (!aborted)
            res.cork(() => {
              res.writeStatus("500 Internal Server Error").end();
            });
        },
      );
    });
  });
  app.listen("127.0.0.1", peerPort(), binding.LIBUS_LISTEN_EXCLUSIVE_PORT, (socket) => {
    if (socket === false) process.exit(1);
  });
}

/** Where there is no binary the limit is what the engine itself runs on there. */
function serveNode(): void {
  createServer((request, response) => {
    if (request.url === HELLO) {
      response.end("hello");
      return;
    }
    // Bounded by the benchmark's own bodies.
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => {
      chunks.push(chunk);
    });
    request.on("end", () => {
      const body = JSON.parse(Buffer.concat(chunks).toString("utf8")) as {
        readonly metadata: { readonly documentId: string };
        readonly payload: string;
      };
      insertPeer(sql, body.metadata.documentId, body.payload).then(
        () => {
          response.writeHead(202).end("{}");
        },
        () => {
          response.writeHead(500).end();
        },
      );
    });
  }).listen(peerPort(), "127.0.0.1");
}

if (uws === undefined) serveNode();
else serveUws(uws);
