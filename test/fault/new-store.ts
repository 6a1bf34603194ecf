/**
 * Opens a job cache that is not there yet, in a process of its own: what a full disk does to it. Prints the error's code and message, or "opened".
 */
import { hasCode } from "../../src/errors.ts";
import { openLmdbJobCache } from "../../src/store/drivers/lmdb/job-cache.ts";

const [path = ""] = process.argv.slice(2);
try {
  await openLmdbJobCache({ path, shards: 1, durability: "fsync" }).close();
  process.stdout.write("opened");
} catch (error) {
  process.stdout.write(`${hasCode(error, "STORE_FAILED") ? "STORE_FAILED" : "unknown"} ${(error as Error).message}`);
}
