/** dist/ is built before the tests begin: two processes that build it at once would each meet half of the other's. */
import { buildIfNeeded } from "../../../deploy/build.mjs";

export default async function setup(): Promise<void> {
  await buildIfNeeded();
}
