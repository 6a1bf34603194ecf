/** The whole contract between a storm and its processes. Types only. */
import type { Encodable } from "../../../src/wire/values.ts";
import type { SelfReport } from "../../load/self-check.ts";
import type { RequestVersion } from "../minion-options.ts";
import type { Traffic } from "./connection.ts";

/** `publishPort`: undefined: the port that the `_auth` reply names. 0: no minion subscribes. */
export type Ports = { readonly requestPort: number; readonly publishPort: number | undefined };

/** Minions `first` to `first + count - 1` sign in as real ones do, and stay connected. */
export type SignIn = {
  readonly kind: "sign-in";
  readonly host: string;
  /** Of one master, or of all members of a cluster, which connections take by turns. */
  readonly masters: readonly Ports[];
  readonly idPrefix: string;
  readonly first: number;
  readonly count: number;
  readonly primes: readonly string[];
  /** Minions take them by turns. */
  readonly versions: readonly RequestVersion[];
  /** For a master without `_auth`: the session key of all minions. */
  readonly sessionKey: string | undefined;
  /** Request connections of this process. If they are fewer than the minions, minions take turns on them. */
  readonly connections: number;
  readonly subscriptions: number;
  readonly signInsAtOnce: number;
  /** How long keys may wait for their acceptance. */
  readonly acceptTimeoutMs: number;
};

/** One return of every minion for each of the jobs. They are sealed now, as far as memory allows. */
export type PrepareReturns = {
  readonly kind: "prepare-returns";
  readonly lane: string;
  readonly jids: readonly string[];
  readonly fun: string;
  /** Bytes of the value that is returned: see load/distribution.ts. */
  readonly returnBytes: string;
  readonly seed: number;
  readonly sealedBytesMax: number;
};

/** Returns of some minions to some jobs, in the order of their planned times. They are sealed now, as far as memory allows. */
export type PrepareJobReturns = {
  readonly kind: "prepare-job-returns";
  readonly lane: string;
  readonly jids: readonly string[];
  readonly fun: string;
  readonly returns: JobReturns;
  /** Separate connections; 0: the minions' own. */
  readonly connections: number;
  /** Whether the jobs are published within the run: each return then waits for the message `published` of its job. */
  readonly awaitsPublish: boolean;
  readonly sealedBytesMax: number;
};

/**
 * The master has answered the publish of a job, `lateMs` after the time that the publish was planned for. Undefined: the publish failed, and its
 * returns are not sent. `job`: index in `jids`.
 */
export type Published = {
  readonly kind: "published";
  readonly lane: string;
  readonly job: number;
  readonly lateMs: number | undefined;
};

/** Columns of one length. `job`: index in `jids`; `minion`: index in the process; `bytes`: of the returned text. */
export type JobReturns = { readonly job: Uint32Array; readonly minion: Uint32Array; readonly bytes: Uint32Array };

/** `_auth` of every minion, `rounds` times, over separate connections, as minions do. */
export type PrepareAuths = {
  readonly kind: "prepare-auths";
  readonly lane: string;
  readonly rounds: number;
  readonly connections: number;
  /** With a token the master has to decrypt and encrypt it, which costs both sides one more operation with each key. */
  readonly hasToken: boolean;
  /** Whether each request has a connection of its own, made within the span: a minion connects for its `_auth`. */
  readonly connectsEach: boolean;
};

/** Other requests of minions than returns. */
export type Asking = "_mine" | "_mine_get" | "_pillar" | "_minion_event" | "_serve_file";

/** Requests of every minion, sealed ahead, over separate connections, as each request of a real minion has its own. */
export type PrepareAsks = {
  readonly kind: "prepare-asks";
  readonly lane: string;
  readonly asking: Asking;
  readonly rounds: number;
  readonly connections: number;
  /** `_mine_get`: the minions whose mine is asked for, as a glob. `_serve_file`: the file's path. */
  readonly target: string;
  /** `_mine` and `_minion_event`: bytes of the text that is sent. */
  readonly textBytes: number;
  readonly sealedBytesMax: number;
};

