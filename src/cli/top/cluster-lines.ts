/** Lines of `saltworks top` about a cluster, for a member of one. */
import type { ClusterServerView, ClusterView } from "./cluster-view.ts";
import { count } from "./figures.ts";
import type { Piece, Row } from "./pieces.ts";
import { alarm } from "./pieces.ts";

/** Who this is, and whether the cluster takes changes. */
export function clusterPieces({ cluster, member, hasJoined, ...view }: ClusterView): Piece[] {
  return [
    { text: `${cluster}, this is ${member}  ` },
    majorityOf(view),
    ...(hasJoined ? [] : [{ text: "  this member has not joined", ...alarm }]),
  ];
}

function majorityOf({
  hasQuorum,
  streamsWithoutLeader,
}: Pick<ClusterView, "hasQuorum" | "streamsWithoutLeader">): Piece {
  if (!hasQuorum) return { text: "has no majority: changes are refused", ...alarm };
  if (streamsWithoutLeader === 0) return { text: "has its majority" };
  const streams = streamsWithoutLeader === 1 ? "1 stream takes" : `${count(streamsWithoutLeader)} streams take`;
  return { text: `${streams} no records, see \`saltworks cluster status\``, ...alarm };
}

/** How far this member has read. */
export function lagPieces({ returnsLag, jobsLag }: ClusterView): Piece[] {
  const [largest] = [...returnsLag].sort((left, right) => right.messages - left.messages);
  const place = largest === undefined || largest.messages === 0 ? "" : ` (${largest.stream})`;
  return [{ text: `returns up to ${count(largest?.messages ?? 0)} messages a stream${place}, jobs ${count(jobsLag)}` }];
}

/** The servers, a row each. */
export function serverRows({ servers, member }: ClusterView): Row[] {
  return [
    ["SERVER", "state", "role", "behind"],
    ...servers.map(
      (server): Row => [
        marked(server.server, member),
        stateOf(server),
        server.isLeading ? "leads" : "follows",
        server.behind === null ? "-" : count(server.behind),
      ],
    ),
  ];
}

/** The members, a row each: whether it may act for its batch jobs and waiting jobs, and how many it owns. */
export function ownerRows({ owners, member: own }: ClusterView): Row[] {
  return [
    ["MEMBER", "lease", "batch jobs", "waiting jobs"],
    ...owners.map(
      ({ member, holdsLease, batchJobs, waitingJobs }): Row => [
        marked(member, own),
        leaseOf(holdsLease),
        count(batchJobs),
        count(waitingJobs),
      ],
    ),
  ];
}

function marked(name: string, own: string): string {
  return name === own ? `${name}*` : name;
}

function leaseOf(holdsLease: boolean | null): string | Piece {
  if (holdsLease === null) return "-";
  return holdsLease ? "holds" : { text: "none", ...alarm };
}

function stateOf({ isAnswering, isStoring }: ClusterServerView): string | Piece {
  if (!isAnswering) return { text: "silent", ...alarm };
  return isStoring ? "up" : { text: "store off", ...alarm };
}
