/**
 * Every metric of the master: name, kind, labels and meaning. docs/metrics.md is generated from this table.
 * Names follow Prometheus' conventions: base units, and `_total` for counters.
 */
import { delayBounds, itemsBounds, secondsBounds } from "../../workers/measures/histogram.ts";
import { pillars, reactor } from "./content-table.ts";
import { histogram, type Metric, metric } from "./metric.ts";
import { clusterMinions, minionBounds } from "./minion-bounds.ts";
import { apiProcess, cluster, clusterJobs, clusterLeases, gitFetches, sitePython } from "./own-programs.ts";
import { clusterReturns, databases, eventReturns, saltFiles } from "./store-copies.ts";

export type { Metric } from "./metric.ts";

const requests = {
  saltworks_frames_received_total: metric("counter", [], "Frames received, except malformed ones."),
  saltworks_unproven_refused_total: metric(
    "counter",
    ["reason"],
    "Requests over unproven connections that were refused unread. `strangers`: their share of a queue is full. `forgeries`: while forged requests come, unproven ones may fill half of a queue, and large ones an eighth. `size`: too large for its command.",
  ),
  saltworks_log_lines_suppressed_total: metric(
    "counter",
    [],
    "Lines left out of the log because the same sentence appeared too often.",
  ),
  saltworks_frames_malformed_total: metric("counter", [], "Received frames that are not a REQ socket's request."),
  saltworks_requests_total: metric(
    "counter",
    ["worker", "command", "outcome"],
    "Requests that a worker accepted, by command: `answered` by the worker itself, `deferred` to a lane or the main thread, `failed` in handler or store. Commands that Salt does not have are `other`.",
  ),
  saltworks_refusals_total: metric(
    "counter",
    ["worker", "reason"],
    "Requests that a worker refused, by reason. Most are refused before or while they are decrypted.",
  ),
  saltworks_requests_rejected_total: metric(
    "counter",
    [],
    "Requests answered with an error because a queue was full or a worker was lost twice.",
  ),
  saltworks_replies_total: metric(
    "counter",
    ["outcome"],
    "Replies `sent`, and replies `dropped` because their client was gone or did not read.",
  ),
  saltworks_replies_withdrawn_total: metric(
    "counter",
    ["worker"],
    "Answers that became an error because their batch could not be committed; `saltworks_requests_total` counts them as answered.",
  ),
  saltworks_connections_total: metric("counter", [], "Connections accepted on the request port."),
  saltworks_connections: metric(
    "gauge",
    ["state"],
    "Connections to the request port: `proven` ones brought a request that was proven to be a minion's or an operator's, `stranger` ones did not yet.",
  ),
  saltworks_connections_closed_total: metric(
    "counter",
    ["reason"],
    "Connections to the request port that the master closed, by the bound that they went over (docs/security.md).",
  ),
  saltworks_unfinished_request_bytes: metric(
    "gauge",
    ["connections"],
    "Bytes of incomplete requests, and of requests that wait unread while reading is paused; of `strangers` or `proven` connections.",
  ),
  saltworks_spare_body_bytes: metric(
    "gauge",
    [],
    "Memory of finished requests that is kept for later ones, at most 8 MiB (`spareBodiesBytesMax`).",
  ),
  saltworks_unfinished_charged_bytes_total: metric(
    "counter",
    [],
    "Bytes of requests that strangers began and did not finish, charged to their addresses (`unfinishedBytesPerSecondMax`).",
  ),
  saltworks_unread_reply_bytes: metric("gauge", [], "Bytes of replies that clients have not taken."),
  saltworks_requests_unanswered: metric("gauge", [], "Requests that wait for their reply, also in lanes."),
  saltworks_reading_pauses_total: metric(
    "counter",
    ["connections"],
    "Times that the master stopped reading requests because every worker's queue was full: `strangers` are paused at a share of `queue_max_bytes` (`strangersPauseShare`), `proven` connections when their requests alone fill all of it.",
  ),
  saltworks_large_request_waits_total: metric("counter", ["connections"], "Large requests that waited for their turn."),
};

