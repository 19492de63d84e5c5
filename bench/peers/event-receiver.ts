/** A receiver of events that answers at once and counts: the least that anybody who is told of something does. */
import { createServer } from "node:http";

import { loadUws } from "../../gateway/http/uws-binding.js";
import type { Uws } from "../../gateway/http/uws-binding.js";
import { peerPort } from "./insert.js";

const uws = loadUws();
let calls = 0;

function serveUws(binding: Uws): void {
  const app = binding.App();
  app.any("/*", (res, req) => {
    if (req.getCaseSensitiveMethod() === "GET") {
      res.end(String(calls));
      return;
    }
    res.onAborted(() => undefined);
    res.onData((_, last) => {
      if (!last) return;
      calls += 1;
      res.cork(() => {
        res.writeStatus("200 OK").end();
      });
    });
  });
  app.listen("127.0.0.1", peerPort(), binding.LIBUS_LISTEN_EXCLUSIVE_PORT, (socket) => {
    if (socket === false) process.exit(1);
  });
}

function serveNode(): void {
  createServer((request, response) => {
    if (request.method === "GET") {
      response.end(String(calls));
      return;
    }
    request.resume().on("end", () => {
      calls += 1;
      response.writeHead(200).end();
    });
  }).listen(peerPort(), "127.0.0.1");
}

if (uws === undefined) serveNode();
else serveUws(uws);
