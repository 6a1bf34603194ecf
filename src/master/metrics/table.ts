/**
 * Every metric of the master: name, kind, labels and meaning. docs/metrics.md is generated from this table.
 * Names follow Prometheus' habit: base units, and `_total` for what only grows.
 */
import { delayBounds, itemsBounds, secondsBounds } from "../../workers/measures/histogram.ts";
import { histogram, type Metric, metric } from "./metric.ts";
import { minionBounds } from "./minion-bounds.ts";

export type { Metric } from "./metric.ts";

const requests = {
  saltworks_frames_received_total: metric("counter", [], "Frames that came in on the request port."),
  saltworks_unproven_refused_total: metric(
    "counter",
    ["reason"],
    "Requests over connections that have proved nothing, refused unread: `strangers` beyond their bytes of a queue, any while `forgeries` fill half of it, and those of a `size` that only an operator's command may have.",
  ),
  saltworks_log_lines_suppressed_total: metric(
    "counter",
    [],
    "Lines left out of the log because the same sentence appeared too often.",
  ),
  saltworks_frames_malformed_total: metric("counter", [], "Of these, frames that are not a request of a REQ socket."),
  saltworks_requests_total: metric(
    "counter",
    ["worker", "command", "outcome"],
    "Opened requests by command: `answered` by the worker itself, `deferred` to a lane or the main thread, `failed` in handler or store. Commands that Salt does not have are `other`.",
  ),
  saltworks_refusals_total: metric(
    "counter",
    ["worker", "reason"],
    "Requests that a worker refused, by reason; most were never opened.",
  ),
  saltworks_requests_rejected_total: metric(
    "counter",
    [],
    "Requests answered with an error because a queue was full or a worker was lost twice.",
  ),
  saltworks_replies_total: metric(
    "counter",
    ["outcome"],
    "Replies `sent`, and those `dropped` because their client was gone or did not read.",
  ),
  saltworks_replies_withdrawn_total: metric(
    "counter",
    ["worker"],
    "Answers that became an error because their batch could not be committed; `saltworks_requests_total` counts them as answered.",
  ),
  saltworks_connections_total: metric("counter", [], "Connections that were made to the request port."),
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
    "Bytes of requests that have begun and are not whole, or wait unread while reading is paused; of `strangers` or `proven` connections.",
  ),
  saltworks_unfinished_charged_bytes_total: metric(
    "counter",
    [],
    "Bytes of requests that strangers began and did not finish, charged to their addresses (`unfinishedBytesPerSecondMax`).",
  ),
  saltworks_unread_reply_bytes: metric("gauge", [], "Bytes of replies that clients have not taken."),
  saltworks_requests_unanswered: metric("gauge", [], "Requests that wait for their reply, those of lanes included."),
  saltworks_reading_pauses_total: metric(
    "counter",
    ["connections"],
    "Times that the master stopped reading requests because every worker's queue was full: of `strangers` at a share of `queue_max_bytes` (`strangersPauseShare`), of `proven` connections where these alone have brought all of it.",
  ),
};

const batches = {
  saltworks_batch_items: histogram(
    ["worker"],
    itemsBounds,
    "Requests of a batch. Its sum counts requests, its count batches.",
  ),
  saltworks_queue_wait_seconds: histogram(
    ["worker", "queue"],
    secondsBounds,
    "How long a batch's oldest request waited on the main thread before the batch left for its worker: `requests`, or `auths`, which go behind.",
  ),
  saltworks_stage_seconds: histogram(
    ["worker", "stage"],
    secondsBounds,
    "Time of a batch by stage: `wait` from leaving the main thread's queue until the worker begins, `open`, `handle`, `commit` and `seal` in the worker, `reply` on the main thread. Divided by `saltworks_batch_items_sum` it is the time per request.",
  ),
  saltworks_queue_items: metric("gauge", ["worker"], "Requests that wait on the main thread for a worker."),
  saltworks_queue_bytes: metric("gauge", ["worker"], "Bytes of these."),
  saltworks_batches_in_flight: metric("gauge", ["worker"], "Batches that a worker has now."),
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
    "Writes and reads of the store that failed: `full` for want of room on the disk, by refused growth too; `failed` for any other reason, such as EIO; `lost` while LMDB refuses a file whose head could not be written, on which the master ends. Nothing of such a batch is acknowledged.",
  ),
};

