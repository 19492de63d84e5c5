/**
 * `npm run newcomer`: how long a newcomer takes from a clone to the first delivered invoice, by the commands of
 * docs/start/first-invoice.md and nothing else; then the compose file's two access points, in containers where there are
 * some, otherwise its commands outside of them. An empty home and an empty cache of npm; as root a user who was just made.
 *
 *   npm run -s newcomer -- [--keep] [--first-only]
 *
 * `--keep` leaves the figures in bench/results/newcomer.json, `--first-only` leaves the second path out.
 */
import { execFileSync, spawn, spawnSync } from "node:child_process";
import { chownSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { cpus, loadavg, tmpdir, totalmem } from "node:os";
import { join } from "node:path";
import { performance } from "node:perf_hooks";
import { setTimeout as pause } from "node:timers/promises";
import { fileURLToPath } from "node:url";

const ROOT = fileURLToPath(new URL("..", import.meta.url));
const GUIDE = "docs/start/first-invoice.md";
const COMPOSE = "deploy/compose/compose.yml";
const RESULT = join(ROOT, "bench/results/newcomer.json");
const READY_PATIENCE_MS = 120_000;
const LOOK_MS = 50;
const EARLIER_MAX = 4;

const args = new Set(process.argv.slice(2));
const load = Math.round(loadavg()[0] * 100) / 100;
const home = mkdtempSync(join(tmpdir(), "kurier-newcomer-"));
const name = `newcomer-${process.pid}`;

/** As root a user of the system is made, because the embedded Postgres asks who it is. */
function makeUser() {
  if (process.getuid?.() !== 0) return {};
  execFileSync("useradd", ["--home-dir", home, "--no-create-home", "--shell", "/bin/bash", name]);
  const [uid, gid] = ["-u", "-g"].map((flag) => Number(execFileSync("id", [flag, name], { encoding: "utf8" })));
  chownSync(home, uid, gid);
  return { uid, gid };
}

const user = makeUser();
/** Nothing of whoever runs this, but for where programs are. */
const env = { PATH: process.env.PATH, HOME: home, USER: name, LANG: "C.UTF-8", CI: "", TMPDIR: tmpdir() };
const options = (cwd, more = {}) => ({ cwd, env: { ...env, ...more }, ...user });

/** Runs a command to its end. @throws Error with what it said when it fails */
function run(command, words, { cwd, more }) {
  const ended = spawnSync(command, words, { ...options(cwd, more), encoding: "utf8", maxBuffer: 64 * 1024 * 1024 });
  if (ended.status !== 0) throw new Error(`${command} ${words.join(" ")}: ${ended.stdout}\n${ended.stderr}`);
  return ended.stdout;
}

const freePort = () =>
  new Promise((resolve) => {
    const server = createServer().listen(0, "127.0.0.1", () => {
      const { port } = server.address();
      server.close(() => resolve(port));
    });
  });

/** The commands of the guide up to the one after which it says that the invoice is delivered. */
function commandsUntilDelivered(checkout) {
  const text = readFileSync(join(checkout, GUIDE), "utf8");
  const end = text.indexOf("```text\ndelivered\n");
  if (end < 0) throw new Error(`${GUIDE} does not come to a delivered invoice`);
  return [...text.slice(0, end).matchAll(/^```sh\n([^]*?)^```$/gm)].map(([, commands]) => commands).join("");
}

async function isReady(url) {
  try {
    return (await fetch(`${url}/readyz`)).status === 200;
  } catch {
    return false;
  }
}

/** Starts the sandbox by `npm start`. @returns how it is ended */
async function start(checkout, ports) {
  const child = spawn("npm", ["start"], {
    ...options(checkout, { PORT: String(ports.public), ADMIN_PORT: String(ports.admin) }),
    stdio: "ignore",
    detached: true,
  });
  const end = performance.now() + READY_PATIENCE_MS;
  while (!(await isReady(`http://127.0.0.1:${ports.admin}`))) {
    if (child.exitCode !== null || performance.now() > end) throw new Error("npm start came to nothing");
    await pause(LOOK_MS);
  }
  return async () => {
    const ended = new Promise((resolve) => child.once("exit", resolve));
    process.kill(-child.pid, "SIGTERM");
    await ended;
  };
}

const figures = [];
/** Does one step of the path and tells its seconds. */
async function step(what, work, note) {
  const began = performance.now();
  const result = await work();
  const value = (performance.now() - began) / 1_000;
  figures.push({ name: what, value, unit: "s", ...(note === undefined ? {} : { note }) });
  process.stdout.write(`${value.toFixed(1).padStart(7)} s  ${what}\n`);
  return result;
}
const total = (what, from) => {
  const value = figures.slice(from).reduce((sum, figure) => sum + figure.value, 0);
  figures.push({ name: what, value, unit: "s" });
  process.stdout.write(`${value.toFixed(1).padStart(7)} s  ${what}\n`);
};

async function firstPath(checkout) {
  await step("git clone", () => run("git", ["clone", "--quiet", "--no-hardlinks", ROOT, checkout], { cwd: home }));
  await step("npm ci", () => run("npm", ["ci"], { cwd: checkout }), "cold cache");
  const ports = { public: await freePort(), admin: await freePort() };
  const stop = await step("npm start, until it is ready", () => start(checkout, ports), "builds, makes its database");
  try {
    await step(
      "first invoice, until it is delivered",
      () => {
        const commands = commandsUntilDelivered(checkout).replaceAll("127.0.0.1:8080", `127.0.0.1:${ports.public}`);
        const said = run("bash", ["-euo", "pipefail", "-c", commands], { cwd: checkout }).trim().split("\n").at(-1);
        if (said !== "delivered") throw new Error(`the guide ends with ${said}`);
      },
      "every command of the guide, without the time to read it",
    );
  } finally {
    await stop();
  }
  total("clone → first delivered invoice", 0);
}

const hasContainers = () => spawnSync("docker", ["compose", "version"], { stdio: "ignore" }).status === 0;

async function secondPath(checkout) {
  const from = figures.length;
  if (hasContainers())
    await step("docker compose up, until both are healthy", () =>
      run("docker", ["compose", "-f", COMPOSE, "up", "--build", "--wait", "--detach"], { cwd: checkout }),
    );
  else
    await step(
      "compose: its commands, until a document is in the other inbox",
      () =>
        run("npx", ["vitest", "run", "test/integration/operators/compose.test.ts", "-t", "exchange a document"], {
          cwd: checkout,
          more: { KURIER_CONFORMANCE: "" },
        }),
      "outside of containers: this machine has none; PostgreSQL, NATS and DNS are those of the tests",
    );
  total("after npm ci → two access points that exchange", from);
}

/** Leaves the figures where those of benchmarks are. @param commit  that was cloned */
function keep(commit) {
  const before = existsSync(RESULT) ? JSON.parse(readFileSync(RESULT, "utf8")) : undefined;
  const past =
    before === undefined
      ? []
      : [{ at: before.at, commit: before.commit, load: before.load, figures: before.figures }, ...before.earlier];
  const result = {
    name: "newcomer",
    question: "How long does a newcomer take from a clone to the first delivered invoice, with a cold cache?",
    at: new Date().toISOString(),
    commit,
    node: process.version,
    machine: { cpu: cpus()[0]?.model ?? "unknown", cores: cpus().length, memory_gb: Math.round(totalmem() / 1e9) },
    load,
    figures,
    earlier: past.slice(0, EARLIER_MAX),
  };
  writeFileSync(RESULT, `${JSON.stringify(result, null, 2)}\n`);
  process.stdout.write(`kept in ${RESULT}\n`);
}

try {
  writeFileSync(join(home, ".gitconfig"), "[safe]\n\tdirectory = *\n");
  mkdirSync(join(home, ".npm"));
  if (user.uid !== undefined)
    for (const path of [".gitconfig", ".npm"]) chownSync(join(home, path), user.uid, user.gid);
  const checkout = join(home, "kurier");
  await firstPath(checkout);
  if (!args.has("--first-only")) await secondPath(checkout);
  if (args.has("--keep")) keep(run("git", ["rev-parse", "--short", "HEAD"], { cwd: checkout }).trim());
} finally {
  if (user.uid !== undefined) spawnSync("userdel", [name], { stdio: "ignore" });
  rmSync(home, { recursive: true, force: true });
}
