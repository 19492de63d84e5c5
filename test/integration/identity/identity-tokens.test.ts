/**
 * Access tokens under attack: everything but a token of ours, unchanged and of this moment, is 401.
 * @source design/reliability.md, A-01, A-02, A-15; RFC 8725
 */
import {
  createHmac,
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  randomBytes,
  sign,
  verify,
} from "node:crypto";
import type { KeyObject } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "vitest";

import type { Identity } from "../../../engine/identity/identity.js";
import type { CreatedKey } from "../../../engine/identity/keys.js";
import { LIMITS } from "../../../engine/base/limits.js";
import { openChannel } from "../../../engine/storage/channel.js";
import type { Channel, ChannelOptions } from "../../../engine/storage/channel.js";
import { createSealer } from "../../../engine/storage/sealer.js";
import { retireSigningKeys } from "../../../engine/storage/identity/signing-keys.js";
import type { Sql } from "../../../engine/storage/sql.js";
import { eventually } from "../../support/eventually.js";
import { fakeClock } from "../../support/fake-clock.js";
import {
  callerOf,
  login,
  makeFirm,
  makeIntegrator,
  PUBLIC_URL,
  refusalOf,
  startNode,
} from "../../support/callers/identity.js";
import { freshDatabase } from "../../support/database/postgres.js";
import type { TestDatabase } from "../../support/database/postgres.js";

type Fields = Record<string, unknown>;

let db: TestDatabase;
let node: Identity;
let key: CreatedKey;
let firmId: string;
/** The deployment's own signing key, as an attacker who had it would use it. */
let signingKey: KeyObject;
const clock = fakeClock();
/** A channel that hears everything but of signing keys. */
const openDeaf = (options: ChannelOptions): Channel =>
  openChannel({
    ...options,
    onMessage: (payload) => {
      if (!payload.startsWith("signing_key:")) options.onMessage(payload);
    },
  });
const sealer = createSealer([Buffer.alloc(32, 7)]);

beforeAll(async () => {
  db = await freshDatabase();
  node = await startNode(db, { clock, sealer });
  ({ key, firmId } = await makeFirm(db, clock));
  const rows = await db.sql<{ kid: string; privateSealed: Uint8Array; masterKeyId: string }[]>`
    select kid, private_sealed as "privateSealed", master_key_id as "masterKeyId" from signing_key`;
  const [row] = rows;
  if (row === undefined) throw new Error("no signing key");
  signingKey = createPrivateKey({
    key: sealer.open(row.masterKeyId, row.privateSealed, `signing_key:${row.kid}`),
    format: "der",
    type: "pkcs8",
  });
});
afterAll(async () => {
  await node.stop();
  await db.drop();
});

const encode = (value: unknown): string =>
  Buffer.from(typeof value === "string" ? value : JSON.stringify(value)).toString("base64url");
const partsOf = (token: string): { header: Fields; claims: Fields; signature: string } => {
  const [header = "", claims = "", signature = ""] = token.split(".");
  const read = (part: string): Fields => JSON.parse(Buffer.from(part, "base64url").toString()) as Fields;
  return { header: read(header), claims: read(claims), signature };
};
const signed = (header: unknown, claims: unknown, privateKey = signingKey): string => {
  const text = `${encode(header)}.${encode(claims)}`;
  return `${text}.${sign(null, Buffer.from(text), privateKey).toString("base64url")}`;
};
const good = async (): Promise<string> => (await login(node, key, clock)).accessToken;
const answer = (token: string): Promise<string> => refusalOf(() => callerOf(node, token, clock));

test("a token of ours names key, firm, environment, scope and generations, and nothing secret", async () => {
  const { header, claims } = partsOf(await good());
  const now_s = Math.floor(clock.now() / 1000);
  expect(header).toEqual({ alg: "EdDSA", kid: node.jwks().keys[0]?.kid, typ: "at+jwt" });
  expect(claims).toEqual({
    iss: PUBLIC_URL,
    aud: PUBLIC_URL,
    sub: key.id,
    jti: expect.any(String),
    iat: now_s,
    nbf: now_s,
    exp: now_s + 900,
    env: "sandbox",
    scope: "documents:send documents:read documents:write webhooks:read webhooks:write account:read",
    firm_id: firmId,
    integrator_id: null,
    generation: 0,
    binding_generation: 0,
  });
});

