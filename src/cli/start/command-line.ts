/** Reads the words of a command line, or ends the command with help, a version or a usage error. */
import { readFileSync } from "node:fs";
import { Exit } from "../host/exit.ts";
import type { Host } from "../host/host.ts";
import { type CommandName, parseCommandLine, type Understood } from "../options/parse.ts";
import { readSaltfile } from "./read-saltfile.ts";
import { programVersion, versionsText } from "./version.ts";

/** @throws Exit after help, version or a usage error */
export function understand<C extends CommandName>(name: C, argv: readonly string[], host: Host): Understood<C> {
  const line = parseCommandLine(name, argv, {
    version: programVersion(),
    versionsReport: versionsText,
    readSaltfile: (program, given) => readSaltfile(program, given, host),
    columns: host.columns,
    readStdin: () =>
      readFileSync(0, "utf8")
        .split("\n")
        .filter((word) => word !== ""),
  });
  if (line.ok) return line;
  host.write(line.stdout);
  host.complain(line.stderr);
  throw new Exit(line.exitCode);
}
