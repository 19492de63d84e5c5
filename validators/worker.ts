/** Entry of a worker thread that does what this package can do. */
import { createRunner, LOADERS } from "./batches.js";

export default await createRunner(LOADERS);
