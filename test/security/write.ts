/** `npm run -s security:table`: writes docs/operators/security.md. */
import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";

import { PAGE, securityPage } from "./page.js";

const path = join(process.cwd(), PAGE);
mkdirSync(dirname(path), { recursive: true });
writeFileSync(path, securityPage());
