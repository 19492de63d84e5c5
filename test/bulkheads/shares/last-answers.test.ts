/**
 * Goal: an answer behind which its connection ends reaches a client whose system takes little at a time, and is not held
 * for one who hardly takes any. Method: a model of how uWebSockets.js corks, since no system here has buffers as small.
 */
import { afterAll, beforeAll, expect, test, vi } from "vitest";

import { LIMITS } from "../../../engine/base/limits.js";
import type { Load } from "../../../gateway/http/load.js";
import type { listenUws } from "../../../gateway/http/server-uws.js";
import type { HttpRequest, HttpResponse, ListenSocket, Uws } from "../../../gateway/http/uws-binding.js";

const CORK_BYTES = 16 * 1024;
const BODY = "x".repeat(95_000);
const ROOM = 10_000;

const BINDING = "../../../gateway/http/uws-binding.js";

const binding: { uws?: Uws } = {};
/** The listener over the model, made anew: other files of this process have it over the real binding. */
let modelled: {
  readonly Load: typeof Load;
  readonly listenUws: typeof listenUws;
};
beforeAll(async () => {
  vi.resetModules();
  vi.doMock(BINDING, () => ({ loadUws: () => binding.uws }));
  modelled = {
    ...{ Load: (await import("../../../gateway/http/load.js")).Load },
    ...{ listenUws: (await import("../../../gateway/http/server-uws.js")).listenUws },
  };
});
afterAll(() => {
  vi.doUnmock(BINDING);
  vi.resetModules();
});

/** One connection: what is written goes to the cork while there is one, else to a system that has room for so much. */
function connection() {
  const state = { taken: 0, room: ROOM, buffered: 0, corked: -1, offset: 0, isClosed: false };
  let onWritable: ((from: number) => boolean) | undefined;
  const toSystem = (bytes: number): number => {
    const fits = Math.min(bytes, state.room);
    state.room -= fits;
    state.taken += fits;
    return fits;
  };
  const uncork = (): void => {
    if (state.corked > 0) state.buffered += state.corked - toSystem(state.corked);
    state.corked = -1;
  };
  const write = (bytes: number): number => {
    state.buffered -= toSystem(state.buffered);
    if (state.buffered > 0) return 0;
    if (state.corked >= 0 && state.corked + bytes <= CORK_BYTES) {
      state.corked += bytes;
      return bytes;
    }
    uncork();
    return state.buffered > 0 ? 0 : toSystem(bytes);
  };
  const res: HttpResponse = {
    close: () => {
      state.isClosed = true;
      return res;
    },
    cork: (written) => {
      state.corked = 0;
      written();
      uncork();
      return res;
    },
    tryEnd: (body, total) => {
      const bytes = typeof body === "string" ? Buffer.byteLength(body) : body.byteLength;
      const written = write(bytes);
      state.offset += written;
      return [written === bytes, state.offset === total];
    },
    onWritable: (handler) => {
      onWritable = handler;
      return res;
    },
    getWriteOffset: () => state.offset,
    getRemoteAddress: () => new Uint8Array([127, 0, 0, 1]).buffer,
    ...{ end: () => res, endWithoutBody: () => res, onAborted: () => res, onData: () => res },
    ...{ pause: () => res, resume: () => res, writeHeader: () => res, writeStatus: () => res },
  };
  /** The client takes what the system had, and the loop turns. */
  const turn = async (): Promise<void> => {
    state.room = ROOM;
    if (!state.isClosed) onWritable?.(state.offset);
    await new Promise((resolve) => setImmediate(resolve));
  };
  return { res, state, turn };
}

/** A listener that is asked for `BODY` while it drains. */
async function lastAnswer() {
  let monotonic = 0;
  let serve: ((res: HttpResponse, req: HttpRequest) => void) | undefined;
  const uws: Uws = {
    App: () => ({
      any: (_pattern, handler) => {
        serve = handler;
      },
      listen: (_host, _port, _options, listening) => {
        listening({} as ListenSocket);
      },
      ...{ filter: () => undefined, close: () => undefined },
    }),
    us_listen_socket_close: () => undefined,
    us_socket_local_port: () => 1,
    LIBUS_LISTEN_EXCLUSIVE_PORT: 1,
  };
  binding.uws = uws;
  const load = new modelled.Load({ ...LIMITS, connections_max: 10 }, () => monotonic, true);
  const outgoing = { status: 200, requestId: "r", contentType: undefined, headers: undefined, body: BODY };
  const request = {
    ...({ share: "api", addressGroup: "a", holder: "k", bodyBytesMax: 0, readsBody: true } as const),
    ...{ begin: () => undefined, finish: () => outgoing, refuse: () => outgoing, abandon: () => undefined },
  };
  await modelled.listenUws({ host: "h", port: 1, monotonic: () => monotonic, onRequest: () => request }, load);
  load.draining = true;
  const { res, state, turn } = connection();
  serve?.(res, {
    forEach: (each) => {
      each("host", "x");
    },
    getCaseSensitiveMethod: () => "GET",
    getQuery: () => undefined,
    getUrl: () => "/",
  });
  const pass = (ms: number): void => {
    monotonic += ms;
    load.sweep();
  };
  return { state, turn, load, pass };
}

test("an answer has left to its last octet before its connection ends, however little the system takes at once", async () => {
  const { state, turn, load } = await lastAnswer();
  for (let turns = 0; turns < 2 * (BODY.length / ROOM) && !state.isClosed; turns++) await turn();
  expect([state.isClosed, state.taken, load.inFlight]).toEqual([true, BODY.length, 0]);
});

test("who takes an answer that ends its connection in drips is cut off, as behind any other answer", async () => {
  const { state, turn, load, pass } = await lastAnswer();
  for (let turns = 0; turns < 2 * (BODY.length / ROOM) && !state.isClosed; turns++) {
    await turn();
    pass(LIMITS.request_idle_ms - 1);
  }
  expect(state.isClosed).toBe(true);
  expect(state.taken).toBeLessThan(BODY.length / 2);
  expect(load.inFlight).toBe(0);
});