/** A request's load, without the members that its version adds. */
export type Load = { readonly cmd: string; readonly [member: string]: Encodable };

/** Lists of requests, one for each minion, sealed ahead, over a separate connection for each minion, as a job's process has one. */
export type PrepareScripts = {
  readonly kind: "prepare-scripts";
  readonly lane: string;
  readonly scripts: readonly (readonly Load[])[];
};

/** From now on minions answer publishes, and the process reports its progress. Undefined: minions stop answering. */
export type Respond = {
  readonly kind: "respond";
  /** Text of the value of any function but `test.*` and `saltutil.*`, and how long each takes: see load/distribution.ts. */
  readonly returnBytes: string;
  readonly delayMs: string;
  readonly timeoutMs: number;
  readonly tries: number;
  readonly seed: number;
};

/** Sums since the process responds. */
export type ResponderCounts = {
  readonly publishes: number;
  readonly matched: number;
  readonly sent: number;
  readonly acknowledged: number;
  readonly repeated: number;
  readonly failed: number;
  readonly timedOut: number;
  readonly wrong: number;
  /** `Date.now()` of the last reply. */
  readonly lastReplyAtMs: number;
};

/** The next run of the lane is an open loop. Without it, a closed loop: every connection has one request outstanding until all are sent. */
export type Plan = { readonly kind: "plan"; readonly lane: string; readonly plannedMs: Float64Array };

export type Run = {
  readonly kind: "run";
  readonly lanes: readonly string[];
  /** The time, by the clock of the process's host, at which the span begins in all processes. */
  readonly startAtMs: number;
  readonly timeoutMs: number;
  readonly tries: number;
  /** Number of replies that are verified after the span; of more replies, an even sample. */
  readonly verifyMax: number;
};

export type ToStormProcess =
  | SignIn
  | PrepareReturns
  | PrepareJobReturns
  | PrepareAuths
  | PrepareAsks
  | PrepareScripts
  | Respond
  | Plan
  | Run
  | Published
  /** Asks for the responder's sums. The answer `responded` also comes unasked while counts change. */
  | { readonly kind: "responded"; readonly isReset: boolean }
  | { readonly kind: "abandon" }
  | { readonly kind: "stop" };

export type LaneOutcome = {
  readonly planned: number;
  readonly sent: number;
  readonly completed: number;
  readonly failed: number;
  readonly timedOut: number;
  readonly late: number;
  readonly repeated: number;
  readonly histogram: string;
  /** From the start of the span to the last reply. */
  readonly lastReplyMs: number;
  /** Replies whose seal or signatures were checked after the span, and the wrong ones among them. */
  readonly verified: number;
  readonly wrong: number;
  /** Replies that open but are empty although they should not be. */
  readonly empty: number;
  /** Bytes of the sent requests with their framing, and of the replies without it. */
  readonly sentBytes: number;
  readonly receivedBytes: number;
  readonly sealedAhead: number;
};

export type RunOutcome = {
  readonly lanes: Readonly<Record<string, LaneOutcome>>;
  readonly self: SelfReport;
  /** Of all connections of the process while the lanes ran. */
  readonly traffic: Traffic;
};

/** Of a responder since its last reset: times from the publish's arrival to the reply to the return. */
export type ResponderReport = {
  readonly counts: ResponderCounts;
  readonly histogram: string;
  readonly self: SelfReport;
  readonly traffic: Traffic;
};

export type FromStormProcess =
  | { readonly kind: "counts"; readonly counts: ResponderCounts }
  | { readonly kind: "progress"; readonly done: number }
  | { readonly kind: "done"; readonly outcome?: RunOutcome; readonly report?: ResponderReport }
  | { readonly kind: "fault"; readonly message: string };
