/** The program's version, from the package it runs from, and those of what it is made of. */

import { readOwnPackage } from "../../config/host/program.ts";
import { readDistribution } from "../../minion/modules/grains/os.ts";
import { versionsReport } from "../../minion/modules/minion/versions.ts";

export function programVersion(): string {
  return readOwnPackage().version;
}

/** Ends, as Salt's report does, with an empty line. */
export function versionsText(): string {
  const { os, osrelease, oscodename } = readDistribution();
  const distribution = [os.toLowerCase(), osrelease, oscodename].filter((part) => part !== "").join(" ");
  return `${versionsReport(distribution)}\n \n`;
}
