/**
 * Asks a minion's scheduler from a process of its own, as a job does: `asker.js CONFIG-DIRECTORY
 * ROOT`. Tells its parent before it asks, and the result.
 */
import { join } from "node:path";
import { loadMinionConfig } from "../../../src/config/load.ts";
import type { CallContext } from "../../../src/minion/functions/module-contract.ts";
import { askScheduler } from "../../../src/minion/modules/schedule/ask.ts";

const [configDirectory = "", root = ""] = process.argv.slice(2);
const config = loadMinionConfig(configDirectory, { id: "unit", root_dir: root, sock_dir: join(root, "run") });
process.send?.("begins");
const answer = await askScheduler({ config } as unknown as CallContext, { func: "list" }, "list_complete");
process.send?.(answer === undefined ? "no answer" : "answered", () => process.disconnect());
