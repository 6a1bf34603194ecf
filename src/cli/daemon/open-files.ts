/** `max_open_files`: how many files and connections this process may have open. Source: Salt's rule, with the limit raised where root may. */
import type { Logger } from "pino";
import { SaltworksError } from "../../errors.ts";
import { openFilesLimit } from "../../master/ports/open-files.ts";

/** As root, before it is given up. Node.js has raised the limit to the hard one, which only root can raise. */
export async function raiseOpenFiles(wanted: number): Promise<void> {
  if (process.platform !== "linux" || process.getuid?.() !== 0 || openFilesLimit() >= wanted) return;
  const { limitOpenFiles } = await import("../host/system-calls.ts");
  try {
    limitOpenFiles(wanted);
  } catch (error) {
    // Containers may keep root from it: the log says what the limit is.
    if (!(error instanceof SaltworksError)) throw error;
  }
}

export function reportOpenFiles(wanted: number, log: Pick<Logger, "warn">): void {
  if (process.platform !== "linux") return;
  const limit = openFilesLimit();
  if (limit < wanted)
    log.warn(
      `max_open_files is ${wanted}, but this process may open only ${limit} files: raise LimitNOFILE or ulimit -n`,
    );
}
