/** Where subscriptions may lead, with names that resolve as the test says. @source spec/rulings.md, section 10 */
import { describe, expect, test } from "vitest";

import { Refusal } from "../../../../engine/base/errors.js";
import { judgeUrl } from "../../../../engine/events/webhooks/addresses.js";

const policy = { allowLoopback: false, ownOrigins: [] };
const resolvesTo = (...addresses: string[]) => ({ policy, resolve: () => Promise.resolve(addresses) });

async function refusalOf(url: string, ports: Parameters<typeof judgeUrl>[0]): Promise<string | undefined> {
  try {
    await judgeUrl(ports, url);
    return undefined;
  } catch (error) {
    return error instanceof Refusal ? error.details[0]?.field : "not a refusal";
  }
}

describe("the URL of a subscription", () => {
  test("the URL of a subscription is answered by its origin, on any port", async () => {
    expect(await judgeUrl(resolvesTo("93.184.216.34"), "https://erp.example.com:8443/in?key=1")).toBe(
      "https://erp.example.com:8443",
    );
  });

  test.each([
    ["loopback", "127.0.0.1"],
    ["a private network", "10.0.0.7"],
    ["the metadata service", "169.254.169.254"],
    ["a private address of IPv6", "fd00::7"],
    ["a private address inside IPv6", "::ffff:10.0.0.7"],
  ])("a name that leads to %s is refused, also beside a public address", async (_, address) => {
    expect(await refusalOf("https://erp.example.com/", resolvesTo(address))).toBe("url");
    expect(await refusalOf("https://erp.example.com/", resolvesTo("93.184.216.34", address))).toBe("url");
  });

  test("a name that nobody knows yet is taken: it is judged again at each connection", async () => {
    const ports = { policy, resolve: () => Promise.reject(new Error("ENOTFOUND")) };
    expect(await refusalOf("https://new.example.com/", ports)).toBeUndefined();
  });

  test("the own machine is taken where the operator allows it, and nowhere else", async () => {
    expect(await refusalOf("http://127.0.0.1:8080/", { policy })).toBe("url");
    expect(await refusalOf("http://localhost:8080/", { policy })).toBe("url");
    const sandbox = { policy: { ...policy, allowLoopback: true }, resolve: () => Promise.resolve(["127.0.0.1"]) };
    expect(await judgeUrl(sandbox, "http://localhost:8080/in")).toBe("http://localhost:8080");
  });
});
