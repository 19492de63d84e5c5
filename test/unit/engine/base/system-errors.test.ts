/** Errors of the system for which Node.js has no name, as those of file servers. */
import { constants } from "node:os";
import { getSystemErrorName } from "node:util";
import { expect, test } from "vitest";

import { errorCode } from "../../../../engine/base/errors.js";
import { pathErrorOf } from "../../../../engine/embedded/embedded.js";

/** As Node.js makes it. */
function systemError(name: "EDQUOT" | "ESTALE" | "ENOTCONN"): Error {
  const errno = -constants.errno[name];
  return Object.assign(new Error("failed"), {
    errno,
    code: getSystemErrorName(errno),
    syscall: "open",
    path: "/store",
  });
}

test.each([
  ["EDQUOT", "its disk is full for this user"],
  ["ESTALE", "its file server knows it no more"],
  ["ENOTCONN", "its file system is gone"],
] as const)("%s is told by its name, also where Node.js has none for it", (name, words) => {
  const error = systemError(name);
  expect(errorCode(error)).toBe(name);
  expect(pathErrorOf(error, "DATA_DIR /store")).toMatchObject({
    message: `DATA_DIR /store cannot be used: ${words}.`,
    passing: true,
  });
});

test("a write at once that meets a quota is told by its name, though Node.js calls it unknown", () => {
  const errno = -constants.errno.EDQUOT;
  const error = Object.assign(new Error("UNKNOWN: unknown error, write"), { errno, code: "UNKNOWN", syscall: "write" });
  expect(errorCode(error)).toBe("EDQUOT");
  expect(pathErrorOf(error, "DATA_DIR /store")).toMatchObject({
    message: "DATA_DIR /store cannot be used: its disk is full for this user.",
    passing: true,
  });
});

test("an unknown error without a number of the system stays unknown", () => {
  expect(errorCode(Object.assign(new Error("failed"), { code: "UNKNOWN", errno: -4094 }))).toBe("UNKNOWN");
  expect(errorCode(Object.assign(new Error("failed"), { code: "UNKNOWN" }))).toBe("UNKNOWN");
});

test("an error of a number that no system has keeps what Node.js says", () => {
  expect(errorCode(Object.assign(new Error("failed"), { code: "Unknown system error -99999" }))).toBe(
    "Unknown system error -99999",
  );
});
