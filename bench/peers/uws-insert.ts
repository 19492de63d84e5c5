/** Limit (a): uWebSockets.js, JSON.parse and one fsynced insert; no authentication, no validation, no limits. */
import { loadUws } from "../../gateway/uws-binding.js";
import { createPeerTable, insertPeer, openPeerSql, peerPort } from "./insert.js";

const uws = loadUws();
if (uws === undefined) throw new Error("uWebSockets.js has no binary for this platform");
const HELLO = "/hello";
const sql = openPeerSql();
await createPeerTable(sql);


const app = uws.App();
app.any("/*", (res, req) => {
  if (req.getUrl() === HELLO) {
    res.end("hello");
    return;
  }
  // Bounded by the benchmark's own bodies.
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
});
app.listen("127.0.0.1", peerPort(), uws.LIBUS_LISTEN_EXCLUSIVE_PORT, (socket) => { if (socket === false) process.exit(1); });
