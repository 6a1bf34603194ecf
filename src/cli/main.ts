/** The program's entry: one command line, one exit code. */
import "./daemon/first-signals.ts";
import "./host/gone-terminal.ts";
import { dispatch } from "./dispatch.ts";
import { endCommand } from "./host/end-command.ts";
import { processHost } from "./host/host.ts";

const argv = process.argv.slice(2);
await endCommand(argv[0], await dispatch(argv, processHost()));
