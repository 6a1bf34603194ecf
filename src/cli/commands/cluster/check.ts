/** `saltworks cluster check`: shows how the members' versions, options, clocks and files differ. */

import { checkCluster } from "../../../cluster/asking/own-server.ts";
import type { LikenessReport } from "../../../cluster/likeness/ask.ts";
import type { Difference } from "../../../cluster/likeness/compare.ts";
import type { MasterConfig } from "../../../config/schema.ts";
import type { Host } from "../../host/host.ts";

const exitCodes = { alike: 0, different: 1, unasked: 2 } as const;

/** @returns the exit code. @throws SaltworksError CLUSTER_UNAVAILABLE if this machine's server cannot be asked */
export async function showCheck(config: MasterConfig, isJson: boolean, host: Host): Promise<number> {
  const report = await checkCluster(config);
  host.write(isJson ? `${JSON.stringify(report, undefined, 2)}\n` : reportText(report));
  return exitCodeOf(report);
}

/** A difference counts more than a member that did not answer. */
export function exitCodeOf({ differences, unasked }: Pick<LikenessReport, "differences" | "unasked">): number {
  if (differences.length > 0) return exitCodes.different;
  return unasked.length > 0 ? exitCodes.unasked : exitCodes.alike;
}

export function reportText({ cluster, members, differences, omitted, unasked }: LikenessReport): string {
  const masters = members.filter(({ role }) => role === "master").map(({ name }) => name);
  const witnesses = members.flatMap(({ name, role }) =>
    role === "witness" ? [`  ${name}: a witness, without files\n`] : [],
  );
  const more = omitted > 0 ? `  and ${omitted.toLocaleString("en-US")} more\n` : "";
  const silent = unasked.map(({ member, why }) => `  ${member}: ${why}\n`);
  const count = differences.length + omitted;
  const closing =
    count > 0
      ? `The members differ in ${count === 1 ? "one place" : `${count.toLocaleString("en-US")} places`}.\n`
      : unasked.length > 0
        ? "What could be asked is alike.\n"
        : "The members are alike.\n";
  return [
    `Cluster ${cluster}: compared ${masters.join(", ")}\n`,
    ...witnesses,
    ...differences.map((one) => `  ${lineOf(one)}\n`),
    more,
    ...(silent.length > 0 ? ["Not asked:\n", ...silent] : []),
    closing,
  ].join("");
}

function lineOf({ member, subject, environment, name, kind, detail }: Difference): string {
  const what =
    subject === "version" || subject === "clock" ? subject : [subject, environment, name].filter(Boolean).join(" ");
  return `${member}: ${what}: ${kind}${detail === undefined ? "" : ` (${detail})`}`;
}