const threads = {
  saltworks_worker_stale: metric(
    "gauge",
    ["worker"],
    "1 if the worker did not answer in time and its values are those of its last answer; otherwise 0.",
  ),
  saltworks_workers_lost_total: metric("counter", [], "Worker threads that ended and were replaced."),
  saltworks_batches_retried_total: metric("counter", [], "Batches given to a replaced worker once more."),
  saltworks_worker_timeouts_total: metric("counter", [], "Tasks that a worker did not finish in time."),
  saltworks_thread_cpu_seconds_total: metric(
    "counter",
    ["thread"],
    "CPU time by the thread's name in the system: `sw-shard-N`, `sw-rsa-N`, `sw-runner-N`, `sw-pillar-N`, `sw-external-N`, `sw-files-N`, `sw-eauth-N`, `sw-salt-N`, `sw-publish`; what ended of a lane together, as `sw-runner-ended`; `main`, and `other` for Node's own helpers. Linux only.",
  ),
  saltworks_event_loop_delay_seconds: histogram(
    ["thread"],
    delayBounds,
    "How late a timer ran, ten samples a second while the thread is busy and one while it is idle: what anything that waits for this thread waits at least.",
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
    "JavaScript heap of a thread. A lane's thread in the middle of a long task is left out of a look, as are its event loop's values.",
  ),
  saltworks_heap_limit_bytes: metric("gauge", ["thread"], "Size at which that thread would end for want of memory."),
  saltworks_external_bytes: metric("gauge", ["thread"], "Memory of a thread's buffers outside its heap."),
  saltworks_lane_pending: metric("gauge", ["lane"], "Tasks offered to a lane and not finished."),
  saltworks_lane_tasks_total: metric("counter", ["lane"], "Tasks that a lane was given."),
  saltworks_lane_failures_total: metric(
    "counter",
    ["lane", "outcome"],
    "Tasks `refused` because the lane's queue was full, `failed`, or ended by a `timeout`.",
  ),
};

const auths = {
  saltworks_auths_total: metric(
    "counter",
    ["worker", "result"],
    "Authentications decided: `accept`, `pend`, `reject`, `denied` (another key), `full` (`max_minions`), `noRoom` (`pending_keys_max`: it waits, and its key is not kept), `refused` (no usable key or id).",
  ),
  saltworks_auths_received_total: metric("counter", [], "Authentications that came in, decided or not."),
  saltworks_auths_dropped_total: metric(
    "counter",
    ["reason"],
    "Authentications given up before a worker saw them: `coalesced` (the minion asked again), `expired` (`auth_client_timeout`), `refused` (`auth_queue_max`).",
  ),
  saltworks_auth_queue_items: metric("gauge", [], "Authentications that wait on the main thread."),
  saltworks_credential_checks_total: metric(
    "counter",
    ["backend", "outcome"],
    "Passwords of external authentication, by enabled backend: `authentic`, `refused`, `failed` (the backend could not say), `dropped` (too many waited). `not_enabled` of `other`: another backend was asked for.",
  ),
  saltworks_credential_checks_running: metric(
    "gauge",
    [],
    "Such checks under way, those among them that are refused already and take their second.",
  ),
  saltworks_credential_checks_waiting: metric("gauge", [], "Such checks that wait for their turn."),
  saltworks_credential_seconds: histogram(
    ["part"],
    secondsBounds,
    "A check's time: `wait` for its turn, and `check` by the backend.",
  ),
  saltworks_tokens_verified_total: metric(
    "counter",
    ["worker"],
    "RSA verifications of a minion's token: one for each key, the rest are compared.",
  ),
};

