/** Runner `cluster`: the servers of the cluster that this master is a member of, and how its members differ. Salt does not have these functions. */
import type { RunnerFunction } from "../contract/contract.ts";

/** Loaded on demand, because a master that stands alone does not load the code of clusters. */
const asking = () => import("../../cluster/asking/own-server.ts");

export const clusterRunner: ReadonlyMap<string, RunnerFunction> = new Map<string, RunnerFunction>([
  [
    "cluster.status",
    {
      parameters: [],
      doc: "The cluster's servers as this member's own sees them, or a server of `cluster_nats_servers`, whether enough of them answer, and how many batch jobs and waiting jobs each member owns.",
      run: async ({ config }) => await (await asking()).clusterStatus(config),
    },
  ],
  [
    "cluster.check",
    {
      parameters: [],
      doc: "How the members' versions, options, clocks and files differ.",
      run: async ({ config }) => await (await asking()).checkCluster(config),
    },
  ],
]);