const batches = {
  saltworks_batch_items: histogram(
    ["worker"],
    itemsBounds,
    "Requests in a batch. The histogram's sum is the number of requests, its count the number of batches.",
  ),
  saltworks_queue_wait_seconds: histogram(
    ["worker", "queue"],
    secondsBounds,
    "How long a batch's oldest request waited on the main thread before the batch left for its worker: `requests`, or `auths`, which wait behind all others.",
  ),
  saltworks_stage_seconds: histogram(
    ["worker", "stage"],
    secondsBounds,
    "Time of a batch by stage: `wait` from leaving the main thread's queue until the worker begins, `open`, `handle`, `commit` and `seal` in the worker, `reply` on the main thread. Divided by `saltworks_batch_items_sum` it is the time per request.",
  ),
  saltworks_queue_items: metric("gauge", ["worker"], "Requests that wait on the main thread for a worker."),
  saltworks_queue_bytes: metric("gauge", ["worker"], "Bytes of the requests that wait for a worker."),
  saltworks_batches_in_flight: metric("gauge", ["worker"], "Batches under way in a worker."),
  saltworks_commits_total: metric(
    "counter",
    ["worker", "outcome"],
    "Transactions of the job cache, `done` or `failed`: one for all returns of a batch.",
  ),
  saltworks_returns_total: metric(
    "counter",
    ["worker", "outcome"],
    "Returns: `stored`, `duplicate` of a stored one, `too_large` for `job_cache_max_return_bytes`, or `malformed`.",
  ),
};

const disks = {
  saltworks_disk_faults_total: metric(
    "counter",
    ["thread", "kind"],
    "Writes and reads of the store that failed. `full`: the disk is full, or a file may not grow. `failed`: any other reason, such as EIO. `lost`: LMDB refuses a file because the write of its meta page failed, and the master ends. Nothing of such a batch is acknowledged.",
  ),
};

const threads = {
  saltworks_worker_stale: metric(
    "gauge",
    ["worker"],
    "1 if the worker did not answer in time, so that its values are from its last answer; otherwise 0.",
  ),
  saltworks_workers_lost_total: metric("counter", [], "Worker threads that ended and were replaced."),
  saltworks_batches_retried_total: metric("counter", [], "Batches given again, to a lost worker's replacement."),
  saltworks_worker_timeouts_total: metric("counter", [], "Tasks that a worker did not finish in time."),
  saltworks_thread_cpu_seconds_total: metric(
    "counter",
    ["thread"],
    "CPU time by the thread's name in the system: `sw-worker-N`, `sw-rsa-N`, `sw-runner-N`, `sw-pillar-N`, `sw-external-N`, `sw-reactor-N`, `sw-files-N`, `sw-eauth-N`, `sw-salt-N`, `sw-publish`; ended threads of a lane are one sum, such as `sw-runner-ended`; `main`, and `other` for Node's own helpers. Linux only.",
  ),
  saltworks_event_loop_delay_seconds: histogram(
    ["thread"],
    delayBounds,
    "How late a timer ran: the least time that any work for this thread waits. Ten samples a second while the thread is busy, one while it is idle.",
  ),
  saltworks_event_loop_busy_seconds_total: metric("counter", ["thread"], "Time that a thread's event loop worked."),
  saltworks_event_loop_idle_seconds_total: metric(
    "counter",
    ["thread"],
    "Time that a thread's event loop waited for something to do.",
  ),
  saltworks_heap_used_bytes: metric(
    "gauge",
    ["thread"],
    "JavaScript heap of a thread. A lane's thread cannot answer during a long task: its heap and event loop values are then missing.",
  ),
  saltworks_heap_limit_bytes: metric("gauge", ["thread"], "Heap size at which the thread runs out of memory and ends."),
  saltworks_external_bytes: metric(
    "gauge",
    ["thread"],
    "Memory of a thread's buffers outside its heap. Node.js 20 and 22 leave out resizable buffers, which hold requests of more than 1 MiB (`lentBodyBytesMax`): `saltworks_unfinished_request_bytes` counts these while they arrive, `saltworks_queue_bytes` while they wait.",
  ),
  saltworks_lane_pending: metric("gauge", ["lane"], "Tasks offered to a lane and not finished."),
  saltworks_lane_tasks_total: metric("counter", ["lane"], "Tasks that a lane was given."),
  saltworks_lane_failures_total: metric(
    "counter",
    ["lane", "outcome"],
    "Tasks `refused` because the lane's queue was full, `failed`, or ended by a `timeout`.",
  ),
  saltworks_lane_threads_lost_total: metric(
    "counter",
    ["lane"],
    "Threads of a lane that were replaced: they hung, had overdue tasks only, or died between tasks.",
  ),
};

