/** `saltworks bench report`: writes the page of a result beside the result, or to the path that is given. */
import { writeFileSync } from "node:fs";
import type { Host } from "../../src/cli/host/host.ts";
import { SaltworksError } from "../../src/errors.ts";
import { reportHtml } from "../report/page.ts";
import { readResult } from "../results/files.ts";

/** @returns the exit code */
export function writeReport(paths: readonly string[], file: string | undefined, host: Host): number {
  const [path, ...others] = paths;
  if (path === undefined || others.length > 0) throw new SaltworksError("USAGE", "report takes one result file");
  const target = file ?? `${path.replace(/\.json$/, "")}.html`;
  // If the result's name has no ending, its report must not overwrite it.
  if (target === path) throw new SaltworksError("USAGE", `the report would overwrite the result ${path}`);
  writeFileSync(target, reportHtml(readResult(path)));
  host.write(`${target}\n`);
  return 0;
}
