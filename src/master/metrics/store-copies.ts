/** The metrics of what is copied from the local store: Salt's own files and the database of jobs; and of the returners of events. */
import { metric } from "./metric.ts";

export const saltFiles = {
  saltworks_salt_files_total: metric(
    "counter",
    ["outcome"],
    "Entries that left the queue of Salt's own files: `returns` and `minions` were written; `duplicates` were in the files already; `gone`: no longer in our store; `failed`: the file could not be written, or our store is damaged; `dropped`: too many waited.",
  ),
  saltworks_salt_files_waiting: metric("gauge", [], "Returns and minions still to be written to Salt's own files."),
  saltworks_salt_jobs_taken_total: metric("counter", [], "Jobs of a Salt master that were taken over."),
};

export const databases = {
  saltworks_database_rows_total: metric(
    "counter",
    ["outcome"],
    "Rows for the database of jobs: `jobs` and `returns` were written; `present` were there already; `refused`: the database does not take what they hold, so only the local store has them; `gone`: no longer in the local store, or damaged there.",
  ),
  saltworks_database_waiting: metric("gauge", [], "Jobs and returns that wait for the database of jobs."),
  saltworks_database_lag_seconds: metric("gauge", [], "Age of the oldest job or return that waits for the database."),
  saltworks_database_failures_total: metric("counter", [], "Attempts that the database of jobs did not answer well."),
  saltworks_database_removed_total: metric(
    "counter",
    ["rows"],
    "Old rows (`keep_jobs_seconds`) that left the tables of jobs, returns or events, for the archive or for good.",
  ),
  saltworks_database_remove_failures_total: metric(
    "counter",
    [],
    "Attempts to remove old rows that the database of jobs did not answer well.",
  ),
  saltworks_database_up: metric(
    "gauge",
    [],
    "1 if the last attempt to write into the database of jobs was successful.",
  ),
};

export const eventReturns = {
  saltworks_event_return_events_total: metric(
    "counter",
    ["returner", "outcome"],
    "Events for a returner of `event_return`: `written`; `present`: an earlier attempt had written them; `refused`: the returner does not take what they hold; `dropped`: too many waited; `lost`: with a thread that failed.",
  ),
  saltworks_event_return_waiting: metric("gauge", ["returner"], "Events that wait in memory for the returner."),
  saltworks_event_return_waiting_bytes: metric("gauge", ["returner"], "Bytes of the events that wait."),
  saltworks_event_return_lag_seconds: metric("gauge", ["returner"], "Age of the oldest event that waits."),
  saltworks_event_return_failures_total: metric(
    "counter",
    ["returner"],
    "Attempts that the returner did not answer well.",
  ),
  saltworks_event_return_up: metric("gauge", ["returner"], "1 if the last attempt was successful."),
  saltworks_event_return_unwritten_total: metric(
    "counter",
    ["outcome"],
    "Events that no returner got: `filtered` by `event_return_whitelist` or `event_return_blacklist`; `unreadable`; `dropped`: the thread of the returners took none in; `lost`: with that thread.",
  ),
};

/** Only on a member of a cluster. */
export const clusterReturns = {
  saltworks_cluster_returns_sent_total: metric(
    "counter",
    ["worker", "outcome"],
    "Returns for the other members of a cluster: acknowledged by NATS (`sent`), `refused` because it did not in time, kept here only because of their size (`tooLarge`), or because they took too long each time (`givenUp`). `messages`: messages that carried them. `retried`: messages that another stream had to take. Only on a member.",
  ),
  saltworks_cluster_returns_sent_bytes_total: metric(
    "counter",
    ["worker"],
    "Bytes of the messages that carried returns to the other members.",
  ),
  saltworks_cluster_returns_untold: metric(
    "gauge",
    ["worker"],
    "Refused returns that are stored here and of which no event has told yet.",
  ),
  saltworks_cluster_returns_total: metric(
    "counter",
    ["worker", "outcome"],
    "Returns of other members that a worker has `stored`, or knew already (`duplicate`). `unusable`: jobs or events of returns that could not be made from their bytes.",
  ),
  saltworks_cluster_returns_read_total: metric(
    "counter",
    ["what"],
    "What a member has read of the cluster's returns: `messages`, their `returns`, messages of its `own`; `malformed` ones; messages that the streams dropped before it read them (`lost`); `failed` tries; own returns that were sent again (`repaired`).",
  ),
  saltworks_cluster_returns_lag: metric(
    "gauge",
    ["stream"],
    "Messages of a stream of returns that this member has not read yet.",
  ),
};
