/** The program's entry: one command line, one exit code. */
import "./daemon/first-signals.ts";
import { dispatch } from "./dispatch.ts";
import { processHost } from "./host/host.ts";

process.exitCode = await dispatch(process.argv.slice(2), processHost());