test("whoever reads the published key can verify the token", async () => {
  const token = await good();
  const [jwk] = node.jwks().keys;
  if (jwk === undefined) throw new Error("no public key");
  expect(Object.keys(jwk).sort()).toEqual(["alg", "crv", "kid", "kty", "use", "x"]);
  const publicKey = createPublicKey({ key: { kty: jwk.kty, crv: jwk.crv, x: jwk.x }, format: "jwk" });
  const dot = token.lastIndexOf(".");
  expect(
    verify(null, Buffer.from(token.slice(0, dot)), publicKey, Buffer.from(token.slice(dot + 1), "base64url")),
  ).toBe(true);
});

test("the helper that signs attacks signs good tokens too", async () => {
  const { header, claims } = partsOf(await good());
  expect(await answer(signed(header, claims))).toBe("none");
});

describe("the header decides nothing (A-01)", () => {
  test.each([
    "none",
    "None",
    "NONE",
    "nOnE",
    "",
    "HS256",
    "hs256",
    "ES256",
    "RS256",
    "PS256",
    "eddsa",
    "Ed25519",
    "EdDSA ",
    null,
    1,
  ])("a token's header decides nothing (A-01): alg %j", async (alg) => {
    const { header, claims } = partsOf(await good());
    expect(await answer(signed({ ...header, alg }, claims))).toBe("TOKEN_INVALID");
    expect(await answer(`${encode({ ...header, alg })}.${encode(claims)}.`)).toBe("TOKEN_INVALID");
    expect(await answer(`${encode({ ...header, alg })}.${encode(claims)}.${"A".repeat(86)}`)).toBe("TOKEN_INVALID");
  });

  test("a token's header decides nothing (A-01): HS256 with the public key as secret", async () => {
    const { header, claims } = partsOf(await good());
    const [jwk] = node.jwks().keys;
    const publicKey = createPublicKey(signingKey);
    for (const secret of [
      jwk?.x ?? "",
      Buffer.from(jwk?.x ?? "", "base64url"),
      publicKey.export({ format: "pem", type: "spki" }),
      publicKey.export({ format: "der", type: "spki" }),
    ]) {
      const text = `${encode({ ...header, alg: "HS256" })}.${encode(claims)}`;
      expect(await answer(`${text}.${createHmac("sha256", secret).update(text).digest("base64url")}`)).toBe(
        "TOKEN_INVALID",
      );
    }
  });

  test.each([
    "",
    "unknown",
    "../../../etc/passwd",
    "' or '1'='1",
    "http://127.0.0.1/jwks.json",
    "__proto__",
    "constructor",
    null,
    7,
    ["a"],
    {},
  ])("a token's header decides nothing (A-01): kid %j", async (kid) => {
    const { header, claims } = partsOf(await good());
    expect(await answer(signed({ ...header, kid }, claims))).toBe("TOKEN_INVALID");
  });

  test("a token's header decides nothing (A-01): a key that the token brings along", async () => {
    const { publicKey, privateKey } = generateKeyPairSync("ed25519");
    const jwk = publicKey.export({ format: "jwk" });
    const { header, claims } = partsOf(await good());
    for (const extra of [
      { jwk },
      { jku: "http://127.0.0.1/jwks.json" },
      { x5u: "http://127.0.0.1/cert.pem" },
      { x5c: ["AA=="] },
      { crit: ["exp"] },
      { crit: ["b64"], b64: false },
      { zip: "DEF" },
      { cty: "JWT" },
    ]) {
      expect(await answer(signed({ ...header, ...extra }, claims, privateKey))).toBe("TOKEN_INVALID");
      expect(await answer(signed({ ...header, ...extra }, claims))).toBe("TOKEN_INVALID");
    }
  });

  test.each(["JWT", "at+JWT ", "application/at+jwt", "", null])(
    "a token's header decides nothing (A-01): typ %j",
    async (typ) => {
      const { header, claims } = partsOf(await good());
      expect(await answer(signed({ ...header, typ }, claims))).toBe("TOKEN_INVALID");
    },
  );
});

