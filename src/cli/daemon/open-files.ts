/** `max_open_files`: limits the open files and connections of this process. Source: Salt's rule; root also raises the system's limit. */
import type { Logger } from "pino";
import { SaltworksError } from "../../errors.ts";
import { openFilesLimit } from "../../transport/open-files.ts";

/** Call it while the process is still root: Node.js has raised the soft limit to the hard limit, and only root can raise that. */
export async function raiseOpenFiles(wanted: number): Promise<void> {
  if (process.platform !== "linux" || process.getuid?.() !== 0 || openFilesLimit() >= wanted) return;
  const { limitOpenFiles } = await import("../host/system-calls.ts");
  try {
    limitOpenFiles(wanted);
  } catch (error) {
    // A container can refuse this even to root. `reportOpenFiles` then logs the limit.
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