const auths = {
  saltworks_auths_total: metric(
    "counter",
    ["worker", "result"],
    "Authentications decided: `accept`, `pend`, `reject`, `denied` (another key), `full` (`max_minions`), `noRoom` (`pending_keys_max`: it waits, and its key is not kept), `refused` (no usable key or id).",
  ),
  saltworks_auths_received_total: metric("counter", [], "Authentications received, decided or not."),
  saltworks_auths_dropped_total: metric(
    "counter",
    ["reason"],
    "Authentications given up before a worker saw them: `coalesced` (the minion asked again), `expired` (`auth_client_timeout`), `refused` (`auth_queue_max`).",
  ),
  saltworks_auth_queue_items: metric("gauge", [], "Authentications that wait on the main thread."),
  saltworks_credential_checks_total: metric(
    "counter",
    ["backend", "outcome"],
    "Passwords of external authentication, by enabled backend: `authentic`, `refused`, `failed` (the backend could not decide), `dropped` (too many waited), `bounded` (unchecked, after too many wrong logins). `not_enabled` of `other`: the login named a backend that is not enabled.",
  ),
  saltworks_audit_lines_total: metric(
    "counter",
    ["outcome"],
    "Lines of `audit_log`: `written`, `lost` for want of room on the disk or in the queue, or `suppressed` in a flood of refusals, of minions' commands or of the reactor's calls.",
  ),
  saltworks_credential_checks_running: metric(
    "gauge",
    [],
    "Password checks under way, including refusals that are delayed for about a second.",
  ),
  saltworks_credential_checks_waiting: metric("gauge", [], "Password checks that wait for their turn."),
  saltworks_credential_seconds: histogram(
    ["part"],
    secondsBounds,
    "Time of a password check: `wait` for its turn, and `check` by the backend.",
  ),
  saltworks_tokens_verified_total: metric(
    "counter",
    ["worker"],
    "RSA verifications of minions' tokens: one for each key. Later tokens are compared with the verified one.",
  ),
};

const fleet = {
  saltworks_minions: metric(
    "gauge",
    ["state"],
    "Minions: `accepted` keys, and `connected` minions, which sent a verified request within `presence_timeout`.",
  ),
  saltworks_presence_pings_total: metric("counter", [], "Minions asked for a sign of life because they were silent."),
  ...pillars,
  saltworks_jobs_total: metric("counter", ["outcome"], "Jobs `published`, or `unmatched`: without a minion."),
  saltworks_jobs_followed: metric("gauge", [], "Jobs that the master follows to their end."),
  saltworks_jobs_pending: metric("gauge", [], "Jobs that wait for absent minions."),
  saltworks_deliveries_total: metric(
    "counter",
    ["outcome"],
    "Minions that came back while a job waited for them: the job was `sent`, the minion had returned (`foundReturned`) or ran it (`foundRunning`), or did not answer (`unanswered`). Also minions for which the job was `withdrawn` or has `expired`.",
  ),
  saltworks_key_rotations_total: metric("counter", [], "Times that the AES key of publications was replaced."),
  saltworks_key_changes_total: metric("counter", ["change"], "Minions' keys `added`, `removed` or `changed` on disk."),
};

const publishes = {
  saltworks_publishes_total: metric(
    "counter",
    ["outcome"],
    "Publishes. `sent`: all of them. `dropped`: the publish thread did not take them, or was lost.",
  ),
  saltworks_publish_copies_total: metric(
    "counter",
    ["outcome"],
    "Copies of publishes: `sent` to a subscriber, or `dropped` for a subscriber with `pub_hwm` unread publishes or `subscriberUnreadBytesMax` unread bytes.",
  ),
  saltworks_publish_threads_lost_total: metric("counter", [], "Times that the publish thread ended and was replaced."),
  saltworks_publish_connections_total: metric("counter", [], "Connections accepted on the publish port."),
  saltworks_publish_connections: metric(
    "gauge",
    ["state"],
    "Connections to the publish port: `subscribed`, as minions are, or `silent`: without a subscription.",
  ),
  saltworks_publish_connections_closed_total: metric(
    "counter",
    ["reason"],
    "Connections to the publish port that the master closed, by the bound that they went over (docs/security.md).",
  ),
  saltworks_subscribers_behind: metric("gauge", [], "Subscribers that have unread publishes."),
  saltworks_unread_publish_bytes: metric(
    "gauge",
    [],
    "Bytes of publishes that a subscriber has not read. Each publish counts once.",
  ),
};