describe("the text is exactly ours (A-01)", () => {
  test("a token's text is exactly ours (A-01): another key's signature, an empty one, zeros, a cut one, a long one", async () => {
    const token = await good();
    const { header, claims, signature } = partsOf(token);
    const text = token.slice(0, token.lastIndexOf("."));
    expect(await answer(signed(header, claims, generateKeyPairSync("ed25519").privateKey))).toBe("TOKEN_INVALID");
    for (const forged of [
      "",
      encode(Buffer.alloc(64).toString("latin1")),
      "A".repeat(86),
      signature.slice(0, -2),
      `${signature}AA`,
    ]) {
      expect(await answer(`${text}.${forged}`)).toBe("TOKEN_INVALID");
    }
  });

  test("one signature has one spelling: padding, other alphabets and spare bits are refused", async () => {
    const token = await good();
    const last = token.slice(-1);
    const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    const spare = [1, 2, 3].map(
      (bits) =>
        token.slice(0, -1) + (alphabet[(alphabet.indexOf(last) & ~3) | ((alphabet.indexOf(last) + bits) & 3)] ?? ""),
    );
    for (const variant of [
      ...spare,
      `${token}=`,
      `${token}==`,
      `${token}\n`,
      ` ${token}`,
      `${token} `,
      token.replaceAll(".", "%2e"),
      `${token}.`,
      `.${token}`,
    ]) {
      expect(variant).not.toBe(token);
      expect(await answer(variant)).toBe("TOKEN_INVALID");
    }
  });

  test("a token's text is exactly ours (A-01): claims changed after signing are refused", async () => {
    const token = await good();
    const { header, claims, signature } = partsOf(token);
    expect(await answer(`${encode(header)}.${encode({ ...claims, scope: "keys:manage" })}.${signature}`)).toBe(
      "TOKEN_INVALID",
    );
  });

  test.each([
    "",
    ".",
    "..",
    "a.b",
    "a.b.c",
    "a.b.c.d.e",
    "Bearer x",
    "rt_abc",
    "null",
    "\u0000.\u0000.\u0000",
    "é.é.é",
  ])("a token's text is exactly ours (A-01): %j is refused", async (token) => {
    expect(await answer(token)).toBe("TOKEN_INVALID");
  });

  test("a token's text is exactly ours (A-01): an encrypted token, a nested one and a megabyte are refused", async () => {
    const token = await good();
    const { header } = partsOf(token);
    expect(await answer(`${encode({ alg: "dir", enc: "A256GCM" })}..AAAA.AAAA.AAAA`)).toBe("TOKEN_INVALID");
    expect(await answer(signed(header, token))).toBe("TOKEN_INVALID");
    expect(await answer(`${token}.${"A".repeat(1_000_000)}`)).toBe("TOKEN_INVALID");
    expect(
      await answer(signed(header, { ...partsOf(token).claims, padding: "x".repeat(LIMITS.token_bytes_max) })),
    ).toBe("TOKEN_INVALID");
  });
});

