/** The sum of memory in docs/limits.md: the most that a master with default options holds, computed from its bounds. */
import { masterOptions } from "../src/config/options/master.ts";
import * as limits from "../src/limits.ts";

const mebibyte = 1024 * 1024;
/** Bytes of one entry, as the comments of src/limits.ts give them. */
const entryBytes = {
  knownReturn: 100,
  pendingMinion: 100,
  trackedMinion: 10,
  address: 150,
  waitingRequest: 500,
} as const;

type Share = { readonly holder: string; readonly bound: string; readonly bytes: number };

const workers = masterOptions.worker_threads.default;

/** Held once in the process. */
const shares: readonly Share[] = [
  {
    holder: "requests that wait for workers",
    bound: "`worker_threads` × `queue_max_bytes`",
    bytes: workers * masterOptions.queue_max_bytes.default,
  },
  {
    holder: "requests that are not read to their end",
    bound: "`provenHeldBytesMax` + `strangersHeldBytesMax`",
    bytes: limits.provenHeldBytesMax + limits.strangersHeldBytesMax,
  },
  { holder: "replies that are not read", bound: "`allUnreadRepliesBytesMax`", bytes: limits.allUnreadRepliesBytesMax },
  { holder: "large requests in shared memory", bound: "`sharedFramesBytesMax`", bytes: limits.sharedFramesBytesMax },
  {
    holder: "publishes that are not read",
    bound: "`heldPublishesBytesMax` + `publishesHandedBytesMax`",
    bytes: limits.heldPublishesBytesMax + limits.publishesHandedBytesMax,
  },
  { holder: "authentications that wait", bound: "`authQueueBytesMax`", bytes: limits.authQueueBytesMax },
  {
    holder: "logins that wait",
    bound: "(`credentialChecksMax` + `credentialChecksWaitingMax`) × `credentialLoadBytesMax`",
    bytes: (limits.credentialChecksMax + limits.credentialChecksWaitingMax) * limits.credentialLoadBytesMax,
  },
  {
    holder: "files",
    bound: "`fileRequestsWaitingBytesMax` + `fileBytesOnTheirWayMax` + 500 B × `fileRequestsWaitingMax`",
    bytes:
      limits.fileRequestsWaitingBytesMax +
      limits.fileBytesOnTheirWayMax +
      entryBytes.waitingRequest * limits.fileRequestsWaitingMax,
  },
  {
    holder: "answers about files that workers keep",
    bound: "`worker_threads` × `fileAnswersKeptBytesMax`",
    bytes: workers * limits.fileAnswersKeptBytesMax,
  },
  {
    holder: "mines",
    bound: "`mineReadsMax` × `mineAnswerBytesMax` + 500 B × `mineReadsWaitingMax`",
    bytes: limits.mineReadsMax * limits.mineAnswerBytesMax + entryBytes.waitingRequest * limits.mineReadsWaitingMax,
  },
  {
    holder: "jobs and their minions",
    bound: "10 B × `trackedMinionsMax` + 100 B × `pendingMinionsMax`",
    bytes: entryBytes.trackedMinion * limits.trackedMinionsMax + entryBytes.pendingMinion * limits.pendingMinionsMax,
  },
  {
    holder: "addresses",
    bound: "150 B × (`owingAddressesMax` + `provenAddressesMax` + `forgerAddressesMax`)",
    bytes: entryBytes.address * (limits.owingAddressesMax + limits.provenAddressesMax + limits.forgerAddressesMax),
  },
  {
    holder: "indexes of targets",
    bound: "`worker_threads` × (`targetIndexBytesMax` + `keptListsBytesMax`)",
    bytes: workers * (limits.targetIndexBytesMax + limits.keptListsBytesMax),
  },
  {
    holder: "returns that workers remember, and their logs",
    bound: "`worker_threads` × (100 B × `knownReturnsMax` + `returnLogBytes`)",
    bytes: workers * (entryBytes.knownReturn * limits.knownReturnsMax + limits.returnLogBytes),
  },
  {
    holder: "young objects of workers",
    bound: "`worker_threads` × `workerYoungHeapMb`",
    bytes: workers * limits.workerYoungHeapMb * mebibyte,
  },
];

function shown(bytes: number): string {
  return Math.ceil(bytes / mebibyte).toLocaleString("en-US");
}

export function memorySection(): string[] {
  const sum = shares.reduce((total, { bytes }) => total + bytes, 0);
  return [
    "## Memory",
    "",
    "What a master with default options holds at most in its queues, buffers and indexes. It reaches a row only when that",
    "bound is reached; a fleet at rest stays far below ([decision 13](decisions/0013-memory.md) has measurements).",
    "",
    "| what | bound | MiB |",
    "| --- | --- | ---: |",
    ...shares.map(({ holder, bound, bytes }) => `| ${holder} | ${bound} | ${shown(bytes)} |`),
    `| **all of these at once** | | **${shown(sum)}** |`,
    "",
    "To this sum add:",
    "",
    "- some 120 MiB for the program and its threads, and some 64 KiB for each connected minion (`saltworks bench idle-hold`);",
    `- \`event_subscriber_max_bytes\` (${shown(masterOptions.event_subscriber_max_bytes.default)} MiB) for each reader of the event bus that does not keep up;`,
    `- ${shown(2 * limits.runnerAnswerBytesMax)} MiB for each answer of \`runnerAnswerBytesMax\` that is on its way;`,
    `- ${shown(limits.pillarCacheMemoryBytesMax)} MiB (\`pillarCacheMemoryBytesMax\`) with \`pillar_cache_backend: memory\`;`,
    "- for each of `pillar_threads` a few times the size of the pillar roots.",
    "",
    "`worker_heap_mb` ends a thread whose heap grows beyond all of these. It is a guard against a runaway, not a plan.",
  ];
}
