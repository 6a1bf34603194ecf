/** The version of the program and the versions of its parts. */

import { readOwnPackage } from "../../config/host/program.ts";
import { readDistribution } from "../../minion/modules/grains/os.ts";
import { versionsReport } from "../../minion/modules/minion/versions.ts";

export function programVersion(): string {
  return readOwnPackage().version;
}

/** Like Salt's report, it ends with a line of one space. */
export function versionsText(): string {
  const { os, osrelease, oscodename } = readDistribution();
  const distribution = [os.toLowerCase(), osrelease, oscodename].filter((part) => part !== "").join(" ");
  return `${versionsReport(distribution)}\n \n`;
}