describe("claims (A-02)", () => {
  test.each([
    "iss",
    "aud",
    "sub",
    "jti",
    "iat",
    "nbf",
    "exp",
    "env",
    "scope",
    "firm_id",
    "integrator_id",
    "generation",
    "binding_generation",
  ])("a token without %s, or with it of another kind, is refused", async (name) => {
    const { header, claims } = partsOf(await good());
    const { [name]: present, ...without } = claims;
    expect(await answer(signed(header, without))).toBe("TOKEN_INVALID");
    const strange: unknown[] = [[present], { value: present }, true, -1, 1.5, 1e300, "", "x"];
    // A scope that is an empty or unknown word is a token that allows nothing, not a forgery.
    for (const value of name === "scope"
      ? strange.slice(0, 6)
      : [...strange, typeof present === "number" ? String(present) : 0]) {
      expect([name, value, await answer(signed(header, { ...claims, [name]: value }))]).toEqual([
        name,
        value,
        "TOKEN_INVALID",
      ]);
    }
  });

  test("a token of another deployment or another environment is refused", async () => {
    const { header, claims } = partsOf(await good());
    for (const change of [
      { iss: "https://other.example" },
      { aud: "https://other.example" },
      { aud: [PUBLIC_URL] },
      { env: "production" },
    ]) {
      expect(await answer(signed(header, { ...claims, ...change }))).toBe("TOKEN_INVALID");
    }
  });

  test("a token that lives longer than ours, or ends before it begins, is refused", async () => {
    const { header, claims } = partsOf(await good());
    const iat = Number(claims["iat"]);
    for (const change of [
      { exp: iat + 901 },
      { exp: iat + 10 ** 9 },
      { exp: iat },
      { nbf: iat - 1 },
      { nbf: iat + 900 },
    ]) {
      expect(await answer(signed(header, { ...claims, ...change }))).toBe("TOKEN_INVALID");
    }
  });

  test("a token ends after exactly 900 seconds", async () => {
    const token = await good();
    const issued = Number(partsOf(token).claims["iat"]) * 1000;
    expect(await refusalOf(async () => node.authenticate(token, issued + 899_999))).toBe("none");
    expect(await refusalOf(async () => node.authenticate(token, issued + 900_000))).toBe("TOKEN_INVALID");
    const unseen = await good();
    expect(await refusalOf(async () => node.authenticate(unseen, issued + 900_000))).toBe("TOKEN_INVALID");
  });

  test("a token may come from a clock that is up to 30 seconds ahead, not more", async () => {
    const { header, claims } = partsOf(await good());
    const from = (ahead_s: number): string => {
      const iat = Math.floor(clock.now() / 1000) + ahead_s;
      return signed(header, { ...claims, iat, nbf: iat, exp: iat + 900 });
    };
    expect(await answer(from(30))).toBe("none");
    expect(await answer(from(31))).toBe("TOKEN_INVALID");
    expect(await answer(from(86_400))).toBe("TOKEN_INVALID");
  });

  test("a token of a key that does not exist, or of an older generation of the key, is refused", async () => {
    const { header, claims } = partsOf(await good());
    expect(await answer(signed(header, { ...claims, sub: "00000000-0000-7000-8000-000000000000" }))).toBe(
      "TOKEN_INVALID",
    );
    expect(await answer(signed(header, { ...claims, generation: 1 }))).toBe("TOKEN_INVALID");
  });

  test("scopes that the key does not have are worth nothing", async () => {
    const { header, claims } = partsOf(await good());
    const caller = await callerOf(
      node,
      signed(header, { ...claims, scope: "documents:send keys:manage firms:manage" }),
      clock,
    );
    expect([...caller.scopes]).toEqual(["documents:send"]);
  });
});

