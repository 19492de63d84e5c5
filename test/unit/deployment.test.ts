/** What deploys Kurier agrees with what Kurier is: variables that exist, paths that are packed, nobody who is root. */
import { execFileSync, spawn, spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { expect, test } from "vitest";
import { parse } from "yaml";

import { AS_NPM_START } from "../../bench/engine.js";
import { loadConfig } from "../../engine/base/config.js";
import { LIMITS } from "../../engine/base/limits.js";
import { METRICS } from "../../engine/base/metrics.js";
import { ROOT } from "../support/sources.js";

const read = (path: string): string => readFileSync(join(ROOT, path), "utf8");
const VARIABLES = new Set([...read("deploy/env.example").matchAll(/\b([A-Z][A-Z0-9_]+)\b/g)].map(([, name]) => name));
/** Variables of Node.js, of glibc and of the NATS configuration, not of ours. */
const OF_OTHERS = new Set(["NODE_ENV", "MALLOC_MMAP_THRESHOLD_", "MALLOC_ARENA_MAX", "NATS_NAME", "NATS_PASSWORD"]);
const { files, scripts, version } = JSON.parse(read("package.json")) as {
  readonly files: readonly string[];
  readonly scripts: Readonly<Record<string, string>>;
  readonly version: string;
};
const unit = read("deploy/systemd/kurier.service");
const dockerfile = read("deploy/docker/Dockerfile");
const chart = ["_helpers.tpl", "migration.yaml"].map((name) => read(`deploy/helm/kurier/templates/${name}`)).join("\n");

const onPath = (name: string): boolean =>
  (process.env["PATH"] ?? "").split(delimiter).some((folder) => existsSync(join(folder, name)));

const isPacked = (path: string): boolean =>
  files.some((entry) => path === entry || (entry.endsWith("/") && path.startsWith(entry)));

test("the unit, the image and the chart set only variables that the engine knows", () => {
  const set = [
    ...[...unit.matchAll(/^Environment=(.*)$/gm)].flatMap(([, list = ""]) => list.split(" ")),
    ...[...dockerfile.matchAll(/^ENV (.*)$/gm)].flatMap(([, list = ""]) => list.split(" ")),
    ...[...chart.matchAll(/name: ([A-Z][A-Z0-9_]+), value/g)].map(([, name = ""]) => name),
  ].map((assignment) => assignment.split("=")[0] ?? "");
  expect(set.length).toBeGreaterThan(8);
  expect(set.filter((name) => !VARIABLES.has(name.replace(/_FILE$/, "")) && !OF_OTHERS.has(name))).toEqual([]);
});

test("the unit and the image start the program that the package holds, without a shell between", () => {
  for (const text of [unit, dockerfile]) {
    const [, path = ""] = /\/opt\/kurier\/(?:node_modules\/kurier\/)?(\S+?)[" ]/.exec(text) ?? [];
    expect(isPacked(path), path).toBe(true);
    expect(existsSync(join(ROOT, path)), path).toBe(true);
  }
  expect(dockerfile).toMatch(/^ENTRYPOINT \["node", /m);
  expect(unit).toMatch(/^ExecStart=\/usr\/bin\/node /m);
});

test("benchmarks start the engine as npm start does", () => {
  const told = 'env() { printf \'%s\\n\' "$1" "$2"; shift 3; printf \'%s\\n\' "$@"; };';
  const asked = execFileSync("sh", ["-c", `${told} ${(scripts["start"] ?? "").replace("exec ", "")}`], {
    encoding: "utf8",
  });
  const { nodeOptions, env } = AS_NPM_START;
  const expected = [...Object.entries(env).map(([name, value]) => `${name}=${value}`), ...nodeOptions];
  expect(asked.trim().split("\n")).toEqual([...expected, "gateway/kurier.mjs", "serve"]);
});

test("every credential that the unit names is loaded, and none lies in its environment", () => {
  const loaded = [...unit.matchAll(/^LoadCredential=([\w-]+):/gm)].map(([, name]) => name);
  const used = [...unit.matchAll(/=%d\/([\w-]+)/g)].map(([, name]) => name);
  expect(used.toSorted()).toEqual(loaded.toSorted());
  expect(unit).not.toMatch(/(KEY|TOKEN|PASSWORD|DATABASE_URL)=[^%]/);
});

test("the image has a pinned base, nobody who is root, and no file that the checkout keeps out", () => {
  for (const [, image = ""] of dockerfile.matchAll(/^FROM (\S+)/gm)) expect(image).toMatch(/^node:\d+\.\d+\.\d+-/);
  const user = dockerfile.lastIndexOf("\nUSER node");
  expect(user).toBeGreaterThan(0);
  expect(user).toBeLessThan(dockerfile.indexOf("\nENTRYPOINT"));
  expect(dockerfile).not.toMatch(/^(ADD|USER root)|:latest/m);
  expect(read(".dockerignore").split("\n")).toEqual(expect.arrayContaining([".git", "node_modules", "data"]));
});

test("the image has the parts of the lock file and no others, those that the list of a release names", () => {
  const [, inside = ""] = dockerfile.split(/^FROM .*$/m).slice(1);
  expect(inside).toMatch(/^COPY --from=package \/src\/package-lock\.json \/src\/\.npmrc \.\/$/m);
  expect(inside).toMatch(/&& npm ci --omit=dev /);
  expect(inside).not.toMatch(/npm (?:install|i) |--no-package-lock/);
});

test("the guide names files that exist, and this release's package", () => {
  const guide = read("docs/deploy.md");
  for (const [, path = ""] of guide.matchAll(/\]\((?:\.\.\/)?([^)#]+)\)/g))
    expect(existsSync(join(ROOT, path)) || existsSync(join(ROOT, "docs", path)), path).toBe(true);
  expect(guide).toContain(`kurier-${version}.tgz`);
});

/** What runs each command of the guide of deploying; those that need containers or a cluster are read here. */
const RUN_BY: readonly (readonly [command: RegExp, file: string])[] = [
  [/^npm run -s pack$/, "test/integration/operators/packed.test.ts"],
  [/^npm install --omit=dev --omit=optional \S+$/, "test/integration/operators/packed.test.ts"],
  [/^kurier (?:migrate|serve)$/, "test/integration/operators/compose.test.ts"],
  [/^docker (?:build|run) /, "test/unit/deployment.test.ts"],
  [/^docker compose -f deploy\/compose\/compose\.yml /, "test/integration/operators/compose.test.ts"],
  [/^helm install kurier deploy\/helm\/kurier /, "test/unit/deployment.test.ts"],
];

/** The commands of the guide's blocks that have no language of their own, each in one line and without its remark. */
const commandsOfGuide = (): readonly string[] =>
  [...read("docs/deploy.md").matchAll(/^```\n([^]*?)^```$/gm)]
    .flatMap(([, block = ""]) => block.replaceAll(/\\\n\s*/g, "").split("\n"))
    .map((line) => line.replace(/\s+# .*$/, "").trim())
    .filter((line) => /^[a-z]+ /.test(line) && !/^\w+ = /.test(line));

test("every command of the guide of deploying is run by a test, or its options are those of what it names", () => {
  const commands = commandsOfGuide();
  expect(commands.length).toBeGreaterThan(RUN_BY.length);
  for (const command of commands) {
    const [, file] = RUN_BY.find(([form]) => form.test(command)) ?? [];
    expect(file, command).toBeDefined();
    expect(existsSync(join(ROOT, file ?? "")), file).toBe(true);
    for (const [, path = ""] of command.matchAll(/\s(deploy\/\S+)/g))
      expect(existsSync(join(ROOT, path)), path).toBe(true);
  }
  const run = commands.find((command) => command.startsWith("docker run ")) ?? "";
  const ports = [...run.matchAll(/-p (?:[\d.]+:)?\d+:(\d+)/g)].map(([, port]) => port);
  expect(ports.join(" ")).toBe(/^EXPOSE (.*)$/m.exec(dockerfile)?.[1]);
  expect(JSON.parse(/^VOLUME (.*)$/m.exec(dockerfile)?.[1] ?? "[]")).toEqual([/-v \S+:(\S+)/.exec(run)?.[1]]);
  const values = parse(read("deploy/helm/kurier/values.yaml")) as Readonly<Record<string, unknown>>;
  const helm = commands.find((command) => command.startsWith("helm ")) ?? "";
  for (const [, name = ""] of helm.matchAll(/--set ([\w.]+)=/g))
    expect(
      name.split(".").reduce<unknown>((of, part) => (of as Readonly<Record<string, unknown>>)[part], values),
      name,
    ).toBe("");
});

test.skipIf(!onPath("systemd-analyze"))("systemd reads the unit without a word, and rates its exposure below 2", () => {
  const folder = mkdtempSync(join(tmpdir(), "kurier-unit-"));
  try {
    const path = join(folder, "kurier.service");
    writeFileSync(path, unit.replace("/usr/bin/node", process.execPath));
    const run = (...args: readonly string[]): string =>
      execFileSync("systemd-analyze", [...args, path], { encoding: "utf8", stdio: ["ignore", "pipe", "pipe"] });
    expect(run("verify")).toBe("");
    const [, exposure = "10"] =
      /exposure level for kurier\.service: ([\d.]+)/.exec(run("security", "--offline=true")) ?? [];
    expect(Number(exposure)).toBeLessThan(2);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});

test.skipIf(!onPath("nats-server"))("nats-server accepts the configuration", () => {
  const env = { PATH: process.env["PATH"], NATS_NAME: "nats-1", NATS_PASSWORD: "secret" };
  expect(() =>
    execFileSync("nats-server", ["-t", "-c", join(ROOT, "deploy/nats/nats.conf")], { env, stdio: "pipe" }),
  ).not.toThrow();
});

test("nginx takes the largest message that an engine takes, speaks to it as it asks, and drops connections before it", () => {
  const nginx = read("deploy/nginx/kurier.conf");
  const most = Number(/^\s*client_max_body_size (\d+)m;$/m.exec(nginx)?.[1]) * 1024 ** 2;
  expect(most).toBeGreaterThanOrEqual(Math.max(LIMITS.as4_body_bytes_max, LIMITS.request_body_bytes_max));
  expect(nginx).toMatch(/^\s*proxy_http_version 1\.1;$/m);
  expect(nginx).toContain(`keepalive_timeout ${LIMITS.connection_reusable_ms / 1_000}s;`);
  expect(nginx).not.toMatch(/9090/);
});

test.skipIf(!onPath("nginx"))("nginx accepts the configuration", () => {
  const folder = mkdtempSync(join(tmpdir(), "kurier-nginx-"));
  try {
    const [key, certificate, conf] = ["ap.key", "ap.pem", "nginx.conf"].map((name) => join(folder, name));
    execFileSync(
      "openssl",
      [
        "req",
        "-x509",
        "-newkey",
        "rsa:2048",
        "-nodes",
        "-subj",
        "/CN=ap.example",
        "-keyout",
        key ?? "",
        "-out",
        certificate ?? "",
      ],
      { stdio: "pipe" },
    );
    const site = read("deploy/nginx/kurier.conf").replaceAll("/etc/nginx/ap.example.", join(folder, "ap."));
    writeFileSync(conf ?? "", `pid ${join(folder, "pid")};\nevents {}\nhttp {\n${site}\n}\n`);
    expect(() => execFileSync("nginx", ["-t", "-p", folder, "-c", conf ?? ""], { stdio: "pipe" })).not.toThrow();
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});

test("nothing that a package brings along has a licence that asks for more than its text, and one that does is named", () => {
  const run = (lockfile: string) =>
    spawnSync(process.execPath, [join(ROOT, "deploy/licences.mjs"), lockfile], { encoding: "utf8" });
  expect(run(join(ROOT, "package-lock.json"))).toMatchObject({ status: 0, stderr: "" });
  const folder = mkdtempSync(join(tmpdir(), "kurier-licences-"));
  const strange = join(folder, "package-lock.json");
  const packages = {
    "": {},
    "node_modules/kept": { version: "1.0.0", license: "MIT" },
    "node_modules/strict": { version: "2.0.0", license: "AGPL-3.0-only" },
    "node_modules/silent": { version: "3.0.0" },
    "node_modules/tool": { version: "4.0.0", license: "AGPL-3.0-only", dev: true },
  };
  writeFileSync(strange, JSON.stringify({ packages }));
  const refused = run(strange);
  rmSync(folder, { recursive: true });
  expect(refused.status).toBe(1);
  expect(refused.stderr.match(/^\S+/gm)).toEqual(["strict@2.0.0", "silent@3.0.0"]);
});

const template = (name: string): string => read(`deploy/helm/kurier/templates/${name}.yaml`);
const helpers = read("deploy/helm/kurier/templates/_helpers.tpl");
/** What a definition of the chart's helpers holds, when it has no value to fill in. */
const defined = (name: string): unknown =>
  parse(new RegExp(`define "${name}" -}}\\n([^]*?)\\n{{- end -}}`).exec(helpers)?.[1] ?? "");
const values = parse(read("deploy/helm/kurier/values.yaml")) as {
  readonly nodes: { readonly replicas: number; readonly terminationGracePeriodSeconds: number };
  readonly autoscaling: { readonly metric: string; readonly minReplicas: number; readonly maxReplicas: number };
  readonly networkPolicy: { readonly enabled: boolean; readonly metricsFrom: readonly unknown[] };
  readonly disruption: { readonly maxUnavailable: number };
};

interface Schema {
  readonly type?: unknown;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly additionalProperties?: unknown;
}

/** Names of values, each behind those above it, and how the schema says that it has no others. */
const namesIn = (schema: Schema, above = ""): readonly string[] =>
  Object.entries(schema.properties ?? {}).flatMap(([name, inner]) => [
    `${above}${name}${inner.properties !== undefined && inner.additionalProperties !== false ? " takes any name" : ""}`,
    ...namesIn(inner, `${above}${name}.`),
  ]);

test("the chart takes the values that it has and no others, so that a misspelt one is told", () => {
  const schema = JSON.parse(read("deploy/helm/kurier/values.schema.json")) as Schema;
  const known = namesIn(schema);
  /** Of the values, as deep as the schema names any. */
  const named = (value: unknown, above = ""): readonly string[] =>
    Object.entries(value as Readonly<Record<string, unknown>>).flatMap(([name, inner]) => [
      `${above}${name}`,
      ...(known.some((one) => one.startsWith(`${above}${name}.`)) ? named(inner, `${above}${name}.`) : []),
    ]);
  expect(schema.additionalProperties).toBe(false);
  // Helm gives each chart an empty one of these.
  expect(known.filter((name) => name !== "global").toSorted()).toEqual([...named(values)].toSorted());
});

test("pods of the chart are nobody's root, write to volumes alone, gain no rights and call no system but the usual", () => {
  expect(defined("kurier.podSecurity")).toEqual({
    ...{ runAsNonRoot: true, runAsUser: 1000, runAsGroup: 1000, fsGroup: 1000 },
    fsGroupChangePolicy: "OnRootMismatch",
    seccompProfile: { type: "RuntimeDefault" },
  });
  expect(defined("kurier.containerSecurity")).toEqual({
    ...{ allowPrivilegeEscalation: false, readOnlyRootFilesystem: true },
    capabilities: { drop: ["ALL"] },
  });
  for (const name of ["deployment", "migration"]) {
    const text = template(name);
    expect(text, name).toMatch(/^ {6}securityContext: \{\{- include "kurier\.podSecurity" \. \| nindent 8 \}\}$/m);
    expect(text.match(/^ {10}securityContext: \{\{- include "kurier\.containerSecurity"/gm), name).toHaveLength(
      text.match(/^ {10}image: /gm)?.length ?? 0,
    );
    expect(text, name).toContain("automountServiceAccountToken: false");
    expect(text, name).not.toMatch(/hostNetwork|hostPath|hostPID|privileged/);
  }
});

test("the migration has the variables and volumes of a node, but for the claim of the evidence, which comes later", () => {
  for (const name of ["deployment", "migration"]) {
    const text = template(name);
    expect(text, name).toMatch(/^ {10}env: \{\{- include "kurier\.environment" \. \| nindent 12 \}\}$/m);
    expect(text, name).toMatch(/^ {10}volumeMounts: \{\{- include "kurier\.mounts" \. \| nindent 12 \}\}$/m);
    expect(text, name).toMatch(/^ {6}volumes: \{\{- include "kurier\.volumes" \. \| nindent 8 \}\}$/m);
  }
  expect(helpers).toContain("range $name, $value := .Values.environment");
  for (const more of ["extraVolumes", "extraVolumeMounts"]) {
    expect(helpers).toContain(`{{- with .Values.${more} }}\n{{ toYaml . }}`);
    expect(values).toHaveProperty(more, []);
  }
  expect(template("migration")).not.toContain("evidence");
});

test("pods of the chart are told of no service, since one named admin would take the operators' port", () => {
  expect(() => loadConfig({ ADMIN_PORT: "tcp://10.0.0.7:80" })).toThrow(/^ADMIN_PORT /);
  for (const name of ["deployment", "migration"]) expect(template(name)).toMatch(/^ {6}enableServiceLinks: false$/m);
});

test("pods of the chart ask for processor and memory, so that a quota lets the migration start, too", () => {
  for (const name of ["deployment", "migration"])
    expect(template(name)).toMatch(/^ {10}resources: \{\{- toYaml \.Values\.nodes\.resources \| nindent 12 \}\}$/m);
});

test("the guide and the chart have a proxy take the largest body that the engine takes", () => {
  const largest = `${Math.max(LIMITS.as4_body_bytes_max, LIMITS.request_body_bytes_max) / 2 ** 20}m`;
  expect(read("docs/deploy.md")).toContain(`\`client_max_body_size ${largest}\``);
  expect(read("deploy/nginx/kurier.conf")).toContain(`client_max_body_size ${largest};\n`);
  expect(read("deploy/helm/kurier/values.yaml")).toContain(`proxy-body-size: ${largest}\n`);
});

test("the image that a release pushes is the one that the chart of that release asks for", () => {
  const chart = parse(read("deploy/helm/kurier/Chart.yaml")) as Readonly<Record<string, unknown>>;
  expect(chart).toMatchObject({ version, appVersion: version });
  expect(helpers).toContain("{{ .Values.image.tag | default .Chart.AppVersion }}");
  // The tag of the sources is the version behind a v.
  const pushed = [...read(".github/workflows/release.yml").matchAll(/ghcr\.io\/[^:]+:(\S+?)"/g)].map(([, tag]) => tag);
  expect(pushed).toEqual(["${GITHUB_REF_NAME#v}", "${GITHUB_REF_NAME#v}"]);
});

test("the image is well while its operators' listener answers, whatever port that has", async () => {
  const [, command = "[]"] = /^HEALTHCHECK [^]*?CMD (.*)$/m.exec(dockerfile) ?? [];
  const [, ...args] = JSON.parse(command) as readonly string[];
  let status = 200;
  const server = createServer((request, response) => {
    response.writeHead(request.url === "/livez" ? status : 404).end();
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  const ask = (): Promise<number | null> => {
    const child = spawn(process.execPath, args, { env: { ADMIN_PORT: String(port) } });
    return new Promise((resolve) => child.once("exit", resolve));
  };
  const codes = [await ask()];
  status = 503;
  codes.push(await ask());
  await new Promise((resolve) => server.close(resolve));
  codes.push(await ask());
  expect(codes).toEqual([0, 1, 1]);
});

test("who stops a container gives it as long as the chart does", () => {
  const { services } = parse(read("deploy/compose/compose.yml"), { merge: true }) as {
    readonly services: Readonly<Record<string, { readonly image: string; readonly stop_grace_period?: string }>>;
  };
  const grace_s = values.nodes.terminationGracePeriodSeconds;
  for (const name of ["a", "b"]) expect(services[name]?.stop_grace_period, name).toBe(`${grace_s}s`);
  expect(read("docs/deploy.md")).toMatch(new RegExp(`^docker run .*--stop-timeout ${grace_s} `, "m"));
});

test("the chart's probes ask the operators' listener, and a node has longer to leave than its last requests take", () => {
  const probes = [...template("deployment").matchAll(/(\w+)Probe:\n\s+httpGet: \{ path: (\S+), port: (\w+) \}/g)];
  expect(probes.map(([, ...probe]) => probe)).toEqual([
    ["startup", "/livez", "admin"],
    ["liveness", "/livez", "admin"],
    ["readiness", "/readyz", "admin"],
  ]);
  expect(values.nodes.terminationGracePeriodSeconds).toBeGreaterThanOrEqual(60);
  expect(template("deployment")).toContain("rollingUpdate: { maxUnavailable: 0, maxSurge: 1 }");
});

test("pods that the Prometheus operator finds are scraped under the job that alerts and dashboards ask for", () => {
  const [, label = ""] = /^ {2}jobLabel: (\S+)$/m.exec(template("pod-monitor")) ?? [];
  const labels = defined("kurier.instance") as Readonly<Record<string, string>>;
  const asked = ["deploy/prometheus/alerts.yml", "deploy/grafana/overview.json"].flatMap((path) => [
    ...read(path).matchAll(/job=\\?"(\w+)/g),
  ]);
  expect(asked.length).toBeGreaterThan(1);
  expect(new Set(asked.map(([, job]) => job))).toEqual(new Set([labels[label]]));
});

test("the operators' port is open to whom the policy names, and no service offers it", () => {
  expect(values.networkPolicy.enabled).toBe(true);
  expect(values.networkPolicy.metricsFrom.length).toBeGreaterThan(0);
  // Under an empty list of peers everybody may call.
  expect(template("network-policy")).toMatch(
    /\{\{- with \.Values\.networkPolicy\.metricsFrom \}\}\n.*\n\s+- ports: \[\{ port: admin \}\]\n\s+from: \{\{- toYaml \. .*\n\s+\{\{- end \}\}/,
  );
  expect(template("service")).not.toMatch(/port: admin|targetPort: admin|9090/);
});

test("eviction leaves a node, and more nodes come by the age of the queue, a metric that the engine has", () => {
  expect(template("disruption")).toContain("maxUnavailable: {{ .Values.disruption.maxUnavailable }}");
  expect(values.disruption.maxUnavailable).toBeLessThan(values.nodes.replicas);
  expect(template("autoscaling")).toMatch(/metric: \{ name: \{\{ \.Values\.autoscaling\.metric \}\} \}/);
  expect(Object.keys(METRICS).map((name) => `kurier_${name}`)).toContain(values.autoscaling.metric);
  expect(values.autoscaling.minReplicas).toBeGreaterThan(values.disruption.maxUnavailable);
  expect(values.autoscaling.maxReplicas).toBeGreaterThan(values.autoscaling.minReplicas);
});

test("every container of ours in the compose file has a file system that is read and no way to more rights", () => {
  const { services } = parse(read("deploy/compose/compose.yml"), { merge: true }) as {
    readonly services: Readonly<Record<string, { readonly image: string; readonly ports?: readonly string[] }>>;
  };
  const ours = Object.entries(services).filter(([, { image }]) => image.startsWith("kurier:"));
  expect(ours.map(([name]) => name)).toEqual(["pki-a", "pki-b", "a", "b"]);
  for (const [name, service] of ours)
    expect(service, name).toMatchObject({
      ...{ read_only: true, tmpfs: ["/tmp"], cap_drop: ["ALL"], ulimits: { core: 0 } },
      security_opt: ["no-new-privileges:true"],
    });
  for (const { ports = [] } of Object.values(services))
    for (const port of ports) expect(port).toMatch(/^127\.0\.0\.1:/);
});

test("the unit's process gains no rights, and writes its own directory alone", () => {
  const set = new Map([...unit.matchAll(/^(\w+)=(.*)$/gm)].map(([, name = "", value = ""]) => [name, value]));
  const asked = {
    ...{ User: "kurier", NoNewPrivileges: "yes", ProtectSystem: "strict", ProtectHome: "yes", PrivateTmp: "yes" },
    ...{ CapabilityBoundingSet: "", AmbientCapabilities: "", LimitCORE: "0", UMask: "0077", StateDirectory: "kurier" },
  };
  for (const [name, value] of Object.entries(asked)) expect(set.get(name), name).toBe(value);
  expect(unit).not.toMatch(/^ReadWritePaths=/m);
});
