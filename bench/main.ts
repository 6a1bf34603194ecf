/** The bench program, started by `saltworks bench`, `saltworks tune` and `saltworks size` with the command's name and arguments. */
import { answered } from "../src/cli/dispatch.ts";
import { processHost } from "../src/cli/host/host.ts";
import { openProgress } from "../src/cli/host/progress.ts";
import { benchCommand } from "./commands/bench.ts";
import { sizeCommand } from "./commands/size.ts";
import { tuneCommand } from "./commands/tune.ts";

const [name = "bench", ...argv] = process.argv.slice(2);
const host = processHost();
/** Writes to standard error, because standard output is the result. */
const progress = openProgress({ stream: process.stderr, isTerminal: process.stderr.isTTY === true });
const command = name === "tune" ? tuneCommand : name === "size" ? sizeCommand : benchCommand;
process.exitCode = await answered(name, host, () => command(argv, host, progress).finally(() => progress.close()));
