/** Starts members of a cluster that a scenario drives as it drives one master: the operator works at the first member, minions at all. */

import type { MasterProcess } from "../../master-process.ts";
import { type BenchMember, serverProcessId, startCluster } from "../../members/cluster.ts";
import type { ClusterUnderTest, MasterUnderTest, MemberUnderTest } from "./master-contract.ts";
import { readCounters, readMetrics } from "./running-master.ts";

/** @throws SaltworksError USAGE without a `nats-server`, MASTER_UNREACHABLE if a member does not come up */
export async function startClusterUnderTest(
  count: number,
  config: Readonly<Record<string, unknown>>,
  handleOf: (master: MasterProcess) => MasterUnderTest,
  signal?: AbortSignal,
): Promise<MasterUnderTest> {
  const { members, natsServerVersion, remove } = await startCluster(count, config, signal);
  const [first] = members;
  if (first === undefined) throw new RangeError("a cluster without members");
  const cluster: ClusterUnderTest = { natsServerVersion, members: members.map(memberOf), takerCount: count };
  return Object.assign(handleOf(first.process), {
    cluster,
    counters: () => readCounters(first.process.client()),
    metrics: () => readMetrics(first.metricsUrl),
    remove,
  });
}

function memberOf(member: BenchMember, at: number): MemberUnderTest {
  const { processId, requestPort, publishPort, cacheDirectory } = member.process;
  const name = `member${at + 1}`;
  return { name, processId, serverProcessId: serverProcessId(member), requestPort, publishPort, cacheDirectory };
}

/** The same cluster with all minions at its first member, which shows apart what that member and the others spend. */
export function withOneTaker(master: MasterUnderTest, cluster: ClusterUnderTest): MasterUnderTest {
  // A prototype, because getters of the handle are read anew each time.
  return Object.assign(Object.create(master) as MasterUnderTest, { cluster: { ...cluster, takerCount: 1 } });
}
