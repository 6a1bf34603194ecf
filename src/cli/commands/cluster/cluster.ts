/** `saltworks cluster`: makes a cluster, joins or leaves it, compares its members, and shows its servers. */
import { clusterIdFault } from "../../../cluster/names.ts";
import { natsPermissions } from "../../../cluster/operator/permissions.ts";
import { newClusterSecret } from "../../../cluster/secret.ts";
import { hasCode, SaltworksError } from "../../../errors.ts";
import type { Host } from "../../host/host.ts";
import { clusterWords } from "../../options/own-options.ts";
import { understand } from "../../start/command-line.ts";
import { masterConfig } from "../../start/configuration.ts";
import { showCheck } from "./check.ts";
import { leaveCluster } from "./leave.ts";
import { initCluster, joinCluster } from "./setup.ts";
import { showStatus } from "./status.ts";

const unaskedExitCode = 2;

/** @returns the exit code */
export async function runCluster(argv: readonly string[], host: Host): Promise<number> {
  const { options, positionals } = understand("cluster", argv, host);
  const [word, ...more] = positionals;
  if (!isWord(word) || more.length > 0) {
    const given = word === undefined ? "nothing is asked for" : `there is no '${positionals.join(" ")}'`;
    throw new SaltworksError("USAGE", `${given}; give one of ${Object.keys(clusterWords).join(", ")}`);
  }
  const config = () => masterConfig(options.configDir, host);
  switch (word) {
    case "init":
      return await initCluster(options, host);
    case "join":
      return await joinCluster(options, host);
    case "leave":
      return await leaveCluster(config(), options, host);
    case "check":
      return await unlessUnasked(host, () => showCheck(config(), options.isJson, host));
    case "permissions":
      host.write(permissionsText(options.id));
      return 0;
    case "secret":
      host.write(`${newClusterSecret()}\n`);
      return 0;
    case "status":
      return await unlessUnasked(host, () => showStatus(config(), options.isJson, host));
    default: {
      const never: never = word;
      throw new SaltworksError("USAGE", `there is no '${String(never)}'`);
    }
  }
}

/** @throws SaltworksError USAGE for an id that no cluster can have */
function permissionsText(clusterId: string | undefined): string {
  const fault = clusterId === undefined ? "--id is missing: the cluster's name" : clusterIdFault(clusterId);
  if (clusterId === undefined || fault !== undefined) throw new SaltworksError("USAGE", `${fault}`);
  return `${JSON.stringify(natsPermissions(clusterId), undefined, 2)}\n`;
}

function isWord(word: string | undefined): word is keyof typeof clusterWords {
  return word !== undefined && Object.hasOwn(clusterWords, word);
}

/** @returns the exit code of `show`, or the one for a cluster that cannot be asked, after a message */
async function unlessUnasked(host: Host, show: () => Promise<number>): Promise<number> {
  try {
    return await show();
  } catch (error) {
    // A usage error keeps its own code. All others say that this machine is not a member, or cannot ask as one.
    if (!(error instanceof SaltworksError) || hasCode(error, "USAGE")) throw error;
    host.complain(`saltworks cluster: ${error.message}\n`);
    return unaskedExitCode;
  }
}