const fleet = {
  saltworks_minions: metric(
    "gauge",
    ["state"],
    "Minions: `accepted` keys, and `connected` ones, from which verified contact came within `presence_timeout`.",
  ),
  saltworks_presence_pings_total: metric("counter", [], "Minions asked for a sign of life because they were silent."),
  saltworks_pillars_total: metric(
    "counter",
    ["outcome"],
    "Pillars asked for: `rendered`, `shared` with an equal question that waited, `failed`, or `refused` because too many waited or the minion had given up.",
  ),
  saltworks_pillars_waiting: metric("gauge", [], "Pillars that wait to be rendered."),
  saltworks_pillar_seconds: histogram(
    ["part"],
    secondsBounds,
    "A pillar's time: `wait` for its turn, `sources` while commands of `ext_pillar` run, and `render`.",
  ),
  saltworks_pillar_commands_total: metric(
    "counter",
    ["outcome"],
    "Commands of `ext_pillar`: `ended` well, `failed`, ended at `ext_pillar_timeout` (`timeout`), or because they wrote too much (`tooLarge`).",
  ),
  saltworks_pillar_commands_running: metric("gauge", [], "Pillars whose commands of `ext_pillar` run now."),
  saltworks_pillar_cache_total: metric(
    "counter",
    ["outcome"],
    "Questions for pillars while `pillar_cache` is on: `hits`, `misses`; minions whose kept pillars were `forgotten` because they asked for new ones or an operator did; pillars that could not be kept (`unkept`), as on a full disk.",
  ),
  saltworks_jobs_total: metric("counter", ["outcome"], "Jobs `published`, and those whose target was `unmatched`."),
  saltworks_jobs_followed: metric("gauge", [], "Jobs that the master follows to their end."),
  saltworks_jobs_pending: metric("gauge", [], "Jobs that wait for minions which are away."),
  saltworks_deliveries_total: metric(
    "counter",
    ["outcome"],
    "Minions that came back while a job waited for them: it was `sent`, they had returned (`foundReturned`) or ran it (`foundRunning`), or stayed `unanswered`; and minions whose job was `withdrawn` or has `expired`.",
  ),
  saltworks_key_rotations_total: metric("counter", [], "Times that the AES key of publications was replaced."),
  saltworks_key_changes_total: metric("counter", ["change"], "Minions' keys `added`, `removed` or `changed` on disk."),
};

const publishes = {
  saltworks_publishes_total: metric(
    "counter",
    ["outcome"],
    "Publishes for the publish port, `sent` counting all of them, and those `dropped` because its thread did not take them or was lost.",
  ),
  saltworks_publish_copies_total: metric(
    "counter",
    ["outcome"],
    "Publishes by subscriber: `sent` to it, or `dropped` for it alone because it had not read `pub_hwm` others, or `subscriberUnreadBytesMax`.",
  ),
  saltworks_publish_threads_lost_total: metric("counter", [], "Times that the publish thread ended and was replaced."),
  saltworks_publish_connections_total: metric("counter", [], "Connections that were made to the publish port."),
  saltworks_publish_connections: metric(
    "gauge",
    ["state"],
    "Connections to the publish port: `subscribed` to something, as minions are, or `silent` so far.",
  ),
  saltworks_publish_connections_closed_total: metric(
    "counter",
    ["reason"],
    "Connections to the publish port that the master closed, by the bound that they went over (docs/security.md).",
  ),
  saltworks_subscribers_behind: metric("gauge", [], "Subscribers that do not take publishes as they come."),
  saltworks_unread_publish_bytes: metric(
    "gauge",
    [],
    "Publishes that some subscriber has not read, each counted once.",
  ),
};