describe("signing keys (A-15)", () => {
  test("a successor is published before it signs, and tokens of both are good until they end", async () => {
    const rotating = await freshDatabase();
    const time = fakeClock();
    const [first, second] = [
      await startNode(rotating, { clock: time, sealer }),
      await startNode(rotating, { clock: time, sealer }),
    ];
    const { key: firmKey } = await makeFirm(rotating, time);
    const kidOf = (token: string): unknown => partsOf(token).header["kid"];
    const oldKid = first.jwks().keys[0]?.kid;

    time.advance(LIMITS.signing_key_active_ms - LIMITS.signing_key_published_before_ms);
    await Promise.all([first.maintain(), second.maintain()]);
    expect(first.jwks().keys.map((jwk) => jwk.kid)).toHaveLength(2);
    expect(second.jwks()).toEqual(first.jwks());
    expect(kidOf((await login(first, firmKey, time)).accessToken)).toBe(oldKid);

    time.advance(LIMITS.signing_key_published_before_ms - 1_000);
    const last = (await login(first, firmKey, time)).accessToken;
    expect(kidOf(last)).toBe(oldKid);
    time.advance(1_000);
    const next = (await login(second, firmKey, time)).accessToken;
    expect(kidOf(next)).not.toBe(oldKid);
    for (const each of [first, second])
      for (const token of [last, next]) expect((await callerOf(each, token, time)).keyId).toBe(firmKey.id);

    time.advance(3 * LIMITS.token_access_s * 1000);
    await first.maintain();
    expect(first.jwks().keys.map((jwk) => jwk.kid)).toEqual([kidOf(next)]);
    await Promise.all([first.stop(), second.stop()]);
    await rotating.drop();
  });

  test("nodes that start together on an empty database share one key", async () => {
    const empty = await freshDatabase();
    const nodes = await Promise.all(Array.from({ length: 4 }, () => startNode(empty, { clock, sealer })));
    for (const each of nodes)
      expect(each.jwks().keys.map((jwk) => jwk.kid)).toEqual(nodes[0]?.jwks().keys.map((jwk) => jwk.kid));
    expect(nodes[0]?.jwks().keys).toHaveLength(1);
    await Promise.all(nodes.map((each) => each.stop()));
    await empty.drop();
  });

  test("with another master key the node verifies what was signed and signs with a key of its own", async () => {
    const token = await good();
    const other = await startNode(db, { clock, sealer: createSealer([Buffer.alloc(32, 8)]) });
    expect((await callerOf(other, token, clock)).keyId).toBe(key.id);
    const own = (await login(other, key, clock)).accessToken;
    expect(partsOf(own).header["kid"]).not.toBe(partsOf(token).header["kid"]);
    expect(await answer(own)).toBe("none");
    await other.stop();
  });

  /** A node that hears of no signing key, and a token that another node has signed meanwhile with a key of its own. */
  async function withStrangeToken(): Promise<{ readonly deaf: Identity; readonly pool: Sql; readonly token: string }> {
    const pool = db.another("ends early");
    const deaf = await startNode(db, { clock, sealer, sql: pool, openChannel: openDeaf });
    const strange = await startNode(db, { clock, sealer: createSealer([randomBytes(32)]) });
    const token = (await login(strange, key, clock)).accessToken;
    await strange.stop();
    clock.advance(LIMITS.signing_key_reload_ms);
    return { deaf, pool, token };
  }

  test("requests that come together with a key that this node has not read yet all wait for it", async () => {
    const { deaf, token } = await withStrangeToken();
    const answers = Array.from({ length: 4 }, () => refusalOf(() => callerOf(deaf, token, clock)));
    expect(await Promise.all(answers)).toEqual(["none", "none", "none", "none"]);
    await deaf.stop();
  });

  test("while Postgres is away a token whose key was not read yet is never called invalid: 503, each time", async () => {
    const { deaf, pool, token } = await withStrangeToken();
    await pool.end();
    for (const _ of [1, 2, 3]) expect(await refusalOf(() => callerOf(deaf, token, clock))).toBe("TEMPORARY");
    await deaf.stop();
  });

  test("a key that was retired is believed no more although it cannot be read what was retired: 503", async () => {
    const pool = db.another("ends early");
    const cut = await startNode(db, { clock, sealer, sql: pool });
    const token = (await login(node, key, clock)).accessToken;
    expect(await refusalOf(() => callerOf(cut, token, clock))).toBe("none");
    await pool.end();
    await retireSigningKeys(db.sql, { kid: String(partsOf(token).header["kid"]), since: 0 }, clock.now());
    await eventually("the token is not believed", async () => {
      const said = await refusalOf(() => callerOf(cut, token, clock));
      return said !== "none" && said;
    }).then((said) => {
      expect(said).toBe("TEMPORARY");
    });
    await cut.stop();
  });

  test("a retired key's tokens are refused, also those already seen", async () => {
    const { key: integratorKey } = await makeIntegrator(db, clock);
    const token = (await login(node, integratorKey, clock)).accessToken;
    expect(await answer(token)).toBe("none");
    await retireSigningKeys(db.sql, { kid: String(partsOf(token).header["kid"]), since: 0 }, clock.now());
    await eventually("the token is refused", async () => (await answer(token)) === "TOKEN_INVALID");
    expect(await answer(await good())).toBe("none");
  });
});
