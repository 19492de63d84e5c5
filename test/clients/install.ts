/** vitest globalSetup: installs what this suite runs beside the project, as its own lock file says. */
import { execFileSync } from "node:child_process";
import { fileURLToPath } from "node:url";

export default function install(): void {
  execFileSync("npm", ["ci", "--no-audit", "--no-fund"], {
    cwd: fileURLToPath(new URL(".", import.meta.url)),
    stdio: ["ignore", "ignore", "inherit"],
  });
}
