/** Runner `manage.key_regen`: makes the minions create new keys, then removes the master's own keys and its copies of the minions' keys. */
import { readdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { isDirectory } from "../../config/files/kinds.ts";
import type { RunnerContext, RunnerFunction } from "../contract/contract.ts";
import { runJob } from "../contract/run-job.ts";

/** Salt's words. */
const doneText = `The minion and master keys have been deleted.  Restart the Salt
Master within the next 60 seconds!!!

Wait for the minions to reconnect.  Once the minions reconnect
the new keys will appear in pending and will need to be re-
accepted by running:
    salt-key -A

Be advised that minions not currently connected to the master
will not be able to reconnect and may require manual
regeneration via a local call to
    salt-call saltutil.regen_keys`;

/** Removes everything but directories, at any depth. As in Salt, a link to a directory is neither followed nor removed. */
function removeFiles(directory: string, kept: string[]): void {
  // The recursive readdir of Node.js follows links.
  for (const entry of readdirSync(directory, { withFileTypes: true })) {
    const path = join(directory, entry.name);
    try {
      if (entry.isDirectory()) removeFiles(path, kept);
      else if (!isDirectory(path)) rmSync(path, { force: true });
    } catch (error) {
      if (!(error instanceof Error && "code" in error)) throw error;
      kept.push(`${path} could not be removed: ${error.message}`);
    }
  }
}

/** As in Salt, without confirmation. A minion that misses the job keeps trusting the removed master key. */
async function regenerate(context: RunnerContext): Promise<string> {
  const { pki_dir: pkiDir } = context.config;
  await runJob(context, { fun: "saltutil.regen_keys", arg: [], target: "*", targetKind: "glob" });
  const kept: string[] = [];
  removeFiles(pkiDir, kept);
  for (const text of kept) context.note?.(text);
  return doneText;
}

export const keyRegenRunner: ReadonlyMap<string, RunnerFunction> = new Map<string, RunnerFunction>([
  [
    "manage.key_regen",
    {
      parameters: [],
      doc: "Removes the keys of ALL minions and of this master: it must be restarted within 60 seconds, and every minion's new key accepted.",
      run: regenerate,
    },
  ],
]);