const saltFiles = {
  saltworks_salt_files_total: metric(
    "counter",
    ["outcome"],
    "What left the feed for Salt's own files: `returns` and `minions` written, `duplicates` that were there, `gone` from our store meanwhile, `failed` on their file or damaged in our store, `dropped` because too many waited.",
  ),
  saltworks_salt_files_waiting: metric("gauge", [], "Returns and minions still to be written there."),
  saltworks_salt_jobs_taken_total: metric("counter", [], "Jobs of a Salt master that were taken over."),
};

const minesAndTargets = {
  saltworks_mine_reads_total: metric(
    "counter",
    ["outcome"],
    "Mines asked for: `answered`, of these `unmatched` by any minion and `too_large`; `refused` because too many waited.",
  ),
  saltworks_mine_reads_pending: metric("gauge", [], "Questions for mines under way or waiting."),
  saltworks_mine_bytes_total: metric("counter", [], "Bytes of these answers."),
  saltworks_peer_requests_total: metric(
    "counter",
    ["outcome"],
    "Requests of minions to publish, of these `published` and `unmatched` by any minion; `runs` of runners; questions for `returns`. `denied`: not permitted; `refused`: too many at once.",
  ),
  saltworks_peer_requests_pending: metric("gauge", [], "Such requests under way."),
  saltworks_file_requests_total: metric(
    "counter",
    ["outcome"],
    "Requests for files: `answered`, `refused` because too many waited, `failed`.",
  ),
  saltworks_file_requests_waiting: metric("gauge", [], "Requests for files that wait for their turn."),
  saltworks_file_bytes_total: metric("counter", [], "Bytes of these answers, sealed."),
  saltworks_target_index: metric(
    "gauge",
    ["worker", "part"],
    "What a worker's target index holds (`paths`, `pairs`, ...) or has done, by the names of its own counters. `pending`: targets that are being matched. The rest is absent before the first target that is more than a list of ids.",
  ),
};

const events = {
  saltworks_event_subscribers: metric("gauge", [], "Programs that follow the event bus."),
  saltworks_events_total: metric(
    "counter",
    ["source"],
    "Events by where they came from: the `master` itself, its `workers` (encoded only while a program follows), or a `program` of this machine.",
  ),
  saltworks_events_dropped_total: metric(
    "counter",
    [],
    "Events that a subscriber did not get because it read too slowly, over all subscribers.",
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
    "How much of a limit is in use, in the limit's own unit: of a queue what waits now, the fullest where there are several; of a size (`request_max_bytes`, `max_event_size`, `job_cache_max_return_bytes`) the largest so far; of `pillar_render_timeout` the slowest so far.",
  ),
  saltworks_limit_max: metric("gauge", ["limit"], "The limit itself. `+Inf` where none is set."),
  saltworks_limit_hits_total: metric(
    "counter",
    ["limit"],
    "How often something met the limit and was refused, dropped or cut.",
  ),
};

const process = {
  process_cpu_seconds_total: metric("counter", [], "CPU time of the whole master."),
  process_resident_memory_bytes: metric("gauge", [], "Memory of the whole master."),
  process_start_time_seconds: metric("gauge", [], "When the master started, seconds since 1970."),
};

/** By topic, in the order of docs/metrics.md. */
export const metricGroups = {
  Requests: requests,
  "Batches, queues and stages": batches,
  Disk: disks,
  "Threads and lanes": threads,
  Authentication: auths,
  "Fleet and jobs": fleet,
  "Bounds of minions": minionBounds,
  "Publish port": publishes,
  "Mines, files and targets": minesAndTargets,
  "Salt's own files": saltFiles,
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
  ...minionBounds,
  ...publishes,
  ...minesAndTargets,
  ...saltFiles,
  ...events,
  ...limits,
  ...process,
} as const;

export type MetricName = keyof typeof metrics;
type LabelOf<Name extends MetricName> = (typeof metrics)[Name]["labels"][number];
/** Exactly the labels that the table gives the metric. */
export type LabelsOf<Name extends MetricName> = Readonly<Record<LabelOf<Name>, string>>;
