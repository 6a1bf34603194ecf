/** The program's version, and those of its parts. */

import { readOwnPackage } from "../../config/host/program.ts";
import { readDistribution } from "../../minion/modules/grains/os.ts";
import { versionsReport } from "../../minion/modules/minion/versions.ts";

export function programVersion(): string {
  return readOwnPackage().version;
}

/** As Salt's report, it ends with an empty line. */
export function versionsText(): string {
  const { os, osrelease, oscodename } = readDistribution();
  const distribution = [os.toLowerCase(), osrelease, oscodename].filter((part) => part !== "").join(" ");
  return `${versionsReport(distribution)}\n \n`;
}
