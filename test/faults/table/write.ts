/** `npm run -s faults:table`: writes docs/faults.md. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";

import { faultsPage, PAGE } from "./page.js";

writeFileSync(join(process.cwd(), PAGE), faultsPage(process.cwd()));