const minesAndTargets = {
  saltworks_mine_reads_total: metric(
    "counter",
    ["outcome"],
    "Requests for mines: `answered`; of these `unmatched` (the target matched no minion) and `too_large`; `refused` because too many waited.",
  ),
  saltworks_mine_reads_pending: metric("gauge", [], "Requests for mines under way or waiting."),
  saltworks_mine_bytes_total: metric("counter", [], "Bytes of answers to requests for mines."),
  saltworks_peer_requests_total: metric(
    "counter",
    ["outcome"],
    "Requests of minions. Jobs: `published`, or `unmatched` (the target matched no minion). `runs`: runner calls. `returns`: questions for the returns of a job. `denied`: not permitted by `peer` or `peer_run`. `refused`: too many were under way.",
  ),
  saltworks_peer_requests_pending: metric("gauge", [], "Requests of minions to publish or run, under way."),
  saltworks_file_requests_total: metric(
    "counter",
    ["outcome"],
    "Requests for files that the file lane answers: `answered`, `refused` because too many waited, `failed`.",
  ),
  saltworks_file_requests_waiting: metric("gauge", [], "Requests for files that wait for their turn."),
  saltworks_file_bytes_total: metric("counter", [], "Bytes of the file lane's answers, encrypted."),
  saltworks_target_index: metric(
    "gauge",
    ["worker", "part"],
    "Counters of a worker's target index (`paths`, `pairs`, ...). `pending`: targets that are being matched. The others appear with the first target that is more than a list of ids.",
  ),
};

const events = {
  saltworks_event_subscribers: metric("gauge", [], "Programs that follow the event bus."),
  saltworks_events_total: metric(
    "counter",
    ["source"],
    "Events by source: the `master` itself, its `workers` (encoded only while a program follows), or a `program` of this machine.",
  ),
  saltworks_events_dropped_total: metric(
    "counter",
    [],
    "Events that subscribers lost because they read too slowly, over all subscribers.",
  ),
  saltworks_event_connections_refused_total: metric(
    "counter",
    [],
    "Programs that the event bus turned away because `ipcConnectionsMax` are connected.",
  ),
  saltworks_events_trimmed_total: metric("counter", ["worker"], "Events over `max_event_size`, cut as Salt cuts them."),
};

const limits = {
  saltworks_limit_used: metric(
    "gauge",
    ["limit"],
    "Use of a limit, in the limit's own unit. Queues: what waits now, in the fullest of several. Sizes (`request_max_bytes`, `max_event_size`, `job_cache_max_return_bytes`, `grains_max_bytes`): the largest so far. `pillar_render_timeout`, `ext_pillar_timeout`, `reactor_render_timeout`: the slowest so far.",
  ),
  saltworks_limit_max: metric("gauge", ["limit"], "The limit itself. `+Inf`: unlimited."),
  saltworks_limit_hits_total: metric(
    "counter",
    ["limit"],
    "How often the limit was reached, so that something was refused, dropped or cut.",
  ),
};

const process = {
  process_cpu_seconds_total: metric("counter", [], "CPU time of the whole master."),
  process_resident_memory_bytes: metric("gauge", [], "Memory of the whole master."),
  process_start_time_seconds: metric("gauge", [], "When the master started, seconds since 1970."),
};

/** The metrics by topic, in the order of docs/metrics.md. */
export const metricGroups = {
  Requests: requests,
  "Batches, queues and stages": batches,
  Disk: disks,
  "Threads and lanes": threads,
  Authentication: auths,
  "Fleet and jobs": fleet,
  "Bounds of minions": minionBounds,
  "Minions of a cluster": clusterMinions,
  "Publish port": publishes,
  "Mines, files and targets": minesAndTargets,
  "Salt's own files": saltFiles,
  "Database of jobs": databases,
  "Returners of events": eventReturns,
  ...{ Reactor: reactor, "HTTP API": apiProcess, Git: gitFetches, "The site's own Python": sitePython },
  "Cluster of masters": cluster,
  "Jobs of a cluster": { ...clusterJobs, ...clusterLeases },
  "Returns of a cluster": clusterReturns,
  Events: events,
  Limits: limits,
  Process: process,
} as const satisfies Record<string, Readonly<Record<string, Metric>>>;

export const metrics = {
  ...requests,
  ...batches,
  ...disks,
  ...threads,
  ...auths,
  ...fleet,
  ...{ ...minionBounds, ...clusterMinions },
  ...publishes,
  ...minesAndTargets,
  ...saltFiles,
  ...databases,
  ...eventReturns,
  ...{ ...reactor, ...apiProcess, ...gitFetches, ...sitePython },
  ...{ ...cluster, ...clusterJobs, ...clusterLeases, ...clusterReturns },
  ...events,
  ...limits,
  ...process,
} as const;

export type MetricName = keyof typeof metrics;
type LabelOf<Name extends MetricName> = (typeof metrics)[Name]["labels"][number];
/** The labels that the table gives the metric, no more and no fewer. */
export type LabelsOf<Name extends MetricName> = Readonly<Record<LabelOf<Name>, string>>;
