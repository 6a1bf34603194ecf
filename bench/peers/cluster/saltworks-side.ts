/** Three members of ours, each with its nats-server, on hosts of their own. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { newClusterSecret } from "../../../src/cluster/secret.ts";
import { SaltworksError } from "../../../src/errors.ts";
import type { FaultNetwork } from "../../../test/cluster/faults/network.ts";
import { descriptorLimits } from "../../fleet/descriptors.ts";
import { thisTool } from "../../machine.ts";
import { MasterProcess } from "../../master-process.ts";
import { killMachine, serverProcessId } from "../../members/cluster.ts";
import { startTogether } from "../../members/together.ts";
import { ourStored } from "../../scenarios/measures/accounting.ts";
import { readReturns } from "./returns.ts";
import { answerLimitMs, autosign, type Side, type SideCluster, type SideMember } from "./side.ts";

const program = fileURLToPath(new URL("../../../src/cli/main.js", import.meta.url));
const poolPort = 4_520;

export function saltworksSide(network: FaultNetwork, workers: number): Side {
  return { name: `saltworks ${thisTool().version}`, open: () => open(network, workers) };
}

async function open(network: FaultNetwork, workers: number): Promise<SideCluster> {
  const secret = newClusterSecret();
  const start = (host: string, at: number) =>
    MasterProcess.start({
      command: [...network.wordsFor(at), process.execPath, program, "master"],
      host,
      config: {
        id: `member${at + 1}`,
        cluster_id: "peer",
        cluster_secret: secret,
        cluster_pool_port: poolPort,
        cluster_peers: network.addresses.filter((other) => other !== host),
        autosign_file: `/${autosign.name}`,
        worker_threads: workers,
        log_level: "info",
      },
      descriptors: { least: 0, wanted: descriptorLimits().hard },
    });
  const processes = await startTogether(network.addresses.map(start));
  for (const { directory } of processes) writeFileSync(join(directory, autosign.name), autosign.content);
  const members = processes.map((member, at) => memberOf(member, network.addresses[at] ?? ""));
  return {
    members,
    failedStarts: 0,
    close: async () => {
      await Promise.all(members.map((member) => member.kill()));
      await Promise.all(processes.map((member) => member.remove()));
    },
  };
}

function memberOf(member: MasterProcess, host: string): SideMember {
  return {
    address: { host, requestPort: member.requestPort },
    client: () => member.client(),
    kill: () => killMachine({ process: member }),
    restart: () => member.restart(),
    acceptKey: async (id) => {
      const accepted = await namesOf(member, "key.accept", { match: id });
      if (!accepted.has(id)) throw new SaltworksError("REQUEST_REFUSED", `${id} is not accepted`);
    },
    acceptedKeys: () => namesOf(member, "key.list_all"),
    signal: (signal) => {
      for (const id of [-member.processId, serverProcessId({ process: member })]) process.kill(id, signal);
    },
    returns: (jids) => readReturns(ourStored(member), jids),
  };
}

/** The accepted minions in the answer of a wheel function. */
async function namesOf(member: MasterProcess, fun: string, kwargs: { readonly [key: string]: string } = {}) {
  const client = member.client();
  const timer = setTimeout(() => client.close(), answerLimitMs);
  try {
    const answer = await client.wheel(fun, kwargs);
    const names = answer instanceof Map ? answer.get("minions") : undefined;
    return new Set((Array.isArray(names) ? names : []).filter((name) => typeof name === "string"));
  } finally {
    clearTimeout(timer);
    client.close();
  }
}
