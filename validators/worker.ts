/** Entry of a worker thread that does what this package can do. */
import { createRunner, handingOver, LOADERS } from "./batches.js";

export default handingOver(await createRunner(LOADERS));
