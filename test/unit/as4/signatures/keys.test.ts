/** Goal: a private key reaches a worker usable, and never readable on the way. */
import { createPrivateKey, generateKeyPairSync } from "node:crypto";
import { fileURLToPath } from "node:url";
import { Worker } from "node:worker_threads";
import { buildSync } from "esbuild";
import { describe, expect, test } from "vitest";
import { provideWrappingKey, unwrapPrivateKey, wrapPrivateKey } from "../../../../validators/wss/keys.js";
import type { WrappedKey } from "../../../../validators/wss/protocol.js";

const { privateKey } = generateKeyPairSync("rsa", { modulusLength: 2048 });
const der = privateKey.export({ type: "pkcs8", format: "der" });

describe("a wrapped key", () => {
  test("a wrapped key unwraps to the key it was", () => {
    expect(unwrapPrivateKey(wrapPrivateKey(privateKey)).export({ type: "pkcs8", format: "der" }).equals(der)).toBe(
      true,
    );
  });

  test("a wrapped key holds no octets of the key, and two wrappings of one key differ", () => {
    const [one, two] = [
      wrapPrivateKey(privateKey),
      wrapPrivateKey(privateKey.export({ type: "pkcs8", format: "pem" }).toString()),
    ];
    expect(Buffer.from(one.sealed).includes(der.subarray(100, 116))).toBe(false);
    expect(Buffer.from(one.sealed).equals(Buffer.from(two.sealed))).toBe(false);
    expect(one.fingerprint).toBe(two.fingerprint);
  });

  test("a wrapped key changed, cut, or passed off as another key does not unwrap", () => {
    const fresh = (): WrappedKey => wrapPrivateKey(generateKeyPairSync("rsa", { modulusLength: 2048 }).privateKey);
    const flipped = fresh();
    flipped.sealed[10] = (flipped.sealed[10] ?? 0) ^ 1;
    expect(() => unwrapPrivateKey(flipped)).toThrow();
    expect(() => unwrapPrivateKey({ ...fresh(), fingerprint: "0".repeat(64) })).toThrow();
    const cut = fresh();
    expect(() => unwrapPrivateKey({ ...cut, sealed: cut.sealed.subarray(1) })).toThrow();
  });

  test("a key of another kind than RSA is refused before it is wrapped", () => {
    expect(() => wrapPrivateKey(generateKeyPairSync("ed25519").privateKey)).toThrow("RSA");
  });
});

describe("a worker thread", () => {
  const { outputFiles } = buildSync({
    stdin: {
      contents: `import { unwrapPrivateKey } from "./keys.js"; import { parentPort } from "node:worker_threads"; import { sign } from "node:crypto";
        parentPort.once("message", (wrapped) => { try { parentPort.postMessage(sign("sha256", Buffer.from("x"), unwrapPrivateKey(wrapped)).toString("base64")); } catch (e) { parentPort.postMessage(String(e)); } });`,
      resolveDir: fileURLToPath(new URL("../../../../validators/wss", import.meta.url)),
      loader: "ts",
    },
    bundle: true,
    platform: "node",
    format: "cjs",
    write: false,
  });
  const answerOf = (wrapped: WrappedKey, environment?: "without"): Promise<unknown> =>
    new Promise((resolve, reject) => {
      const code =
        environment === undefined
          ? ""
          : 'require("node:worker_threads").setEnvironmentData("kurier.wrapping_key", undefined);';
      const worker = new Worker(code + (outputFiles[0]?.text ?? ""), { eval: true });
      worker.once("message", (answer) => void worker.terminate().then(() => resolve(answer)));
      worker.once("error", reject);
      worker.postMessage(wrapped);
    });

  test("a worker thread started after provideWrappingKey signs with a key that came wrapped", async () => {
    provideWrappingKey();
    const { createPublicKey, verify } = await import("node:crypto");
    const answer = await answerOf(wrapPrivateKey(privateKey));
    expect(
      verify(
        "sha256",
        Buffer.from("x"),
        createPublicKey(createPrivateKey({ key: der, format: "der", type: "pkcs8" })),
        Buffer.from(String(answer), "base64"),
      ),
    ).toBe(true);
  });

  test("a worker thread without the wrapping key says so, and signs nothing", async () => {
    expect(await answerOf(wrapPrivateKey(privateKey), "without")).toContain("no wrapping key");
  });
});
