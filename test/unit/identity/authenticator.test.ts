/**
 * Goal: a token is believed no longer than the key that signed it, also when the key is retired while the token is
 * being checked.
 */
import { generateKeyPairSync } from "node:crypto";
import type { KeyObject } from "node:crypto";
import { beforeEach, expect, test } from "vitest";

import type { FirmId, KeyId } from "../../../engine/base/ids.js";
import { createAuthenticator } from "../../../engine/identity/authenticator.js";
import { signAccessToken } from "../../../engine/identity/tokens/access-tokens.js";
import type { KeyRow } from "../../../engine/storage/identity/keys.js";
import { fakeClock } from "../../support/fake-clock.js";

const AUDIENCE = { publicUrl: "http://127.0.0.1:8080", environment: "sandbox" } as const;
const { publicKey, privateKey } = generateKeyPairSync("ed25519");
const clock = fakeClock();
const KEY: KeyRow = {
  id: "0197b2f0-0000-7000-8000-000000000001" as KeyId,
  keyType: "sk_live",
  firmId: "0197b2f0-0000-7000-8000-000000000002" as FirmId,
  integratorId: null,
  scopedFirmId: null,
  prefix: "sk_live_x",
  scopes: ["documents:read"],
  ipAllowlist: [],
  active: true,
  generation: 0,
  name: null,
  createdAt: new Date(0),
  lastUsedAt: null,
  productionAuthorized: true,
  bindingGeneration: 0,
};

/** The key that signs, as a node knows it: undefined once it was retired. */
let known: KeyObject | undefined;
/** The key's row as it is remembered. */
let row: KeyRow;
beforeEach(() => {
  known = publicKey;
  row = KEY;
});

const signingKeys = {
  ensure: () => Promise.resolve(),
  reload: () => Promise.resolve(),
  signer: () => Promise.resolve({ kid: "k", privateKey }),
  verifier: () => known,
  isBelieved: () => known !== undefined,
  isCovered: () => true,
  jwks: () => ({ keys: [] }),
};

const authenticatorOf = () =>
  createAuthenticator({
    audience: AUDIENCE,
    signingKeys,
    keys: { get: () => row, drop: () => undefined, clear: () => undefined, size: 1 },
    revocations: {
      isRevoked: () => false,
      revoke: () => Promise.resolve(),
      announced: () => undefined,
      forget: () => undefined,
      maintain: () => Promise.resolve(),
    },
  });

const tokenOf = (): Promise<string> =>
  signAccessToken(
    signingKeys,
    AUDIENCE,
    {
      keyId: KEY.id,
      firmId: KEY.firmId,
      integratorId: null,
      scopes: ["documents:read"],
      generation: 0,
      bindingGeneration: 0,
    },
    clock.now(),
  );

test("a token whose signature was being checked when its signing key was retired is refused at once", async () => {
  const authenticator = authenticatorOf();
  const token = await tokenOf();
  const asked = authenticator.authenticate(token, clock.now());
  known = undefined;
  await expect(asked).rejects.toThrow();
  await expect(async () => authenticator.authenticate(token, clock.now())).rejects.toThrow();
});

test("a remembered token is refused once its signing key was retired", async () => {
  const authenticator = authenticatorOf();
  const token = await tokenOf();
  await authenticator.authenticate(token, clock.now());
  known = undefined;
  await expect(async () => authenticator.authenticate(token, clock.now())).rejects.toThrow();
});

test("a remembered token is worth what its key is worth now, and nothing once its key has moved on", async () => {
  const authenticator = authenticatorOf();
  const token = await tokenOf();
  expect((await authenticator.authenticate(token, clock.now())).ipAllowlist).toEqual([]);
  row = { ...KEY, ipAllowlist: ["203.0.113.0/24"] };
  expect((await authenticator.authenticate(token, clock.now())).ipAllowlist).toEqual(["203.0.113.0/24"]);
  for (const worthless of [{ active: false }, { generation: 1 }]) {
    row = { ...KEY, ...worthless };
    await expect(async () => authenticator.authenticate(token, clock.now())).rejects.toThrow();
  }
});
