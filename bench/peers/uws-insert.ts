/** Limit (a): uWebSockets.js, JSON.parse and one fsynced insert; no authentication, no validation, no limits. */
import { createRequire } from "node:module";
import type * as UWebSockets from "uWebSockets.js";

import { createPeerTable, insertPeer, openPeerSql, peerPort } from "./insert.js";

const uws = createRequire(import.meta.url)("uWebSockets.js") as typeof UWebSockets;
const sql = openPeerSql();
await createPeerTable(sql);

uws.App()
  .get("/hello", (res) => { res.end("hello"); })
  .post("/send", (res) => {
    const chunks: Buffer[] = [];
    let aborted = false;
    res.onAborted(() => { aborted = true; });
    res.onData((chunk, last) => {
      chunks.push(Buffer.from(Buffer.from(chunk)));
      if (!last) return;
      const body = JSON.parse(Buffer.concat(chunks).toString("utf8")) as { metadata: { documentId: string }; payload: string };
      insertPeer(sql, body.metadata.documentId, body.payload).then(
        () => { if (!aborted) res.cork(() => { res.writeStatus("202 Accepted").end("{}"); }); },
        () => { if (!aborted) res.cork(() => { res.writeStatus("500 Internal Server Error").end(); }); },
      );
    });
  })
  .listen("127.0.0.1", peerPort(), (socket) => { if (socket === false) process.exit(1); });
